"""Vector files made to break the reader: each is one typed error, found before memory is taken."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from playground.errors import ProjectError
from playground.workspace import VectorTable

ONE = np.eye(1, 4, dtype=np.float32)
DIGEST = np.zeros((1, 32), np.uint8)


def npy(array: object) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
    return content.getvalue()


def header(text: str, data: bytes = b"\0" * 16) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


def claims(shape: str, kind: str = "<f4") -> bytes:
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n")


def archive(vectors: bytes, *, method: int = zipfile.ZIP_STORED) -> bytes:
    arrays = {
        "model_id": npy("m"),
        "weights_digest": npy("w"),
        "text_digests": npy(DIGEST),
        "vectors": vectors,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in arrays.items():
            file.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def corrupt(method: int) -> bytes:
    data = bytearray(archive(npy(np.eye(40, 4, dtype=np.float32)), method=method))
    at = data.index(b"vectors.npy") + len(b"vectors.npy")
    data[at : at + 40] = b"\xff" * 40
    return bytes(data)


def with_comment() -> bytes:
    return archive(npy(ONE)) + b"more"


HOSTILE = {
    "a shape of terabytes": archive(claims("(1000000000000, 384)")),
    "a shape beyond every integer": archive(claims("(1000000000000000000000000000000, 384)")),
    "a shape below zero": archive(claims("(-1, 4)")),
    "a header without an end": archive(header("{" * 60_000)),
    "a header of code": archive(header("{'descr': '<f4', 'fortran_order': False, 'shape': (9**9**9,), }\n")),
    "a type that does not parse": archive(claims("(1, 4)", "<f4,(")),
    "objects": archive(claims("(1, 4)", "|O")),
    "columns first": archive(npy(ONE).replace(b"'fortran_order': False", b"'fortran_order': True ")),
    "rows without numbers": archive(npy(np.empty((1, 0), np.float32))),
    "another format version": archive(npy(ONE).replace(b"NUMPY\x01", b"NUMPY\x02")),
    "too few bytes": archive(npy(ONE)[:-1]),
    "deflated content": archive(npy(ONE), method=zipfile.ZIP_DEFLATED),
    "corrupt deflate": corrupt(zipfile.ZIP_DEFLATED),
    "corrupt LZMA": corrupt(zipfile.ZIP_LZMA),
    "corrupt content": corrupt(zipfile.ZIP_STORED),
    "something behind the archive": with_comment(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_vector_file_is_one_typed_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(ProjectError, match=r"vectors\.npz is damaged") as caught:
        VectorTable.read(path, "demo")
    assert "Delete it" in caught.value.remedy
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_directory_of_a_hundred_thousand_entries_is_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for number in range(2_000):
            file.writestr(str(number), b"")
    path = tmp_path / "vectors.npz"
    path.write_bytes(buffer.getvalue())
    monkeypatch.delattr(zipfile, "ZipFile")
    with pytest.raises(ProjectError, match="no archive of four arrays"):
        VectorTable.read(path, "demo")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    table = VectorTable.of(["a", "b"], np.eye(2, 4, dtype=np.float32), model_id="mé", weights_digest="w")
    path.write_bytes(table.to_bytes())
    read = VectorTable.read(path, "demo")
    assert (read.model_id, read.weights_digest, read.digests) == ("mé", "w", table.digests)
    assert np.array_equal(read.rows, table.rows)


def test_any_damage_to_a_byte_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    whole = VectorTable.of(["a"], ONE, model_id="m", weights_digest="w").to_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            VectorTable.read(path, "demo")
        except ProjectError:
            continue

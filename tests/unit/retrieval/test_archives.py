"""What is asked of a ZIP archive before it is unpacked."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile

import pytest

from playground.errors import DocumentError
from playground.retrieval.archives import UNPACKED_LIMIT, checked_names


def packed(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return target.getvalue()


def refused(data: bytes, words: str, *, unpacked_limit: int = UNPACKED_LIMIT) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        checked_names("a.docx", data, unpacked_limit=unpacked_limit)
    assert caught.value.name == "a.docx"
    assert caught.value.remedy


def test_an_ordinary_archive_tells_its_names() -> None:
    assert checked_names("a.docx", packed(("a.xml", b"<a/>"), ("b/c.png", b"\x89PNG"))) == {"a.xml", "b/c.png"}


def test_an_entry_over_the_ratio_is_refused() -> None:
    refused(packed(("a.xml", b" " * 3_000_000)), "far more than it is")


@pytest.mark.parametrize(("noise", "refused_"), [(17_000, False), (12_000, True)], ids=["90", "110"])
def test_a_hundred_bytes_for_each_packed_one_are_the_border(noise: int, refused_: bool) -> None:
    data = packed(("a.bin", random.Random(1).randbytes(noise) + bytes(1_650_000)))
    assert abs((noise + 1_650_000) / len(data) - (110 if refused_ else 90)) < 8
    if refused_:
        refused(data, "far more than it is")
    else:
        assert checked_names("a.docx", data) == {"a.bin"}


def test_a_bomb_among_honest_entries_is_refused() -> None:
    honest = ("photo.jpg", random.Random(1).randbytes(1_000_000))
    refused(packed(honest, ("a.bmp", b"\0" * 3_000_000)), "far more than it is")


def test_a_small_entry_may_pack_as_well_as_it_likes() -> None:
    assert checked_names("a.docx", packed(("a.bmp", b"\0" * 900_000)))


def test_all_entries_together_are_held_to_the_limit() -> None:
    data = packed(*((f"{n}.bin", b"\0\1\2" * 100_000) for n in range(5)), method=zipfile.ZIP_STORED)
    assert checked_names("a.docx", data, unpacked_limit=1_500_000)
    refused(data, "far more than it is", unpacked_limit=1_499_999)


def test_the_size_is_measured_and_not_believed() -> None:
    data = packed(("a.xml", b" " * 3_000_000))
    size = struct.pack("<I", 3_000_000)
    assert data.count(size) == 2  # in the entry's own header and in the directory
    with pytest.raises(DocumentError):
        checked_names("a.docx", data.replace(size, struct.pack("<I", 10)))


def test_many_small_entries_over_the_same_packed_bytes_are_refused() -> None:
    data = packed(*((f"{n}.bin", b"\0" * 1_000_000) for n in range(40)))
    refused(data, "far more than it is")


@pytest.mark.parametrize(
    "path", ["../evil.xml", "a/../../evil", "/etc/passwd", "C:/evil", "..\\evil", "a\\..\\..\\b"]
)
def test_a_name_that_points_outside_is_refused(path: str) -> None:
    refused(packed(("word/document.xml", b"<a/>"), (path, b"x")), "points outside")


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 1), ("utf-16", 2)])
def test_xml_that_declares_entities_is_refused(encoding: str, width: int) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    refused(packed(("word/document.xml", bomb.encode(encoding))), "declares XML entities")
    for place in range(40):  # across the end of the first piece that is unpacked, wherever that falls
        far = " " * (64 * 1024 // width - place) + bomb[21:]
        refused(packed(("word/document.xml", far.encode(encoding))), "declares XML entities")


def test_methods_that_unpack_without_bound_are_refused() -> None:
    refused(packed(("a.xml", b"x" * 1_000), method=zipfile.ZIP_BZIP2), "method")
    refused(packed(("a.xml", b"x" * 1_000), method=zipfile.ZIP_LZMA), "method")


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(packed(("a.xml", b"x" * 1_000)))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(data), "encrypted")


def test_too_many_entries_are_refused() -> None:
    refused(
        packed(*((str(n), b"") for n in range(10_001)), method=zipfile.ZIP_STORED), "more than 10,000 files"
    )


def test_a_list_of_entries_is_refused_before_it_is_read_whatever_number_the_archive_states() -> None:
    entry = struct.pack("<4s24xH16x", b"PK\1\2", 1) + b"a"
    directory = entry * 100_000
    data = directory + struct.pack("<4s4xHHII2x", b"PK\5\6", 1, 1, len(directory), 0)
    tracemalloc.start()
    try:
        refused(data, "more than 10,000 files")
        assert tracemalloc.get_traced_memory()[1] < 2 * len(data)
    finally:
        tracemalloc.stop()


def test_as_many_entries_as_are_allowed_may_have_long_names() -> None:
    entries = (("word/" + f"{n}".rjust(250, "a"), b"") for n in range(10_000))
    assert len(checked_names("a.docx", packed(*entries, method=zipfile.ZIP_STORED))) == 10_000


def test_damage_is_refused() -> None:
    data = packed(("a.xml", bytes(range(256)) * 40))
    refused(data[: len(data) // 2], "damaged")
    refused(data[:80] + b"\xff" * 8 + data[88:], "damaged")

"""Vectors that travel with a project, looked up by the text they belong to.

A text that was edited is simply not found, so that no vector can ever stand for another text.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from playground.errors import ProjectError
from playground.retrieval.embedding_cache import vector_key
from playground.retrieval.index import Vectors, are_unit

__all__ = ["VectorTable"]

SIZE_LIMIT = 512 * 1024 * 1024  # bytes of all arrays
DIMS_LIMIT = 65_536  # numbers a vector; far above any model's
DIRECTORY_LIMIT = 4_096  # bytes of the archive's list of four entries
ZIP64_LOCATOR_BYTES = 20
DIGEST_BYTES = 32
_ARRAYS = ("model_id", "weights_digest", "text_digests", "vectors")
# The end of a ZIP archive without a comment: mark, entries in all, bytes of the directory.
_END = struct.Struct("<4s6xHI6x")
# What the writer below writes: format 1.0 with NumPy's own header, row by row. At most four digits of header
# length and 15 of each size, so that no number in it is large.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?s:..)\{'descr': '(?P<kind><f4|\|u1|<U\d{1,4})', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:\d{1,15}(?:, ?\d{1,15})?,?)?)\), \} *\n"
)
# The earliest date a ZIP archive can hold: the same vectors give the same bytes whenever they are written.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Unit vectors of one model by text.

    Attributes:
        model_id: The model that made them.
        weights_digest: ``sha256:<hex>`` of its weights.
        digests: SHA-256 of each text, 32 bytes, in the order of the rows.
        rows: ``(n, d)`` float32, unit length.
    """

    model_id: str = ""
    weights_digest: str = ""
    digests: tuple[bytes, ...] = ()
    rows: Vectors = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32), repr=False)

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def dims(self) -> int:
        """Numbers a vector; 0 for an empty table."""
        return int(self.rows.shape[1])

    def known(self, texts: Sequence[str]) -> tuple[list[int], Vectors]:
        """Return which of the texts have a vector, and those vectors, in the order of the texts."""
        places = [(at, self._row_of.get(vector_key(text))) for at, text in enumerate(texts)]
        found = [(at, row) for at, row in places if row is not None]
        return [at for at, _ in found], self.rows[[row for _, row in found]]

    def __contains__(self, text: str) -> bool:
        return vector_key(text) in self._row_of

    @classmethod
    def of(cls, texts: Iterable[str], rows: Vectors, *, model_id: str, weights_digest: str) -> VectorTable:
        """Make a table of texts and their vectors; rows are sorted by text digest, repeats dropped."""
        by_digest = {vector_key(text): at for at, text in enumerate(texts)}
        digests = tuple(sorted(by_digest))
        return cls(model_id, weights_digest, digests, rows[[by_digest[digest] for digest in digests]])

    @classmethod
    def read(cls, path: Path, project: str) -> VectorTable:
        """Read an ``.npz`` without pickles; sizes and shapes are checked before anything is used.

        Raises:
            ProjectError: When the file is damaged or malformed; deleting it is safe.
        """
        try:
            with path.open("rb") as file:
                return cls._read(file)
        except Exception as error:  # a hostile archive can make any layer below fail in any way
            raise _damaged(project, path.name, error) from error

    @classmethod
    def from_bytes(cls, data: bytes, name: str, project: str) -> VectorTable:
        """Read what ``to_bytes`` gave; see ``read``.

        Args:
            data: The content of an ``.npz``.
            name: What it is called in an error.
            project: The project it belongs to.

        Raises:
            ProjectError: When it is damaged or malformed.
        """
        try:
            return cls._read(io.BytesIO(data))
        except Exception as error:  # as above
            raise _damaged(project, name, error) from error

    def without(self, digests: Collection[bytes]) -> VectorTable:
        """Return a table without the vectors of these texts; the very same one when it has none of them."""
        gone = frozenset(digests)
        kept = [row for row, digest in enumerate(self.digests) if digest not in gone]
        if len(kept) == len(self):
            return self
        if not kept:
            return VectorTable()
        rows = np.ascontiguousarray(self.rows[kept])
        return VectorTable(self.model_id, self.weights_digest, tuple(self.digests[row] for row in kept), rows)

    def to_bytes(self) -> bytes:
        """Return the ``.npz``; equal tables give equal bytes."""
        arrays = {
            "model_id": np.array(self.model_id),
            "weights_digest": np.array(self.weights_digest),
            "text_digests": np.frombuffer(b"".join(self.digests), dtype=np.uint8).reshape(-1, DIGEST_BYTES),
            "vectors": np.ascontiguousarray(self.rows, dtype=np.float32),
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", date_time=_EPOCH), content.getvalue())
        return buffer.getvalue()

    @classmethod
    def _read(cls, file: BinaryIO) -> VectorTable:
        arrays = _read_arrays(file)
        digests, rows = _checked(arrays["text_digests"], arrays["vectors"])
        names = _name(arrays["model_id"]), _name(arrays["weights_digest"])
        return cls(*names, tuple(row.tobytes() for row in digests), rows)

    @cached_property
    def _row_of(self) -> dict[bytes, int]:
        return {digest: row for row, digest in enumerate(self.digests)}


def _damaged(project: str, name: str, error: Exception) -> ProjectError:
    reason = str(error) if type(error) is ValueError else type(error).__name__
    return ProjectError(
        f"{project}: {name} is damaged ({reason}).",
        remedy="Delete it; vectors can be computed again.",
        project=project,
    )


def _read_arrays(file: BinaryIO) -> dict[str, npt.NDArray[np.generic]]:
    names = [f"{name}.npy" for name in _ARRAYS]
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if sorted(entry.filename for entry in entries) != sorted(names):
            raise ValueError("unknown content")
        # The writer compresses nothing, so that what an array takes in memory is what it takes on disk.
        if any(
            entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size
            for entry in entries
        ):
            raise ValueError("compressed content")
        if sum(entry.file_size for entry in entries) > SIZE_LIMIT:
            raise ValueError("too large")
        return {name: _array(archive.read(f"{name}.npy")) for name in _ARRAYS}


def _check_directory(file: BinaryIO) -> None:
    """Refuse an archive whose directory of entries is larger than that of four arrays, before it is read."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) < _END.size:
        raise ValueError("no archive")
    mark, entries, directory = _END.unpack(end)
    if mark != b"PK\5\6" or entries != len(_ARRAYS) or directory > DIRECTORY_LIMIT:
        raise ValueError("no archive of four arrays")
    file.seek(max(0, size - _END.size - ZIP64_LOCATOR_BYTES))
    if file.read(4) == b"PK\6\7":
        raise ValueError("a directory in another place")


def _array(data: bytes) -> npt.NDArray[np.generic]:
    """Read one array. Its header is checked against the bytes that are there before anything is made of it."""
    header = _HEADER.match(data)
    if header is None:
        raise ValueError("an array of an unknown kind")
    shape = tuple(int(number) for number in header["shape"].split(b",") if number.strip())
    kind = np.dtype(header["kind"].decode())
    if math.prod(shape) * kind.itemsize != len(data) - header.end():
        raise ValueError("an array of another size than it says")
    return np.frombuffer(data, kind, offset=header.end()).reshape(shape)


def _name(array: npt.NDArray[np.generic]) -> str:
    if array.shape != () or array.dtype.kind != "U":
        raise ValueError("a name that is no text")
    name = str(array)
    name.encode()  # a lone surrogate is no name
    return name


def _checked(
    digests: npt.NDArray[np.generic], rows: npt.NDArray[np.generic]
) -> tuple[npt.NDArray[np.uint8], Vectors]:
    shapes_fit = (
        rows.ndim == 2 and 0 < rows.shape[1] <= DIMS_LIMIT and digests.shape == (len(rows), DIGEST_BYTES)
    )
    if not shapes_fit or digests.dtype != np.uint8 or rows.dtype != np.float32:
        raise ValueError("arrays of the wrong shape or type")
    vectors = rows.astype(np.float32, copy=False)
    if not are_unit(vectors):
        raise ValueError("a vector is not of unit length")
    return digests.astype(np.uint8, copy=False), vectors

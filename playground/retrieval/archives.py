"""Whether a ZIP archive may be unpacked: measured while it is unpacked, whatever its header says.

Pure; nothing is written anywhere. Office documents are such archives.
"""

from __future__ import annotations

import io
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from playground.errors import DocumentError

__all__ = ["UNPACKED_LIMIT", "checked_names", "folded_path"]

RATIO_LIMIT = 100  # unpacked bytes for each packed one
UNPACKED_LIMIT = 512 * 1024 * 1024  # bytes of all entries together
ENTRY_LIMIT = 10_000
DIRECTORY_LIMIT = 4 * 1024 * 1024  # bytes of the list of entries; a million of them would take half a gigabyte
# Bytes an entry may have at any ratio: a blank picture packs better than a bomb, and so little does no harm.
RATIO_FLOOR = 1024 * 1024
_STEP = 64 * 1024
_ENCRYPTED = 0x1  # bit of the general purpose flag, APPNOTE 4.4.4
_METHODS = {
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
}  # those of Office documents; the others unpack without bound


def checked_names(
    name: str,
    data: bytes,
    *,
    ratio_limit: float = RATIO_LIMIT,
    unpacked_limit: int = UNPACKED_LIMIT,
    ratio_floor: int = RATIO_FLOOR,
    entities: bool = False,
) -> frozenset[str]:
    """Return the names in an archive that is safe to unpack in memory. O(unpacked bytes), memory O(1).

    Args:
        name: The archive's name, for errors.
        data: The archive.
        ratio_limit: Unpacked bytes for each packed one.
        unpacked_limit: Bytes of all entries together.
        ratio_floor: Bytes an entry may have at any ratio.
        entities: Whether XML in it may declare entities, because nobody parses it.

    Raises:
        DocumentError: When it is damaged or encrypted, unpacks to too much (each entry and all together), has a
            name that points outside, or holds XML that declares entities.
    """
    try:
        with zipfile.ZipFile(_Bounded(name, data)) as archive:
            entries = archive.infolist()
            _check_listing(name, entries)
            total = 0
            for entry in entries:
                allowed = min(unpacked_limit - total, max(ratio_floor, int(ratio_limit * entry.compress_size)))
                total += _unpacked(name, archive, entry, allowed, entities=entities)
            if total > max(ratio_floor, ratio_limit * len(data)):  # entries that share their packed bytes
                raise _bomb(name)
            return frozenset(entry.filename for entry in entries)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise DocumentError(
            f"{name} is damaged: {str(error).rstrip('.') or 'it ends too early'}.",
            remedy="Download or save it again and load that.",
            name=name,
        ) from None


def folded_path(path: str) -> str:
    """Return what paths have in common that are one on some disks: those know no case, or compose letters."""
    return unicodedata.normalize("NFC", path.rstrip("/")).casefold()


class _Bounded(io.BytesIO):
    """An archive whose list of entries is refused before it is read, where it is too long.

    ``zipfile`` reads the list at once and makes an object of each entry, whatever number the archive states;
    all else is read in small pieces.
    """

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(data)
        self._name = name

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes.

        Raises:
            DocumentError: When that is more than a list of entries may have.
        """
        if size is not None and size > DIRECTORY_LIMIT:
            raise _too_many(self._name)
        return super().read(size)


def _check_listing(name: str, entries: Iterable[zipfile.ZipInfo]) -> None:
    for number, entry in enumerate(entries, 1):
        if number > ENTRY_LIMIT:
            raise _too_many(name)
        if _points_outside(entry.orig_filename):
            raise DocumentError(
                f"{name} holds an entry that points outside the archive, so it was not opened.",
                remedy="Do not trust this file; save or pack it again with your own program.",
                name=name,
            )
        if entry.flag_bits & _ENCRYPTED:
            raise DocumentError(
                f"{name} is encrypted.", remedy="Remove the password, save it and load that.", name=name
            )
        if entry.compress_type not in _METHODS:
            raise DocumentError(
                f"{name} is packed by a method that is not read here.",
                remedy="Save or pack it again by the usual one, deflate.",
                name=name,
            )


def _unpacked(
    name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, allowed: int, *, entities: bool
) -> int:
    """Return how many bytes an entry unpacks to; stop as soon as they are more than ``allowed``."""
    is_xml = not entities and entry.filename.lower().endswith((".xml", ".rels"))
    size = 0
    tail = b""
    with archive.open(entry) as content:
        while piece := content.read(_STEP):
            size += len(piece)
            if size > allowed:
                raise _bomb(name)
            # UTF-16 without its NUL bytes is ASCII as far as markup goes.
            if is_xml and b"<!DOCTYPE" in (seen := tail + piece.replace(b"\0", b"")):
                raise DocumentError(
                    f"{name} declares XML entities, which documents may not.",
                    remedy="Do not trust this file; save the document again with your own program.",
                    name=name,
                )
            tail = seen[-16:] if is_xml else b""
    return size


def _points_outside(path: str) -> bool:
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return bool(parts) and (parts[0] == "/" or ".." in parts or ":" in parts[0])


def _too_many(name: str) -> DocumentError:
    return DocumentError(
        f"{name} holds more than {ENTRY_LIMIT:,} files.", remedy="Load the files one by one.", name=name
    )


def _bomb(name: str) -> DocumentError:
    return DocumentError(
        f"{name} unpacks to far more than it is: over {RATIO_LIMIT} times its size, or over "
        f"{UNPACKED_LIMIT // 1024**2} MB.",
        remedy="Save it again with smaller pictures, if it has large ones, or pack less into one archive.",
        name=name,
    )

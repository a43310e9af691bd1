"""Files that were exported from a project and kept beside it, in a folder of the project's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from playground.errors import DocumentError, ProjectError
from playground.retrieval.archives import checked_names
from playground.values import shown
from playground.workspace.folder_exchange import swap_folder
from playground.workspace.folder_files import keep_all, write_file
from playground.workspace.forgetting import EXPORTS
from playground.workspace.loading import load_folder
from playground.workspace.redacting import SUFFIXES, Redaction
from playground.workspace.traces import Traces

__all__ = ["KeptExport", "drop_export", "keep_export", "kept_exports", "read_export"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,119}")


@dataclass(frozen=True, slots=True)
class KeptExport:
    """What is told of a kept file.

    Attributes:
        name: Of the file.
        size: In bytes.
        kept_at: When it was written, in ms since 1970.
    """

    name: str
    size: int
    kept_at: int


def keep_export(path: Path, file_name: str, data: bytes) -> KeptExport:
    """Keep a file in a project's folder that the caller holds; see ``ProjectLibrary.keep_export``.

    Raises:
        ProjectError: When the name is not allowed, or the file is a damaged archive.
        OSError: When the disk refuses.
    """
    suffix = PurePosixPath(_checked(path, file_name).lower()).suffix
    if suffix not in SUFFIXES:
        raise ProjectError(
            f"{shown(file_name)} cannot be kept: what is forgotten could not be found in it.",
            remedy=f"Keep files that end in {', '.join(sorted(SUFFIXES))}.",
            project=path.name,
        )
    if suffix == ".zip":
        _check_archive(path, file_name, data)
    # Whoever made it may have read the project before something was forgotten.
    clean = Redaction(load_folder(path).forgotten, Traces()).of(file_name, data)
    if clean is None:
        raise ProjectError(
            f"{shown(file_name)} cannot be kept: it holds a memory that was forgotten.",
            remedy="Export the project again.",
            project=path.name,
        )

    def prepare(fresh: Path) -> None:
        keep_all(path, fresh)
        write_file(fresh / EXPORTS / file_name, clean)

    swap_folder(path, prepare)
    return _told(path / EXPORTS / file_name)


def kept_exports(path: Path) -> tuple[KeptExport, ...]:
    """Return what is told of each kept file of a project's folder, by name.

    Raises:
        OSError: When the folder cannot be read.
    """
    folder = path / EXPORTS
    files = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
    return tuple(_told(file) for file in sorted(files) if file.is_file() and not file.is_symlink())


def read_export(path: Path, file_name: str) -> bytes:
    """Return the content of a kept file of a project's folder.

    Raises:
        ProjectError: When there is none of this name.
        OSError: When it cannot be read.
    """
    return _existing(path, file_name).read_bytes()


def drop_export(path: Path, file_name: str) -> None:
    """Remove a kept file from a project's folder that the caller holds.

    Raises:
        ProjectError: When there is none of this name.
        OSError: When the disk refuses.
    """
    _existing(path, file_name).unlink()


def _checked(path: Path, file_name: str) -> str:
    if not isinstance(file_name, str) or not _NAME.fullmatch(file_name):
        raise ProjectError(
            f"{shown(file_name)} cannot be the name of a kept file.",
            remedy="Use up to 120 letters, digits, blanks, dots, hyphens and underscores.",
            project=path.name,
        )
    return file_name


def _check_archive(path: Path, file_name: str, data: bytes) -> None:
    try:
        checked_names(file_name, data)
    except DocumentError as error:
        raise ProjectError(error.problem, remedy=error.remedy, project=path.name) from error


def _existing(path: Path, file_name: str) -> Path:
    file = path / EXPORTS / _checked(path, file_name)
    if file.parent.is_symlink() or file.is_symlink() or not file.is_file():
        raise ProjectError(
            f"The project {path.name!r} keeps no file {file_name!r}.",
            remedy="Look at the list of its exports again.",
            project=path.name,
        )
    return file


def _told(file: Path) -> KeptExport:
    state = file.stat()
    return KeptExport(file.name, state.st_size, state.st_mtime_ns // 1_000_000)

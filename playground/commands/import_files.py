"""The files that ``playground import`` is given: found below folders, and told by their content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playground.errors import DocumentError, InvalidInputError

if TYPE_CHECKING:
    from playground.workspace.material_kinds import MaterialKind

__all__ = ["Found", "contents", "find_files", "unreadable"]

Form = Literal[
    "", "exported lines", "exported file", "exported folder", "exported archive", "skill", "skills", "project"
]
_BY_KIND = "as --kind says"


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is to be imported, or a folder that is one thing.

    Attributes:
        name: By which people know it: its name, or its path below the folder that was given.
        path: Where it lies.
        kind: As what it is read.
        rule: What says so.
        form: How it is written, where that makes a difference; folders always have one.
    """

    name: str
    path: Path
    kind: MaterialKind
    rule: str
    form: Form = ""


def find_files(
    paths: Iterable[Path], *, kind: MaterialKind | None = None
) -> tuple[list[Found], list[DocumentError]]:
    """Return what lies at these paths, in their order, and one error for each that cannot be read.

    In a folder files are taken by their names' order, at any depth; hidden ones and links are left alone.

    Args:
        paths: Files and folders.
        kind: As what all of them are read; by default their content says.
    """
    found: list[Found] = []
    errors: list[DocumentError] = []
    for path in paths:
        try:
            if path.is_dir():
                whole = _folder_as_one(path, kind)
                places = [] if whole else list(_below(path))
                found += [whole] if whole else []
            else:
                places = [(path.name, path)]
        except OSError as error:
            errors.append(unreadable(str(path), error))
            continue
        for name, place in places:
            try:
                found.append(_told(name, place, kind))
            except DocumentError as error:
                errors.append(error)
    return found, errors


def contents(found: Iterable[Found], errors: list[DocumentError]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of files, one at a time; what cannot be read becomes an error."""
    for one in found:
        try:
            yield one.name, _content(one.name, one.path)
        except DocumentError as error:
            errors.append(error)


def unreadable(name: str, error: OSError | ValueError) -> DocumentError:
    """Return the error of a file that the disk does not give."""
    reason = getattr(error, "strerror", None) or str(error)
    return DocumentError(
        f"{name} cannot be read: {reason}.", remedy="Check its path and its rights.", name=name
    )


def _told(name: str, path: Path, kind: MaterialKind | None) -> Found:
    from playground.workspace.material_kinds import tell_kind  # noqa: PLC0415  # brings NumPy

    told = tell_kind(name, _content(name, path))
    if kind is None or (told.kind == kind and told.form != "project"):
        rule = told.rule if kind is None else _BY_KIND
        return Found(name, path, told.kind, rule, told.form)
    return Found(name, path, kind, _BY_KIND)


def _folder_as_one(path: Path, kind: MaterialKind | None) -> Found | None:
    """Return a folder that is one thing as a whole: a project, skills, or exported memories."""
    name = path.resolve().name
    if kind is None and (path / "project.json").is_file():
        return Found(name, path, "documents", "a project.json in it", "project")
    if kind in {None, "skills"}:
        rule = "a SKILL.md in it" if kind is None else _BY_KIND
        if (path / "SKILL.md").is_file():
            return Found(name, path, "skills", rule, "skill")
        if any(path.glob("*/SKILL.md")):
            return Found(name, path, "skills", rule, "skills")
    if kind in {None, "memories"} and _has_exported_memories(path):
        rule = "files of exported memories" if kind is None else _BY_KIND
        return Found(name, path, "memories", rule, "exported folder")
    return None


def _has_exported_memories(path: Path) -> bool:
    from playground.memory.markdown_file import from_markdown  # noqa: PLC0415  # brings pydantic models

    pages = sorted(page for page in path.glob("*.md") if page.is_file() and not page.is_symlink())
    if not pages:
        return False
    try:
        from_markdown(_content(pages[0].name, pages[0]).decode())
    except (DocumentError, InvalidInputError, UnicodeDecodeError):
        return False
    return True


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    top = folder.resolve()
    for place, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path.relative_to(top.parent).as_posix(), path


def _content(name: str, path: Path) -> bytes:
    from playground.retrieval.documents import check_size  # noqa: PLC0415  # brings the parsers

    try:
        status = path.stat()
        if not path.is_file():  # a pipe could be read for ever
            raise DocumentError(f"{name} is no regular file.", remedy="Give a file or a folder.", name=name)
        check_size(name, status.st_size)
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a NUL in the path
        raise unreadable(name, error) from error

"""The files of a project's folder: writing them to the disk, and carrying over those that are no part of it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from playground.sources import Skill
from playground.workspace.working_memory import HISTORY_FILE

__all__ = ["OWN_FILES", "files_under", "keep_all", "keep_others", "write_file", "write_files"]

OWN_FILES = frozenset(
    {
        "project.json",
        "documents.jsonl",
        "chunks.jsonl",
        "memories.jsonl",
        "forgotten.jsonl",
        "chats.jsonl",
        "scenarios.jsonl",
        "conversation.json",
        "tools.json",
        "working_memory.json",
        HISTORY_FILE,
        "vectors.npz",
        "skills",
    }
)
"""What saving replaces in a project's folder; ``skills`` is a folder, all else are files."""


def write_files(target: Path, fresh: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their path in ``fresh``; their content is on the disk then.

    A file that ``target`` holds already gets a second name instead: most changes concern one file of many.

    Args:
        target: The folder as it is; it need not exist.
        fresh: The folder that is to take its place.
        files: Their contents.

    Raises:
        OSError: When the disk refuses.
    """
    for name, data in files.items():
        if not (_holds(target / name, data) and _linked(target / name, fresh / name)):
            write_file(fresh / name, data)


def write_file(path: Path, data: bytes) -> None:
    """Write one file; its content is on the disk then.

    Raises:
        OSError: When the disk refuses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # What lies there may be a second name of a file of the old folder: it must not be written through.
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def keep_others(target: Path, fresh: Path, skills: Iterable[Skill]) -> None:
    """Carry over what the format does not know: licences, notes, exports, and the resources of its skills.

    Args:
        target: The folder as it is; it need not exist.
        fresh: The folder that is to take its place.
        skills: Those that remain; their resources may lie elsewhere.

    Raises:
        OSError: When the disk refuses.
    """
    if target.is_dir():
        for path in target.iterdir():
            if path.name not in OWN_FILES:
                _keep(path, fresh / path.name, link=True)
        for path in target.glob("skills/*"):
            if path.is_file():
                _keep(path, fresh / "skills" / path.name, link=True)
    for skill in skills:
        if skill.folder is not None and skill.folder.is_dir():
            own = skill.folder.resolve().is_relative_to(target)
            for path in skill.folder.iterdir():
                if path.name != "SKILL.md":
                    _keep(path, fresh / "skills" / skill.id / path.name, link=own)


def keep_all(target: Path, fresh: Path) -> None:
    """Carry over every file.

    Raises:
        OSError: When the disk refuses.
    """
    for path in target.iterdir():
        _keep(path, fresh / path.name, link=True)


def files_under(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below it, in the order of their paths; links are not followed.

    Raises:
        OSError: When a folder cannot be read.
    """
    for top, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            path = Path(top, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _raise(error: OSError) -> None:
    raise error


def _keep(source: Path, destination: Path, *, link: bool) -> None:
    if not source.is_symlink():  # a link could lead outside the project
        _carry(source, destination, link=link)


def _carry(source: Path, destination: Path, *, link: bool) -> None:
    """Copy a file or a folder; files of the folder that is replaced get a second name instead, at no cost."""
    if source.is_symlink():
        destination.symlink_to(source.readlink())
    elif source.is_dir():
        destination.mkdir(parents=True, exist_ok=True)
        for path in source.iterdir():
            _carry(path, destination / path.name, link=link)
    # A pipe, a socket or a device has no content, and could be read for ever.
    elif source.is_file() and not (link and _linked(source, destination)):
        _copy(source, destination)


def _holds(path: Path, data: bytes) -> bool:
    try:
        state = path.lstat()
        return stat.S_ISREG(state.st_mode) and state.st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _linked(source: Path, destination: Path) -> bool:
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        destination.hardlink_to(source)
    except (OSError, NotImplementedError):  # a file system without second names
        return False
    return True


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, destination)
    with destination.open("rb") as file:
        os.fsync(file.fileno())

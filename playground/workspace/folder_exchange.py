"""Exchanging a project's folder as a whole, so that programs that save or read at the same time never mix.

A save is prepared in a working folder beside the project, ``.<name>.<8 hex digits>.saving``, which holds a
mark, the ``new`` project and, after the exchange, the ``old`` one; a removal's holds the project that is
``gone``. Savers take turns through a lock file that the system releases when its holder dies; a working folder
that is found under the lock therefore belongs to nobody who lives. Readers change nothing but for one thing:
when a crash fell between taking the old project away and setting the new one, the old one is put back.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from playground.durable import flush_folder
from playground.errors import PlaygroundError, ProjectError
from playground.workspace.folder_lock import WAIT_SECONDS, let_go, locked, take_turn

__all__ = [
    "FolderStamp",
    "exchange_folder",
    "folder_stamp",
    "held",
    "interrupted",
    "is_away",
    "read_folder",
    "remove_folder",
    "swap_folder",
    "tidy",
]

FREE_TRIES = 5  # of a reader; then it takes its turn under the lock
READ_TRIES = 50  # a reader that meets another save each time gives up after these
MARK = "playground-save"
_WORK = re.compile(r"\.[0-9a-f]{8}\.saving")
_OF_TARGET = re.compile(r"\.(?P<target>.+)\.[0-9a-f]{8}\.saving")
_Value = TypeVar("_Value")
FolderStamp = tuple[int, int, int] | None


def exchange_folder(target: Path, prepare: Callable[[Path], None]) -> None:
    """Put what ``prepare`` writes into an empty folder in the place of ``target``, whole or not at all.

    Args:
        target: The folder; it need not exist. Its parent is made.
        prepare: Fills the new folder. It runs under the lock: ``target`` stays as it is meanwhile.

    Raises:
        ProjectError: When another program keeps the lock for a minute.
        OSError: When the disk refuses; ``target`` is what it was.
    """
    with held(target):
        swap_folder(target, prepare)


@contextmanager
def held(target: Path) -> Iterator[None]:
    """Keep every other program from exchanging ``target``; what dead ones left of it is put right first.

    Raises:
        ProjectError: When another program keeps the lock for a minute.
        OSError: When the disk refuses.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target):
        _finish_others(target)
        yield


def swap_folder(target: Path, prepare: Callable[[Path], _Value]) -> _Value:
    """Exchange ``target`` as ``exchange_folder`` does, for who holds it; return what ``prepare`` returns.

    All that ``prepare`` wrote is on the disk before the names are exchanged.

    Raises:
        OSError: When the disk refuses; ``target`` is what it was.
    """
    with _working(target) as work:
        (work / "new").mkdir()
        value = prepare(work / "new")
        _flush_folders(work / "new")
        if target.exists():
            target.rename(work / "old")
        (work / "new").rename(target)
        flush_folder(target.parent)
    return value


def remove_folder(target: Path) -> None:
    """Remove ``target``, for who holds it: whole, or not at all.

    Raises:
        OSError: When the disk refuses; ``target`` is what it was.
    """
    with _working(target) as work:
        target.rename(work / "gone")
        flush_folder(target.parent)


def tidy(target: Path) -> None:
    """Put right at once what dead writers left of ``target``, where this program may write and nobody holds it.

    Copies of what was forgotten or removed since may lie there.
    """
    if not _works(target):
        return
    # Who may only read can read all the same.
    with suppress(OSError):
        descriptor = take_turn(target)
        if descriptor is not None:
            try:
                _finish_others(target)
            finally:
                let_go(target, descriptor)


def interrupted(parent: Path) -> set[str]:
    """Return the names of the folders in ``parent`` that an exchange is under way of, or was when it died."""
    found = (_OF_TARGET.fullmatch(path.name) for path in parent.iterdir())
    return {match["target"] for match in found if match is not None}


def is_away(target: Path) -> bool:
    """Say whether an exchange has taken ``target`` away and not yet set the new one in its place."""
    return any((work / "old").is_dir() for work in _works(target))


def folder_stamp(target: Path) -> FolderStamp:
    """Return what tells this very folder from one of the same name, or ``None`` when there is none."""
    try:
        status = target.stat()
    except (OSError, ValueError):
        return None
    # A removed folder's number is given anew, but not at the same time.
    return status.st_dev, status.st_ino, status.st_ctime_ns


def read_folder(target: Path, read: Callable[[], _Value]) -> _Value:
    """Return what ``read`` makes of a folder that was the same folder from the first file to the last.

    Args:
        target: The folder.
        read: Reads it; called again when a save exchanged the folder meanwhile.

    Raises:
        ProjectError: When it is exchanged again and again.
        PlaygroundError: What ``read`` raised while the folder stayed the same.
    """
    failure: Exception | None = None
    for number in range(READ_TRIES):
        if number >= FREE_TRIES:
            # Saves follow each other closely: the reader takes its turn among the savers where it may.
            with suppress(OSError), locked(target):
                _finish_others(target, keep_new=True)
                return read()
        before = folder_stamp(target)
        if before is None and _works(target):
            with suppress(OSError), locked(target):
                _finish_others(target, keep_new=True)
            before = folder_stamp(target)
        try:
            value = read()
        except (PlaygroundError, OSError) as error:
            failure = error
            if before == folder_stamp(target) and (before is not None or not _works(target)):
                raise
        else:
            if before == folder_stamp(target):
                return value
        time.sleep(WAIT_SECONDS)
    raise failure or ProjectError(
        f"The project {target.name!r} was saved again and again while it was read.",
        remedy="Wait for the other program and try again.",
        project=target.name,
    )


def _works(target: Path) -> list[Path]:
    """Return the working folders of saves of ``target``; a folder without the mark is somebody else's."""
    if not target.name:
        return []  # the root of a disk has no neighbours
    lead = f".{target.name}"
    try:
        near = [path for path in target.parent.iterdir() if path.name.startswith(lead)]
    except (OSError, ValueError):
        return []
    found = [path for path in near if _WORK.fullmatch(path.name.removeprefix(lead))]
    return [path for path in found if not path.is_symlink() and _is_ours(path)]


def _is_ours(work: Path) -> bool:
    """Say whether a save made it: it has the mark, or a crash came before the mark or after its removal."""
    try:
        return (work / MARK).is_file() or not any(work.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # its save has just ended, or it is a file
        return False


def _finish_others(target: Path, *, keep_new: bool = False) -> None:
    """Put right what dead writers left; only under the lock. ``keep_new`` only puts the old project back."""
    for work in _works(target):
        if keep_new:
            if not target.exists() and (work / "old").is_dir():
                (work / "old").rename(target)
        else:
            _finish(work, target)


@contextmanager
def _working(target: Path) -> Iterator[Path]:
    work = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.saving")
    try:
        work.mkdir()
        (work / MARK).touch()
        yield work
    finally:
        _finish(work, target)


def _finish(work: Path, target: Path) -> None:
    """Put the old project back where there is none, then drop the working folder."""
    if not target.exists() and (work / "old").is_dir():
        (work / "old").rename(target)
    # The mark goes last, so that what a crash leaves here is still known for ours.
    for part in ("new", "old", "gone"):
        shutil.rmtree(work / part, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)


def _flush_folders(top: Path) -> None:
    """Flush the names in a folder and in all below it; whoever wrote a file has flushed its content."""
    for folder, _, _ in os.walk(top, topdown=False):
        flush_folder(Path(folder))

"""The lock of a folder: a file beside it that the system lets go of when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playground.errors import ProjectError

__all__ = ["let_go", "locked", "take_turn"]

LOCK_SECONDS = 60.0  # a save takes seconds; who waits longer is told
WAIT_SECONDS = 0.02  # between two looks


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of a folder.

    Raises:
        ProjectError: When another program keeps it for a minute.
        OSError: When the disk refuses.
    """
    deadline = time.monotonic() + LOCK_SECONDS
    while (descriptor := take_turn(target)) is None:
        if time.monotonic() > deadline:
            raise ProjectError(
                f"The project {target.name!r} is being saved by another program.",
                remedy="Wait for it, or choose another folder.",
                project=target.name,
            )
        time.sleep(WAIT_SECONDS)
    try:
        yield
    finally:
        let_go(target, descriptor)


def take_turn(target: Path) -> int | None:
    """Return the lock of a folder, to be let go of, or ``None`` while somebody holds it.

    Raises:
        OSError: When the disk refuses.
    """
    path = _lock_path(target)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _lock_at_once(descriptor)
        held = os.fstat(descriptor)
        there = path.stat()
    except (BlockingIOError, PermissionError, FileNotFoundError):
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    if (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino):
        os.close(descriptor)
        return None
    return descriptor


def let_go(target: Path, descriptor: int) -> None:
    """Let go of the lock of a folder."""
    # Removed before it is let go of: whoever waits on the removed file sees that and takes a new one.
    with suppress(OSError):
        _lock_path(target).unlink()
    os.close(descriptor)


def _lock_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


def _lock_at_once(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  # there only

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # noqa: PLC0415  # there only

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

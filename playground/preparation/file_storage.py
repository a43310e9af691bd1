"""Sessions as files in a folder: one of JSON for each, and one of lines for its journal.

A session is written to a file of its own name first, and takes the place of the former one only when it is on
disk, so that at every moment one whole session is there. Lines are appended under a lock of the journal's file,
which the system lets go of when its holder dies; what a crash left of a line is cut off by the next writer.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from playground.concurrency import in_thread
from playground.durable import flush_folder
from playground.errors import InvalidInputError, StoreError
from playground.preparation.results import SessionSummary
from playground.preparation.stored_session import (
    StoredSession,
    checked_lines,
    checked_session,
    checked_session_id,
)

__all__ = ["FileContextStorage"]

NAME_LENGTH = 40  # characters of an id in a file's name, for people; the digest tells ids apart
DIGEST_LENGTH = 16  # hexadecimal digits
BLOCK = 65_536  # bytes that are read at once when the end of the last whole line is looked for
_UNSAFE = re.compile("[^A-Za-z0-9_-]")
_SESSION, _JOURNAL, _UNFINISHED = ".json", ".history.jsonl", ".part"
_logger = logging.getLogger(__name__)


class FileContextStorage:
    """A ``ContextStorage`` in a folder, which may be shared by threads and processes; the last writer wins.

    What is acknowledged is on disk. Files can be read by their owner alone.

    Args:
        folder: Where the files lie; it is made with the first session.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    async def save(self, session_id: str, text: str) -> None:
        """Write a session whole, in place of the former one.

        Raises:
            InvalidInputError: When the text is no session of that id.
            StoreError: When the disk refuses; the former session is there then.
        """
        checked_session(session_id, text)
        await in_thread(self._save, self._path(session_id, _SESSION), text.encode())

    async def load(self, session_id: str) -> str | None:
        """Return a session's text, None where there is none.

        Raises:
            StoreError: When the file cannot be read.
        """
        return await in_thread(_text, self._path(session_id, _SESSION))

    async def delete(self, session_id: str) -> bool:
        """Remove a session with its journal; whether there was either.

        Raises:
            StoreError: When the disk refuses.
        """
        paths = [self._path(session_id, _SESSION), self._path(session_id, _JOURNAL)]
        return await in_thread(self._delete, paths)

    async def list(self) -> tuple[SessionSummary, ...]:
        """List the sessions, by id; a file that holds none is logged and left out. O(bytes).

        Raises:
            StoreError: When a file cannot be read.
        """
        return await in_thread(self._list)

    async def append_journal(self, session_id: str, lines: Sequence[str]) -> None:
        """Append lines to a session's journal: all, or none unless the process is killed.

        Raises:
            InvalidInputError: When a line is none.
            StoreError: When the disk refuses.
        """
        data = "".join(f"{line}\n" for line in checked_lines(lines)).encode()
        path = self._path(session_id, _JOURNAL)
        if data:
            await in_thread(self._append, path, data)

    async def read_journal(self, session_id: str) -> tuple[str, ...]:
        """Return the whole lines of a session's journal, oldest first.

        Raises:
            StoreError: When the file cannot be read.
        """
        text = await in_thread(_text, self._path(session_id, _JOURNAL), True)
        # What follows the last line feed was cut off by a crash.
        return () if text is None else tuple(text.split("\n")[:-1])

    def _path(self, session_id: str, ending: str) -> Path:
        checked = checked_session_id(session_id)
        digest = hashlib.sha256(checked.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]
        return self.folder / f"{_UNSAFE.sub('_', checked[:NAME_LENGTH])}-{digest}{ending}"

    def _save(self, path: Path, data: bytes) -> None:
        with _told(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.stem}-{uuid.uuid4().hex}{_UNFINISHED}")
            try:
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(unfinished, path)  # noqa: PTH105  # one name for tests that kill at it
            except BaseException:
                with suppress(OSError):
                    unfinished.unlink(missing_ok=True)
                raise
            flush_folder(self.folder)

    def _delete(self, paths: Sequence[Path]) -> bool:
        with _told(paths[0]):
            there = [path for path in paths if path.exists()]
            # The session first: a journal without one is of no harm.
            for path in there:
                path.unlink(missing_ok=True)
            for left in self.folder.glob(f".{paths[0].stem}-*{_UNFINISHED}"):
                left.unlink(missing_ok=True)
            if there:
                flush_folder(self.folder)
        return bool(there)

    def _list(self) -> tuple[SessionSummary, ...]:
        found: list[SessionSummary] = []
        for path in sorted(self.folder.glob(f"*{_SESSION}")):
            try:
                session = StoredSession.from_json(_text(path) or "")
            except InvalidInputError as error:
                _logger.warning("%s holds no session: %s", path.name, error)
                continue
            found.append(SessionSummary(session.session_id, session.last_saved_at))
        return tuple(sorted(found, key=lambda summary: summary.session_id))

    def _append(self, path: Path, data: bytes) -> None:
        with _told(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                with _locked(descriptor):
                    end = _end_of_lines(descriptor)
                    try:
                        os.ftruncate(descriptor, end)
                        os.lseek(descriptor, end, os.SEEK_SET)
                        written = 0
                        while written < len(data):
                            written += os.write(descriptor, data[written:])
                        os.fsync(descriptor)
                    except OSError:
                        os.ftruncate(descriptor, end)
                        raise
            finally:
                os.close(descriptor)
            if new:
                flush_folder(self.folder)


def _text(path: Path, torn: bool = False) -> str | None:
    """Return what a file holds, None where there is none; a ``torn`` one may end amid a character."""
    with _told(path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
    try:
        return (data[: data.rfind(b"\n") + 1] if torn else data).decode()
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path.name} is damaged: it is no UTF-8.", remedy="Go back to a copy.", store=path.name
        ) from error


def _end_of_lines(descriptor: int) -> int:
    """Return where the last whole line ends."""
    start = os.fstat(descriptor).st_size
    while start > 0:
        size = min(BLOCK, start)
        start -= size
        os.lseek(descriptor, start, os.SEEK_SET)
        found = os.read(descriptor, size).rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file; others wait for it."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  # there only

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl  # noqa: PLC0415  # there only

        fcntl.flock(descriptor, fcntl.LOCK_EX)  # closing lets go of it
        yield


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path.name} cannot be used: {error.strerror or type(error).__name__}.",
            remedy="Check the folder, its rights and the disk.",
            store=path.name,
        ) from error

"""Parsing of foreign formats within a time limit, in a process that may fail without harm.

PDF, DOCX, HTML and CSV come from anywhere, and the libraries that read them can be made to take for ever, to
take all memory, or to crash; no check before them finds every such file.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from playground.errors import DocumentError
from playground.retrieval.decoding import warn_of_replaced
from playground.retrieval.json_records import JsonRecord, replaced_everywhere
from playground.retrieval.parsing_frames import read_frame, write_frame

__all__ = ["TIME_LIMIT", "Parser"]

MEMORY_LIMIT = 4 * 1024**3  # bytes of address space; systems other than Linux may not keep to it
TIME_LIMIT = 120.0  # seconds for one file; some 2,000 pages of a PDF on a slow machine
# The child needs nothing of the package's own ``__init__``, whose imports take ten times as long as the rest.
_PROGRAM = """
import sys, types
package = types.ModuleType("playground")
package.__path__ = [sys.argv[1]]
sys.modules["playground"] = package
from playground.retrieval.parsing_process import main
main(int(sys.argv[2]))
"""


class Parser:
    """One process for the files of a load, started with the first and again after a failure.

    Use it as a context manager, from one thread.

    Args:
        time_limit: Seconds for one file, the start of the process included.
    """

    def __init__(self, *, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(
        self, name: str, media_type: str, data: bytes, warn: Callable[[str], None]
    ) -> tuple[JsonRecord, ...]:
        """Parse one file. Text formats come as UTF-8.

        Raises:
            DocumentError: For whatever is wrong with the file, too much time, memory and a crash included.
        """
        answer = self._asked(name, media_type, data)
        if "problem" in answer:
            if answer.get("exhausted"):
                self._end()
            raise DocumentError(answer["problem"], remedy=answer["remedy"], name=name)
        for warning in answer["warnings"]:
            warn(warning)
        counts: list[int] = []
        clean = replaced_everywhere(answer["records"], counts.append)
        warn_of_replaced(sum(counts), warn)
        return tuple(
            JsonRecord(position, text, id=identifier, title=title, meta=meta)
            for position, text, identifier, title, meta in clean
        )

    def _asked(self, name: str, media_type: str, data: bytes) -> dict[str, Any]:
        request = {"name": name, "mediaType": media_type, "timeLimit": self._time_limit}
        process, sent, received = self._started(name)
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._time_limit, stop)
        timer.start()
        try:
            write_frame(sent, json.dumps(request).encode("ascii"))
            write_frame(sent, data)
            frame = read_frame(received)
        except OSError:
            frame = None
        finally:
            timer.cancel()
            timer.join()
        if late.is_set() or frame is None:
            self._end()
        if frame is not None:
            answer: dict[str, Any] = json.loads(frame)
            return answer
        if late.is_set():
            raise DocumentError(
                f"{name} was not read within {self._time_limit:g} seconds.",
                remedy="Split the file, or print it as PDF again and load that.",
                name=name,
            )
        raise DocumentError(
            f"{name} could not be read: it is damaged in a way that made the reader break off.",
            remedy="Open it in its own program, save it again and load that.",
            name=name,
        )

    def _started(self, name: str) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
        if self._process is None:
            # The child imports what this process does, from wherever it does.
            folder = str(Path(__file__).parents[1])
            paths = os.pathsep.join(filter(None, sys.path))
            try:
                self._process = subprocess.Popen(  # noqa: S603  # this interpreter, nothing of the file
                    [sys.executable, "-P", "-c", _PROGRAM, folder, str(MEMORY_LIMIT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": paths},
                )
            except OSError as error:
                raise DocumentError(
                    f"{name} was not read: the process that reads such files cannot start ({error.strerror}).",
                    remedy="Free memory and load it again.",
                    name=name,
                ) from None
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        return process, process.stdin, process.stdout

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            # What the process did not live to read needs no delivery.
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        process.wait()

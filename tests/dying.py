"""Processes that are killed at a given call by which they reach the disk, to see what a crash leaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
# One process imports everything and forks for each attempt; the n-th call of the fork kills it.
_CODE = """
from pathlib import Path
import os, signal, sys
def doomed(at):
    calls = 0
    def deadly(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)
        return call
    for name in ("fsync", "open", "rmdir", "unlink"):
        setattr(os, name, deadly(getattr(os, name)))
    for owner, name in [(Path, "rename"), (Path, "mkdir"), (Path, "hardlink_to"), *globals().get("DOOMED", ())]:
        setattr(owner, name, deadly(getattr(owner, name)))
while number := int(sys.stdin.readline() or 0):
    child = os.fork()
    if not child:
        try:
            library = ProjectLibrary(sys.argv[1])
            doomed(number)
            exec(sys.argv[2])
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class DyingProcesses:
    """Runs code again and again, killed at its first call, its second, and so on, until it lives through it.

    Args:
        prepare: What is imported and defined once; ``ProjectLibrary`` among it. It must start no thread. A list
            ``DOOMED`` of pairs of class and method names further calls that are counted.
    """

    def __init__(self, prepare: str) -> None:
        self._prepare = prepare
        self._running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.communicate(timeout=60)

    def each(self, root: Path, code: str, *, start: int = 1, step: int = 1) -> Iterator[tuple[int, bool]]:
        """Yield, after each attempt, its number and whether it was killed; the last one was not.

        Args:
            root: Of the library that the code knows as ``library``.
            code: What is run; it knows ``number``, too.
            start: The first attempt is killed at this call.
            step: Each further one so many calls later; every call takes a second of a busy machine.
        """
        process = subprocess.Popen(
            [sys.executable, "-c", self._prepare + _CODE, str(root), code],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(start, 1_000, step):
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            state = int(process.stdout.readline())
            assert state in (0, -9), f"attempt {number} ended with {state}"
            yield number, state != 0
            if state == 0:
                return
        raise AssertionError("the code never came to its end")

"""Running the command line in this process."""

from __future__ import annotations

import pytest

from playground.cli import main

__all__ = ["run"]


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command and return its exit code, what it printed, and what it said on the error stream."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err

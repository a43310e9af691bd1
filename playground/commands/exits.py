"""What the program tells the shell when it ends."""

from __future__ import annotations

from typing import Final

__all__ = ["ERROR", "INTERRUPTED", "PARTLY"]

PARTLY: Final = 1
"""Some of what was asked for was done, and the rest was named on the error stream."""
ERROR: Final = 2
"""Nothing was done; the error stream says why."""
INTERRUPTED: Final = 130
"""Ctrl+C, as shells report it."""

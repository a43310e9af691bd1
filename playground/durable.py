"""Making what was written last: names in a folder reach the disk on their own."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["flush_folder"]


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder; whoever wrote a file flushes its content.

    Raises:
        OSError: When the folder cannot be read or flushed.
    """
    if os.name != "posix":
        return  # other systems cannot open a folder
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""The one file that a command is given, or the standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from playground.commands.import_files import unreadable
from playground.errors import DocumentError
from playground.retrieval.documents import SIZE_LIMIT, check_size
from playground.views.words import shortened

__all__ = ["STANDARD_INPUT", "file_content"]

STANDARD_INPUT = "-"
NAME_LENGTH = 80  # code points of a file's name in a message


def file_content(path: str) -> tuple[str, bytes]:
    """Return what a file is called in a message, and its content; of the standard input for ``-``.

    Raises:
        DocumentError: When it cannot be read, is no regular file or is too large.
    """
    place = Path(path)
    name = shortened(place.name or str(place), NAME_LENGTH)
    try:
        if path == STANDARD_INPUT:
            name = "The standard input"
            if sys.stdin is None:
                raise DocumentError(f"{name} is closed.", remedy="Name a file, or pipe one in.", name=name)
            return name, _bounded(name, sys.stdin.buffer)
        size = place.stat().st_size
        if not place.is_file():  # a pipe could be read for ever
            what = "a folder" if place.is_dir() else "no regular file"
            remedy = f"Give a file, or {STANDARD_INPUT} for the standard input."
            raise DocumentError(f"{name} is {what}.", remedy=remedy, name=name)
        check_size(name, size)
        with place.open("rb") as stream:
            return name, _bounded(name, stream)
    except (OSError, ValueError) as error:  # a NUL in the path
        raise unreadable(name, error) from error


def _bounded(name: str, stream: BinaryIO) -> bytes:
    data = stream.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise DocumentError(
            f"{name} has more than {SIZE_LIMIT:,} bytes.", remedy="Split it into smaller ones.", name=name
        )
    return data

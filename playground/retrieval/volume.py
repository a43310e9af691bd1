"""How much chunks may repeat of the text they were cut from.

A window that moves on by one token copies nearly all of itself each time: one megabyte would become a hundred
gigabytes before anybody noticed.
"""

from __future__ import annotations

from playground.errors import InvalidInputError

__all__ = ["CHUNK_LIMIT", "check_volume"]

CHUNK_LIMIT = 500_000  # chunks of one document; 200 MB give 100,000 at the default size
REPEAT_LIMIT = 8  # times the text; an overlap of seven eighths of the size reaches it
SMALL = 1_000_000  # characters that are always allowed, so that short texts may overlap as they like


def check_volume(characters: int, *, of: int, chunks: int = 0) -> None:
    """Refuse chunks that are too many or repeat too much.

    Args:
        characters: In all chunks so far.
        of: Characters of the text that was cut.
        chunks: Number of chunks so far.

    Raises:
        InvalidInputError: When there are more than ``CHUNK_LIMIT`` chunks, or more characters than ``SMALL``
            and than ``REPEAT_LIMIT`` times the text.
    """
    if chunks > CHUNK_LIMIT:
        raise InvalidInputError(
            f"A text of {of:,} characters gives more than {CHUNK_LIMIT:,} chunks.",
            remedy="Use larger chunks, or split the document.",
        )
    if characters > max(SMALL, REPEAT_LIMIT * of):
        raise InvalidInputError(
            f"The chunks of {of:,} characters would repeat more than {REPEAT_LIMIT} times that text.",
            remedy="Use an overlap of at most three quarters of the chunk size.",
        )

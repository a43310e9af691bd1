"""Text of others in a list of the prompt: whatever it holds, it stays on its own line.

Pure. Descriptions, keys of other stores and arguments are written by models and hosts; none of them may begin a
line that looks like another entry.
"""

from __future__ import annotations

from playground.escaping import one_line, replace_surrogates

__all__ = ["listed", "shortened"]

ELLIPSIS = "…"


def listed(text: object) -> str:
    """Return a text in one line that has a UTF-8 form; what is no text is named by its type."""
    return one_line(replace_surrogates(text)).strip() if isinstance(text, str) else f"a {type(text).__name__}"


def shortened(text: object, length: int) -> str:
    """Return a text in one line of at most ``length`` code points; a longer one ends in an ellipsis."""
    line = listed(text)
    return line if len(line) <= length else f"{line[: max(0, length - 1)].rstrip()}{ELLIPSIS}"

"""Untrusted names beside our own words: nothing in them may turn the order of what is read, or end it.

Pure.
"""

from __future__ import annotations

import re
from unicodedata import bidirectional

from playground.escaping import replace_surrogates

__all__ = ["isolated", "without_overrides"]

# Marks that embed, override, isolate or set a direction of writing (Unicode Standard Annex 9, section 2).
_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = {"R", "AL", "AN"}


def without_overrides(text: str) -> str:
    """Replace each mark of direction by U+FFFD, so that ``cod.exe`` cannot be read as ``exe.doc``.

    Half a character is replaced as well: no page can show it.
    """
    return text if text.isascii() else _MARKS.sub("\ufffd", replace_surrogates(text))


def isolated(text: str) -> str:
    """Do the same, and isolate what is written from right to left, so that its neighbours keep their places."""
    plain = without_overrides(text)
    if plain.isascii() or not any(bidirectional(character) in _RIGHT_TO_LEFT for character in plain):
        return plain
    return f"\u2068{plain}\u2069"

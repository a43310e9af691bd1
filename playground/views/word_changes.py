"""What became of a text, word by word.

Pure. Texts are untrusted; the pieces hold them as they are, but for half a character, which no page can show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from playground.escaping import replace_surrogates

__all__ = ["WordPiece", "word_changes"]

WORDS_COMPARED = 600  # of both texts together; comparing takes their product in time
AROUND = 12  # words shown on either side of a change
TEXT_SHOWN = 600  # code points of a side that is not compared
# Words with the blanks after them; what is written without blanks is cut at each character of these scripts.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_UNSPACED}][\ufe00-\ufe0f]?|[^\\s{_UNSPACED}]+\\s*|\\s+")


@dataclass(frozen=True, slots=True)
class WordPiece:
    """A stretch of one of the two texts, or of both."""

    kind: Literal["same", "removed", "added"]
    text: str


def word_changes(before: str, after: str) -> tuple[WordPiece, ...]:
    """Return how ``after`` came of ``before``; long stretches that stayed are cut to what is near a change.

    O(words of one times words of the other), bounded: longer texts are given whole, the old one and the new
    one, as far as they are shown.
    """
    before, after = replace_surrogates(before), replace_surrogates(after)
    old, new = _WORD.findall(before), _WORD.findall(after)
    if before == after:
        return (WordPiece("same", _cut(after)),)
    if len(old) + len(new) > WORDS_COMPARED:
        return (WordPiece("removed", _cut(before)), WordPiece("added", _cut(after)))
    pieces: list[WordPiece] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            first, last = not pieces, end == len(old) and new_end == len(new)
            pieces.append(WordPiece("same", _near(old[start:end], first=first, last=last)))
            continue
        if gone := "".join(old[start:end]):
            pieces.append(WordPiece("removed", gone))
        if come := "".join(new[new_start:new_end]):
            pieces.append(WordPiece("added", come))
    return tuple(pieces)


def _near(words: list[str], *, first: bool, last: bool) -> str:
    """Return what of a stretch that stayed is near the changes before and after it."""
    head = words[: 0 if first else AROUND]
    tail = words[len(words) - (0 if last else AROUND) :]
    whole = len(head) + len(tail) >= len(words)
    return "".join(words if whole else (*head, "… ", *tail))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN].rstrip()}…"

"""Words of any script, as the lexical index counts them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["words"]

_ASCII_WORD = re.compile("[a-z0-9]+")
_TYPOGRAPHIC = re.compile("[\u2010-\u2027\u2030-\u205e]")  # quotes, dashes and the like; none is part of a word
_ACCENTS = re.compile("[\u0300-\u036f]")
# Scripts written without spaces: words cannot be told apart, so pairs of neighbours stand for them. Thai, Lao,
# Burmese and Khmer; kana; Han with its extensions and compatibility forms; Hangul with its glued particles.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # noqa: E501


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, repeats included. O(n).

    Compatibility forms are folded (NFKD), letters lowered, accents of Latin, Greek and Cyrillic dropped. ASCII
    text gives its runs of letters and digits. Runs of scripts written without spaces give overlapping pairs of
    characters, a single character stands alone.
    """
    # Most English texts are ASCII but for these, and the way below takes three times as long.
    plain = text if text.isascii() else _TYPOGRAPHIC.sub(" ", text)
    if plain.isascii():
        return _ASCII_WORD.findall(plain.lower())
    folded = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).lower())
    # Composed again, so that Hangul syllables and voiced kana are one character each.
    folded = unicodedata.normalize("NFC", folded)
    found: list[str] = []
    for match in _pattern().finditer(folded):
        run = match.group(1)
        if run is None:
            found.append(match.group())
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(run[at : at + 2] for at in range(len(run) - 1))
    return found


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    # Vowel signs and the like belong to words, but \w leaves them out.
    marks = "".join(
        chr(code) for code in range(0x370, 0x10000) if unicodedata.category(chr(code)) in {"Mn", "Mc"}
    )
    return re.compile(f"([{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[^\\W_{marks}][{marks}]*)+")

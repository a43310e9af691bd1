"""Recognising a forgotten text wherever it may stand: escaped, wrapped, cut short, or as its digest. Pure."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from playground.escaping import escape_attribute, escape_text, one_line, replace_forbidden
from playground.retrieval.embedding_cache import vector_key

__all__ = ["FORGOTTEN", "Traces"]

FORGOTTEN = "[forgotten]"
"""What stands in the place of a forgotten text."""

SHORT = 12  # code points; a shorter text stands in others by chance, so it counts only where it stands alone
CUT = 24  # code points of a beginning that tell a text by themselves, where an ellipsis follows
CUT_LENGTH = 400  # code points that a display cuts a text to at most
DIGEST_DIGITS = 12  # hexadecimal ones that tell a text by themselves
FEW = 50  # texts that are searched for one by one
ROUNDS = 4  # of escapes inside escapes: a block in a message in a line of JSON in a log
_UNICODE = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_WESTERN = ("cp1252", "latin-1")
_JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_JSON_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ELLIPSIS = re.compile("…|\\.\\.\\.")
_DIGEST = re.compile(rf"[0-9a-fA-F]{{{DIGEST_DIGITS},}}")


class Traces:
    """What tells of texts that were forgotten.

    Args:
        texts: The texts, not blank. One shorter than 12 characters is looked for only where it stands alone: as
            a whole string, line or element.
        keys: SHA-256 of texts, 32 bytes each, beside those of ``texts``.
    """

    def __init__(self, texts: Iterable[str] = (), *, keys: Iterable[bytes] = ()) -> None:
        given = tuple(dict.fromkeys(texts))
        self.keys = frozenset({*keys, *map(vector_key, given)})
        self._digests = frozenset(key.hex()[:DIGEST_DIGITS] for key in self.keys)
        plain = {text: _plain(text) for text in given}
        self._short = _alone([form for form in plain.values() if 0 < len(form) < SHORT])
        long = [text for text, form in plain.items() if len(form) >= SHORT]
        self._long = tuple(plain[text] for text in long)
        # Many texts may begin alike: they are found by their length, and not one by one.
        self._by_head: dict[str, dict[int, set[str]]] = {}
        for form in self._long:
            self._by_head.setdefault(form[:SHORT], {}).setdefault(len(form), set()).add(form)
        self._sorted = sorted(self._long)
        self._cut_heads = frozenset(form[:CUT] for form in self._long if len(form) >= CUT)
        spellings = {spelling for text in long for spelling in _spellings(text)}
        self._spellings = tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling)))
        self._bytes = tuple(dict.fromkeys([*self.keys, *(data for text in long for data in _encoded(text))]))

    def in_text(self, text: str) -> bool:
        """Whether a text holds one of them, or one of their digests. O(length)."""
        if self._digest_in(text):
            return True
        if not self._long and self._short is None:
            return False
        if len(self._long) <= FEW and any(spelling in text for spelling in self._spellings):
            return True
        unescaped = _unescaped(text)
        if self._short is not None and self._short.search(unescaped):
            return True
        plain = _compared(unescaped)
        return self._whole_in(plain) or self._cut_in(plain)

    def in_bytes(self, data: bytes) -> bool:
        """Whether bytes that are no text hold one of them, or one of their digests. O(length)."""
        if len(self._bytes) <= FEW:
            found = any(gone in data for gone in self._bytes)
        else:
            found = self._one_of_many_in(data)
        return found or self._digest_in(data.decode("latin-1"))

    def without(self, text: str) -> str:
        """Return a text with each of them replaced; where that is not enough ``in_text`` still says so."""
        for spelling in self._spellings:
            text = text.replace(spelling, FORGOTTEN)
        # As many zeros, so that what was a digest keeps its form.
        return _DIGEST.sub(lambda found: "0" * len(found[0]) if self._is_digest(found) else found[0], text)

    def _one_of_many_in(self, data: bytes) -> bool:
        """Look only where four bytes are the first four of one: that is told of all places at once."""
        heads: dict[bytes, list[bytes]] = {}
        for gone in self._bytes:
            heads.setdefault(gone[:4], []).append(gone)
        wanted = np.frombuffer(b"".join(heads), "<u4")
        for offset in range(min(4, len(data) - 3)):
            words = np.frombuffer(data, "<u4", count=(len(data) - offset) // 4, offset=offset)
            places = (offset + 4 * int(at) for at in np.flatnonzero(np.isin(words, wanted)))
            if any(data.startswith(gone, at) for at in places for gone in heads[data[at : at + 4]]):
                return True
        return False

    def _digest_in(self, text: str) -> bool:
        return bool(self._digests) and any(map(self._is_digest, _DIGEST.finditer(text)))

    def _is_digest(self, found: re.Match[str]) -> bool:
        return found[0][:DIGEST_DIGITS].lower() in self._digests

    def _whole_in(self, plain: str) -> bool:
        if len(self._long) <= FEW:
            return any(gone in plain for gone in self._long)
        return any(
            plain[at : at + length] in forms
            for at in range(len(plain) - SHORT + 1)
            if (lengths := self._by_head.get(plain[at : at + SHORT])) is not None
            for length, forms in lengths.items()
        )

    def _cut_in(self, plain: str) -> bool:
        ends = (found.start() for found in _ELLIPSIS.finditer(plain))
        return any(
            self._begins_one(plain[at:end].rstrip())
            for end in ends
            for at in range(max(0, end - CUT_LENGTH), end - CUT + 1)
            if plain[at : at + CUT] in self._cut_heads
        )

    def _begins_one(self, beginning: str) -> bool:
        place = bisect_left(self._sorted, beginning)
        return place < len(self._sorted) and self._sorted[place].startswith(beginning)


def _alone(texts: Sequence[str]) -> re.Pattern[str] | None:
    words = "|".join(map(re.escape, texts))
    return re.compile(rf"(?:^|[>\n])[^\S\n]*(?:{words})[^\S\n]*(?:$|[<\n])") if words else None


def _plain(text: str) -> str:
    """Return a text as it is compared: without escapes, characters that XML refuses and runs of blanks."""
    return _compared(_unescaped(text))


def _compared(unescaped: str) -> str:
    # What escapes and what is escaped cannot be told apart at the borders of a text, so neither counts.
    return " ".join(unescaped.replace("\\", "").replace('"', "").split())


def _unescaped(text: str) -> str:
    for _ in range(ROUNDS):
        unescaped = html.unescape(_JSON_ESCAPE.sub(_character, text))
        if unescaped == text:
            break
        text = unescaped
    # Two escapes of one character are its halves.
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return replace_forbidden(whole)


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _JSON_CHARACTERS.get(found[2], found[2])


def _encoded(text: str) -> Iterator[bytes]:
    """Yield a text in the encodings of files that say nothing of theirs; Western ones lack most characters."""
    for code in _UNICODE:
        yield text.encode(code, "surrogatepass")
    for code in _WESTERN:
        with suppress(UnicodeEncodeError):
            yield text.encode(code)


def _spellings(text: str) -> Iterator[str]:
    """Yield the ways in which exports write a text."""
    for plain in (text, replace_forbidden(text), one_line(text)):
        for marked in (plain, escape_text(plain), escape_attribute(plain), html.escape(plain)):
            yield marked
            yield marked.replace('"', '""')
            for ascii_only in (False, True):
                once = json.dumps(marked, ensure_ascii=ascii_only)[1:-1]
                yield once
                yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]

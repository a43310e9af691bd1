"""Where a text may be cut without tearing a character that people see as one."""

from __future__ import annotations

import unicodedata

__all__ = ["cluster_border"]

LONGEST_CLUSTER = 32  # code points looked back; longer runs of marks are hostile and may be cut
_JOINER = "\u200d"
_MARKS = {"Mn", "Mc", "Me"}


def cluster_border(text: str, position: int, lowest: int) -> int:
    """Return the last border at or before ``position`` that is not inside a grapheme cluster.

    Covers line ends (CR LF), combining marks, variation selectors, joined emoji, skin tones and flags; falls
    back to ``position`` when no border is near above ``lowest``.

    References:
        Unicode Standard Annex 29, rules GB3, GB9, GB9a, GB11 and GB12, in the parts that occur in prose.
    """
    if position <= lowest or position >= len(text) or text[position - 1 : position + 1].isalnum():
        # Marks, joiners, skin tones and flags are never alphanumeric, so two letters always have a border.
        return position
    border = position
    while border > lowest and position - border < LONGEST_CLUSTER:
        if not _joined(text, border):
            return border
        border -= 1
    return position


def _joined(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if before == "\r":
        return after == "\n"
    if _JOINER in {after, before}:
        return True
    if unicodedata.category(after) in _MARKS or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        run = 0
        while position - 1 - run >= 0 and run < LONGEST_CLUSTER and _is_flag_half(text[position - 1 - run]):
            run += 1
        return run % 2 == 1
    return False


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"

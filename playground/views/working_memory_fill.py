"""How working memory fills its size: each line in the order of filling, the running total, and the cut line.

Pure. Every number is the manifest's or that of a line's turn. Lines are taken one after the other while they
fit; one that does not is passed over, so a smaller one below the cut line may still get in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playground.compiler.explain import PassTurn
from playground.compiler.manifest import ContextManifest, ManifestEntry, Reason
from playground.compiler.values import WORKING_MEMORY_SOURCE
from playground.views.direction import without_overrides
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.record_text import RecordTexts
from playground.views.words import Sentence, count, entry_slot, marked, plural

__all__ = ["FillRow", "FillView", "fill_view"]


@dataclass(frozen=True, slots=True)
class FillRow:
    """One line of working memory at its turn."""

    key: str
    slot: Slot
    kind: str
    """``decision``."""
    title: str
    tokens: str
    width: float
    """Its bar, in parts of the longest one."""
    total: str
    """Tokens of all that got in up to here, or by how much the line fell short: ``12 short``; ``dropped again``
    where it had fitted and the whole, rendered, did not."""
    reason: Reason
    selected: bool


@dataclass(frozen=True, slots=True)
class FillView:
    """All lines, in the order of filling."""

    rows: tuple[FillRow, ...]
    cut: int | None
    """The cut line stands before this row, the first that did not get in; ``None`` when all did."""
    cut_label: str
    """``size 2,048``, or ``budget 128``; what left too little at the cut line."""
    total: str
    """``490 of 2,048 tokens``; ``211 tokens, size 64`` where what always gets in takes more than the size."""
    sentence: Sentence


def fill_view(manifest: ContextManifest, turns: Sequence[PassTurn | None], texts: RecordTexts) -> FillView:
    """Return the lines of working memory as one compile took them. O(lines).

    Args:
        manifest: The compile.
        turns: What each line met when its turn came, as ``line_turns`` tells it of this compile.
        texts: Every offered record in words.
    """
    entries = [entry for entry in manifest.entries if entry.source == WORKING_MEMORY_SOURCE]
    longest = max((entry.tokens for entry in entries), default=1)
    rows = []
    taken = 0
    for entry, turn in zip(entries, turns, strict=True):
        taken += entry.tokens if entry.selected else 0
        text = texts.get((entry.source, entry.record_id))
        rows.append(
            FillRow(
                key=record_key(entry.source, entry.record_id),
                slot=entry_slot(entry),
                kind=entry.record_id.partition("/")[0],
                title=text.title if text else without_overrides(entry.record_id),
                tokens=count(entry.tokens),
                width=entry.tokens / max(1, longest),
                total=count(taken) if entry.selected or turn is None else _shortfall(turn),
                reason=entry.reason,
                selected=entry.selected,
            )
        )
    cut = next((at for at, entry in enumerate(entries) if not entry.selected), None)
    size = manifest.budget.working_memory_tokens
    return FillView(
        rows=tuple(rows),
        cut=cut,
        cut_label=_cut_label(entries, turns, cut, manifest),
        total=f"{count(taken)} of {count(size)} tokens" if taken <= size else _beyond(taken, size),
        sentence=marked(_sentence(entries, turns, cut, manifest)),
    )


def _cut_label(
    entries: Sequence[ManifestEntry],
    turns: Sequence[PassTurn | None],
    cut: int | None,
    manifest: ContextManifest,
) -> str:
    size = manifest.budget.working_memory_tokens
    turn = None if cut is None else turns[cut]
    if turn is not None and turn.left < max(0, size - sum(entry.tokens for entry in entries[:cut])):
        return f"budget {count(manifest.budget.context_tokens)}"  # which all other content shares
    return f"size {count(size)}"


def _beyond(taken: int, size: int) -> str:
    return f"{plural(taken, 'token')}, size {count(size)}"


def _shortfall(turn: PassTurn) -> str:
    return f"{count(turn.short_by)} short" if turn.short_by else "dropped again"


def _sentence(
    entries: Sequence[ManifestEntry],
    turns: Sequence[PassTurn | None],
    cut: int | None,
    manifest: ContextManifest,
) -> str:
    limit = min(manifest.budget.working_memory_tokens, manifest.budget.context_tokens)
    mandatory = sum(entry.tokens for entry in entries if entry.reason == "mandatory")
    parts = []
    if not entries:
        return "There is nothing to show: the working memory is empty."
    if mandatory > limit:
        parts.append(
            f"Goal, constraints and active task take **{count(mandatory)}** tokens and always get in, "
            f"above the **{count(limit)}** that there is for all."
        )
    if cut is None:
        parts.append(f"All **{plural(len(entries), 'line')}** got in.")
        return " ".join(parts)
    inside = sum(entry.selected for entry in entries)
    parts.append(f"**{count(inside)}** of **{plural(len(entries), 'line')}** got in.")
    turn = turns[cut]
    if turn is not None and turn.short_by:
        needed = count(entries[cut].tokens)
        parts.append(
            f"The first below the cut line needs **{needed}** tokens, **{count(turn.left)}** were left."
        )
    else:
        parts.append(
            "The first below the cut line was admitted and dropped again: rendered, the blocks were too large."
        )
    if below := sum(entry.selected for entry in entries[cut:]):
        smaller = "a smaller line" if below == 1 else f"{count(below)} smaller lines"
        parts.append(f"Below it {smaller} still got in: each line is taken if it fits what is left.")
    return " ".join(parts)

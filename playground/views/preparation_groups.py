"""The groups of a conversation for people: what each is, and what became of it in a preparation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from playground.preparation.compaction_log import result_name
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item, Json, read_item
from playground.preparation.memory_entries import MemoryEntry
from playground.preparation.protocol import Group, Protection, protocol_map
from playground.preparation.spill import Found, inventory, spill_key
from playground.views.words import plural, shortened

__all__ = ["GroupRow", "group_rows", "with_ids"]

NAMES_SHOWN = 4  # tools of one group
NAME_LENGTH = 40  # code points of a tool's name
UNSENT = "what has no counterpart is not sent"
PROTECTED: Mapping[Protection, str] = {
    "input": "the current input needs it",
    "pending": "its call waits for results",
    "async": "its result comes later",
    "evidence": "its evidence is not stored yet",
    "continuation": "its call is at the provider",
    "opaque": "only the provider can read it",
}


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Items that stay or go together.

    Attributes:
        positions: Places in the conversation that was given, from 0, ascending.
        what: What it is: tools that were called, or whose message.
        tokens: What it counted before, in tokens, its part in the current input included.
        outcome: ``kept``, ``cut``, ``moved`` or ``removed``.
        because: Why it was kept, or under which keys its results are.
        keys: Those keys.
    """

    positions: tuple[int, ...]
    what: str
    tokens: int
    outcome: str
    because: str
    keys: tuple[str, ...] = ()

    @property
    def places(self) -> str:
        """The positions as a list with ranges: ``1–3, 7``."""
        runs: list[list[int]] = []
        for position in self.positions:
            if runs and position == runs[-1][-1] + 1:
                runs[-1].append(position)
            else:
                runs.append([position])
        return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def with_ids(items: Sequence[Mapping[str, Any]], start: int = 0) -> tuple[Json, ...]:
    """Return items with ids by which a report finds them again, those that have none."""
    return tuple({"id": f"item_{start + place}", **item} for place, item in enumerate(items))


def group_rows(
    history: Sequence[Json],
    current_input: Sequence[Json],
    *,
    after: Sequence[Json],
    notes: Sequence[MemoryEntry],
    log: Sequence[str],
    estimator: PreparationEstimator,
) -> tuple[GroupRow, ...]:
    """Tell what became of each group.

    Args:
        history: As it was before, each item with an id of its own; see ``with_ids``.
        current_input: As it was before.
        after: History and current input as the preparation left them.
        notes: What working memory holds now and did not before.
        log: What the preparation told.
        estimator: Counted it.
    """
    items = [read_item(item, estimator) for item in (*history, *current_input)]
    found = protocol_map(items[: len(history)], items[len(history) :])
    unsent = {position for position, _ in found.dropped}
    left = {item.get("id"): item for item in after}
    keys = _Keys(notes, log)
    return tuple([_row(group, items, left, keys, unsent=unsent) for group in found.groups])


class _Keys:
    """Finds the notes that hold results, each once."""

    def __init__(self, notes: Sequence[MemoryEntry], log: Sequence[str]) -> None:
        self._notes = [*notes]
        # What the log says of each key; ids stand there as the log writes them.
        self._told = {line.rpartition(" to ")[2]: line for line in log if line.startswith("moved ")}

    def of(self, group: Group, items: Sequence[Item]) -> list[str]:
        """Return the keys of a group's results that are in the notes."""
        keys: list[str] = []
        for result in inventory(group, items):
            note = self._note(result)
            if note is not None:
                self._notes.remove(note)
                keys.append(note.key)
        return keys

    def _note(self, result: Found) -> MemoryEntry | None:
        key = spill_key(result.tool, result.call_id)
        notes = [note for note in self._notes if note.key == key or note.key.startswith(f"{key}.")]
        equal = [note for note in notes if note.json == result.json]
        # Two results may be alike; then only the log knows which of them is which.
        named = f"moved {result_name(result.tool, result.call_id)} ("
        told = [note for note in equal if self._told.get(note.key, "").startswith(named)]
        return next(iter([*told, *equal]), None)


def _row(
    group: Group, items: Sequence[Item], left: Mapping[Any, Json], keys: _Keys, *, unsent: AbstractSet[int]
) -> GroupRow:
    members = [items[place] for place in group.members]
    moved: list[str] = []
    reasons = [] if group.protection is None else [PROTECTED[group.protection]]
    if not unsent.isdisjoint(group.members):
        reasons.append(UNSENT)
    outcome, because = "kept", "; ".join(reasons)
    if not all(item.id in left for item in members):
        moved = keys.of(group, items) if group.results else []
        outcome, because = ("moved", f"to {', '.join(moved)}") if moved else ("removed", "see below")
    elif any(left[item.id] != item.data for item in members):
        outcome = "cut"
    tokens = sum(item.tokens for item in members)
    return GroupRow(group.members, _what(group, members), tokens, outcome, because, tuple(moved))


def _what(group: Group, members: Sequence[Item]) -> str:
    if not group.is_tool:
        item = members[0]
        speaker = {"user": "user", "assistant": "answer", "developer": "developer"}.get(item.role or "")
        return speaker or shortened(str(item.data["type"]), NAME_LENGTH)
    names = [shortened(call.name, NAME_LENGTH) for _, call in group.calls]
    if not names:
        return "results without a call"
    shown = ", ".join(names[:NAMES_SHOWN])
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{plural(len(names), 'call')}: {shown}{more}"

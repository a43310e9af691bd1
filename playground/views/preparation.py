"""A prepared request for people: its budget as parts that add up, its groups, and where things went. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from playground.preparation.budget import PreparationBudget
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item, Json, read_item
from playground.preparation.memory_entries import MemoryEntry
from playground.preparation.protocol import Group, Protection, protocol_map
from playground.preparation.results import ContextPreparation, PreparedContext
from playground.preparation.spill import Found, inventory, spill_key
from playground.preparation.validation import PreparedParts, request_budget
from playground.values import canonical_json
from playground.views.words import count, percent, plural, shortened

__all__ = [
    "BudgetRow",
    "GroupRow",
    "PreparationReport",
    "TokenizerCount",
    "count_again",
    "preparation_report",
    "with_ids",
]

NAMES_SHOWN = 4  # tools of one group
NAME_LENGTH = 40  # code points of a tool's name
PARTS = {
    "systemPrompt": "System prompt",
    "persistentInstructions": "Persistent instructions",
    "pluginInstructions": "Instructions of plugins and stores",
    "systemOverhead": "Headings, rules and date",
    "instructions": "Separate instructions",
    "conversation": "Conversation",
    "currentInput": "Current input",
    "tools": "Function tools",
    "nativeTools": "Native tools",
    "responseFormat": "Response format",
}
PROTECTED: Mapping[Protection, str] = {
    "input": "the current input needs it",
    "pending": "its call waits for results",
    "async": "its result comes later",
    "evidence": "its evidence is not stored yet",
    "continuation": "its call is at the provider",
    "opaque": "only the provider can read it",
}


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """One part of the budget.

    Attributes:
        name: As people call it.
        tokens: Its tokens.
        is_sum: Whether it sums up those above, or says what they are measured against.
    """

    name: str
    tokens: int
    is_sum: bool = False


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


@dataclass(frozen=True, slots=True)
class TokenizerCount:
    """What a tokenizer counts for the same request.

    Attributes:
        name: The tokenizer's.
        tokens: Its count.
    """

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PreparationReport:
    """Everything that is shown of a preparation.

    Attributes:
        headline: Revision, size and whether it was compacted, in one line.
        budget: Parts that hold anything, their sum, and what they are measured against.
        groups: All groups of the conversation that was given.
        log: What was moved, dropped or cut, one line each; untrusted names stand in it.
        error: How far the estimate is from a tokenizer's count; empty without one.
        recorded: The whole report as JSON-ready data.
    """

    headline: str
    budget: tuple[BudgetRow, ...]
    groups: tuple[GroupRow, ...]
    log: tuple[str, ...]
    error: str = ""
    recorded: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the whole report as JSON."""
        return canonical_json(self.recorded)


def with_ids(items: Sequence[Mapping[str, Any]], start: int = 0) -> tuple[Json, ...]:
    """Return items with ids by which a report finds them again, those that have none."""
    return tuple({"id": f"item_{start + place}", **item} for place, item in enumerate(items))


def preparation_report(
    history: Sequence[Json],
    current_input: Sequence[Json],
    *,
    after: Sequence[Json],
    notes: Sequence[MemoryEntry],
    prepared: PreparedContext,
    preparation: ContextPreparation,
    estimator: PreparationEstimator,
    tokenizer: TokenizerCount | None = None,
) -> PreparationReport:
    """Tell what a preparation made of a conversation.

    Args:
        history: As it was before, each item with an id of its own; see ``with_ids``.
        current_input: As it was before.
        after: History and current input as the preparation left them.
        notes: What working memory holds now and did not before.
        prepared: The request.
        preparation: Its diagnostics.
        estimator: Counted it.
        tokenizer: Another count of it.
    """
    budget = prepared.budget
    items = [read_item(item, estimator) for item in (*history, *current_input)]
    found = protocol_map(items[: len(history)], items[len(history) :])
    unsent = {position for position, _ in found.dropped}
    left = {item.get("id"): item for item in after}
    keys = _Keys(notes, prepared.compaction_log)
    rows = [_group(group, items, left, keys, unsent=unsent) for group in found.groups]
    compacted = "compacted" if prepared.compacted else "not compacted"
    return PreparationReport(
        headline=(
            f"revision {preparation.revision} · {count(budget.total_used)} of {count(budget.limit)} tokens "
            f"(estimate by {estimator.name}) · {compacted}"
        ),
        budget=_budget(budget),
        groups=tuple(rows),
        log=prepared.compaction_log,
        recorded=_recorded(rows, prepared, preparation, estimator, tokenizer),
        error="" if tokenizer is None else _error(budget.total_used, tokenizer),
    )


def count_again(prepared: PreparedContext, count_text: Callable[[str], int], name: str) -> TokenizerCount:
    """Count a prepared request by a tokenizer, framing of messages and tools as in the estimate."""
    budget = prepared.budget
    counted = request_budget(
        {"input": prepared.input, "tools": prepared.tools},
        prepared=PreparedParts(),
        window=budget.max_tokens,
        reserve=budget.response_reserve,
        estimator=PreparationEstimator(count_text, name=name),
    )
    return TokenizerCount(name, counted.total_used)


def _recorded(
    rows: Sequence[GroupRow],
    prepared: PreparedContext,
    preparation: ContextPreparation,
    estimator: PreparationEstimator,
    tokenizer: TokenizerCount | None,
) -> dict[str, Any]:
    groups = [
        {
            "positions": list(row.positions),
            "group": row.what,
            "tokens": row.tokens,
            "outcome": row.outcome,
            "because": row.because,
            "keys": list(row.keys),
        }
        for row in rows
    ]
    return {
        "revision": preparation.revision,
        "preparedAt": preparation.prepared_at,
        "compacted": prepared.compacted,
        "budget": json.loads(prepared.budget.to_json()),
        "estimator": estimator.name,
        "tokenizer": None if tokenizer is None else {"name": tokenizer.name, "totalUsed": tokenizer.tokens},
        "groups": groups,
        "compactionLog": list(prepared.compaction_log),
    }


class _Keys:
    """Finds the notes that hold results, each once."""

    def __init__(self, notes: Sequence[MemoryEntry], log: Sequence[str]) -> None:
        self._notes = [*notes]
        self._log = log

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
        named = [line for line in self._log if f" result {result.call_id} " in line]
        told = [note for note in equal if any(line.endswith(f" to {note.key}") for line in named)]
        return next(iter([*told, *equal]), None)


def _group(
    group: Group, items: Sequence[Item], left: Mapping[Any, Json], keys: _Keys, *, unsent: AbstractSet[int]
) -> GroupRow:
    members = [items[place] for place in group.members]
    moved: list[str] = []
    outcome, because = "kept", "" if group.protection is None else PROTECTED[group.protection]
    if not because and not unsent.isdisjoint(group.members):
        because = "what has no counterpart is not sent"
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


def _budget(budget: PreparationBudget) -> tuple[BudgetRow, ...]:
    flat = budget.breakdown.flat()
    contents = {name: tokens for name, tokens in flat.items() if name.startswith("plugin:")}
    rows: list[BudgetRow] = []
    for name, label in PARTS.items():
        rows.append(BudgetRow(label, flat[name]))
        if name == "pluginInstructions":
            rows += [
                BudgetRow(f"Content of {key.partition(':')[2]}", tokens) for key, tokens in contents.items()
            ]
    return (
        *[row for row in rows if row.tokens],
        BudgetRow("Total", budget.total_used, is_sum=True),
        BudgetRow("Free below the limit", budget.available, is_sum=True),
        BudgetRow("Reserved for the answer", budget.response_reserve, is_sum=True),
        BudgetRow("Window", budget.max_tokens, is_sum=True),
    )


def _error(estimate: int, tokenizer: TokenizerCount) -> str:
    told = f"The tokenizer {tokenizer.name} counts {count(tokenizer.tokens)} tokens"
    if not tokenizer.tokens or estimate == tokenizer.tokens:
        return f"{told}, as the estimate does."
    off = (estimate - tokenizer.tokens) / tokenizer.tokens
    return f"{told}; the estimate is {percent(abs(off))} {'above' if off > 0 else 'below'} that."

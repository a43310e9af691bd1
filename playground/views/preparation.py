"""A prepared request for people: its budget as parts that add up, its groups, and where things went. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.preparation.budget import PreparationBudget
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Json
from playground.preparation.memory_entries import MemoryEntry
from playground.preparation.results import ContextPreparation, PreparedContext
from playground.preparation.validation import PreparedParts, request_budget
from playground.values import canonical_json
from playground.views.preparation_groups import GroupRow, group_rows
from playground.views.words import count, percent

__all__ = [
    "BudgetRow",
    "PreparationReport",
    "TokenizerCount",
    "count_again",
    "preparation_report",
]

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
    rows = group_rows(
        history,
        current_input,
        after=after,
        notes=notes,
        log=prepared.compaction_log,
        estimator=estimator,
    )
    compacted = "compacted" if prepared.compacted else "not compacted"
    return PreparationReport(
        headline=(
            f"revision {preparation.revision} · {count(budget.total_used)} of {count(budget.limit)} tokens "
            f"(estimate by {estimator.name}) · {compacted}"
        ),
        budget=_budget(budget),
        groups=rows,
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

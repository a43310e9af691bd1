"""Selection: which offers get in under a budget.

Pure, and all that a sweep or a slider has to run. The rules: mandatory content is never cut; working memory
fills its allowance in its fixed order; each kind then fills its share by descending score; what shares leave
unused goes to the best of the others. Every step takes what fits and skips what does not (first fit), so a
larger budget can drop two small records for one larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from playground.compiler.budget import ContextBudget
from playground.compiler.manifest import Reason
from playground.compiler.offers import MemoryOffers, Offers
from playground.compiler.values import Kind
from playground.errors import ContextBudgetExceededError

__all__ = ["Rooms", "Selection", "granted_tokens", "mark_duplicates", "rooms_of", "select"]


class Rooms(NamedTuple):
    """What a budget leaves for optional content, in tokens."""

    context_tokens: int
    """What the compiler may add."""
    frame_tokens: int
    """The frame of the retrieval block, where no mandatory content pays for it."""
    left: int
    """What mandatory content and that frame leave."""
    memory_tokens: int
    """What working memory may take, its mandatory lines included."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one budget selects.

    Attributes:
        context_tokens: What the compiler may add, in tokens.
        frame_tokens: Frames that no mandatory content had paid for, in tokens.
        rest_tokens: What the kinds divided among them, in tokens.
        granted: Share of each kind, in tokens.
        reasons: One a candidate.
        line_reasons: One a working-memory line.
        line_tokens: Tokens of each working-memory line, its section's tags with the first of a section.
        records: Admitted candidates, mandatory first, in the order of admission.
        lines: Admitted working-memory lines, in the order of admission.
    """

    context_tokens: int
    frame_tokens: int
    rest_tokens: int
    granted: dict[Kind, int]
    reasons: list[Reason]
    line_reasons: list[Reason]
    line_tokens: list[int]
    records: list[int]
    lines: list[int]

    def without_last(self, offers: Offers) -> Selection | None:
        """Return the selection without the optional piece admitted last; ``None`` when there is none."""
        if len(self.records) > len(offers.mandatory):
            dropped = self.records[-1]
            reasons = list(self.reasons)
            reasons[dropped] = "budget"
            return replace(self, records=self.records[:-1], reasons=reasons)
        if self.lines and self.line_reasons[self.lines[-1]] != "mandatory":
            line_reasons = list(self.line_reasons)
            line_reasons[self.lines[-1]] = "budget"
            return replace(self, lines=self.lines[:-1], line_reasons=line_reasons)
        return None


def select(offers: Offers, budget: ContextBudget) -> Selection:
    """Select from ``offers`` under ``budget``. O(n) after ``prepare``.

    Raises:
        ContextBudgetExceededError: When the mandatory content alone does not fit the room of the request.
    """
    room = offers.inputs.room
    if offers.required_tokens > max(0, room):
        raise ContextBudgetExceededError(
            required_tokens=offers.required_tokens, available_tokens=max(0, room), phase=offers.inputs.phase
        )
    rooms = rooms_of(offers, budget)
    lines, line_tokens, spent, tail_frame = _fill_memory(offers.memory, rooms)
    rest = rooms.left - spent - tail_frame
    granted = granted_tokens(budget, rest)
    reasons = list(offers.settled)
    for i in offers.mandatory:
        reasons[i] = "mandatory"
    walk = _Walk(offers, reasons)
    for kind, order in offers.by_kind.items():
        rest_before = rest - walk.spent
        walk.first_fit(order, min(granted[kind], rest_before), "ranked")
    walk.first_fit(offers.ranking, rest - walk.spent, "reallocated")
    chosen = set(lines)
    return Selection(
        context_tokens=rooms.context_tokens,
        frame_tokens=rooms.frame_tokens + tail_frame,
        rest_tokens=rest,
        granted=granted,
        reasons=[reason or "budget" for reason in reasons],
        line_reasons=[
            "mandatory" if line.mandatory else "ranked" if i in chosen else "budget"
            for i, line in enumerate(offers.memory.lines)
        ],
        line_tokens=line_tokens,
        records=[*offers.mandatory, *walk.admitted],
        lines=lines,
    )


def rooms_of(offers: Offers, budget: ContextBudget) -> Rooms:
    """Return what the budget leaves before the first optional piece; none of it shrinks as a knob grows."""
    context_tokens = budget.context_tokens(offers.inputs.room)
    frame = offers.frame_tokens if offers.ranking and not offers.mandatory else 0
    left = max(0, max(0, context_tokens - offers.required_tokens) - frame)
    return Rooms(context_tokens, frame, left, min(budget.working_memory_tokens, context_tokens))


def granted_tokens(budget: ContextBudget, rest: int) -> dict[Kind, int]:
    """Return what each kind is granted of the ``rest``, in tokens."""
    return {kind: math.floor(share * rest) for kind, share in budget.shares.items()}


def mark_duplicates(offers: Offers, selection: Selection) -> Selection:
    """Return the selection with every left-out candidate whose text got in under another entry as duplicate."""
    if not offers.twins:
        return selection
    taken = {offers.twins[i] for i in selection.records if i in offers.twins}
    admitted = set(selection.records)
    reasons = list(selection.reasons)
    for i, group in offers.twins.items():
        if group in taken and i not in admitted:
            reasons[i] = "duplicate"
    return replace(selection, reasons=reasons)


class _Walk:
    """Admits candidates one after the other; of several with one text, the first that fits."""

    def __init__(self, offers: Offers, reasons: list[Reason | None]) -> None:
        self.spent = 0
        self.admitted: list[int] = []
        self._tokens = offers.tokens
        self._twins = offers.twins
        self._taken: set[int] = set()
        self._reasons = reasons

    def first_fit(self, order: Sequence[int], room: int, reason: Reason) -> None:
        tokens, reasons, twins, taken = self._tokens, self._reasons, self._twins, self._taken
        smallest = min(map(tokens.__getitem__, order), default=0)
        left = room
        for i in order:
            if left < smallest:
                break
            if tokens[i] > left or reasons[i] is not None:
                continue
            group = twins.get(i) if twins else None
            if group is not None:
                if group in taken:
                    continue
                taken.add(group)
            reasons[i] = reason
            left -= tokens[i]
            self.admitted.append(i)
        self.spent += room - left


def _fill_memory(memory: MemoryOffers, rooms: Rooms) -> tuple[list[int], list[int], int, int]:
    """Return admitted lines, tokens of every line, of the optional ones, and the frame they had to pay."""
    opened: set[str] = set()
    tokens: list[int] = []
    admitted: list[int] = []
    mandatory_tokens = spent = frame = 0
    for i, line in enumerate(memory.lines):
        cost = memory.tokens[i] if line.section in opened else memory.first_tokens[i]
        tokens.append(cost)
        if line.mandatory:
            mandatory_tokens += cost
        else:
            allowance = max(0, rooms.memory_tokens - mandatory_tokens)
            due = 0 if memory.owed or admitted else memory.frame_tokens
            if spent + cost > allowance or spent + cost + frame + due > rooms.left:
                continue
            spent += cost
            frame += due
        opened.add(line.section)
        admitted.append(i)
    return admitted, tokens, spent, frame

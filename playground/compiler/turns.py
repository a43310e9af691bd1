"""Turns: what each optional piece met when its turn came, read off a selection.

Pure. Nothing is decided here a second time: what was left at a turn is what a pass had to divide less what the
selection says was admitted before. From that follow the rooms in which no decision would differ, so that a
search over budgets can step from one outcome to the next.

A piece is named by a number: a candidate by its place in ``offers.candidates``, a working-memory line by
``-1 - place``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from playground.compiler.budget import ContextBudget
from playground.compiler.manifest import Reason
from playground.compiler.offers import MemoryOffers, Offers
from playground.compiler.selection import Rooms, Selection, granted_tokens, rooms_of
from playground.compiler.values import WORKING_MEMORY_SOURCE, Kind

__all__ = ["Outcome", "Turn", "line_number", "piece_of_entry", "piece_of_line", "record_of"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One piece's turn in one pass.

    Attributes:
        room: What the pass had to divide, in tokens.
        left: What was left of it at the turn, in tokens.
        before: Pieces admitted before it in the pass, in their order.
    """

    room: int
    left: int
    before: tuple[int, ...]


class _Span(NamedTuple):
    """Rooms, in tokens, from the least to the most in which the same is decided."""

    least: int
    most: float

    def has(self, room: int) -> bool:
        return self.least <= room <= self.most


class _KindPass(NamedTuple):
    kind: Kind
    spent_before: int
    span: _Span


class _LineNeed(NamedTuple):
    """What a working-memory line takes together with what was admitted before it, in tokens."""

    line: int
    admitted: bool
    memory_tokens: int
    left: int

    def same(self, rooms: Rooms) -> bool:
        fits = rooms.memory_tokens >= self.memory_tokens and rooms.left >= self.left
        return fits == self.admitted


def piece_of_line(line: int) -> int:
    """Return the number of a working-memory line as a piece."""
    return -1 - line


def piece_of_entry(offers: Offers, number: int) -> int:
    """Return the number, as a piece, of an entry of the manifest, which lists the lines first."""
    lines = len(offers.memory.lines)
    return number - lines if number >= lines else piece_of_line(number)


def line_number(piece: int) -> int | None:
    """Return the place of a working-memory line; ``None`` for a candidate."""
    return -1 - piece if piece < 0 else None


def record_of(offers: Offers, piece: int) -> tuple[str, str]:
    """Return source and record id of a piece."""
    line = line_number(piece)
    if line is not None:
        return WORKING_MEMORY_SOURCE, offers.memory.lines[line].record_id
    return offers.inputs.results[offers.sources[piece]].source_id, offers.candidates[piece].record_id


class Outcome:
    """One selection, read back.

    Args:
        offers: What was selected from.
        budget: Under which budget.
        selection: What ``select`` returned for them, before any block was rendered.
    """

    def __init__(self, offers: Offers, budget: ContextBudget, selection: Selection) -> None:
        self._offers, self._selection = offers, selection
        self._rooms = rooms_of(offers, budget)
        self._spent_on_lines = self._rooms.left - selection.rest_tokens
        self._lines = _line_needs(offers.memory, selection)
        self._taken: set[int] = set()
        self._kinds: list[_KindPass] = []
        spent = 0
        for kind, order in offers.by_kind.items():
            span = self._span(order, "ranked", self._taken)
            self._kinds.append(_KindPass(kind, spent, span))
            spent += span.least
        self._spent_on_kinds = spent

    def line_turn(self, line: int) -> Turn:
        """Return the turn of an optional working-memory line in the allowance."""
        need = next(need for need in self._lines if need.line == line)
        cost = self._selection.line_tokens[line]
        memory, left = self._rooms.memory_tokens, self._rooms.left
        optional = {other.line for other in self._lines}
        critical = sum(cost for i, cost in enumerate(self._selection.line_tokens) if i not in optional)
        before = [other.line for other in self._lines if other.admitted and other.line < line]
        return Turn(
            room=max(0, min(memory - critical, left)),
            left=max(0, min(memory - (need.memory_tokens - cost), left - (need.left - cost))),
            before=tuple(map(piece_of_line, before)),
        )

    def share_turn(self, candidate: int) -> Turn:
        """Return the turn of an optional candidate in its kind's share, also of one that did not contend."""
        own = next(one for one in self._kinds if one.kind == self._kind_of(candidate))
        room = self._room_of(own, self._selection.granted, self._selection.rest_tokens)
        before = self._before(candidate, "ranked")
        return self._turn(room, [i for i in before if self._kind_of(i) == own.kind])

    def pool_turn(self, candidate: int) -> Turn:
        """Return the turn of an optional candidate in the reallocation of what the shares left."""
        room = self._selection.rest_tokens - self._spent_on_kinds
        return self._turn(room, self._before(candidate, "reallocated"))

    def is_same(self, budget: ContextBudget) -> bool:
        """Whether everything is decided as here under ``budget``."""
        pool = self._span(self._offers.ranking, "reallocated", set(self._taken))
        return self._lines_are_same(budget) and self._kinds_are_same(budget, pool)

    def leaves_out(self, piece: int) -> Callable[[ContextBudget], bool]:
        """Return a test that holds under budgets which surely leave out a piece that is left out here.

        Lines have to be decided as here, and for a candidate all shares. As a knob is turned away from here,
        the test holds up to some value and then no more, since no room turns back.
        """
        if line_number(piece) is not None:
            return self._lines_are_same
        pool = self._pool_without(piece)
        return lambda budget: self._lines_are_same(budget) and self._kinds_are_same(budget, pool)

    def _pool_without(self, candidate: int) -> _Span:
        """Return the rooms of the pool in which a contender that got no share stays out, all shares as here.

        The first token that lets a better record in leaves nothing over at this one's turn, and between two
        such tokens what is left grows by one a token: it cannot fit before the missing tokens are added.
        """
        offers, tokens = self._offers, self._offers.tokens[candidate]
        group = offers.twins.get(candidate)
        taken = set(self._taken)
        if group is not None and group in taken:
            return _Span(0, math.inf)
        span = self._span(takewhile(candidate.__ne__, offers.ranking), "reallocated", taken)
        if group is not None and group in taken:
            return span
        return _Span(span.least, span.least + tokens - 1)

    def _lines_are_same(self, budget: ContextBudget) -> bool:
        rooms = rooms_of(self._offers, budget)
        return all(need.same(rooms) for need in self._lines)

    def _kinds_are_same(self, budget: ContextBudget, pool: _Span) -> bool:
        """Whether all shares, and the pool as far as the span says, are decided as here if the lines are."""
        rest = rooms_of(self._offers, budget).left - self._spent_on_lines
        granted = granted_tokens(budget, rest)
        return pool.has(rest - self._spent_on_kinds) and all(
            one.span.has(self._room_of(one, granted, rest)) for one in self._kinds
        )

    @staticmethod
    def _room_of(one: _KindPass, granted: dict[Kind, int], rest: int) -> int:
        return min(granted[one.kind], rest - one.spent_before)

    def _turn(self, room: int, before: Sequence[int]) -> Turn:
        return Turn(room, room - sum(self._offers.tokens[i] for i in before), tuple(before))

    def _before(self, candidate: int, reason: Reason) -> list[int]:
        """Candidates admitted for this reason that rank before another one: by score, then in source order."""
        candidates, reasons = self._offers.candidates, self._selection.reasons
        place = -candidates[candidate].score, candidate
        return [
            i for i in self._selection.records if reasons[i] == reason and (-candidates[i].score, i) < place
        ]

    def _kind_of(self, candidate: int) -> Kind:
        return self._offers.inputs.results[self._offers.sources[candidate]].kind

    def _span(self, order: Iterable[int], reason: Reason, taken: set[int]) -> _Span:
        """Follow one pass; ``taken`` gains the groups of equal texts that got in."""
        tokens, reasons, twins = self._offers.tokens, self._selection.reasons, self._offers.twins
        used, most = 0, math.inf
        for i in order:
            if reasons[i] == reason:
                used += tokens[i]
                if i in twins:
                    taken.add(twins[i])
            elif used + tokens[i] <= most and self._contends(i, reason) and twins.get(i) not in taken:
                most = used + tokens[i] - 1
        return _Span(used, most)

    def _contends(self, candidate: int, reason: Reason) -> bool:
        return reason == "ranked" or self._selection.reasons[candidate] != "ranked"


def _line_needs(memory: MemoryOffers, selection: Selection) -> list[_LineNeed]:
    chosen = set(selection.lines)
    needs: list[_LineNeed] = []
    mandatory = spent = frame = 0
    opened = memory.owed
    for i, line in enumerate(memory.lines):
        cost = selection.line_tokens[i]
        if line.mandatory:
            mandatory += cost
            opened = True
            continue
        due = 0 if opened else memory.frame_tokens
        own = spent + cost
        needs.append(_LineNeed(i, i in chosen, mandatory + own if own else 0, own + frame + due))
        if i in chosen:
            spent += cost
            frame += due
            opened = True
    return needs

"""Explaining one entry of a compile: its rank, what was left at its turn, and what would let it in.

Pure. Everything is found by selecting again from the same offers; see ``turns`` for what was left and
``changes`` for how the nearest change of each knob is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from playground.compiler.binding import Binding, binding_constraint
from playground.compiler.budget import ContextBudget
from playground.compiler.changes import KnobChange, is_in, nearest_change
from playground.compiler.compile import compile_offers, foreign_package, offers_of
from playground.compiler.counterpart import Counterpart, counterpart_of
from playground.compiler.knobs import KNOBS, AnyKnob
from playground.compiler.limit_changes import nearest_limit_change
from playground.compiler.manifest import EntryKind, Reason
from playground.compiler.offers import CompileInputs, Offers
from playground.compiler.selection import Selection, select
from playground.compiler.turns import Outcome, Turn, line_number, piece_of_entry, record_of
from playground.compiler.values import ContextPackage
from playground.errors import InvalidInputError
from playground.values import shown

__all__ = ["Binding", "Counterpart", "Explanation", "PassTurn", "binding_constraint", "explain", "line_turns"]

Record = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PassTurn:
    """The turn of an entry in one pass.

    Attributes:
        room: What the pass had to divide, in tokens: the kind's share, the pool of what shares left unused, or
            what working memory's optional lines may take.
        left: What was left of it at the turn, in tokens.
        short_by: Tokens that were missing; 0 where it would have fitted.
        before: Source and id of every record that was admitted before it in this pass, in that order.
    """

    room: int
    left: int
    short_by: int
    before: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an entry is in or out, and what would let it in.

    Attributes:
        source: Its source, ``working-memory`` for a line.
        record_id: Its id.
        kind: Its kind.
        selected: Whether it got in.
        reason: The manifest's reason.
        tokens: What it takes, in tokens.
        score: Its score; ``None`` for a line of working memory.
        rank: Its place among all that compete for the budget, from 1; lines have an order of their own.
            ``None`` where it does not compete: mandatory, or out before any budget was looked at.
        rank_in_kind: Its place among those of its kind.
        rivals: How many the rank is among, the entry itself included; 0 where it does not compete.
        rivals_in_kind: How many of them are of its kind.
        share: Its turn in its kind's share; ``None`` where it had none, as a duplicate has none.
        pool: Its turn in the reallocation of what the shares left; ``None`` where it had none.
        allowance: Its turn in working memory's allowance, for a line.
        over_by: Tokens by which the rendered blocks were too large with it, where it was admitted and dropped
            again; only a tokenizer, whose counts of pieces do not add up, can make that happen. Else 0.
        instead: What is there in its place: for a duplicate the other copy, for a superseded record the newest
            revision, for one that was placed already its placement.
        changes: For each knob the nearest value that lets it in; empty where it is in.
    """

    source: str
    record_id: str
    kind: EntryKind
    selected: bool
    reason: Reason
    tokens: int
    score: float | None
    rank: int | None
    rank_in_kind: int | None
    rivals: int
    rivals_in_kind: int
    share: PassTurn | None
    pool: PassTurn | None
    allowance: PassTurn | None
    over_by: int
    instead: Counterpart | None
    changes: tuple[KnobChange[AnyKnob], ...]

    @property
    def short_by(self) -> int:
        """The fewest tokens that any of its turns was short of, or the blocks were over; 0 if none was."""
        turns = [turn.short_by for turn in (self.share, self.pool, self.allowance) if turn is not None]
        return self.over_by or min(turns, default=0)


def explain(inputs: CompileInputs | Offers, package: ContextPackage, record: Record | int) -> Explanation:
    """Explain one entry of a compile.

    The changes are exact: each names the nearest value that lets the entry in when all other knobs stay, in
    units of 1 token, 1 candidate and 0.0001 of the ratio and the shares, the larger of two equally near; and
    ``None`` only where no value of the knob does. A share that grows takes from the others in proportion once
    all sum to 1.

    Args:
        inputs: What was compiled, or what ``prepare`` made of it.
        package: What the compile gave.
        record: Source and record id, the first such entry being meant; or the number of an entry in
            ``package.manifest.entries``.

    Raises:
        InvalidInputError: When there is no such entry, or the package was not compiled from these inputs.
    """
    offers = offers_of(inputs, package)
    budget = package.manifest.budget.knobs()
    number = _entry_number(package, record)
    _check_origin(offers, budget, package)
    entry = package.manifest.entries[number]
    piece = piece_of_entry(offers, number)
    selection = select(offers, budget)
    ranks = _ranks(offers, piece)
    no_turn = ranks.rank is None or entry.reason == "duplicate"
    turns = {} if no_turn else _turns(offers, Outcome(offers, budget, selection), selection, piece)
    return Explanation(
        source=entry.source,
        record_id=entry.record_id,
        kind=entry.kind,
        selected=entry.selected,
        reason=entry.reason,
        tokens=entry.tokens,
        score=entry.score,
        rank=ranks.rank,
        rank_in_kind=ranks.rank_in_kind,
        rivals=ranks.rivals,
        rivals_in_kind=ranks.rivals_in_kind,
        share=turns.get("share"),
        pool=turns.get("pool"),
        allowance=turns.get("allowance"),
        over_by=0 if entry.selected else _over_by(offers, selection, piece),
        instead=counterpart_of(offers, package.manifest, number),
        changes=() if entry.selected else _changes(offers, budget, piece),
    )


def line_turns(inputs: CompileInputs | Offers, package: ContextPackage) -> tuple[PassTurn | None, ...]:
    """Return the turn of each line of working memory, as ``explain`` tells it; ``None`` for a mandatory one.

    In the order of the manifest's entries. O(n): that the package is one of these inputs is not compiled again.

    Raises:
        InvalidInputError: When the inputs or the package are something else, or hold other entries.
    """
    offers = offers_of(inputs, package)
    budget = package.manifest.budget.knobs()
    selection = select(offers, budget)
    outcome = Outcome(offers, budget, selection)
    return tuple(
        None if line.mandatory else _told(offers, outcome.line_turn(number), selection.line_tokens[number])
        for number, line in enumerate(offers.memory.lines)
    )


def _entry_number(package: ContextPackage, record: Record | int) -> int:
    entries = package.manifest.entries
    if isinstance(record, int) and not isinstance(record, bool):
        if 0 <= record < len(entries):
            return record
        raise InvalidInputError(
            f"There is no entry {shown(record)}.",
            remedy=f"The manifest has {len(entries)}, numbered from 0.",
        )
    if not isinstance(record, tuple | list) or not all(isinstance(part, str) for part in record):
        raise InvalidInputError(
            f"The record is {shown(record)}.",
            remedy="Pass a source and a record id, or the number of an entry in the manifest.",
        )
    pairs = zip(entries.column("source"), entries.column("record_id"), strict=True)
    number = next((number for number, pair in enumerate(pairs) if pair == tuple(record)), None)
    if number is None:
        raise InvalidInputError(
            f"The manifest has no entry {shown(record)}.", remedy="Pass a source and a record id from it."
        )
    return number


def _check_origin(offers: Offers, budget: ContextBudget, package: ContextPackage) -> None:
    again, given = compile_offers(offers, budget).manifest, package.manifest
    if again.entries != given.entries or again.budget != given.budget:
        raise foreign_package()


class _Ranks(NamedTuple):
    rank: int | None = None
    rank_in_kind: int | None = None
    rivals: int = 0
    rivals_in_kind: int = 0


def _ranks(offers: Offers, piece: int) -> _Ranks:
    """Places from 1 in the global order and in the kind's; nothing for what does not compete."""
    line = line_number(piece)
    if line is not None:
        optional = [i for i, other in enumerate(offers.memory.lines) if not other.mandatory]
        if line not in optional:
            return _Ranks()
        place = optional.index(line) + 1
        return _Ranks(place, place, len(optional), len(optional))
    if piece not in offers.ranking:
        return _Ranks()
    own = next(order for order in offers.by_kind.values() if piece in order)
    return _Ranks(offers.ranking.index(piece) + 1, own.index(piece) + 1, len(offers.ranking), len(own))


def _turns(offers: Offers, outcome: Outcome, selection: Selection, piece: int) -> dict[str, PassTurn]:
    """The turns that a contender had, by the name of their pass."""
    line = line_number(piece)
    if line is not None:
        return {"allowance": _told(offers, outcome.line_turn(line), selection.line_tokens[line])}
    tokens = offers.tokens[piece]
    turns = {"share": _told(offers, outcome.share_turn(piece), tokens)}
    if selection.reasons[piece] != "ranked":
        turns["pool"] = _told(offers, outcome.pool_turn(piece), tokens)
    return turns


def _told(offers: Offers, turn: Turn, tokens: int) -> PassTurn:
    before = tuple(record_of(offers, other) for other in turn.before)
    return PassTurn(turn.room, turn.left, max(0, tokens - turn.left), before)


def _over_by(offers: Offers, selection: Selection, piece: int) -> int:
    """Tokens by which the blocks were too large as long as the piece was in them."""
    limit = max(selection.context_tokens, offers.required_tokens)
    least: int | None = None
    rest: Selection | None = selection
    while rest is not None and is_in(piece, rest):
        messages = [message for block in offers.render(rest.records, rest.lines) for message in block.messages]
        over = offers.inputs.estimator.estimate(messages) - limit
        least = over if least is None else min(least, over)
        rest = rest.without_last(offers)
    return least or 0


def _changes(offers: Offers, budget: ContextBudget, piece: int) -> tuple[KnobChange[AnyKnob], ...]:
    return (
        *(nearest_change(offers, budget, piece, knob) for knob in KNOBS),
        nearest_limit_change(offers, budget, piece),
    )

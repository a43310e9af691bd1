"""Offers: all candidates in their order, counted, with what is settled before any budget.

Pure. Everything here depends on the candidates, the history and the estimator, not on the budget: a sweep or
a slider prepares offers once and selects from them thousands of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from playground.compiler.counting import PieceCounter
from playground.compiler.manifest import EstimatorKind, Fallback, Reason, Refresh
from playground.compiler.placement import standing_placements
from playground.compiler.ranking import (
    mandatory_count,
    ranked,
    settle_repeated_texts,
    settled_in_source,
    twin_groups,
)
from playground.compiler.rendering import (
    render_records,
    render_tail,
    retrieval_frame,
    tail_frame,
)
from playground.compiler.values import (
    ContextBlock,
    ContextCandidate,
    Kind,
    PlacedEntry,
    SourceResult,
)
from playground.errors import InvalidInputError, InvalidRequestError, Phase
from playground.messages import Message, as_messages
from playground.tokens import TokenEstimator
from playground.values import of_type, shown, whole_number
from playground.working_memory.rendering import MemoryLine, memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["CompileInputs", "MemoryOffers", "Offers", "prepare"]

_TYPES: dict[str, Any] = {
    "estimator": TokenEstimator,
    "estimator_kind": EstimatorKind | None,
    "run_id": str,
}
_CHOICES: dict[str, tuple[object, ...]] = {
    "refresh": get_args(Refresh),
    "fallback": (None, *get_args(Fallback)),
    "phase": get_args(Phase),
}


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """Everything a compile takes beside the budget; see ``compile_context`` for the fields."""

    results: Sequence[SourceResult]
    messages: Sequence[Message | Mapping[str, Any]]
    input_tokens: int
    used_tokens: int
    working_memory: WorkingMemorySnapshot | None = None
    estimator: TokenEstimator = field(default_factory=TokenEstimator)
    run_id: str = ""
    step: int = 0
    retrieval_pass: int = 1
    refresh: Refresh = "initial"
    placed: Sequence[PlacedEntry] = ()
    phase: Phase = "compile"
    redacted: bool = False
    fallback: Fallback | None = None
    tail_kept: bool = False
    cache_prefix_changed: bool = False
    estimator_kind: EstimatorKind | None = None

    def __post_init__(self) -> None:
        for name in ("results", "placed"):
            value: object = getattr(self, name)
            if not isinstance(value, Iterable):
                raise InvalidInputError(f"{name} is a {type(value).__name__}.", remedy="Pass a list.")
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "messages", as_messages(self.messages))
        if self.working_memory is not None:
            memory = WorkingMemorySnapshot.recorded(self.working_memory)
            object.__setattr__(self, "working_memory", memory)

    @property
    def room(self) -> int:
        """Tokens the request leaves; negative when it is over-full already."""
        return self.input_tokens - self.used_tokens


@dataclass(frozen=True, slots=True)
class MemoryOffers:
    """Working memory's lines, counted.

    Attributes:
        lines: In fill order, mandatory ones first.
        tokens: Tokens of each line alone.
        first_tokens: Tokens of each line together with its section's tags, for the first of a section.
        owed: Whether the block must be placed even without optional lines.
        frame_tokens: Tokens of the block without lines.
    """

    lines: tuple[MemoryLine, ...] = ()
    tokens: tuple[int, ...] = ()
    first_tokens: tuple[int, ...] = ()
    owed: bool = False
    frame_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Offers:
    """Candidates in manifest order as parallel columns, with indexes into them.

    Attributes:
        inputs: What was prepared.
        candidates: In source order; in a source mandatory first, then by descending score.
        sources: Number of each candidate's result in ``inputs.results``.
        tokens: Tokens of each candidate's piece.
        settled: Reasons that hold under any budget; ``None`` for contenders.
        mandatory: Contenders that must be placed.
        ranking: Optional contenders by descending score, then source order, then record id.
        by_kind: ``ranking`` split by kind; the kind whose source was given first comes first.
        twins: Group number of each optional contender whose text another one shares.
        memory: Working memory's lines.
        frame_tokens: Tokens of the retrieval block without records.
        required_tokens: Estimate of the blocks with the mandatory content alone; 0 when there is none.
    """

    inputs: CompileInputs
    candidates: list[ContextCandidate]
    sources: list[int]
    tokens: list[int]
    settled: list[Reason | None]
    mandatory: list[int]
    ranking: list[int]
    by_kind: dict[Kind, list[int]]
    twins: dict[int, int]
    memory: MemoryOffers
    frame_tokens: int
    required_tokens: int

    def render(self, records: Iterable[int], lines: Sequence[int]) -> tuple[ContextBlock, ...]:
        """Return the blocks that show these candidates and working-memory lines; either may be missing."""
        inputs = self.inputs
        blocks = []
        chosen = [(inputs.results[self.sources[i]], self.candidates[i]) for i in sorted(records)]
        if chosen:
            blocks.append(render_records(chosen, step=inputs.step, retrieval_pass=inputs.retrieval_pass))
        if inputs.working_memory is not None and (lines or self.memory.owed):
            # Fill order is section order too, so that each section is opened once.
            shown = [self.memory.lines[i] for i in sorted(lines)]
            blocks.append(render_tail(inputs.working_memory, shown))
        return tuple(blocks)


def prepare(inputs: CompileInputs) -> Offers:
    """Order and count what the sources offer. O(n log n).

    Raises:
        InvalidInputError: When the inputs, a number, the messages or the results are malformed, or two results
            share an id.
        InvalidRequestError: When a required source failed.
    """
    _check(of_type(inputs, CompileInputs, "What to prepare"))
    counter = PieceCounter(inputs.estimator)
    candidates: list[ContextCandidate] = []
    sources: list[int] = []
    tokens: list[int] = []
    settled: list[Reason | None] = []
    mandatory: list[int] = []
    optional: list[int] = []
    standing = standing_placements(inputs.placed, inputs.messages)
    for number, result in enumerate(inputs.results):
        listed = result.ranked
        start, first = len(candidates), mandatory_count(listed)
        mandatory += range(start, start + first)
        optional += range(start + first, start + len(listed))
        candidates += listed
        sources += [number] * len(listed)
        tokens += counter.count(result, listed)
        settled += settled_in_source(result, listed, inputs.placed, standing)
    mandatory = settle_repeated_texts(mandatory, optional, candidates, settled, standing)
    ranking = ranked([i for i in optional if settled[i] is None], candidates)
    kinds = [result.kind for result in inputs.results]
    by_kind = {
        kind: [i for i in ranking if kinds[sources[i]] == kind] if len(set(kinds)) > 1 else ranking
        for kind in dict.fromkeys(kinds)
    }
    memory = _memory_offers(inputs)
    frame = retrieval_frame(step=inputs.step, retrieval_pass=inputs.retrieval_pass)
    offers = Offers(
        inputs=inputs,
        candidates=candidates,
        sources=sources,
        tokens=tokens,
        settled=settled,
        mandatory=mandatory,
        ranking=ranking,
        by_kind=by_kind,
        twins=twin_groups(ranking, candidates),
        memory=memory,
        frame_tokens=inputs.estimator.estimate([Message("user", frame)]),
        required_tokens=0,
    )
    return _with_required_tokens(offers)


def _check(inputs: CompileInputs) -> None:
    for name in ("input_tokens", "used_tokens", "step", "retrieval_pass"):
        whole_number(getattr(inputs, name), f"{name}")
    for name, kind in _TYPES.items():
        if not isinstance(getattr(inputs, name), kind):
            raise InvalidInputError(f"{name} is a {type(getattr(inputs, name)).__name__}.")
    for name, values in _CHOICES.items():
        if getattr(inputs, name) not in values:
            raise InvalidInputError(
                f"{name} is {shown(getattr(inputs, name))}.", remedy=f"Use one of {values}."
            )
    for name, kind in (("results", SourceResult), ("placed", PlacedEntry)):
        if not all(isinstance(value, kind) for value in getattr(inputs, name)):
            raise InvalidInputError(f"The {name} are not all {kind.__name__} values.")
    ids = [result.source_id for result in inputs.results]
    for source_id in ids:
        if ids.count(source_id) > 1:
            raise InvalidInputError(
                f"Two sources have the id {source_id!r}.",
                remedy="Give one of them another id; the default is its kind.",
            )
    for result in inputs.results:
        if result.required and result.status == "failed":
            raise InvalidRequestError(
                f"The required source {result.source_id!r} failed.",
                remedy="Mend the source, or make it optional to compile without it.",
            ) from result.error


def _memory_offers(inputs: CompileInputs) -> MemoryOffers:
    snapshot = inputs.working_memory
    if snapshot is None:
        return MemoryOffers()
    count = inputs.estimator.piece_tokens
    lines = memory_lines(snapshot)
    return MemoryOffers(
        lines=lines,
        tokens=tuple(count(line.rendered) for line in lines),
        first_tokens=tuple(count(line.opening + line.rendered + line.closing) for line in lines),
        owed=snapshot.revision > 0 or any(line.mandatory for line in lines),
        frame_tokens=inputs.estimator.estimate([Message("user", tail_frame(snapshot))]),
    )


def _with_required_tokens(offers: Offers) -> Offers:
    lines = [i for i, line in enumerate(offers.memory.lines) if line.mandatory]
    messages = [message for block in offers.render(offers.mandatory, lines) for message in block.messages]
    required = offers.inputs.estimator.estimate(messages)
    return replace(offers, required_tokens=required)

"""What sources are asked and answer, and what a compile gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args, runtime_checkable

from pydantic import BeforeValidator, Field

from playground.cancel import CancelToken
from playground.compiler.candidates import ContextCandidate, Provenance, in_rank_order
from playground.errors import InvalidInputError
from playground.messages import Message
from playground.scope import MemoryScope
from playground.values import RecordedValue, shown, whole_number

if TYPE_CHECKING:
    from playground.compiler.manifest import ContextManifest

__all__ = [
    "KINDS",
    "WORKING_MEMORY_SOURCE",
    "BlockSpan",
    "ContextBlock",
    "ContextCandidate",
    "ContextPackage",
    "ContextSource",
    "ContextSourceRequest",
    "Digest",
    "Kind",
    "MandatorySource",
    "PlacedEntry",
    "Provenance",
    "ScopedSource",
    "SourceResult",
    "SourceStatus",
    "TextKey",
    "offers_mandatory",
]

Kind = Literal["memory", "rag", "transcript", "skills"]
SourceStatus = Literal["ok", "skipped", "failed", "reused"]
BlockPlacement = Literal["append", "ephemeral-tail"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_STATUSES: frozenset[str] = frozenset(get_args(SourceStatus))
WORKING_MEMORY_SOURCE = "working-memory"  # names working memory among the sources of entries and blocks

TextKey = tuple[str, str, str]
"""Source, record id and digest: which text of which record."""


@dataclass(frozen=True, slots=True)
class SourceResult:
    """What one source answered.

    Attributes:
        source_id: Unique among the results of one compile.
        kind: Picks the budget share.
        required: Whether a failure of this source must stop the call.
        status: ``ok``, ``skipped`` (empty query), ``failed`` or ``reused`` (not asked in this step).
        candidates: In any order.
        query: What the source was asked.
        error: Why it failed, when it failed.
        limit: How many optional candidates may be considered; ``None`` for all.
        ranked: The candidates in rank order, see ``in_rank_order``; sorted once, when the result is made.
    """

    source_id: str
    kind: Kind
    required: bool = False
    status: SourceStatus = "ok"
    candidates: tuple[ContextCandidate, ...] = ()
    query: str = ""
    error: BaseException | None = None
    limit: int | None = None
    ranked: tuple[ContextCandidate, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.source_id, str) or not self.source_id:
            raise InvalidInputError("A source result has no source id.", remedy="Give a non-empty string.")
        if self.source_id == WORKING_MEMORY_SOURCE:
            raise InvalidInputError(
                f"A source has the id {self.source_id!r}, which names working memory.",
                remedy="Give it another id.",
            )
        if self.kind not in KINDS:
            raise InvalidInputError(
                f"Source {self.source_id!r} is of the unknown kind {shown(self.kind)}.",
                remedy=f"Use one of {KINDS}.",
            )
        if not isinstance(self.required, bool):
            raise InvalidInputError(f"The required flag of source {self.source_id!r} is not True or False.")
        if not isinstance(self.status, str) or self.status not in _STATUSES:
            raise InvalidInputError(
                f"Source {self.source_id!r} has the unknown status {shown(self.status)}.",
                remedy=f"Use one of {sorted(_STATUSES)}.",
            )
        if not isinstance(self.query, str):
            raise InvalidInputError(f"The query of source {self.source_id!r} is not a string.")
        if self.error is not None and not isinstance(self.error, BaseException):
            raise InvalidInputError(f"The error of source {self.source_id!r} is not an exception.")
        offered: object = self.candidates
        candidates = tuple(offered) if isinstance(offered, Iterable) else (offered,)
        if not all(isinstance(candidate, ContextCandidate) for candidate in candidates):
            raise InvalidInputError(
                f"Source {self.source_id!r} offers something that is not a ContextCandidate."
            )
        object.__setattr__(self, "candidates", candidates)
        object.__setattr__(self, "ranked", tuple(in_rank_order(candidates)))
        if self.limit is not None:
            object.__setattr__(self, "limit", whole_number(self.limit, "A source result's limit"))


def _number(value: object) -> int:
    return whole_number(value, "A number of a placed entry")


Number = Annotated[int, BeforeValidator(_number)]
Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
"""What ``text_digest`` gives."""


class PlacedEntry(RecordedValue):
    """A record that an earlier package put into the history."""

    source: str
    """The source that offered it."""
    kind: Kind
    """That source's kind."""
    record_id: str
    """Identifier within the source."""
    revision: Number | None = None
    """The revision that was placed."""
    digest: Digest
    """``sha256:<hex>`` of the placed text."""
    tokens: Number
    """What it cost, in tokens."""
    mandatory: bool = False
    """Whether it had to be placed."""
    step: Number
    """The model step whose package placed it."""
    retrieval_pass: Number
    """The retrieval pass that found it, from 1."""
    block_digest: Digest
    """``sha256:<hex>`` of the block's text; tells whether the block still stands in a history."""

    @property
    def text_key(self) -> TextKey:
        """Source, record id and digest: which text of which record this is."""
        return (self.source, self.record_id, self.digest)


@dataclass(frozen=True, slots=True)
class BlockSpan:
    """Where one record or line stands in a block's text, in code points: ``content[start:end]``."""

    source: str
    record_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One rendered block.

    Attributes:
        placement: ``append`` joins the history once; ``ephemeral-tail`` ends one request and is then gone.
        messages: Exactly one user message with string content.
        spans: Where each record stands in that content, in order of appearance.
    """

    placement: BlockPlacement
    messages: tuple[Message, ...]
    spans: tuple[BlockSpan, ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """The block's text."""
        return "".join(str(message.content) for message in self.messages)


@dataclass(frozen=True, slots=True)
class ContextPackage:
    """The outcome of a compile: the blocks to send, append first and tail last, and the manifest."""

    blocks: tuple[ContextBlock, ...]
    manifest: ContextManifest

    @property
    def xml(self) -> str:
        """The text of all blocks, separated by a line end."""
        return "\n".join(block.text for block in self.blocks)

    def _repr_html_(self) -> str:
        return self.manifest._repr_html_()


@dataclass(frozen=True, slots=True)
class ContextSourceRequest:
    """What a source is asked.

    Attributes:
        query: Text to find records for; empty only where mandatory records are asked for again.
        scope: May narrow the source's pinned scope, never widen it.
        limit: How many candidates are wanted at most.
        budget_tokens: Hint: the tokens of this source's whole share.
        signal: Set when the caller no longer waits.
        run_id: The run the step belongs to.
        step: The model step, from 0.
        messages: The request so far; read only.
        accounting: Whom a source may charge for what it uses; ``None`` outside a run. ``{"execution": …,
            "request_id": …}``, see ``playground.accounting.Accounting``; a compiler gives each query a
            ``request_id`` of its own, ``<run>/context/<step>/<pass>/<source>``, which is the same when the step
            is replayed. A host that asks a source itself may set it, and ``on_warning``, the same way.
        on_warning: Where a source reports what is worth knowing.
        wanted: Source and id of mandatory records that left the history. A source that still has one of its own
            among them offers it, whatever the query and the messages say.
        recorded_as_of: Read what was known at that time, in ms; the compiler never sets it.
    """

    query: str
    scope: MemoryScope = field(default_factory=MemoryScope)
    limit: int = 16
    budget_tokens: int = 0
    signal: CancelToken = field(default_factory=CancelToken)
    run_id: str = ""
    step: int = 0
    messages: tuple[Message, ...] = ()
    accounting: Mapping[str, Any] | None = None
    on_warning: Callable[[Mapping[str, Any]], None] | None = None
    wanted: frozenset[tuple[str, str]] = frozenset()
    recorded_as_of: int | None = None


@runtime_checkable
class ContextSource(Protocol):
    """Anything that turns a query into candidates."""

    @property
    def id(self) -> str:
        """Unique among the sources of one compiler."""

    @property
    def kind(self) -> Kind:
        """Picks the budget share."""

    @property
    def required(self) -> bool:
        """Whether a failure must stop the call."""

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        """Return at most ``request.limit`` candidates, and an empty list where nothing was found."""


@runtime_checkable
class ScopedSource(Protocol):
    """A source that is pinned to a scope."""

    def scope_within(self, scope: MemoryScope) -> MemoryScope:
        """Return the scope at which it counts where the compiler's scope is ``scope``.

        Raises:
            InvalidInputError: When the two contradict each other.
        """


@runtime_checkable
class MandatorySource(Protocol):
    """A source of records that are mandatory once the model has loaded them, wherever they stood before.

    It is asked for them at once when a compaction has changed the history, between two refreshes too.
    """

    @property
    def offers_mandatory(self) -> bool:
        """Whether it may have such records."""


def offers_mandatory(source: ContextSource) -> bool:
    """Whether a source says that it may have mandatory records."""
    return isinstance(source, MandatorySource) and source.offers_mandatory is True

"""What sources offer and what a compile gives back.

Candidates are frozen slotted values whose digest and rendered length are computed once, when they are made:
a sweep compiles the same candidates thousands of times.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, get_args, runtime_checkable

from playground.cancel import CancelToken
from playground.errors import InvalidInputError
from playground.escaping import escape_attribute
from playground.messages import Message
from playground.scope import MemoryScope
from playground.values import RecordedValue

if TYPE_CHECKING:
    from playground.compiler.manifest import ContextManifest

__all__ = [
    "KINDS",
    "BlockSpan",
    "ContextBlock",
    "ContextCandidate",
    "ContextPackage",
    "ContextSource",
    "ContextSourceRequest",
    "Kind",
    "PlacedEntry",
    "Provenance",
    "SourceResult",
    "SourceStatus",
    "text_digest",
]

Kind = Literal["memory", "rag", "transcript", "skills"]
SourceStatus = Literal["ok", "skipped", "failed", "reused"]
BlockPlacement = Literal["append", "ephemeral-tail"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_STATUSES: frozenset[str] = frozenset(get_args(SourceStatus))
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
LARGEST_WHOLE_NUMBER = 2**53  # above it floats, and JSON readers that use them, no longer count by one


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a record came from.

    Attributes:
        origin: How it became known: ``asserted``, ``observed``, ``extracted``, ``inferred`` or ``imported``.
        source_kinds: Kinds of the sources behind it, kept sorted and unique.
    """

    origin: str | None = None
    source_kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds: object = self.source_kinds
        if not isinstance(kinds, Collection) or isinstance(kinds, str) or not all(map(_is_string, kinds)):
            raise InvalidInputError("A provenance's source kinds are not a list of strings.")
        if self.origin is not None and not isinstance(self.origin, str):
            raise InvalidInputError("A provenance's origin is not a string.")
        object.__setattr__(self, "source_kinds", tuple(sorted(set(self.source_kinds))))


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """One record that a source offers for the next model call.

    Attributes:
        record_id: Identifier within the source.
        text: The record, any Unicode text; it is never trimmed.
        score: Relevance, finite; higher is better. Sources of this package report 0 to 1.
        digest: ``sha256:<hex>`` of the UTF-8 text; computed where it is left out, checked where it is given.
        revision: Version of the record, a whole number; a newer one supersedes an older one.
        tokens: What the caller says the text costs, a whole number of tokens; never lowers the count.
        provenance: Shown as attributes of the record, so that a model can weigh it.
        mandatory: Whether the record must be in the request whatever the budget says.
        query: The query that found it, where it differs from the source's.
        match: What in the query matched, for people.

    Raises:
        InvalidInputError: When the id or text is no string, the score is not finite, the digest is not the
            text's, or tokens or revision are not whole numbers of at least 0.
    """

    record_id: str
    text: str
    score: float
    digest: str | None = None
    revision: int | None = None
    tokens: int | None = None
    provenance: Provenance | None = None
    mandatory: bool = False
    query: str | None = None
    match: str | None = None
    # Code points of the rendered record beside what its source adds: attributes after `kind`, escaped text.
    rendered_length: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.record_id, str) or not isinstance(self.text, str):
            raise InvalidInputError("A candidate's record id and text must be strings.")
        assign = object.__setattr__
        assign(self, "score", _finite_score(self.score, self.record_id))
        digest = text_digest(self.text)
        if self.digest is None:
            assign(self, "digest", digest)
        elif self.digest != digest:
            _reject_digest(self.record_id, self.digest)
        for name in ("revision", "tokens"):
            value = getattr(self, name)
            if value is not None:
                assign(self, name, whole_number(value, f"A candidate's {name}"))
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise InvalidInputError("A candidate's provenance is not a Provenance.")
        if not isinstance(self.mandatory, bool):
            raise InvalidInputError("A candidate's mandatory flag is not True or False.")
        for name in ("query", "match"):
            if not isinstance(getattr(self, name), str | None):
                raise InvalidInputError(f"A candidate's {name} is not a string.")
        text = self.text
        escapes = 4 * text.count("&") + 3 * text.count("<") + 3 * text.count(">") + 4 * text.count("\r")
        assign(self, "rendered_length", len(self.attributes()) + len(text) + escapes)

    def attributes(self) -> str:
        """Return the escaped attributes after ``kind``, each with a leading space; absent ones are left out."""
        parts = [f' id="{escape_attribute(self.record_id)}"']
        if self.revision is not None:
            parts.append(f' revision="{self.revision}"')
        if self.provenance is not None:
            if self.provenance.origin is not None:
                parts.append(f' origin="{escape_attribute(self.provenance.origin)}"')
            if self.provenance.source_kinds:
                parts.append(f' source_kinds="{escape_attribute(",".join(self.provenance.source_kinds))}"')
        return "".join(parts)

    def tie_key(self) -> tuple[object, ...]:
        """Return the total order among equal scores: id, newest revision, digest, then everything else."""
        newest = -1 if self.revision is None else self.revision
        provenance = self.provenance or Provenance()
        rest = [provenance.origin, provenance.source_kinds, self.tokens, self.query, self.match]
        return (self.record_id, -newest, self.digest, json.dumps(rest))


@dataclass(frozen=True, slots=True)
class SourceResult:
    """What one source answered.

    Attributes:
        source_id: Unique among the results of one compile.
        kind: Picks the budget share.
        required: Whether a failure of this source must stop the call.
        status: ``ok``, ``skipped`` (empty query), ``failed`` or ``reused`` (not asked in this step).
        candidates: In any order; the compiler orders them.
        query: What the source was asked.
        error: Why it failed, when it failed.
        limit: How many optional candidates may be considered; ``None`` for all.
    """

    source_id: str
    kind: Kind
    required: bool = False
    status: SourceStatus = "ok"
    candidates: tuple[ContextCandidate, ...] = ()
    query: str = ""
    error: BaseException | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.source_id, str) or not self.source_id:
            raise InvalidInputError("A source result has no source id.", remedy="Give a non-empty string.")
        if self.kind not in KINDS:
            raise InvalidInputError(
                f"Source {self.source_id!r} is of the unknown kind {self.kind!r}.",
                remedy=f"Use one of {KINDS}.",
            )
        if not isinstance(self.required, bool):
            raise InvalidInputError(f"The required flag of source {self.source_id!r} is not True or False.")
        if not isinstance(self.status, str) or self.status not in _STATUSES:
            raise InvalidInputError(
                f"Source {self.source_id!r} has the unknown status {self.status!r}.",
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
        if self.limit is not None:
            object.__setattr__(self, "limit", whole_number(self.limit, "A source result's limit"))


class PlacedEntry(RecordedValue):
    """A record that an earlier package put into the history."""

    source: str
    """The source that offered it."""
    kind: Kind
    """That source's kind."""
    record_id: str
    """Identifier within the source."""
    revision: int | None = None
    """The revision that was placed."""
    digest: str
    """``sha256:<hex>`` of the placed text."""
    tokens: int
    """What it cost, in tokens."""
    mandatory: bool = False
    """Whether it had to be placed."""
    step: int
    """The model step whose package placed it."""
    retrieval_pass: int
    """The retrieval pass that found it, from 1."""
    block_digest: str
    """``sha256:<hex>`` of the block's text; tells whether the block still stands in a history."""


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
        query: Text to find records for; never empty.
        scope: May narrow the source's pinned scope, never widen it.
        limit: How many candidates are wanted at most.
        budget_tokens: Hint: the tokens of this source's whole share.
        signal: Set when the caller no longer waits.
        run_id: The run the step belongs to.
        step: The model step, from 0.
        messages: The request so far; read only.
        accounting: Where the host charges usage to; ``None`` outside a run.
        on_warning: Where a source reports what is worth knowing.
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
        """Return up to ``request.limit`` candidates; nothing found is an empty list, not an error."""


def text_digest(text: str) -> str:
    """Return ``sha256:<hex>`` of the UTF-8 text; lone surrogates are encoded as they are."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def whole_number(value: object, subject: str) -> int:
    """Return ``value`` as an int of at least 0 and at most 2**53.

    Raises:
        InvalidInputError: For bools, fractions, strings, negative and huge numbers; names the subject.
    """
    if not isinstance(value, bool):
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for the rest
        except TypeError:
            number = -1
        if 0 <= number <= LARGEST_WHOLE_NUMBER:
            return number
    raise InvalidInputError(f"{subject} is {value!r:.50}.", remedy="Give a whole number of 0 or more.")


def as_float(number: SupportsFloat) -> float:
    """Return a number as a float; one too large for it gives infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _finite_score(score: object, record_id: str) -> float:
    if isinstance(score, int | float) and not isinstance(score, bool):
        number = as_float(score)
        if math.isfinite(number):
            return number + 0.0  # turns -0.0 into 0.0
    raise InvalidInputError(
        f"The score of record {record_id!r} is {score!r:.50}.",
        remedy="Give a finite number; leave the record out otherwise.",
    )


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _reject_digest(record_id: str, digest: object) -> None:
    formed = isinstance(digest, str) and _DIGEST.fullmatch(digest)
    problem = "is not the digest of its text" if formed else "is not sha256: and 64 hexadecimal digits"
    raise InvalidInputError(
        f"The digest of record {record_id!r} {problem}.",
        remedy="Leave the digest out; it is computed from the text.",
    )

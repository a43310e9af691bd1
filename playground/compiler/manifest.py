"""The manifest: every candidate that was offered, whether it was selected, and why.

It carries identifiers, digests, queries and token counts, never the content of a record.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, overload

from pydantic import ConfigDict, Field, field_serializer, field_validator, model_validator

from playground.compiler.budget import ContextBudget, ContextShares
from playground.compiler.per_kind import PerKind
from playground.compiler.values import Kind, SourceStatus
from playground.digests import text_digest
from playground.errors import InvalidInputError, PlaygroundError
from playground.redaction import MESSAGE_LENGTH, redact
from playground.values import RecordedValue, of_type

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BudgetSummary",
    "ContextManifest",
    "EntryKind",
    "EstimatorKind",
    "EstimatorName",
    "Fallback",
    "GrantedTokens",
    "ManifestEntries",
    "ManifestEntry",
    "PlacementSummary",
    "Reason",
    "Refresh",
    "SourceErrorSummary",
    "SourceSummary",
    "context_warnings",
    "estimator_kind_of",
    "summarise_error",
]

EntryKind = Literal["working-memory", Kind]
Reason = Literal[
    "mandatory", "ranked", "reallocated", "already-placed", "budget", "duplicate", "superseded", "limit"
]
Refresh = Literal["initial", "reused", "host-request", "task-changed", "redacted", "overflow-retry"]
Fallback = Literal["pass-limit", "source-failed"]
EstimatorName = Literal["heuristic", "tokenizer", "provider"]
SELECTED_REASONS: frozenset[Reason] = frozenset({"mandatory", "ranked", "reallocated"})
MANIFEST_VERSION: Literal[1] = 1


class ManifestEntry(NamedTuple):
    """One candidate or working-memory item, selected or not."""

    source: str
    kind: EntryKind
    record_id: str
    revision: int | None
    digest: str
    query: str | None
    tokens: int
    selected: bool
    reason: Reason
    score: float | None


class ManifestEntries(Sequence[ManifestEntry]):
    """Entries as columns; rows are made when they are read.

    A compile of twenty thousand candidates would otherwise spend most of its time on rows nobody looks at.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[Sequence[Any]]) -> None:
        self._columns = tuple(map(tuple, columns))

    @classmethod
    def of(cls, entries: Iterable[ManifestEntry]) -> ManifestEntries:
        """Return the columns of ``entries``."""
        return cls(list(zip(*entries, strict=True)) or [()] * len(ManifestEntry._fields))

    def column(self, name: str) -> Sequence[Any]:
        """Return one field of every entry; read only."""
        return self._columns[ManifestEntry._fields.index(name)]

    def selected_records(self) -> frozenset[tuple[str, str]]:
        """Return source and record id of every selected entry."""
        pairs = zip(self.column("source"), self.column("record_id"), strict=True)
        return frozenset(compress(pairs, self.column("selected")))

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> ManifestEntry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ManifestEntry, ...]: ...
    def __getitem__(self, index: int | slice) -> ManifestEntry | tuple[ManifestEntry, ...]:
        if isinstance(index, slice):
            return tuple(map(ManifestEntry, *(column[index] for column in self._columns)))
        return ManifestEntry(*(column[index] for column in self._columns))

    def __iter__(self) -> Iterator[ManifestEntry]:
        return map(ManifestEntry, *self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManifestEntries | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"ManifestEntries({list(self)!r})"


class SourceErrorSummary(RecordedValue):
    """Why a source failed, short and without secrets."""

    name: str
    """Class of the error."""
    code: str | None = None
    """Its code, where it has one."""
    message: str
    """Its message, cut to 200 characters, credentials replaced."""


class SourceSummary(RecordedValue):
    """What one source contributed."""

    id: str
    """The source's id."""
    kind: Kind
    """Its kind."""
    status: SourceStatus
    """How it answered."""
    selected: int
    """Entries selected."""
    excluded: int
    """Entries not selected."""
    tokens: int
    """Tokens of the selected entries; frames are left out."""
    error: SourceErrorSummary | None = None
    """Why it failed, when it failed."""


class GrantedTokens(PerKind[int]):
    """Tokens granted to each kind."""

    memory: int
    """Memory records."""
    rag: int
    """Document chunks."""
    transcript: int
    """Past chat messages."""
    skills: int
    """Skill catalogue lines."""


class BudgetSummary(RecordedValue):
    """The budget of this compile, in tokens."""

    input_tokens: int
    """What the model accepts: its window less the output reserve."""
    used_tokens: int
    """What the request takes already."""
    context_tokens: int
    """What the compiler may add."""
    working_memory_tokens: int
    """Limit of working memory's optional items."""
    shares: GrantedTokens
    """Tokens granted to each kind before reallocation."""
    selected_tokens: int
    """Estimate of the rendered blocks."""
    ratio: float
    """The ratio knob."""
    max_tokens: int
    """The max tokens knob."""
    required_tokens: int
    """Estimate of the blocks with the mandatory content alone."""
    frame_tokens: int
    """What the blocks cost without their records, where no mandatory record paid for it."""
    rest_tokens: int
    """What the kinds divided among them."""
    share_ratios: ContextShares
    """The share knobs: the part of the rest that each kind is granted."""

    def knobs(self) -> ContextBudget:
        """Return the budget that was compiled under."""
        return ContextBudget(
            ratio=self.ratio,
            max_tokens=self.max_tokens,
            working_memory_tokens=self.working_memory_tokens,
            shares=self.share_ratios,
        )


class EstimatorKind(RecordedValue):
    """What the token counts rest on."""

    kind: EstimatorName = "heuristic"
    """How tokens were counted."""
    calibrated: bool = False
    """Whether real usage corrected the counts."""


class PlacementSummary(RecordedValue):
    """Which blocks were placed."""

    append: bool
    """Whether there is a retrieval block."""
    ephemeral_tail: bool
    """Whether there is a working-memory block."""
    tail_kept: Literal[True] | None = None
    """Set when the host must keep the tail in the history."""


class ContextManifest(RecordedValue):
    """The record of one compile, format version 1."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    version: Literal[1] = MANIFEST_VERSION
    """Version of the recorded format."""
    run_id: str = ""
    """The run."""
    step: int = 0
    """The model step, from 0."""
    retrieval_pass: int = Field(default=1, alias="pass")
    """The retrieval pass, from 1."""
    refresh: Refresh = "initial"
    """Why the sources were asked, or ``reused``."""
    fallback: Fallback | None = None
    """What had to give way, if anything."""
    entries: ManifestEntries = ManifestEntries.of(())
    """Working-memory items, then each source's candidates in their order; a sequence of ``ManifestEntry``."""
    sources: tuple[SourceSummary, ...] = ()
    """One row a source, in source order."""
    budget: BudgetSummary
    """The numbers behind the selection."""
    estimator: EstimatorKind = EstimatorKind()
    """What the counts rest on."""
    placement: PlacementSummary
    """Which blocks were placed."""
    cache_prefix_changed: bool = False
    """Whether the request no longer begins with the previous one."""
    redacted: Literal[True] | None = None
    """Set when the step replaced a package that a forget redacted."""
    blob: str | None = None
    """Reference of the stored package, once a run store wrote it."""

    @field_validator("entries", mode="plain")
    @classmethod
    def _read_entries(cls, value: Any) -> ManifestEntries:
        if isinstance(value, ManifestEntries):
            return value
        if not isinstance(value, list | tuple):
            raise InvalidInputError("the entries are not a list")
        return ManifestEntries.of(
            item if isinstance(item, ManifestEntry) else _EntryRecord.parse(item).entry() for item in value
        )

    @field_serializer("entries")
    def _write_entries(self, entries: ManifestEntries) -> list[dict[str, Any]]:
        return [_entry_json(entry) for entry in entries]

    @property
    def digest(self) -> str:
        """``sha256:<hex>`` of the canonical JSON."""
        return text_digest(self.to_json())

    def to_frame(self) -> pd.DataFrame:
        """Return the entries as a data frame, one row an entry, columns as the fields of ``ManifestEntry``."""
        import pandas as pd  # noqa: PLC0415  # the package must import without pandas

        return pd.DataFrame({name: self.entries.column(name) for name in ManifestEntry._fields})

    def _repr_html_(self) -> str:
        budget = self.budget
        rows = "".join(
            f"<tr><td>{html.escape(entry.source)}</td><td>{html.escape(entry.record_id)}</td>"
            f"<td style='text-align:right'>{entry.tokens:,}</td><td>{html.escape(entry.reason)}</td></tr>"
            for entry in self.entries[:100]
        )
        more = f"<p>{len(self.entries) - 100:,} more entries</p>" if len(self.entries) > 100 else ""
        head = f"{budget.selected_tokens:,} of {budget.context_tokens:,} tokens, refresh {self.refresh}"
        return (
            f"<p><b>{html.escape(head)}</b></p><table><thead><tr><th>source</th><th>record</th><th>tokens</th>"
            f"<th>reason</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        )


def context_warnings(manifest: ContextManifest) -> tuple[dict[str, str], ...]:
    """Return one ``context-source-failed`` warning per failed source, in source order; pure.

    Raises:
        InvalidInputError: For something else than a manifest, a package for example.
    """
    return tuple(
        {
            "type": "context-source-failed",
            "setting": summary.id,
            "message": f"Source {summary.id!r} failed: {_reason_of(summary)}",
        }
        for summary in of_type(manifest, ContextManifest, "The manifest").sources
        if summary.status == "failed"
    )


def estimator_kind_of(value: EstimatorKind | EstimatorName | Mapping[str, Any] | None) -> EstimatorKind | None:
    """Return what a caller said the counts rest on; a bare name means not calibrated.

    Raises:
        InvalidInputError: When the name or a field is unknown.
    """
    return None if value is None else EstimatorKind.parse({"kind": value} if isinstance(value, str) else value)


def summarise_error(error: BaseException | None) -> SourceErrorSummary | None:
    """Return the short, redacted form of an error that a manifest may keep."""
    if error is None:
        return None
    code = getattr(error, "code", None) if isinstance(error, PlaygroundError) else None
    try:
        message = redact(str(error))
    except Exception:  # noqa: BLE001  # a source's exception may be anything, its text included
        message = "the error has no readable message"
    return SourceErrorSummary(
        name=type(error).__name__[:MESSAGE_LENGTH],
        code=code if isinstance(code, str) else None,
        message=message,
    )


def _reason_of(summary: SourceSummary) -> str:
    return summary.error.message if summary.error else "no reason given"


class _EntryRecord(RecordedValue):
    """The recorded form of an entry; checks what is read from outside."""

    source: str
    kind: EntryKind
    record_id: str
    revision: int | None = None
    digest: Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
    query: str | None = None
    tokens: Annotated[int, Field(ge=0)]
    selected: bool
    reason: Reason
    score: float | None = None

    @model_validator(mode="after")
    def _reason_fits(self) -> Self:
        if self.selected != (self.reason in SELECTED_REASONS):
            raise InvalidInputError(
                f"an entry with the reason {self.reason} cannot have selected {self.selected}"
            )
        return self

    def entry(self) -> ManifestEntry:
        return ManifestEntry(*(getattr(self, name) for name in ManifestEntry._fields))


_ENTRY_KEYS: dict[str, str] = {
    name: _EntryRecord.model_fields[name].alias or name for name in ManifestEntry._fields
}


def _entry_json(entry: ManifestEntry) -> dict[str, Any]:
    return {key: value for key, value in zip(_ENTRY_KEYS.values(), entry, strict=True) if value is not None}

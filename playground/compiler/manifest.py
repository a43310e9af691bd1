"""The manifest: every candidate that was offered, whether it was selected, and why.

It carries identifiers, digests, queries and token counts, never the content of a record.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, field_serializer, field_validator

from playground.compiler.budget import ContextBudget, ContextShares
from playground.compiler.entries import (
    EntryKind,
    ManifestEntries,
    ManifestEntry,
    Reason,
    read_entries,
    written_entries,
)
from playground.compiler.per_kind import PerKind
from playground.compiler.values import Kind, SourceStatus
from playground.digests import text_digest
from playground.errors import PlaygroundError
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

Refresh = Literal["initial", "reused", "host-request", "task-changed", "redacted", "overflow-retry"]
Fallback = Literal["pass-limit", "source-failed"]
EstimatorName = Literal["heuristic", "tokenizer", "provider"]
MANIFEST_VERSION: Literal[1] = 1


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
        return read_entries(value)

    @field_serializer("entries")
    def _write_entries(self, entries: ManifestEntries) -> list[dict[str, Any]]:
        return written_entries(entries)

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

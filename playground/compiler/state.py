"""What a compiler knows between two steps, as plain data, and what follows from it.

Pure. A state holds identifiers, digests and counts, never the text of a record.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from playground.compiler.history import history_digests, prefix_digest
from playground.compiler.placement import confirmed_entries, placed_entries
from playground.compiler.refresh import LastRefresh
from playground.compiler.values import ContextPackage, Digest, PlacedEntry, SourceResult, TextKey
from playground.errors import InvalidRequestError
from playground.values import RecordedValue, shown, whole_number

__all__ = ["ContextCompilerState", "RequestPrefix", "previous_prefix"]

NO_DIGEST = "sha256:" + "0" * 64  # in place of the digest of a text that was forgotten


def _count(value: object) -> int:
    return whole_number(value, "A number of a compiler's state")


Count = Annotated[int, BeforeValidator(_count)]


class RequestPrefix(RecordedValue):
    """The messages that one step's request began with: its history and its retrieval block."""

    step: Count
    """The model step, from 0."""
    count: Count
    """How many messages."""
    digest: Digest
    """``sha256:<hex>`` of their digests."""

    @classmethod
    def of(cls, step: int, digests: Sequence[str]) -> RequestPrefix:
        """Return the prefix that these digests of messages make."""
        return cls(step=step, count=len(digests), digest=prefix_digest(digests, len(digests)))

    def begins(self, digests: Sequence[str]) -> bool:
        """Whether a request whose messages have these digests starts with this prefix."""
        return self.count <= len(digests) and prefix_digest(digests, self.count) == self.digest


class ContextCompilerState(RecordedValue):
    """What a compiler knows between two steps, format version 1; plain data without any record text."""

    version: Annotated[Literal[1], BeforeValidator(_count)] = 1
    """Version of the recorded format."""
    run_id: str | None = None
    """The run that it knows; absent before its first package."""
    passes: Count = 0
    """Retrievals so far."""
    last_refresh: LastRefresh | None = None
    """The last retrieval."""
    placed: tuple[PlacedEntry, ...] = ()
    """Every record that a package put into the history, oldest first."""
    last_package: str | None = None
    """Reference of the last stored package, once the host said where it keeps it."""
    refresh_requested: bool = False
    """Whether the host asked for a refresh that has not run yet."""
    refresh_forced: bool = False
    """Whether that refresh runs past the limit of passes: a redacted step could not ask for anything."""
    unanswered: tuple[str, ...] = ()
    """Sources that may have mandatory records and failed when they were asked last, by id."""
    prefix: RequestPrefix | None = None
    """What the newest request began with."""
    earlier_prefix: RequestPrefix | None = None
    """What the newest request of an earlier step began with, for a step that is tried again."""

    def check_run(self, run_id: str) -> None:
        """Refuse another run than the one that is known.

        Steps are not checked: a step comes again after a failed call or a restart, and a host may go back to
        an earlier one.

        Raises:
            InvalidRequestError: When the state knows another run.
        """
        if self.run_id not in {None, run_id}:
            raise InvalidRequestError(
                f"This compiler serves the run {shown(self.run_id)}, not {shown(run_id)}: what it has placed, "
                "and the passes it has spent, are that run's.",
                remedy="Make a ContextCompiler for each run, without the state of another one. A run that goes "
                "on keeps its run_id.",
            )

    def refreshed(self, *, step: int, active_task_id: str | None, passes: int) -> ContextCompilerState:
        """Return the state after a refresh ran, or was used up without running."""
        last = LastRefresh(step=step, active_task_id=active_task_id)
        return self.model_copy(update={"passes": passes, "last_refresh": last})

    def after(
        self,
        package: ContextPackage,
        *,
        digests: Sequence[str],
        results: Sequence[SourceResult],
        standing: Sequence[PlacedEntry],
        refused: bool = False,
    ) -> ContextCompilerState:
        """Return the state after a package was made.

        A text is listed once, where it was placed last. After a redaction the digests of texts that neither
        stand nor are offered any more are gone.

        Args:
            package: The package.
            digests: Of the messages that it was made for.
            results: What was offered.
            standing: Placements whose block is among the messages.
            refused: Whether the provider refused the package that this one replaces, so that what the step had
                placed came to nothing.
        """
        offered = {
            (result.source_id, found.record_id, str(found.digest)): found.mandatory
            for result in results
            for found in result.candidates
        }
        mandatory = frozenset(key for key, needed in offered.items() if needed)
        new = (*placed_entries(package), *confirmed_entries(package, self.placed, standing, mandatory))
        step, keys = package.manifest.step, {entry.text_key for entry in new}
        before = self.placed
        if package.manifest.redacted:
            before = _without_digests(before, {*offered, *(entry.text_key for entry in standing)})
        kept = tuple(
            entry
            for entry in before
            if entry.text_key not in keys and not (refused and entry.step == step and entry not in standing)
        )
        appended = [block.messages[0] for block in package.blocks if block.placement == "append"]
        return self.model_copy(
            update={
                "run_id": package.manifest.run_id,
                "placed": (*kept, *new),
                "prefix": RequestPrefix.of(step, (*digests, *history_digests(appended))),
                "earlier_prefix": previous_prefix(self, step),
            }
        )

    def orphans(self, standing: Sequence[PlacedEntry]) -> tuple[PlacedEntry, ...]:
        """Return the latest placement of each record whose text no longer stands in the history."""
        here = {entry.text_key for entry in standing}
        latest = {(entry.source, entry.record_id): entry for entry in self.placed}
        return tuple(entry for entry in latest.values() if entry.text_key not in here)

    def answered(self, results: Sequence[SourceResult], mandatory: frozenset[str]) -> ContextCompilerState:
        """Return the state after sources answered or failed.

        Args:
            results: Of this step.
            mandatory: Ids of the sources that may have mandatory records.
        """
        failed = {result.source_id for result in results if result.status == "failed"} & mandatory
        asked = {result.source_id for result in results if result.status in {"ok", "failed"}}
        return self.model_copy(update={"unanswered": tuple(sorted(failed | (set(self.unanswered) - asked)))})

    def released(self, keys: Container[TextKey]) -> ContextCompilerState:
        """Return the state in which these texts are no longer mandatory: their source has them no more."""
        placed = tuple(
            entry.model_copy(update={"mandatory": False}) if entry.text_key in keys else entry
            for entry in self.placed
        )
        return self.model_copy(update={"placed": placed})


def previous_prefix(state: ContextCompilerState, step: int) -> RequestPrefix | None:
    """Return what the newest known request of a step before ``step`` began with."""
    known = (state.prefix, state.earlier_prefix)
    return next((prefix for prefix in known if prefix is not None and prefix.step < step), None)


def _without_digests(placed: Sequence[PlacedEntry], kept: Container[TextKey]) -> tuple[PlacedEntry, ...]:
    """Return the entries, those of other texts without digests: a short text can be guessed from its digest.

    The entries stay, since no older revision may follow them.
    """
    gone = {"digest": NO_DIGEST, "block_digest": NO_DIGEST}
    return tuple(entry if entry.text_key in kept else entry.model_copy(update=gone) for entry in placed)

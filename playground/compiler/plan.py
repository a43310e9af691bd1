"""The plan of a step: what its compile starts from, and whom it still has to ask for what is mandatory.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playground.compiler.manifest import Fallback, Refresh
from playground.compiler.patience import Patience
from playground.compiler.state import ContextCompilerState, RequestPrefix
from playground.compiler.values import PlacedEntry, SourceResult

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one compile of a step starts from.

    Attributes:
        step: The model step.
        request: The messages that the sources were asked about.
        state: What is known before this step places anything.
        results: What the sources answered, without orphans.
        refresh: Why the sources were asked, or ``reused``.
        fallback: What had to give way.
        redacted: Whether the step replaces a package that a forget redacted.
    """

    step: int
    request: RequestPrefix
    state: ContextCompilerState
    results: tuple[SourceResult, ...]
    refresh: Refresh
    fallback: Fallback | None
    redacted: bool

    def still_to_ask(
        self,
        digests: Sequence[str],
        *,
        lost: Collection[PlacedEntry],
        able: frozenset[str],
        compacted: bool,
        patience: Patience,
    ) -> frozenset[str]:
        """Return the ids of the sources that must be asked for mandatory records beside the answers so far.

        Args:
            digests: Of the messages as they are now.
            lost: Mandatory placements that left the history and whose text is not known.
            able: Sources that say that they may have mandatory records.
            compacted: Whether a compaction has changed the history: what stood elsewhere, in a tool's result
                for example, may have gone with it.
            patience: With sources that failed.
        """
        of_lost = {entry.source for entry in lost}
        asked = {name for name in {*self.state.unanswered, *of_lost} if patience.is_over(name, self.step)}
        if compacted:
            asked |= able
        if self.request.begins(digests):
            # Who answered this very request has said what is mandatory; but not of what only the state knows.
            answered = {result.source_id for result in self.results if result.status in {"ok", "failed"}}
            asked -= answered - of_lost
        return frozenset(asked)

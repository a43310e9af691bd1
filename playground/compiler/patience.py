"""Patience with sources that fail again and again when they are asked for mandatory records.

Deterministic: it counts steps, not time.
"""

from __future__ import annotations

from collections.abc import Sequence

from playground.compiler.values import SourceResult

__all__ = ["Patience"]

LONGEST_WAIT = 64  # steps


class Patience:
    """Says when a source that failed is asked again: in the next step, then after 2, 4, 8 steps and so on.

    A source that hangs would otherwise cost its whole time limit in every step. A required one is asked each
    time: its failure has ended the step, and the host decides about the next.
    """

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._next: dict[str, int] = {}

    def heard(self, results: Sequence[SourceResult], step: int) -> None:
        """Take note of who answered and who failed in a step."""
        for result in results:
            if result.status == "ok":
                self._failures.pop(result.source_id, None)
                self._next.pop(result.source_id, None)
            elif result.status == "failed" and not result.required:
                failures = self._failures[result.source_id] = self._failures.get(result.source_id, 0) + 1
                self._next[result.source_id] = step + min(LONGEST_WAIT, 2 ** min(failures - 1, 10))

    def is_over(self, source_id: str, step: int) -> bool:
        """Whether a source may be asked again in a step."""
        return step >= self._next.get(source_id, step)

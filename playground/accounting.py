"""Charging what a search uses to the run that asked: what is needed of a run's ledger, and nothing more.

A ledger of a run has further duties, such as limits and recovery; anything with these three methods will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

__all__ = ["UNACCOUNTED_USAGE", "Accounting", "Charge", "Execution", "OnWarning", "ReservationState"]

UNACCOUNTED_USAGE = "unaccounted-usage"  # type of the warning about usage that nobody reported

ReservationState = Literal["reserved", "settled", "unknown"]

OnWarning = Callable[[Mapping[str, Any]], None]


@runtime_checkable
class Execution(Protocol):
    """Where usage is charged to. Threads may call it at the same time.

    What its methods raise ends the run: it is never taken for a failed source.
    """

    def reserve(self, request_id: str, *, tokens: int) -> ReservationState:
        """Hold ``tokens`` before they are used, and return what has become of this request so far.

        Idempotent: a request that is known already holds nothing more, whatever its state.

        Args:
            request_id: One of each billable request, and the same when it is replayed.
            tokens: The estimate, a whole number; the same for the same request.
        """
        ...

    def settle(self, request_id: str, *, tokens: int) -> None:
        """Replace a hold by the usage that was reported; what is no longer just held stays as it is."""
        ...

    def mark_unknown(self, request_id: str) -> None:
        """Keep a hold for good: something may have been used, and nobody knows how much.

        What is no longer just held stays as it is.
        """
        ...


class Accounting(TypedDict):
    """What a request says of whom to charge."""

    execution: Execution
    """Where usage is charged to."""
    request_id: str
    """One of each query; a compiler's is ``<run>/context/<step>/<pass>/<source>``, the same when replayed."""


class Charge(TypedDict, total=False):
    """Options of whatever embeds a query, to be spread: ``search.hybrid(query, k, signal, **charge)``."""

    accounting: Mapping[str, Any] | None
    """See ``Accounting``; ``None`` charges nobody."""
    on_warning: OnWarning | None
    """Hears of usage that nobody reported."""

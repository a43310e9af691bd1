"""A token that lets one side ask the other to stop."""

from __future__ import annotations

import threading

from playground.errors import CallCancelledError

__all__ = ["CancelToken"]


class CancelToken:
    """An event that is set once and never cleared; safe to share between threads and event loops.

    Args:
        parent: A token whose cancellation counts as this one's.
    """

    __slots__ = ("_event", "_parent")

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._event = threading.Event()
        self._parent = parent

    def cancel(self) -> None:
        """Ask everybody who holds this token to stop."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return self._event.is_set() or (self._parent is not None and self._parent.cancelled)

    def raise_if_cancelled(self) -> None:
        """Raise once the token was cancelled.

        Raises:
            CallCancelledError: When ``cancel`` was called.
        """
        if self.cancelled:
            raise CallCancelledError("The call was cancelled.")

"""A token that lets one side ask the other to stop."""

from __future__ import annotations

import threading

from playground.errors import CallCancelledError

__all__ = ["CancelToken"]


class CancelToken:
    """An event that is set once and never cleared; safe to share between threads and event loops."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask everybody who holds this token to stop."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        """Raise once the token was cancelled.

        Raises:
            CallCancelledError: When ``cancel`` was called.
        """
        if self.cancelled:
            raise CallCancelledError("The call was cancelled.")

"""Turns: a lock that tasks of several event loops and threads wait for in the order in which they came.

Not pure. ``asyncio``'s own lock belongs to one loop.
"""

from __future__ import annotations

import asyncio
import threading
from bisect import insort
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playground.concurrency import standing_loops
from playground.errors import InvalidRequestError

__all__ = ["Turns"]


class Turns:
    """A first-come, first-served lock that tasks of different event loops and threads may wait for.

    A task whose loop is closed neither gets nor keeps the turn. One whose loop does not run in the moment when
    its turn comes is passed over, and asks again when the loop goes on.
    """

    def __init__(self) -> None:
        # Reentrant: where a place is dropped, the task that waited there may end, and leave, in this thread.
        self._guard = threading.RLock()
        self._count = 0
        self._holder: _Place | None = None
        self._waiting: list[_Place] = []

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn and hold it inside the ``async with`` block.

        Raises:
            InvalidRequestError: When a task before this one belongs to a loop that stands still until this call
                has returned: both would wait for ever.
        """
        place = await self._wait()
        try:
            yield
        finally:
            self._leave(place)

    async def _wait(self) -> _Place:
        with self._guard:
            self._count += 1
            place = _Place(asyncio.get_running_loop(), self._count)
        while not self._has_turn(place):
            try:
                await place.woken
            except BaseException:
                # Cancelled, or closed together with its loop; the turn may have come at the same moment.
                self._leave(place)
                raise
        return place

    def _has_turn(self, place: _Place) -> bool:
        """Whether a place has the turn, or can take it; else it waits, where its number is."""
        with self._guard:
            if self._holder is not None and self._holder.loop.is_closed():
                self._pass_on()
            if self._holder is None:
                self._holder = place
            if self._holder is place:
                return True
            ahead = [self._holder, *(other for other in tuple(self._waiting) if other.number < place.number)]
            standing = standing_loops()
            if any(other.loop in standing for other in ahead):
                raise InvalidRequestError(
                    "A synchronous call would wait for a call of its own event loop, which waits for it.",
                    remedy="Await the asynchronous method there, or let the other call end first.",
                )
            place.woken = place.loop.create_future()
            insort(self._waiting, place, key=lambda other: other.number)
            return False

    def _leave(self, place: _Place) -> None:
        with self._guard:
            if self._holder is place:
                self._pass_on()
            elif place in self._waiting:
                self._waiting.remove(place)

    def _pass_on(self) -> None:
        self._holder = None
        while self._waiting:
            place = self._waiting.pop(0)
            # What is woken without the turn asks for it again.
            runs = place.loop.is_running()
            self._holder = place if runs else None
            try:
                place.loop.call_soon_threadsafe(place.wake)
            except RuntimeError:
                self._holder = None  # the loop is closed: nobody waits there any more
                continue
            if runs:
                return


class _Place:
    """Where a task of some loop stands in a queue for a turn."""

    __slots__ = ("loop", "number", "woken")

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.loop, self.number = loop, number
        self.woken: asyncio.Future[None] = loop.create_future()

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)

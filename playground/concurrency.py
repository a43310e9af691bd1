"""Threads and event loops: one private loop for synchronous callers, turns across loops, threads to abandon.

Not pure. ``asyncio``'s own lock belongs to one loop, its default executor keeps a process from ending while a
call in it hangs, and ``asyncio.run`` fails where a loop runs already, as in Jupyter.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from playground.errors import InvalidRequestError

__all__ = ["Turns", "in_thread", "run_sync"]

_Result = TypeVar("_Result")
_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def run_sync(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine from synchronous code, on one private event-loop thread, and return its result.

    When the caller is interrupted, the coroutine is cancelled.

    Raises:
        InvalidRequestError: When called on that very thread, where waiting would never end.
    """
    if threading.current_thread() is _thread:
        coroutine.close()
        raise InvalidRequestError(
            "A synchronous call was made inside a call that already runs on the same event loop.",
            remedy="Await the asynchronous method there.",
        )
    future = asyncio.run_coroutine_threadsafe(_outcome(coroutine), _private_loop())
    try:
        result, error = future.result()
    except BaseException:
        future.cancel()
        raise
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there is a result where there is no error


async def in_thread(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a plain function in a daemon thread of its own and return its result.

    It sees the caller's context variables, so that spans and loggers know whose call it is.
    A caller that no longer waits leaves the thread behind; it neither keeps other calls from running nor the
    process from ending. What the function raises is raised here; ``StopIteration`` as ``RuntimeError``.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[_Result] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(error)

    def work() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = function(*arguments)
        except StopIteration as raised:
            error = RuntimeError("The function raised StopIteration.")
            error.__cause__ = raised
        except BaseException as raised:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="playground-call", daemon=True).start()
    return await outcome


class Turns:
    """A first-come, first-served lock that tasks of different event loops and threads may wait for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[concurrent.futures.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn and hold it inside the ``async with`` block."""
        await self._wait()
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            place: concurrent.futures.Future[None] = concurrent.futures.Future()
            self._waiting.append(place)
        try:
            await asyncio.wrap_future(place)
        except asyncio.CancelledError:
            # Either the place is given up, or the turn came at the same moment and must go to the next.
            if not place.cancel():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        with self._guard:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._taken = False


async def _outcome(
    coroutine: Coroutine[Any, Any, _Result],
) -> tuple[_Result | None, BaseException | None]:
    # Futures of two kinds copy some exceptions on the way; callers must get the very object. What asks the
    # program to end would end the loop's thread alone, and leave its caller waiting.
    try:
        return await coroutine, None
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  # raised again by the caller
        return None, error


def _private_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread  # noqa: PLW0603  # one a process, started with the first call
    with _guard:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="playground-loop", daemon=True)
            _thread.start()
        return _loop


def _forget_loop() -> None:
    global _guard, _loop, _thread
    # A forked child has none of its parent's threads, and may have copied a lock that one of them held.
    _guard, _loop, _thread = threading.Lock(), None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)

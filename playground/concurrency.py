"""Threads and event loops: one private loop for synchronous callers, and calls to abandon.

Not pure. ``asyncio``'s default executor keeps a process from ending while a call in it hangs, and
``asyncio.run`` fails where a loop runs already, as in Jupyter. For turns across loops see ``turns``.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from playground.cancel import CancelToken
from playground.errors import InvalidRequestError

__all__ = ["called", "in_thread", "outcome_within", "run_sync", "standing_loops", "until_done"]

SIGNAL_SECONDS = 0.05  # how often a caller's signal is looked at while tasks are waited for
_Result = TypeVar("_Result")


@dataclass(slots=True)
class _Blocked:
    """A loop that stands still while its thread waits for a synchronous call."""

    loop: asyncio.AbstractEventLoop
    still: bool = True


# Travels with a call, into its tasks and threads: the loops that cannot go on before it has returned.
_blocked: contextvars.ContextVar[tuple[_Blocked, ...]] = contextvars.ContextVar("_blocked", default=())
_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def run_sync(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine from synchronous code, on one private event-loop thread, and return its result.

    The caller may be inside a running loop, as in a notebook; that loop stands still meanwhile. When the caller
    is interrupted, the coroutine is cancelled.

    Raises:
        InvalidRequestError: When called on that very thread, where waiting would never end.
    """
    if threading.current_thread() is _thread:
        coroutine.close()
        raise InvalidRequestError(
            "A synchronous call was made inside a call that already runs on the same event loop.",
            remedy="Await the asynchronous method there.",
        )
    blocked = _running_loop()
    token = _blocked.set((*_blocked.get(), *blocked))
    try:
        future = asyncio.run_coroutine_threadsafe(_outcome(_same, coroutine), _private_loop())
    finally:
        _blocked.reset(token)
    try:
        result, error = future.result()
    except BaseException:
        future.cancel()
        raise
    finally:
        for one in blocked:
            one.still = False
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there is a result where there is no error


def standing_loops() -> tuple[asyncio.AbstractEventLoop, ...]:
    """Return the loops that stand still until the call that runs here has returned."""
    return tuple(one.loop for one in _blocked.get() if one.still)


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


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that may be plain or async, and return its result.

    A plain one runs in a thread, see ``in_thread``; what it returns is awaited where it can be.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments)
    found = await in_thread(function, *arguments)
    return await found if inspect.isawaitable(found) else found


async def outcome_within(
    seconds: float, function: Callable[..., Awaitable[_Result]], *arguments: Any
) -> tuple[_Result | None, BaseException | None]:
    """Await a function in a task of its own, and return its result or else what it raised.

    One that is not done in time, or whose caller is cancelled, is cancelled and left behind: it may be deaf to
    that. Whatever it raises then is heard by nobody, and logged by nobody.

    Raises:
        TimeoutError: When it took longer.
    """
    task = asyncio.create_task(_outcome(function, *arguments))
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        in_time = task.done()
        if not in_time:
            task.cancel()
    if not in_time:
        raise TimeoutError
    return (None, asyncio.CancelledError()) if task.cancelled() else task.result()


async def until_done(tasks: Sequence[asyncio.Task[Any]], signal: CancelToken) -> None:
    """Wait until all tasks are done; what one raises comes at once, and so does a cancellation.

    Of several errors the first in the order of the tasks is raised; what the others raise, now or later, is
    looked at here, so that no loop logs it.

    Raises:
        CallCancelledError: When ``signal`` is set meanwhile.
    """
    for task in tasks:
        task.add_done_callback(_error_of)
    waiting = list(tasks)
    while waiting:
        # A token may be set by any thread and wakes nobody up; it is looked at often enough.
        await asyncio.wait(waiting, timeout=SIGNAL_SECONDS, return_when="FIRST_EXCEPTION")
        signal.raise_if_cancelled()
        for task in tasks:
            if task.done():
                task.result()
        waiting = [task for task in waiting if not task.done()]


def _running_loop() -> tuple[_Blocked, ...]:
    try:
        return (_Blocked(asyncio.get_running_loop()),)
    except RuntimeError:
        return ()


async def _outcome(
    function: Callable[..., Awaitable[_Result]], *arguments: Any
) -> tuple[_Result | None, BaseException | None]:
    # As a value: futures copy some exceptions on the way, and callers must get the very object; a loop logs
    # what nobody looks at; and what asks the program to end would end the loop's thread alone.
    try:
        return await function(*arguments), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  # whoever waits raises it again
        return None, error


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    """Look at what a task that is done raised: an error that nobody has looked at is logged, with its text."""
    return None if task.cancelled() else task.exception()


async def _same(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    return await coroutine


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

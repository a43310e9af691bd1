"""Plugins that only look on before a preparation: they are told once, and nobody waits for them.

Not pure: what they do is theirs, and what fails is logged with the plugin's name and the kind of the error.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable

from playground.preparation.ports import ContextPlugin
from playground.preparation.results import ContextSnapshot

__all__ = ["cancel_all", "run_hooks"]

_log = logging.getLogger(__name__)


def run_hooks(
    plugins: Iterable[ContextPlugin],
    take_snapshot: Callable[[], ContextSnapshot],
    running: set[asyncio.Future[object]],
) -> None:
    """Call ``on_before_prepare`` of every plugin that has it, in order, each with a snapshot of its own.

    Args:
        plugins: The plugins.
        take_snapshot: Returns the conversation as it stands; is not asked where nobody looks on.
        running: Holds what asynchronous hooks do until it is done.

    Raises:
        KeyboardInterrupt: As a hook raised it.
        SystemExit: As a hook raised it.
    """
    for plugin in plugins:
        hook = getattr(plugin, "on_before_prepare", None)
        if not callable(hook):
            continue
        try:
            answer = hook(take_snapshot())
            if inspect.isawaitable(answer):
                _schedule(plugin.name, answer, running)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  # a host's function may raise anything, a cancellation too
            _tell(plugin.name, error)


def cancel_all(running: Iterable[asyncio.Future[object]]) -> None:
    """Cancel what asynchronous hooks still do."""
    for future in tuple(running):
        if not future.get_loop().is_closed():
            future.cancel()


def _schedule(name: str, answer: Awaitable[object], running: set[asyncio.Future[object]]) -> None:
    future: asyncio.Future[object] = asyncio.ensure_future(answer)
    running.add(future)

    def done(future: asyncio.Future[object]) -> None:
        running.discard(future)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            _tell(name, error)

    future.add_done_callback(done)


def _tell(name: str, error: BaseException) -> None:
    kind = type(error).__name__
    _log.warning("on_before_prepare of the plugin %s raised %s; preparation goes on.", name, kind)

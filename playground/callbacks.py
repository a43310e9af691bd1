"""Calling a host's functions from inside a step: whatever they do, the step goes on.

Not pure: the functions are the host's. What they raise is logged by its kind alone, since it may quote content.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import TypeVar

__all__ = ["call_quietly"]

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")


def call_quietly(callback: Callable[[_Value], object], value: _Value) -> None:
    """Call a host's function; what it raises must not break the step, unless it asks the program to end.

    Raises:
        KeyboardInterrupt: As the function raised it.
        SystemExit: As the function raised it.
    """
    try:
        answer = callback(value)
        if inspect.iscoroutine(answer):
            answer.close()  # nobody awaits it, and nobody may be warned of that
            _log.warning("A callback of the host is asynchronous and was not run.")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  # a host's function may raise anything, a cancellation too
        _log.warning("A callback of the host raised %s; the step goes on.", type(error).__name__)

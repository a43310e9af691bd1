"""Running what may wait for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["in_time"]


def in_time(run: Callable[[], object], seconds: float = 10) -> object:
    """Run in a thread that a deadlock cannot make the tests wait for, and return or raise what came."""
    found: list[object] = []

    def work() -> None:
        try:
            found.append(run())
        except BaseException as error:  # noqa: BLE001  # raised again by the test
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "waits for ever"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]

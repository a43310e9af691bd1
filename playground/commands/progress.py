"""A bar of how far a long job is, with the time left, and Ctrl+C as a wish to stop that loses nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from playground.cancel import CancelToken

__all__ = ["progress_bar", "stopping_on_interrupt"]

Show = Callable[[str, float | None], None]
"""Shows what is done now, and which part of the work is; ``None`` while nobody knows."""


@contextmanager
def progress_bar() -> Iterator[Show]:
    """Give a function that shows the state of a job on the error stream; on a terminal only."""
    from rich.console import Console  # noqa: PLC0415  # rich is for people only
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def show(text: str, part: float | None) -> None:
            if part is None:
                progress.update(task, description=text)
            else:
                progress.update(task, description=text, total=1.0, completed=part)

        yield show


@contextmanager
def stopping_on_interrupt(token: CancelToken, *, at_once: Callable[[], bool]) -> Iterator[None]:
    """Cancel the token on Ctrl+C; a second one interrupts, and so does the first while ``at_once`` says so."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        if token.cancelled or at_once():
            raise KeyboardInterrupt
        token.cancel()

    usual = signal.getsignal(signal.SIGINT)
    # A job in the background is told to ignore it; threads get no signals.
    if usual is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)

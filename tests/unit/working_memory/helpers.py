"""What the tests of working memory that is shared have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from playground import WorkingMemorySnapshot, create_working_memory
from playground.working_memory import WorkingMemoryPatch

PATCHES = 1_000  # of each of two writers that race
SECONDS = 120.0  # after which a thread that has not ended is taken to wait for ever


def started(**more: Any) -> WorkingMemorySnapshot:
    return create_working_memory(scope="acme", now=1_000, **more)


def noted(text: str, revision: int) -> WorkingMemoryPatch:
    """Return a model's patch that adds an observation; its id is the text."""
    return WorkingMemoryPatch(
        operation_id=text,
        expected_revision=revision,
        writer="model",
        operations=[{"op": "add-observation", "text": text}],
    )


def in_threads(*jobs: Callable[[], object]) -> None:
    """Run jobs at once; what one raises fails the test, and so does one that never ends."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001  # raised again by whoever waits
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    for error in errors:
        raise error
    assert not any(thread.is_alive() for thread in threads), "a job never ends"

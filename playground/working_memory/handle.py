"""Handles: a working memory that several writers share, changed one patch at a time.

Not pure: a handle holds what changes, and the one in this process reads the clock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from playground.errors import InvalidInputError
from playground.values import shown, whole_number
from playground.working_memory.applying import apply_working_memory_patch
from playground.working_memory.difference import WorkingMemoryRevision, revision_of
from playground.working_memory.draft import GenerateId
from playground.working_memory.outcome import AppliedPatch, PatchOutcome
from playground.working_memory.patch import WorkingMemoryPatch
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["InMemoryWorkingMemory", "PatchAttempts", "WorkingMemoryHandle"]


@runtime_checkable
class WorkingMemoryHandle(Protocol):
    """A working memory that changes. Both methods may be plain or async, and any thread may call them."""

    def current(self) -> WorkingMemorySnapshot | Awaitable[WorkingMemorySnapshot]:
        """Return the snapshot as it stands now."""

    def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome | Awaitable[PatchOutcome]:
        """Apply a patch to what stands now, and keep what comes of it, as one step that no other writer sees.

        A patch for another revision than the current one is rejected as ``stale-revision``.
        """


class PatchAttempts:
    """What a handle does outside its lock: applying patches at the host's time, with the host's ids.

    Args:
        clock: Returns the time in whole ms since the epoch; the system's clock by default.
        generate_id: Names new items, see ``apply_working_memory_patch``.

    Raises:
        InvalidInputError: When an argument is no function.
    """

    def __init__(self, clock: Callable[[], int] | None, generate_id: GenerateId | None) -> None:
        for name, function in (("clock", clock), ("generate_id", generate_id)):
            if function is not None and not callable(function):
                raise InvalidInputError(f"{name} is {shown(function)}.", remedy="Pass a function.")
        self._clock = clock or _system_ms
        self._generate_id = generate_id

    def attempt(
        self, before: WorkingMemorySnapshot, patch: WorkingMemoryPatch
    ) -> tuple[PatchOutcome, WorkingMemoryRevision | None]:
        """Apply a patch, and also tell what it changes if it is applied; nothing is kept yet.

        Call it without a lock: the clock and ``generate_id`` are the host's, and may come back to the handle.
        When another patch was kept in the meantime, attempt it again: it expects the revision before that one,
        so the next answer is the last.

        Raises:
            InvalidInputError: For what the clock or ``generate_id`` returned.
        """
        now = max(whole_number(self._clock(), "The clock's time in ms"), before.updated_at)
        outcome = apply_working_memory_patch(before, patch, now=now, generate_id=self._generate_id)
        return outcome, revision_of(before, outcome, patch) if isinstance(outcome, AppliedPatch) else None


class InMemoryWorkingMemory:
    """A working memory in this process; gone with it.

    Args:
        snapshot: Where it starts, as a value or its JSON data.
        clock: Returns the time in whole ms since the epoch; the system's clock by default. A time before that
            of the last change counts as that time.
        generate_id: Names new items, see ``apply_working_memory_patch``; may be asked again for a patch whose
            first attempt another writer forestalled.
        history: How many revisions are told of, the newest ones.

    Raises:
        InvalidInputError: When an argument is malformed.
    """

    def __init__(
        self,
        snapshot: WorkingMemorySnapshot | Mapping[str, Any],
        *,
        clock: Callable[[], int] | None = None,
        generate_id: GenerateId | None = None,
        history: int = 100,
    ) -> None:
        self._attempts = PatchAttempts(clock, generate_id)
        self._snapshot = WorkingMemorySnapshot.recorded(snapshot)
        self._history: deque[WorkingMemoryRevision] = deque(maxlen=whole_number(history, "The history"))
        self._lock = threading.Lock()

    def current(self) -> WorkingMemorySnapshot:
        """Return the snapshot as it stands now."""
        with self._lock:
            return self._snapshot

    def apply(self, patch: WorkingMemoryPatch | Mapping[str, Any]) -> PatchOutcome:
        """Apply a patch to what stands now; see ``apply_working_memory_patch``.

        Raises:
            InvalidInputError: When the patch is malformed, or what the clock or ``generate_id`` returned.
        """
        wanted = WorkingMemoryPatch.parse(patch)
        while True:
            before = self.current()
            outcome, revision = self._attempts.attempt(before, wanted)
            if revision is None:
                return outcome
            with self._lock:
                if self._snapshot is before:
                    self._snapshot = outcome.snapshot
                    self._history.append(revision)
                    return outcome

    def history(self) -> tuple[WorkingMemoryRevision, ...]:
        """Return what the newest patches changed, the newest last, as copies that the caller may change."""
        with self._lock:
            kept = tuple(self._history)
        return tuple(revision.model_copy(deep=True) for revision in kept)


def _system_ms() -> int:
    return time.time_ns() // 1_000_000

"""A project's working memory: started once, changed by patches alone, with what the newest of them did.

A change gives another project under another digest; the one it started from stays as it is. Nothing here reads
a clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from playground.errors import InvalidRequestError
from playground.working_memory import (
    AppliedPatch,
    PatchOutcome,
    WorkingMemoryPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
    create_working_memory,
)
from playground.working_memory.difference import WorkingMemoryRevision, revision_of
from playground.workspace.files import ProjectFolder
from playground.workspace.project import Project

__all__ = [
    "HISTORY_BYTES",
    "HISTORY_FILE",
    "HISTORY_LIMIT",
    "ProjectMemory",
    "patch_project",
    "start_working_memory",
    "working_memory_history",
]

HISTORY_LIMIT = 100  # revisions; older ones are let go
HISTORY_BYTES = 4 * 1024 * 1024  # of their JSON together; one patch of a full memory makes half a MiB at most
HISTORY_FILE = "working_memory_history.jsonl"


def start_working_memory(project: Project, *, goal: str | None = None, now: int) -> Project:
    """Give a project a working memory at revision 0.

    Args:
        project: One without a working memory.
        goal: What the task is for, at most 4,000 characters.
        now: The time, in whole ms since the epoch.

    Raises:
        InvalidRequestError: When the project has a working memory.
        InvalidInputError: When the goal is empty or too long.
    """
    if project.working_memory is not None:
        raise InvalidRequestError(
            "The project has a working memory already.", remedy="Change it by a patch instead."
        )
    scope = project.scope.user_id or project.name
    return _with_memory(project, create_working_memory(scope=scope[:256], goal=goal, now=now), ())


def patch_project(
    project: Project, patch: WorkingMemoryPatch | Mapping[str, Any], *, now: int
) -> tuple[Project, PatchOutcome]:
    """Apply a patch to a project's working memory.

    Args:
        project: One with a working memory.
        patch: See ``apply_working_memory_patch``.
        now: The time, in whole ms since the epoch.

    Returns:
        The project with the new snapshot and one more row of history, and what came of the patch. A patch that
        was rejected, or applied before, gives the very project that came in.

    Raises:
        InvalidRequestError: When the project has no working memory.
        InvalidInputError: When the patch is malformed.
    """
    before = project.working_memory
    if before is None:
        raise _nothing_to_change()
    wanted = WorkingMemoryPatch.parse(patch)
    outcome = apply_working_memory_patch(before, wanted, now=now)
    if not isinstance(outcome, AppliedPatch):
        return project, outcome
    history = (*project.working_memory_history, revision_of(before, outcome, wanted))
    kept = _newest([len(revision.to_json().encode()) for revision in history])
    return _with_memory(project, outcome.snapshot, history[len(history) - kept :]), outcome


class ProjectMemory:
    """A project's working memory as a handle, for the model's tools; for one call, not for several threads.

    Args:
        project: One with a working memory.
        now: The time of every change, in whole ms since the epoch.

    Attributes:
        project: The project as the patches so far have made it.
    """

    def __init__(self, project: Project, *, now: int) -> None:
        self.project = project
        self._now = now

    def current(self) -> WorkingMemorySnapshot:
        """Return the snapshot as it stands now.

        Raises:
            InvalidRequestError: When the project has no working memory.
        """
        if self.project.working_memory is None:
            raise _nothing_to_change()
        return self.project.working_memory

    def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
        """Apply a patch and keep the project that comes of it; see ``patch_project``."""
        self.project, outcome = patch_project(self.project, patch, now=self._now)
        return outcome


def working_memory_history(
    folder: ProjectFolder, snapshot: WorkingMemorySnapshot | None
) -> tuple[WorkingMemoryRevision, ...]:
    """Read the history file of a project folder; none when it is not there.

    Only the lines at its end are parsed, as many as a history may have: what stands before was let go.

    Raises:
        ProjectError: When it is damaged or tells of revisions that the snapshot has not reached.
    """
    history = folder.lines(
        HISTORY_FILE,
        WorkingMemoryRevision.recorded,
        newest=lambda lines: _newest([len(line.encode()) for line in lines]),
    )
    numbers = [revision.revision for revision in history]
    reached = 0 if snapshot is None else snapshot.revision
    if numbers != sorted(set(numbers)) or any(number > reached for number in numbers):
        raise folder.error(
            f"{HISTORY_FILE} does not go with working_memory.json: its revisions must rise and end at "
            f"{reached:,} at most.",
            "Correct the file, or delete it; only the history is lost with it.",
        )
    return tuple(history)


def _newest(sizes: Sequence[int]) -> int:
    """Return how many revisions are kept of some with these sizes in bytes, the newest last; one at least."""
    total = kept = 0
    for size in reversed(sizes[-HISTORY_LIMIT:]):
        total += size
        if kept and total > HISTORY_BYTES:
            break
        kept += 1
    return kept


def _with_memory(
    project: Project, snapshot: WorkingMemorySnapshot, history: tuple[WorkingMemoryRevision, ...]
) -> Project:
    state = hashlib.sha256(project.digest.encode())
    state.update(b"\0working memory\0")
    state.update(snapshot.to_json().encode())
    return project.with_parts(
        working_memory=snapshot, working_memory_history=history, digest=f"sha256:{state.hexdigest()}"
    )


def _nothing_to_change() -> InvalidRequestError:
    return InvalidRequestError(
        "The project has no working memory.", remedy="Start one on the Working memory page."
    )

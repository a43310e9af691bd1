"""Working memory of the long task at each of its steps. Pure."""

from __future__ import annotations

from typing import Any

from playground.evaluation.task import Commitment, LongTask
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["SCOPE", "STEP_MS", "notes_at"]

SCOPE = "tern-line"
STEP_MS = 60_000  # ms between two steps of the script


def notes_at(task: LongTask, step: int) -> WorkingMemorySnapshot:
    """Return the snapshot that a host which keeps working memory has before a model call.

    A change raises the revision by one; an item carries the revision that changed it last.
    """
    changes = sorted(
        {subtask.first for subtask in task.subtasks}
        | {item.since for item in task.commitments}
        | {item.reverted for item in task.commitments if item.reverted is not None}
    )
    revisions = {at: revision for revision, at in enumerate(changes)}
    items: dict[str, list[dict[str, Any]]] = {"constraint": [], "decision": [], "attempt": [], "goal": []}
    for commitment in task.commitments:
        if commitment.since <= step:
            items[commitment.kind].append(_item(commitment, step, revisions, len(items[commitment.kind])))
    goal = items["goal"][0]
    return WorkingMemorySnapshot(
        scope=SCOPE,
        revision=max(revision for at, revision in revisions.items() if at <= step),
        goal={name: value for name, value in goal.items() if name != "id"},
        constraints=items["constraint"],
        tasks=_tasks(task, step, revisions),
        decisions=items["decision"],
        attempts=items["attempt"],
        updated_at=step * STEP_MS,
    )


def _item(commitment: Commitment, step: int, revisions: dict[int, int], number: int) -> dict[str, Any]:
    changed = commitment.since
    if commitment.reverted is not None and commitment.taken_back(step):
        changed = commitment.reverted
    item: dict[str, Any] = {
        "id": f"{commitment.kind}s-{revisions[commitment.since]}-{number}",
        "text": commitment.text,
        "revision": revisions[changed],
        "updated_at": changed * STEP_MS,
    }
    if commitment.kind == "decision":
        item["status"] = "reverted" if commitment.taken_back(step) else "accepted"
    if commitment.kind == "attempt":
        item["outcome"] = "failed"
    return item


def _tasks(task: LongTask, step: int, revisions: dict[int, int]) -> dict[str, Any]:
    active = next(subtask for subtask in task.subtasks if subtask.first <= step <= subtask.last)
    listed = []
    for subtask in task.subtasks:
        done = subtask.last < step
        status = "done" if done else "in_progress" if subtask is active else "pending"
        changed = subtask.last + 1 if done else subtask.first if subtask is active else 0
        listed.append(
            {
                "id": subtask.id,
                "title": subtask.title,
                "status": status,
                "revision": revisions[changed],
                "updated_at": changed * STEP_MS,
            }
        )
    return {"list": listed, "active_task_id": active.id}

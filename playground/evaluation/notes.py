"""Working memory over the long task, as a host keeps it: created once, then changed by patches. Pure."""

from __future__ import annotations

from typing import Any

from playground.errors import InvalidInputError
from playground.evaluation.task import Commitment, LongTask
from playground.working_memory import (
    AppliedPatch,
    RejectedPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
    create_working_memory,
)

__all__ = ["SCOPE", "STEP_MS", "first_notes", "next_notes"]

SCOPE = "tern-line"
STEP_MS = 60_000  # ms between two steps of the script


def first_notes(task: LongTask) -> WorkingMemorySnapshot:
    """Return working memory as it is before the first model call."""
    begun = [item for item in task.commitments if item.since == 0]
    return create_working_memory(
        scope=SCOPE,
        goal=next(item.text for item in begun if item.kind == "goal"),
        constraints=[item.text for item in begun if item.kind == "constraint"],
        tasks={"list": _tasks(task, 0), "active_task_id": _active(task, 0)},
        now=0,
    )


def next_notes(task: LongTask, notes: WorkingMemorySnapshot, step: int) -> WorkingMemorySnapshot:
    """Return working memory before the model call of a later step; the same object when nothing changed.

    Args:
        task: The script.
        notes: What ``first_notes`` or this function returned for the step before.
        step: From 1.

    Raises:
        InvalidInputError: When the script does what working memory refuses.
    """
    operations: list[dict[str, Any]] = []
    if _active(task, step) != _active(task, step - 1):
        operations.append({"op": "set-tasks", "list": _tasks(task, step)})
        operations.append({"op": "set-active-task", "id": _active(task, step)})
    operations += [_addition(item) for item in task.commitments if item.since == step]
    reverted = {item.text for item in task.commitments if item.reverted == step}
    operations += [
        {"op": "set-decision-status", "id": decision.id, "status": "reverted"}
        for decision in notes.decisions
        if decision.text in reverted
    ]
    if not operations:
        return notes
    patch = {
        "operation_id": f"step-{step}",
        "expected_revision": notes.revision,
        "writer": "host",
        "operations": operations,
    }
    outcome = apply_working_memory_patch(notes, patch, now=step * STEP_MS)
    if not isinstance(outcome, AppliedPatch):
        why = outcome.message if isinstance(outcome, RejectedPatch) else outcome.status
        raise InvalidInputError(f"Working memory does not take step {step} of the script: {why}")
    return outcome.snapshot


def _addition(commitment: Commitment) -> dict[str, Any]:
    match commitment.kind:
        case "constraint":
            return {"op": "add-constraint", "text": commitment.text}
        case "decision":
            return {"op": "add-decision", "text": commitment.text}
        case "attempt":
            return {"op": "record-attempt", "text": commitment.text, "outcome": "failed"}
    return {"op": "set-goal", "text": commitment.text}


def _active(task: LongTask, step: int) -> str:
    return next(subtask.id for subtask in task.subtasks if subtask.first <= step <= subtask.last)


def _tasks(task: LongTask, step: int) -> list[dict[str, str]]:
    active = _active(task, step)
    return [
        {
            "id": subtask.id,
            "title": subtask.title,
            "status": "in_progress" if subtask.id == active else "done" if subtask.last < step else "pending",
        }
        for subtask in task.subtasks
    ]

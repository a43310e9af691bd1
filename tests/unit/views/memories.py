"""A working memory with every kind of item, made as a host and a model would make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.working_memory import (
    AppliedPatch,
    WorkingMemoryPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
    create_working_memory,
)
from playground.working_memory.difference import WorkingMemoryRevision, revision_of

NOON = 1_796_040_000_000  # 2026-11-30 12:00 UTC, in ms


def started() -> WorkingMemorySnapshot:
    """Goal, one rule and two tasks, the second of them active."""
    tasks = {"list": [{"id": "a", "title": "First"}, {"id": "b", "title": "Second"}], "active_task_id": "b"}
    return create_working_memory(scope="case", goal="Ship.", constraints=["Ask first."], tasks=tasks, now=NOON)


def wanted(
    snapshot: WorkingMemorySnapshot, *operations: Mapping[str, Any], writer: str = "host"
) -> WorkingMemoryPatch:
    """A patch for the snapshot's own revision."""
    fields = {"operationId": f"op-{snapshot.revision}", "expectedRevision": snapshot.revision, "writer": writer}
    return WorkingMemoryPatch.parse({**fields, "operations": list(operations)})


def patched(
    snapshot: WorkingMemorySnapshot, *operations: Mapping[str, Any], writer: str = "host"
) -> tuple[WorkingMemorySnapshot, WorkingMemoryRevision]:
    """The next snapshot, and what changed."""
    patch = wanted(snapshot, *operations, writer=writer)
    outcome = apply_working_memory_patch(snapshot, patch, now=NOON + 1_000)
    assert isinstance(outcome, AppliedPatch)
    return outcome.snapshot, revision_of(snapshot, outcome, patch)


def filled() -> WorkingMemorySnapshot:
    """One item of each kind by the model, and the host's word on its decision."""
    snapshot, _ = patched(
        started(),
        {"op": "add-decision", "text": "Wait for CI.", "rationale": "It is quick."},
        {"op": "add-question", "text": "Who is on call?"},
        {"op": "record-attempt", "text": "Restarted it.", "outcome": "in_progress", "detail": "Twice."},
        {"op": "add-hypothesis", "text": "It is the clock."},
        {
            "op": "add-observation",
            "text": "The queue is empty.",
            "sources": [{"kind": "tool", "toolCallId": "t1"}],
        },
        writer="model",
    )
    return patched(snapshot, {"op": "set-decision-status", "id": "decisions-1-0", "status": "accepted"})[0]

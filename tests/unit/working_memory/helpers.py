"""What the tests of working memory that is shared, and of its tools, have in common."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from playground import WorkingMemorySnapshot, create_working_memory
from playground.errors import TOOL_MESSAGE_LENGTH, ToolExecutionError
from playground.messages import Message, ToolResultPart, ToolUsePart
from playground.tools import Tool, ToolContext
from playground.working_memory import WorkingMemoryPatch
from playground.working_memory.handle import InMemoryWorkingMemory

READ, ADD, UPDATE = range(3)  # of the tools, in their order
NOTE = {"kind": "observation", "text": "The build is red."}
DROP = {"action": "drop", "id": "questions-1-0"}
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


def memory(**more: Any) -> InMemoryWorkingMemory:
    return InMemoryWorkingMemory(started(**more), clock=lambda: 5_000)


def call(tool: Tool, data: Any, *, call_id: str = "call-1", step: int = 0, **more: Any) -> Mapping[str, Any]:
    return asyncio.run(awaited(tool, data, ToolContext(call_id, step, **more)))


async def awaited(tool: Tool, data: Any, context: ToolContext) -> Mapping[str, Any]:
    return await tool.execute(data, context)


def refusal(tool: Tool, data: Any, **more: Any) -> ToolExecutionError:
    with pytest.raises(ToolExecutionError) as caught:
        call(tool, data, **more)
    error = caught.value
    assert error.tool == tool.name
    assert len(error.problem) <= TOOL_MESSAGE_LENGTH
    str(error).encode()
    return error


def used(*ids: str, results: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
    """A history in which tools were called, and some have answered."""
    calls = tuple(ToolUsePart(call_id, "look", {}) for call_id in ids)
    answers = tuple(ToolResultPart(call_id, result) for call_id, result in (results or {}).items())
    return (Message("user", "Go on."), Message("assistant", calls), Message("tool", answers))


def asked() -> InMemoryWorkingMemory:
    """A memory with a question and an attempt of the model, and a question of the host."""
    found = memory()
    for writer, operations in (
        (
            "model",
            [
                {"op": "add-question", "text": "Why?"},
                {"op": "record-attempt", "text": "TZ=UTC", "outcome": "in_progress"},
            ],
        ),
        ("host", [{"op": "add-question", "text": "When?"}]),
    ):
        revision = found.current().revision
        patch = {
            "operation_id": writer,
            "expected_revision": revision,
            "writer": writer,
            "operations": operations,
        }
        assert found.apply(patch).status == "applied"
    return found

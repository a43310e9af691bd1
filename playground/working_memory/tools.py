"""The tools by which a model reads its working memory and writes what it may write there.

Not pure: they ask and change a handle. They keep nothing themselves; what was read and written is the handle's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from playground.concurrency import called, until_done
from playground.digests import text_digest
from playground.errors import InvalidInputError, ToolExecutionError
from playground.escaping import replace_surrogates
from playground.tools import TOOL_NAME, Tool, ToolContext, checked_path
from playground.turns import Turns
from playground.values import shown
from playground.working_memory.evidence import Evidence
from playground.working_memory.handle import WorkingMemoryHandle
from playground.working_memory.items import ID_LENGTH, SECTIONS
from playground.working_memory.outcome import AppliedPatch, DuplicatePatch, RejectedPatch
from playground.working_memory.patch import WorkingMemoryPatch
from playground.working_memory.snapshot import WorkingMemorySnapshot
from playground.working_memory.tool_input import AddInput, ReadInput, UpdateInput

__all__ = ["working_memory_tools"]

TRIES = 3  # of a write in all, when others write between its reading and its writing
REMEDIES: Mapping[str, str] = {
    "limit": "Shorten it, or remove what no longer helps.",
    "not-found": "Read the working memory for the ids of its items.",
    "operation-conflict": "A call with this id has written something else; send a new call.",
}
_Answer = TypeVar("_Answer")

# What is of no use to a model; it would cost more tokens than the texts.
_HIDDEN = {"revision", "sources", "updated_at"}
_UNREAD: dict[str, Any] = {
    **{name: {"__all__": _HIDDEN} for name in SECTIONS},
    "goal": _HIDDEN,
    "tasks": {"list_revision": True, "list": {"__all__": _HIDDEN}},
}

READ = (
    "Read your working memory as it is kept: its revision, and every item with id, status and writer, also the "
    "items that were left out of the request for lack of room. You may change the items whose writer is model, "
    "but not those with decided_by host."
)
ADD = (
    "Add what a long task must not lose to your working memory: observations, hypotheses, decisions, questions "
    "and attempts. Decisions and hypotheses are proposed until the host decides. Goal, constraints and tasks "
    "are the host's. Answers with the new revision and the ids of the items in their order."
)
UPDATE = (
    "Change items of your working memory that you wrote: answer or drop a question, say how an attempt went, "
    "remove an item. What the host wrote or decided cannot be changed. Answers with the new revision."
)


def working_memory_tools(
    *, memory: WorkingMemoryHandle, prefix: str = "working_memory", agent_path: Sequence[str] = ()
) -> tuple[Tool, Tool, Tool]:
    """Return the tools ``<prefix>_read``, ``<prefix>_add`` and ``<prefix>_update``.

    A write is one patch by the model, all of it or nothing, and answers ``{"status": "applied", "revision",
    "ids"?}``, or ``{"status": "duplicate", "revision"}`` for a call that comes again. What is refused is a
    ``ToolExecutionError`` whose ``reason`` is that of a rejected patch, or ``malformed`` for input that does
    not fit, or ``evidence`` for a call that cannot be cited. What the handle raises passes as it is.
    A call that comes again after more than 256 other patches is no longer recognised, nor one that a snapshot
    of nearly 256 KiB had to forget before.

    Args:
        memory: The working memory that is read and written.
        prefix: 1 to 57 of the characters ``a-z A-Z 0-9 _ -``.
        agent_path: The agent whose memory it is. Another may read, and its writes are refused.

    Raises:
        InvalidInputError: When an argument is malformed.
    """
    if not isinstance(memory, WorkingMemoryHandle) or isinstance(memory, type):
        raise InvalidInputError(
            f"The memory is {shown(memory)}.", remedy="Pass a handle with current() and apply(patch)."
        )
    # _update is the longest ending.
    if not isinstance(prefix, str) or not (prefix and TOOL_NAME.fullmatch(f"{prefix}_update")):
        raise InvalidInputError(
            f"The prefix is {shown(prefix)}.", remedy="Use 1 to 57 letters, digits, underscores and hyphens."
        )
    owner = checked_path(agent_path)
    # A model may call several tools at once; they must not count as each other's rivals.
    turns = Turns()
    names = [f"{prefix}_{verb}" for verb in ("read", "add", "update")]

    async def read(data: Any, context: ToolContext) -> Mapping[str, Any]:
        wanted = ReadInput.read(data, tool=names[0])
        return _readable(await _asked(context, partial(_current, memory)), wanted.sections or SECTIONS)

    async def add(data: Any, context: ToolContext) -> Mapping[str, Any]:
        _check_owner(context, owner, tool=names[1])
        wanted = AddInput.read(data, tool=names[1])
        evidence = Evidence(context, tool=names[1])
        cited = [call_id for item in wanted.items for call_id in item.evidence or ()]
        operations = [item.operation(evidence.sources(item.evidence or ())) for item in wanted.items]
        check = partial(evidence.check, cited)
        write = partial(_write, turns, memory, operations, context, tool=names[1], field="items", check=check)
        return await _asked(context, write)

    async def update(data: Any, context: ToolContext) -> Mapping[str, Any]:
        _check_owner(context, owner, tool=names[2])
        wanted = UpdateInput.read(data, tool=names[2])
        operations = [change.operation() for change in wanted.changes]
        write = partial(_write, turns, memory, operations, context, tool=names[2], field="changes")
        return await _asked(context, write)

    return (
        Tool(names[0], READ, ReadInput.parameters(), read, replay="idempotent"),
        Tool(names[1], ADD, AddInput.parameters(), add, replay="idempotent"),
        Tool(names[2], UPDATE, UpdateInput.parameters(), update, replay="idempotent"),
    )


async def _write(
    turns: Turns,
    memory: WorkingMemoryHandle,
    operations: Sequence[Mapping[str, Any]],
    context: ToolContext,
    *,
    tool: str,
    field: str,
    check: Callable[[], None] | None = None,
) -> Mapping[str, Any]:
    operation_id = _operation_id(tool, context)
    async with turns.turn():
        for _ in range(TRIES):
            context.raise_if_cancelled()
            snapshot = await _current(memory)
            # A call that comes again was checked when it came first; its history may have been compacted since.
            if check is not None and all(record.operation_id != operation_id for record in snapshot.operations):
                check()
            patch = WorkingMemoryPatch(
                operation_id=operation_id,
                expected_revision=snapshot.revision,
                writer="model",
                operations=operations,
            )
            context.raise_if_cancelled()
            match await called(memory.apply, patch):
                case AppliedPatch(snapshot=WorkingMemorySnapshot() as after, ids=ids):
                    made = {"ids": list(ids)} if ids else {}
                    return {"status": "applied", "revision": after.revision, **made}
                case DuplicatePatch(revision=revision):
                    return {"status": "duplicate", "revision": revision}
                case RejectedPatch(reason="stale-revision"):
                    continue
                case RejectedPatch(reason=reason, message=message, operation=number):
                    place = "" if number is None else f"{field}.{number}: "
                    raise ToolExecutionError(
                        f"{place}{message}", remedy=REMEDIES.get(reason, ""), tool=tool, reason=reason
                    )
                case other:
                    raise InvalidInputError(
                        f"A working memory answered a patch with {shown(other)}.",
                        remedy="Answer a PatchOutcome.",
                    )
    raise ToolExecutionError(
        f"The working memory was changed by others at each of {TRIES} tries; nothing was written.",
        remedy="Call again.",
        tool=tool,
        reason="stale-revision",
    )


async def _current(memory: WorkingMemoryHandle) -> WorkingMemorySnapshot:
    snapshot = await called(memory.current)
    if not isinstance(snapshot, WorkingMemorySnapshot):
        raise InvalidInputError(
            f"A working memory's current() is {shown(snapshot)}.", remedy="Return a WorkingMemorySnapshot."
        )
    return snapshot


async def _asked(context: ToolContext, ask: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
    """Wait for an answer until the call is cancelled; a handle may hang, and what it does then it may end."""
    if context.signal is None:
        return await ask()
    context.signal.raise_if_cancelled()
    task = asyncio.create_task(ask())
    try:
        await until_done([task], context.signal)
    finally:
        task.cancel()
    return task.result()


def _operation_id(tool: str, context: ToolContext) -> str:
    # No tool name and no number holds a colon or a hash, so two calls never share an id.
    start, call_id = f"{tool}:{context.model_step}", context.tool_call_id
    plain = f"{start}:{call_id}"
    # What is too long, or has no place in a recorded id, is told apart by its digest.
    return plain if len(plain) <= ID_LENGTH and plain.isprintable() else f"{start}#{text_digest(call_id)}"


def _check_owner(context: ToolContext, owner: tuple[str, ...], *, tool: str) -> None:
    if context.agent_path != owner:
        raise ToolExecutionError(
            "Only the agent that this working memory belongs to may write it.",
            remedy="You may read it; tell the other agent what to note.",
            tool=tool,
            reason="forbidden",
        )


def _readable(snapshot: WorkingMemorySnapshot, sections: Sequence[str]) -> dict[str, Any]:
    names: list[str] = [name for name in SECTIONS if name in sections]
    read = snapshot.model_dump(mode="python", include=set(names), exclude=_UNREAD, exclude_none=True)
    return {"revision": snapshot.revision, **{name: _encodable(read.get(name)) for name in names}}


def _encodable(value: Any) -> Any:
    """Return data that has a UTF-8 form; half of a character stands as the request shows it."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {name: _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value

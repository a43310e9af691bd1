"""Real logs of tool calls, ways to replay them, and what is checked at every step of a replay."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from playground.preparation import (
    AgentContext,
    ImportedConversation,
    PreparedContext,
    import_conversation,
    import_conversations,
)
from playground.preparation.items import Json
from playground.views.preparation_groups import with_ids
from tests.preparation import NOW, message

__all__ = [
    "Counts",
    "Log",
    "async_items",
    "custom_items",
    "fresh_steps",
    "incremental_steps",
    "items_of",
    "joined_items",
    "logs",
    "parallel_items",
    "replay",
]

RESERVE = 512
KEPT = 25  # of so many requests one is kept, to be exported
BFCL = Path(__file__).parents[2] / "data" / "bfcl" / "transcripts.jsonl"
Log = list[dict[str, Any]]
"""Messages of Chat Completions."""
Step = tuple[AgentContext, str]
"""A context that is about to answer, and where that is, for people."""


@dataclass
class Counts:
    """What happened in some replays."""

    replays: int = 0
    compacted: int = 0
    cut: int = 0
    moved: int = 0
    removed: int = 0
    prepared: list[PreparedContext] = field(default_factory=list)

    def told(self) -> tuple[int, int, int, int, int]:
        return self.replays, self.compacted, self.cut, self.moved, self.removed


@cache
def logs() -> tuple[Log, ...]:
    """The messages of all 149."""
    return tuple(json.loads(line)["messages"] for line in BFCL.read_text(encoding="utf-8").splitlines())


def fresh_steps(log: Log, window: int, every: int = 1, **settings: Any) -> Iterator[Step]:
    """Import what stands before each answer into a context of its own."""
    answers = [place for place, one in enumerate(log) if one["role"] == "assistant"]
    for place in answers[::every]:
        read = import_conversation(log[:place])
        history = with_ids(read.conversation)
        now = with_ids(read.current_input, len(history))
        context = new_context(window, **settings)
        context.add_conversation(ImportedConversation(read.system_prompt, history, now))
        yield context, f"before message {place}"


def incremental_steps(items: Sequence[Json], window: int, **settings: Any) -> Iterator[Step]:
    """Let one context live through a conversation; what it moved, cut and kept stays in it."""
    context, waiting = new_context(window, **settings), list[Json]()
    for place, item in enumerate(with_ids(items)):
        if item.get("role") != "assistant":
            waiting.append(item)
            continue
        context.add_conversation(ImportedConversation(None, (), tuple(waiting)))
        yield context, f"before item {place}"
        context.add_assistant_response([item])
        waiting.clear()


def items_of(log: Log) -> list[Json]:
    read = import_conversation(log)
    return [*read.conversation, *read.current_input]


def joined_items(several: Sequence[Log]) -> list[Json]:
    """Several logs as one, their ids kept apart."""
    read = import_conversations(several, prefix_ids=True)
    return [*read.conversation, *read.current_input]


def parallel_items(log: Log, seed: int, *, losing: bool = False) -> list[Json]:
    """Fold two to four calls into one answer, their results in one message or in several.

    Args:
        log: What is varied.
        seed: Draws sizes and shapes.
        losing: Whether every second answer of several calls never gets one of its results.
    """
    draw, items, varied, place = random.Random(seed), items_of(log), list[Json](), 0
    while place < len(items):
        size, calls, results = draw.randint(2, 4), list[Json](), list[Json]()
        while len(calls) < size and place + 1 < len(items) and _is_pair(items[place], items[place + 1]):
            calls += items[place]["content"]
            results += items[place + 1]["content"]
            place += 2
        if not calls:
            varied.append(items[place])
            place += 1
            continue
        if losing and len(calls) > 1 and draw.random() < 0.5:
            results.pop(draw.randrange(len(results)))
        varied.append(message("assistant", *calls))
        if draw.random() < 0.5:
            varied.append(message("user", *results))
        else:
            varied += [message("user", one) for one in results]
    return varied


def custom_items(log: Log) -> list[Json]:
    """Make every third call a custom one."""
    items, numbers = items_of(log), count(1)
    for called, answered in pairwise(items):
        if _is_pair(called, answered) and next(numbers) % 3 == 0:
            (call,), (result,) = called["content"], answered["content"]
            call |= {"type": "custom_tool_use", "input": call.pop("arguments")}
            result |= {"type": "custom_tool_result"}
    return items


def async_items(log: Log) -> list[Json]:
    """Let the provider answer every fourth call five answers later, by a native output, or never."""
    items, varied, numbers, due = items_of(log), list[Json](), count(1), dict[int, list[Json]]()
    answers = late = 0
    for place, item in enumerate(items):
        if item["role"] == "assistant":
            varied += due.pop(answers, [])
            answers += 1
        if late == place and place:
            (result,) = item["content"]
            output = {
                "type": "function_call_output",
                "call_id": result["tool_use_id"],
                "output": result["content"],
            }
            due.setdefault(answers + 4, []).append(output)
            continue
        following = items[place + 1] if place + 1 < len(items) else {}
        if following and _is_pair(item, following) and next(numbers) % 4 == 0:
            item["content"][0]["async"] = True
            late = place + 1
        varied.append(item)
    return varied


def _is_pair(item: Json, following: Json) -> bool:
    return item["role"] == "assistant" and all("tool_use_id" in block for block in following["content"])


def new_context(window: int, **settings: Any) -> AgentContext:
    return AgentContext(
        model="replayed", max_context_tokens=window, response_reserve=RESERVE, clock=lambda: NOW, **settings
    )


def replay(steps: Iterator[Step], counts: Counts) -> None:
    """Prepare at every step, check what came of it, and count."""
    asyncio.run(_replay(steps, counts))


async def _replay(steps: Iterator[Step], counts: Counts) -> None:
    for context, where in steps:
        before = context.conversation
        held, open_calls = _results(before), _late_calls([*before, *context.current_input])
        prepared = await context.prepare()
        budget = prepared.budget
        assert budget.total_used <= budget.limit, where
        assert budget.breakdown.total() == budget.total_used, where
        assert_no_orphan(prepared.input, where)
        moved = [line for line in prepared.compaction_log if line.startswith("moved ")]
        for line in moved:
            call_id = line.partition(" result ")[2].partition(" ")[0]
            key = line.rpartition(" to ")[2]
            found = await context.tools.execute("store_get", {"store": "notes", "key": key})
            assert found == {"found": True, "key": key, "entry": {"value": held[call_id]}}, where
        left = {item.get("id") for item in context.conversation}
        gone = [item for item in before if item.get("id") not in left]
        assert open_calls <= _late_calls(prepared.input), f"{where}: a call that is answered later is gone"
        assert_told(gone, prepared.compaction_log, where)
        counts.replays += 1
        counts.compacted += prepared.compacted
        counts.cut += any(line.startswith(("truncated", "skipped")) for line in prepared.compaction_log)
        counts.moved += len(moved)
        counts.removed += len(gone)
        if counts.replays % KEPT == 0:
            counts.prepared.append(prepared)


def _results(items: Sequence[Json]) -> dict[str, Any]:
    """What the history holds of each result, by call."""
    outputs = {item["call_id"]: item["output"] for item in items if "call_id" in item}
    blocks = [block for item in items for block in item.get("content", ()) if "tool_use_id" in block]
    values = {
        block["tool_use_id"]: {"content": block["content"], "error": block["error"]}
        if "error" in block
        else block["content"]
        for block in blocks
    }
    return {**values, **outputs}


def _late_calls(items: Sequence[Json]) -> set[str]:
    """The calls that their provider answers later, and has not yet."""
    blocks = [block for item in items for block in item.get("content", ())]
    return {block["id"] for block in blocks if block.get("async")} - _results(items).keys()


def assert_no_orphan(items: Sequence[Json], where: str) -> None:
    """Every synchronous call has its result and every result its call, by a scan that shares no code."""
    calls: set[tuple[bool, str]] = set()
    results: set[tuple[bool, str]] = set()
    late: set[tuple[bool, str]] = set()
    for item in items:
        if item["type"].endswith("_call_output"):
            results.add((item["type"].startswith("custom"), item["call_id"]))
        for block in item.get("content", ()):
            custom = block["type"].startswith("custom")
            if block["type"].endswith("tool_use"):
                (late if block.get("async") else calls).add((custom, block["id"]))
            elif block["type"].endswith("tool_result"):
                results.add((custom, block["tool_use_id"]))
    assert calls <= results, where
    assert results <= calls | late, where


def assert_told(gone: Sequence[Json], log: Sequence[str], where: str) -> None:
    """Each item that is gone is named in the log: by every call and result in it, else by its id."""
    for item in gone:
        blocks = item.get("content", ())
        ids = [block.get("id") or block.get("tool_use_id") for block in blocks] + [item.get("call_id")]
        known = [name for name in ids if name]
        for name in known or [item["id"]]:
            told = [line for line in log if _names(line, name)]
            assert told, f"{where}: {name} is gone, and nobody says so"


def _names(line: str, name: str) -> bool:
    return f" {name} " in line or f" {name}," in line or f" {name})" in line or line.endswith(f" {name}")

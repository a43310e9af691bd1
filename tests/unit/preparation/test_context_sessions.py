"""Saving a context and taking it up again (23, 26f)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError, StoreError
from playground.preparation import AgentContext, InMemoryContextStorage
from playground.preparation.journal import read_journal
from tests.preparation import ScriptedPlugin, call, message, result
from tests.unit.preparation.calls import prepare, stubbed

FEATURES = ["working_memory", "in_context_memory", "persistent_instructions"]


def stored(storage: Any, **settings: Any) -> AgentContext:
    return stubbed(storage=storage, features=FEATURES, max_context_tokens=9000, **settings)[0]


def save(context: AgentContext, *arguments: Any, **more: Any) -> str:
    return asyncio.run(context.save(*arguments, **more))


def load(context: AgentContext, session_id: str) -> bool:
    return asyncio.run(context.load(session_id))


def opaque() -> list[Any]:
    persistence = {"version": 1, "status": "unacknowledged", "invocationId": "i"}
    return [
        message("assistant", {**call("c1", thoughtSignature="sig=="), "async": True}, call("c2")),
        message("user", result("c2", "x", persistence=persistence, error="e", __images=[{"base64": "AA=="}])),
        {
            "type": "function_call_output",
            "call_id": "elsewhere",
            "output": [{"type": "input_text", "text": "t"}],
        },
        {"type": "reasoning", "id": "r", "encrypted_content": "gAAA=", "unknown": {"kept": [1, None]}},
    ]


def test_a_saved_context_comes_back_in_another_one() -> None:
    """23, 27: history, prompt and plugins, opaque bytes unchanged; no current input, no diagnostics."""
    storage = InMemoryContextStorage()
    context = stored(storage, system_prompt="{{MODEL}} helps")
    context.add_input_items(opaque())
    for store in ("notes", "whiteboard"):
        entry = {"store": store, "key": "k", "description": "d", "value": {"deep": [1]}}
        asyncio.run(context.tools.execute("store_set", entry))
    context.add_user_message("Waiting")
    prepare(context)
    session_id = save(context, metadata={"title": "T"}, agent_state={"step": 3})
    other = stored(storage)
    other.add_user_message("Gone")
    prepare(other)
    assert load(other, session_id)
    assert other.conversation == context.conversation
    assert other.current_input == []
    assert other.system_prompt == "{{MODEL}} helps"
    for name in FEATURES:
        assert other.plugins[name].get_state() == context.plugins[name].get_state()
    assert other.agent_state == {"step": 3}
    assert other.session_id == context.session_id == session_id
    assert (other.last_preparation, other.last_budget) == (None, None)
    prepare(other)
    assert other.last_preparation is not None
    assert other.last_preparation.revision == 2
    text = asyncio.run(storage.load(session_id))
    assert text is not None
    state = json.loads(text)["state"]
    assert state["metadata"]["title"] == "T"
    assert "revision" not in text


def test_an_unknown_session_is_no_session_and_changes_nothing() -> None:
    """23, 27."""
    context = stored(InMemoryContextStorage())
    context.add_user_message("Hi")
    prepare(context)
    assert load(context, "unknown") is False
    assert context.last_preparation is not None
    assert len(context.current_input) == 1


def test_without_a_storage_nothing_is_saved_or_loaded() -> None:
    """23, 27."""
    context, _ = stubbed()
    with pytest.raises(InvalidRequestError, match="No storage"):
        save(context)
    with pytest.raises(InvalidRequestError, match="No storage"):
        load(context, "x")


def test_the_session_is_the_given_the_current_or_a_new_one() -> None:
    """23."""
    context = stored(InMemoryContextStorage())
    first = save(context)
    assert save(context) == first
    assert save(context, "other") == "other"
    assert save(context) == "other"
    assert save(stored(InMemoryContextStorage())) != first


def test_agent_state_is_kept_until_there_is_another() -> None:
    """23."""
    storage = InMemoryContextStorage()
    context = stored(storage)
    save(context, "s", agent_state={"step": 1})
    save(context)
    other = stored(storage)
    load(other, "s")
    assert other.agent_state == {"step": 1}


def test_loading_counts_as_a_change_of_the_hosts() -> None:
    """8.2, 23: a preparation that waits renders again."""
    storage = InMemoryContextStorage()
    source = stored(storage)
    source.add_input_items([message("user", "Stored")])
    save(source, "s")
    context = stored(storage)

    async def load_once() -> None:
        if plugin.renderings == 1:
            await context.load("s")

    plugin = ScriptedPlugin(at_content=load_once)
    context.register_plugin(plugin)
    assert prepare(context).input[-1]["content"][0]["text"] == "Stored"
    assert plugin.renderings == 2


def test_what_is_saved_is_what_there_was_when_saving_began() -> None:
    """23: later changes do not get into it."""

    class Slow(InMemoryContextStorage):
        async def load(self, session_id: str) -> str | None:
            context.add_input_items([message("user", "Later")])
            return await super().load(session_id)

    context = stored(Slow())
    context.add_input_items([message("user", "Early")])
    save(context, "s")
    other = stored(context._state.settings.storage)  # the same storage
    load(other, "s")
    assert [item["content"][0]["text"] for item in other.conversation] == ["Early"]


def test_a_damaged_session_changes_nothing() -> None:
    """23."""
    storage = InMemoryContextStorage()
    context = stored(storage)
    context.add_input_items([message("user", "One")])
    save(context, "s")
    text = asyncio.run(storage.load("s"))
    assert text is not None
    data = json.loads(text)
    data["state"]["conversation"][0]["role"] = "nobody"
    asyncio.run(storage.save("s", json.dumps(data)))
    context.system_prompt = "Kept"
    with pytest.raises(StoreError, match="Item 0"):
        load(context, "s")
    assert context.system_prompt == "Kept"
    assert len(context.conversation) == 1


def test_a_plugin_that_refuses_its_state_leaves_the_context_as_it_was() -> None:
    """23."""
    storage = InMemoryContextStorage()
    context = stored(storage)
    asyncio.run(
        context.tools.execute("store_set", {"store": "notes", "key": "k", "description": "d", "value": 1})
    )
    save(context, "s")
    data = json.loads(asyncio.run(storage.load("s")) or "")
    data["state"]["pluginStates"]["working_memory"]["version"] = 99
    asyncio.run(storage.save("s", json.dumps(data)))
    other = stored(storage, system_prompt="Kept")
    other.add_user_message("Kept")
    with pytest.raises(InvalidInputError):
        load(other, "s")
    assert other.system_prompt == "Kept"
    assert len(other.current_input) == 1


def test_the_journal_holds_all_that_came_in_whatever_compaction_took() -> None:
    """23: kinds, turns and order; a rollover's summary too; turns go on after a load."""
    storage = InMemoryContextStorage()
    context = stored(storage)
    context.add_user_message("One")
    context.add_assistant_response([call("c1")])
    context.add_tool_results([{"tool_use_id": "c1", "content": "x"}])
    context.add_assistant_response("Done")
    context.replace_last_assistant_response("Really done")
    context.add_input_items([message("user", "Note")])

    async def summarize(_: Any) -> str:
        return "Summary"

    asyncio.run(context.rollover(summarize=summarize, preserve_recent_turns=0))
    save(context, "s")
    context.add_user_message("Two")
    save(context)
    other = stored(storage)
    load(other, "s")
    other.add_user_message("Three")
    save(other)
    entries = asyncio.run(read_journal(storage, "s"))
    assert [(entry.turn, entry.kind) for entry in entries] == [
        (1, "user"),
        (1, "assistant"),
        (1, "tool_results"),
        (1, "assistant"),
        (1, "assistant"),
        (1, "items"),
        (1, "summary"),
        (2, "user"),
        (3, "user"),
    ]
    assert len(context.conversation) == 1


def test_loading_forgets_what_was_thought_before() -> None:
    """23: it belongs to the conversation whose place the session takes."""
    context, _ = stubbed(storage=InMemoryContextStorage())

    async def save_think_load() -> None:
        saved = await context.save()
        context.add_assistant_response([{"type": "thinking", "thinking": "Hm"}])
        assert context.last_thinking == "Hm"
        assert await context.load(saved)

    asyncio.run(save_think_load())
    assert context.last_thinking is None

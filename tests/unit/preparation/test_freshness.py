"""What changes while a request is rendered, and what it is rendered from (3.4, 8.2, 25.1, 25.4, 26i)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import ContextChangedError
from playground.preparation import AgentContext, BasePlugin, ContextTool, StoreSchema
from tests.preparation import ESTIMATOR, ScriptedPlugin, StubStrategy, message, pad
from tests.unit.preparation.calls import filled, listening, prepare, stubbed, traces

Change = Callable[[AgentContext], object]

CHANGES: dict[str, Change] = {
    "user message": lambda context: context.add_user_message("New"),
    "current input": lambda context: context.set_current_input("New"),
    "answer": lambda context: context.add_assistant_response("New"),
    "replaced answer": lambda context: context.replace_last_assistant_response("New"),
    "results": lambda context: context.add_tool_results([{"tool_use_id": "c1", "content": "New"}]),
    "input items": lambda context: context.add_input_items([message("user", "New")]),
    "cleared": lambda context: context.clear_conversation("test"),
    "system prompt": lambda context: setattr(context, "system_prompt", "New"),
    "model": lambda context: setattr(context, "model", "new-model"),
    "strategy": lambda context: setattr(context, "strategy", StubStrategy()),
    "plugin": lambda context: context.register_plugin(ScriptedPlugin(f"p{len(context.plugins)}")),
}


def changing(change: Change, renderings: int) -> tuple[AgentContext, ScriptedPlugin]:
    """A context that its host changes during the first so many renderings."""
    context, _ = stubbed()
    plugin = ScriptedPlugin()

    def interfere() -> None:
        if plugin.renderings <= renderings:
            change(context)

    plugin.at_content = interfere
    context.register_plugin(plugin)
    context.add_user_message("Hello")
    context.add_assistant_response("Hi")
    return context, plugin


@pytest.mark.parametrize("name", CHANGES)
def test_a_host_change_during_rendering_causes_one_rebuild(name: str) -> None:
    """8.2: each change that a host can see counts; hooks ran once."""
    context, plugin = changing(CHANGES[name], 1)
    prepare(context)
    assert plugin.renderings == 2
    assert len(plugin.snapshots) == 1
    assert context.last_preparation is not None


@pytest.mark.parametrize("name", CHANGES)
def test_continued_churn_is_told_after_two_attempts(name: str) -> None:
    """8.2: the error can be retried, and nothing was recorded."""
    context, plugin = changing(CHANGES[name], 2)
    with pytest.raises(ContextChangedError, match="changed while preparing") as caught:
        prepare(context)
    assert caught.value.code == "CONTEXT_CHANGED"
    assert caught.value.retryable
    assert plugin.renderings == 2
    assert context.last_preparation is None
    prepare(context)
    assert context.last_preparation is not None


def test_tools_that_change_the_conversation_get_no_other_treatment() -> None:
    """7.2, 8.2: get_tools must not, and is caught."""
    context, _ = stubbed()

    def get_tools() -> list[Any]:
        context.add_user_message("From get_tools")
        return []

    with pytest.raises(ContextChangedError):
        prepare(context, get_tools=get_tools)


def test_each_phase_has_two_attempts() -> None:
    """8.2, 26i: one change before and one after compaction are both taken in."""
    context, stub = filled(850)
    plugin = ScriptedPlugin()
    plugin.at_content = lambda: context.add_input_items([pad(5)]) if plugin.renderings in {1, 3} else None
    context.register_plugin(plugin)
    prepared = prepare(context)
    assert plugin.renderings == 4
    assert len(stub.targets) == 1
    assert len(plugin.snapshots) == 1
    assert len(prepared.input) == 4


def test_churn_after_compaction_raises_and_keeps_what_was_compacted() -> None:
    """8.2, 7.1."""
    context, stub = filled(850)
    stub.does = lambda given, _: given.remove_messages([0])
    plugin = ScriptedPlugin()
    plugin.at_content = lambda: context.add_input_items([pad(5)]) if plugin.renderings >= 2 else None
    context.register_plugin(plugin)
    told = listening(context)
    with pytest.raises(ContextChangedError) as caught:
        prepare(context)
    assert any("pad" in line for line in caught.value.degradation_log)  # type: ignore[attr-defined]
    assert plugin.renderings == 3
    assert [name for name, _ in told] == ["compaction:starting", "context:compacted"]
    assert len(context.conversation) == 2
    assert context.last_preparation is None


def test_controlled_removals_are_no_host_changes() -> None:
    """8.2."""
    context, stub = filled(850)
    stub.does = lambda given, _: given.remove_messages([0])
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    assert prepare(context).compacted
    assert plugin.renderings == 2


class Late(BasePlugin):
    """A store whose instructions, schema and tool are what its content made them."""

    name = "late"
    version = 0

    async def get_content(self) -> str | None:
        await asyncio.sleep(0)
        self.version += 1
        return f"content {self.version}"

    def get_instructions(self) -> str | None:
        return f"instructions {self.version}"

    def get_tools(self) -> list[Any]:
        return [ContextTool("late_tool", lambda: f"description {self.version}")]

    def get_store_schema(self) -> StoreSchema:
        return StoreSchema("late", f"Late {self.version}", f"schema {self.version}")

    async def store_get(self, key: str | None = None) -> dict[str, Any]:
        return {"key": key}

    async def store_set(self, key: str, data: Any) -> dict[str, Any]:
        return {"key": key, "data": data}

    async def store_delete(self, key: str) -> dict[str, Any]:
        return {"key": key}

    async def store_list(self, filter: Any = None) -> dict[str, Any]:  # noqa: A002
        return {"filter": filter}


def test_contents_are_awaited_before_anything_else_is_read() -> None:
    """3.4: instructions, overview and tools are never older than the contents, of any plugin."""
    context, _ = stubbed(max_context_tokens=5000)
    early = ScriptedPlugin("early")
    late = Late()
    early.get_instructions = lambda: f"early instructions {late.version}"  # type: ignore[method-assign]
    context.register_plugin(early)
    context.register_plugin(late)
    prepared = prepare(context)
    text = prepared.input[0]["content"][0]["text"]
    for part in ("content 1", "\n\ninstructions 1", "schema 1", "early instructions 1", "# Late 1\n"):
        assert part in text
    assert "description 1" in [tool["description"] for tool in prepared.tools]


def test_everything_is_rendered_again_after_a_compaction() -> None:
    """7.1.10, 25.1: contents, instructions, overview, tools and counts."""
    context, stub = stubbed(max_context_tokens=5000)
    late = Late()
    context.register_plugin(late)
    context.add_input_items([pad(3900)])
    seen: list[Any] = []
    stub.does = lambda given, _: seen.append(given.budget)
    prepared = prepare(context)
    text = prepared.input[0]["content"][0]["text"]
    assert len(seen) == 1
    for part in ("content 2", "\n\ninstructions 2", "schema 2", "# Late 2\n"):
        assert part in text
    assert prepared.tools[0]["description"] == "description 2"
    assert prepared.budget.system_message_tokens == ESTIMATOR.text(text)


def test_a_grown_index_is_counted_after_the_compaction() -> None:
    """25.1: what the second rendering holds counts, not the first."""
    context, stub = filled(830)
    plugin = ScriptedPlugin("index", [None, "x" * 70])
    context.register_plugin(plugin)
    prepared = prepare(context)
    assert len(stub.targets) == 1
    assert prepared.budget.breakdown.plugin_contents == {"index": 20}
    assert prepared.budget.total_used > 850


def test_what_a_plugin_says_of_its_size_has_no_influence() -> None:
    """3.4, 25.1."""
    context, _ = stubbed()
    plugin = ScriptedPlugin("liar", ["Plan"])
    plugin.get_token_size = lambda: 10**6  # type: ignore[method-assign]
    plugin.get_instructions_token_size = lambda: 10**6  # type: ignore[method-assign]
    context.register_plugin(plugin)
    assert prepare(context).budget.breakdown.plugin_contents == {"liar": 2}


def test_a_host_that_goes_on_after_the_answer_is_a_later_change() -> None:
    """7.3: what arrives after the rendering is in the next request."""
    context, _ = stubbed()
    context.on("context:prepared", lambda _: context.add_user_message("Later"))
    prepared = prepare(context)
    assert len(prepared.input) == 1
    assert len(context.current_input) == 1


def test_a_raising_content_fails_the_preparation_as_it_is() -> None:
    """7.1: nothing is recorded."""
    context, _ = stubbed()
    context.add_user_message("Hello")
    prepare(context)
    before = traces(context)

    def fail() -> None:
        raise RuntimeError("no content")

    context.register_plugin(ScriptedPlugin(at_content=fail))
    with pytest.raises(RuntimeError, match="no content"):
        prepare(context)
    assert traces(context) == before


def test_a_controlled_removal_during_a_rendering_is_no_host_change() -> None:
    """8.2: a plugin that removes through the pass it was given causes no rebuild."""
    context, stub = filled(700)
    context.add_input_items([pad(150)])
    passes: list[Any] = []
    stub.does = lambda given, _: passes.append(given)
    plugin = ScriptedPlugin()
    plugin.at_content = lambda: passes[0].remove_messages([0]) if plugin.renderings == 2 else None
    context.register_plugin(plugin)
    prepared = prepare(context)
    assert plugin.renderings == 2
    assert prepared.budget.total_used == 700 - 686 + 150
    assert len(prepared.input) == 2

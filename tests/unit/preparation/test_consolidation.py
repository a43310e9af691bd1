"""Tidying up after a run (section 17)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground.errors import ContextBusyError, ContextChangedError, InvalidToolProtocolError
from playground.preparation import AgentContext, ConsolidationResult
from tests.preparation import FixedClock, ScriptedPlugin, StubStrategy, pad, pair
from tests.unit.preparation.calls import filled, listening, prepare, stubbed, traces

SOURCE = "x y " * 500


def consolidate(context: AgentContext) -> ConsolidationResult:
    return asyncio.run(context.consolidate())


def noted(total: int = 3300, *, large: bool = True) -> AgentContext:
    """A context of window 4,000 and reserve 500 with working memory, a result, and padding up to a total."""
    context = AgentContext(
        model="no-such-model",
        max_context_tokens=4000,
        response_reserve=500,
        features=("working_memory",),
        clock=FixedClock(),
    )
    context.add_input_items(pair("a", SOURCE if large else "small"))
    context.add_input_items([pad(total - asyncio.run(context.calculate_budget()).total_used)])
    return context


def test_27_at_the_line_nothing_is_done_and_one_line_says_why() -> None:
    context, stub = filled(810)
    done = consolidate(context)
    assert done == ConsolidationResult(False, 0, ("nothing to do: 810 of 900 tokens are used",))
    assert stub.consolidations == 0
    context, stub = filled(811)
    consolidate(context)
    assert stub.consolidations == 1


def test_17_large_results_move_and_nothing_is_dropped() -> None:
    context = noted()
    before = context.conversation
    done = consolidate(context)
    assert (done.performed, done.tokens_changed) == (True, -583)
    assert done.actions == (
        "moved look result a (2KB) to raw.tool_result.look.a",
        "removed 2 items from the history",
    )
    assert context.conversation == before[2:]


def test_13_2_consolidation_has_no_rolling_window() -> None:
    context = noted(large=False)
    done = consolidate(context)
    assert (done.performed, done.tokens_changed) == (False, 0)
    assert done.actions == ("algorithmic: nothing to consolidate",)
    assert len(context.conversation) == 3


def test_17_counts_are_taken_anew() -> None:
    context, stub = filled(700)
    prepare(context)
    context.add_input_items([pad(150, "later")])
    consolidate(context)
    assert stub.consolidations == 1


def test_17_tools_instructions_and_window_are_those_of_the_last_preparation() -> None:
    context, stub = filled(700)
    context.tools.register({"name": "large", "description": "d" * 3000})
    prepare(context, get_tools=list, instructions="i" * 350)
    assert stub.targets == []
    assert consolidate(context).actions == ("nothing to do: 800 of 900 tokens are used",)
    prepare(context, get_tools=list, model_max_context_tokens=980)
    assert consolidate(context).actions == ("nothing to do: 700 of 880 tokens are used",)


def test_17_diagnostics_and_the_cached_budget_stay() -> None:
    context = noted(3000)
    prepare(context)
    context.add_input_items([pad(300, "later")])
    before = traces(context)
    assert consolidate(context).performed
    assert traces(context) == before


def test_17_a_consolidation_is_refused_while_preparing_and_the_other_way_round() -> None:
    context, stub = filled(700)
    refused: list[str] = []

    async def during() -> None:
        try:
            await (context.prepare() if stub.consolidations else context.consolidate())
        except ContextBusyError as error:
            refused.append(error.operation)

    plugin = ScriptedPlugin(at_content=during)
    context.register_plugin(plugin)
    prepare(context)
    consolidate(context)
    assert refused == ["prepare", "consolidate"]
    plugin.at_content = None
    consolidate(context)


def test_17_11_5_duplicates_are_told() -> None:
    context, _ = filled(700)
    context.add_input_items([*pair("a"), *pair("a")])
    with pytest.raises(InvalidToolProtocolError):
        consolidate(context)


def test_8_4_a_host_change_meanwhile_is_refused_and_survives() -> None:
    class Late(StubStrategy):
        async def consolidate(self, context: Any) -> ConsolidationResult:
            own.add_user_message("New")
            await context.remove_messages([0])
            raise AssertionError

    own, _ = filled(850, strategy=Late())
    with pytest.raises(ContextChangedError):
        consolidate(own)
    assert (len(own.conversation), len(own.current_input)) == (1, 1)


def test_4_2_what_a_strategy_removes_is_told_also_where_it_raises() -> None:
    class Raising(StubStrategy):
        async def consolidate(self, context: Any) -> ConsolidationResult:
            await context.remove_messages([0])
            raise RuntimeError

    context, _ = filled(850, strategy=Raising())
    told = listening(context)
    with pytest.raises(RuntimeError):
        consolidate(context)
    assert told[0][0] == "context:compacted"
    assert told[0][1].log[0].startswith("dropped user message pad")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, ConsolidationResult(False, 0, ())),
        ({"performed": True, "tokensChanged": -5, "actions": ["a"]}, ConsolidationResult(True, -5, ("a",))),
        ({"tokens_changed": "many", "actions": "one"}, ConsolidationResult(False, 0, ("one",))),
    ],
)
def test_12_older_shapes_are_read(answer: Any, expected: ConsolidationResult) -> None:
    class Older:
        name = "older"
        threshold = 0.75

        def compact(self, context: Any, target: int) -> Any:
            return answer

        def consolidate(self, context: Any) -> Any:
            return answer

    context, _ = filled(850, strategy=Older())
    assert consolidate(context) == expected


def test_17_without_a_preparation_the_contexts_own_tools_count() -> None:
    context, _ = stubbed()
    context.tools.register({"name": "n", "description": "d" * 350})
    assert consolidate(context).actions[0].endswith(" of 759 tokens are used")

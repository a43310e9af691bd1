"""The public names of context preparation (25a)."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import time

import playground.preparation
from playground.errors import AIError, PlaygroundError
from playground.preparation import AgentContext, ContextPrepareOptions
from playground.preparation.budget import BudgetBreakdown, PreparationBudget
from tests.preparation import FixedClock
from tests.unit.preparation.calls import prepare

NAMED = {  # by the specification and by the source system's documentation
    "AIError",
    "AgentContext",
    "AlgorithmicStrategy",
    "CompactionContext",
    "ContextBusyError",
    "ContextChangedError",
    "ContextOverflowError",
    "ContextPreparation",
    "ContextPrepareOptions",
    "DefaultStrategy",
    "EVENTS",
    "OverflowBudget",
    "PreparationBudget",
    "PreparedContext",
}
PREPARE = [
    "instructions",
    "get_tools",
    "get_request_options",
    "model_max_context_tokens",
    "signal",
    "summarize",
]


def test_all_names_are_there_once() -> None:
    names = playground.preparation.__all__
    assert [name for name in names if not hasattr(playground.preparation, name)] == []
    assert len(names) == len(set(names))
    assert set(names) >= NAMED


def test_what_an_event_brings_can_be_imported_for_annotations() -> None:
    brought = {kind.__name__ for kind in playground.preparation.EVENTS.values()}
    assert brought <= set(playground.preparation.__all__)


def test_a_context_takes_these_settings_by_name() -> None:
    """25a: and a few more, all with defaults."""
    parameters = inspect.signature(AgentContext).parameters
    assert list(parameters) == [
        "model",
        "max_context_tokens",
        "response_reserve",
        "features",
        "strategy",
        "critical_compaction_threshold",
        "system_prompt",
        "storage",
        "clock",
        "timezone",
        "estimator",
        "date_granularity",
        "agent_id",
        "user_id",
    ]
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters.values())
    needed = [name for name, parameter in parameters.items() if parameter.default is inspect.Parameter.empty]
    assert needed == ["model"]


def test_preparing_takes_the_fields_of_its_options() -> None:
    """1, 25a: keyword-only and optional."""
    own = list(inspect.signature(AgentContext.prepare).parameters.values())[1:]
    assert [parameter.name for parameter in own] == PREPARE
    assert set(PREPARE) == set(ContextPrepareOptions.__slots__)
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in own)
    assert {parameter.default for parameter in own} == {None}


def test_validation_takes_its_policy_by_name() -> None:
    """1, 9: recording is the default."""
    _, request, *policy = inspect.signature(AgentContext.validate_request_budget).parameters.values()
    assert request.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {parameter.name: parameter.default for parameter in policy} == {
        "model_max_context_tokens": None,
        "record_preparation": True,
    }
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in policy)


def test_codes_are_the_source_systems() -> None:
    """24, 8.2, 8.3, 11.5."""
    kinds: list[type[AIError]] = [AIError, *AIError.__subclasses__()]
    assert {kind.__name__: kind.code for kind in kinds if kind.__module__ == AIError.__module__} == {
        "AIError": "AI_ERROR",
        "ContextBusyError": "CONTEXT_BUSY",
        "ContextChangedError": "CONTEXT_CHANGED",
        "ContextOverflowError": "CONTEXT_OVERFLOW",
        "InvalidToolProtocolError": "INVALID_TOOL_PROTOCOL",
    }
    assert issubclass(AIError, PlaygroundError)


def test_budgets_are_recorded_in_camel_case() -> None:
    """6, 25a."""
    fields = {field.alias for field in PreparationBudget.model_fields.values()}
    assert fields == {
        "maxTokens",
        "responseReserve",
        "systemMessageTokens",
        "toolsTokens",
        "conversationTokens",
        "currentInputTokens",
        "totalUsed",
        "available",
        "utilizationPercent",
        "breakdown",
        "providerCountedInputTokens",
    }
    assert {"systemOverhead", "pluginContents", "persistentInstructions"} <= {
        field.alias for field in BudgetBreakdown.model_fields.values()
    }


def test_the_package_loads_no_database_and_no_frames() -> None:
    """Who only prepares requests waits for neither."""
    names = "('sqlalchemy', 'pandas', 'torch')"
    code = f"import sys, playground.preparation; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_context_of_its_own_tells_the_hosts_time_in_milliseconds() -> None:
    """10, 25a: without a clock."""
    context = AgentContext(model="no-such-model")
    before = time.time_ns() // 1_000_000
    prepare(context)
    assert context.last_preparation is not None
    assert before <= context.last_preparation.prepared_at <= time.time_ns() // 1_000_000


def test_the_date_line_tells_minutes_unless_it_is_told_otherwise() -> None:
    """25a."""
    context = AgentContext(model="no-such-model", clock=FixedClock(1_767_268_860_000), timezone="UTC")
    text = prepare(context).input[0]["content"][0]["text"]
    assert re.search(r"\nCurrent date and time: 2026-01-01 12:01 UTC\+00:00\Z", text)


def test_a_coarser_date_line_is_a_setting_of_the_context() -> None:
    """25a: the same bytes for a whole day keep a cached prefix."""
    clock = FixedClock(1_767_268_860_000)
    context = AgentContext(model="no-such-model", clock=clock, timezone="UTC", date_granularity="day")
    first = prepare(context).input[0]["content"][0]["text"]
    assert first.endswith("\nCurrent date: 2026-01-01")
    clock.ms += 60 * 60_000
    assert prepare(context).input[0]["content"][0]["text"] == first

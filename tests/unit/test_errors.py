from __future__ import annotations

import copy
import json
import pickle

import pytest

from playground import errors
from playground.errors import (
    ContextBudgetExceededError,
    DocumentError,
    EmbeddingUnavailableError,
    InvalidInputError,
    InvalidRequestError,
    PlaygroundError,
    ProjectError,
    SourceError,
    SourceTimeoutError,
    StaleRevisionError,
    UnknownModelError,
)

EVERY = (
    PlaygroundError("Broken.", remedy="Mend it."),
    InvalidInputError("Bad.", remedy="Pass good."),
    UnknownModelError("No such model.", model_id="gpt-x", suggestions=["gpt-5"]),
    InvalidRequestError("Not now."),
    ContextBudgetExceededError(required_tokens=1_200, available_tokens=900, phase="overflow-retry"),
    ContextBudgetExceededError("Own words.", remedy="Own.", required_tokens=2, available_tokens=1),
    errors.BlockBudgetError(required_tokens=12, budget_tokens=9),
    SourceError("Down.", source_id="rag"),
    SourceTimeoutError("Late.", source_id="rag"),
    errors.CallCancelledError("Stopped."),
    errors.ExecutionError("The ledger refused."),
    errors.ToolExecutionError("Not yours.", remedy="Read it.", tool="memory_add", reason="forbidden"),
    DocumentError("Unreadable.", name="a.pdf"),
    EmbeddingUnavailableError("Missing.", model="minilm"),
    StaleRevisionError(record_id="r", expected_revision=1, actual_revision=2),
    errors.StoreError("Damaged.", store="memories.db"),
    errors.StoreBusyError("Held.", store="memories.db"),
    ProjectError("Damaged.", project="demo"),
    errors.AIError("No answer."),
    errors.InvalidToolProtocolError("Twice.", namespace="custom", call_id="c", positions=[1, 4]),
    errors.ContextOverflowError(budget=errors.OverflowBudget(950, 900, 50, {"conversation": 950}, ("cut",))),
    errors.ContextOverflowError("Too large.", remedy="Cut.", budget=errors.OverflowBudget(2, 1, 1, {})),
    errors.ContextChangedError("Moved on.", remedy="Retry."),
    errors.ContextBusyError(operation="prepare"),
)


def test_every_public_error_is_tried_here() -> None:
    assert {type(error).__name__ for error in EVERY} == set(errors.__all__) - {
        "OverflowBudget", "ends_execution",
    }  # fmt: skip


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("clone", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_an_error_survives_pickling_and_copying_with_all_it_says(error: PlaygroundError, clone: object) -> None:
    twin = clone(error)  # type: ignore[operator]  # three callables of different types
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert twin.to_json() == error.to_json()
    assert vars(twin) == vars(error)


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_an_error_says_what_is_wrong_and_then_the_remedy(error: PlaygroundError) -> None:
    assert str(error) == f"{error.problem} {error.remedy}".strip()
    assert isinstance(error, PlaygroundError)
    data = error.to_json()
    assert json.loads(json.dumps(data)) == data
    assert (data["code"], data["message"]) == (error.code, str(error))


def test_codes_are_those_that_hosts_match_on() -> None:
    codes = {type(error).__name__: error.code for error in EVERY}
    assert codes["InvalidRequestError"] == "invalid_request"
    assert codes["ContextBudgetExceededError"] == "context_budget_exceeded"
    assert len({code for name, code in codes.items()}) == len(codes)


def test_the_callers_own_mistakes_are_type_errors_and_value_errors() -> None:
    error = InvalidInputError("Bad.")
    assert isinstance(error, TypeError)
    assert isinstance(error, ValueError)
    assert not isinstance(InvalidRequestError("Bad."), TypeError)


def test_r33_a_budget_error_shows_required_and_available_tokens() -> None:
    error = ContextBudgetExceededError(required_tokens=1_200, available_tokens=900)
    assert (error.required_tokens, error.available_tokens, error.phase) == (1_200, 900, "compile")
    assert "1,200" in str(error)
    assert "900" in str(error)
    assert error.remedy
    data = error.to_json()
    assert (data["required_tokens"], data["available_tokens"], data["phase"]) == (1_200, 900, "compile")
    assert not error.retryable


def test_the_logged_form_never_holds_a_cause_or_a_body() -> None:
    error = SourceError("Down.", source_id="rag")
    error.__cause__ = RuntimeError("SECRET")
    assert "SECRET" not in json.dumps(error.to_json())
    model = UnknownModelError("No.", model_id="m", suggestions=["a", "b"])
    assert model.suggestions == ("a", "b")
    assert "suggestions" not in model.to_json()


def test_only_errors_that_a_repetition_can_mend_are_retryable() -> None:
    assert {type(error).__name__ for error in EVERY if error.retryable} == {
        "ContextBusyError", "ContextChangedError", "SourceTimeoutError", "StaleRevisionError", "StoreBusyError",
    }  # fmt: skip


def test_what_a_tool_tells_a_model_is_bounded_though_it_may_quote_the_model() -> None:
    error = errors.ToolExecutionError("x" * 10_000, remedy="Shorten it.", tool="memory_add")
    assert len(error.problem) == errors.TOOL_MESSAGE_LENGTH
    assert str(error).endswith("x… Shorten it.")
    assert str(errors.ToolExecutionError("x" * errors.TOOL_MESSAGE_LENGTH)).endswith("x")
    assert error.code == "tool_execution"
    assert not errors.ends_execution(error)

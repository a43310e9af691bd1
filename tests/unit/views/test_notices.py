"""Errors in words."""

from __future__ import annotations

import pytest

from playground.errors import (
    ContextBudgetExceededError,
    EmbeddingUnavailableError,
    InvalidInputError,
    InvalidRequestError,
    PlaygroundError,
    ProjectError,
    SourceTimeoutError,
    UnknownModelError,
)
from playground.views.links import LinkProblem
from playground.views.notices import Notice, error_notice, failed_sources, link_notice, unexpected_notice
from tests.unit.views.manifests import manifest


def text(notice: Notice) -> str:
    return "".join(part for part, _ in notice.sentence)


def test_mandatory_overflow_shows_required_and_available_tokens_in_bold() -> None:
    error = ContextBudgetExceededError(required_tokens=9_412, available_tokens=8_588)
    notice = error_notice(error, output_tokens=8_000, own_window=200_000, larger_model="gpt-x")
    assert [part for part, bold in notice.sentence if bold] == ["9,412", "8,588"]
    assert [(action.label, action.control, action.value) for action in notice.actions] == [
        ("Use the window of 200,000", "window", None),
        ("Lower the output reserve to 7,100", "output", 7_100),
        ("Use gpt-x", "model", "gpt-x"),
    ]


def test_lowering_the_reserve_is_only_offered_where_it_helps() -> None:
    error = ContextBudgetExceededError(required_tokens=90_000, available_tokens=8_588)
    assert error_notice(error, output_tokens=8_000).actions == ()


def test_an_unknown_model_offers_the_near_names() -> None:
    error = UnknownModelError("No model is called 'x'.", model_id="x", suggestions=("a", "b"))
    assert [action.value for action in error_notice(error).actions] == ["a", "b"]


def test_a_missing_embedding_model_offers_lexical_search_and_is_a_warning() -> None:
    notice = error_notice(EmbeddingUnavailableError("The model cannot be loaded.", model="m"))
    assert notice.level == "warning"
    assert [(action.control, action.value) for action in notice.actions] == [("search", "lexical")]


def test_a_broken_project_offers_the_sample() -> None:
    notice = error_notice(ProjectError("Damaged.", project="p"), default_project="bank-support")
    assert [(action.control, action.value) for action in notice.actions] == [("project", "bank-support")]


@pytest.mark.parametrize(
    "error",
    [
        SourceTimeoutError("Source 'rag' took 5 s.", remedy="Try again.", source_id="rag"),
        InvalidRequestError("The required source 'rag' failed.", remedy="Mend it."),
        InvalidInputError("A ratio of 0.", remedy="Give more."),
        PlaygroundError("Odd.", remedy="Even it."),
    ],
)
def test_every_typed_error_becomes_a_title_and_its_own_words_with_the_remedy(error: PlaygroundError) -> None:
    notice = error_notice(error)
    assert notice.level == "error"
    assert text(notice) == str(error)
    assert error.remedy in text(notice)


def test_a_failed_optional_source_is_a_warning_that_names_who_answered() -> None:
    (notice,) = failed_sources(manifest(failed=("rag",)))
    assert notice.level == "warning"
    assert text(notice) == "unreachable. The result below rests on memory, transcript and skills."
    assert failed_sources(manifest()) == ()


def test_a_link_notice_names_every_value_and_what_is_allowed() -> None:
    problems = [LinkProblem("ratio", "7", "0.5% to 100.0%"), LinkProblem("project", "", "bank-support")]
    notice = link_notice(problems)
    assert notice is not None
    assert text(notice) == (
        "ratio = 7, allowed: 0.5% to 100.0%. project = (empty), allowed: bank-support. "
        "The defaults are used instead."
    )
    assert link_notice([]) is None


def test_an_unexpected_error_shows_nothing_of_itself() -> None:
    assert "log" in text(unexpected_notice())


def test_a_button_that_only_dismisses_is_not_said_to_mend_anything() -> None:
    notice = link_notice([LinkProblem("model", "x", "one of 3")], models=("gpt-4",))
    assert notice is not None
    assert [(action.label, action.mends) for action in notice.actions] == [
        ("Use gpt-4", True),
        ("Dismiss", False),
    ]


def test_half_a_character_in_an_error_is_replaced() -> None:
    assert "half \ufffd" in text(error_notice(InvalidInputError("half \ud83d.")))

"""Checking links."""

from __future__ import annotations

import pytest

from playground.views.links import check_link, sample_titles

CHOICES = {"project": {"bank-support", "deploy-demo"}, "estimator": {"heuristic", "tokenizer"}}
LIMITS = {"output": (0, 128_000)}


def names(**values: str) -> list[str]:
    return [problem.name for problem in check_link(values, choices=CHOICES, limits=LIMITS)]


def test_values_that_controls_can_take_are_no_problem() -> None:
    assert names(project="deploy-demo", ratio="0.3", max_tokens="0", candidates="16", output="8000") == []


@pytest.mark.parametrize("value", ["0", "1.5", "nan", "inf", "-0.2", "", "abc", "1e999"])
def test_a_ratio_outside_its_range_is_named(value: str) -> None:
    (problem,) = check_link({"ratio": value}, choices={}, limits={})
    assert (problem.name, problem.value, problem.allowed) == ("ratio", value, "0.5% to 100.0%")


@pytest.mark.parametrize(
    ("name", "value"), [("output", "-1"), ("output", "1.5"), ("max_tokens", "-64"), ("project", "x")]
)
def test_negative_numbers_fractions_and_unknown_names_are_named(name: str, value: str) -> None:
    assert names(**{name: value}) == [name]


def test_parameters_of_others_are_left_alone() -> None:
    assert names(utm_source="mail", embed="true") == []


def test_a_long_or_strange_value_is_cut_and_cleaned_before_it_is_shown() -> None:
    (problem,) = check_link({"ratio": "a\u202eb\x00" + "z" * 500}, choices={}, limits={})
    assert len(problem.value) == 40
    assert problem.value.startswith("a\ufffdb\ufffd")


def test_what_is_allowed_is_said_in_full_for_short_lists_only() -> None:
    (short,) = check_link({"project": "x"}, choices=CHOICES, limits={})
    assert short.allowed == "bank-support, deploy-demo"
    (long,) = check_link({"model": "x"}, choices={"model": {str(i) for i in range(172)}}, limits={})
    assert long.allowed == "one of 172 known names"


def test_sample_questions_are_shortened_between_words_and_never_shown_twice_the_same() -> None:
    long = "Which of your cards gives the highest cash back on everyday purchases? I do not want to pay a fee."
    titles = sample_titles({"a": long, "b": f"{long} Really.", "c": "Short\n one?", "d": ""})
    assert titles["a"].startswith("Which of your cards")
    assert titles["a"].endswith("… (a)")
    assert long.startswith(titles["a"].removesuffix("… (a)") + " ")
    assert (titles["c"], titles["d"]) == ("Short one?", "d")
    assert len(set(titles.values())) == 4

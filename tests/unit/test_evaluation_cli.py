"""``playground evaluate``: the figures as a table, and as JSON."""

from __future__ import annotations

import re
from functools import partial

import pytest

from playground.evaluation import STRATEGIES, EvaluationReport, evaluate
from playground.evaluation.report import CAVEAT, FIGURES
from playground.evaluation.strategies import DESCRIPTIONS, LABELS
from tests import command_line

run = partial(command_line.run, "evaluate")


def test_the_figures_are_printed_as_a_table_that_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--steps", "20", capsys=capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("20 steps of a scripted task")
    for label in LABELS.values():
        assert label in lines[1]
    for (name, cells), line in zip(evaluate(steps=20).lines(), lines[2:], strict=False):
        assert re.split(r" {2,}", line.strip()) == [name, *cells]
    for name in STRATEGIES:
        assert f"{LABELS[name]}: {DESCRIPTIONS[name]}" in lines
    assert CAVEAT in " ".join(lines)
    assert len(lines) < 40


def test_json_holds_the_same_figures_and_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--steps", "12", "--window", "20000", "--max-tokens", "800", "--model", "gpt-5")
    code, out, err = run("--json", *options, capsys=capsys)
    assert (code, err) == (0, "")
    found = EvaluationReport.from_json(out)
    assert found == evaluate(steps=12, context_window=20_000, max_tokens=800, model_id="gpt-5")
    assert len(found.steps) == 12 * len(STRATEGIES)


def test_a_model_that_does_not_bind_thinking_has_no_figure_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("--steps", "2", "--model", "gpt-5", capsys=capsys)
    name = next(name for name, field, _ in FIGURES if field == "reasoning_prefix_changes")
    line = next(line for line in out.splitlines() if line.startswith(name))
    assert line.split()[-len(STRATEGIES) :] == ["–"] * len(STRATEGIES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--steps", "0"), "74 steps"),
        (("--steps", "75"), "74 steps"),
        (("--window", "100"), "100 tokens"),
        (("--max-tokens", "-5"), "max_tokens"),
        (("--model", ""), "No model is called ''"),
        (("--model", "nope"), "No model is called 'nope'"),
        (("--model", "claude-opus-55"), "Did you mean claude-opus-5"),
        (("--model", "a\x1b[2Jb\u202ec"), "No model is called"),
        (("--steps", "many"), "--steps"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*options, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err
    assert not {"\x1b", "\u202e"} & set(err)


def test_any_spelling_of_a_model_gives_the_rules_of_that_model(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("--json", "--steps", "2", "--model", "anthropic/Claude-Opus-5.5", capsys=capsys)
    assert EvaluationReport.from_json(out).model_id == "claude-opus-5-5"

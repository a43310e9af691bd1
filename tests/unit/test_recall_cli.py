"""``playground recall``: the figures as a table, and as JSON."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from playground.evaluation.recall import measure_recall
from playground.evaluation.recall_report import RecallReport
from playground.workspace import Project, load_sample, save_project
from tests import command_line

run = partial(command_line.run, "recall")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank with three of its questions, as a project folder."""
    bank: Project = load_sample("bank-support")
    return save_project(bank.with_parts(scenarios=bank.scenarios[:3]), tmp_path_factory.mktemp("few") / "bank")


def test_the_figures_are_printed_as_a_table_that_explains_itself(
    few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run("--project", str(few), "--tokens", "4000", "--tokens", "1000", capsys=capsys)
    assert (code, err) == (0, "")
    summary, heads, *lines = out.splitlines()
    assert summary.startswith("Evidence recall of 3 questions")
    assert re.split(r" {2,}", heads.strip()) == ["project", "group", "questions", "search", "1,000", "4,000"]
    assert [re.split(r" {2,}", line.strip())[3] for line in lines[:3]] == ["lexical", "dense", "hybrid"]
    assert "a document counts when one of its chunks did" in " ".join(lines)


def test_json_holds_the_figures_of_what_was_asked_for(few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--mode", "hybrid", "--tokens", "2000", "--fusion", "convex", "--neighbour-weight", "0")
    code, out, err = run("--json", "--project", str(few), *options, capsys=capsys)
    assert (code, err) == (0, "")
    bank = load_sample("bank-support")
    expected = measure_recall(
        [bank.with_parts(name="bank", scenarios=bank.scenarios[:3])],
        modes=["hybrid"],
        token_limits=[2_000],
        fusion="convex",
        neighbour_weight=0,
    )
    assert RecallReport.from_json(out) == expected


def test_several_projects_are_measured_in_the_order_given_and_each_once(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = load_sample("bank-support")
    other = save_project(bank.with_parts(scenarios=bank.scenarios[3:4]), tmp_path / "other")
    named = ("--project", str(other), "--project", str(few), "--project", str(other))
    _, out, _ = run("--json", *named, "--mode", "lexical", "--tokens", "500", capsys=capsys)
    assert [row.project for row in RecallReport.from_json(out).groups] == ["other", "bank"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--project", "deploy-demo"), "no question with evidence"),
        (("--project", "nowhere"), "nowhere"),
        (("--tokens", "0"), "token limits"),
        (("--tokens", "many"), "--tokens"),
        (("--mode", "sparse"), "--mode"),
        (("--fusion", "sum"), "--fusion"),
        (("--neighbour-weight", "-1"), "neighbour_weight"),
        (("--neighbour-weight", "nan"), "neighbour_weight"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    options: tuple[str, ...], words: str, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = () if options[0] == "--project" else ("--project", str(few))
    code, out, err = run(*named, *options, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err

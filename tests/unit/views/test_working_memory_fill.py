"""The order of filling with its cut line, on real compiles and on hand-made manifests."""

from __future__ import annotations

from typing import Any

import pytest

from playground.compiler.compile import compile_context
from playground.compiler.values import ContextPackage
from playground.views.record_text import record_texts
from playground.views.working_memory_fill import FillView, fill_view
from playground.workspace import RecordLabel
from tests.unit.views.manifests import entry, manifest
from tests.unit.views.memories import filled


def compiled(**budget: Any) -> ContextPackage:
    return compile_context(
        results=[], messages=[], input_tokens=100_000, used_tokens=0, working_memory=filled(), budget=budget
    )


def view_of(package: ContextPackage) -> FillView:
    texts = record_texts((), filled(), lambda *_: RecordLabel())
    return fill_view(package.manifest, texts)


def sentence(view: FillView) -> str:
    return "".join(text for text, _ in view.sentence)


def test_everything_in_has_a_running_total_and_no_cut_line() -> None:
    package = compiled()
    view = view_of(package)
    tokens = [entry.tokens for entry in package.manifest.entries]
    assert [row.total for row in view.rows] == [str(sum(tokens[: at + 1])) for at in range(len(tokens))]
    assert view.cut is None
    assert sentence(view) == "All 9 lines got in."
    assert view.total == f"{sum(tokens)} of 2,048 tokens"
    assert max(row.width for row in view.rows) == 1
    assert [row.kind for row in view.rows] == [
        "goal", "constraint", "task", "task", "decision", "question", "attempt", "hypothesis", "observation",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [0, 40, 60, 80, 100, 130])
def test_the_cut_line_stands_before_the_first_line_that_did_not_get_in(size: int) -> None:
    package = compiled(working_memory_tokens=size)
    view, entries = view_of(package), package.manifest.entries
    assert view.cut is not None
    assert all(row.selected for row in view.rows[: view.cut])
    assert not view.rows[view.cut].selected
    inside = sum(entry.tokens for entry in entries if entry.selected)
    fits = f"{inside} of {size} tokens"
    assert view.total == (fits if inside <= size else f"{inside} tokens, size {size}")
    before = sum(entry.tokens for entry in entries[: view.cut])
    short = entries[view.cut].tokens - max(0, size - before)
    assert view.rows[view.cut].total == f"{short} short"
    assert view.cut_label == f"size {size}"


def test_a_smaller_line_below_the_cut_line_is_said_to_have_got_in() -> None:
    rows = [("decision/d", 40, "ranked"), ("question/q", 90, "budget"), ("observation/o", 12, "ranked")]
    lines = [entry("working-memory", name, tokens, reason, score=None) for name, tokens, reason in rows]  # type: ignore[arg-type]
    view = fill_view(manifest(*lines, working_memory_tokens=100), {})
    assert view.cut == 1
    assert [row.total for row in view.rows] == ["40", "30 short", "52"]
    assert sentence(view) == (
        "2 of 3 lines got in. The first below the cut line needs 90 tokens, 60 were left. "
        "Below it a smaller line still got in: each line is taken if it fits what is left."
    )


def test_what_the_whole_budget_stopped_is_not_laid_on_the_size() -> None:
    lines = [entry("working-memory", f"observation/{at}", 50, "budget", score=None) for at in range(2)]
    view = fill_view(manifest(*lines, working_memory_tokens=300), {})
    assert [row.total for row in view.rows] == ["no budget", "no budget"]
    assert "fits the size, but the budget had too little left" in sentence(view)
    small = fill_view(manifest(*lines, working_memory_tokens=300, context_tokens=40), {})
    assert small.cut_label == "budget 40"
    assert small.rows[0].total == "10 short"


def test_mandatory_lines_above_the_size_are_explained() -> None:
    view = view_of(compiled(working_memory_tokens=10))
    assert "tokens and always get in, above the 10 that there is for all." in sentence(view)


def test_an_empty_memory_says_so() -> None:
    view = fill_view(manifest(entry("rag", "1", 5, "ranked")), {})
    assert view.rows == ()
    assert "empty" in sentence(view)

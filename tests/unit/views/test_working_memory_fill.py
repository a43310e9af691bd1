"""The order of filling with its cut line, on real compiles and on hand-made manifests."""

from __future__ import annotations

from typing import Any

import pytest

from playground.compiler.compile import compile_offers
from playground.compiler.explain import PassTurn, explain, line_turns
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import ContextPackage
from playground.tokens import TokenEstimator
from playground.views.record_text import record_texts
from playground.views.working_memory_fill import FillView, fill_view
from playground.working_memory import WorkingMemorySnapshot, create_working_memory
from playground.workspace import RecordLabel
from tests.unit.views.manifests import entry, manifest
from tests.unit.views.memories import NOON, filled, patched


def compiled(
    *, memory: WorkingMemorySnapshot | None = None, estimator: TokenEstimator | None = None, **budget: Any
) -> tuple[Offers, ContextPackage]:
    offers = prepare(
        CompileInputs(
            results=[], messages=[], input_tokens=8_000, used_tokens=0,
            working_memory=memory or filled(), estimator=estimator or TokenEstimator(),
        )
    )  # fmt: skip
    return offers, compile_offers(offers, budget)


def view_of(offers: Offers, package: ContextPackage) -> FillView:
    texts = record_texts((), filled(), lambda *_: RecordLabel())
    return fill_view(package.manifest, line_turns(offers, package), texts)


def turn(*, left: int, short_by: int = 0) -> PassTurn:
    return PassTurn(room=100, left=left, short_by=short_by, before=())


def sentence(view: FillView) -> str:
    return "".join(text for text, _ in view.sentence)


def test_everything_in_has_a_running_total_and_no_cut_line() -> None:
    offers, package = compiled()
    view = view_of(offers, package)
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
    offers, package = compiled(working_memory_tokens=size)
    view, entries = view_of(offers, package), package.manifest.entries
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
    turns = [turn(left=100), turn(left=60, short_by=30), turn(left=60)]
    view = fill_view(manifest(*lines, working_memory_tokens=100), turns, {})
    assert view.cut == 1
    assert [row.total for row in view.rows] == ["40", "30 short", "52"]
    assert sentence(view) == (
        "2 of 3 lines got in. The first below the cut line needs 90 tokens, 60 were left. "
        "Below it a smaller line still got in: each line is taken if it fits what is left."
    )


@pytest.mark.parametrize("limit", range(0, 330, 6))
@pytest.mark.parametrize("size", [100, 2_048])
def test_what_a_line_is_short_of_is_what_its_explanation_says(limit: int, size: int) -> None:
    snapshot = create_working_memory(scope="case", now=NOON)
    seen = [{"op": "add-observation", "text": f"{at} " + "seen " * (12 + 20 * (at == 1))} for at in range(5)]
    snapshot, _ = patched(snapshot, *seen)
    offers, package = compiled(memory=snapshot, max_tokens=limit, working_memory_tokens=size)
    view = view_of(offers, package)
    found = [explain(offers, package, number) for number in range(5)]
    missing = [f"{one.short_by} short" for one in found if not one.selected]
    assert [row.total for row in view.rows if not row.selected] == missing
    assert all(one.short_by for one in found if not one.selected)
    if view.cut is not None:
        allowance = found[view.cut].allowance
        assert allowance is not None
        assert f"needs {found[view.cut].tokens} tokens, {allowance.left} were left" in sentence(view)


def test_what_the_whole_budget_stopped_is_not_laid_on_the_size() -> None:
    _, package = compiled()
    mandatory = sum(entry.tokens for entry in package.manifest.entries if entry.reason == "mandatory")
    whole = package.manifest.budget.required_tokens
    assert whole > mandatory  # with its frame
    view = view_of(*compiled(max_tokens=whole + 1, working_memory_tokens=mandatory + 20))
    assert view.cut == 3
    assert view.cut_label == f"budget {whole + 1}"
    assert "tokens, 1 were left" in sentence(view)
    assert view_of(*compiled(max_tokens=whole + 30, working_memory_tokens=mandatory + 1)).cut_label == (
        f"size {mandatory + 1}"
    )


def test_a_line_that_was_admitted_and_dropped_again_says_so() -> None:
    def growing(messages: Any) -> float:
        return float(sum(len(str(message.content)) ** 1.2 / 4 for message in messages))

    estimator = TokenEstimator(growing)
    _, package = compiled(estimator=estimator, ratio=1, max_tokens=8_000, working_memory_tokens=8_000)
    pieces = sum(entry.tokens for entry in package.manifest.entries if entry.reason != "mandatory")
    limit = package.manifest.budget.required_tokens + pieces
    view = view_of(*compiled(estimator=estimator, ratio=1, max_tokens=limit, working_memory_tokens=8_000))
    assert view.cut is not None
    assert view.rows[view.cut].total == "dropped again"
    assert "was admitted and dropped again" in sentence(view)


def test_mandatory_lines_above_the_size_are_explained() -> None:
    view = view_of(*compiled(working_memory_tokens=10))
    assert "tokens and always get in, above the 10 that there is for all." in sentence(view)


def test_an_empty_memory_says_so() -> None:
    view = fill_view(manifest(entry("rag", "1", 5, "ranked")), (), {})
    assert view.rows == ()
    assert "empty" in sentence(view)

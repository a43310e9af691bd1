"""An evaluation as bars and cells: positions, sums and words."""

from __future__ import annotations

import pytest

from playground.evaluation import STRATEGIES, EvaluationReport, evaluate
from playground.views.evaluation import WHOLE, grid_view, steps_view


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return evaluate(steps=20)


def test_bars_stand_side_by_side_and_never_leave_the_window(report: EvaluationReport) -> None:
    view = steps_view(report, "compiler")
    assert len(view.bars) == 20
    assert view.bars[0].start == 0
    assert view.bars[-1].end == pytest.approx(1)
    for bar, following in zip(view.bars, view.bars[1:], strict=False):
        assert bar.end == pytest.approx(following.start)
    assert all(0 <= bar.unchanged <= bar.total <= 1 for bar in view.bars)


def test_a_bar_tells_its_step_in_words(report: EvaluationReport) -> None:
    first, *_ = steps_view(report, "compiler").bars
    row = next(step for step in report.steps if step.strategy == "compiler")
    assert first.description == (
        f"step 0, stock; {row.request_tokens:,} tokens, 0 of them as before; 2 of 2 needed records in sight; "
        "sources asked"
    )
    shortened = [bar for bar in steps_view(report, "compiler").bars if bar.shortened]
    assert [bar.description.endswith("; history shortened") for bar in shortened] == [True]


def test_each_part_of_the_work_is_named_where_it_begins(report: EvaluationReport) -> None:
    view = steps_view(report, "system-message")
    assert [name for _, name in view.subtasks] == ["stock", "schema", "copy", "credentials"]
    starts = {bar.start for bar in view.bars}
    assert all(at in starts for at, _ in view.subtasks)
    assert (view.title, view.window) == ("System message: requests", "32,000")


def test_the_last_column_sums_up_what_the_report_says(report: EvaluationReport) -> None:
    for preserved, field in (("records", "retrieval_preserved"), ("decisions", "decisions_preserved")):
        view = grid_view(report, preserved)  # type: ignore[arg-type]
        assert view.columns[-1] == WHOLE
        assert len(view.cells) == len(STRATEGIES) * len(view.columns)
        for row, strategy in enumerate(STRATEGIES):
            (cell,) = [c for c in view.cells if (c.row, c.column) == (row, len(view.columns) - 1)]
            share = getattr(report.figures(strategy), field)
            assert cell.share == pytest.approx(share)
            assert cell.text == str(int(100 * share))


def test_percent_are_rounded_down_so_that_only_everything_is_100(report: EvaluationReport) -> None:
    for cell in grid_view(report, "records").cells:
        assert (cell.text == "100") == (cell.share == 1)


def test_a_cell_of_nothing_is_a_dash(report: EvaluationReport) -> None:
    bare = report.model_copy(
        update={
            "steps": tuple(step.model_copy(update={"needed": 0, "needed_visible": 0}) for step in report.steps)
        }
    )
    assert {(cell.share, cell.text) for cell in grid_view(bare, "records").cells} == {(None, "–")}

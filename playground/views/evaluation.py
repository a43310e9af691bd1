"""An evaluation step by step and subtask by subtask, as bars and cells.

Positions run from 0 to 1: steps from left to right, tokens from the bottom to the model's window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from playground.evaluation.report import EvaluationReport, StepFigures
from playground.evaluation.strategies import LABELS, StrategyName
from playground.views.words import count, plural

__all__ = ["GridCell", "GridView", "Preserved", "StepBar", "StepsView", "grid_view", "steps_view"]

Preserved = Literal["records", "decisions"]
_FIELDS: dict[Preserved, tuple[str, str]] = {
    "records": ("needed_visible", "needed"),
    "decisions": ("kept_visible", "kept"),
}
_NOUNS: dict[Preserved, str] = {"records": "needed records", "decisions": "goal, rules, decisions and attempts"}
WHOLE = "all"  # head of the column that sums up


@dataclass(frozen=True, slots=True)
class StepBar:
    """One request: how much of it repeats the one before, and how much is new."""

    start: float
    end: float
    unchanged: float
    total: float
    retrieved: bool
    shortened: bool
    description: str


@dataclass(frozen=True, slots=True)
class StepsView:
    """The requests of one strategy."""

    title: str
    caption: str
    bars: tuple[StepBar, ...]
    subtasks: tuple[tuple[float, str], ...]
    """Where each part of the work begins, and its name."""
    window: str
    """The model's window, in tokens, as it is written."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """A share of things in sight: ``text`` is whole percent, rounded down."""

    row: int
    column: int
    share: float | None
    text: str
    description: str


@dataclass(frozen=True, slots=True)
class GridView:
    """Strategies by subtasks."""

    title: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[GridCell, ...]


def steps_view(report: EvaluationReport, strategy: StrategyName) -> StepsView:
    """Return the requests of one strategy, step by step."""
    steps = [step for step in report.steps if step.strategy == strategy]
    width = 1 / max(1, len(steps))
    bars = tuple(
        StepBar(
            start=at * width,
            end=(at + 1) * width,
            unchanged=step.unchanged_tokens / report.context_window,
            total=step.request_tokens / report.context_window,
            retrieved=step.retrieved,
            shortened=step.shortened,
            description=_described(step),
        )
        for at, step in enumerate(steps)
    )
    firsts = [at for at, step in enumerate(steps) if at == 0 or steps[at - 1].subtask != step.subtask]
    return StepsView(
        title=f"{LABELS[strategy]}: requests",
        caption="tokens: grey repeats the start of the request before, blue is new; ticks ask the sources, "
        "red ones follow a shortening",
        bars=bars,
        subtasks=tuple((at * width, steps[at].subtask) for at in firsts),
        window=count(report.context_window),
    )


def grid_view(report: EvaluationReport, preserved: Preserved) -> GridView:
    """Return how much of what counts each strategy keeps in sight, subtask by subtask."""
    subtasks = tuple(dict.fromkeys(step.subtask for step in report.steps))
    strategies = tuple(row.strategy for row in report.strategies)
    cells = []
    for row, strategy in enumerate(strategies):
        own = [step for step in report.steps if step.strategy == strategy]
        for column, name in enumerate((*subtasks, WHOLE)):
            steps = own if column == len(subtasks) else [step for step in own if step.subtask == name]
            cells.append(_cell(row, column, f"{LABELS[strategy]}, {name}", steps, preserved))
    return GridView(
        title=f"In sight: {_NOUNS[preserved]}",
        caption="percent of all pairs of a step and a thing that counts in it",
        rows=tuple(LABELS[strategy] for strategy in strategies),
        columns=(*subtasks, WHOLE),
        cells=tuple(cells),
    )


def _described(step: StepFigures) -> str:
    parts = [
        f"step {step.step}, {step.subtask}",
        f"{plural(step.request_tokens, 'token')}, {count(step.unchanged_tokens)} of them as before",
        f"{step.needed_visible} of {plural(step.needed, 'needed record')} in sight",
    ]
    if step.retrieved:
        parts.append("sources asked")
    if step.shortened:
        parts.append("history shortened")
    return "; ".join(parts)


def _cell(row: int, column: int, name: str, steps: Sequence[StepFigures], preserved: Preserved) -> GridCell:
    seen, whole = (sum(getattr(step, field) for step in steps) for field in _FIELDS[preserved])
    return GridCell(
        row=row,
        column=column,
        share=seen / whole if whole else None,
        text=f"{100 * seen // whole}" if whole else "–",
        description=f"{name}: {count(seen)} of {count(whole)} in sight",
    )

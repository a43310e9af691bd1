"""The figures of an evaluation, as values: of each strategy, and of each of its steps."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from playground.evaluation.strategies import StrategyName
from playground.values import RecordedValue

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CAVEAT", "EvaluationReport", "StepFigures", "StrategyFigures"]

CAVEAT = (
    "Figures of one scripted task with a hashing embedder, summaries that are cut and no model at all: they "
    "show what each strategy keeps in sight, and claim nothing about answers, prices or savings of real models."
)
NONE = "–"


class StepFigures(RecordedValue):
    """One step under one strategy."""

    strategy: StrategyName
    """The strategy."""
    step: int
    """The model step, from 0."""
    subtask: str
    """The part of the work it belongs to."""
    request_tokens: int
    """Estimate of the whole request."""
    added_tokens: int
    """Of them, what the strategy added in this step."""
    unchanged_tokens: int
    """Of them, those in messages that begin the request before too: what a prompt cache can reuse."""
    retrieved: bool
    """Whether sources were asked."""
    shortened: bool
    """Whether the history had been summarised or cut just before."""
    needed: int
    """Records that the step needs."""
    needed_visible: int
    """Of them, those whose newest text stands in the request."""
    outdated: int
    """Records that were revised or forgotten so far."""
    outdated_visible: int
    """Of them, those that the request shows in an old text with no newer one after it."""
    forgotten_visible: bool
    """Whether a forgotten text stands in the request."""
    kept: int
    """The goal, the rules, the decisions in force and the failed attempts so far."""
    kept_visible: int
    """Of them, those that stand in the request."""
    reverted: int
    """Decisions that were taken back so far."""
    reverted_as_current: int
    """Of them, those that the request shows as in force."""
    cache_prefix_changed: bool
    """Whether the request no longer begins with what the one before meant to keep."""
    reasoning_prefix_changed: bool
    """Whether a replayed thinking part no longer stands behind the bytes it was made after."""


class StrategyFigures(RecordedValue):
    """One strategy over the whole play; shares are of all pairs of a step and a thing, ``None`` for no pair."""

    strategy: StrategyName
    """The strategy."""
    label: str
    """What people call it."""
    description: str
    """What it does, in one sentence."""
    retrieval_preserved: float | None = None
    """Of the records that steps need, the share whose newest text stands in the request."""
    outdated_shown: float | None = None
    """Of the records revised or forgotten by then, the share shown in an old text alone."""
    forgotten_steps: int
    """Steps whose request holds a forgotten text."""
    decisions_preserved: float | None = None
    """Of goal, rules, decisions in force and failed attempts, the share that stands in the request."""
    reverted_shown: float | None = None
    """Of the decisions taken back by then, the share shown as in force."""
    mean_request_tokens: float
    """Tokens of a request."""
    mean_added_tokens: float
    """Tokens that the strategy adds in a step."""
    unchanged_share: float
    """Share of all request tokens in messages that begin the request before too."""
    passes: int
    """Steps in which sources were asked."""
    shortened_steps: int
    """Steps before which the history was summarised or cut."""
    cache_prefix_changes: int
    """Steps whose request no longer begins with what the one before meant to keep."""
    reasoning_prefix_changes: int | None = None
    """Steps that move a replayed thinking part; ``None`` on a model that does not mind."""


class EvaluationReport(RecordedValue):
    """What an evaluation found, format version 1."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    caveat: str = CAVEAT
    """What the figures do not say."""
    model_id: str
    """The model whose rules of placement hold; it is not called."""
    context_window: int
    """Its window, in tokens."""
    max_tokens: int
    """What a strategy may add at once, in tokens."""
    played_steps: int
    """Model steps of the play."""
    strategies: tuple[StrategyFigures, ...]
    """One row a strategy."""
    steps: tuple[StepFigures, ...]
    """One row a strategy and step, in that order."""

    def figures(self, strategy: StrategyName) -> StrategyFigures:
        """Return one strategy's row."""
        return next(row for row in self.strategies if row.strategy == strategy)

    @property
    def summary(self) -> str:
        """What was played, in one line."""
        return (
            f"{self.played_steps} steps of a scripted task, placed as for {self.model_id}, window "
            f"{self.context_window:,}, up to {self.max_tokens:,} tokens added at once"
        )

    def __repr__(self) -> str:
        return f"EvaluationReport({self.summary})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row a strategy, columns as the fields of ``StrategyFigures``."""
        import pandas as pd  # noqa: PLC0415  # the command must not wait for pandas

        return pd.DataFrame([row.model_dump() for row in self.strategies])

    def to_step_frame(self) -> pd.DataFrame:
        """Return one row a strategy and step, columns as the fields of ``StepFigures``."""
        import pandas as pd  # noqa: PLC0415  # the command must not wait for pandas

        return pd.DataFrame([row.model_dump() for row in self.steps])

    def lines(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each figure's name and, for each strategy, its number as people read it."""
        return tuple(
            (name, tuple(write(getattr(row, field)) for row in self.strategies))
            for name, field, write in FIGURES
        )

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(row.label)}</th>" for row in self.strategies)
        body = "".join(
            f"<tr><th>{html.escape(name)}</th>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
            for name, cells in self.lines()
        )
        return (
            f"<table><caption>{html.escape(self.summary)}</caption><thead><tr><th></th>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table><p>{html.escape(self.caveat)}</p>"
        )


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def _count(number: float | None) -> str:
    return NONE if number is None else f"{number:,.0f}"


FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("Needed records in sight", "retrieval_preserved", _percent),
    ("Outdated records in sight", "outdated_shown", _percent),
    ("Steps with a forgotten text", "forgotten_steps", _count),
    ("Goal, rules, decisions in sight", "decisions_preserved", _percent),
    ("Reverted decisions as in force", "reverted_shown", _percent),
    ("Tokens of a request", "mean_request_tokens", _count),
    ("Tokens added in a step", "mean_added_tokens", _count),
    ("Tokens of an unchanged prefix", "unchanged_share", _percent),
    ("Steps that ask the sources", "passes", _count),
    ("Steps after a shortening", "shortened_steps", _count),
    ("Steps with a changed prefix", "cache_prefix_changes", _count),
    ("Steps that move old thinking", "reasoning_prefix_changes", _count),
)
"""Name, field and writing of each figure, in the order in which they are shown."""

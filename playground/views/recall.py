"""Evidence recall as curves: which share of what answers gets in at how many tokens, one curve a search.

Pure. Positions run from 0 to 1: from the smallest token limit to the largest on a logarithmic scale, and from
nothing found to everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log

from playground.evaluation.recall_report import GroupRecall, RecallReport
from playground.retrieval.search import SearchMode
from playground.views.direction import without_overrides
from playground.views.record_text import title_line
from playground.views.words import count, percent, plural

__all__ = ["RecallCurve", "RecallPoint", "RecallTick", "RecallView", "recall_view", "recall_views"]

TICK_GAP = 0.12  # of the width; the numbers of two limits need that much


@dataclass(frozen=True, slots=True)
class RecallPoint:
    """The recall at one token limit.

    Attributes:
        x: Where the limit stands.
        y: The recall.
        valley: Whether fewer tokens got more in.
        description: All of this in words.
    """

    x: float
    y: float
    valley: bool
    description: str


@dataclass(frozen=True, slots=True)
class RecallCurve:
    """The recall of one search, by ascending limit."""

    mode: SearchMode
    points: tuple[RecallPoint, ...]
    """At least one."""


@dataclass(frozen=True, slots=True)
class RecallTick:
    """A token limit: where it stands, and its number, which is empty where there is no room for it."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class RecallView:
    """The curves of one group of questions, or of the mean of several groups."""

    title: str
    caption: str
    ticks: tuple[RecallTick, ...]
    curves: tuple[RecallCurve, ...]
    """In the report's order; none when all that is searched fits everywhere."""


def recall_view(report: RecallReport, project: str | None = None) -> RecallView:
    """Return the curves that sum up a project: of the mean of its groups, or of its last group without one.

    Args:
        report: What was measured.
        project: The project's name; the report's first by default.
    """
    name = report.groups[0].project if project is None else project
    *_, last = (view for owner, view in _views(report) if owner == name)
    return last


def recall_views(report: RecallReport) -> tuple[RecallView, ...]:
    """Return the curves of every group, and after a project's groups those of their mean."""
    return tuple(view for _, view in _views(report))


def _views(report: RecallReport) -> Iterator[tuple[str, RecallView]]:
    ticks = _ticks(report.token_limits)
    several = len({row.project for row in report.groups}) > 1
    for (project, group), found in groupby(report.with_means(), key=lambda row: (row.project, row.group)):
        rows = tuple(found)
        names = [project, group] if several or not group else [group]
        yield (
            project,
            RecallView(
                title=": ".join(without_overrides(title_line(name)) for name in names if name),
                caption=_caption(rows, report.token_limits),
                ticks=ticks,
                curves=tuple(_curves(rows, report.token_limits)),
            ),
        )


def _curves(rows: Sequence[GroupRecall], limits: Sequence[int]) -> Iterator[RecallCurve]:
    for row in rows:
        measured = [at for at, share in enumerate(row.recall) if share is not None]
        if measured:
            yield RecallCurve(row.mode, tuple(_point(row, limits, at) for at in measured))


def _point(row: GroupRecall, limits: Sequence[int], at: int) -> RecallPoint:
    share = row.recall[at] or 0.0
    valley = any(less is not None and less > share for less in row.recall[:at])
    facts = [
        f"{row.mode}, {plural(limits[at], 'token')}: {percent(share)} of the evidence",
        "less than with fewer tokens" if valley else "",
        f"{plural(row.searched_by_words, 'question')} searched by words" if row.searched_by_words else "",
    ]
    return RecallPoint(_place(limits[at], limits), share, valley, "; ".join(filter(None, facts)))


def _caption(rows: Sequence[GroupRecall], limits: Sequence[int]) -> str:
    asked = plural(rows[0].questions, "question")
    fits = [limit for limit, share in zip(limits, rows[0].recall, strict=True) if share is None]
    return f"{asked}; all they search fits in {plural(fits[0], 'token')}" if fits else asked


def _ticks(limits: Sequence[int]) -> tuple[RecallTick, ...]:
    ticks: list[RecallTick] = []
    for limit in reversed(limits):  # the largest says most, so it keeps its number
        x = _place(limit, limits)
        taken = any(tick.text and tick.x - x < TICK_GAP for tick in ticks)
        ticks.append(RecallTick(x, "" if taken else count(limit)))
    return tuple(reversed(ticks))


def _place(limit: int, limits: Sequence[int]) -> float:
    span = log(limits[-1] / limits[0])
    return log(limit / limits[0]) / span if span else 0.5

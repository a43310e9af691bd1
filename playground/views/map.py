"""A project's records and the question as points in a plane, by their vectors.

Pure. Everything that has a vector has the same weight, the question too; the order of the records does not
matter. Coordinates fit a box of ``ASPECT`` by 1 and have one scale, so that distances are true both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from playground.compiler.manifest import ContextManifest
from playground.compiler.values import KINDS, Kind, SourceResult
from playground.retrieval.index import Vectors
from playground.retrieval.projection import Plane, Points, principal_plane
from playground.views.direction import isolated, without_overrides
from playground.views.map_records import MapRecord, chosen_of, map_records, ranks_of, selected_of
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.record_text import title_line
from playground.views.words import KIND_LABELS, KIND_NOUNS, Sentence, count, joined, marked, percent, plural
from playground.workspace import Project

__all__ = ["ASPECT", "MapKind", "MapPoint", "MapView", "map_view"]

ASPECT = 1.5
"""Width of the box by its height."""
POINTS = 2_000  # drawn at most; each is an element of the page
RANKS = 3  # of each source, drawn beside their points
MARGIN = 0.04  # of the box, free on every side for marks and ranks
# A document is as many points as it has chunks.
_LABELS: dict[Kind, str] = {"rag": "Chunks of documents"}
_NOUNS: dict[Kind, str] = {"rag": "chunk"}
DIGITS = 4  # of a coordinate; a thousandth of the box is below a pixel


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One record, or the question.

    Attributes:
        key: Which record; empty for the question.
        slot: Its colour.
        x: From 0 to ``ASPECT``.
        y: From 0 to 1, upwards.
        title: One line.
        rank: Its place among what its source offers, from 1; 0 where it is not offered.
        selected: Whether it is in the request.
        description: All of this in words.
    """

    key: str
    slot: Slot
    x: float
    y: float
    title: str
    rank: int
    selected: bool
    description: str

    @property
    def label(self) -> str:
        """The rank, where it is drawn; else empty."""
        return str(self.rank) if 0 < self.rank <= RANKS else ""


@dataclass(frozen=True, slots=True)
class MapKind:
    """One kind in numbers: a line of the legend."""

    slot: Slot
    label: str
    drawn: str
    offered: str
    selected: str


@dataclass(frozen=True, slots=True)
class MapView:
    """The whole map."""

    points: tuple[MapPoint, ...]
    """By kind and id."""
    question: MapPoint | None
    kinds: tuple[MapKind, ...]
    total: str
    sentence: Sentence
    """What the picture shows, and how much of the differences."""
    notes: tuple[str, ...]
    """What is not on it, and why."""

    def listed(self, marked: str | None) -> tuple[MapPoint, ...]:
        """Return the points whose rank is drawn, by kind and rank, then the marked one if it is another."""
        best = [point for point in self.points if point.label]
        best.sort(key=lambda point: (KINDS.index(point.slot), point.rank))
        return (*best, *(point for point in self.points if point.key == marked and not point.label))


def map_view(
    project: Project,
    *,
    question: str = "",
    question_vector: Vectors | None = None,
    results: Sequence[SourceResult] = (),
    manifest: ContextManifest | None = None,
    most: int = POINTS,
    project_onto_plane: Callable[[Vectors], Plane] = principal_plane,
) -> MapView:
    """Return the map of everything that has a vector in the project. O(n d min(n, d)) for n points drawn.

    Args:
        project: Whose records they are; its table holds the vectors.
        question: What is asked; blank for nothing.
        question_vector: ``(d,)``; by default what the project has for the question.
        results: What the sources offered, best first.
        manifest: What became of it.
        most: Points that are drawn at most; all that are offered, and an even selection of the others.
        project_onto_plane: ``principal_plane``, or the same with a memory.
    """
    records = sorted(map_records(project), key=lambda record: (KINDS.index(record.kind), record.record_id))
    known, rows = project.vectors.known([record.text for record in records])
    ranks = ranks_of(results)
    chosen = chosen_of([ranks.get((records[at].kind, records[at].record_id), 0) for at in known], most)
    asked, why = _question_row(project, question, question_vector)
    shown = rows[chosen] if asked is None else np.concatenate([rows[chosen], asked.reshape(1, -1)])
    plane = project_onto_plane(shown)
    places = _boxed(plane.points)
    selected = selected_of(manifest)
    points = tuple(
        _point(records[known[at]], place, ranks, selected)
        for at, place in zip(chosen, places, strict=False)  # the question is the last place
    )
    return MapView(
        points=points,
        question=None if asked is None else _question_point(project, question, places[-1]),
        kinds=_kinds(records, set(known), points),
        total=plural(len(points), "record") + ("" if asked is None else " and the question"),
        sentence=_sentence(len(shown), plane.shares),
        notes=tuple(filter(None, [why, _left_out(len(known), len(points)), _missing(records, known)])),
    )


def _question_row(project: Project, question: str, vector: Vectors | None) -> tuple[Vectors | None, str]:
    """Return the question's vector, or why there is none."""
    if not question.strip():
        return None, "There is no question to be shown."
    if vector is None:
        known, rows = project.vectors.known([project.query(question)])
        vector = rows[0] if known else None
    if vector is None or vector.shape != (project.vectors.dims,):
        return None, (
            "The question is not on the map: it has no vector yet, and the map loads no model. Ask it with "
            "search by meaning, and it is."
        )
    return vector, ""


def _boxed(points: Points) -> list[tuple[float, float]]:
    """Return points in the middle of the box, as large as it allows, in one scale."""
    if not len(points):
        return []
    low, high = points.min(axis=0), points.max(axis=0)
    spans = (high - low) / np.array([ASPECT, 1.0])
    scale = (1 - 2 * MARGIN) / float(spans.max()) if spans.max() > 0 else 1.0
    placed = (points - (low + high) / 2) * scale + np.array([ASPECT / 2, 0.5])
    return [(round(float(x), DIGITS), round(float(y), DIGITS)) for x, y in placed]


def _point(
    record: MapRecord,
    place: tuple[float, float],
    ranks: Mapping[tuple[str, str], int],
    selected: frozenset[tuple[str, str]],
) -> MapPoint:
    pair = (record.kind, record.record_id)
    rank, taken = ranks.get(pair, 0), pair in selected
    title = _title(record.title) or without_overrides(record.record_id)
    facts = [f"number {rank} of its source" if rank else "not offered", "in the request" if taken else ""]
    return MapPoint(
        key=record_key(record.kind, record.record_id),
        slot=record.kind,
        x=place[0],
        y=place[1],
        title=title,
        rank=rank,
        selected=taken,
        description=f"{KIND_LABELS[record.kind]}: {isolated(title)} ({', '.join(filter(None, facts))})",
    )


def _question_point(project: Project, question: str, place: tuple[float, float]) -> MapPoint:
    title = _title(project.query(question))
    return MapPoint("", "ink", place[0], place[1], title, 0, False, f"The question: {isolated(title)}")


def _title(text: str) -> str:
    return without_overrides(title_line(text))


def _kinds(records: Sequence[MapRecord], known: set[int], points: Sequence[MapPoint]) -> tuple[MapKind, ...]:
    missing = Counter(record.kind for at, record in enumerate(records) if at not in known)
    drawn = Counter(point.slot for point in points)
    offered = Counter(point.slot for point in points if point.rank)
    taken = Counter(point.slot for point in points if point.selected)
    return tuple(
        MapKind(
            slot=kind,
            label=_LABELS.get(kind, KIND_LABELS[kind]),
            drawn=count(drawn[kind]),
            offered=count(offered[kind]),
            selected=count(taken[kind]),
        )
        for kind in KINDS
        if drawn[kind] or missing[kind]
    )


def _sentence(shown: int, shares: tuple[float, float]) -> Sentence:
    if shown < 2 or not shares[0]:
        return marked("There is nothing to compare: a map needs two different vectors.")
    both = (
        f"across **{percent(shares[0])}** and up **{percent(shares[1])}**"
        if shares[1]
        else f"**{percent(shares[0])}**"
    )
    return marked(
        f"What lies close together is alike. Of all differences the picture holds {both}; the rest is unseen."
    )


def _left_out(known: int, drawn: int) -> str:
    if drawn == known:
        return ""
    return (
        f"{plural(known, 'record')} have a vector, {count(drawn)} are drawn: all that were offered, and an "
        "even selection of the others."
    )


def _missing(records: Sequence[MapRecord], known: Sequence[int]) -> str:
    here = set(known)
    counts = Counter(record.kind for at, record in enumerate(records) if at not in here)
    if not counts:
        return ""
    names = joined(plural(counts[kind], _NOUNS.get(kind, KIND_NOUNS[kind])) for kind in KINDS if counts[kind])
    verb = "has" if counts.total() == 1 else "have"
    return f"{names} {verb} no vector and so no place on it."

"""A project's records and the question as points in a plane, by their vectors.

Pure. Everything that has a vector has the same weight, the question too; the order of the records does not
matter. Coordinates fit a box of ``ASPECT`` by 1 and have one scale, so that distances are true both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from playground.compiler.manifest import ContextManifest
from playground.compiler.values import KINDS, Kind, SourceResult
from playground.escaping import replace_surrogates
from playground.retrieval.corpus import search_text
from playground.retrieval.index import Vectors
from playground.retrieval.projection import Plane, Points, principal_plane
from playground.sources.chats import positions_of
from playground.views.direction import without_overrides
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.record_text import TITLE_LENGTH, flatten
from playground.views.words import KIND_LABELS, KIND_NOUNS, Sentence, count, joined, marked, percent, plural
from playground.workspace import Project
from playground.workspace.texts import skill_text

__all__ = ["ASPECT", "MapKind", "MapPoint", "MapView", "map_view"]

ASPECT = 1.5
"""Width of the box by its height."""
POINTS = 2_000  # drawn at most; each is an element of the page
RANKS = 3  # of each source, drawn beside their points
MARGIN = 0.04  # of the box, free on every side for marks and ranks
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
    missing: str
    """How many have no vector; empty for none."""


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
    records = sorted(_records(project), key=lambda record: (KINDS.index(record.kind), record.record_id))
    known, rows = project.vectors.known([record.text for record in records])
    ranks = _ranks(results)
    chosen = _chosen([ranks.get((records[at].kind, records[at].record_id), 0) for at in known], most)
    asked, why = _question_row(project, question, question_vector)
    shown = rows[chosen] if asked is None else np.concatenate([rows[chosen], asked.reshape(1, -1)])
    plane = project_onto_plane(shown)
    places = _boxed(plane.points)
    selected = _selected(manifest)
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


@dataclass(frozen=True, slots=True)
class _Record:
    kind: Kind
    record_id: str
    text: str
    """What is embedded of it."""
    title: str


def _records(project: Project) -> Iterator[_Record]:
    for chunk in project.chunks:
        label = project.label("rag", str(chunk.index))
        title = ", ".join(filter(None, [label.title, label.part])) or chunk.text
        yield _Record("rag", str(chunk.index), search_text(chunk), title)
    for memory in project.memories:
        yield _Record("memory", memory.id, memory.latest.text, memory.latest.text)
    for chat in project.chats:
        for place in positions_of(chat.messages):
            if place.text.strip():
                yield _Record("transcript", f"{chat.chat_id}#{place.index}", place.text, place.text)
    for skill in project.skills:
        yield _Record("skills", f"catalog/{skill.id}", skill_text(skill), skill.name)


def _ranks(results: Sequence[SourceResult]) -> dict[tuple[str, str], int]:
    """Return the place of each record that was ranked, by source and id; what is mandatory was not."""
    return {
        (result.kind, candidate.record_id): rank
        for result in results
        for rank, candidate in enumerate(
            (candidate for candidate in result.candidates if not candidate.mandatory), 1
        )
    }


def _selected(manifest: ContextManifest | None) -> frozenset[tuple[str, str]]:
    entries = manifest.entries if manifest is not None else ()
    # A loaded skill stands in the request with its body; on the map it is one point.
    return frozenset(
        (
            entry.kind,
            entry.record_id.replace("body/", "catalog/", 1) if entry.kind == "skills" else entry.record_id,
        )
        for entry in entries
        if entry.selected
    )


def _chosen(ranks: Sequence[int], most: int) -> list[int]:
    """Return which points are drawn, in order: those with a rank, then of the others every so many."""
    offered = [at for at, rank in enumerate(ranks) if rank][:most]
    others = [at for at, rank in enumerate(ranks) if not rank]
    room = min(len(others), most - len(offered))
    return sorted(offered + [others[number * len(others) // room] for number in range(room)])


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
    record: _Record,
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
        description=f"{KIND_LABELS[record.kind]}: {title} ({', '.join(filter(None, facts))})",
    )


def _question_point(project: Project, question: str, place: tuple[float, float]) -> MapPoint:
    title = _title(project.query(question))
    return MapPoint("", "ink", place[0], place[1], title, 0, False, f"The question: {title}")


def _title(text: str) -> str:
    return without_overrides(" ".join(flatten(replace_surrogates(text), TITLE_LENGTH).split()))


def _kinds(records: Sequence[_Record], known: set[int], points: Sequence[MapPoint]) -> tuple[MapKind, ...]:
    missing = Counter(record.kind for at, record in enumerate(records) if at not in known)
    drawn = Counter(point.slot for point in points)
    offered = Counter(point.slot for point in points if point.rank)
    taken = Counter(point.slot for point in points if point.selected)
    return tuple(
        MapKind(
            slot=kind,
            label=KIND_LABELS[kind],
            drawn=count(drawn[kind]),
            offered=count(offered[kind]),
            selected=count(taken[kind]),
            missing=count(missing[kind]) if missing[kind] else "",
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


def _missing(records: Sequence[_Record], known: Sequence[int]) -> str:
    here = set(known)
    counts = Counter(record.kind for at, record in enumerate(records) if at not in here)
    if not counts:
        return ""
    names = joined(plural(counts[kind], KIND_NOUNS[kind]) for kind in KINDS if counts[kind])
    verb = "has" if counts.total() == 1 else "have"
    return f"{names} {verb} no vector and so no place on it."

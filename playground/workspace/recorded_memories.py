"""Memories with their whole history joining a project as they are: of an export, or of a store."""

from __future__ import annotations

from collections.abc import Iterable

from playground.errors import DocumentError
from playground.memory import MemoryRecord
from playground.values import shown
from playground.workspace.additions import Addition
from playground.workspace.changing import changed
from playground.workspace.project import Project

__all__ = ["with_records"]


def with_records(
    project: Project, records: Iterable[MemoryRecord], *, edited_at: int | None = None
) -> tuple[Addition, tuple[DocumentError, ...]]:
    """Add records with all their revisions. O(revisions).

    A record that the project has already grows by the revisions that it lacks. One that was forgotten stays so
    and is named in the addition. Vectors of revisions are left out: a project keeps its own.

    Args:
        project: What they are added to. A file does not choose whose memory it is: records of another scope
            are not added.
        records: In any order.
        edited_at: When people may have edited the newest texts, in ms: one that differs becomes the next
            revision, of that time. Left out, it is an error.

    Returns:
        The project, and one error for each record that was not added.
    """
    present = {record.id: record for record in project.memories}
    stones = {stone.id for stone in project.forgotten}
    counts = {"added": 0, "replaced": 0, "unchanged": 0}
    forgotten: dict[str, None] = {}
    errors: list[DocumentError] = []
    for given in records:
        record = _bare(given)
        known = present.get(record.id)
        if not record.scope.matches(project.scope):
            errors.append(_refused(record, "is of another scope than the project"))
        elif record.id in stones:
            forgotten[record.id] = None
        elif known is None:
            present[record.id] = record
            counts["added"] += 1
        elif known.scope == record.scope and edited_at is not None and _is_edited(_bare(known), record):
            present[record.id] = _revised(known, record, edited_at)
            counts["replaced"] += 1
        elif known.scope != record.scope or not _begins_alike(_bare(known), record):
            errors.append(_refused(record, "is in the project already, with another history"))
        elif len(known.revisions) < len(record.revisions):
            more = record.revisions[len(known.revisions) :]
            present[record.id] = known.model_copy(update={"revisions": (*known.revisions, *more)})
            counts["replaced"] += 1
        else:
            counts["unchanged"] += 1
    fresh = changed(project, memories=tuple(present.values()))
    return Addition(fresh, **counts, forgotten=tuple(forgotten)), tuple(errors)


def _bare(record: MemoryRecord) -> MemoryRecord:
    if all(revision.embedding is None for revision in record.revisions):
        return record
    bare = tuple(
        revision.model_copy(update={"embedding": None, "embedding_model_id": None})
        for revision in record.revisions
    )
    return record.model_copy(update={"revisions": bare})


def _begins_alike(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether one history is the beginning of the other, or both are the same."""
    shorter = min(len(one.revisions), len(other.revisions))
    return one.revisions[:shorter] == other.revisions[:shorter]


def _is_edited(known: MemoryRecord, record: MemoryRecord) -> bool:
    """Whether two histories of one length differ in the newest text alone."""
    return known.revisions[:-1] == record.revisions[:-1] and known.latest.text != record.latest.text


def _revised(known: MemoryRecord, record: MemoryRecord, now: int) -> MemoryRecord:
    latest = record.latest.model_copy(update={"revision": known.latest.revision + 1, "recorded_at": now})
    return known.model_copy(update={"revisions": (*known.revisions, latest)})


def _refused(record: MemoryRecord, problem: str) -> DocumentError:
    return DocumentError(
        f"The memory {shown(record.id)} {problem}.",
        remedy="Change its id or its scope where it comes from, or import it into another project.",
        name=shown(record.id),
    )

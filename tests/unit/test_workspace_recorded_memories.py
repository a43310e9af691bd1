"""Memories with their history join a project as they are, once, and never against somebody's will."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision
from playground.scope import MemoryScope
from playground.workspace import Project
from playground.workspace.memories import forget_memories
from playground.workspace.recorded_memories import with_records

ADA = MemoryScope(user_id="ada")


def record(*texts: str, name: str = "m1", scope: MemoryScope = ADA) -> MemoryRecord:
    revisions = tuple(
        MemoryRevision(revision=number, text=text, digest=text_digest(text), recorded_at=number)
        for number, text in enumerate(texts, 1)
    )
    return MemoryRecord(id=name, scope=scope, revisions=revisions)


@pytest.fixture
def project() -> Project:
    return Project(name="demo", scope=ADA, digest="sha256:0")


def test_records_join_with_their_whole_history_and_joining_again_changes_nothing(project: Project) -> None:
    first, errors = with_records(project, [record("one", "two"), record("x", name="m2")])
    assert (first.added, first.replaced, first.unchanged, errors) == (2, 0, 0, ())
    assert first.project.memories == (record("one", "two"), record("x", name="m2"))
    assert first.project.digest != project.digest
    again, errors = with_records(first.project, [record("one", "two")])
    assert (again.added, again.unchanged, errors) == (0, 1, ())
    assert again.project.memories == first.project.memories


def test_a_record_that_grew_brings_the_revisions_that_are_lacking_and_an_older_copy_none(
    project: Project,
) -> None:
    first, _ = with_records(project, [record("one", "two")])
    grown, errors = with_records(first.project, [record("one", "two", "three")])
    assert (grown.replaced, errors) == (1, ())
    assert grown.project.memories == (record("one", "two", "three"),)
    older, errors = with_records(grown.project, [record("one")])
    assert (older.unchanged, errors) == (1, ())
    assert older.project.memories == grown.project.memories


def test_another_history_and_another_scope_are_refused_one_by_one(project: Project) -> None:
    first, _ = with_records(project, [record("one", "two")])
    others = [
        record("one", "zwei"),
        record("x", name="m2", scope=MemoryScope(user_id="bob")),
        record("one", "two", scope=MemoryScope(user_id="ada", agent_id="a")),
        record("y", name="m3", scope=MemoryScope(user_id="ada", agent_id="a")),
    ]
    after, errors = with_records(first.project, others)
    assert [error.name for error in errors] == ["'m1'", "'m2'", "'m1'"]
    assert "another history" in str(errors[0])
    assert "another scope" in str(errors[1])
    assert after.project.memories == (record("one", "two"), others[3])


def test_what_was_forgotten_is_named_and_not_brought_back(project: Project) -> None:
    first, _ = with_records(project, [record("one"), record("x", name="m2")])
    left = forget_memories(first.project, ["m1"], now=9).project
    after, errors = with_records(left, [record("one"), record("x", name="m2")])
    assert (after.forgotten, after.added, after.unchanged, errors) == (("m1",), 0, 1, ())
    assert [memory.id for memory in after.project.memories] == ["m2"]


def test_an_edited_text_becomes_the_next_revision_where_people_may_edit(project: Project) -> None:
    first, _ = with_records(project, [record("one", "two")])
    after, errors = with_records(first.project, [record("one", "zwei")], edited_at=99)
    assert (after.replaced, errors) == (1, ())
    assert [revision.text for revision in after.project.memories[0].revisions] == ["one", "two", "zwei"]
    assert after.project.memories[0].latest.recorded_at == 99
    _, errors = with_records(first.project, [record("eins", "zwei")], edited_at=99)
    assert len(errors) == 1


def test_vectors_of_revisions_are_left_out_and_make_no_other_history(project: Project) -> None:
    plain = record("one")
    latest = plain.latest.model_copy(update={"embedding": (1.0, 0.0), "embedding_model_id": "m"})
    with_vector = plain.model_copy(update={"revisions": (latest,)})
    first, _ = with_records(project, [with_vector])
    assert first.project.memories == (plain,)
    held = replace(project, memories=(with_vector,))
    again, errors = with_records(held, [plain])
    assert (again.unchanged, errors) == (1, ())

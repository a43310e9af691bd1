"""A project's memories, changed with the meaning of a memory session."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from playground.concurrency import run_sync
from playground.errors import InvalidInputError, InvalidRequestError, ProjectError, StaleRevisionError
from playground.memory import InMemoryMemoryStore, MemoryTombstone
from playground.retrieval.documents import Document
from playground.retrieval.embedding_cache import vector_key
from playground.scope import MemoryScope
from playground.workspace import Project, VectorTable, load_project, project_sources, save_project
from playground.workspace.additions import with_documents, with_vectors
from playground.workspace.memories import forget_memories, remember_memory, revise_memory

ADA, BOB = MemoryScope(user_id="ada"), MemoryScope(user_id="bob")
EMPTY = Project(name="demo", scope=ADA, digest="sha256:0")


def table(*texts: str) -> VectorTable:
    rows = np.eye(len(texts), dtype=np.float32)
    return VectorTable.of(texts, rows, model_id="m", weights_digest="w")


def texts_of(project: Project) -> dict[str, list[str]]:
    return {record.id: [revision.text for revision in record.revisions] for record in project.memories}


@pytest.fixture
def two() -> Project:
    first = remember_memory(EMPTY, "Likes tea.", now=10, id="a", importance=0.5)
    return remember_memory(first, "Lives in Kyiv.", now=11, id="b", kind="episodic")


def test_a_remembered_memory_is_the_last_and_carries_what_was_said_of_it(two: Project) -> None:
    assert texts_of(two) == {"a": ["Likes tea."], "b": ["Lives in Kyiv."]}
    last = two.memories[-1]
    assert (last.scope, last.latest.kind, last.latest.recorded_at) == (ADA, "episodic", 11)
    assert EMPTY.memories == ()


def test_a_memory_without_an_id_gets_one_of_its_own() -> None:
    twice = remember_memory(remember_memory(EMPTY, "One.", now=1), "Two.", now=1)
    assert len({record.id for record in twice.memories}) == 2


def test_a_memory_can_be_of_another_scope_than_the_project() -> None:
    project = remember_memory(EMPTY, "Bob's.", now=1, id="x", scope=BOB)
    assert project.memories[0].scope == BOB
    revised = revise_memory(project, "x", "Bob's too.", expected_revision=1, now=2)
    assert revised.memories[0].scope == BOB


def test_a_revision_is_added_in_place_and_keeps_what_it_does_not_change(two: Project) -> None:
    revised = revise_memory(two, "a", "Likes coffee.", expected_revision=1, now=20)
    assert texts_of(revised) == {"a": ["Likes tea.", "Likes coffee."], "b": ["Lives in Kyiv."]}
    assert list(texts_of(revised)) == ["a", "b"]
    assert (revised.memories[0].latest.importance, revised.memories[0].latest.recorded_at) == (0.5, 20)


def test_a_revision_of_what_somebody_else_revised_is_stale(two: Project) -> None:
    revised = revise_memory(two, "a", "Likes coffee.", expected_revision=1, now=20)
    with pytest.raises(StaleRevisionError) as error:
        revise_memory(revised, "a", "Likes water.", expected_revision=1, now=21)
    assert error.value.actual_revision == 2


@pytest.mark.parametrize("gone", ["nobody", "a"])
def test_an_unknown_or_forgotten_memory_cannot_be_revised(two: Project, gone: str) -> None:
    project = forget_memories(two, ["a"], now=30).project
    with pytest.raises(InvalidRequestError):
        revise_memory(project, gone, "Again.", expected_revision=1, now=31)


@pytest.mark.parametrize("text", ["", " ", "a\0b", "\ud800"])
def test_text_that_no_store_keeps_is_refused(two: Project, text: str) -> None:
    with pytest.raises(InvalidInputError):
        remember_memory(two, text, now=1)
    with pytest.raises(InvalidInputError):
        revise_memory(two, "a", text, expected_revision=1, now=1)


def test_a_project_whose_scope_sets_no_field_takes_no_memory() -> None:
    with pytest.raises(InvalidRequestError):
        remember_memory(replace(EMPTY, scope=MemoryScope()), "Everybody's.", now=1)


def test_each_change_gives_another_digest_and_the_same_change_the_same(two: Project) -> None:
    def weighed(importance: float) -> str:
        return remember_memory(two, "Same.", now=1, id="c", importance=importance).digest

    assert weighed(0.1) == weighed(0.1) != weighed(0.9)
    digests = {
        EMPTY.digest,
        two.digest,
        weighed(0.1),
        revise_memory(two, "a", "Likes tea.", expected_revision=1, now=20).digest,
        forget_memories(two, ["a"], now=30).project.digest,
    }
    assert len(digests) == 5


def test_forgetting_leaves_a_tombstone_and_no_text(two: Project) -> None:
    done = forget_memories(revise_memory(two, "a", "Чай.", expected_revision=1, now=20), ["a"], now=30)
    assert done.ids == ("a",)
    assert texts_of(done.project) == {"b": ["Lives in Kyiv."]}
    assert done.project.forgotten == (
        MemoryTombstone(id="a", scope=ADA, revisions=(1, 2), recorded_at=(10, 20), forgotten_at=30),
    )
    assert set(done.vector_keys) == {vector_key("Likes tea."), vector_key("Чай.")}


def test_a_forgotten_id_is_not_given_out_again(two: Project) -> None:
    with pytest.raises(InvalidRequestError, match="already kept"):
        remember_memory(forget_memories(two, ["a"], now=30).project, "Back.", now=31, id="a")


def test_forgetting_twice_changes_nothing_more(two: Project) -> None:
    once = forget_memories(two, ["a"], now=30)
    again = forget_memories(once.project, ["a", "nobody"], now=40)
    assert again.project is once.project
    assert (again.ids, again.vector_keys) == (("a",), ())


def test_forgetting_keeps_to_a_scope_where_one_is_given() -> None:
    project = remember_memory(remember_memory(EMPTY, "Hers.", now=1, id="a"), "His.", now=1, id="b", scope=BOB)
    done = forget_memories(project, ["a", "b"], now=2, scope=BOB)
    assert done.ids == ("b",)
    assert list(texts_of(done.project)) == ["a"]


def test_the_vectors_of_all_revisions_go_and_those_of_other_texts_stay(two: Project) -> None:
    revised = revise_memory(two, "a", "Likes coffee.", expected_revision=1, now=20)
    project = with_vectors(revised, table("Likes tea.", "Likes coffee.", "Lives in Kyiv."))
    left = forget_memories(project, ["a"], now=30).project.vectors
    assert left.digests == (vector_key("Lives in Kyiv."),)
    known, rows = left.known(["Lives in Kyiv."])
    assert (known, rows.tolist()) == ([0], [[0.0, 0.0, 1.0]])
    assert len(forget_memories(project, ["a", "b"], now=30).project.vectors) == 0


def test_the_vector_of_a_text_that_something_else_holds_stays(two: Project) -> None:
    same = remember_memory(two, "Likes tea.", now=12, id="c", scope=BOB)
    project = with_vectors(same, table("Likes tea."))
    done = forget_memories(project, ["a"], now=30)
    assert (len(done.project.vectors), done.vector_keys) == (1, ())
    held = with_documents(with_vectors(two, table("Likes tea.")), [Document("d", "Likes tea.", "Likes tea.")])
    assert forget_memories(held.project, ["a"], now=30).vector_keys == ()


def test_a_tombstone_is_saved_and_loaded_with_the_project(two: Project, tmp_path: Path) -> None:
    project = forget_memories(two, ["a"], now=30).project
    loaded = load_project(save_project(project, tmp_path / "demo"))
    assert loaded.forgotten == project.forgotten
    assert loaded.digest != load_project(save_project(two, tmp_path / "other")).digest


def test_a_forgotten_memory_that_stands_in_the_file_again_is_left_out_and_said(
    two: Project, tmp_path: Path
) -> None:
    folder = save_project(forget_memories(two, ["a"], now=30).project, tmp_path / "demo")
    with (folder / "memories.jsonl").open("a") as file:
        file.write(json.dumps({"id": "a", "text": "Likes tea."}) + "\n")
    loaded = load_project(folder)
    assert list(texts_of(loaded)) == ["b"]
    assert "1 memory was forgotten before" in loaded.warnings[0]


@pytest.mark.parametrize("line", ["[]", "{}", '{"id": "a"}', '{"id": "a", "text": "t"}', "\0"])
def test_a_damaged_list_of_what_was_forgotten_is_told_with_its_line(
    two: Project, tmp_path: Path, line: str
) -> None:
    folder = save_project(two, tmp_path / "demo")
    (folder / "forgotten.jsonl").write_text(line + "\n")
    with pytest.raises(ProjectError, match=r"forgotten\.jsonl, line 1"):
        load_project(folder)


def test_a_source_made_of_the_project_gives_out_no_forgotten_id(two: Project) -> None:
    project = forget_memories(two, ["a"], now=30).project
    assert [source.id for source in project_sources(project)] == ["memory", "rag", "transcript", "skills"]


def test_a_store_begins_with_records_and_tombstones_and_takes_no_id_twice(two: Project) -> None:
    stones = forget_memories(two, ["a"], now=30).project.forgotten
    store = InMemoryMemoryStore(two.memories[1:], stones)
    assert [record.id for record in run_sync(store.list(scope=ADA))] == ["b"]
    assert run_sync(store.tombstones(scope=ADA)) == list(stones)
    with pytest.raises(InvalidRequestError):
        run_sync(store.insert(two.memories[0]))
    for records, tombstones in ((two.memories, stones), ((two.memories[0],) * 2, ()), ((), stones * 2)):
        with pytest.raises(InvalidRequestError):
            InMemoryMemoryStore(records, tombstones)

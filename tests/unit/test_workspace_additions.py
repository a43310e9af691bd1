"""Adding documents, memories and vectors to a project."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.messages import Message
from playground.retrieval.corpus import Corpus
from playground.retrieval.documents import Document
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill
from playground.workspace import ChunkSettings, Project, VectorTable, load_project, save_project
from playground.workspace.additions import (
    load_memories,
    with_chats,
    with_documents,
    with_memories,
    with_skills,
    with_vectors,
    without_chats,
    without_documents,
    without_skills,
)
from playground.workspace.memories import forget_memories, remember_memory
from playground.workspace.memory_files import MEMORY_SIZE_LIMIT

SCOPE = MemoryScope(user_id="ada")
PROJECT = Project(name="demo", scope=SCOPE, digest="sha256:0", chunking=ChunkSettings(size=20, overlap=4))


def test_added_documents_are_cut_and_the_old_project_stays_as_it_is() -> None:
    first = with_documents(PROJECT, [Document("a", "A", "alpha " * 40)])
    assert (first.added, first.replaced, first.unchanged) == (1, 0, 0)
    assert len(first.project.chunks) > 1
    assert PROJECT.documents == ()


def test_chunks_of_other_documents_keep_their_numbers_when_one_is_replaced() -> None:
    start = with_documents(PROJECT, [Document("a", "A", "alpha " * 40), Document("b", "B", "beta")]).project
    kept = {c.index for c in start.chunks if c.meta["document"] == "b"}
    again = with_documents(
        start, [Document("a", "A", "gamma"), Document("b", "B", "beta"), Document("c", "C", "new")]
    )
    assert (again.added, again.replaced, again.unchanged) == (1, 1, 1)
    assert {c.index for c in again.project.chunks if c.meta["document"] == "b"} == kept
    old = {c.index for c in start.chunks}
    assert not old & {c.index for c in again.project.chunks if c.meta["document"] == "a"}


def test_every_change_gives_another_digest_and_no_change_gives_a_repeatable_one() -> None:
    documents = [Document("a", "A", "alpha")]
    once, twice = (with_documents(PROJECT, documents).project.digest for _ in range(2))
    assert once == twice != PROJECT.digest
    titled = with_documents(PROJECT, [Document("a", "B", "alpha")]).project.digest
    remembered = with_memories(PROJECT, [{"id": "m", "text": "t"}], now=1).project.digest
    table = VectorTable.of(["alpha"], np.array([[1.0]], dtype=np.float32), model_id="m", weights_digest="w")
    assert len({once, titled, remembered, with_vectors(PROJECT, table).digest, PROJECT.digest}) == 5


def test_lines_become_memories_with_the_file_and_line_as_id() -> None:
    loaded = load_memories([("notes.txt", b"- likes tea\n\n  hates coffee \n")], scope=SCOPE)
    assert [(e["id"], e["text"]) for e in loaded.entries] == [
        ("notes.txt-1", "likes tea"),
        ("notes.txt-3", "hates coffee"),
    ]
    record = with_memories(PROJECT, loaded.entries, now=5).project.memories[0]
    assert (record.scope, record.latest.origin, record.latest.recorded_at) == (SCOPE, "imported", 5)


def test_lines_of_a_file_whose_name_no_database_takes_are_read_under_a_name_that_it_takes() -> None:
    loaded = load_memories([("caf\udce9.txt", b"Tea is hot.")], scope=SCOPE)
    assert loaded.entries == ({"id": "caf\ufffd.txt-1", "text": "Tea is hot."},)
    assert not loaded.errors
    (warning,) = loaded.warnings
    assert warning.name == "caf\ufffd.txt"
    assert "replaced by U+FFFD" in warning.message


def test_json_lines_keep_the_fields_of_a_memory() -> None:
    line = json.dumps({"id": "m", "text": "t", "kind": "episodic", "origin": "observed", "importance": 0.5})
    loaded = load_memories([("m.jsonl", line.encode())], scope=SCOPE)
    latest = with_memories(PROJECT, loaded.entries, now=5).project.memories[0].latest
    assert (latest.kind, latest.origin, latest.importance) == ("episodic", "observed", 0.5)


def test_one_bad_file_leaves_the_others_and_names_the_remedy() -> None:
    files = [
        ("good.txt", b"kept"),
        ("bad.jsonl", b'{"id": "x", "text": "t", "kind": "no such kind"}\n{"id": "y", "text": "u"}'),
        ("picture.png", b"\x89PNG\r\n\x1a\n"),
        ("empty.txt", b"  "),
        ("large.txt", b"x" * (MEMORY_SIZE_LIMIT + 1)),
    ]
    loaded = load_memories(files, scope=SCOPE)
    assert [entry["text"] for entry in loaded.entries] == ["kept"]
    assert [error.name for error in loaded.errors] == ["bad.jsonl", "picture.png", "empty.txt", "large.txt"]
    assert all(error.remedy for error in loaded.errors)


def test_repeated_ids_of_one_load_are_numbered_with_a_warning() -> None:
    lines = b'{"id": "m", "text": "one"}\n{"id": "m", "text": "two"}'
    loaded = load_memories([("m.jsonl", lines)], scope=SCOPE)
    assert [entry["id"] for entry in loaded.entries] == ["m", "m~2"]
    assert "more than once" in loaded.warnings[0].message


def test_a_known_memory_with_another_text_gets_a_revision_and_keeps_the_first() -> None:
    start = with_memories(PROJECT, [{"id": "m", "text": "old"}], now=1).project
    again = with_memories(start, [{"id": "m", "text": "new"}, {"id": "m", "text": "new"}], now=2)
    assert (again.added, again.replaced, again.unchanged) == (0, 1, 1)
    record = again.project.memories[0]
    assert [(r.revision, r.text, r.recorded_at) for r in record.revisions] == [(1, "old", 1), (2, "new", 2)]


def test_a_malformed_entry_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        with_memories(PROJECT, [{"id": "m", "text": "t", "importance": 7}], now=1)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_reason(data: bytes) -> None:
    loaded = load_memories([("any.bin", data)], scope=SCOPE)
    assert not (loaded.errors and loaded.entries)
    added = with_memories(PROJECT, loaded.entries, now=1)
    assert [record.latest.text for record in added.project.memories] == [e["text"] for e in loaded.entries]


def test_a_corpus_that_is_shared_is_not_copied() -> None:
    corpus = Corpus((Document("a", "A", "alpha"),), (), 0)
    project = replace(PROJECT, corpus=corpus)
    assert with_memories(project, [{"id": "m", "text": "t"}], now=1).project.corpus is corpus


def test_added_memories_take_the_indexes_of_the_documents_along() -> None:
    project = load_project("deploy-demo")
    words, vectors = project.chunk_words, project.chunk_vectors
    changed = with_memories(project, [{"id": "m", "text": "New."}], now=1).project
    assert changed.chunk_words is words
    assert changed.chunk_vectors is vectors
    assert with_vectors(project, VectorTable()).chunk_words is words
    assert with_vectors(project, VectorTable()).chunk_vectors is not vectors
    added = with_documents(project, [Document("d", "T", "Text.")]).project
    assert added.chunk_words is not words


def test_a_file_never_chooses_whose_memory_it_is() -> None:
    lines = b"".join(
        json.dumps({"id": name, "text": name, **more}).encode() + b"\n"
        for name, more in (
            ("a", {"scope": {"userId": "victim"}}),
            ("b", {"scope": {"userId": "ada"}}),
            ("c", {"scope": {"userId": "ada", "chatId": "c"}}),
            ("d", {}),
        )
    )
    loaded = load_memories([("m.jsonl", lines)], scope=SCOPE)
    assert [warning.message[:12] for warning in loaded.warnings] == ["Memory 1 ('a", "Memory 3 ('c"]
    added = with_memories(PROJECT, loaded.entries, now=1).project
    assert {record.scope for record in added.memories} == {SCOPE}
    direct = with_memories(PROJECT, [{"id": "a", "text": "t", "scope": {"userId": "victim"}}], now=1).project
    assert direct.memories[0].scope == SCOPE


def test_an_upload_cannot_revise_a_memory_of_somebody_else() -> None:
    bob = with_memories(replace(PROJECT, scope=MemoryScope(user_id="bob")), [{"id": "m", "text": "b"}], now=1)
    shared = replace(bob.project, scope=SCOPE)
    added = with_memories(shared, [{"id": "m", "text": "mine"}, {"id": "m~2", "text": "other"}], now=2)
    assert [(r.id, r.scope.user_id, r.latest.text) for r in added.project.memories] == [
        ("m", "bob", "b"),
        ("m~2", "ada", "other"),
    ]
    assert (added.added, added.replaced) == (1, 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"revisions": 5}, "list of objects"),
        ({"revisions": ["x"]}, "list of objects"),
        ({"revisions": []}, "list of objects"),
        ({"revisions": {"text": "t"}}, "list of objects"),
        ({"revisions": [{"text": 5}]}, "text"),
        ({"revisions": [{"text": "hidden"}]}, "not that of the last"),
        ({"revisions": [{"text": "t", "embedding": [1.0]}]}, "vector"),
        ({"scope": 5}, "MemoryScope"),
        ({"scope": {"userId": 5}}, "user"),
    ],
)
def test_a_malformed_upload_is_one_error_that_names_the_memory(more: dict[str, object], words: str) -> None:
    lines = json.dumps({"id": "ok", "text": "t"}) + "\n" + json.dumps({"id": "m", "text": "t", **more})
    loaded = load_memories([("m.jsonl", lines.encode())], scope=SCOPE)
    assert loaded.entries == ()
    assert "m.jsonl: memory 2, 'm'" in str(loaded.errors[0])
    assert words in str(loaded.errors[0])


def test_revisions_whose_last_text_is_the_shown_one_are_kept() -> None:
    line = json.dumps({"id": "m", "text": "new", "revisions": [{"text": "old"}, {"text": "new"}]})
    loaded = load_memories([("m.json", line.encode())], scope=SCOPE)
    (record,) = with_memories(PROJECT, loaded.entries, now=1).project.memories
    assert [revision.text for revision in record.revisions] == ["old", "new"]


def test_vectors_of_an_upload_are_left_out_with_a_warning() -> None:
    line = json.dumps({"id": "m", "text": "t", "embedding": [1.0, 0.0], "embeddingModelId": "x"})
    loaded = load_memories([("m.json", line.encode())], scope=SCOPE)
    assert "vector" in loaded.warnings[0].message
    assert with_memories(PROJECT, loaded.entries, now=1).project.memories[0].latest.embedding is None


def test_ten_thousand_memories_of_one_id_are_numbered_in_linear_time_and_warned_of_briefly() -> None:
    lines = b'{"id": "m", "text": "t"}\n' * 10_000
    started = time.process_time()
    loaded = load_memories([("m.jsonl", lines)], scope=SCOPE)
    # Comparing every id with every other took minutes; the bound is far from both.
    assert time.process_time() - started < 10
    assert len({entry["id"] for entry in loaded.entries}) == 10_000
    assert loaded.entries[-1]["id"] == "m~10000"
    assert len(loaded.warnings) == 21


def test_documents_without_a_name_get_ids_and_lose_nothing(tmp_path: Path) -> None:
    added = with_documents(PROJECT, [Document("", "", "one"), Document("", "", "two")])
    assert added.added == 2
    again = with_documents(added.project, [Document("", "", "one")])
    assert again.unchanged == 1
    loaded = load_project(save_project(again.project, tmp_path / "p"))
    assert [document.text for document in loaded.documents] == ["one", "two"]


def test_lines_of_a_file_without_a_name_get_usable_ids() -> None:
    loaded = load_memories([("", b"likes tea")], scope=SCOPE)
    assert loaded.entries[0]["id"] == "untitled-1"


def test_taking_a_document_out_renumbers_no_other_and_its_numbers_are_not_given_again(tmp_path: Path) -> None:
    documents = [Document(name, name.upper(), f"{name} " * 40) for name in "abc"]
    start = with_documents(PROJECT, documents).project
    kept = {c.index: c.text for c in start.chunks if c.meta["document"] != "b"}
    less = without_documents(start, ["b", "nobody"])
    assert {c.index: c.text for c in less.chunks} == kept
    assert less.digest != start.digest
    saved = load_project(save_project(less, tmp_path / "demo"))
    more = with_documents(saved, [Document("b", "B", "new")]).project
    assert {c.index: c.text for c in more.chunks if c.meta["document"] != "b"} == kept
    assert not {c.index for c in more.chunks if c.meta["document"] == "b"} & {c.index for c in start.chunks}


def test_an_import_does_not_bring_a_forgotten_memory_back_and_says_so() -> None:
    entries = [{"id": "a", "text": "Likes tea."}, {"id": "b", "text": "Lives in Kyiv."}]
    start = with_memories(PROJECT, entries, now=1).project
    forgotten = forget_memories(start, ["a"], now=2).project
    again = with_memories(forgotten, [*entries, entries[0]], now=3)
    assert (again.added, again.unchanged, again.forgotten) == (0, 1, ("a",))
    assert [record.id for record in again.project.memories] == ["b"]


def test_an_id_that_was_forgotten_in_another_scope_becomes_a_new_memory() -> None:
    other = remember_memory(PROJECT, "His.", now=1, id="a", scope=MemoryScope(user_id="bob"))
    added = with_memories(forget_memories(other, ["a"], now=2).project, [{"id": "a", "text": "Hers."}], now=3)
    assert (added.added, added.forgotten) == (1, ())
    assert [record.id for record in added.project.memories] == ["a~2"]


def chat(name: str, *texts: str, scope: MemoryScope = SCOPE) -> ChatRecord:
    return ChatRecord(name, scope, tuple(Message("user", text) for text in texts))


def test_chats_are_added_and_replaced_by_id_and_become_the_project_s(tmp_path: Path) -> None:
    bob = MemoryScope(user_id="bob")
    first = with_chats(PROJECT, [chat("c1", "Hi.", scope=bob), chat("c2", "Ho.")], {"c1": "Greeting"})
    assert (first.added, {one.scope for one in first.project.chats}) == (2, {SCOPE})
    again = with_chats(first.project, [chat("c1", "Hi.", "More."), chat("c2", "Ho."), chat("c3", "New.")])
    assert (again.added, again.replaced, again.unchanged) == (1, 1, 1)
    assert dict(again.project.chat_titles) == {"c1": "Greeting"}
    loaded = load_project(save_project(again.project, tmp_path / "demo"))
    assert [(one.chat_id, len(one.messages)) for one in loaded.chats] == [("c1", 2), ("c2", 1), ("c3", 1)]
    less = without_chats(again.project, ["c1", "nobody"])
    assert ([one.chat_id for one in less.chats], dict(less.chat_titles)) == (["c2", "c3"], {})
    assert len({PROJECT.digest, first.project.digest, again.project.digest, less.digest}) == 4


def test_a_title_alone_replaces_a_chat() -> None:
    first = with_chats(PROJECT, [chat("c1", "Hi.")]).project
    titled = with_chats(first, [chat("c1", "Hi.")], {"c1": "Greeting"})
    assert (titled.replaced, titled.project.digest != first.digest) == (1, True)


def test_a_chat_of_another_scope_is_not_replaced() -> None:
    other = replace(PROJECT, chats=(chat("c1", "His.", scope=MemoryScope(user_id="bob")),))
    added = with_chats(other, [chat("c1", "Hers.")], {"c1": "Hers"})
    assert [(one.chat_id, one.scope) for one in added.project.chats][1:] == [("c1~2", SCOPE)]
    assert dict(added.project.chat_titles) == {"c1~2": "Hers"}


def test_skills_are_added_and_replaced_by_id_with_their_resources(tmp_path: Path) -> None:
    resources = tmp_path / "upload" / "pdf"
    resources.mkdir(parents=True)
    (resources / "form.txt").write_text("fill in")
    first = with_skills(PROJECT, [Skill("pdf", "pdf", "Reads.", "Do.", folder=resources)])
    folder = save_project(first.project, tmp_path / "demo")
    assert (folder / "skills/pdf/form.txt").read_text() == "fill in"
    again = with_skills(
        load_project(folder), [Skill("pdf", "pdf", "Writes.", "Do."), Skill("a", "a", "A.", "B.")]
    )
    assert (first.added, again.added, again.replaced) == (1, 1, 1)
    save_project(again.project, folder)
    assert not (folder / "skills/pdf/form.txt").exists()
    assert [skill.description for skill in load_project(folder).skills] == ["A.", "Writes."]
    less = without_skills(again.project, ["pdf"])
    assert [skill.id for skill in less.skills] == ["a"]
    assert len({PROJECT.digest, first.project.digest, again.project.digest, less.digest}) == 4
    other = with_skills(again.project, [Skill("PDF", "pdf", "Another folder on few disks.", "Do.")])
    assert (other.replaced, [skill.id for skill in other.project.skills]) == (1, ["PDF", "a"])


def test_a_skill_is_there_already_wherever_its_resources_lie(tmp_path: Path) -> None:
    upload = tmp_path / "upload" / "pdf"
    (upload / "forms").mkdir(parents=True)
    (upload / "SKILL.md").write_text("No part of the resources.")
    (upload / "forms/a.txt").write_text("fill in")
    skill = Skill("pdf", "pdf", "Reads.", "Do.", folder=upload)
    saved = load_project(save_project(with_skills(PROJECT, [skill]).project, tmp_path / "demo"))
    packed = replace(skill, folder=None, resources=(("forms/a.txt", b"fill in"),))
    for same in (skill, packed):
        again = with_skills(saved, [same])
        assert (again.added, again.replaced, again.unchanged) == (0, 0, 1)
        assert again.project.skills == saved.skills
    for other in (
        replace(packed, resources=(("forms/a.txt", b"fill out"),)),
        replace(packed, resources=()),
        replace(packed, resources=(*packed.resources, ("b.txt", b""))),
        replace(packed, body="Do not."),
    ):
        assert with_skills(saved, [other]).replaced == 1
    (upload / "forms/a.txt").write_text("sign")
    assert with_skills(saved, [skill]).replaced == 1

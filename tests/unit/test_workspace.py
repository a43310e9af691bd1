"""Projects on disk: read, written, searched and labelled; hostile folders are refused with a remedy."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.compiler.budget import ContextBudget
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextSourceRequest, SourceResult
from playground.concurrency import run_sync
from playground.errors import InvalidInputError, ProjectError
from playground.retrieval.documents import Document
from playground.retrieval.embedding import MINILM_ID, Progress
from playground.retrieval.index import Vectors
from playground.scope import MemoryScope
from playground.workspace import (
    ChunkSettings,
    Project,
    VectorTable,
    ask_sources,
    compile_answers,
    compile_project,
    load_project,
    load_sample,
    project_embedder,
    project_sources,
    sample_projects,
    sample_summaries,
    save_project,
    search_plan,
)
from playground.workspace.files import ProjectFolder
from playground.workspace.searching import chunk_search


@pytest.fixture(scope="module")
def bank() -> Project:
    return load_project("bank-support")


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return save_project(load_project("deploy-demo"), tmp_path / "demo")


def answers(project: Project, question: str | None = None, **options: Any) -> dict[str, SourceResult]:
    request = ContextSourceRequest(
        query=project.query(question),
        scope=project.scope,
        limit=project.candidates_per_source,
        messages=project.request_messages(question),
    )
    results = run_sync(query_sources(project_sources(project, **options), request))
    return {result.source_id: result for result in results}


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def test_both_samples_are_there_and_the_bank_opens_first() -> None:
    assert sample_projects()[0] == "bank-support"
    assert "deploy-demo" in sample_projects()


@pytest.mark.parametrize(
    "name", ["../bank-support", "/etc", "bank-support/../deploy-demo", "", ".", "Bank-Support"]
)
def test_a_sample_name_is_never_used_as_a_path(name: str) -> None:
    with pytest.raises(ProjectError, match="no sample project"):
        load_sample(name)


def test_the_bank_has_everything_a_first_look_needs(bank: Project) -> None:
    assert not bank.warnings
    assert len(bank.documents) == 698
    assert len(bank.scenarios) == 97
    assert 20 <= len(bank.memories) <= 30
    assert sum(len(chat.messages) for chat in bank.chats) >= 25
    assert 20 <= len(bank.skills) <= 40
    assert bank.working_memory is not None
    assert bank.working_memory.active_task is not None
    assert 3 <= len(bank.working_memory.constraints) <= 4
    assert (bank.model.context_window, bank.model.max_output_tokens) == (200_000, 8_000)
    assert bank.candidates_per_source == 48
    assert bank.tools


def test_every_labelled_document_exists_and_every_question_is_short(bank: Project) -> None:
    ids = {document.id for document in bank.documents}
    for scenario in bank.scenarios:
        assert scenario.gold_documents
        assert set(scenario.gold_documents) <= ids
        assert len(scenario.question) <= 200
        assert scenario.instructions


def test_sample_skills_keep_the_advisory_rules(bank: Project) -> None:
    assert {skill.id: skill.issues for skill in bank.skills if skill.issues} == {}
    assert not any("{{" in skill.description for skill in bank.skills)


def test_sample_memories_vary_in_provenance_and_hold_a_planted_duplicate(bank: Project) -> None:
    revisions = [record.latest for record in bank.memories]
    assert {revision.origin for revision in revisions} == {
        "asserted",
        "observed",
        "extracted",
        "inferred",
        "imported",
    }
    assert {source.kind for revision in revisions for source in revision.sources} >= {"host", "user", "tool"}
    assert len({revision.digest for revision in revisions}) == len(revisions) - 1
    assert any(record.latest.revision > 1 for record in bank.memories)


def test_the_shipped_question_is_searched_by_meaning_without_a_model(bank: Project) -> None:
    assert search_plan(bank, bank.query()).mode == "hybrid"
    found = answers(bank)
    assert {source: result.status for source, result in found.items()} == dict.fromkeys(found, "ok")
    assert {c.match for c in found["rag"].candidates} == {"hybrid"}
    assert {c.match for c in found["memory"].candidates} == {"cosine"}
    assert {c.match for c in found["transcript"].candidates} == {"hybrid"}
    assert len(found["rag"].candidates) == 48
    assert all(0 <= c.score <= 1 for result in found.values() for c in result.candidates)


def test_every_scenario_question_is_searched_by_meaning_without_a_model(bank: Project) -> None:
    for scenario in bank.scenarios:
        assert search_plan(bank, bank.query(scenario.question)).mode == "hybrid"
        assert search_plan(bank, scenario.question).mode == "hybrid"


def test_the_loaded_skill_is_mandatory_and_no_other_body_is_offered(bank: Project) -> None:
    skills = answers(bank)["skills"].candidates
    assert [c.record_id for c in skills if c.mandatory] == ["body/stolen-cards"]
    assert sum(c.record_id.startswith("catalog/") for c in skills) >= 15


def test_skills_are_ranked_by_meaning_where_vectors_are_at_hand_and_by_words_elsewhere(bank: Project) -> None:
    lines = [c.record_id for c in answers(bank)["skills"].candidates if not c.mandatory]
    assert lines[0] == "catalog/stolen-cards"
    assert lines.index("catalog/freeze-card") < 6
    by_words = [c.record_id for c in answers(bank, mode="lexical")["skills"].candidates if not c.mandatory]
    assert by_words.index("catalog/freeze-card") >= 6
    assert answers(bank, "zebra crossings")["skills"].status == "ok"


def test_another_question_is_searched_by_words_and_says_so(bank: Project) -> None:
    plan = search_plan(bank, bank.query("How high are the fees for a wire transfer?"))
    assert plan.mode == "lexical"
    assert "no vector" in plan.notice
    found = answers(bank, "How high are the fees for a wire transfer?")
    assert {c.match for source in ("rag", "memory", "transcript") for c in found[source].candidates} == {
        "lexical"
    }


def test_lexical_mode_is_what_was_asked_for_and_needs_no_notice(bank: Project) -> None:
    assert search_plan(bank, "anything", mode="lexical").notice == ""
    assert {c.match for c in answers(bank, mode="lexical")["rag"].candidates} == {"lexical"}


def test_the_articles_that_answer_the_first_question_are_found(bank: Project) -> None:
    gold = set(next(s for s in bank.scenarios if s.question == bank.question).gold_documents)
    found = {bank.label("rag", c.record_id).origin for c in answers(bank)["rag"].candidates}
    assert len(gold & found) >= 5


def test_labels_say_what_a_record_is(bank: Project) -> None:
    chunk = next(chunk for chunk in bank.chunks if chunk.meta["parts"] == 3)
    label = bank.label("rag", str(chunk.index))
    assert label.title == chunk.meta["title"]
    assert label.origin == chunk.meta["document"]
    assert label.part == "part 1"
    assert bank.label("memory", "phone").origin == "asserted by user, 2026-08-20, revision 2"
    assert bank.label("transcript", "chat-2026-07-19#1").origin == "Light Blue card lost on a train"
    assert bank.label("transcript", "chat-2026-07-19#1").part == "assistant message 2"
    assert bank.label("skills", "body/stolen-cards").origin == "loaded skill"
    assert bank.label("working-memory", "task/verify").origin == "task"
    assert bank.label("working-memory", "question/answered").origin == "question"
    assert bank.label("working-memory", "goal").origin == "goal"


@pytest.mark.parametrize("source", ["rag", "memory", "transcript", "skills", "working-memory", "other"])
def test_an_unknown_record_has_a_label_all_the_same(bank: Project, source: str) -> None:
    for record_id in ("", "nothing", "chat-2026-07-19#999", "chat-2026-07-19#-1", "#", "/"):
        assert isinstance(bank.label(source, record_id).title, str)


def test_saving_and_loading_loses_nothing(bank: Project, tmp_path: Path) -> None:
    saved = save_project(bank, tmp_path / "copy")
    loaded = load_project(saved)
    assert loaded.documents == bank.documents
    assert loaded.chunks == bank.chunks
    assert loaded.corpus.next_index == bank.corpus.next_index
    assert loaded.memories == bank.memories
    assert loaded.chats == bank.chats
    assert loaded.chat_titles == bank.chat_titles
    assert [replace(s, folder=None) for s in loaded.skills] == [replace(s, folder=None) for s in bank.skills]
    assert loaded.working_memory == bank.working_memory
    assert loaded.messages == bank.messages
    assert loaded.tools == bank.tools
    assert loaded.scenarios == bank.scenarios
    assert loaded.budget == bank.budget
    assert np.array_equal(loaded.vectors.rows, bank.vectors.rows)
    again = save_project(loaded, tmp_path / "again")
    for path in saved.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(saved)).read_bytes()
    assert load_project(again).digest == loaded.digest


def test_saving_over_a_project_replaces_it_and_keeps_foreign_files(demo: Path) -> None:
    (demo / "LICENSE").write_text("ours")
    save_project(replace(load_project(demo), title="New", memories=()), demo)
    assert load_project(demo).title == "New"
    assert not (demo / "memories.jsonl").exists()
    assert (demo / "LICENSE").read_text() == "ours"
    assert [path.name for path in demo.parent.iterdir()] == ["demo"]


def test_a_folder_that_is_no_project_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ProjectError, match="no project"):
        save_project(load_project("deploy-demo"), tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_failed_save_leaves_the_old_project(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ProjectError, match="No space left"):
        save_project(replace(load_project(demo), title="New"), demo)
    assert load_project(demo).title == "Deploy demo"
    assert [path.name for path in demo.parent.iterdir()] == ["demo"]


def test_a_save_that_fails_in_the_middle_of_the_exchange_loses_nothing(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refuse_the_new_one(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_the_new_one)
    with pytest.raises(ProjectError, match="Input/output error"):
        save_project(replace(load_project(demo), title="New"), demo)
    assert load_project(demo).title == "Deploy demo"
    assert [path.name for path in demo.parent.iterdir()] == ["demo"]


def test_a_project_with_a_skill_id_that_leads_elsewhere_is_not_saved(tmp_path: Path) -> None:
    project = load_project("bank-support")
    hostile = replace(project, skills=(replace(project.skills[0], id="../../out", folder=None),))
    with pytest.raises(ProjectError, match="folder name"):
        save_project(hostile, tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_edited_and_added_documents_get_new_numbers_and_others_keep_theirs(demo: Path) -> None:
    before = {chunk.meta["document"]: chunk.index for chunk in load_project(demo).chunks}
    edit(demo / "documents.jsonl", lambda text: text.replace("green", "blue") + '{"id": "new", "text": "x"}\n')
    project = load_project(demo)
    after = {chunk.meta["document"]: chunk.index for chunk in project.chunks}
    assert after["rolling-back"] == before["rolling-back"]
    assert after["release-checklist"] == 2
    assert after["new"] == 3
    assert "cut anew" in project.warnings[0]
    assert "2 of 3 chunks are found by words only" in search_plan(project, project.query()).notice


def test_a_removed_document_gives_no_number_back(demo: Path) -> None:
    edit(demo / "documents.jsonl", lambda text: text.splitlines()[0] + '\n{"id": "new", "text": "x"}\n')
    assert {c.meta["document"]: c.index for c in load_project(demo).chunks} == {
        "release-checklist": 0,
        "new": 2,
    }


def test_settings_given_as_mappings_are_checked_when_the_project_is_made(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "budget": {"max_tokens": 1_000},
        "scope": {"user_id": "ada"},
        "chunking": {"method": "fixed", "size": 100},
    }
    project = load_project(save_project(Project(name="demo", **given), tmp_path / "demo"))
    assert project.budget == ContextBudget(max_tokens=1_000)
    assert project.scope == MemoryScope(user_id="ada")
    assert project.chunking == ChunkSettings(method="fixed", size=100)
    wrong: dict[str, Any]
    for wrong in (
        {"budget": {"ratio": 2}},
        {"scope": {"user": "ada"}},
        {"chunking": {"size": 0}},
        {"budget": 5},
    ):
        with pytest.raises(InvalidInputError):
            Project(name="demo", **wrong)


def test_a_project_needs_nothing_but_its_head(tmp_path: Path) -> None:
    (tmp_path / "project.json").write_text('{"version": 1}')
    project = load_project(tmp_path)
    assert project.documents == ()
    assert project.query() == ""
    assert [source.id for source in project_sources(project)] == ["rag", "skills"]
    assert save_project(project, tmp_path / "copy").is_dir()


def damage(name: str, content: str | bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)

    return write


def huge(field: str) -> str:
    return f'{{"version": 1, {field.replace("%s", "1" + "0" * 400)}}}'


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (damage("project.json", "{"), "not valid JSON"),
        (damage("project.json", "[]"), "JSON object"),
        (damage("project.json", "{}"), "no project.json"),
        (damage("project.json", '{"version": 2}'), "version 2"),
        (damage("project.json", '{"version": true}'), "version True"),
        (damage("project.json", '{"version": 1.0}'), "version 1.0"),
        (damage("project.json", '{"version": 1, "candidatesPerSource": 0}'), "candidatesPerSource is 0"),
        (damage("project.json", '{"version": 1, "contextWindow": 0}'), "contextWindow is 0"),
        (damage("project.json", huge('"contextWindow": %s')), "project.json: contextWindow is a number of 4"),
        (damage("project.json", huge('"nextChunkIndex": %s')), "nextChunkIndex"),
        (damage("project.json", huge('"candidatesPerSource": %s')), "candidatesPerSource"),
        (damage("project.json", huge('"chunking": {"method": "fixed", "size": %s}')), "size"),
        (damage("project.json", huge('"chunking": {"overlap": %s}')), "overlap"),
        (damage("project.json", huge('"budget": {"maxTokens": %s}')), "project.json"),
        (damage("documents.jsonl", '{"id": "a", "text": "x", "meta": {"n": 1e999}}'), "1e999 is not a finite"),
        (damage("documents.jsonl", '{"id": "a", "text": "x", "meta": {"n": NaN}}'), "NaN is not a finite"),
        (damage("memories.jsonl", '{"id": "a", "revisions": ["x"]}'), "list of objects"),
        (damage("memories.jsonl", '{"id": "a", "revisions": []}'), "list of objects"),
        (damage("memories.jsonl", '{"id": "a", "text": "x", "recordedAt": 1e400}'), "line 1"),
        (damage("project.json", '{"version": 1, "colour": "red"}'), "colour"),
        (damage("project.json", '{"version": 1, "title": 7}'), "title"),
        (damage("project.json", '{"version": 1, "candidatesPerSource": -1}'), "candidatesPerSource"),
        (damage("project.json", '{"version": 1, "budget": {"ratio": 7}}'), "ratio"),
        (damage("project.json", '{"version": 1, "scope": []}'), "project.json"),
        (damage("documents.jsonl", '{"id": "a"}'), "line 1"),
        (damage("documents.jsonl", '{"id": "a", "text": 7}'), "strings"),
        (damage("documents.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}'), "twice"),
        (damage("documents.jsonl", b"\xff\xfe"), "not UTF-8"),
        (damage("documents.jsonl", "[" * 100_000), "too deep"),
        (damage("documents.jsonl", "7"), "not a JSON object"),
        (damage("chunks.jsonl", '{"document": "a"}'), "chunks"),
        (damage("chunks.jsonl", '{"document": "a", "digest": "", "chunks": [[0, 1]]}'), "three whole numbers"),
        (damage("chunks.jsonl", '{"document": "a", "digest": "", "chunks": [[0,0,1],[0,1,2]]}'), "twice"),
        (damage("memories.jsonl", '{"id": "a"}'), "memories.jsonl, line 1"),
        (damage("memories.jsonl", '{"id": "a", "text": "x", "origin": "guessed"}'), "origin"),
        (damage("memories.jsonl", '{"id": "a", "text": "x\\u0000"}'), "NUL"),
        (damage("memories.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}'), "twice"),
        (damage("memories.jsonl", '{"id": "a", "revisions": 7}'), "memories.jsonl"),
        (damage("chats.jsonl", '{"chatId": ""}'), "chats.jsonl, line 1"),
        (damage("chats.jsonl", '{"chatId": "a", "messages": [{"role": "king", "content": ""}]}'), "role"),
        (damage("conversation.json", "{}"), "JSON list"),
        (damage("conversation.json", "[7]"), "conversation.json"),
        (damage("working_memory.json", '{"version": 9}'), "working_memory.json"),
        (damage("scenarios.jsonl", '{"id": "a"}'), "question"),
        (damage("tools.json", "[{}]"), "without a name"),
        (damage("vectors.npz", b"PK\x03\x04 not a zip"), "Delete it"),
        (damage("vectors.npz", b""), "Delete it"),
    ],
)
def test_a_damaged_project_is_one_typed_error_with_a_remedy(
    demo: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(demo)
    with pytest.raises(ProjectError, match=words) as caught:
        load_project(demo)
    assert caught.value.remedy
    assert str(demo.parent) not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("path", ["", ".", "/", "..", "a\0b", "~nobody-of-that-name/x", "x" * 300, "\ud800"])
def test_an_odd_path_is_a_typed_error(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProjectError) as caught:
        load_project(path)
    assert caught.value.remedy


def test_a_missing_folder_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no project folder 'nowhere'"):
        load_project(tmp_path / "nowhere")


def test_links_that_lead_outside_are_refused(demo: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"id": "secret", "text": "secret"}')
    (demo / "documents.jsonl").unlink()
    (demo / "documents.jsonl").symlink_to(secret)
    with pytest.raises(ProjectError, match="outside the project"):
        load_project(demo)


def test_a_linked_skills_folder_is_refused(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (demo / "skills").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProjectError, match="outside the project"):
        load_project(demo)


def test_vectors_with_pickles_or_wrong_shapes_are_refused(demo: Path) -> None:
    digests = np.zeros((1, 32), np.uint8)
    names = {"model_id": np.array("m"), "weights_digest": np.array("w")}
    for arrays in (
        {"text_digests": digests, "vectors": np.array([{"a": 1}], dtype=object)},
        {"text_digests": digests, "vectors": np.full((1, 4), np.nan, np.float32)},
        {"text_digests": digests, "vectors": np.ones((1, 4), np.float32)},
        {"text_digests": digests, "vectors": np.ones((2, 4), np.float32)},
        {"text_digests": digests.astype(np.float64), "vectors": np.eye(1, 4, dtype=np.float32)},
        {"text_digests": digests},
        {"text_digests": digests, "vectors": np.eye(1, 4, dtype=np.float32), "more": digests},
    ):
        every: dict[str, Any] = {**names, **arrays}
        np.savez(demo / "vectors.npz", **every)
        with pytest.raises(ProjectError, match=r"vectors\.npz is damaged"):
            load_project(demo)


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_vectors_never_run_code(demo: Path, tmp_path: Path) -> None:
    planted = np.array([Planted(tmp_path / "ran")], dtype=object)
    every: dict[str, Any] = dict.fromkeys(("model_id", "weights_digest", "text_digests", "vectors"), planted)
    np.savez(demo / "vectors.npz", **every)
    with pytest.raises(ProjectError, match="damaged"):
        load_project(demo)
    assert not (tmp_path / "ran").exists()


class OtherModel:
    """Another model of the same size: it points every text in one direction."""

    weights_digest = "sha256:0"
    dims = 384

    def __init__(self, model_id: str = "other") -> None:
        self.model_id = model_id

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        return np.eye(1, self.dims, dtype=np.float32).repeat(len(texts), axis=0)


@pytest.mark.parametrize("model_id", ["other", MINILM_ID])
def test_vectors_of_another_model_or_of_other_weights_are_never_compared(demo: Path, model_id: str) -> None:
    project, model = load_project(demo), OtherModel(model_id)
    assert project.vectors.model_id == MINILM_ID
    embedder = project_embedder(project, model)
    assert embedder is not None
    known = project.memories[0].latest.text
    assert known in project.vectors
    assert np.array_equal(embedder.embed([known]), model.embed([known]))
    assert {c.score for c in answers(project, embedder=model, mode="dense")["rag"].candidates} == {1.0}


def test_documents_are_searched_by_words_and_meaning_fused_by_reciprocal_ranks_by_default(demo: Path) -> None:
    project = load_project(demo)
    plain, rrf, convex = (
        chunk_search(project),
        chunk_search(project, fusion="rrf"),
        chunk_search(project, fusion="convex"),
    )
    question = project.query(project.question)
    assert plain(question, 5) == rrf(question, 5)
    assert plain(question, 5) != convex(question, 5)
    assert {chunk.match for chunk in plain(question, 5)} == {"hybrid"}


def test_equal_tables_give_equal_bytes_in_any_order() -> None:
    rows = np.eye(3, 4, dtype=np.float32)
    one = VectorTable.of(["a", "b", "c"], rows, model_id="m", weights_digest="w")
    other = VectorTable.of(["c", "a", "b"], rows[[2, 0, 1]], model_id="m", weights_digest="w")
    assert one.to_bytes() == other.to_bytes()
    known, found = one.known(["c", "z", "a"])
    assert known == [0, 2]
    assert np.array_equal(found, rows[[2, 0]])
    assert "b" in one
    assert "z" not in one


def test_a_document_that_was_edited_never_keeps_its_old_vector(demo: Path) -> None:
    project = load_project(demo)
    assert len(project.chunk_vectors) == 2
    changed = project.corpus.with_documents(
        [Document("rolling-back", "Rolling back", "Something else.")], project.chunking.chunker
    )
    assert len(replace(project, corpus=changed).chunk_vectors) == 1


def test_a_scope_without_a_field_reads_nobodys_memories(demo: Path) -> None:
    head = json.loads((demo / "project.json").read_text())
    head["scope"] = {}
    (demo / "project.json").write_text(json.dumps(head))
    edit(demo / "memories.jsonl", lambda text: text.replace('"id"', '"scope": {"userId": "bob"}, "id"'))
    assert set(answers(load_project(demo))) == {"rag", "skills"}


def test_memories_of_another_person_are_never_offered(demo: Path) -> None:
    line = '{"id": "other", "text": "Releases of Bob run in us-east.", "scope": {"userId": "bob"}}\n'
    edit(demo / "memories.jsonl", lambda text: text + line)
    found = answers(load_project(demo), "releases", mode="lexical")["memory"].candidates
    assert [c.record_id for c in found] == ["region"]


def test_summaries_of_samples_are_those_of_the_samples_and_read_their_heads_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    text = ProjectFolder.text

    def watched(self: ProjectFolder, name: str) -> str | None:
        read.append(name)
        return text(self, name)

    monkeypatch.setattr(ProjectFolder, "text", watched)
    summaries = sample_summaries()
    assert set(read) == {"project.json"}
    loaded = [load_sample(name) for name in sample_projects()]
    assert [(s.name, s.title, s.description) for s in summaries] == [
        (p.name, p.title, p.description) for p in loaded
    ]


def test_the_projects_window_holds_for_its_own_model_and_the_reserve_for_all(demo: Path) -> None:
    project = replace(load_project(demo), context_window=50_000, max_output_tokens=20_000)
    own, other = project.model_for(), project.model_for("openai/gpt-4o")
    assert own == project.model == project.model_for(project.model_id) == project.model_for("claude-opus-5.5")
    assert (own.context_window, own.max_output_tokens) == (50_000, 20_000)
    assert (other.model_id, other.context_window, other.max_output_tokens) == ("gpt-4o", 128_000, 16_384)


def test_a_project_that_names_no_reserve_gives_every_model_the_same(demo: Path) -> None:
    project = replace(load_project(demo), max_output_tokens=None)
    assert project.model.max_output_tokens == project.model_for("gpt-4o").max_output_tokens == 8_000
    assert replace(project, context_window=100).model.max_output_tokens == 100


def test_the_answers_of_sources_compile_to_what_one_call_gives(demo: Path) -> None:
    project = load_project(demo)
    budget = {"max_tokens": 300}
    results = ask_sources(project, "pipeline", mode="lexical", limit=1)
    package = compile_answers(project, results, "pipeline", budget=budget)
    whole = compile_project(project, "pipeline", budget=budget, mode="lexical", limit=1)
    assert package.manifest == whole.manifest
    assert package.xml == whole.xml

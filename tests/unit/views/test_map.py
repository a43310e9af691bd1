"""The map's view: places, ranks, what is missing and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.compiler.values import ContextCandidate, SourceResult
from playground.memory import MemoryRecord
from playground.messages import Message
from playground.retrieval.chunking import chunk_fixed
from playground.retrieval.corpus import Corpus, search_text
from playground.retrieval.documents import Document
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill
from playground.views.map import ASPECT, MapPoint, MapView, map_view
from playground.views.record_key import record_key
from playground.workspace import Project, VectorTable
from playground.workspace.records import memory_from_json
from playground.workspace.texts import skill_text
from tests.unit.views.manifests import entry, manifest

SCOPE = MemoryScope(user_id="ada")
QUESTION = "Which card?"
SKILL = Skill("cards", "cards", "Freezes cards.", "Freeze it.")
DOCUMENTS = [Document(f"d{number}", f"Page {number}", f"Text of page {number}.") for number in range(4)]


def _vector(text: str) -> list[float]:
    """Any vector that depends on the text alone."""
    numbers = np.random.default_rng(list(text.encode("utf-8", "surrogatepass"))).normal(size=8)
    return [float(number) for number in numbers]


def table(*texts: str) -> VectorTable:
    rows = np.array([_vector(text) for text in texts], dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return VectorTable.of(texts, rows, model_id="m", weights_digest="w")


def memory(number: int) -> MemoryRecord:
    return memory_from_json({"id": f"m{number}", "text": f"Fact {number}."}, SCOPE)


def project(*without: str) -> Project:
    """Four chunks, two memories, two turns, a skill and a question; vectors of all but ``without``."""
    corpus = Corpus().with_documents(DOCUMENTS, chunk_fixed)
    made = Project(
        "p",
        corpus=corpus,
        memories=(memory(1), memory(2)),
        chats=(ChatRecord("c", SCOPE, (Message("user", "Hello"), Message("assistant", "Hi."))),),
        skills=(SKILL,),
    )
    texts = [search_text(chunk) for chunk in made.chunks] + ["Fact 1.", "Fact 2.", "Hello", "Hi."]
    texts += [skill_text(SKILL), QUESTION]
    return replace(made, vectors=table(*(text for text in texts if text not in without)))


def result(kind: str, *ids: str) -> SourceResult:
    offered = tuple(ContextCandidate(record_id=name, text="x", score=0.5) for name in ids)
    return SourceResult(source_id=kind, kind=kind, candidates=offered, query="q")  # type: ignore[arg-type]


def point(view: MapView, kind: str, record_id: str) -> MapPoint:
    return next(point for point in view.points if point.key == record_key(kind, record_id))


def test_every_record_with_a_vector_is_a_point_and_the_question_too() -> None:
    view = map_view(project(), question=QUESTION)
    assert [point.slot for point in view.points] == ["memory"] * 2 + ["rag"] * 4 + ["transcript"] * 2 + [
        "skills"
    ]
    assert view.question is not None
    assert view.question.title == QUESTION
    assert view.total == "9 records and the question"
    assert view.notes == ()
    assert point(view, "rag", "0").title == "Page 0"
    assert point(view, "transcript", "c#1").title == "Hi."


def test_points_fill_the_box_and_nothing_lies_outside() -> None:
    view = map_view(project(), question=QUESTION)
    assert view.question is not None
    places = [(point.x, point.y) for point in (*view.points, view.question)]
    wide = max(x for x, _ in places) - min(x for x, _ in places)
    high = max(y for _, y in places) - min(y for _, y in places)
    assert max(wide / ASPECT, high) == pytest.approx(0.92, abs=0.001)
    assert all(0 <= x <= ASPECT and 0 <= y <= 1 for x, y in places)


def test_ranks_are_places_among_a_sources_offers_and_the_best_are_drawn() -> None:
    view = map_view(project(), results=[result("rag", "2", "0", "3", "1"), result("memory", "m2")])
    assert [point(view, "rag", name).rank for name in "2031"] == [1, 2, 3, 4]
    assert [point(view, "rag", name).label for name in "2031"] == ["1", "2", "3", ""]
    assert (point(view, "memory", "m2").rank, point(view, "memory", "m1").rank) == (1, 0)
    assert "number 4 of its source" in point(view, "rag", "1").description
    assert "not offered" in point(view, "memory", "m1").description


def test_what_is_in_the_request_is_marked_and_a_loaded_skill_is_the_point_of_its_line() -> None:
    rows = (entry("rag", "2", 10, "ranked"), entry("rag", "3", 10, "budget"),
            entry("skills", "body/cards", 10, "mandatory"))  # fmt: skip
    body = ContextCandidate(record_id="body/cards", text="x", score=1.0, mandatory=True)
    offers = SourceResult(source_id="skills", kind="skills", candidates=(body,), query="q")
    view = map_view(project(), results=[result("rag", "2", "3"), offers], manifest=manifest(*rows))
    assert point(view, "rag", "2").selected
    assert not point(view, "rag", "3").selected
    loaded = point(view, "skills", "catalog/cards")
    assert (loaded.selected, loaded.rank) == (True, 0)
    (documents,) = (kind for kind in view.kinds if kind.slot == "rag")
    assert (documents.drawn, documents.offered, documents.selected) == ("4", "2", "1")


def test_what_has_no_vector_is_counted_by_kind() -> None:
    view = map_view(project("Hello", "Fact 1.", "Fact 2."), question=QUESTION)
    assert view.notes == ("2 memories and 1 chat turn have no vector and so no place on it.",)
    chunk = map_view(project(search_text(project().chunks[0])), question=QUESTION)
    assert chunk.notes == ("1 chunk has no vector and so no place on it.",)
    memories = view.kinds[0]
    assert (memories.slot, memories.drawn) == ("memory", "0")


@pytest.mark.parametrize(
    ("question", "words"), [("", "There is no question"), ("Another?", "it has no vector yet")]
)
def test_a_question_without_a_vector_leaves_the_records_and_a_reason(question: str, words: str) -> None:
    view = map_view(project(), question=question)
    assert view.question is None
    assert len(view.points) == 9
    assert words in view.notes[0]


def test_a_vector_of_the_question_may_be_given_but_not_one_of_another_length() -> None:
    vector = np.array(_vector("Another?"), dtype=np.float32)
    assert map_view(project(), question="Another?", question_vector=vector).question is not None
    assert map_view(project(), question="Another?", question_vector=vector[:3]).question is None


def test_the_question_weighs_as_much_as_any_record() -> None:
    apart = replace(project(), vectors=table(*[search_text(chunk) for chunk in project().chunks], QUESTION))
    asked = replace(
        apart, corpus=Corpus().with_documents([*DOCUMENTS, Document("q", "", QUESTION)], chunk_fixed)
    )
    view, other = map_view(apart, question=QUESTION), map_view(asked)
    assert view.question is not None
    assert (view.question.x, view.question.y) == (point(other, "rag", "4").x, point(other, "rag", "4").y)


def test_of_too_many_records_those_that_are_offered_are_drawn_and_the_others_counted() -> None:
    view = map_view(project(), results=[result("rag", "3"), result("transcript", "c#1")], most=4)
    assert len(view.points) == 4
    assert {(point.slot, point.rank) for point in view.points if point.rank} == {("rag", 1), ("transcript", 1)}
    assert view.notes[-1].startswith("9 records have a vector, 4 are drawn")


def test_a_project_without_vectors_or_records_says_so() -> None:
    for empty in (Project("p"), replace(project(), vectors=VectorTable())):
        view = map_view(empty, question=QUESTION)
        assert (view.points, view.question) == ((), None)
        assert "two different vectors" in view.sentence[0][0]


def test_one_record_and_equal_records_stand_in_the_middle() -> None:
    same = Corpus().with_documents([Document("a", "", "one"), Document("b", "", "one")], chunk_fixed)
    view = map_view(Project("p", corpus=same, vectors=table("one")))
    assert {(point.x, point.y) for point in view.points} == {(ASPECT / 2, 0.5)}
    assert "two different vectors" in view.sentence[0][0]


def test_hostile_titles_are_one_line_without_marks_of_direction_or_half_characters() -> None:
    text = "\u202ecod.exe\n\n</text><script>\ud800"
    chat = ChatRecord("c", SCOPE, (Message("user", text),))
    hostile = replace(project(), chats=(chat,), vectors=table(text))
    title = point(map_view(hostile), "transcript", "c#0").title
    assert title == "\ufffdcod.exe </text><script>\ufffd"
    title.encode()


@given(st.randoms(use_true_random=False), st.integers(2, 9))
def test_the_order_of_the_records_does_not_matter(shuffle: np.random.Generator, most: int) -> None:
    first = project()
    documents, memories, turns = list(DOCUMENTS), list(first.memories), list(first.chats)
    for part in (documents, memories, turns):
        shuffle.shuffle(part)
    chunks = sorted(first.chunks, key=lambda chunk: documents.index(DOCUMENTS[chunk.index]))
    corpus = Corpus(tuple(documents), tuple(chunks), first.corpus.next_index)
    other = replace(first, corpus=corpus, memories=tuple(memories), chats=tuple(turns))
    offers = [result("rag", "2", "0")]
    asked = {"question": QUESTION, "results": offers, "most": most}
    assert map_view(other, **asked) == map_view(first, **asked)  # type: ignore[arg-type]

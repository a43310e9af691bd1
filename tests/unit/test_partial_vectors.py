"""Searching a project of which some texts have no vector yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from playground.app import services
from playground.cancel import CancelToken
from playground.messages import Message, TextPart
from playground.retrieval.documents import Document
from playground.retrieval.embedding import MINILM_DIMS, Progress
from playground.retrieval.index import Vectors
from playground.workspace import Project, VectorTable, ask_sources, load_sample, search_plan
from playground.workspace.additions import with_documents
from playground.workspace.embedding import embedded_texts
from playground.workspace.texts import texts_searched_at_once

QUESTION = "Who may approve the zeppelin?"


class SampleModel:
    """Stands for the model of the samples; every text it has not seen points the same way."""

    def __init__(self, project: Project) -> None:
        self.model_id = project.vectors.model_id
        self.weights_digest = project.vectors.weights_digest
        self.dims = MINILM_DIMS
        self.asked: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self.asked += texts
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        rows[:, 0] = 1
        return rows


@pytest.fixture
def project() -> Project:
    texts = [Document(name, name, "The zeppelin is approved by Ada.") for name in ("one", "two")]
    return with_documents(load_sample("deploy-demo"), texts).project


@pytest.fixture
def model(project: Project) -> SampleModel:
    return SampleModel(project)


def test_the_question_alone_is_embedded_and_new_chunks_are_found_by_words(
    project: Project, model: SampleModel
) -> None:
    results = ask_sources(project, QUESTION, embedder=model, embed_chunks=False)
    found = {result.source_id: result.candidates for result in results}["rag"]
    assert set(model.asked) == {project.query(QUESTION)}
    assert {candidate.match for candidate in found} == {"hybrid"}
    assert sum("zeppelin" in candidate.text for candidate in found) == 2
    assert len(found) > 2


def test_chunks_are_embedded_where_nobody_asked_to_leave_them(project: Project, model: SampleModel) -> None:
    ask_sources(project, QUESTION, embedder=model)
    assert any("approved by Ada" in text for text in model.asked)


@pytest.mark.parametrize(
    ("mode", "rest"), [("hybrid", "found by words only"), ("dense", "not found by meaning alone")]
)
def test_the_plan_counts_texts_and_the_chunks_they_concern(
    project: Project, model: SampleModel, mode: str, rest: str
) -> None:
    query = project.query(QUESTION)
    plan = search_plan(project, query, embedder=model, mode=mode, embed_chunks=False)  # type: ignore[arg-type]
    assert plan.mode == mode
    assert plan.notice == f"2 texts still need a vector: 2 of 4 chunks are {rest} until then."


def test_a_model_that_made_none_of_the_vectors_leaves_chunks_to_words(
    project: Project, model: SampleModel
) -> None:
    model.model_id = "other"
    results = ask_sources(project, QUESTION, embedder=model, embed_chunks=False)
    found = {result.source_id: result.candidates for result in results}["rag"]
    assert {candidate.match for candidate in found} == {"lexical"}


@pytest.fixture
def with_a_blank_turn() -> Project:
    sample = load_sample("bank-support")
    first, *others = sample.chats
    blank = Message("user", (TextPart(" \n "),))
    chats = (replace(first, messages=(*first.messages, blank)), *others)
    return replace(sample, chats=chats)


def test_a_blank_chat_turn_needs_no_model(with_a_blank_turn: Project) -> None:
    project = with_a_blank_turn
    assert texts_searched_at_once(project) == texts_searched_at_once(load_sample("bank-support"))
    assert embedded_texts(project) == embedded_texts(load_sample("bank-support"))
    assert not services._needs_model(project, project.query(project.question))
    assert services._needs_model(project, project.query(QUESTION))


def test_a_blank_chat_turn_is_neither_embedded_nor_offered(with_a_blank_turn: Project) -> None:
    model = SampleModel(with_a_blank_turn)
    results = ask_sources(with_a_blank_turn, with_a_blank_turn.question, embedder=model)
    assert model.asked == []
    assert all(candidate.text.strip() for result in results for candidate in result.candidates)
    assert results == ask_sources(load_sample("bank-support"), with_a_blank_turn.question, embedder=model)


def test_what_is_searched_at_once_is_what_the_sources_ask_the_model_for() -> None:
    project = load_sample("bank-support")
    bare = replace(project, vectors=VectorTable())
    model = SampleModel(project)
    ask_sources(bare, QUESTION, embedder=model, embed_chunks=False)
    assert set(model.asked) == {project.query(QUESTION), *texts_searched_at_once(project)}

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import (
    EmbeddingUnavailableError,
    InvalidInputError,
    InvalidRequestError,
    StaleRevisionError,
)
from playground.memory import InMemoryMemoryStore, MemoryScope, MemorySession, MemorySourceRef
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors

T = TypeVar("T")
ADA = MemoryScope(user_id="ada")


def run(awaitable: Awaitable[T]) -> T:
    async def main() -> T:
        return await awaitable

    return asyncio.run(main())


class Clock:
    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


class WordEmbedder:
    """Looks for two words: enough to tell meaning apart without a model."""

    model_id = "two-words"
    weights_digest = "sha256:0"
    dims = 3

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self.embedded += texts
        rows = [[text.count("ship") + text.count("deploy"), text.count("cat"), 0.01] for text in texts]
        made = np.asarray(rows, dtype=np.float32)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock) -> MemorySession:
    return MemorySession(InMemoryMemoryStore(), ADA, clock=clock)


@pytest.mark.parametrize("scope", [MemoryScope(), MemoryScope(user_id="")])
def test_a_session_without_any_scope_field_is_refused(scope: MemoryScope) -> None:
    with pytest.raises(InvalidRequestError, match="at least one field"):
        MemorySession(store=InMemoryMemoryStore(), scope=scope)


def test_a_first_memory_is_revision_one_asserted_by_the_host(session: MemorySession) -> None:
    record = run(session.remember(text="Every deploy goes to eu-west."))
    first = record.latest
    assert (first.revision, first.origin, first.writer, first.kind) == (1, "asserted", "host", "semantic")
    assert first.sources == (MemorySourceRef(kind="host"),)
    assert first.recorded_at == 1_000
    assert record.scope == ADA
    assert len(record.id) == 36


def test_ids_differ_unless_they_are_given(session: MemorySession) -> None:
    made = {run(session.remember("a")).id, run(session.remember("a")).id, run(session.remember("a", id="x")).id}
    assert len(made) == 3
    assert "x" in made


@pytest.mark.parametrize("text", ["", " \n", "a\x00", "\ud800", None, 7])
def test_what_cannot_be_kept_is_refused_and_nothing_is_kept(session: MemorySession, text: Any) -> None:
    with pytest.raises(InvalidInputError):
        run(session.remember(text))
    assert run(session.list()) == ()


def test_the_seeds_question_recalls_the_seeds_memory(session: MemorySession) -> None:
    record = run(session.remember(text="Every deploy goes to eu-west."))
    found = run(session.recall("How do I deploy?"))
    assert [(memory.id, memory.text, memory.score) for memory in found] == [
        (record.id, record.latest.text, 1.0)
    ]
    assert found.ranking == "lexical"


def test_recall_ranks_by_words_ties_by_id_and_leaves_out_what_has_nothing_in_common(
    session: MemorySession,
) -> None:
    for name, text in (("b", "deploy"), ("a", "deploy"), ("c", "deploy with care on Fridays"), ("d", "cats")):
        run(session.remember(text, id=name))
    found = run(session.recall("Deploy!", 10))
    assert [memory.id for memory in found] == ["a", "b", "c"]
    assert found[0].score == found[1].score == 1.0 > found[2].score > 0
    assert found[2].score == round(found[2].score, 6)
    assert [memory.id for memory in run(session.recall("deploy", 1))] == ["a"]
    assert [memory.id for memory in run(session.recall("deploy", min_score=0.9))] == ["a", "b"]


@pytest.mark.parametrize("query", ["", "  ", "zebra", "?!"])
def test_a_query_that_matches_nothing_finds_nothing(session: MemorySession, query: str) -> None:
    run(session.remember("deploy"))
    assert len(run(session.recall(query))) == 0


def test_a_negative_k_is_refused_and_zero_finds_nothing(session: MemorySession) -> None:
    run(session.remember("deploy"))
    assert len(run(session.recall("deploy", 0))) == 0
    with pytest.raises(InvalidInputError):
        run(session.recall("deploy", -1))


def test_recall_sees_only_the_newest_revision_or_the_newest_of_its_time(
    session: MemorySession, clock: Clock
) -> None:
    run(session.remember("deploy to eu-west", id="r"))
    clock.now = 2_000
    run(session.revise("r", "ship to eu-north", expected_revision=1))
    assert len(run(session.recall("deploy west"))) == 0
    assert run(session.recall("ship"))[0].revision.revision == 2
    assert run(session.recall("deploy", recorded_as_of=1_999))[0].revision.revision == 1
    assert len(run(session.recall("deploy", recorded_as_of=999))) == 0


def test_expired_and_invalid_memories_are_hidden_at_their_time(session: MemorySession, clock: Clock) -> None:
    run(session.remember("deploy", id="expires", expires_at=2_000))
    run(session.remember("deploy", id="begins", valid_from=2_000))
    run(session.remember("deploy", id="ends", valid_to=2_000))
    assert [memory.id for memory in run(session.recall("deploy"))] == ["ends", "expires"]
    clock.now = 2_000
    assert [memory.id for memory in run(session.recall("deploy"))] == ["begins"]
    assert [memory.id for memory in run(session.recall("deploy", recorded_as_of=1_500))] == ["ends", "expires"]
    assert [record.id for record in run(session.list())] == ["begins"]
    assert len(run(session.list(include_hidden=True))) == 3


def test_recall_and_list_can_be_limited_to_kinds(session: MemorySession) -> None:
    run(session.remember("deploy", id="a", kind="episodic"))
    run(session.remember("deploy", id="b", kind="procedural"))
    assert [memory.id for memory in run(session.recall("deploy", kinds=["procedural"]))] == ["b"]
    assert [record.id for record in run(session.list(kinds=["episodic"]))] == ["a"]


def test_a_revision_keeps_what_it_does_not_change(session: MemorySession) -> None:
    run(session.remember("one", id="r", kind="episodic", importance=0.5, expires_at=9_000, origin="observed"))
    changed = run(session.revise("r", "two", expected_revision=1, importance=None, writer="model")).latest
    assert (changed.text, changed.kind, changed.expires_at, changed.origin) == (
        "two",
        "episodic",
        9_000,
        "observed",
    )
    assert (changed.importance, changed.writer) == (None, "model")
    assert [one.text for one in run(session.history("r"))] == ["one", "two"]


def test_a_stale_revision_is_refused(session: MemorySession) -> None:
    run(session.remember("one", id="r"))
    run(session.revise("r", "two", expected_revision=1))
    with pytest.raises(StaleRevisionError) as caught:
        run(session.revise("r", "three", expected_revision=1))
    assert caught.value.actual_revision == 2
    with pytest.raises(InvalidRequestError):
        run(session.revise("unknown", "x", expected_revision=1))


def test_two_sessions_of_one_store_do_not_see_each_other() -> None:
    store = InMemoryMemoryStore()
    ada, bob = MemorySession(store, ADA), MemorySession(store, {"user_id": "bob"})
    run(ada.remember("deploy", id="r"))
    assert len(run(bob.recall("deploy"))) == 0
    assert run(bob.history("r")) == ()
    assert run(bob.forget("r")) == ()
    assert len(run(ada.recall("deploy"))) == 1


def test_recall_can_be_narrowed_but_not_widened(session: MemorySession) -> None:
    run(session.remember("deploy", id="user"))
    chat = MemorySession(session.store, MemoryScope(user_id="ada", chat_id="c"))
    run(chat.remember("deploy", id="chat"))
    found = run(session.recall("deploy", scope=MemoryScope(chat_id="c")))
    assert [memory.id for memory in found] == ["chat"]
    with pytest.raises(InvalidInputError):
        run(session.recall("deploy", scope=MemoryScope(user_id="bob")))


def test_forgetting_hides_every_revision_at_every_time_and_gives_the_ids(
    session: MemorySession, clock: Clock
) -> None:
    run(session.remember("deploy", id="r"))
    clock.now = 3_000
    assert run(session.forget("r")) == run(session.forget("r")) == ("r",)
    assert run(session.forget("unknown")) == ()
    assert run(session.history("r")) == ()
    assert run(session.list(include_hidden=True)) == ()
    assert len(run(session.recall("deploy", recorded_as_of=1_000))) == 0
    assert [stone.forgotten_at for stone in run(session.tombstones())] == [3_000]


def test_forgetting_takes_a_filter_and_refuses_none(session: MemorySession, clock: Clock) -> None:
    run(session.remember("old", id="a", kind="working"))
    clock.now = 2_000
    run(session.remember("new", id="b", kind="working"))
    run(session.remember("new", id="c"))
    assert run(session.forget(kinds=["working"], recorded_before=2_000)) == ("a",)
    assert run(session.forget(kinds=["working"])) == ("b",)
    assert run(session.forget(recorded_before=9_000)) == ("c",)
    with pytest.raises(InvalidRequestError):
        run(session.forget())


def test_an_embedder_ranks_by_meaning_and_embeds_each_text_once(session: MemorySession) -> None:
    embedder = WordEmbedder()
    meaning = MemorySession(session.store, ADA, embedder=embedder)
    for name, text in (("a", "we ship daily"), ("b", "the cat sleeps")):
        run(session.remember(text, id=name))
    found = run(meaning.recall("how to deploy", 1))
    assert (found.ranking, [memory.id for memory in found]) == ("cosine", ["a"])
    assert 0.99 < found[0].score <= 1
    run(meaning.recall("where to deploy", 1))
    assert sorted(embedder.embedded) == ["how to deploy", "the cat sleeps", "we ship daily", "where to deploy"]


def test_forgetting_drops_the_vector_made_of_the_text(session: MemorySession) -> None:
    embedder = WordEmbedder()
    meaning = MemorySession(session.store, ADA, embedder=embedder)
    run(session.remember("we ship daily", id="a"))
    run(meaning.recall("deploy"))
    run(meaning.forget("a"))
    run(session.remember("we ship daily", id="again"))
    run(meaning.recall("deploy"))
    assert embedder.embedded.count("we ship daily") == 2


class MissingEmbedder(WordEmbedder):
    """Stands for a model that cannot be fetched."""

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        raise EmbeddingUnavailableError("There is no such model.", model="x")


def test_a_model_that_cannot_be_loaded_leaves_recall_by_words_working(session: MemorySession) -> None:
    run(session.remember("deploy", id="r"))
    found = run(MemorySession(session.store, ADA, embedder=MissingEmbedder()).recall("deploy"))
    assert (found.ranking, [memory.id for memory in found]) == ("lexical", ["r"])

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.digests import text_digest
from playground.errors import (
    EmbeddingUnavailableError,
    InvalidInputError,
    InvalidRequestError,
    StaleRevisionError,
)
from playground.memory import (
    InMemoryMemoryStore,
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    MemorySession,
    MemorySourceRef,
    RecallResult,
)
from playground.retrieval.embedding import Progress
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache
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


class CachingEmbedder(WordEmbedder):
    """Keeps what it embedded, as an embedder with a cache on disk does."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: set[str] = set()

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self.kept |= set(texts)
        return super().embed(texts)

    def forget(self, texts: Sequence[str]) -> int:
        before = len(self.kept)
        self.kept -= set(texts)
        return before - len(self.kept)


def test_forgetting_drops_the_vectors_of_every_revision_from_a_caching_embedder(session: MemorySession) -> None:
    embedder = CachingEmbedder()
    meaning = MemorySession(session.store, ADA, embedder=embedder)
    run(meaning.remember("ship one", id="a"))
    run(meaning.recall("deploy"))
    run(meaning.revise("a", "ship two", expected_revision=1))
    run(meaning.remember("ship other", id="b"))
    run(meaning.recall("deploy"))
    run(meaning.forget("a"))
    assert embedder.kept == {"deploy", "ship other"}


def test_forgetting_reaches_a_real_cache_on_disk(session: MemorySession, tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "vectors.sqlite")
    meaning = MemorySession(session.store, ADA, embedder=CachedEmbedder(WordEmbedder(), cache))
    run(meaning.remember("ship secretly", id="a"))
    run(meaning.recall("deploy"))
    assert len(cache) == 2
    run(meaning.forget("a"))
    assert len(cache) == 1


def test_an_embedder_that_cannot_drop_its_vectors_leaves_the_memory_so_that_one_can_try_again(
    session: MemorySession,
) -> None:
    class Locked(CachingEmbedder):
        locked = True

        def forget(self, texts: Sequence[str]) -> int:
            if self.locked:
                raise InvalidRequestError("The cache is locked.")
            return super().forget(texts)

    embedder = Locked()
    meaning = MemorySession(session.store, ADA, embedder=embedder)
    run(meaning.remember("ship", id="a"))
    run(meaning.recall("deploy"))
    with pytest.raises(InvalidRequestError, match="locked"):
        run(meaning.forget("a"))
    assert [record.id for record in run(meaning.list())] == ["a"]
    embedder.locked = False
    assert run(meaning.forget("a")) == ("a",)
    assert embedder.kept == {"deploy"}


def test_a_memory_forgotten_while_it_is_recalled_is_neither_returned_nor_kept_as_a_vector(
    session: MemorySession,
) -> None:
    embedding, forgotten = threading.Event(), threading.Event()

    class Slow(CachingEmbedder):
        def embed(
            self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
        ) -> Vectors:
            embedding.set()
            assert forgotten.wait(10)
            return super().embed(texts)

    embedder = Slow()
    meaning = MemorySession(session.store, ADA, embedder=embedder)
    run(meaning.remember("ship secretly", id="a"))
    run(meaning.remember("ship daily", id="b"))

    async def both() -> RecallResult:
        recall = asyncio.create_task(meaning.recall("deploy"))
        await asyncio.to_thread(embedding.wait, 10)
        await session.forget("a")
        forgotten.set()
        return await recall

    assert [memory.id for memory in run(both())] == ["b"]
    assert embedder.kept == {"deploy", "ship daily"}
    run(session.remember("ship secretly", id="again"))
    run(meaning.recall("deploy"))
    assert embedder.embedded.count("ship secretly") == 2


def test_forgetting_in_one_session_drops_the_vectors_of_all_others(session: MemorySession) -> None:
    embedder = WordEmbedder()
    first, second = (MemorySession(session.store, ADA, embedder=embedder) for _ in range(2))
    run(first.remember("ship secretly", id="a"))
    run(first.recall("deploy"))
    run(second.forget("a"))
    run(session.remember("ship secretly", id="again"))
    run(first.recall("deploy"))
    assert embedder.embedded.count("ship secretly") == 2


def test_a_recorded_vector_that_cannot_stand_beside_the_others_is_made_anew(session: MemorySession) -> None:
    for at, embedding in enumerate([(1.0,), (5.0, 0.0, 0.0)]):
        text = f"ship {at}"
        revision = MemoryRevision(
            revision=1,
            text=text,
            digest=text_digest(text),
            recorded_at=1,
            embedding=embedding,
            embedding_model_id="two-words",
        )
        run(session.store.insert(MemoryRecord(id=str(at), scope=ADA, revisions=(revision,))))
    found = run(MemorySession(session.store, ADA, embedder=WordEmbedder()).recall("deploy"))
    assert (found.ranking, len(found)) == ("cosine", 2)


def test_a_recorded_vector_of_another_model_is_never_compared(session: MemorySession) -> None:
    for name, text in (("cat", "the cat sleeps"), ("ship", "ship on Fridays")):
        # Where "cat" stands, another model has "ship".
        wrong, model = (0.0, 1.0, 0.0) if name == "ship" else (1.0, 0.0, 0.0), "another"
        revision = MemoryRevision(
            revision=1,
            text=text,
            digest=text_digest(text),
            recorded_at=1,
            embedding=wrong,
            embedding_model_id=model,
        )
        run(session.store.insert(MemoryRecord(id=name, scope=ADA, revisions=(revision,))))
    found = run(MemorySession(session.store, ADA, embedder=WordEmbedder()).recall("deploy", 1))
    assert [memory.id for memory in found] == ["ship"]


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.recall(None),
        lambda s: s.recall(b"x"),
        lambda s: s.recall("x", 1.5),
        lambda s: s.recall("x", "5"),
        lambda s: s.recall("x", True),
        lambda s: s.recall("x", min_score=float("nan")),
        lambda s: s.recall("x", min_score="0.5"),
        lambda s: s.recall("x", min_score=2),
        lambda s: s.recall("x", kinds="semantic"),
        lambda s: s.recall("x", kinds=["semantc"]),
        lambda s: s.recall("x", kinds=5),
        lambda s: s.recall("x", scope="ada"),
        lambda s: s.recall("x", recorded_as_of=1.5),
        lambda s: s.recall("x", recorded_as_of="now"),
        lambda s: s.list(kinds="semantic"),
        lambda s: s.history(None),
        lambda s: s.history([]),
        lambda s: s.remember("x", sources=5),
        lambda s: s.remember("x", sources="user"),
        lambda s: s.remember("x", sources={"kind": "user"}),
        lambda s: s.remember("x", id=5),
        lambda s: s.remember("x", importance=float("nan")),
        lambda s: s.revise("r", "x", expected_revision="1"),
        lambda s: s.revise(5, "x", expected_revision=1),
        lambda s: s.revise("r", "x", expected_revision=1, sources=5),
        lambda s: s.forget(5),
        lambda s: s.forget(["r"]),
        lambda s: s.forget(kinds="semantic"),
        lambda s: s.forget(recorded_before="yesterday"),
    ],
)
def test_a_malformed_argument_is_told_at_once_and_changes_nothing(
    session: MemorySession, call: Callable[[Any], Awaitable[Any]]
) -> None:
    run(session.remember("kept", id="r"))
    with pytest.raises(InvalidInputError) as caught:
        run(call(session))
    assert caught.value.remedy
    assert [record.latest.revision for record in run(session.list())] == [1]


@pytest.mark.parametrize(("store", "scope"), [(None, ADA), ("store", ADA), (InMemoryMemoryStore(), "ada")])
def test_a_session_of_something_else_is_refused(store: Any, scope: Any) -> None:
    with pytest.raises(InvalidInputError):
        MemorySession(store, scope)

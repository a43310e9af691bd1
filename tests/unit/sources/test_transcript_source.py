from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest

from playground import ContextCandidate, create_working_memory
from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError, InvalidInputError, InvalidRequestError
from playground.messages import Message, as_messages
from playground.retrieval.embedding import Progress
from playground.retrieval.fusion import convex
from playground.retrieval.hits import Hit
from playground.retrieval.index import Vectors
from playground.retrieval.lexical import LexicalIndex
from playground.scope import MemoryScope
from playground.sources import ChatRecord, InMemoryChatStore, TranscriptSource
from playground.sources.transcript import WithEmbedder, smoothed
from tests.builders import compiled, offer
from tests.unit.sources.helpers import ask, run

ADA = MemoryScope(user_id="ada")
TEXTS = ("How do I deploy?", "Open a pull request first.", "And on Fridays?", "We never deploy on Fridays.")


def chat(name: str, *texts: str, scope: MemoryScope = ADA) -> ChatRecord:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return ChatRecord(chat_id=name, scope=scope, messages=as_messages(messages))


@pytest.fixture
def store() -> InMemoryChatStore:
    return InMemoryChatStore([chat("c1", *TEXTS), chat("c2", "My cat sleeps.", "Good.")])


def ids(found: Sequence[Any]) -> list[str]:
    return [one.record_id for one in found]


def test_id_defaults_to_the_kind_and_required_to_false_R183(store: InMemoryChatStore) -> None:
    source = TranscriptSource(store=store, scope=ADA)
    assert (source.id, source.kind, source.required) == ("transcript", "transcript", False)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_scores_are_bm25_by_its_best_smoothed_over_neighbours(store: InMemoryChatStore, weight: float) -> None:
    texts = {f"c1#{at}": text for at, text in enumerate(TEXTS)}
    texts |= {"c2#0": "My cat sleeps.", "c2#1": "Good."}
    own = dict(LexicalIndex(texts.values(), list(texts)).search("deploy fridays"))
    best = max(own.values())
    line = [0.0, *(own.get(f"c1#{at}", 0.0) / best for at in range(4)), 0.0]
    expected = {
        f"c1#{at}": (line[at + 1] + weight * (line[at] + line[at + 2])) / (1 + 2 * weight) for at in range(4)
    }
    found = ask(TranscriptSource(store=store, scope=ADA, neighbour_weight=weight), "deploy fridays")
    wanted = {name: score for name, score in expected.items() if score > 0}
    assert {one.record_id: one.score for one in found} == pytest.approx(wanted, abs=2e-6)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(one.match == "lexical" for one in found)


def test_smoothing_counts_a_missing_neighbour_as_zero_and_stays_within_one() -> None:
    assert smoothed([1.0, 1.0, 1.0], 0.4) == [round(1.4 / 1.8, 6), 1.0, round(1.4 / 1.8, 6)]
    assert smoothed([1.0], 0.4) == [round(1 / 1.8, 6)]
    assert smoothed([], 0.4) == []
    assert smoothed([0.5, 0.25], 0.0) == [0.5, 0.25]


def test_neighbours_are_those_of_the_same_chat(store: InMemoryChatStore) -> None:
    assert ids(ask(TranscriptSource(store=store, scope=ADA), "cat")) == ["c2#0", "c2#1"]


def test_who_spoke_is_the_provenance(store: InMemoryChatStore) -> None:
    found = ask(TranscriptSource(store=store, scope=ADA), "cat")
    assert [one.provenance.source_kinds for one in found if one.provenance] == [("user",), ("model",)]


def test_only_the_roles_asked_for_are_offered(store: InMemoryChatStore) -> None:
    found = ask(TranscriptSource(store=store, scope=ADA, roles=("assistant",)), "deploy fridays")
    assert set(ids(found)) == {"c1#1", "c1#3"}


def test_the_current_chat_and_messages_of_the_request_are_left_out_R191(store: InMemoryChatStore) -> None:
    assert ask(TranscriptSource(store=store, scope=ADA, exclude_chat_id="c2"), "cat") == []
    request = [{"role": "user", "content": [{"type": "text", "text": "How do I deploy?"}]}]
    found = ask(TranscriptSource(store=store, scope=ADA), "deploy", messages=request)
    assert "c1#0" not in ids(found)
    assert "c1#3" in ids(found)


def test_a_tool_call_is_offered_with_its_result_under_one_id() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ci", "input": {}}]}
    result = {"role": "tool", "content": [{"type": "tool_result", "toolUseId": "t", "result": "green build"}]}
    record = ChatRecord("c", ADA, as_messages([call, result]))
    (found,) = ask(TranscriptSource(store=InMemoryChatStore([record]), scope=ADA), "green")
    assert (found.record_id, found.text) == ("c#0", "[ci] {}\ngreen build")
    assert found.provenance is not None
    assert found.provenance.source_kinds == ("model", "tool")


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 1, 2, 3)], ids=["in turn", "both at once"])
def test_calls_that_share_an_id_keep_their_own_results(order: tuple[int, ...]) -> None:
    def call(name: str) -> dict[str, Any]:
        use = {"type": "tool_use", "id": "call_0", "name": name, "input": {}}
        return {"role": "assistant", "content": [use]}

    def result(text: str) -> dict[str, Any]:
        return {"role": "tool", "content": [{"type": "tool_result", "toolUseId": "call_0", "result": text}]}

    parts = [call("first"), call("second"), result("build green"), result("build red")]
    record = ChatRecord("c", ADA, as_messages([parts[at] for at in order]))
    found = ask(TranscriptSource(store=InMemoryChatStore([record]), scope=ADA), "build")
    assert {one.text for one in found} == {"[first] {}\nbuild green", "[second] {}\nbuild red"}


def test_a_result_without_a_call_is_a_position_of_its_own() -> None:
    answer = {"type": "tool_result", "toolUseId": "gone", "result": "build green"}
    record = ChatRecord("c", ADA, as_messages([{"role": "tool", "content": [answer]}]))
    (found,) = ask(TranscriptSource(store=InMemoryChatStore([record]), scope=ADA, roles=("tool",)), "build")
    assert (found.record_id, found.text) == ("c#0", "build green")


def test_blocks_of_a_compiler_that_a_host_stored_are_no_past_messages() -> None:
    package = compiled(
        offer(ContextCandidate("secret", "deploy with the old key", 1.0)),
        working_memory=create_working_memory(scope="s", goal="deploy", now=1),
    )
    stored = [Message("user", "How to deploy?"), *(block.messages[0] for block in package.blocks)]
    assert len(stored) == 3
    record = ChatRecord("c", ADA, tuple(stored))
    assert ids(ask(TranscriptSource(store=InMemoryChatStore([record]), scope=ADA), "deploy key")) == ["c#0"]


def test_at_most_the_limit_is_offered_and_ties_end_in_the_id() -> None:
    store = InMemoryChatStore([chat(name, "deploy") for name in ("b", "a", "c")])
    assert ids(ask(TranscriptSource(store=store, scope=ADA), "deploy", limit=2)) == ["a#0", "b#0"]


def test_ties_within_a_chat_end_in_the_id_as_text_too() -> None:
    store = InMemoryChatStore([chat("c", *["deploy"] * 12)])
    found = ids(ask(TranscriptSource(store=store, scope=ADA, neighbour_weight=0), "deploy"))
    assert found == sorted(found)
    assert found[:4] == ["c#0", "c#1", "c#10", "c#11"]


def test_only_the_pinned_scope_is_read_and_a_request_may_narrow_it_R184_R185_R186() -> None:
    first = chat("one", "deploy", scope=MemoryScope(user_id="ada", agent_id="x"))
    store = InMemoryChatStore(
        [first, chat("two", "deploy"), chat("bobs", "deploy", scope=MemoryScope(user_id="bob"))]
    )
    source = TranscriptSource(store=store, scope={"user_id": "ada"})
    assert ids(ask(source, "deploy")) == ["one#0", "two#0"]
    assert ids(ask(source, "deploy", scope=MemoryScope(agent_id="x"))) == ["one#0"]
    with pytest.raises(InvalidInputError):
        ask(source, "deploy", scope=MemoryScope(user_id="bob"))
    with pytest.raises(InvalidRequestError):
        TranscriptSource(store=store, scope=MemoryScope())


@pytest.mark.parametrize("query", ["", " ", "zebra"])
def test_a_query_that_matches_nothing_finds_nothing(store: InMemoryChatStore, query: str) -> None:
    assert ask(TranscriptSource(store=store, scope=ADA), query) == []


@pytest.mark.parametrize("weight", [-0.1, float("nan")])
def test_a_negative_weight_is_refused(store: InMemoryChatStore, weight: float) -> None:
    with pytest.raises(InvalidInputError):
        TranscriptSource(store=store, scope=ADA, neighbour_weight=weight)


class LengthEmbedder:
    """Places texts on an arc by their length: a stand-in whose cosines are known."""

    model_id = "length"
    weights_digest = "sha256:0"
    dims = 2

    def __init__(self, *, missing: bool = False) -> None:
        self.embedded: list[str] = []
        self._missing = missing

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        if self._missing:
            raise EmbeddingUnavailableError("There is no such model.", model="x")
        self.embedded += texts
        angles = np.asarray([len(text) / 100 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_with_an_embedder_words_and_meaning_are_fused(store: InMemoryChatStore) -> None:
    source = TranscriptSource(store=store, scope=ADA, embedder=LengthEmbedder(), neighbour_weight=0)
    found = ask(source, "deploy")
    texts = {f"c1#{at}": text for at, text in enumerate(TEXTS)} | {"c2#0": "My cat sleeps.", "c2#1": "Good."}
    near = [Hit(name, float(np.cos((len(text) - 6) / 100))) for name, text in texts.items()]
    expected = convex(LexicalIndex(texts.values(), list(texts)).search("deploy"), near)
    assert ids(found) == [hit.id for hit in expected]
    assert [one.score for one in found] == pytest.approx([hit.score for hit in expected], abs=2e-6)
    assert found[0].match == "hybrid"


def test_a_dense_search_ranks_by_the_cosine_alone_and_smooths_it(store: InMemoryChatStore) -> None:
    near = [float(np.cos((len(text) - 6) / 100)) for text in TEXTS]
    expected = {f"c1#{at}": score for at, score in enumerate(smoothed(near, 0.4))}
    found = ask(TranscriptSource(store=store, scope=ADA, embedder=LengthEmbedder(), mode="dense"), "deploy")
    scores = {one.record_id: one.score for one in found}
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=2e-6)
    assert "c2#0" in scores  # shares no word with the query
    assert {one.match for one in found} == {"dense"}


def test_a_search_of_another_name_is_refused(store: InMemoryChatStore) -> None:
    with pytest.raises(InvalidInputError, match="hybrid or dense"):
        TranscriptSource(store=store, scope=ADA, mode="lexical")  # type: ignore[arg-type]


def test_a_blank_message_is_neither_embedded_nor_offered_for_its_neighbours() -> None:
    store, embedder = (
        InMemoryChatStore([chat("c1", "How do I deploy?", " \n ", "Deploy it.")]),
        LengthEmbedder(),
    )
    assert ids(ask(TranscriptSource(store=store, scope=ADA), "deploy")) == ["c1#2", "c1#0"]
    assert set(ids(ask(TranscriptSource(store=store, scope=ADA, embedder=embedder), "deploy"))) == {
        "c1#0",
        "c1#2",
    }
    assert not any(not text.strip() for text in embedder.embedded)


def test_texts_are_embedded_once_and_deleted_chats_lose_their_vectors(store: InMemoryChatStore) -> None:
    embedder = LengthEmbedder()
    source = TranscriptSource(store=store, scope=ADA, embedder=embedder)
    ask(source, "deploy")
    ask(source, "deploy")
    assert embedder.embedded.count("My cat sleeps.") == 1
    run(store.delete_chat("c2"))
    ask(source, "deploy")
    run(store.save_chat(chat("c2", "My cat sleeps.")))
    ask(source, "deploy")
    assert embedder.embedded.count("My cat sleeps.") == 2


def test_a_model_that_cannot_be_loaded_leaves_search_by_words(store: InMemoryChatStore) -> None:
    plain = ask(TranscriptSource(store=store, scope=ADA), "deploy")
    for mode in get_args(WithEmbedder):
        source = TranscriptSource(store=store, scope=ADA, embedder=LengthEmbedder(missing=True), mode=mode)
        assert ask(source, "deploy") == plain

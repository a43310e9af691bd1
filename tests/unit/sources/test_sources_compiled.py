"""Sources under a compiler: budgets, scopes and charges as a whole step sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pytest

from playground import (
    ContextCandidate,
    ContextCompiler,
    ContextSource,
    ContextSourceRequest,
    InMemoryMemoryStore,
    InvalidInputError,
    MemoryScope,
    MemorySession,
    MemorySource,
    RagSource,
    SkillsSource,
    TranscriptSource,
)
from playground.compiler.values import Kind
from playground.concurrency import run_sync
from playground.messages import as_messages
from playground.retrieval.chunking import Chunk
from playground.retrieval.index import ExactIndex, Vectors
from playground.retrieval.search import ChunkSearch
from playground.sources import ChatRecord, InMemoryChatStore, SkillRegistry
from tests.host import QUESTION, call, step
from tests.unit.retrieval.ledger import Ledger

ADA = MemoryScope(user_id="ada")
BOB = MemoryScope(user_id="bob")
BODY = "Run the deploy script. " * 40
REGISTRY = SkillRegistry.from_records(
    [
        {"name": "deploy", "description": "How do I deploy?", "body": BODY},
        {"name": "review", "description": "How do I review?", "body": "Read the diff."},
    ]
)
KINDS: tuple[Kind, ...] = get_args(Kind)


class Own:
    """A source of one's own, by the protocol alone."""

    def __init__(self, kind: Any, answer: Sequence[ContextCandidate] = ()) -> None:
        self.id, self.kind, self.required = f"own-{kind}", kind, False
        self._answer = answer

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        return self._answer


def loaded(result: str, *, error: bool = False) -> list[dict[str, Any]]:
    """A question, a call that loads the skill, and what came back."""
    use = {"type": "tool_use", "id": "t", "name": "load_skill", "input": {"id": "deploy"}}
    answer = {"type": "tool_result", "toolUseId": "t", "result": result, "isError": error}
    return [QUESTION, {"role": "assistant", "content": [use]}, {"role": "tool", "content": [answer]}]


def entries(package: Any) -> dict[str, tuple[bool, str]]:
    return {entry.record_id: (entry.selected, entry.reason) for entry in package.manifest.entries}


@pytest.mark.parametrize("kind", KINDS)
def test_r196_the_kind_of_a_source_of_ones_own_picks_its_share(kind: Kind) -> None:
    source = Own(kind, [ContextCandidate("a", "Deploys need a green CI run.", 1.0)])
    assert isinstance(source, ContextSource)
    shares: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    alone = ContextCompiler(sources=[source], budget={"shares": {**shares, kind: 1.0}})
    package = step(alone)
    assert entries(package) == {"a": (True, "ranked")}
    assert f'<record source="own-{kind}" kind="{kind}" id="a">' in package.xml
    other = next(name for name in KINDS if name != kind)
    elsewhere = ContextCompiler(sources=[source], budget={"shares": {**shares, other: 1.0}})
    assert entries(step(elsewhere)) == {"a": (True, "reallocated")}


@pytest.mark.parametrize("kind", ["web", "", None, 5, "Memory"])
def test_r197_an_unknown_kind_is_refused_when_the_compiler_is_made(kind: Any) -> None:
    with pytest.raises(InvalidInputError, match="kind"):
        ContextCompiler(sources=[Own(kind)])


def test_r192_r195_a_perfect_match_places_the_line_and_never_the_body() -> None:
    package = step(ContextCompiler(sources=[SkillsSource(REGISTRY)]))
    assert entries(package)["catalog/deploy"] == (True, "ranked")
    assert not any(name.startswith("body/") for name in entries(package))
    assert "deploy script" not in package.xml


def test_r193_a_loaded_body_is_placed_past_every_budget_and_lines_are_not() -> None:
    compiler = ContextCompiler(sources=[SkillsSource(REGISTRY)], budget={"max_tokens": 1})
    found = entries(step(compiler, messages=loaded("[pruned 920 chars]")))
    assert found["body/deploy"] == (True, "mandatory")
    assert found["catalog/deploy"] == found["catalog/review"] == (False, "budget")


def test_r194_a_load_that_failed_places_nothing() -> None:
    package = step(ContextCompiler(sources=[SkillsSource(REGISTRY)]), messages=loaded("busy", error=True))
    assert "body/deploy" not in entries(package)


def test_r198_a_body_that_stands_in_its_result_is_placed_only_where_that_is_wanted() -> None:
    standing = loaded(BODY)
    assert "body/deploy" not in entries(
        step(ContextCompiler(sources=[SkillsSource(REGISTRY)]), messages=standing)
    )
    both = ContextCompiler(sources=[SkillsSource(REGISTRY, skip_standing_bodies=False)])
    assert entries(step(both, messages=standing))["body/deploy"] == (True, "mandatory")


def scoped_sources() -> tuple[list[ContextSource], InMemoryMemoryStore]:
    store = InMemoryMemoryStore()
    for scope in (ADA, BOB, MemoryScope(user_id="ada", chat_id="c")):
        name = "-".join(scope.fields().values())
        run_sync(MemorySession(store, scope).remember(f"How to deploy, says {name}.", id=name))
    chats = [
        ChatRecord(
            f"{user}s", MemoryScope(user_id=user), as_messages([{"role": "user", "content": f"deploy {user}"}])
        )
        for user in ("ada", "bob")
    ]
    sources: list[ContextSource] = [
        MemorySource(store=store, scope=ADA),
        MemorySource(MemorySession(store, ADA), id="session"),
        TranscriptSource(InMemoryChatStore(chats), ADA),
    ]
    return sources, store


def test_r184_r185_r187_r189_sources_read_inside_their_pins_and_a_compiler_narrows_them() -> None:
    sources, _ = scoped_sources()
    wide = step(ContextCompiler(sources=sources))
    assert set(entries(wide)) == {"ada", "ada-c", "adas#0"}
    narrow = step(ContextCompiler(sources=sources, scope={"chat_id": "c"}))
    by_source: dict[str, set[str]] = {}
    for entry in narrow.manifest.entries:
        by_source.setdefault(entry.source, set()).add(entry.record_id)
    assert by_source == {"memory": {"ada-c"}, "session": {"ada", "ada-c"}}
    assert "bob" not in wide.xml + narrow.xml


def test_r186_a_compiler_whose_scope_contradicts_a_source_is_refused_when_it_is_made() -> None:
    for source in scoped_sources()[0]:
        with pytest.raises(InvalidInputError, match="user_id"):
            ContextCompiler(sources=[source], scope=BOB)


def test_r191_what_stands_in_the_request_is_not_offered_from_a_past_chat() -> None:
    chat = ChatRecord("c", ADA, as_messages([QUESTION, {"role": "assistant", "content": "Deploy by script."}]))
    compiler = ContextCompiler(sources=[TranscriptSource(InMemoryChatStore([chat]), ADA)])
    assert set(entries(step(compiler))) == {"c#1"}


def test_r199_a_remembered_fact_carries_revision_and_provenance_into_block_and_manifest() -> None:
    session = MemorySession(InMemoryMemoryStore(), ADA)
    run_sync(session.remember("How to deploy: by script.", id="m1"))
    package = step(ContextCompiler(sources=[MemorySource(session)]))
    (entry,) = package.manifest.entries
    assert (entry.record_id, entry.revision, entry.source) == ("m1", 1, "memory")
    assert (
        '<record source="memory" kind="memory" id="m1" revision="1" origin="asserted" source_kinds="host">'
        in package.xml
    )


def charging_source(**more: Any) -> RagSource:
    def embed(query: str) -> Vectors:
        return np.array([1.0, 0.0], dtype=np.float32)

    index = ExactIndex(["0"], np.array([[1.0, 0.0]], dtype=np.float32))
    return RagSource(
        ChunkSearch([Chunk("Deploys need a green CI run.", 0)], index=index, embed_query=embed), **more
    )


def test_r206_r209_a_step_charges_one_request_a_source_and_query_and_a_replay_none() -> None:
    ledger, warnings = Ledger(), list[Mapping[str, Any]]()
    accounting = {"execution": ledger}
    sources = [charging_source(), charging_source(id="more")]

    def replay() -> None:
        compiler = ContextCompiler(sources=sources)
        step(compiler, accounting=accounting, on_warning=warnings.append)
        step(compiler, 1, accounting=accounting, refresh=True)
        step(compiler, 2, accounting=accounting)

    replay()
    names = sorted(name.rpartition("/")[0] for name in ledger.states)
    assert names == [
        f"run/context/{number}/{number + 1}/{name}" for number in (0, 1) for name in ("more", "rag")
    ]
    assert {warning["type"] for warning in warnings} == {"unaccounted-usage"}
    committed = ledger.committed
    assert committed == 4 * -(-len(QUESTION["content"]) // 4)
    replay()
    assert (ledger.committed, len(ledger.states)) == (committed, 4)


def test_r207_an_overflow_retry_charges_nothing() -> None:
    ledger = Ledger()
    compiler = ContextCompiler(sources=[charging_source()])
    step(compiler, accounting={"execution": ledger})
    before = (list(ledger.calls), ledger.committed)
    package = compiler.on_overflow_sync(input_tokens=9_000, **call(accounting={"execution": ledger}))
    assert package.manifest.refresh == "overflow-retry"
    assert (ledger.calls, ledger.committed) == before


def test_r200_without_accounting_a_step_charges_nobody() -> None:
    seen: list[int] = []

    def retrieve(*given: Any) -> list[Any]:
        seen.append(len(given))
        return []

    compiler = ContextCompiler(sources=[RagSource(retrieve)])
    step(compiler)
    step(compiler, 1, refresh=True, accounting={"execution": Ledger()})
    assert seen == [3, 4]

from __future__ import annotations

import pytest

from playground.cancel import CancelToken
from playground.compiler.values import ContextSource
from playground.errors import CallCancelledError, InvalidInputError, InvalidRequestError
from playground.memory import InMemoryMemoryStore, MemoryScope, MemorySession, MemorySourceRef
from playground.sources import MemorySource
from tests.unit.sources.helpers import ask, run

ADA = MemoryScope(user_id="ada")
BOB = MemoryScope(user_id="bob")


@pytest.fixture
def session() -> MemorySession:
    return MemorySession(InMemoryMemoryStore(), ADA, clock=lambda: 1_000)


def test_id_defaults_to_the_kind_and_required_to_false_R183(session: MemorySession) -> None:
    source = MemorySource(session=session)
    assert isinstance(source, ContextSource)
    assert (source.id, source.kind, source.required) == ("memory", "memory", False)
    named = MemorySource(session=session, id="facts", required=True)
    assert (named.id, named.kind, named.required) == ("facts", "memory", True)


def test_a_memory_carries_its_id_revision_and_provenance_R199(session: MemorySession) -> None:
    run(session.remember("deploy to eu-west", id="m1", origin="observed"))
    refs = (MemorySourceRef(kind="user"), MemorySourceRef(kind="host"), MemorySourceRef(kind="user"))
    run(session.revise("m1", "deploy to eu-north", expected_revision=1, sources=refs))
    (found,) = ask(MemorySource(session=session))
    assert (found.record_id, found.revision, found.text) == ("m1", 2, "deploy to eu-north")
    assert found.provenance is not None
    assert (found.provenance.origin, found.provenance.source_kinds) == ("observed", ("host", "user"))
    assert (found.score, found.match, found.mandatory) == (1.0, "lexical", False)


def test_at_most_the_limit_is_offered(session: MemorySession) -> None:
    for number in range(5):
        run(session.remember("deploy", id=f"m{number}"))
    assert [found.record_id for found in ask(MemorySource(session=session), limit=2)] == ["m0", "m1"]


def test_kinds_and_a_smallest_score_can_be_asked_for(session: MemorySession) -> None:
    run(session.remember("deploy", id="a", kind="episodic"))
    run(session.remember("deploy", id="b"))
    run(session.remember("deploy only on days that are not Fridays", id="c"))
    assert [found.record_id for found in ask(MemorySource(session=session, kinds=["episodic"]))] == ["a"]
    assert [found.record_id for found in ask(MemorySource(session=session, min_score=0.9))] == ["a", "b"]


def test_only_the_pinned_scope_is_read_R184() -> None:
    store = InMemoryMemoryStore()
    run(MemorySession(store, ADA).remember("deploy", id="adas"))
    run(MemorySession(store, BOB).remember("deploy", id="bobs"))
    assert [found.record_id for found in ask(MemorySource(store=store, scope=ADA))] == ["adas"]


def test_a_request_narrows_a_store_R185_and_an_empty_one_does_not_widen_it_R187() -> None:
    store = InMemoryMemoryStore()
    run(MemorySession(store, ADA).remember("deploy", id="user"))
    run(MemorySession(store, MemoryScope(user_id="ada", chat_id="c")).remember("deploy", id="chat"))
    run(MemorySession(store, BOB).remember("deploy", id="bobs"))
    source = MemorySource(store=store, scope={"user_id": "ada"})
    assert [found.record_id for found in ask(source, scope=MemoryScope(chat_id="c"))] == ["chat"]
    assert [found.record_id for found in ask(source, scope=MemoryScope())] == ["chat", "user"]


def test_a_session_is_read_at_its_own_scope_R189(session: MemorySession) -> None:
    run(session.remember("deploy", id="user"))
    found = ask(MemorySource(session=session), scope=MemoryScope(user_id="ada", chat_id="c"))
    assert [candidate.record_id for candidate in found] == ["user"]


def test_a_request_that_contradicts_the_pinned_scope_is_refused_R186(session: MemorySession) -> None:
    for source in (MemorySource(session=session), MemorySource(store=session.store, scope=ADA)):
        with pytest.raises(InvalidInputError, match="user_id"):
            ask(source, scope=BOB)


def test_a_source_takes_a_session_or_a_store_with_a_scope(session: MemorySession) -> None:
    with pytest.raises(InvalidInputError):
        MemorySource()
    with pytest.raises(InvalidInputError):
        MemorySource(session=session, store=session.store, scope=ADA)
    with pytest.raises(InvalidInputError):
        MemorySource(session=session, scope=ADA)
    with pytest.raises(InvalidRequestError, match="at least one field"):
        MemorySource(store=session.store)


def test_a_cancelled_request_is_not_answered(session: MemorySession) -> None:
    signal = CancelToken()
    signal.cancel()
    with pytest.raises(CallCancelledError):
        ask(MemorySource(session=session), signal=signal)


def test_a_recall_as_of_a_time_is_passed_on(session: MemorySession) -> None:
    run(session.remember("deploy"))
    assert ask(MemorySource(session=session), recorded_as_of=999) == []

"""Redaction, precedence of refresh reasons, and the rewriting of queries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground import (
    CallCancelledError,
    CancelToken,
    ContextCandidate,
    ContextCompiler,
    ContextCompilerState,
    InvalidRequestError,
    PlaygroundError,
)
from playground.messages import Message, as_messages
from tests.host import QUESTION, Host, Spy, blocks_in, call, fails_to_rewrite, step, tasks, texts_of

SECRET = ContextCandidate("s1", "The door code is 4711.", 0.9)
KEPT = ContextCandidate("k1", "The door is blue.", 0.5)


class TestRedacted:
    def test_r136_r137_it_asks_past_min_steps_and_max_passes_and_spends_a_pass(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy], refresh={"max_passes": 1, "min_steps": 9})
        step(compiler)
        package = step(compiler, 1, redacted=True)
        assert (package.manifest.refresh, package.manifest.fallback) == ("redacted", None)
        assert package.manifest.redacted is True
        assert (len(spy.asked), compiler.state().passes) == (2, 2)
        assert package.manifest.retrieval_pass == 2

    def test_r59_redacted_is_recorded_only_where_the_step_asked(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        assert step(compiler).manifest.redacted is None
        assert step(compiler, 1, redacted=True).manifest.redacted is True
        assert step(compiler, 2).manifest.redacted is None
        assert '"redacted"' not in step(compiler, 3).manifest.to_json()

    def test_r138_a_forgotten_text_does_not_come_back_after_a_compaction(self) -> None:
        spy = Spy((SECRET, KEPT))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (KEPT,)
        # The host's store redacted the package, and so its block in the history.
        host.edits(lambda history: tuple(m for m in history if not blocks_in([m])))
        package = host.turn(redacted=True)
        assert [(e.record_id, e.reason) for e in package.manifest.entries] == [("k1", "ranked")]
        host.compacts(keep=1)
        for _ in range(3):
            host.turn()
        assert "4711" not in texts_of([message for request in host.requests[1:] for message in request])
        assert "blue" in texts_of(host.history)

    def test_r138_not_even_when_the_step_that_redacts_fails(self) -> None:
        spy = Spy((SECRET,), required=True)
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.edits(lambda history: tuple(m for m in history if not blocks_in([m])))
        spy.fails = RuntimeError("down")
        before = host.compiler.state()
        with pytest.raises(RuntimeError):
            host.turn(redacted=True)
        pending = {"refresh_requested": True, "refresh_forced": True}
        assert host.compiler.state() == before.model_copy(update=pending)
        spy.found, spy.fails = (), None
        assert host.turn().blocks == ()
        assert host.compiler.state().passes == 2

    def test_r138_not_even_by_an_overflow_of_the_same_step(self) -> None:
        spy = Spy((SECRET, KEPT))
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        spy.found = (KEPT,)
        step(compiler, redacted=True)
        again = compiler.on_overflow_sync(input_tokens=9_000, **call())
        assert "4711" not in again.xml
        assert "blue" in again.xml
        assert again.manifest.redacted is True

    def test_r138_not_even_by_an_overflow_after_the_step_that_redacts_failed(self) -> None:
        spy = Spy((SECRET,), required=True)
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        spy.fails = RuntimeError("down")
        with pytest.raises(RuntimeError):
            step(compiler, redacted=True)
        with pytest.raises(InvalidRequestError):
            compiler.on_overflow_sync(input_tokens=9_000, **call())

    def test_r139_without_a_query_nothing_old_is_placed_and_the_refresh_stays_due(self) -> None:
        spy = Spy((SECRET,))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.edits(lambda _: (Message("assistant", "Hello."),))
        package = host.turn(redacted=True)
        assert package.blocks == ()
        assert (package.manifest.refresh, package.manifest.redacted) == ("redacted", True)
        assert package.manifest.sources[0].status == "skipped"
        assert host.compiler.state().passes == 1
        spy.found = (KEPT,)
        host.edits(lambda _: as_messages([QUESTION]))
        later = host.turn()
        assert (later.manifest.refresh, len(spy.asked)) == ("host-request", 2)
        assert not host.compiler.state().refresh_forced

    def test_r136_r139_a_redacted_step_without_a_query_is_made_up_for_past_the_pass_limit(self) -> None:
        spy = Spy((SECRET,))
        options: dict[str, Any] = {"refresh": {"max_passes": 1}}
        host = Host(ContextCompiler(sources=[spy], **options))
        host.turn()
        host.edits(lambda _: (Message("assistant", "Hello."),))
        host.turn(redacted=True)
        spy.found = (KEPT,)
        host.compiler = ContextCompiler(sources=[spy], state=host.compiler.state(), **options)
        host.edits(lambda _: as_messages([QUESTION]))
        later = host.turn()
        assert (later.manifest.refresh, later.manifest.fallback) == ("host-request", None)
        assert "blue" in later.xml
        assert host.turn(refresh=True).manifest.fallback == "pass-limit"

    def test_r138_a_call_that_is_given_up_while_it_waits_forgets_all_the_same(self) -> None:
        spy = Spy((SECRET, KEPT))
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        spy.seconds = 0.2

        async def given_up() -> None:
            running = asyncio.create_task(compiler.before_model_call(**call(1, refresh=True)))
            await asyncio.sleep(0.05)
            waiting = asyncio.create_task(compiler.before_model_call(**call(2, redacted=True)))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.gather(running, waiting, return_exceptions=True)

        asyncio.run(given_up())
        assert step(compiler, 3).blocks == ()

    def test_the_state_loses_the_digest_of_a_text_that_was_forgotten(self) -> None:
        spy = Spy((SECRET, KEPT))
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        assert str(SECRET.digest) in compiler.state().to_json()
        spy.found = (KEPT,)
        step(compiler, 1, redacted=True)
        text = compiler.state().to_json()
        assert str(SECRET.digest) not in text
        assert str(KEPT.digest) in text
        assert ContextCompilerState.from_json(text) == compiler.state()

    def test_a_step_compiled_again_places_what_is_offered_now(self) -> None:
        spy = Spy((SECRET, KEPT))
        compiler = ContextCompiler(sources=[spy])
        first = step(compiler)
        spy.found = (KEPT,)
        again = step(compiler, redacted=True)
        assert "4711" in first.xml
        assert "4711" not in again.xml
        assert "blue" in again.xml
        assert not again.manifest.cache_prefix_changed


class TestPrecedence:
    """R140: redacted, then initial, then host-request, then task-changed; one retrieval serves all."""

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({}, "initial"),
            ({"refresh": True}, "initial"),
            ({"redacted": True}, "redacted"),
            ({"redacted": True, "refresh": True}, "redacted"),
        ],
    )
    def test_r140_at_the_first_call(self, arguments: dict[str, Any], expected: str) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        compiler.request_refresh()
        assert step(compiler, **arguments).manifest.refresh == expected
        assert step(compiler, 1).manifest.refresh == "reused"
        assert compiler.state().passes == 1

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({}, "task-changed"),
            ({"refresh": True}, "host-request"),
            ({"redacted": True}, "redacted"),
            ({"redacted": True, "refresh": True}, "redacted"),
        ],
    )
    def test_r140_later(self, arguments: dict[str, Any], expected: str) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 1})
        step(compiler, working_memory=tasks("a"))
        changed = step(compiler, 1, working_memory=tasks("b"), **arguments)
        assert changed.manifest.refresh == expected
        assert step(compiler, 2, working_memory=tasks("b")).manifest.refresh == "reused"
        assert compiler.state().passes == 2

    def test_r57_where_a_source_failed_at_the_pass_limit_the_failure_is_what_is_said(self) -> None:
        body = ContextCandidate("body/x", "Step one.", 1.0, mandatory=True)
        skills = Spy((body,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[skills], refresh={"max_passes": 1}))
        host.turn()
        host.compacts(keep=1)
        host.compiler = ContextCompiler(
            sources=[skills], refresh={"max_passes": 1}, state=host.compiler.state()
        )
        skills.fails = RuntimeError("down")
        assert host.turn(refresh=True).manifest.fallback == "source-failed"

    def test_r57_there_is_no_fallback_where_nothing_gave_way(self) -> None:
        manifest = step(ContextCompiler(sources=[Spy()])).manifest
        assert manifest.fallback is None
        assert "fallback" not in manifest.to_json()


class TestRewriting:
    def test_r134_without_a_function_the_query_goes_out_as_it_was_built(self) -> None:
        spy = Spy()
        step(ContextCompiler(sources=[spy]))
        assert spy.asked[0].query == "How do I deploy?"

    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_r135_a_function_makes_another_query_for_every_source(self, asynchronous: bool) -> None:
        seen: list[str] = []

        def plain(query: str) -> str:
            seen.append(query)
            return f"  better: {query} "

        async def waiting(query: str) -> str:
            return plain(query)

        one, two = Spy(), Spy(id="memory", kind="memory")
        rewrite = waiting if asynchronous else plain
        compiler = ContextCompiler(sources=[one, two], refresh={"rewrite_query": rewrite})
        package = step(compiler)
        assert one.asked[0].query == two.asked[0].query == "better: How do I deploy?"
        assert package.manifest.entries[0].query == "better: How do I deploy?"
        step(compiler, 1)
        assert seen == ["How do I deploy?"]

    def test_r135_its_answer_is_cut_to_2000_characters(self) -> None:
        spy = Spy()
        step(ContextCompiler(sources=[spy], refresh={"rewriteQuery": lambda query: "😀" * 3_000}))
        assert spy.asked[0].query == "😀" * 2_000

    @pytest.mark.parametrize("bad", [None, 3, b"bytes", ["a"]])
    def test_r135_an_answer_that_is_no_text_leaves_the_query_and_warns(self, bad: Any) -> None:
        fails_to_rewrite(lambda query: bad)

    @pytest.mark.parametrize("error", [RuntimeError, ValueError, SystemExit, KeyboardInterrupt])
    def test_r135_a_failure_leaves_the_query_and_warns(self, error: type[BaseException]) -> None:
        def rewrite(query: str) -> str:
            raise error("secret reason")

        fails_to_rewrite(rewrite)

    def test_r135_a_function_cancelled_from_inside_is_a_failure(self) -> None:
        async def rewrite(query: str) -> str:
            raise asyncio.CancelledError

        fails_to_rewrite(rewrite)

    def test_r135_r153_a_function_that_never_answers_is_bounded(self) -> None:
        async def rewrite(query: str) -> str:
            await asyncio.sleep(60)
            return query

        fails_to_rewrite(rewrite, time_limit=0.1)

    def test_a_blank_answer_asks_nobody_and_the_refresh_stays_due(self) -> None:
        answers = iter(["  ", "deploy"])
        spy = Spy()
        compiler = ContextCompiler(sources=[spy], refresh={"rewrite_query": lambda query: next(answers)})
        assert step(compiler).manifest.sources[0].status == "skipped"
        assert spy.asked == []
        assert step(compiler, 1).manifest.refresh == "initial"
        assert len(spy.asked) == 1

    def test_r151_what_must_end_the_run_is_raised(self) -> None:
        class LedgerError(PlaygroundError):
            fatal_execution = True

        def rewrite(query: str) -> str:
            raise LedgerError("no funds")

        with pytest.raises(LedgerError):
            step(ContextCompiler(sources=[Spy()], refresh={"rewrite_query": rewrite}))

    def test_r151_a_signal_ends_the_waiting(self) -> None:
        token = CancelToken()

        async def rewrite(query: str) -> str:
            token.cancel()
            await asyncio.sleep(60)
            return query

        with pytest.raises(CallCancelledError):
            step(ContextCompiler(sources=[Spy()], refresh={"rewrite_query": rewrite}), signal=token)

    def test_without_anything_to_ask_there_is_nothing_to_rewrite(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"rewrite_query": lambda query: 1 / 0})
        assert step(compiler, messages=[{"role": "assistant", "content": "Hi."}]).blocks == ()

"""The compiler over several steps: every argument reaches where it should, and state moves only on success."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from playground import (
    CallCancelledError,
    CancelToken,
    ContextBudget,
    ContextBudgetExceededError,
    ContextCandidate,
    ContextCompiler,
    ContextPackage,
    ContextSourceRequest,
    InvalidInputError,
    MemoryScope,
    TokenEstimator,
    create_working_memory,
)
from playground.messages import Message, message_to_json
from tests.host import MODEL, QUESTION, RECORD, Spy, appended, step, tasks


class TestArguments:
    def test_the_budget_of_the_compiler_is_the_budget_of_the_compile(self) -> None:
        package = step(ContextCompiler(sources=[Spy()], budget={"max_tokens": 300}))
        assert package.manifest.budget.context_tokens == 300

    def test_r13_the_estimator_of_the_compiler_counts_messages_records_and_blocks(self) -> None:
        counted: list[str] = []

        def count(messages: Sequence[Message]) -> float:
            counted.extend(str(message.content) for message in messages)
            return 7.0 * len(messages)

        package = step(ContextCompiler(sources=[Spy()], estimator=TokenEstimator(count)))
        assert package.manifest.budget.used_tokens == 7
        assert package.manifest.budget.selected_tokens == 7
        assert any("How do I deploy?" in text for text in counted)
        assert any("Deploys need a green CI run." in text for text in counted)

    def test_r13_overhead_tokens_lower_the_room(self) -> None:
        bare = step(ContextCompiler(sources=[])).manifest.budget
        heavy = step(ContextCompiler(sources=[]), overhead_tokens=1_000).manifest.budget
        assert heavy.used_tokens - bare.used_tokens == 1_000

    @pytest.mark.parametrize("scope", [MemoryScope(user_id="ada"), {"user_id": "ada"}, {"userId": "ada"}])
    def test_r132_r133_each_source_receives_scope_limit_signal_run_step_and_messages(self, scope: Any) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy], scope=scope, refresh={"candidates_per_source": 3})
        step(compiler, 4)
        (request,) = spy.asked
        assert request.scope == MemoryScope(user_id="ada")
        assert (request.limit, request.run_id, request.step) == (3, "run", 4)
        assert [message.content for message in request.messages] == ["How do I deploy?"]
        assert not request.signal.cancelled
        assert request.recorded_as_of is None

    def test_r141_what_a_source_offers_beyond_the_limit_is_not_selected(self) -> None:
        many = [ContextCandidate(str(i), f"text {i}", 1 - i / 10) for i in range(5)]
        package = step(ContextCompiler(sources=[Spy(many)], refresh={"candidates_per_source": 2}))
        assert [entry.reason for entry in package.manifest.entries] == [
            "ranked",
            "ranked",
            "limit",
            "limit",
            "limit",
        ]

    def test_r39_the_hint_is_the_share_of_what_the_tail_leaves(self) -> None:
        spy, memory = Spy(), create_working_memory(scope="t", goal="g" * 400, now=0)
        budget = ContextBudget(max_tokens=1_000, shares={"memory": 0.2, "rag": 0.5})
        package = step(ContextCompiler(sources=[spy], budget=budget), working_memory=memory)
        tail = TokenEstimator().estimate(package.blocks[1].messages)
        assert spy.asked[0].budget_tokens == int(0.5 * (1_000 - tail))

    def test_the_estimator_kind_of_the_step_wins_over_the_compilers(self) -> None:
        compiler = ContextCompiler(sources=[], estimator_kind="provider")
        assert step(compiler).manifest.estimator.kind == "provider"
        manifest = step(compiler, 1, estimator_kind={"kind": "tokenizer", "calibrated": True}).manifest
        assert (manifest.estimator.kind, manifest.estimator.calibrated) == ("tokenizer", True)

    def test_a_working_memory_may_come_as_its_recorded_form(self) -> None:
        memory = create_working_memory(scope="t", goal="Ship.", now=0)
        data = memory.model_dump(by_alias=True, mode="json", exclude_none=True)
        assert (
            step(ContextCompiler(sources=[]), working_memory=data).xml
            == step(ContextCompiler(sources=[]), working_memory=memory).xml
        )

    @pytest.mark.parametrize(
        "arguments",
        [
            {"sources": None},
            {"sources": [len]},
            {"sources": [object()]},
            {"sources": [Spy(), Spy()]},
            {"sources": [Spy(id="working-memory")]},
            {"sources": [], "scope": "ada"},
            {"sources": [], "scope": {"who": "ada"}},
            {"sources": [], "budget": {"ratio": 0}},
            {"sources": [], "refresh": {"max_passes": 0}},
            {"sources": [], "estimator": len},
            {"sources": [], "estimator_kind": "guess"},
            {"sources": [], "time_limit": 0},
            {"sources": [], "time_limit": float("nan")},
            {"sources": [], "time_limit": True},
        ],
    )
    def test_a_malformed_argument_is_refused_when_the_compiler_is_made(self, arguments: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            ContextCompiler(**arguments)

    @pytest.mark.parametrize(
        "changed",
        [
            {"step": -1},
            {"messages": "hello"},
            {"model": {"provider": "openai"}},
            {"model": {**MODEL, "max_output_tokens": 30_000}},
            {"overhead_tokens": -5},
            {"working_memory": {"goal": 1}},
            {"signal": "stop"},
            {"estimator_kind": "guess"},
        ],
    )
    def test_a_malformed_step_is_refused(self, changed: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            step(ContextCompiler(sources=[]), **changed)


class TestRefresh:
    def test_r111_the_first_call_asks_whatever_its_step_is(self) -> None:
        for number in (0, 7):
            spy = Spy()
            manifest = step(ContextCompiler(sources=[spy]), number).manifest
            assert (manifest.refresh, manifest.retrieval_pass, len(spy.asked)) == ("initial", 1, 1)

    def test_r112_between_refreshes_no_source_is_asked(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        first = step(compiler)
        second = step(compiler, 1, messages=appended([QUESTION], first))
        assert (second.manifest.refresh, len(second.blocks), len(spy.asked)) == ("reused", 0, 1)
        assert second.manifest.sources[0].status == "reused"

    @pytest.mark.parametrize("ask", [True, False])
    def test_r117_r118_a_host_may_ask_at_any_step(self, ask: bool) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy], refresh={"min_steps": 9})
        step(compiler)
        if not ask:
            compiler.request_refresh()
        package = step(compiler, 1, refresh=ask)
        assert (package.manifest.refresh, len(spy.asked)) == ("host-request", 2)
        assert step(compiler, 2).manifest.refresh == "reused"

    def test_r119_several_requests_before_a_step_cause_one_retrieval(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        for _ in range(3):
            compiler.request_refresh()
        assert compiler.state().refresh_requested
        step(compiler, 1)
        assert (compiler.state().passes, compiler.state().refresh_requested) == (2, False)

    def test_a_request_that_comes_while_a_step_runs_is_served_by_the_next_one(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])

        async def asked_meanwhile(request: ContextSourceRequest) -> Sequence[ContextCandidate]:
            compiler.request_refresh()
            return [RECORD]

        spy.query = asked_meanwhile  # type: ignore[method-assign]
        step(compiler)
        assert compiler.state().refresh_requested
        assert step(compiler, 1).manifest.refresh == "host-request"

    def test_r114_a_changed_task_refreshes_only_after_min_steps(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 3})
        step(compiler, 0, working_memory=tasks("a"))
        seen = [step(compiler, n, working_memory=tasks("b")).manifest.refresh for n in (1, 2, 3, 4)]
        assert seen == ["reused", "reused", "task-changed", "reused"]

    def test_r115_a_task_that_changes_back_is_not_due(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 2})
        step(compiler, 0, working_memory=tasks("a"))
        step(compiler, 1, working_memory=tasks("b"))
        assert step(compiler, 2, working_memory=tasks("a")).manifest.refresh == "reused"

    def test_r116_no_active_task_is_a_value_too(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 1})
        step(compiler, 0, working_memory=tasks("a"))
        assert step(compiler, 1, working_memory=tasks(None)).manifest.refresh == "task-changed"

    def test_r121_r122_r123_past_the_last_pass_a_due_refresh_is_reported_once_and_not_run(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy], refresh={"max_passes": 1})
        step(compiler)
        compiler.request_refresh()
        limited = step(compiler, 1).manifest
        assert (limited.refresh, limited.fallback, len(spy.asked)) == ("reused", "pass-limit", 1)
        assert step(compiler, 2).manifest.fallback is None
        assert step(compiler, 3, refresh=True).manifest.fallback == "pass-limit"

    def test_r124_r125_r126_r127_the_query_is_the_task_and_the_latest_user_text_without_blocks(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        first = step(compiler, working_memory=tasks("a"))
        assert spy.asked[0].query == "Ship it\nHow do I deploy?"
        step(compiler, 1, messages=appended([QUESTION], first), refresh=True)
        assert spy.asked[1].query == "How do I deploy?"
        step(compiler, 2, messages=[{"role": "user", "content": "😀" * 5_000}], refresh=True)
        assert spy.asked[2].query == "😀" * 2_000

    @pytest.mark.parametrize(
        "last",
        [
            {"role": "user", "content": "  \n"},
            {"role": "user", "content": [{"type": "image", "image": "https://example.org/x.png"}]},
            {"role": "user", "content": "[Earlier conversation summarized]\nThey talked."},
        ],
    )
    def test_r128_r129_a_message_without_words_of_the_user_is_passed_over(
        self, last: Mapping[str, Any]
    ) -> None:
        spy = Spy()
        step(ContextCompiler(sources=[spy]), messages=[QUESTION, last])
        assert spy.asked[0].query == "How do I deploy?"

    def test_r130_r131_an_empty_query_skips_every_source_spends_no_pass_and_stays_due(self) -> None:
        compiler = ContextCompiler(sources=[Spy(required=True)])
        skipped = step(compiler, messages=[{"role": "assistant", "content": "Hello."}]).manifest
        assert (skipped.refresh, skipped.sources[0].status, compiler.state().passes) == (
            "initial",
            "skipped",
            0,
        )
        later = step(compiler, 1).manifest
        assert (later.refresh, later.sources[0].status, compiler.state().passes) == ("initial", "ok", 1)


class TestPlacement:
    def test_r100_r102_the_prefix_changes_when_the_host_did_not_append_the_block(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        first = step(compiler)
        assert not first.manifest.cache_prefix_changed
        kept = appended([QUESTION], first)
        assert not step(compiler, 1, messages=kept).manifest.cache_prefix_changed
        assert step(compiler, 2, messages=[QUESTION]).manifest.cache_prefix_changed

    def test_r101_an_edited_earlier_message_changes_the_prefix(self) -> None:
        compiler = ContextCompiler(sources=[])
        step(compiler, messages=[QUESTION, {"role": "assistant", "content": "Yes."}])
        changed = step(compiler, 1, messages=[QUESTION, {"role": "assistant", "content": "No."}])
        assert changed.manifest.cache_prefix_changed

    def test_r88_a_later_pass_appends_only_what_earlier_packages_lack(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        history = appended([QUESTION], step(compiler))
        spy.found = (RECORD, ContextCandidate("r2", "Rollbacks use the previous tag.", 0.5))
        second = step(compiler, 1, messages=history, refresh=True)
        assert [entry.reason for entry in second.manifest.entries] == ["already-placed", "ranked"]
        assert [span.record_id for span in second.blocks[0].spans] == ["r2"]

    def test_r109_a_block_is_recognised_after_a_json_round_trip(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        history = [
            message_to_json(m) if isinstance(m, Message) else m for m in appended([QUESTION], step(compiler))
        ]
        history[1]["content"] = [{"type": "text", "text": history[1]["content"]}]
        again = step(compiler, 1, messages=history, refresh=True)
        assert [entry.reason for entry in again.manifest.entries] == ["already-placed"]

    def test_r160_a_block_that_vanished_is_placed_again_without_asking(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        first = step(compiler)
        again = step(compiler, 1)
        assert len(spy.asked) == 1
        assert [span.record_id for span in again.blocks[0].spans] == ["r1"]
        assert (again.manifest.refresh, again.manifest.cache_prefix_changed) == ("reused", True)
        assert first.blocks[0].text != again.blocks[0].text

    def test_a_step_retried_after_a_failed_call_keeps_its_context_byte_for_byte(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        first = step(compiler)
        retried = step(compiler)
        assert retried.xml == first.xml
        assert not retried.manifest.cache_prefix_changed
        assert (len(spy.asked), len(compiler.state().placed)) == (1, 1)

    def test_r165_only_the_latest_revision_comes_back(self) -> None:
        old = ContextCandidate("r1", "Old.", 0.9, revision=1)
        spy = Spy((old,))
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        spy.found = (ContextCandidate("r1", "New.", 0.9, revision=2),)
        step(compiler, 1, refresh=True)
        again = step(compiler, 2)
        assert "New." in again.xml
        assert "Old." not in again.xml

    def test_r93_the_tail_of_a_model_that_binds_its_thinking_is_kept(self) -> None:
        memory = create_working_memory(scope="t", goal="Ship.", now=0)
        claude = {**MODEL, "provider": "anthropic", "model_id": "claude-opus-5-5"}
        kept = step(ContextCompiler(sources=[]), model=claude, working_memory=memory).manifest.placement
        plain = step(ContextCompiler(sources=[]), working_memory=memory).manifest.placement
        assert (kept.tail_kept, plain.tail_kept) == (True, None)


class TestFailures:
    def test_r144_an_optional_failure_is_a_warning_and_the_step_goes_on(self) -> None:
        warnings: list[Mapping[str, str]] = []
        failing = Spy(id="wiki", fails=RuntimeError("down"))
        compiler = ContextCompiler(sources=[Spy(), failing], on_warning=warnings.append)
        package = step(compiler)
        assert package.manifest.fallback == "source-failed"
        assert [entry.record_id for entry in package.manifest.entries] == ["r1"]
        (warning,) = warnings
        assert (warning["type"], warning["setting"]) == ("context-source-failed", "wiki")

    @pytest.mark.parametrize(
        "error", [RuntimeError("down"), TimeoutError("the database said so"), KeyError("x")]
    )
    def test_r145_r147_a_required_failure_is_that_very_error_and_changes_nothing(
        self, error: Exception
    ) -> None:
        spy = Spy(required=True, fails=error)
        compiler = ContextCompiler(sources=[spy])
        before = compiler.state()
        with pytest.raises(type(error)) as caught:
            step(compiler)
        assert caught.value is error
        assert compiler.state() == before
        spy.fails = None
        assert step(compiler).manifest.refresh == "initial"

    def test_mandatory_content_that_does_not_fit_changes_nothing(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        before = compiler.state()
        with pytest.raises(ContextBudgetExceededError):
            step(
                compiler,
                working_memory=create_working_memory(scope="t", goal="g" * 4_000, now=0),
                overhead_tokens=15_900,
            )
        assert compiler.state() == before

    def test_r152_a_callback_that_raises_does_not_break_the_step(self) -> None:
        def explode(warning: Mapping[str, str]) -> None:
            raise RuntimeError("no")

        compiler = ContextCompiler(sources=[Spy(fails=RuntimeError("down"))], on_warning=explode)
        assert step(compiler).manifest.fallback == "source-failed"

    @pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
    def test_a_source_that_would_end_the_loop_or_the_task_only_fails(self, kind: type[BaseException]) -> None:
        failing = Spy(id="bad", fails=kind("stop"))
        assert [
            entry.selected for entry in step(ContextCompiler(sources=[Spy(), failing])).manifest.entries
        ] == [True]
        assert step(ContextCompiler(sources=[Spy()])).manifest.sources[0].status == "ok"

    def test_an_error_whose_attributes_cannot_be_read_is_an_ordinary_failure(self) -> None:
        class RawError(Exception):
            def __getattr__(self, name: str) -> object:
                raise RuntimeError(name)

        manifest = step(ContextCompiler(sources=[Spy(), Spy(id="bad", fails=RawError())])).manifest
        assert (manifest.fallback, manifest.entries[0].record_id) == ("source-failed", "r1")

    def test_an_error_whose_text_cannot_be_read_is_still_recorded(self) -> None:
        class MuteError(Exception):
            def __str__(self) -> str:
                raise ValueError("no text")

        (summary,) = step(ContextCompiler(sources=[Spy(fails=MuteError())])).manifest.sources
        assert summary.error is not None
        assert (summary.error.name, summary.error.message) == ("MuteError", "the error has no readable message")

    def test_r151_a_signal_set_while_sources_are_asked_ends_the_call_soon(self) -> None:
        token, slow = CancelToken(), Spy(seconds=30)
        other = Spy(id="own", found=())
        original = other.query

        async def cancels(request: ContextSourceRequest) -> Sequence[ContextCandidate]:
            token.cancel()
            return await original(request)

        other.query = cancels  # type: ignore[method-assign]
        compiler = ContextCompiler(sources=[slow, other])
        with pytest.raises(Exception, match="cancelled"):
            step(compiler, signal=token)
        assert slow.asked[0].signal.cancelled
        assert compiler.state().passes == 0


class TestWhatIsPending:
    def test_r147_a_refresh_asked_for_in_a_step_that_fails_is_still_due(self) -> None:
        spy = Spy(required=True)
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        spy.fails = RuntimeError("down")
        with pytest.raises(RuntimeError):
            step(compiler, 1, refresh=True)
        assert compiler.state().refresh_requested
        spy.fails = None
        assert step(compiler, 1).manifest.refresh == "host-request"
        assert not compiler.state().refresh_requested

    def test_r208_each_try_of_a_step_is_charged_under_an_id_of_its_own(self) -> None:
        spy, wiki = Spy(), Spy(id="wiki", required=True, fails=RuntimeError("down"))
        compiler = ContextCompiler(sources=[spy, wiki])
        for _ in range(2):
            with pytest.raises(RuntimeError):
                step(compiler, accounting={"execution": None})
        wiki.fails = None
        step(compiler, accounting={"execution": None})
        step(compiler, 1, refresh=True, accounting={"execution": None})
        ids = [request.accounting["request_id"] for request in spy.asked if request.accounting]
        assert ids == [
            "run/context/0/1/rag",
            "run/context/0/1/attempt-2/rag",
            "run/context/0/1/attempt-3/rag",
            "run/context/1/2/rag",
        ]

    def test_a_reference_that_comes_while_a_step_compiles_is_kept(self) -> None:
        def count(messages: Sequence[Message]) -> float:
            compiler.package_stored("blob:1")
            return float(len(messages))

        compiler = ContextCompiler(sources=[Spy()], estimator=TokenEstimator(count))
        step(compiler)
        assert compiler.state().last_package == "blob:1"

    def test_a_signal_that_is_set_already_ends_a_step_that_asks_nobody_too(self) -> None:
        compiler, token = ContextCompiler(sources=[Spy()]), CancelToken()
        step(compiler)
        token.cancel()
        with pytest.raises(CallCancelledError):
            step(compiler, 1, signal=token)


class TestState:
    def test_r154_r155_r156_the_state_is_plain_json_without_text(self) -> None:
        compiler = ContextCompiler(sources=[Spy((ContextCandidate("r1", "MARKER text", 0.9),))])
        step(compiler, 3, working_memory=tasks("a"))
        state = compiler.state()
        data = state.model_dump(mode="json", by_alias=True, exclude_none=True)
        assert data["version"] == 1
        assert (data["passes"], data["lastRefresh"]) == (1, {"step": 3, "activeTaskId": "a"})
        assert [(entry["recordId"], entry["step"], entry["retrievalPass"]) for entry in data["placed"]] == [
            ("r1", 3, 1)
        ]
        assert "MARKER" not in state.model_dump_json()

    def test_r143_calls_in_one_loop_are_served_one_after_the_other(self) -> None:
        spy = Spy(seconds=0.02)
        compiler = ContextCompiler(sources=[spy])

        async def both() -> list[ContextPackage]:
            calls: list[Callable[[], Any]] = [
                lambda n=n: compiler.before_model_call(  # type: ignore[misc]
                    run_id="r", step=n, messages=[QUESTION], model=MODEL, refresh=True
                )
                for n in range(3)
            ]
            return list(await asyncio.gather(*(call() for call in calls)))

        packages = asyncio.run(both())
        assert sorted(package.manifest.retrieval_pass for package in packages) == [1, 2, 3]
        assert compiler.state().passes == 3


def test_the_synchronous_twins_show_the_arguments_of_what_they_do() -> None:
    for name in ("before_model_call", "on_overflow"):
        shown = inspect.signature(getattr(ContextCompiler, f"{name}_sync")).parameters
        assert list(shown) == list(inspect.signature(getattr(ContextCompiler, name)).parameters)
    assert "working_memory" in inspect.signature(ContextCompiler.before_model_call_sync).parameters

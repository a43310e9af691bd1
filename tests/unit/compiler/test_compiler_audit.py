"""Sequences in which a compiler over many steps could go wrong unseen, one a test."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from playground import (
    ContextCandidate,
    ContextCompiler,
    ContextPackage,
    InvalidInputError,
    InvalidRequestError,
    TokenEstimator,
    explain,
)
from playground.compiler.reporting import CompileReport
from playground.messages import Message, as_messages
from tests.host import (
    LOAD,
    PRUNED,
    QUESTION,
    Host,
    Spy,
    call,
    goal,
    one_skill,
    retry_of,
    step,
    tasks,
)

SMALL = ContextCandidate("small", "Deploys need a green CI run.", 0.5)
LARGE = ContextCandidate("large", "Rollbacks use the previous image tag. " * 30, 0.9)
BODY = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
SILENCE = [{"role": "assistant", "content": "Hello."}]


class Counting(Spy):
    """A source that offers loaded bodies, and is asked at a compaction for that reason."""

    offers_mandatory = True


def loaded() -> Host:
    """A host whose model has loaded a skill; the result is pruned already."""
    return Host(ContextCompiler(sources=[one_skill()]), (*as_messages([QUESTION]), LOAD, PRUNED))


class TestLoadedSkills:
    @pytest.mark.parametrize("how", ["reused", "refresh", "overflow", "restart", "restart and refresh"])
    def test_r160_r162_r171_a_body_survives_a_summary_of_the_call_that_loaded_it(self, how: str) -> None:
        host = loaded()
        for _ in range(3):
            host.turn()
        if how == "overflow":
            host.turn(succeeds=False)
        host.compacts(keep=1)
        if how.startswith("restart"):
            host.compiler = ContextCompiler(sources=[one_skill()], state=host.compiler.state())
        if how == "overflow":
            package = retry_of(host.compiler, 3, 9_000, messages=host.history)
        else:
            package = host.turn(refresh="refresh" in how)
        assert "breathe" in package.xml
        assert host.compiler.state().passes == 1 + ("refresh" in how)

    def test_r160_a_body_whose_text_is_known_is_not_asked_for(self) -> None:
        source = Spy((BODY,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[source]))
        host.turn()
        host.compacts(keep=1)
        assert "breathe" in host.turn().xml
        assert len(source.asked) == 1

    def test_r174_who_answered_in_the_step_is_not_asked_again_by_its_retry(self) -> None:
        source = Counting((BODY,), id="skills", kind="skills")
        compiler = ContextCompiler(sources=[source])
        step(compiler)
        retry_of(compiler, 0, 9_000)
        assert len(source.asked) == 1

    def test_r163_a_step_that_has_nothing_to_ask_for_asks_for_what_is_mandatory(self) -> None:
        source = Spy((BODY,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[source]))
        host.turn()
        host.compiler = ContextCompiler(sources=[source], state=host.compiler.state())
        host.edits(lambda _: as_messages(SILENCE))
        package = host.turn(refresh=True)
        assert (package.manifest.refresh, host.compiler.state().passes) == ("host-request", 1)
        assert "breathe" in package.xml

    @pytest.mark.parametrize("retried", [False, True])
    def test_r145_r162_a_required_source_that_fails_then_raises_its_own_error(self, retried: bool) -> None:
        source = Spy((BODY,), id="skills", kind="skills", required=True)
        host = Host(ContextCompiler(sources=[source]))
        host.turn()
        host.compiler = ContextCompiler(sources=[source], state=host.compiler.state())
        if retried:
            host.turn(succeeds=False)
        host.compacts(keep=1)
        source.fails = RuntimeError("down")
        before = host.compiler.state()
        arguments = {**call(1, messages=host.history), **({"input_tokens": 9_000} if retried else {})}
        again = host.compiler.on_overflow_sync if retried else host.compiler.before_model_call_sync
        with pytest.raises(RuntimeError) as caught:
            again(**arguments)
        assert caught.value is source.fails
        assert host.compiler.state() == before

    def test_r206_what_is_asked_again_is_charged_under_an_id_of_its_own(self) -> None:
        source = Spy((BODY,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[source]))
        host.turn(accounting={"execution": None})
        host.compacts(keep=1)
        host.compiler = ContextCompiler(sources=[source], state=host.compiler.state())
        host.turn(accounting={"execution": None})
        ids = [request.accounting["request_id"] for request in source.asked if request.accounting]
        assert ids == ["run/context/0/1/skills", "run/context/1/1/again/skills"]


class TestOverflows:
    def test_r177_the_retry_of_a_second_try_replaces_what_both_tries_placed(self) -> None:
        host = Host(ContextCompiler(sources=[Spy((SMALL, LARGE))]))
        host.turn(succeeds=False)
        host.turn(succeeds=False)
        host.sent(retry_of(host.compiler, 0, 1_000, messages=host.history))
        assert [entry.record_id for entry in host.compiler.state().placed] == ["small"]
        assert host.turn().blocks == ()

    def test_r182_each_retry_starts_from_the_state_before_the_step(self) -> None:
        compiler = ContextCompiler(sources=[Spy((SMALL, LARGE))])
        step(compiler)
        for tokens, placed in ((8_000, {"small", "large"}), (1_000, {"small"}), (300, set())):
            retry_of(compiler, 0, tokens)
            assert {entry.record_id for entry in compiler.state().placed} == placed

    def test_r155_a_stored_package_is_remembered_through_a_retry(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        compiler.package_stored("blob:1")
        retry_of(compiler, 0, 9_000)
        assert compiler.state().last_package == "blob:1"

    def test_r57_r121_a_retry_says_what_its_step_fell_back_to(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"max_passes": 1})
        step(compiler)
        assert step(compiler, 1, refresh=True).manifest.fallback == "pass-limit"
        assert retry_of(compiler, 1, 9_000).manifest.fallback == "pass-limit"

    def test_r143_a_retry_waits_for_its_turn(self) -> None:
        compiler = ContextCompiler(sources=[Spy(seconds=0.1)])

        async def both() -> ContextPackage:
            await compiler.before_model_call(**call())
            running = asyncio.create_task(compiler.before_model_call(**call(1, refresh=True)))
            await asyncio.sleep(0.02)
            _, again = await asyncio.gather(running, compiler.on_overflow(input_tokens=9_000, **call(1)))
            return again

        assert asyncio.run(both()).manifest.refresh == "overflow-retry"


class TestWhatIsDue:
    def test_r114_r122_a_changed_task_is_used_up_at_the_pass_limit(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"max_passes": 1, "min_steps": 1})
        step(compiler, working_memory=tasks("a"))
        seen = [step(compiler, n, working_memory=tasks("b")).manifest.fallback for n in (1, 2, 3)]
        assert seen == ["pass-limit", None, None]
        last = compiler.state().last_refresh
        assert last is not None
        assert (last.step, last.active_task_id) == (0, "b")

    def test_r116_a_task_after_none_is_a_change(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 1})
        step(compiler, working_memory=tasks(None))
        assert step(compiler, 1, working_memory=tasks("a")).manifest.refresh == "task-changed"

    @pytest.mark.parametrize("flag", [True, False])
    def test_r130_a_request_of_the_host_stays_due_while_there_is_nothing_to_ask_for(self, flag: bool) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        if not flag:
            compiler.request_refresh()
        manifest = step(compiler, 1, messages=SILENCE, refresh=flag).manifest
        assert (manifest.refresh, manifest.sources[0].status) == ("host-request", "skipped")
        assert step(compiler, 2).manifest.refresh == "host-request"
        assert step(compiler, 3).manifest.refresh == "reused"

    def test_r130_so_does_a_changed_task(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"min_steps": 1})
        step(compiler, working_memory=tasks("a"))
        manifest = step(compiler, 1, messages=SILENCE, working_memory=tasks(None)).manifest
        assert (manifest.refresh, manifest.sources[0].status) == ("task-changed", "skipped")
        assert step(compiler, 2, working_memory=tasks(None)).manifest.refresh == "task-changed"

    def test_r147_a_request_of_the_host_stays_due_when_the_step_fails(self) -> None:
        spy = Spy(required=True)
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        compiler.request_refresh()
        spy.fails = RuntimeError("down")
        before = compiler.state()
        with pytest.raises(RuntimeError):
            step(compiler, 1)
        assert compiler.state() == before
        spy.fails = None
        assert step(compiler, 1).manifest.refresh == "host-request"

    def test_r124_r126_the_task_alone_is_a_query_and_the_cut_is_of_the_whole(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        step(compiler, messages=SILENCE, working_memory=tasks("a"))
        assert spy.asked[0].query == "Ship it"
        long = [{"role": "user", "content": "x" * 5_000}]
        step(compiler, 1, messages=long, working_memory=tasks("a"), refresh=True)
        assert spy.asked[1].query == "Ship it\n" + "x" * 1_992


class TestExplaining:
    def test_a_package_of_a_compiler_can_be_explained_until_the_next_forget(self) -> None:
        compiler = ContextCompiler(sources=[Spy((SMALL, LARGE))], budget={"max_tokens": 200})
        with pytest.raises(InvalidRequestError, match="before_model_call"):
            compiler.inputs()
        package = step(compiler)
        explained = explain(compiler.inputs(), package, ("rag", "large"))
        assert (explained.reason, explained.selected) == ("budget", False)
        change = next(change for change in explained.changes if change.knob == "max_tokens")
        assert change.needed is not None
        more = step(ContextCompiler(sources=[Spy((SMALL, LARGE))], budget={"max_tokens": int(change.needed)}))
        assert "large" in {entry.record_id for entry in more.manifest.entries if entry.selected}
        again = retry_of(compiler, 0, 9_000)
        assert explain(compiler.inputs(), again, ("rag", "large")).tokens == explained.tokens

    @pytest.mark.parametrize("wrong", [None, [], "inputs"])
    def test_what_is_no_input_of_a_compile_is_refused(self, wrong: Any) -> None:
        package = step(ContextCompiler(sources=[Spy()]))
        with pytest.raises(InvalidInputError, match=r"inputs\(\)"):
            explain(wrong, package, 0)


class TestTheRest:
    def test_r129_a_user_who_quotes_the_mark_of_a_summary_is_heard(self) -> None:
        spy = Spy()
        text = "[Earlier conversation summarized] what does that mean?"
        step(ContextCompiler(sources=[spy]), messages=[{"role": "user", "content": text}])
        assert spy.asked[0].query == text

    def test_r165_of_texts_without_a_revision_the_latest_comes_back(self) -> None:
        spy = Spy((ContextCandidate("7", "Old rule.", 0.9),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("7", "New rule.", 0.9),)
        host.turn(refresh=True)
        host.compacts(keep=1)
        package = host.turn()
        assert "New rule." in package.xml
        assert "Old rule." not in package.xml

    def test_r66_a_text_that_stands_is_already_placed_though_a_newer_one_stands_too(self) -> None:
        old, new = (ContextCandidate("r", f"Rule {n}.", 0.9, revision=n) for n in (1, 2))
        spy = Spy((old,))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (new,)
        host.turn(refresh=True)
        spy.found = (old,)
        assert [e.reason for e in host.turn(refresh=True).manifest.entries] == ["already-placed"]

    def test_r212_the_history_is_counted_once_a_step(self) -> None:
        counts = 0

        def count(messages: Sequence[Message]) -> float:
            nonlocal counts
            counts += any(message.content == QUESTION["content"] for message in messages)
            return float(len(messages))

        compiler = ContextCompiler(sources=[Spy()], estimator=TokenEstimator(count))
        step(compiler)
        step(compiler, 1)
        retry_of(compiler, 1, 9_000)
        assert counts == 3

    def test_r39_the_hint_follows_the_room_and_the_estimator(self) -> None:
        estimator = TokenEstimator()
        estimator.calibrate(10_000, 1_000)
        spy = Spy()
        package = step(
            ContextCompiler(sources=[spy], estimator=estimator),
            working_memory=tasks("a"),
            overhead_tokens=10_000,
        )
        tail = estimator.estimate(package.blocks[1].messages)
        context = package.manifest.budget.context_tokens
        assert context < 2_000
        assert spy.asked[0].budget_tokens == int(0.35 * (context - tail))

    def test_r144_every_failed_source_is_told_and_the_steps_callback_comes_first(self) -> None:
        ours: list[Mapping[str, Any]] = []
        theirs: list[Mapping[str, Any]] = []
        sources = [Spy(id=name, fails=RuntimeError(name)) for name in ("a", "b")]
        compiler = ContextCompiler(sources=sources, on_warning=ours.append)
        step(compiler, on_warning=theirs.append)
        assert [warning["setting"] for warning in theirs] == ["a", "b"]
        assert ours == []
        step(compiler, 1, refresh=True)
        assert [warning["setting"] for warning in ours] == ["a", "b"]

    def test_r144_where_nobody_listens_a_failure_is_in_the_log_without_its_text(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        step(ContextCompiler(sources=[Spy(id="wiki", fails=RuntimeError("SECRET"))]))
        assert "context-source-failed: wiki" in caplog.text
        assert "SECRET" not in caplog.text

    def test_r135_r153_a_plain_function_that_blocks_is_bounded_too(self) -> None:
        over, warnings = threading.Event(), list[Mapping[str, Any]]()
        compiler = ContextCompiler(
            sources=[Spy()],
            refresh={"rewrite_query": lambda query: over.wait(20) and query},
            time_limit=0.1,
            on_warning=warnings.append,
        )
        started = time.monotonic()
        step(compiler)
        over.set()
        assert time.monotonic() - started < 10
        assert len(warnings) == 1

    def test_r245_a_report_has_the_times_of_the_compilers_clock(self) -> None:
        reports: list[CompileReport] = []
        times = iter((10, 25))
        step(ContextCompiler(sources=[Spy()], clock=lambda: next(times), observer=reports.append))
        assert [(report.started_ns, report.ended_ns) for report in reports] == [(10, 25)]

    def test_r85_r246_tools_are_counted_and_neither_chosen_nor_changed(self) -> None:
        tools = [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]
        before = copy.deepcopy(tools)
        overhead = TokenEstimator().overhead(tools, {"type": "object"}, "anthropic")
        package = step(ContextCompiler(sources=[Spy()]), overhead_tokens=overhead, working_memory=goal("Ship."))
        assert tools == before
        assert {field for field in dir(package) if not field.startswith("_")} == {"blocks", "manifest", "xml"}
        assert "preview" in str(ContextCompiler.__doc__)

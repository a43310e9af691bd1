"""Overflow: the provider refused the request, and the step is compiled once more for less room."""

from __future__ import annotations

from typing import Any

import pytest

from playground import (
    ContextBudgetExceededError,
    ContextCandidate,
    ContextCompiler,
    InvalidInputError,
    InvalidRequestError,
)
from playground.messages import as_messages
from tests.host import (
    LOAD,
    QUESTION,
    RESULT,
    Host,
    Spy,
    blocks_in,
    chosen,
    goal,
    one_skill,
    pruned,
    retry_of,
    step,
    texts_of,
)

SMALL = ContextCandidate("small", "Deploys need a green CI run.", 0.5)
LARGE = ContextCandidate("large", "Rollbacks use the previous image tag. " * 30, 0.9)


class TestTheRetry:
    def test_r174_r175_r207_it_asks_nobody_spends_no_pass_and_says_so(self) -> None:
        spy = Spy((SMALL, LARGE))
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        package = retry_of(compiler, 0, 12_000, accounting={"execution": object()})
        assert (package.manifest.refresh, len(spy.asked), compiler.state().passes) == ("overflow-retry", 1, 1)
        assert package.manifest.retrieval_pass == 1

    def test_r176_its_budget_follows_the_smaller_input(self) -> None:
        compiler = ContextCompiler(sources=[Spy((SMALL, LARGE))])
        first = step(compiler)
        assert chosen(first) == {"small", "large"}
        second = retry_of(compiler, 0, 1_000)
        budget = second.manifest.budget
        assert budget.input_tokens == 1_000
        assert budget.context_tokens == int(0.25 * (1_000 - budget.used_tokens))
        assert chosen(second) == {"small"}
        assert {e.record_id: e.reason for e in second.manifest.entries}["large"] == "budget"

    def test_r176_it_is_never_more_than_the_model_accepts(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        assert retry_of(compiler, 0, 10**9).manifest.budget.input_tokens == 16_000

    def test_r177_it_replaces_what_this_step_placed_and_nothing_else(self) -> None:
        spy = Spy((SMALL,))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        earlier = host.compiler.state().placed
        spy.found = (ContextCandidate("new", "A new fact.", 0.4), LARGE)
        host.turn(succeeds=False, refresh=True)
        assert {entry.record_id for entry in host.compiler.state().placed} == {"small", "new", "large"}
        retry = retry_of(host.compiler, 1, 800, messages=host.history)
        assert chosen(retry) == {"new"}
        placed = host.compiler.state().placed
        assert placed[: len(earlier)] == earlier
        assert {entry.record_id for entry in placed[len(earlier) :]} == {"new"}

    def test_r177_what_was_dropped_can_be_placed_later(self) -> None:
        host = Host(ContextCompiler(sources=[Spy((SMALL, LARGE))]))
        host.turn(succeeds=False)
        host.sent(retry_of(host.compiler, 0, 1_000))
        package = host.turn(refresh=True)
        assert {e.record_id: e.reason for e in package.manifest.entries} == {
            "large": "ranked",
            "small": "already-placed",
        }

    @pytest.mark.parametrize("kind", ["goal", "body"])
    def test_r178_mandatory_content_that_does_not_fit_is_an_error_of_this_phase(self, kind: str) -> None:
        body = ContextCandidate("body/x", "long " * 900, 1.0, mandatory=True)
        sources = [Spy((body,), id="skills", kind="skills")] if kind == "body" else []
        memory = goal("g" * 3_900) if kind == "goal" else None
        compiler = ContextCompiler(sources=sources)
        step(compiler, working_memory=memory)
        before = compiler.state()
        with pytest.raises(ContextBudgetExceededError) as caught:
            retry_of(compiler, 0, 500, working_memory=memory)
        assert caught.value.phase == "overflow-retry"
        assert caught.value.code == "context_budget_exceeded"
        assert compiler.state() == before

    def test_r179_with_room_enough_the_same_records_are_placed_the_same_way(self) -> None:
        compiler = ContextCompiler(sources=[Spy((SMALL, LARGE))])
        first, placed = step(compiler), compiler.state().placed
        second = retry_of(compiler, 0, 16_000)
        assert second.xml == first.xml
        assert [e.reason for e in second.manifest.entries] == [e.reason for e in first.manifest.entries]
        assert compiler.state().placed == placed

    def test_r180_what_the_recovering_compaction_removed_competes_again(self) -> None:
        spy = Spy((SMALL,))
        host = Host(ContextCompiler(sources=[spy]))
        for _ in range(3):
            host.turn()
        spy.found = (ContextCandidate("new", "A new fact.", 0.4),)
        host.turn(succeeds=False, refresh=True)
        host.compacts(keep=1)
        assert blocks_in(host.history) == []
        retry = retry_of(host.compiler, 3, 9_000, messages=host.history)
        assert chosen(retry) == {"new", "small"}
        assert retry.manifest.cache_prefix_changed
        host.sent(retry)
        assert texts_of(host.history).count("green CI") == 1
        assert host.turn().blocks == ()

    def test_r182_each_of_several_overflows_starts_from_the_original_answers(self) -> None:
        compiler = ContextCompiler(sources=[Spy((SMALL, LARGE))])
        step(compiler)
        sizes = [chosen(retry_of(compiler, 0, tokens)) for tokens in (1_000, 300, 8_000)]
        assert sizes == [{"small"}, set(), {"small", "large"}]
        assert {entry.record_id for entry in compiler.state().placed} == {"small", "large"}

    def test_a_step_that_fell_back_says_so_in_its_retry_too(self) -> None:
        compiler = ContextCompiler(sources=[Spy(), Spy(id="wiki", fails=RuntimeError("down"))])
        step(compiler)
        assert retry_of(compiler, 0, 9_000).manifest.fallback == "source-failed"

    def test_a_step_tried_again_after_its_overflow_starts_from_what_the_retry_placed(self) -> None:
        host = Host(ContextCompiler(sources=[Spy((SMALL, LARGE))]))
        host.turn(succeeds=False)
        retry_of(host.compiler, 0, 1_000)
        host.turn()
        assert texts_of(host.history).count("green CI") == 1
        assert "Rollbacks" not in texts_of(host.history)

    def test_a_refresh_asked_for_meanwhile_is_still_due_in_the_next_step(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn(succeeds=False)
        host.compiler.request_refresh()
        host.sent(retry_of(host.compiler, 0, 9_000))
        assert host.turn().manifest.refresh == "host-request"

    def test_r162_a_mandatory_record_that_a_restarted_instance_never_saw_is_asked_for_here_too(self) -> None:
        body = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
        skills, other = Spy((body,), id="skills", kind="skills"), Spy()
        host = Host(ContextCompiler(sources=[skills, other]))
        host.turn()
        host.compiler = ContextCompiler(sources=[skills, other], state=host.compiler.state())
        host.turn(succeeds=False)
        host.compacts(keep=1)
        for _ in range(2):
            retry = retry_of(host.compiler, 1, 9_000, messages=host.history)
            assert chosen(retry) == {"body/x"}
        assert (len(skills.asked), len(other.asked)) == (2, 1)
        assert host.compiler.state().passes == 1

    def test_r171_r180_a_loaded_skill_whose_result_the_recovering_compaction_pruned_comes_in(self) -> None:
        history = (*as_messages([QUESTION]), LOAD, RESULT)
        host = Host(ContextCompiler(sources=[Spy((SMALL,)), one_skill()]), history)
        host.turn(succeeds=False)
        host.edits(pruned)
        retry = retry_of(host.compiler, 0, 9_000, messages=host.history)
        assert chosen(retry) == {"body/x", "small"}
        host.sent(retry)
        assert host.turn().blocks == ()
        assert host.compiler.state().passes == 1


class TestWithoutAStep:
    def test_r181_a_fresh_compiler_has_nothing_to_compile_again(self) -> None:
        with pytest.raises(InvalidRequestError, match="Step 0"):
            retry_of(ContextCompiler(sources=[Spy()]), 0, 9_000)

    def test_r181_nor_for_another_step(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        with pytest.raises(InvalidRequestError, match="Step 1"):
            retry_of(compiler, 1, 9_000)

    def test_r181_nor_after_a_restart(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        twin = ContextCompiler(sources=[Spy()], state=compiler.state())
        with pytest.raises(InvalidRequestError):
            retry_of(twin, 0, 9_000)

    def test_a_step_whose_compile_failed_has_no_answers_to_start_from(self) -> None:
        spy = Spy(required=True, fails=RuntimeError("down"))
        compiler = ContextCompiler(sources=[spy])
        with pytest.raises(RuntimeError):
            step(compiler)
        with pytest.raises(InvalidRequestError):
            retry_of(compiler, 0, 9_000)

    def test_answers_from_before_a_forget_are_not_used(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        with pytest.raises(InvalidRequestError, match="forgotten"):
            retry_of(compiler, 0, 9_000, redacted=True)

    @pytest.mark.parametrize("tokens", [-1, 1.5, "9", None, True])
    def test_a_size_that_is_no_number_of_tokens_is_refused(self, tokens: Any) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        with pytest.raises(InvalidInputError, match="input_tokens"):
            retry_of(compiler, 0, tokens)

"""Restarts: a state as plain JSON, and what an instance made from it does and does not do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from playground import (
    ContextCandidate,
    ContextCompiler,
    ContextCompilerState,
    ContextPackage,
    InvalidInputError,
    InvalidRequestError,
)
from playground.messages import Message, as_messages
from tests.host import (
    LOAD,
    PRUNED,
    QUESTION,
    RECORD,
    Host,
    Spy,
    blocks_in,
    chosen,
    goal,
    one_skill,
    retry_of,
    step,
    tasks,
    texts_of,
)

BODY = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)


def restarted(compiler: ContextCompiler, sources: Sequence[Any], **options: Any) -> ContextCompiler:
    """A new instance from the stored state, as another process would make it."""
    return ContextCompiler(sources=sources, state=json.loads(compiler.state().to_json()), **options)


def bytes_of(package: ContextPackage) -> tuple[str, str]:
    return package.xml, package.manifest.to_json()


class TestTheState:
    def test_r154_it_is_a_copy_that_later_steps_do_not_change(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        before = compiler.state()
        step(compiler)
        assert before.passes == 0
        assert before.placed == ()
        assert compiler.state().passes == 1

    def test_r155_it_holds_passes_last_refresh_placements_and_the_last_package(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler, 3, working_memory=tasks("a"))
        compiler.package_stored("blob:sha256:abc")
        data = json.loads(compiler.state().to_json())
        assert data.keys() == {
            "version", "runId", "passes", "lastRefresh", "placed", "lastPackage", "refreshRequested",
            "refreshForced", "unanswered", "prefix",
        }  # fmt: skip
        assert data["lastPackage"] == "blob:sha256:abc"
        assert data["prefix"].keys() == {"step", "count", "digest"}
        step(compiler, 4)
        assert compiler.state().last_package == "blob:sha256:abc"

    @pytest.mark.parametrize("reference", [None, 3, b"x"])
    def test_a_reference_that_is_no_text_is_refused(self, reference: Any) -> None:
        with pytest.raises(InvalidInputError, match="reference"):
            ContextCompiler(sources=[]).package_stored(reference)

    def test_r60_a_manifest_names_no_stored_package_by_itself(self) -> None:
        manifest = step(ContextCompiler(sources=[Spy()])).manifest
        assert manifest.blob is None
        assert "blob" not in json.loads(manifest.to_json())

    def test_r156_it_holds_no_text_and_no_query(self) -> None:
        compiler = ContextCompiler(sources=[Spy((ContextCandidate("r1", "MARKER in a record", 0.9),))])
        step(compiler, messages=[{"role": "user", "content": "MARKER in a question"}])
        assert "MARKER" not in compiler.state().to_json()

    @pytest.mark.parametrize(
        "state",
        [
            {},
            {"passes": 1},
            {"version": None},
            {"version": 2},
            {"version": True},
            {"version": "1"},
            {"version": 1, "runId": 3},
            {"version": 1, "passes": -1},
            {"version": 1, "passes": 1.5},
            {"version": 1, "passes": "3"},
            {"version": 1, "unknown": 1},
            {"version": 1, "placed": [{"source": "rag"}]},
            {"version": 1, "lastRefresh": {"step": -1}},
            {"version": 1, "prefix": {"step": 0, "count": 1, "digest": "sha256:short"}},
            {"version": 1, "prefix": {"step": 0, "count": -1, "digest": "sha256:" + "0" * 64}},
            "state",
            [],
            3,
        ],
    )
    def test_r159_a_malformed_state_or_another_version_is_refused(self, state: Any) -> None:
        with pytest.raises(TypeError):
            ContextCompiler(sources=[], state=state)

    def test_r159_a_state_that_names_its_version_is_enough(self) -> None:
        assert ContextCompiler(sources=[], state={"version": 1}).state() == ContextCompilerState()

    def test_r231_a_snapshot_handed_over_as_data_names_its_version_too(self) -> None:
        compiler = ContextCompiler(sources=[])
        snapshot = json.loads(goal("Ship it.").to_json())
        assert chosen(step(compiler, working_memory=snapshot)) == {"goal"}
        del snapshot["version"]
        with pytest.raises(InvalidInputError, match="WorkingMemorySnapshot has version None"):
            step(compiler, working_memory=snapshot)

    @pytest.mark.parametrize("field", ["digest", "blockDigest", "tokens", "step", "kind"])
    def test_r159_a_malformed_placement_is_refused(self, field: str) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        data = json.loads(compiler.state().to_json())
        data["placed"][0][field] = "wrong"
        with pytest.raises(TypeError, match=r"placed\.0"):
            ContextCompiler(sources=[], state=data)

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 7}', "null", '"state"'])
    def test_r159_text_that_is_no_state_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidInputError):
            ContextCompilerState.from_json(text)

    @pytest.mark.parametrize("record_id", ["\ud800", 'a"b', "ä\u2028", "\x00", "\U0001f600"])
    def test_r154_any_record_id_survives_the_recorded_form(self, record_id: str) -> None:
        compiler = ContextCompiler(sources=[Spy((ContextCandidate(record_id, "text", 0.9),))])
        step(compiler)
        state = compiler.state()
        text = state.to_json()
        assert text.encode()
        assert ContextCompilerState.from_json(text) == state


class TestTheSameContext:
    def test_r157_a_restored_compiler_makes_the_next_package_byte_for_byte(self) -> None:
        spy = Spy()
        host = Host(ContextCompiler(sources=[spy], refresh={"min_steps": 1}))
        for number in range(3):
            host.says(f"Question {number}")
            host.turn(working_memory=tasks("a"), refresh=number == 1)
        for memory, more in (
            (tasks("a"), {}),
            (tasks("b"), {}),
            (tasks(None), {"refresh": True}),
        ):
            twin = restarted(host.compiler, [spy], refresh={"min_steps": 1})
            arguments = {"messages": host.history, "working_memory": memory, **more}
            theirs = step(twin, host.next_step, **arguments)
            assert bytes_of(theirs) == bytes_of(host.turn(working_memory=memory, **more))

    def test_r157_a_step_that_is_tried_again_after_a_restart_is_compared_with_the_step_before(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        host.says("Go on.")
        host.turn(succeeds=False)
        host.edits(lambda history: (*history[:-1], Message("user", "Go on, please.")))
        twin = restarted(host.compiler, [Spy()])
        assert not step(twin, 1, messages=host.history).manifest.cache_prefix_changed
        host.edits(lambda history: (Message("user", "Something else."), *history[1:]))
        twin = restarted(host.compiler, [Spy()])
        assert step(twin, 1, messages=host.history).manifest.cache_prefix_changed

    def test_r158_a_request_of_the_host_survives(self) -> None:
        compiler, spy = ContextCompiler(sources=[Spy()]), Spy()
        step(compiler)
        compiler.request_refresh()
        twin = restarted(compiler, [spy])
        assert twin.state().refresh_requested
        assert step(twin, 1).manifest.refresh == "host-request"
        assert not twin.state().refresh_requested
        assert step(twin, 2).manifest.refresh == "reused"

    def test_r122_a_pass_limit_that_was_reported_is_not_reported_again_after_a_restart(self) -> None:
        compiler = ContextCompiler(sources=[Spy()], refresh={"max_passes": 1})
        step(compiler)
        step(compiler, 1, refresh=True)
        twin = restarted(compiler, [Spy()], refresh={"max_passes": 1})
        assert step(twin, 2).manifest.fallback is None


class TestWhatLeftTheHistory:
    def test_r161_an_optional_record_waits_for_the_next_refresh(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        host.compacts(keep=1)
        spy = Spy()
        host.compiler = restarted(host.compiler, [spy])
        assert host.turn().blocks == ()
        assert spy.asked == []
        host.turn(refresh=True)
        assert len(spy.asked) == 1
        assert len(blocks_in(host.history)) == 1

    def test_r162_a_mandatory_one_is_asked_of_its_source_at_once_and_spends_no_pass(self) -> None:
        options = {"refresh": {"max_passes": 1, "min_steps": 9}}
        skills, other = Spy((BODY,), id="skills", kind="skills"), Spy()
        host = Host(ContextCompiler(sources=[other, skills], **options))  # type: ignore[arg-type]
        host.turn()
        host.compacts(keep=1)
        host.compiler = restarted(host.compiler, [other, skills], **options)
        package = host.turn()
        assert (len(skills.asked), len(other.asked)) == (2, 1)
        assert [(e.record_id, e.reason) for e in package.manifest.entries] == [("body/x", "mandatory")]
        assert (package.manifest.refresh, package.manifest.fallback) == ("reused", None)
        assert host.compiler.state().passes == 1
        host.turn()
        assert len(skills.asked) == 2

    def test_r163_it_is_asked_without_a_query_too_and_only_mandatory_answers_count(self) -> None:
        line = ContextCandidate("catalog/x", "- x: breathes", 0.9)
        skills = Spy((BODY, line), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compiler = restarted(host.compiler, [skills])
        host.edits(lambda _: as_messages([{"role": "assistant", "content": "Hello."}]))
        package = host.turn()
        assert skills.asked[-1].query == ""
        assert [(e.record_id, e.reason) for e in package.manifest.entries] == [("body/x", "mandatory")]

    def test_r164_what_the_source_no_longer_offers_stays_away_without_an_error(self) -> None:
        skills = Spy((BODY,), id="skills", kind="skills", required=True)
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compacts(keep=1)
        skills.found = ()
        host.compiler = restarted(host.compiler, [skills])
        package = host.turn()
        assert package.blocks == ()
        assert package.manifest.fallback is None

    def test_r164_a_source_that_is_gone_is_not_missed(self) -> None:
        host = Host(ContextCompiler(sources=[Spy((BODY,), id="skills", kind="skills")]))
        host.turn()
        host.compacts(keep=1)
        host.compiler = restarted(host.compiler, [])
        assert host.turn().blocks == ()

    @pytest.mark.parametrize("required", [False, True])
    def test_r162_a_source_that_fails_then_fails_as_ever(self, required: bool) -> None:
        skills = Spy((BODY,), id="skills", kind="skills", required=required)
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compacts(keep=1)
        skills.fails = RuntimeError("down")
        host.compiler = restarted(host.compiler, [skills])
        before = host.compiler.state()
        if required:
            with pytest.raises(RuntimeError) as caught:
                host.turn()
            assert caught.value is skills.fails
            assert host.compiler.state() == before
        else:
            assert host.turn().manifest.fallback == "source-failed"
        skills.fails = None
        assert "breathe" in host.turn().xml

    def test_r166_no_older_revision_after_a_newer_one_across_a_restart(self) -> None:
        spy = Spy((ContextCandidate("r1", "New rule.", 0.9, revision=2),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.compacts(keep=1)
        spy.found = (ContextCandidate("r1", "Old rule.", 0.9, revision=1),)
        host.compiler = restarted(host.compiler, [spy])
        package = host.turn(refresh=True)
        assert [entry.reason for entry in package.manifest.entries] == ["superseded"]

    def test_r162_a_loaded_skill_comes_back_after_its_result_was_pruned_and_the_process_restarted(self) -> None:
        host = Host(ContextCompiler(sources=[one_skill()]), (*as_messages([QUESTION]), LOAD, PRUNED))
        assert "Step one" in host.turn().xml
        host.edits(lambda history: tuple(m for m in history if not blocks_in([m])))
        host.compiler = restarted(host.compiler, [one_skill()])
        assert "Step one" in host.turn(working_memory=goal("Live.")).xml
        assert texts_of(host.history).count("Step one") == 1


def test_r160_a_record_placed_by_this_very_instance_after_a_restart_is_known_to_it() -> None:
    first = ContextCompiler(sources=[Spy()])
    step(first)
    spy = Spy((RECORD, ContextCandidate("r2", "Rollbacks use the previous tag.", 0.5)))
    host = Host(restarted(first, [spy]), next_step=1)
    host.turn(refresh=True)
    host.compacts(keep=1)
    assert {e.record_id for e in host.turn().manifest.entries if e.selected} == {"r1", "r2"}
    assert len(spy.asked) == 1


class TestOneRun:
    def test_another_run_is_refused_and_changes_nothing(self) -> None:
        spy = Spy()
        compiler = ContextCompiler(sources=[spy])
        step(compiler)
        before = compiler.state()
        with pytest.raises(InvalidRequestError, match="'run', not 'other'") as refused:
            step(compiler, run_id="other", refresh=True)
        assert "ContextCompiler for each run" in refused.value.remedy
        assert compiler.state() == before
        assert len(spy.asked) == 1

    def test_an_overflow_of_another_run_is_refused(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        with pytest.raises(InvalidRequestError, match="'run', not 'other'"):
            retry_of(compiler, 0, 4_000, run_id="other")
        assert chosen(retry_of(compiler, 0, 4_000)) == {"r1"}

    def test_a_restored_state_knows_its_run(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        with pytest.raises(InvalidRequestError, match="'run', not 'other'"):
            step(restarted(compiler, [Spy()]), 1, run_id="other")
        assert step(restarted(compiler, [Spy()]), 1).manifest.refresh == "reused"

    def test_a_recorded_state_without_a_run_takes_the_next_one(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        step(compiler)
        data = json.loads(compiler.state().to_json())
        del data["runId"]
        again = ContextCompiler(sources=[Spy()], state=data)
        step(again, 1, run_id="other")
        assert again.state().run_id == "other"

    def test_a_run_whose_step_failed_leaves_the_instance_free(self) -> None:
        source = Spy(required=True, fails=OSError("down"))
        compiler = ContextCompiler(sources=[source])
        with pytest.raises(OSError, match="down"):
            step(compiler)
        source.fails = None
        assert step(compiler, run_id="other").manifest.run_id == "other"

    def test_r105_a_step_may_come_again_and_an_earlier_one_too(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        for number in (0, 1, 2, 2, 0):
            step(compiler, number)
        assert compiler.state().passes == 1

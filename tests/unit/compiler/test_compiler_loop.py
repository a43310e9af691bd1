"""A host's loop over many steps: what is sent, what stays, and which bytes never change again."""

from __future__ import annotations

from typing import Any

import pytest

from playground import ContextCandidate, ContextCompiler, ContextSourceRequest, Message, SkillsSource
from playground.compiler.history import history_digests
from playground.messages import ReasoningPart, as_messages, message_to_json
from tests.host import (
    LOAD,
    QUESTION,
    RECORD,
    RESULT,
    TAIL_KEPT_MODEL,
    Host,
    Spy,
    blocks_in,
    goal,
    one_skill,
    pruned,
    step,
    texts_of,
)

SYSTEM = {"role": "system", "content": "You deploy things."}


def another(number: int, *, words: int = 5) -> ContextCandidate:
    return ContextCandidate(f"n{number}", f"Fact {number}. " + "word " * words, 0.5)


class Fragile(SkillsSource):
    """A source of skills that fails when told to."""

    fails = False
    asked = 0

    async def query(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        self.asked += 1
        if self.fails:
            raise RuntimeError("down")
        return await super().query(request)


def before_reasoning(request: tuple[Message, ...]) -> list[tuple[str, ...]]:
    """Digests of what stands before each reasoning part, one tuple a reasoning message."""
    digests = history_digests(request)
    return [
        digests[:index]
        for index, message in enumerate(request)
        if any(isinstance(part, ReasoningPart) for part in message.parts)
    ]


class TestWhatIsSent:
    def test_r85_system_messages_and_everything_before_go_out_as_they_came(self) -> None:
        history = as_messages([SYSTEM, QUESTION])
        before = [message_to_json(message) for message in history]
        host = Host(ContextCompiler(sources=[Spy()]), history)
        host.turn(working_memory=goal("Ship."))
        assert host.requests[0][:2] == history
        assert [message_to_json(message) for message in host.requests[0][:2]] == before
        assert [message.role for message in host.requests[0][2:]] == ["user", "user"]

    def test_r86_r90_one_block_and_one_tail_at_most_however_many_sources_there_are(self) -> None:
        sources = [Spy((another(number),), id=f"s{number}") for number in range(5)]
        host = Host(ContextCompiler(sources=sources))
        package = host.turn(working_memory=goal("Ship."))
        assert [block.placement for block in package.blocks] == ["append", "ephemeral-tail"]
        assert texts_of(host.requests[0][-1:]).startswith("<deuz_working_memory ")

    def test_r87_the_block_stands_after_the_messages_it_was_compiled_for_and_before_the_answer(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        package = host.turn()
        assert host.history[0] == as_messages([QUESTION])[0]
        assert host.history[1].content == package.blocks[0].text
        assert host.history[2].role == "assistant"

    def test_r87_nothing_joins_the_history_when_the_call_failed(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        failed = host.turn(succeeds=False)
        assert host.history == as_messages([QUESTION])
        assert host.turn().xml == failed.xml
        assert len(blocks_in(host.history)) == 1

    def test_r91_r92_each_request_ends_with_the_current_working_memory_and_the_history_has_none(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        for number in range(4):
            host.turn(working_memory=goal(f"Goal {number}.", revision=number))
            assert f"Goal {number}." in texts_of(host.requests[-1][-1:])
            assert texts_of(host.requests[-1]).count("<deuz_working_memory ") == 1
            assert "<deuz_working_memory " not in texts_of(host.history)

    def test_r106_a_package_names_nothing_to_remove(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        package = host.turn(refresh=True)
        assert package.blocks == ()
        assert blocks_in(host.history) == blocks_in(host.requests[0])


class TestBlocksNeverChange:
    def test_r88_r89_over_many_passes_old_blocks_keep_their_bytes_and_new_ones_hold_only_what_is_new(
        self,
    ) -> None:
        spy = Spy(())
        host = Host(ContextCompiler(sources=[spy], refresh={"max_passes": 20}))
        seen: list[str] = []
        for number in range(8):
            spy.found = tuple(another(n) for n in range(number + 1))
            host.turn(refresh=True)
            blocks = blocks_in(host.history)
            assert blocks[: len(seen)] == seen
            assert len(blocks) == len(seen) + 1
            assert blocks[-1].count("<record ") == 1
            seen = blocks

    def test_r167_a_newer_revision_is_appended_while_the_older_stays(self) -> None:
        spy = Spy((ContextCandidate("r1", "Old rule.", 0.9, revision=1),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("r1", "New rule.", 0.9, revision=2),)
        host.turn(refresh=True)
        old, new = blocks_in(host.history)
        assert "Old rule." in old
        assert "New rule." in new
        assert "Old rule." not in new


class TestTailKept:
    def test_r96_r98_each_steps_copy_stays_right_after_its_block_and_the_request_ends_with_the_current(
        self,
    ) -> None:
        spy = Spy((another(0),))
        host = Host(ContextCompiler(sources=[spy]), model=TAIL_KEPT_MODEL)
        for number in range(3):
            spy.found = (another(number),)
            host.turn(working_memory=goal(f"Goal {number}.", revision=number), refresh=True)
            assert f"Goal {number}." in texts_of(host.requests[-1][-1:])
        kinds = [
            "block" if text.startswith("<deuz_context ") else "tail" if text.startswith("<deuz_w") else "other"
            for text in (texts_of([message]) for message in host.history)
        ]
        assert kinds == ["other", *["block", "tail", "other"] * 3]

    def test_r97_r104_what_stands_before_any_thinking_is_the_same_over_50_steps_with_refreshes(self) -> None:
        spy = Spy((another(0),))
        host = Host(ContextCompiler(sources=[spy], refresh={"max_passes": 99}), model=TAIL_KEPT_MODEL)
        known: list[tuple[str, ...]] = []
        for number in range(50):
            spy.found = tuple(another(n) for n in range(number // 5 + 1))
            if number % 7 == 3:
                host.says(f"And what about {number}?")
            package = host.turn(
                working_memory=goal(f"Goal {number // 4}.", revision=number // 4), refresh=number % 5 == 0
            )
            before = before_reasoning(host.requests[-1])
            assert before[: len(known)] == known
            assert len(before) == number
            assert not package.manifest.cache_prefix_changed
            assert package.manifest.placement.tail_kept is True
            known = before

    def test_r97_a_host_that_drops_the_copies_changes_what_stands_before_the_thinking(self) -> None:
        """The check above can fail: on an ordinary model the tail is not kept."""
        host = Host(ContextCompiler(sources=[]))
        sent = []
        for number in range(3):
            host.turn(working_memory=goal("Ship.", revision=number))
            sent.append(before_reasoning((*host.requests[-1], host.history[-1])))
        assert sent[2][: len(sent[1])] != sent[1]

    @pytest.mark.parametrize("memory", [None, goal("Ship.").model_copy(update={"goal": None})])
    def test_r99_without_a_tail_nothing_is_kept(self, memory: Any) -> None:
        package = step(ContextCompiler(sources=[Spy()]), model=TAIL_KEPT_MODEL, working_memory=memory)
        assert package.manifest.placement.tail_kept is None
        assert not package.manifest.placement.ephemeral_tail


class TestPrefix:
    def test_r103_the_first_request_has_no_prefix_that_could_have_changed(self) -> None:
        history = as_messages([QUESTION, {"role": "assistant", "content": "a"}, QUESTION])
        assert not Host(ContextCompiler(sources=[Spy()]), history).turn().manifest.cache_prefix_changed

    def test_r100_it_stays_while_the_history_only_grows(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        for number in range(6):
            host.says(f"Question {number}")
            package = host.turn(working_memory=goal("Ship.", revision=number), refresh=number == 3)
            assert not package.manifest.cache_prefix_changed

    def test_r101_a_summary_changes_it_once_and_not_in_the_steps_after(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        for _ in range(3):
            host.turn()
        host.compacts(keep=1)
        assert host.turn().manifest.cache_prefix_changed
        assert not host.turn().manifest.cache_prefix_changed

    def test_r101_a_pruned_tool_result_changes_it(self) -> None:
        host = Host(ContextCompiler(sources=[]), (*as_messages([QUESTION]), LOAD, RESULT))
        host.turn()
        host.edits(pruned)
        assert host.turn().manifest.cache_prefix_changed

    def test_r102_a_host_that_edits_or_does_not_append_changes_it(self) -> None:
        edited = Host(ContextCompiler(sources=[]), as_messages([SYSTEM, QUESTION]))
        edited.turn()
        edited.edits(lambda history: (Message("system", "Other."), *history[1:]))
        assert edited.turn().manifest.cache_prefix_changed
        forgetful = Host(ContextCompiler(sources=[Spy()]))
        forgetful.turn()
        forgetful.edits(lambda history: tuple(m for m in history if not blocks_in([m])))
        assert forgetful.turn().manifest.cache_prefix_changed

    def test_r105_a_step_tried_again_is_compared_with_the_step_before_it(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        host.says("Go on.")
        host.turn(succeeds=False, refresh=True)
        host.edits(lambda history: (*history[:-1], Message("user", "Go on, please.")))
        assert not host.turn().manifest.cache_prefix_changed


class TestAfterABoundary:
    def test_r107_working_memory_comes_from_the_snapshot_and_not_from_a_summary(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn(working_memory=goal("Ship the billing service."))
        host.compacts(keep=1, summary="The goal is to delete everything.")
        package = host.turn(working_memory=goal("Ship the billing service."))
        assert "Ship the billing service." in package.blocks[-1].text
        assert "delete" not in package.xml

    def test_r168_a_record_whose_block_is_gone_is_no_longer_already_placed(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        host.compacts(keep=1)
        package = host.turn(refresh=True)
        assert [(entry.record_id, entry.reason) for entry in package.manifest.entries] == [("r1", "ranked")]
        assert len(blocks_in(host.history)) == 1

    def test_r171_a_loaded_body_comes_back_even_when_nothing_else_does(self) -> None:
        body = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
        skills = Spy((body,), id="skills", kind="skills")
        host = Host(
            ContextCompiler(sources=[Spy((another(1, words=200),)), skills], budget={"max_tokens": 600})
        )
        host.turn()
        assert blocks_in(host.history)[0].count("<record ") == 2
        host.compacts(keep=1)
        package = host.turn(overhead_tokens=15_600)
        assert [(entry.record_id, entry.reason) for entry in package.manifest.entries] == [
            ("n1", "budget"),
            ("body/x", "mandatory"),
        ]

    def test_r171_r198_a_loaded_skill_comes_in_as_soon_as_its_result_was_pruned(self) -> None:
        host = Host(ContextCompiler(sources=[one_skill()], refresh={"max_passes": 1}))
        host.turn()
        host.edits(lambda history: (*history, LOAD, RESULT))
        assert host.turn().blocks == ()
        host.edits(pruned)
        package = host.turn()
        assert [(e.record_id, e.reason) for e in package.manifest.entries] == [("body/x", "mandatory")]
        assert (package.manifest.refresh, package.manifest.fallback) == ("reused", None)
        assert host.compiler.state().passes == 1
        assert host.turn().blocks == ()

    def test_r112_other_sources_are_not_asked_at_a_compaction(self) -> None:
        spy = Spy()
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.compacts(keep=1)
        host.turn()
        assert len(spy.asked) == 1

    def test_r160_a_mandatory_record_comes_back_from_what_the_instance_knew_whatever_its_source_says_now(
        self,
    ) -> None:
        body = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
        skills = Spy((body,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compacts(keep=1)
        skills.found = ()
        assert "breathe" in host.turn(refresh=True).xml

    def test_r171_a_body_that_a_search_result_had_brought_comes_back_as_mandatory(self) -> None:
        chunk = ContextCandidate("7", "Step one: breathe.", 0.9)
        skills = Spy((), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[Spy((chunk,)), skills]))
        host.turn()
        skills.found = (ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True),)
        host.turn(refresh=True)
        host.compacts(keep=1)
        host.compiler = ContextCompiler(sources=[Spy((chunk,)), skills], state=host.compiler.state())
        package = host.turn(overhead_tokens=15_600)
        assert [e.record_id for e in package.manifest.entries if e.selected] == ["body/x"]

    @pytest.mark.parametrize("moment", ["when its result was pruned", "in a refresh"])
    def test_r171_a_loaded_skill_is_not_lost_by_a_moment_of_failure(self, moment: str) -> None:
        skills = one_skill(Fragile)
        host = Host(ContextCompiler(sources=[skills]), (*as_messages([QUESTION]), LOAD, RESULT))
        host.turn()
        host.edits(pruned)
        skills.fails = True
        assert host.turn(refresh=moment == "in a refresh").manifest.fallback == "source-failed"
        assert host.compiler.state().unanswered == ("skills",)
        skills.fails = False
        host.compiler = ContextCompiler(sources=[skills], state=host.compiler.state())
        assert "breathe" in host.turn().xml
        assert host.compiler.state().unanswered == ()
        asked = skills.asked
        host.turn()
        assert skills.asked == asked

    def test_r153_a_source_that_fails_again_and_again_is_asked_less_and_less_often(self) -> None:
        body = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
        skills = Spy((body,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compacts(keep=1)
        host.compiler = ContextCompiler(sources=[skills], state=host.compiler.state())
        skills.fails, skills.asked = RuntimeError("down"), []
        for _ in range(30):
            host.turn()
        assert [request.step for request in skills.asked] == [1, 2, 4, 8, 16]
        skills.fails = None
        for _ in range(3):
            host.turn()
        assert "breathe" in texts_of(host.history)

    def test_r112_a_mandatory_record_that_its_source_has_no_more_is_asked_for_once(self) -> None:
        body = ContextCandidate("body/x", "Step one: breathe.", 1.0, mandatory=True)
        skills = Spy((body,), id="skills", kind="skills")
        host = Host(ContextCompiler(sources=[skills]))
        host.turn()
        host.compacts(keep=1)
        skills.found = ()
        host.compiler = ContextCompiler(sources=[skills], state=host.compiler.state())
        for _ in range(5):
            host.turn()
        assert len(skills.asked) == 2
        assert skills.asked[1].wanted == {("skills", "body/x")}

    def test_r170_what_does_not_fit_when_it_comes_back_is_tried_again_later(self) -> None:
        host = Host(ContextCompiler(sources=[Spy((another(1, words=100), RECORD))]))
        host.turn()
        host.compacts(keep=1)
        tight = host.turn(overhead_tokens=15_400)
        assert {e.record_id: e.reason for e in tight.manifest.entries}["n1"] == "budget"
        roomy = host.turn()
        assert {e.record_id: e.reason for e in roomy.manifest.entries if e.selected}.keys() >= {"n1"}

    def test_r172_a_step_that_places_again_is_still_a_reused_one(self) -> None:
        host = Host(ContextCompiler(sources=[Spy()]))
        host.turn()
        host.compacts(keep=1)
        manifest = host.turn().manifest
        assert (manifest.refresh, manifest.cache_prefix_changed) == ("reused", True)
        assert manifest.sources[0].status == "reused"

    def test_r169_a_text_that_stands_under_another_id_is_a_duplicate(self) -> None:
        spy = Spy((ContextCandidate("7", "Deploys need a green CI run.", 0.9),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("8", "Deploys need a green CI run.", 0.9),)
        package = host.turn(refresh=True)
        assert [entry.reason for entry in package.manifest.entries] == ["duplicate"]

    def test_at_a_refresh_too_a_record_that_left_comes_back_beside_what_is_new(self) -> None:
        spy = Spy()
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.compacts(keep=1)
        spy.found = (another(2),)
        package = host.turn(refresh=True)
        assert {entry.record_id for entry in package.manifest.entries if entry.selected} == {"r1", "n2"}

    def test_r141_what_comes_back_takes_no_place_of_what_the_source_may_offer(self) -> None:
        spy = Spy()
        host = Host(ContextCompiler(sources=[spy], refresh={"candidates_per_source": 2}))
        host.turn()
        host.compacts(keep=1)
        spy.found = tuple(another(number) for number in range(4))
        package = host.turn(refresh=True)
        assert [(entry.record_id, entry.reason) for entry in package.manifest.entries] == [
            ("r1", "ranked"),
            ("n0", "ranked"),
            ("n1", "ranked"),
            ("n2", "limit"),
            ("n3", "limit"),
        ]


class TestLatestOnly:
    def test_r165_of_two_vanished_revisions_the_newer_comes_back(self) -> None:
        spy = Spy((ContextCandidate("r1", "Old rule.", 0.9, revision=1),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("r1", "New rule.", 0.9, revision=2),)
        host.turn(refresh=True)
        host.compacts(keep=1)
        host.turn()
        assert ["New rule." in text for text in blocks_in(host.history)] == [True]
        assert "Old rule." not in texts_of(host.history)

    def test_r166_while_the_newer_stands_the_older_is_not_added_again(self) -> None:
        spy = Spy((ContextCandidate("r1", "Old rule.", 0.9, revision=1),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("r1", "New rule.", 0.9, revision=2),)
        host.turn(refresh=True)
        host.edits(lambda history: tuple(m for m in history if "Old rule." not in texts_of([m])))
        assert host.turn().blocks == ()
        spy.found = (ContextCandidate("r1", "Old rule.", 0.9, revision=1),)
        package = host.turn(refresh=True)
        assert [entry.reason for entry in package.manifest.entries] == ["superseded"]

    def test_r166_an_older_answer_does_not_replace_the_newer_text_that_left(self) -> None:
        spy = Spy((ContextCandidate("r1", "New rule.", 0.9, revision=2),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.compacts(keep=1)
        spy.found = (ContextCandidate("r1", "Old rule.", 0.9, revision=1),)
        package = host.turn(refresh=True)
        assert {(entry.revision, entry.reason) for entry in package.manifest.entries} == {
            (2, "ranked"),
            (1, "superseded"),
        }

    def test_r166_a_text_that_is_out_of_date_does_not_come_back_though_the_newer_did_not_fit(self) -> None:
        spy = Spy((ContextCandidate("r1", "Old rule.", 0.9, revision=1),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        host.compacts(keep=1)
        spy.found = (ContextCandidate("r1", "New rule. " * 300, 0.9, revision=2),)
        tight = host.turn(refresh=True, overhead_tokens=14_500)
        assert {(e.revision, e.reason) for e in tight.manifest.entries} == {(2, "budget")}
        assert host.turn().blocks == ()

    def test_r165_a_record_that_went_back_to_a_text_which_stands_does_not_bring_back_the_one_between(
        self,
    ) -> None:
        spy = Spy((ContextCandidate("r1", "Rule A.", 0.9, revision=1),))
        host = Host(ContextCompiler(sources=[spy]))
        host.turn()
        spy.found = (ContextCandidate("r1", "Rule B.", 0.9, revision=2),)
        host.turn(refresh=True)
        spy.found = (ContextCandidate("r1", "Rule A.", 0.9, revision=3),)
        assert [e.reason for e in host.turn(refresh=True).manifest.entries] == ["already-placed"]
        host.edits(lambda history: tuple(m for m in history if "Rule B." not in texts_of([m])))
        assert host.turn().blocks == ()
        host.compacts(keep=1)
        again = host.turn()
        assert "Rule A." in again.xml
        assert "Rule B." not in again.xml

    def test_the_state_does_not_grow_with_a_host_that_never_keeps_a_block(self) -> None:
        compiler = ContextCompiler(sources=[Spy()])
        sizes = []
        for number in range(30):
            step(compiler, number, refresh=number % 3 == 0)
            sizes.append(len(compiler.state().placed))
        assert set(sizes) == {1}

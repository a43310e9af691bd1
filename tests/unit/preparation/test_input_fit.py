"""The current input that is too large: refused, cut, cut again, put back (7.1.8, 7.1.10, 16)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.errors import ContextOverflowError
from playground.preparation import AgentContext, ImportedConversation
from tests.preparation import ScriptedPlugin, StubStrategy, call, message, native, pad, result
from tests.unit.preparation.calls import listening, prepare, stubbed

SENTENCES = "The quick brown fox jumps over the lazy dog. " * 200


def asked(content: Any = SENTENCES, **settings: Any) -> tuple[AgentContext, StubStrategy]:
    """A context whose call waits in the history for the result that is current input."""
    context, stub = stubbed(**settings)
    context.add_user_message("Read it")
    context.add_assistant_response([call("c1", "read_file")])
    context.add_tool_results([{"tool_use_id": "c1", "content": content}])
    return context, stub


def test_a_users_message_that_is_too_large_is_refused_whole() -> None:
    """16, 26g: the event comes before the error, and names both sizes."""
    context, stub = stubbed()
    context.add_user_message("x" * 3500)
    told = listening(context)
    before = context.current_input
    with pytest.raises(ContextOverflowError, match="too large: 1,004 tokens, 886 are left"):
        prepare(context)
    ((name, event),) = told
    assert (name, event.result.accepted) == ("input:oversized", False)
    assert "too large" in event.result.error
    assert event.result.original_size == event.result.final_size == 1004
    assert context.current_input == before
    assert not stub.targets


def test_a_message_that_fills_the_capacity_is_left_alone() -> None:
    """16: one token decides."""
    for tokens, fits in ((886, True), (887, False)):
        context, _ = stubbed()
        context.add_user_message(pad(tokens)["content"])
        if fits:
            assert prepare(context).budget.available == 0
        else:
            with pytest.raises(ContextOverflowError, match="too large"):
                prepare(context)


def test_a_result_that_is_too_large_is_cut_and_told() -> None:
    """16, 27: event with a warning, line in the log, and it fits."""
    context, _ = asked()
    told = listening(context)
    prepared = prepare(context)
    text = prepared.input[-1]["content"][0]["content"]
    assert text.startswith("The quick brown fox")
    assert len(text) < len(SENTENCES)
    assert prepared.budget.total_used <= 900
    events = [event for name, event in told if name == "input:oversized"]
    assert len(events) == 1
    assert events[0].result.accepted
    assert "read_file" in events[0].result.warning
    assert any("read_file" in line for line in prepared.compaction_log)
    assert context.current_input[0] == prepared.input[-1]


def test_a_result_that_fits_stays_byte_for_byte() -> None:
    """16: the reclaim target is no reason to cut."""
    context, stub = asked("x" * 2900)
    before = context.current_input
    prepared = prepare(context)
    assert len(stub.targets) == 1
    assert prepared.budget.utilization_percent > 90
    assert context.current_input == before
    assert prepared.compaction_log == ()


def test_the_cut_is_made_again_from_the_original_after_a_compaction() -> None:
    """7.1.10: the index grew, so the room is smaller; the marker states the original's size."""
    context, _ = asked()
    context.register_plugin(ScriptedPlugin("index", [None, "y" * 350]))
    told = listening(context)
    prepared = prepare(context)
    first, second = [event.result for name, event in told if name == "input:oversized"]
    assert prepared.budget.total_used <= 900
    assert second.final_size < first.final_size
    assert second.original_size == first.original_size
    marker = prepared.input[-1]["content"][0]["content"].split("\n\n")[-1]
    assert f"of {len(SENTENCES) / 1024:.1f} KB" in marker


def test_what_fits_again_after_a_compaction_is_put_back() -> None:
    """16: if the input fits, it is byte-identical."""
    context, _ = asked("The quick brown fox. " * 120)
    context.register_plugin(ScriptedPlugin("index", ["y" * 1750, None]))
    before = context.current_input
    told = listening(context)
    prepared = prepare(context)
    assert "input:oversized" in [name for name, _ in told]
    assert prepared.input[-1] == before[0]
    assert context.current_input == before
    assert prepared.compaction_log == ()


def test_a_failed_preparation_puts_the_input_back() -> None:
    """7.1.10."""
    context, stub = asked()
    before = context.current_input
    seen: list[Any] = []

    def fail(given: Any, _: int) -> None:
        seen.append(given.current_input)
        raise RuntimeError

    stub.does = fail
    with pytest.raises(RuntimeError):
        prepare(context)
    assert len(seen[0][0]["content"][0]["content"]) < len(SENTENCES)
    assert context.current_input == before


def test_an_input_that_the_host_put_in_its_place_stays_after_a_failure() -> None:
    """7.1.10: a newer input is the host's."""
    context, stub = asked()

    def replace(*_: Any) -> None:
        context.add_user_message("Never mind")
        raise RuntimeError

    stub.does = replace
    with pytest.raises(RuntimeError):
        prepare(context)
    assert [one["content"][0]["text"] for one in context.current_input] == ["Never mind"]


def test_an_input_that_an_answer_moved_meanwhile_is_put_back_where_it_is() -> None:
    """7.1.10: a failed preparation leaves no cut behind."""
    context, stub = asked()
    before = context.current_input

    def answer(*_: Any) -> None:
        context.add_assistant_response("Answered already")
        raise RuntimeError

    stub.does = answer
    with pytest.raises(RuntimeError):
        prepare(context)
    assert context.current_input == []
    assert context.conversation[-2:-1] == before


def test_a_cut_input_that_an_answer_moved_meanwhile_is_still_told() -> None:
    """16: the request holds the cut, so the log holds its line."""
    context, stub = asked()

    def answer(*_: Any) -> None:
        context.add_assistant_response("Answered already")

    stub.does = answer
    prepared = prepare(context)
    assert prepared.input[-1]["role"] == "assistant"
    assert any("read_file" in line for line in prepared.compaction_log)


def test_an_input_that_arrives_during_compaction_gets_the_policy_too() -> None:
    """7.1.10: the later request is checked as the first was."""
    context, stub = asked()

    def arrive(*_: Any) -> None:
        context.add_user_message("x" * 4000)

    stub.does = arrive
    with pytest.raises(ContextOverflowError, match="too large"):
        prepare(context)
    assert len(context.current_input[0]["content"][0]["text"]) == 4000


def test_dependencies_of_pending_results_take_their_room_first() -> None:
    """16: the history call that a result answers is never cut away for it."""
    context, _ = stubbed()
    context.add_user_message("Read both")
    context.add_assistant_response([call("c1", arguments="z" * 1400), call("c2", "read_file")])
    context.add_input_items([message("user", result("c2", "small"))])
    context.add_tool_results([{"tool_use_id": "c1", "content": SENTENCES}])
    prepared = prepare(context)
    assert prepared.budget.total_used <= 900
    assert prepared.input[-3]["content"][0]["arguments"] == "z" * 1400


def test_a_user_text_beside_a_result_takes_its_room_first() -> None:
    """16: what cannot be cut in the input itself counts before what can."""
    context, _ = stubbed(strategy="algorithmic")
    context.add_user_message("Read it")
    context.add_assistant_response([call("c1", "read_file")])
    items = (message("user", result("c1", SENTENCES)), message("user", "Now answer. " * 100))
    context.add_conversation(ImportedConversation(None, (), items))
    prepared = prepare(context)
    assert prepared.budget.total_used <= 900
    assert prepared.input[-1]["content"][0]["text"] == "Now answer. " * 100


def test_a_native_result_is_cut_too() -> None:
    """16, 25.9: every item of the input."""
    context, _ = stubbed()
    context.add_assistant_response([call("c1", "read_file"), call("c2", "read_file")])
    items = (message("user", result("c1", "small")), native("c2", SENTENCES))
    context.add_conversation(ImportedConversation(None, (), items))
    prepared = prepare(context)
    assert prepared.budget.total_used <= 900
    assert len(prepared.input[-1]["output"]) < len(SENTENCES)
    assert prepared.input[-2]["content"][0]["content"] == "small"


def test_what_cannot_be_cut_fails_explicitly() -> None:
    """16: an error is kept whole, and the request overflows."""
    context, _ = stubbed()
    context.add_assistant_response([call("c1", "read_file")])
    context.add_tool_results([{"tool_use_id": "c1", "content": "", "error": "e" * 4000}])
    before = context.current_input
    with pytest.raises(ContextOverflowError):
        prepare(context)
    assert context.current_input == before


def test_evidence_that_is_not_stored_is_never_cut() -> None:
    """16."""
    context, _ = stubbed()
    context.add_assistant_response([call("c1", "read_file")])
    persistence = {"version": 1, "status": "unacknowledged", "invocationId": "i"}
    context.add_tool_results([{"tool_use_id": "c1", "content": SENTENCES, "persistence": persistence}])
    before = context.current_input
    with pytest.raises(ContextOverflowError):
        prepare(context)
    assert context.current_input == before


def test_separate_instructions_take_room_from_the_input() -> None:
    """16, 7.1.8: one token of them decides, before any strategy runs."""
    context, stub = stubbed()
    context.add_user_message(pad(876)["content"])  # 886 are left beside the developer message
    assert prepare(context, instructions="x" * 35).budget.available == 0
    assert len(stub.targets) == 1
    told = listening(context)
    with pytest.raises(ContextOverflowError, match="too large: 876 tokens, 875 are left"):
        prepare(context, instructions="x" * 36)
    assert [name for name, _ in told] == ["input:oversized"]
    assert len(stub.targets) == 1


def test_an_input_that_begins_with_the_users_text_is_refused_whatever_follows_it() -> None:
    """16: what decides is the first item."""
    context, _ = stubbed()
    waiting = (message("user", "Read it"), message("user", result("c1", SENTENCES)))
    asked = ImportedConversation(None, (message("assistant", call("c1")),), waiting)
    context.add_conversation(asked)
    before = context.current_input
    with pytest.raises(ContextOverflowError, match="too large"):
        prepare(context)
    assert context.current_input == before


def test_16_where_the_prompt_leaves_no_room_that_is_what_is_to_be_shortened() -> None:
    context, _ = stubbed(system_prompt="x" * 7_000)
    context.add_user_message("Hi")
    with pytest.raises(ContextOverflowError, match=r"too large.*first of all systemPrompt with 2,000 tokens"):
        prepare(context)

from __future__ import annotations

import copy
from typing import Any

import pytest

from playground import ContextCandidate, ContextPackage, InvalidInputError, create_working_memory
from playground.compiler.placement import (
    history_messages,
    is_compiler_block,
    request_messages,
    standing_placements,
    without_blocks,
    without_records,
)
from playground.compiler.values import PlacedEntry
from playground.digests import text_digest
from playground.messages import Message, TextPart, as_message, message_to_json
from tests.builders import compiled, offer, reasons

FIRST = compiled(offer(ContextCandidate("a", "one", 1.0, revision=1)))
BLOCK = FIRST.blocks[0].messages[0]
QUESTION = Message("user", "How do I deploy?")


def placed(record_id: str = "a", text: str = "one", revision: int | None = 1, **more: Any) -> PlacedEntry:
    fields: dict[str, Any] = {
        "source": "rag", "kind": "rag", "record_id": record_id, "revision": revision,
        "digest": text_digest(text),
        "tokens": 20, "step": 0, "retrieval_pass": 1, "block_digest": text_digest(FIRST.blocks[0].text),
    }  # fmt: skip
    return PlacedEntry(**{**fields, **more})


def again(
    *candidates: ContextCandidate, stands: bool = True, entries: tuple[PlacedEntry, ...] = (placed(),)
) -> Any:
    messages = [QUESTION, BLOCK] if stands else [QUESTION]
    return reasons(compiled(offer(*candidates), messages=messages, placed=entries))


def test_r66_a_record_that_stands_is_listed_as_already_placed_and_nothing_else_is() -> None:
    assert again(ContextCandidate("a", "one", 1.0, revision=1)) == [("a", "already-placed")]
    assert again() == []


def test_r66_what_is_already_placed_is_not_selected_and_costs_nothing() -> None:
    package = compiled(
        offer(ContextCandidate("a", "one", 1.0, revision=1)), messages=[BLOCK], placed=[placed()]
    )
    (entry,) = package.manifest.entries
    assert not entry.selected
    assert entry.tokens > 0
    assert package.manifest.budget.selected_tokens == package.manifest.sources[0].tokens == 0
    assert package.blocks == ()


def test_a_mandatory_record_that_stands_is_not_placed_twice() -> None:
    record = ContextCandidate("a", "one", 1.0, revision=1, mandatory=True)
    assert again(record) == [("a", "already-placed")]
    assert again(record, stands=False) == [("a", "mandatory")]


def test_r66_a_history_may_come_from_a_generator() -> None:
    history: Any = (message for message in (QUESTION, BLOCK))
    package = compiled(
        offer(ContextCandidate("a", "one", 1.0, revision=1)), messages=history, placed=[placed()]
    )
    assert reasons(package) == [("a", "already-placed")]


def test_r88_a_later_pass_adds_only_what_is_new() -> None:
    old, new = ContextCandidate("a", "one", 1.0, revision=1), ContextCandidate("b", "two", 0.5)
    package = compiled(offer(old, new), messages=[QUESTION, BLOCK], placed=[placed()])
    assert reasons(package) == [("a", "already-placed"), ("b", "ranked")]
    assert "\ntwo\n" in package.xml
    assert "\none\n" not in package.xml


def test_r166_an_older_revision_is_not_added_after_a_newer_one_was_placed() -> None:
    newer = placed(text="three", revision=3)
    for stands in (True, False):
        record = ContextCandidate("a", "one", 1.0, revision=1)
        entries = (newer,)
        assert again(record, stands=stands, entries=entries) == [("a", "superseded")]


def test_r167_a_newer_revision_is_added_though_the_older_stands() -> None:
    assert again(ContextCandidate("a", "two", 1.0, revision=2)) == [("a", "ranked")]


def test_r168_a_record_whose_block_is_gone_is_placed_again() -> None:
    assert again(ContextCandidate("a", "one", 1.0, revision=1), stands=False) == [("a", "ranked")]


def test_r169_a_standing_text_under_another_id_is_a_duplicate() -> None:
    assert again(ContextCandidate("z", "one", 1.0)) == [("z", "duplicate")]
    assert again(ContextCandidate("z", "one", 1.0, mandatory=True)) == [("z", "duplicate")]
    assert again(ContextCandidate("z", "one", 1.0), stands=False) == [("z", "ranked")]


def test_r169_the_same_id_in_another_source_is_another_record() -> None:
    package = compiled(
        offer(ContextCandidate("a", "different", 1.0), source_id="other"), messages=[BLOCK], placed=[placed()]
    )
    assert reasons(package) == [("a", "ranked")]


@pytest.mark.parametrize(
    "message",
    [
        Message("user", (TextPart(str(BLOCK.content)),)),
        as_message({"role": "user", "content": [{"type": "text", "text": BLOCK.content}]}),
    ],
)
def test_r109_a_block_is_recognised_as_string_and_as_one_text_part(message: Message) -> None:
    assert standing_placements([placed()], [message]) == (placed(),)
    assert is_compiler_block(message)


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", BLOCK.content),
        Message("user", f"{BLOCK.content} "),
        Message("user", (TextPart(str(BLOCK.content)), TextPart("more"))),
        Message("user", str(BLOCK.content).replace("one", "two")),
    ],
)
def test_a_block_that_was_changed_no_longer_stands(message: Message) -> None:
    assert standing_placements([placed()], [message]) == ()


def test_working_memory_tails_are_recognised_as_compiler_blocks() -> None:
    memory = create_working_memory(scope="s", goal="Goal.", now=0)
    (tail,) = compiled(working_memory=memory).blocks
    assert is_compiler_block(tail.messages[0])
    assert not is_compiler_block(QUESTION)
    assert not is_compiler_block(Message("user", '<deuz_context pass="1" step="0"> is what it starts with'))


class TestWhereTheBlocksGo:
    """R87, R90, R91, R96, R108: what is sent, what stays, and what a summary may see."""

    HISTORY = (Message("system", "You help."), Message("user", "How do I deploy?"))

    def both(self, *, tail_kept: bool) -> ContextPackage:
        return compiled(
            offer(ContextCandidate("a", "Deploys need a green CI run.", 1.0)),
            working_memory=create_working_memory(scope="t", goal="Ship.", now=0),
            tail_kept=tail_kept,
        )

    def test_r87_r90_the_block_comes_after_the_messages_it_was_compiled_for_and_the_tail_last(self) -> None:
        package = self.both(tail_kept=False)
        block, tail = (block.messages[0] for block in package.blocks)
        assert request_messages(self.HISTORY, package) == (*self.HISTORY, block, tail)

    def test_r91_the_tail_does_not_join_the_history_of_an_ordinary_model(self) -> None:
        package = self.both(tail_kept=False)
        assert history_messages(self.HISTORY, package) == (*self.HISTORY, package.blocks[0].messages[0])

    def test_r96_a_kept_copy_stands_right_after_the_block_of_its_step(self) -> None:
        package = self.both(tail_kept=True)
        assert history_messages(self.HISTORY, package) == request_messages(self.HISTORY, package)

    def test_r85_dictionaries_go_through_as_they_are_with_all_that_they_hold(self) -> None:
        history: list[dict[str, Any]] = [
            {
                "role": "system",
                "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            },
            {"role": "user", "content": "How do I deploy?", "name": "bob"},
        ]
        before = copy.deepcopy(history)
        for place in (request_messages, history_messages):
            sent = place(history, self.both(tail_kept=True))
            assert list(sent[:2]) == before == history
            assert all(one is other for one, other in zip(sent, history, strict=False))
            assert [message["role"] for message in sent if isinstance(message, dict)] == [
                "system",
                *["user"] * 3,
            ]
        assert without_blocks(sent) == tuple(history)

    @pytest.mark.parametrize("place", [request_messages, history_messages])
    def test_what_cannot_be_placed_is_the_callers_mistake(self, place: Any) -> None:
        package = compiled(offer(ContextCandidate("a", "b", 1.0)))
        for messages in (None, 5, "text", {"role": "user", "content": "x"}):
            with pytest.raises(InvalidInputError, match="Messages must be a sequence"):
                place(messages, package)
        for wrong in (None, 5, [package]):
            with pytest.raises(InvalidInputError, match="The package is a"):
                place([], wrong)

    @pytest.mark.parametrize("records", [None, 5, "ab", ["ab"], [None], [("a",)], [("a", 1)]])
    def test_records_that_are_no_pairs_are_the_callers_mistake(self, records: Any) -> None:
        with pytest.raises(InvalidInputError, match="The records are"):
            without_records([], records)

    @pytest.mark.parametrize("without", [without_blocks, lambda messages: without_records(messages, [])])
    @pytest.mark.parametrize("messages", [None, 5, "text"])
    def test_a_history_that_is_no_list_is_the_callers_mistake(self, without: Any, messages: Any) -> None:
        with pytest.raises(InvalidInputError, match="Messages must be a sequence"):
            without(messages)

    def test_r108_a_summary_is_made_without_blocks_and_kept_tails(self) -> None:
        history = history_messages(self.HISTORY, self.both(tail_kept=True))
        assert without_blocks((*history, Message("assistant", "On it."))) == (
            *self.HISTORY,
            Message("assistant", "On it."),
        )

    @pytest.mark.parametrize("form", [tuple, lambda messages: [message_to_json(m) for m in messages]])
    def test_blocks_that_hold_a_forgotten_record_leave_a_history_and_no_others(self, form: Any) -> None:
        odd = 'a"<&\n'
        first = compiled(offer(ContextCandidate(odd, "secret", 1.0), ContextCandidate("b", "other", 0.9)))
        second = compiled(offer(ContextCandidate("a", f'<record source="rag" kind="rag" id="{odd}">', 1.0)))
        history = form((*history_messages(history_messages(self.HISTORY, first), second), *self.HISTORY))
        kept = without_records(history, [("rag", odd), ("memory", "a")])
        assert list(kept) == [history[0], history[1], *history[3:]]
        assert without_records(history, [("rag", "nothing")]) == tuple(history)

    @pytest.mark.parametrize(
        "text",
        [
            'What does <deuz_context pass="1" step="0"> mean?',
            '<deuz_context pass="1" step="0">\nI never close it.',
            '<deuz_context pass="one" step="0">\nx</deuz_context>',
            '<deuz_working_memory revision="0">\nx</deuz_context>',
            '<deuz_context pass="1" step="0">\nx</deuz_context> and on I go',
        ],
    )
    def test_text_that_only_looks_like_a_block_is_somebodys_words(self, text: str) -> None:
        assert without_blocks([Message("user", text)]) == (Message("user", text),)

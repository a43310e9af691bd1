"""What of a working memory fits a budget, to the token: allowance, room, sections and the block itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from playground import ContextPackage, TokenEstimator
from playground.messages import Message, text_of
from playground.working_memory import WorkingMemorySnapshot
from tests.builders import (
    ONLY_RAG,
    block_tokens,
    compiled,
    heuristic_tokens,
    offer,
    reasons,
    retrieval_frame_tokens,
    selected,
    sized,
)

LINE = 40  # tokens of a line that `listed` makes, alone


def listed(item_id: str, tokens: int = LINE, **more: Any) -> dict[str, Any]:
    """An item whose line costs exactly so many tokens."""
    state = f"({more['status']}) " if "status" in more else ""
    length = int(tokens * 3.6) - len(f"- [{item_id}] {state}\n")
    assert heuristic_tokens(f"- [{item_id}] {state}{'x' * length}\n") == tokens
    return {"id": item_id, "text": "x" * length, **more}


def first_of(section: str, tokens: int = LINE) -> int:
    """Tokens of the first line of a section: its tags are charged with it."""
    return heuristic_tokens(f"<{section}>\n{'x' * int(tokens * 3.6)}</{section}>\n")


def snapshot(**lists: Any) -> WorkingMemorySnapshot:
    return WorkingMemorySnapshot.parse({"scope": "s", "revision": 1, **lists})


def tail_tokens(memory: WorkingMemorySnapshot) -> int:
    """What is sent of a memory whatever the budget is."""
    return compiled(working_memory=memory, working_memory_tokens=0).manifest.budget.selected_tokens


def tokens(package: ContextPackage) -> dict[str, int]:
    return {entry.record_id: entry.tokens for entry in package.manifest.entries}


TWO = snapshot(observations=[listed("a"), listed("b")])
BOTH = first_of("observations") + LINE


def test_r18_items_fit_an_allowance_that_is_exactly_theirs() -> None:
    exact = compiled(working_memory=TWO, working_memory_tokens=BOTH)
    assert selected(exact) == ["observation/a", "observation/b"]
    assert tokens(exact) == {"observation/a": first_of("observations"), "observation/b": LINE}
    short = compiled(working_memory=TWO, working_memory_tokens=BOTH - 1)
    assert reasons(short) == [("observation/a", "ranked"), ("observation/b", "budget")]


def test_r18_items_fit_what_mandatory_content_leaves_to_the_token() -> None:
    memory = snapshot(goal={"text": "Ship it."}, observations=[listed("a"), listed("b")])
    context_tokens = tail_tokens(memory) + BOTH
    exact = compiled(working_memory=memory, context_tokens=context_tokens)
    assert selected(exact) == ["goal", "observation/a", "observation/b"]
    assert block_tokens(exact) <= context_tokens
    short = compiled(working_memory=memory, context_tokens=context_tokens - 1)
    assert selected(short) == ["goal", "observation/a"]


def test_r110_a_block_that_is_sent_anyway_is_paid_for_before_its_items() -> None:
    context_tokens = tail_tokens(TWO) + BOTH
    assert len(selected(compiled(working_memory=TWO, context_tokens=context_tokens))) == 2
    assert len(selected(compiled(working_memory=TWO, context_tokens=context_tokens - 1))) == 1


@pytest.mark.parametrize("revision", [0, 1])
def test_r19_retrieval_has_what_working_memory_leaves_to_the_token(revision: int) -> None:
    memory = snapshot(revision=revision, observations=[listed("a"), listed("b")])
    record = offer(sized("r", 100, 1.0))
    more: dict[str, Any] = {"working_memory": memory, "shares": ONLY_RAG}
    context_tokens = tail_tokens(snapshot()) + BOTH + retrieval_frame_tokens() + 100
    exact = compiled(record, context_tokens=context_tokens, **more)
    assert selected(exact) == ["observation/a", "observation/b", "r"]
    assert exact.manifest.budget.rest_tokens == 100
    short = compiled(record, context_tokens=context_tokens - 1, **more)
    assert selected(short) == ["observation/a", "observation/b"]
    assert short.manifest.budget.rest_tokens == 99


def test_r110_a_block_that_need_not_be_sent_is_paid_for_by_its_first_item_alone() -> None:
    memory = snapshot(revision=0, observations=[listed("a"), listed("b")])
    frame = tail_tokens(snapshot())
    assert tail_tokens(memory) == 0
    exact = compiled(working_memory=memory, context_tokens=frame + BOTH)
    assert selected(exact) == ["observation/a", "observation/b"]
    assert exact.manifest.budget.frame_tokens == frame
    one = compiled(working_memory=memory, context_tokens=frame + BOTH - 1)
    assert selected(one) == ["observation/a"]
    none = compiled(working_memory=memory, context_tokens=frame + first_of("observations") - 1)
    assert (selected(none), none.blocks, none.manifest.budget.frame_tokens) == ([], (), 0)


def test_r237_an_item_that_does_not_fit_is_passed_over_and_opens_no_section() -> None:
    memory = snapshot(
        decisions=[listed("d", 250, status="accepted")],
        observations=[listed("a", 200), listed("b"), listed("c")],
    )
    package = compiled(working_memory=memory, working_memory_tokens=BOTH)
    assert selected(package) == ["observation/b", "observation/c"]
    # What is left out shows what it would have cost: as the first of its section.
    assert tokens(package) == {
        "decision/d": first_of("decisions", 250),
        "observation/a": first_of("observations", 200),
        "observation/b": first_of("observations"),
        "observation/c": LINE,
    }
    assert "<decisions>" not in package.blocks[0].text


@pytest.mark.parametrize("active", [None, "t2"])
def test_the_first_line_of_a_section_that_is_sent_carries_its_tags(active: str | None) -> None:
    tasks = {"list": [{"id": "t1", "title": "T"}, {"id": "t2", "title": "T"}], "activeTaskId": active}
    memory = snapshot(tasks=tasks, constraints=[listed("c1"), listed("c2")])
    package = compiled(working_memory=memory)
    found = tokens(package)
    assert (found["constraint/c1"], found["constraint/c2"]) == (first_of("constraints"), LINE)
    assert [
        tag for tag in ("<tasks>", "</tasks>", "<constraints>") if package.blocks[0].text.count(tag) != 1
    ] == []
    tags = len("<tasks>\n</tasks>\n")
    plain, shown = "- [t1] (pending) T\n", "- [t2] (active, pending) T\n"
    if active is None:
        shown = "- [t2] (pending) T\n"
        assert found["task/t1"] == heuristic_tokens(plain + "x" * tags)
        assert found["task/t2"] == heuristic_tokens(shown)
    else:
        assert found["task/t2"] == heuristic_tokens(shown + "x" * tags)
        assert found["task/t1"] == heuristic_tokens(plain)


def test_r18_mandatory_lines_are_charged_to_the_allowance_with_their_sections() -> None:
    memory = snapshot(constraints=[listed("c")], observations=[listed("a")])
    both = first_of("constraints") + first_of("observations")
    assert selected(compiled(working_memory=memory, working_memory_tokens=both)) == [
        "constraint/c",
        "observation/a",
    ]
    assert selected(compiled(working_memory=memory, working_memory_tokens=both - 1)) == ["constraint/c"]


@pytest.mark.parametrize("context_tokens", range(0, 400, 7))
def test_whatever_fits_the_block_stays_within_the_budget_and_shows_what_the_manifest_says(
    context_tokens: int,
) -> None:
    memory = snapshot(
        revision=0,
        decisions=[listed("d", status="accepted")],
        observations=[listed("a", 70), listed("b"), listed("c", 20)],
    )
    package = compiled(working_memory=memory, context_tokens=context_tokens)
    assert block_tokens(package) == package.manifest.budget.selected_tokens <= context_tokens
    text = "".join(block.text for block in package.blocks)
    shown = {entry.record_id.partition("/")[2] for entry in package.manifest.entries if entry.selected}
    assert {name for name in "dabc" if f"- [{name}]" in text} == shown


def crowded(*together: str, tokens: int) -> TokenEstimator:
    """Count a tenth of the characters, and more where a whole request shows all of these together."""

    def count(messages: Sequence[Message]) -> float:
        text = "".join(text_of(message) for message in messages)
        return len(text) / 10 + (
            tokens if all(f"[{name}]" in text or f'id="{name}"' in text for name in together) else 0
        )

    return TokenEstimator(count)


def test_what_was_admitted_last_gives_way_when_the_whole_counts_more_than_its_parts() -> None:
    memory = snapshot(constraints=[listed("c")], observations=[listed("a"), listed("b")])
    offers = offer(sized("r", 60, 1.0))

    def found(estimator: TokenEstimator, context_tokens: int = 400) -> list[tuple[str, str]]:
        package = compiled(
            offers, working_memory=memory, context_tokens=context_tokens, shares=ONLY_RAG, estimator=estimator
        )
        assert block_tokens(package, estimator) <= context_tokens
        shown = "".join(block.text for block in package.blocks)
        for entry in package.manifest.entries:
            name = entry.record_id.rpartition("/")[2]
            assert entry.selected == (f"[{name}]" in shown or f'id="{name}"' in shown)
        return reasons(package)

    constraint, a = ("constraint/c", "mandatory"), ("observation/a", "ranked")
    assert found(crowded("nobody", tokens=0)) == [constraint, a, ("observation/b", "ranked"), ("r", "ranked")]
    # The record was admitted after the lines, and goes first, whatever is to blame.
    without_r = [constraint, a, ("observation/b", "ranked"), ("r", "budget")]
    assert found(crowded("a", "r", tokens=400)) == without_r
    assert found(crowded("a", "b", tokens=400)) == [constraint, a, ("observation/b", "budget"), ("r", "budget")]
    # What is mandatory stays.
    assert found(crowded("c", "a", tokens=400)) == [
        constraint, ("observation/a", "budget"), ("observation/b", "budget"), ("r", "budget")
    ]  # fmt: skip

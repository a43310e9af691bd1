"""Compactors that stand alone (13.4, 27)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.preparation.compactors import (
    MARKER,
    ContextComponent,
    MemoryEvictionCompactor,
    SummarizeCompactor,
    TruncateCompactor,
)
from playground.preparation.estimation import PreparationEstimator
from tests.preparation import ESTIMATOR

LONG = "The committee met again. " * 100


def compacted(compactor: Any, component: ContextComponent, target: int) -> ContextComponent:
    result: ContextComponent = asyncio.run(compactor.compact(component, target))
    return result


def truncatable(content: Any, **more: Any) -> ContextComponent:
    return ContextComponent("notes", content, metadata={"strategy": "truncate"}, **more)


def test_27_a_text_keeps_four_characters_a_token_and_a_marker() -> None:
    result = compacted(TruncateCompactor(), truncatable("x" * 1000), 50)
    assert result.content == "x" * 200 + MARKER
    assert result.metadata == {
        "strategy": "truncate",
        "truncated": True,
        "originalLength": 1000,
        "truncatedLength": 200,
    }


def test_27_of_20_items_the_newest_that_fit_are_kept() -> None:
    items = [{"id": number, "text": "x" * 20} for number in range(20)]
    result = compacted(TruncateCompactor(), truncatable(items), 50)
    each = ESTIMATOR.data(items[-1])
    assert result.content == items[-(50 // each) :]
    assert result.content[-1]["id"] == 19
    counts = {name: result.metadata[name] for name in ("originalLength", "keptLength", "droppedLength")}
    assert counts == {"originalLength": 20, "keptLength": 50 // each, "droppedLength": 20 - 50 // each}
    assert compacted(TruncateCompactor(), truncatable(items), 0).content == items[-1:]


def test_27_what_is_short_enough_is_the_same_component() -> None:
    for content in ("short", ["a", "b"], [], {"a": 1}, "x" * 190):
        component = truncatable(content)
        assert compacted(TruncateCompactor(), component, 50) is component


def test_a_text_is_not_cut_inside_a_character() -> None:
    kept = compacted(TruncateCompactor(), truncatable("abc" + "e\u0301" * 300), 5).content.removesuffix(MARKER)
    assert kept == "abc" + "e\u0301" * 8


@pytest.mark.parametrize(
    ("component", "able"),
    [
        (ContextComponent("a", "", metadata={"strategy": "truncate"}), True),
        (ContextComponent("a", "", metadata={"truncatable": True}), True),
        (ContextComponent("a", "", metadata={"truncatable": "yes"}), False),
        (ContextComponent("a", "", compactable=False, metadata={"truncatable": True}), False),
        (ContextComponent("a", ""), False),
    ],
)
def test_13_4_what_may_be_truncated(component: ContextComponent, able: bool) -> None:
    assert TruncateCompactor().can_compact(component) is able


def test_13_4_who_comes_first_and_what_each_saves() -> None:
    component = ContextComponent("memory_index", LONG)
    tokens = ESTIMATOR.text(LONG)
    truncate, evict, summarize = TruncateCompactor(), MemoryEvictionCompactor(), SummarizeCompactor(str)
    assert [compactor.priority for compactor in (truncate, evict, summarize)] == [10, 8, 5]
    assert truncate.estimate_savings(component) == tokens // 2
    assert summarize.estimate_savings(component) == tokens * 8 // 10
    assert evict.estimate_savings(component) == 200
    assert evict.estimate_savings(ContextComponent("a", "", metadata={"avgEntrySize": 30})) == 60


def test_13_4_a_memory_evicts_by_entries_and_shows_itself_anew() -> None:
    asked: list[int] = []

    async def evict(count: int) -> None:
        asked.append(count)

    metadata = {"evict": evict, "getUpdatedContent": lambda: "shorter", "avgEntrySize": 100}
    component = ContextComponent("memory_index", LONG, metadata=metadata)
    compactor = MemoryEvictionCompactor()
    assert compactor.can_compact(component)
    result = compacted(compactor, component, 450)
    assert (asked, result.content) == ([3], "shorter")  # 715 - 450 tokens
    assert compacted(compactor, component, 9999) is component


def test_13_4_without_a_callback_a_memory_stays() -> None:
    component = ContextComponent("x", LONG, metadata={"strategy": "evict"})
    assert MemoryEvictionCompactor().can_compact(component)
    assert compacted(MemoryEvictionCompactor(), component, 10) is component
    assert not MemoryEvictionCompactor().can_compact(ContextComponent("x", LONG))


class Model:
    """Answers as it is told, and remembers how it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, float, int]] = []

    async def __call__(self, prompt: str, *, temperature: float, max_tokens: int) -> Any:
        self.asked.append((prompt, temperature, max_tokens))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def summarizable(name: str = "notes", content: Any = LONG) -> ContextComponent:
    return ContextComponent(name, content, metadata={"strategy": "summarize"})


def test_13_4_a_summary_replaces_the_content_and_says_what_it_saved() -> None:
    model = Model(" Met again. ")
    result = compacted(SummarizeCompactor(model), summarizable(), 300)
    assert result.content == "Met again."
    assert (result.metadata["summarized"], result.metadata["summarizedFrom"]) == (True, 715)
    assert (result.metadata["summarizedTo"], result.metadata["reductionPercent"]) == (3, 100)
    assert [asked[1:] for asked in model.asked] == [(0.3, 300)]
    compacted(SummarizeCompactor(model), summarizable(content=LONG * 2), 900)
    assert model.asked[-1][2] == 500


def test_13_4_at_the_target_nobody_is_asked() -> None:
    model, component = Model("x"), summarizable()
    assert compacted(SummarizeCompactor(model), component, 715) is component
    assert model.asked == []


def test_13_4_the_name_tells_what_a_summary_must_keep() -> None:
    names = ("conversation_history", "web_search", "scraped_page", "tool_output", "notes")
    prompts = set()
    for name in names:
        model = Model("short")
        compacted(SummarizeCompactor(model), summarizable(name, "same " * 300), 10)
        prompts.add(model.asked[0][0])
    assert len(prompts) == 5


@pytest.mark.parametrize("answer", [LONG, "", None, RuntimeError("no"), LONG[: int(len(LONG) * 0.95)]])
def test_13_4_a_failure_or_a_summary_that_saves_nothing_truncates_unless_that_is_off(answer: Any) -> None:
    result = compacted(SummarizeCompactor(Model(answer)), summarizable(), 50)
    assert result.content == LONG[:200] + MARKER
    assert "summarized" not in result.metadata
    with pytest.raises((InvalidInputError, RuntimeError)):
        compacted(SummarizeCompactor(Model(answer), fallback=False), summarizable(), 50)


def test_13_4_data_is_summarised_as_its_text_and_what_has_none_stays() -> None:
    model = Model("short")
    compacted(SummarizeCompactor(model), summarizable(content=[{"a": "b" * 500}]), 10)
    assert '[{"a":"bbb' in model.asked[0][0]
    odd = summarizable(content={1, 2})
    assert compacted(SummarizeCompactor(Model("x")), odd, 1) is odd


def test_a_tokenizer_may_count() -> None:
    dense = TruncateCompactor(PreparationEstimator(len, name="dense"))
    component = truncatable("x" * 100)
    assert compacted(dense, component, 99) is component  # four characters a token leave nothing to cut
    assert len(compacted(dense, truncatable("x" * 100), 20).content.removesuffix(MARKER)) == 80


@pytest.mark.parametrize("target", [None, 1.5, True, "9", float("nan")], ids=repr)
@pytest.mark.parametrize(
    "compactor",
    [TruncateCompactor(), MemoryEvictionCompactor(), SummarizeCompactor(lambda *_, **__: "short")],
    ids=lambda compactor: compactor.name,
)
def test_13_4_a_target_that_is_no_whole_number_is_refused(compactor: Any, target: Any) -> None:
    with pytest.raises(InvalidInputError, match="target in tokens"):
        compacted(compactor, truncatable(LONG), target)


def test_13_4_a_target_below_nothing_is_nothing() -> None:
    assert compacted(TruncateCompactor(), truncatable(LONG), -5).content == MARKER

"""149 real logs of tool calls, replayed before every answer: everything fits, and nothing is lost unsaid.

The numbers of compactions, cuts, moved results and removed items are pinned, so that nobody changes unseen what
is kept. Every step is checked, see ``transcripts.replay``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from playground.preparation import PreparedContext, export_anthropic, export_openai
from playground.preparation.items import Json
from tests.unit.preparation.transcripts import (
    Counts,
    async_items,
    custom_items,
    fresh_steps,
    incremental_steps,
    items_of,
    joined_items,
    logs,
    parallel_items,
    replay,
)
from tests.unit.preparation.vendor_schemas import anthropic_faults, openai_faults

JOINED = 5  # logs in one conversation

CONVERSATIONS: dict[str, Callable[[], Sequence[Sequence[Json]]]] = {
    "plain": lambda: [items_of(log) for log in logs()],
    "parallel": lambda: [parallel_items(log, seed) for seed, log in enumerate(logs())],
    "pending": lambda: [parallel_items(log, seed, losing=True) for seed, log in enumerate(logs())],
    "custom": lambda: [custom_items(log) for log in logs()],
    "async": lambda: [async_items(log) for log in logs()],
    "joined": lambda: [joined_items(logs()[n : n + JOINED]) for n in range(0, len(logs()), JOINED)],
}


def lived_through(what: str, window: int, **settings: Any) -> Counts:
    counts = Counts()
    for items in CONVERSATIONS[what]():
        replay(incremental_steps(items, window, **settings), counts)
    return counts


def exported(prepared: Sequence[PreparedContext], *, anthropic: bool = True) -> int:
    for one in prepared:
        body = export_openai(one.input, model="m", max_tokens=512, tools=one.tools)
        assert openai_faults(body) == []
        if anthropic:
            body = export_anthropic(one.input, model="m", max_tokens=512, tools=one.tools)
            assert anthropic_faults(body) == []
    return len(prepared)


# replays, compactions, requests with a cut input, results moved to the notes, items removed
@pytest.mark.parametrize(
    ("what", "window", "counts"),
    [
        ("plain", 4_096, (981, 62, 17, 40, 181)),
        ("plain", 8_192, (981, 26, 13, 20, 67)),
        ("plain", 16_384, (981, 4, 0, 8, 16)),
        ("parallel", 4_096, (601, 54, 17, 52, 166)),
        ("pending", 4_096, (600, 53, 16, 47, 154)),
        ("custom", 4_096, (981, 62, 17, 40, 181)),
        ("async", 4_096, (981, 56, 16, 36, 153)),
        ("joined", 4_096, (981, 116, 19, 330, 1_257)),
        *[
            pytest.param(what, window, counts, marks=pytest.mark.slow)
            for what, window, counts in (
                ("parallel", 8_192, (601, 24, 13, 27, 66)),
                ("parallel", 16_384, (601, 4, 0, 11, 16)),
                ("pending", 8_192, (600, 22, 12, 22, 60)),
                ("pending", 16_384, (600, 3, 0, 7, 13)),
                ("custom", 8_192, (981, 26, 13, 20, 67)),
                ("custom", 16_384, (981, 4, 0, 8, 16)),
                ("async", 8_192, (981, 24, 12, 17, 55)),
                ("async", 16_384, (981, 1, 0, 2, 4)),
                ("joined", 8_192, (981, 47, 14, 169, 623)),
                ("joined", 16_384, (981, 20, 0, 80, 292)),
            )
        ],
    ],
)
def test_a_context_that_lives_through_real_logs_always_fits(
    what: str, window: int, counts: tuple[int, ...]
) -> None:
    found = lived_through(what, window)
    assert found.told() == counts
    if what != "async":  # neither provider's messages have it
        assert exported(found.prepared, anthropic=what != "custom") > 20


@pytest.mark.parametrize(
    ("window", "every", "counts"),
    [
        (4_096, 3, (373, 31, 6, 34, 119)),
        (8_192, 3, (373, 10, 2, 15, 39)),
        (16_384, 3, (373, 1, 0, 3, 6)),
        *[
            pytest.param(window, 1, counts, marks=pytest.mark.slow)
            for window, counts in (
                (4_096, (981, 95, 17, 106, 351)),
                (8_192, (981, 39, 13, 51, 129)),
                (16_384, (981, 8, 0, 20, 40)),
            )
        ],
    ],
)
def test_an_imported_log_fits_before_every_answer(window: int, every: int, counts: tuple[int, ...]) -> None:
    found = Counts()
    for log in logs():
        replay(fresh_steps(log, window, every), found)
    assert found.told() == counts
    assert exported(found.prepared) > 10


def test_without_notes_what_goes_is_dropped_and_said() -> None:
    assert lived_through("plain", 4_096, features=()).told() == (981, 34, 16, 0, 107)

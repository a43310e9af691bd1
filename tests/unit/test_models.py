from __future__ import annotations

import subprocess
import sys
import time
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from playground.errors import InvalidInputError, UnknownModelError
from playground.models import (
    DEFAULT_MODEL_ID,
    ModelEntry,
    ModelSpec,
    PriceTier,
    catalogue,
    find_model,
    input_cost,
    keeps_tail,
    price_for,
)

DAY = date(2026, 11, 30)


def test_a_spec_leaves_the_window_less_the_reserve_for_input_R12() -> None:
    spec = ModelSpec(provider="openai", model_id="gpt-5", context_window=128_000, max_output_tokens=8_000)
    assert spec.input_tokens == 120_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context_window", 0),
        ("context_window", -1),
        ("context_window", 1.5),
        ("context_window", float("nan")),
        ("context_window", True),
        ("max_output_tokens", -1),
        ("max_output_tokens", 200_001),
        ("model_id", ""),
        ("provider", None),
        ("colour", "red"),
    ],
)
def test_a_malformed_spec_is_refused_with_the_field_named(field: str, value: object) -> None:
    good: dict[str, Any] = {
        "provider": "p",
        "model_id": "m",
        "context_window": 200_000,
        "max_output_tokens": 8_000,
    }
    with pytest.raises(InvalidInputError) as caught:
        ModelSpec(**{**good, field: value})
    assert "m reserves 200,001" in str(caught.value) if value == 200_001 else field in str(caught.value)


def test_a_spec_cannot_be_changed() -> None:
    spec = ModelSpec(provider="p", model_id="m", context_window=10, max_output_tokens=10)
    with pytest.raises(ValueError, match="frozen"):
        spec.context_window = 20  # type: ignore[misc]  # what the test is about


def test_the_catalogue_has_unique_ids_usable_numbers_and_sources() -> None:
    entries = catalogue(on=DAY)
    assert len({(entry.provider, entry.model_id) for entry in entries}) == len(entries) > 100
    for entry in entries:
        assert 0 < entry.max_output_tokens <= entry.context_window
        assert "genai-prices" in entry.source
        assert "output limit" in entry.source
        assert entry.input_prices[0].above == 0
        assert entry == find_model(entry.model_id, on=DAY)


@pytest.mark.parametrize(
    ("model_id", "window", "limit", "price"),
    [
        ("claude-fable-5-1", 1_000_000, 128_000, "10"),
        ("claude-opus-5-5", 1_000_000, 128_000, "4"),
        ("claude-sonnet-5-5", 1_000_000, 128_000, "2"),
        ("claude-haiku-5-5", 1_000_000, 128_000, "0.1"),
        ("claude-haiku-4-5", 200_000, 64_000, "1"),
        ("gpt-5", 400_000, 128_000, "1.25"),
    ],
)
def test_well_known_models_have_their_published_numbers(
    model_id: str, window: int, limit: int, price: str
) -> None:
    entry = find_model(model_id, on=DAY)
    assert (entry.context_window, entry.max_output_tokens) == (window, limit)
    assert entry.input_prices[0].price == Decimal(price)


@pytest.mark.parametrize(
    ("spelling", "model_id"),
    [
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("us.anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5"),
        ("claude-opus-5-5@20260101", "claude-opus-5-5"),
        ("CLAUDE-HAIKU-4-5-20251001 ", "claude-haiku-4-5"),
        ("claude-sonnet-4", "claude-sonnet-4-0"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-chat-latest", "gpt-5"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("claude-3-5-haiku", "claude-3-5-haiku-latest"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
    ],
)
def test_a_model_is_found_under_the_spellings_people_use(spelling: str, model_id: str) -> None:
    assert find_model(spelling, on=DAY).model_id == model_id


def test_an_unknown_model_names_near_ones_and_the_remedy() -> None:
    with pytest.raises(UnknownModelError) as caught:
        find_model("claude-opus-5-50", on=DAY)
    assert "claude-opus-5-5" in caught.value.suggestions
    assert caught.value.model_id == "claude-opus-5-50"
    assert "Did you mean claude-opus-5-5" in str(caught.value)
    assert "override" in caught.value.remedy


@pytest.mark.parametrize("model_id", ["", "x" * 100_000, "\ud800", "../../etc/passwd"])
def test_nonsense_for_a_model_id_is_an_unknown_model(model_id: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        find_model(model_id, on=DAY)
    assert len(str(caught.value)) < 400


def test_a_spec_overrides_window_and_limit_and_keeps_the_prices() -> None:
    spec = ModelSpec(
        provider="anthropic", model_id="claude-opus-5-5", context_window=200_000, max_output_tokens=9
    )
    entry = find_model("anthropic/claude-opus-5-5", overrides=[spec], on=DAY)
    assert (entry.context_window, entry.max_output_tokens) == (200_000, 9)
    assert entry.input_prices == find_model("claude-opus-5-5", on=DAY).input_prices
    assert entry.source.startswith("window and output limit: override")


def test_an_override_makes_a_private_model_known() -> None:
    spec = ModelSpec(provider="own", model_id="in-house-7", context_window=32_000, max_output_tokens=1_000)
    entry = find_model("in-house-7", overrides=[spec], on=DAY)
    assert entry.context_window == 32_000
    assert input_cost(entry, 1_000) is None
    full = ModelEntry(
        **spec.model_dump(), source="the house", input_prices=(PriceTier(above=0, price=Decimal(1)),)
    )
    assert find_model("in-house-7", overrides=[full], on=DAY) == full


def test_a_reserve_above_the_models_limit_is_refused() -> None:
    entry = find_model("claude-haiku-4-5", on=DAY)
    assert entry.spec().max_output_tokens == 64_000
    assert entry.spec(max_output_tokens=8_000).input_tokens == 192_000
    with pytest.raises(InvalidInputError, match="at most 64,000"):
        entry.spec(max_output_tokens=64_001)


def test_a_price_change_counts_from_its_published_day() -> None:
    before = find_model("gemini-4-argon", on=date(2026, 11, 30)).input_prices
    after = find_model("gemini-4-argon", on=date(2026, 12, 1)).input_prices
    assert (before[0].price, after[0].price) == (Decimal(2), Decimal(4))


@pytest.mark.parametrize(
    ("tokens", "dollars"), [(0, "0"), (100_000, "0.01"), (100_001, "0.0500005"), (1_000_000, "0.5")]
)
def test_a_passed_tier_prices_every_token_of_the_request(tokens: int, dollars: str) -> None:
    assert input_cost(find_model("claude-haiku-5-5", on=DAY), tokens) == Decimal(dollars)


def test_cost_agrees_with_the_package_that_the_prices_come_from() -> None:
    from genai_prices import Usage, calc_price

    for model_id in ("claude-opus-5-5", "claude-haiku-5-5", "gpt-5.4", "gpt-5"):
        for tokens in (1, 99_999, 100_001, 272_000, 272_001):
            theirs = calc_price(Usage(input_tokens=tokens, output_tokens=0), model_id).total_price
            assert input_cost(find_model(model_id), tokens) == theirs


def test_negative_tokens_have_no_cost() -> None:
    with pytest.raises(InvalidInputError):
        input_cost(find_model(DEFAULT_MODEL_ID, on=DAY), -1)


def test_no_prices_give_no_price() -> None:
    assert price_for((), 10) is None


@pytest.mark.parametrize(
    "model_id",
    [
        "claude-fable-5-1",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "anthropic/claude-opus-5-5",
        "openrouter/anthropic/claude-opus-5.5",
        "us.anthropic.claude-opus-5-5-v1:0",
        "anthropic.claude-haiku-5-5-20260101-v1:0",
        "claude-opus-5-5@20260101",
        "claude-sonnet-5-5-20260915",
        "claude-fable-5-1-latest",
        "Claude-Opus-5-5",
        "anthropic:claude-opus-5-5",
        "claude-opus-5-5[1m]",
        "claude-opus-5-5:thinking",
        "anthropic/claude-opus-5.5:beta",
    ],
)
def test_models_that_bind_thinking_to_the_prefix_keep_their_tails_R93_R95(model_id: str) -> None:
    assert keeps_tail(model_id)


@pytest.mark.parametrize(
    "model_id",
    [
        "claude-opus-4-8",
        "gpt-5",
        "claude-opus-5",
        "claude-opus-5-20260724",
        "claude-opus-5-50",
        "claude-opus-5-50@20260101",
        "claude-opus-5-5-mini",
        "claude-fable-5-2",
        "claude-fable-5-10",
        "not-claude-opus-5-5",
        "",
    ],
)
def test_other_models_do_not_keep_their_tails_R94_R95(model_id: str) -> None:
    assert not keeps_tail(model_id)


def test_importing_models_loads_no_price_data() -> None:
    code = "import playground.models, sys; print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("model_id", ["gpt-4o" + "-latest" * 20_000, "@" * 50_000, " " * 10_000_000, 5, None])
def test_an_id_that_no_vendor_would_give_is_refused_at_once(model_id: Any) -> None:
    started = time.process_time()
    with pytest.raises(InvalidInputError) as caught:
        find_model(model_id)
    assert caught.value.remedy
    # Eight seconds before; the bound is far from both.
    assert time.process_time() - started < 1


def test_an_endless_id_keeps_no_tail_and_makes_no_spec() -> None:
    assert not keeps_tail("claude-opus-5-5" + "-latest" * 20_000)
    with pytest.raises(InvalidInputError, match="model_id"):
        ModelSpec(provider="x", model_id="@" * 257, context_window=10, max_output_tokens=1)

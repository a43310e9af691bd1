"""Models by name: window, output limit, prices, tokenizer, and whether a request keeps its old tails.

Windows and prices come from the data inside the installed ``genai-prices`` package and are never fetched.
That package holds no output limits; they are our own table. Price catalogues are sometimes wrong, therefore
every entry says where its numbers come from and any of them can be overridden.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from playground.errors import InvalidInputError, UnknownModelError
from playground.values import Value

__all__ = [
    "DEFAULT_MODEL_ID",
    "ModelEntry",
    "ModelSpec",
    "PriceTier",
    "catalogue",
    "find_model",
    "input_cost",
    "keeps_tail",
    "price_for",
]

DEFAULT_MODEL_ID = "claude-opus-5-5"
ASSUMED_OUTPUT_LIMIT = 8_192  # tokens; for models whose vendor's limit is not in OUTPUT_LIMITS
ID_CHARACTERS = 256  # no vendor's id comes near; what is longer is no id
MILLION = Decimal(1_000_000)

# Families whose thinking is bound to the bytes before it: each step's tail joins the history there.
TAIL_KEPT = frozenset({"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"})

# Vendors that sell their own models; resellers repeat the same ids at other prices.
VENDORS = (
    "anthropic",
    "openai",
    "google",
    "mistral",
    "deepseek",
    "x-ai",
    "moonshotai",
    "minimax",
    "meta",
    "zai",
)
_GOOGLE_ONLY = re.compile(r"gem(ini|ma)-")
_NOT_TEXT = re.compile(
    r"embed|tts|image|audio|realtime|transcribe|voxtral|voice|whisper|ocr|live|banana|robotics"
)

# Largest answer in tokens, first matching pattern wins. Vendors' model pages, read in November 2026; where two
# pages disagree the smaller number stands, because a reserve that is too large is refused by the API.
OUTPUT_LIMITS: tuple[tuple[str, int], ...] = (
    (r"claude-(fable|opus|sonnet|haiku|mythos)-5", 128_000),
    (r"claude-opus-4-[678]", 128_000),
    (r"claude-(sonnet-4-6|(opus|sonnet|haiku)-4-5|sonnet-4-0|3-7-sonnet)", 64_000),
    (r"claude-opus-4-[01]", 32_000),
    (r"claude-3-5", 8_192),
    (r"claude-(2|3|v1)", 4_096),
    (r"gpt-5-3$", 16_384),
    (r"gpt-(5|6)", 128_000),
    (r"gpt-oss", 131_072),
    (r"gpt-4-1", 32_768),
    (r"gpt-4o", 16_384),
    (r"o[134]", 100_000),
    (r"gpt-(4|3)", 4_096),
    (r"gemini-(2-5|3|4)", 65_536),
    (r"gemini", 8_192),
)
_O200K = re.compile(r"(gpt-(4o|4-1|4-5|5|6|oss)|o[134]|chatgpt-4o)")
_CL100K = re.compile(r"gpt-(4|3-5)")

# What people put before and behind a vendor's own id: Bedrock regions and versions, Vertex and OpenAI dates.
_BEDROCK_VENDOR = re.compile(
    r"^(?:(?:us|us-gov|eu|apac|ap|au|jp|ca|global|regional)\.)?(?:anthropic|openai|google|mistral|meta|deepseek|zai)\."
)
_PREFIX = re.compile(r"^[a-z]+:(?=[a-z])")
_SUFFIX = re.compile(
    r"(?:@[\w.-]*|-v\d+(?::\d+)?|-latest|[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})|\[\w+\]|:[a-z]+)$"
)


class ModelSpec(Value):
    """What the compiler needs to know of a model."""

    provider: str
    """Who serves it; ``anthropic`` adds tool framing."""
    model_id: str = Field(min_length=1, max_length=ID_CHARACTERS)
    """The id sent to the API."""
    context_window: int = Field(gt=0, strict=True)
    """Tokens that prompt and answer share."""
    max_output_tokens: int = Field(ge=0, strict=True)
    """Tokens reserved for the answer."""

    @model_validator(mode="after")
    def _reserve_fits(self) -> Self:
        if self.max_output_tokens > self.context_window:
            raise InvalidInputError(
                f"{self.model_id} reserves {self.max_output_tokens:,} output tokens in a window of "
                f"{self.context_window:,}.",
                remedy="Lower max_output_tokens.",
            )
        return self

    @property
    def input_tokens(self) -> int:
        """Tokens left for the prompt: the window less the reserve."""
        return self.context_window - self.max_output_tokens


class PriceTier(Value):
    """A price that applies to all tokens of a request longer than ``above``."""

    above: int
    """Input tokens; the tier starts with the next one. 0 for the base price."""
    price: Decimal
    """US dollars per million tokens."""


class ModelEntry(ModelSpec):
    """A catalogue entry; ``max_output_tokens`` is the model's own limit, not a reserve.

    Prices are tiers in ascending order, the first above 0; an empty tuple means that no price is known.
    """

    name: str = ""
    """What people call it."""
    input_prices: tuple[PriceTier, ...] = ()
    """Fresh input."""
    output_prices: tuple[PriceTier, ...] = ()
    """Output."""
    cache_read_prices: tuple[PriceTier, ...] = ()
    """Input read from the prompt cache."""
    cache_write_prices: tuple[PriceTier, ...] = ()
    """Input written to the prompt cache, where that is billed apart (five minutes)."""
    tokenizer: Literal["o200k_base", "cl100k_base"] | None = None
    """The tiktoken encoding the model uses; None where the vendor publishes none."""
    source: str
    """Where window, limit and prices come from."""

    def spec(self, *, max_output_tokens: int | None = None) -> ModelSpec:
        """Return the spec with a reserve in tokens; the model's own output limit when left out.

        Raises:
            InvalidInputError: When the reserve is negative or larger than the model's output limit.
        """
        reserve = self.max_output_tokens if max_output_tokens is None else max_output_tokens
        if reserve > self.max_output_tokens:
            raise InvalidInputError(
                f"{self.model_id} answers at most {self.max_output_tokens:,} tokens, not {reserve:,}.",
                remedy="Lower max_output_tokens, or override the catalogue entry.",
            )
        return ModelSpec(
            provider=self.provider,
            model_id=self.model_id,
            context_window=self.context_window,
            max_output_tokens=reserve,
        )


def catalogue(*, on: date | None = None) -> tuple[ModelEntry, ...]:
    """Return every known text model, by provider in the order of ``VENDORS``, then by id.

    Args:
        on: The UTC day whose prices count; today when left out. Some prices change on a published day.
    """
    return _catalogue(on or datetime.now(UTC).date())


def find_model(
    model_id: str, *, overrides: Iterable[ModelEntry | ModelSpec] = (), on: date | None = None
) -> ModelEntry:
    """Find a model by any spelling of its id: vendor prefixes, date and version suffixes, dots for dashes.

    Args:
        model_id: For example ``claude-opus-5-5``, ``anthropic/claude-opus-5.5`` or
            ``us.anthropic.claude-opus-5-5-v1:0``.
        overrides: Win over the catalogue. An entry replaces it; a spec changes provider, window and limit of
            the catalogue's entry and keeps its prices.
        on: See ``catalogue``.

    Raises:
        UnknownModelError: With up to three near names; also for more than ``ID_CHARACTERS`` characters.
        InvalidInputError: When the id is no string.
    """
    if not isinstance(model_id, str):
        raise InvalidInputError(f"A model id is a {type(model_id).__name__}.", remedy="Give a string.")
    if len(model_id) > ID_CHARACTERS:
        raise UnknownModelError(
            f"A model id has {len(model_id):,} characters.",
            remedy=f"Give one of at most {ID_CHARACTERS}.",
            model_id=model_id[:ID_CHARACTERS],
        )
    entries = _by_name(on or datetime.now(UTC).date())
    exact, wanted = model_id.strip().casefold(), _canonical(model_id)
    # A vendor's own dated id may be an entry of its own, with other prices than the undated one.
    known = entries.get(exact) or entries.get(wanted)
    for override in overrides:
        if model_id == override.model_id or wanted == _canonical(override.model_id):
            return _overridden(override, known)
    if known is not None:
        return known
    near = difflib.get_close_matches(wanted, entries, n=8, cutoff=0.6)
    names = tuple(dict.fromkeys(entries[name].model_id for name in near))[:3]
    hint = f"Did you mean {' or '.join(names)}? " if names else ""
    raise UnknownModelError(
        f"No model is called {model_id[:80]!r}.",
        remedy=f"{hint}Choose a known model, or give an override with its window and output limit.",
        model_id=model_id,
        suggestions=names,
    )


def keeps_tail(model_id: str) -> bool:
    """Whether each step's working-memory tail must stay in history for this model."""
    return len(model_id) <= ID_CHARACTERS and _canonical(model_id) in TAIL_KEPT


def price_for(prices: Sequence[PriceTier], tokens: int) -> Decimal | None:
    """Return the US dollars per million tokens for a request of ``tokens`` input tokens; None if unknown.

    The highest tier that the request passes applies to all of its tokens, as vendors bill it.
    """
    return next((tier.price for tier in reversed(prices) if tokens > tier.above or tier.above == 0), None)


def input_cost(entry: ModelEntry, tokens: int) -> Decimal | None:
    """Return what ``tokens`` uncached input tokens cost in US dollars, exactly; None when no price is known.

    Raises:
        InvalidInputError: When ``tokens`` is negative.
    """
    if tokens < 0:
        raise InvalidInputError(f"{tokens} tokens have no cost.", remedy="Pass a count of 0 or more.")
    price = price_for(entry.input_prices, tokens)
    return None if price is None else price * tokens / MILLION


def _canonical(model_id: str) -> str:
    # Quadratic in the length, which callers bound.
    name = _PREFIX.sub("", model_id.strip().casefold().rsplit("/", 1)[-1])
    name = _BEDROCK_VENDOR.sub("", name)
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name.replace(".", "-")


@lru_cache(maxsize=4)
def _by_name(on: date) -> dict[str, ModelEntry]:
    entries = sorted(_packaged(on), key=lambda pair: len(pair[0].model_id))
    names = {entry.model_id.casefold(): entry for entry, _ in entries}
    for entry, aliases in entries:
        for alias in (entry.model_id, *aliases):
            names.setdefault(_canonical(alias), entry)
    return dict(sorted(names.items()))


@lru_cache(maxsize=4)
def _catalogue(on: date) -> tuple[ModelEntry, ...]:
    entries = (entry for entry, _ in _packaged(on))
    return tuple(sorted(entries, key=lambda entry: (VENDORS.index(entry.provider), entry.model_id)))


@lru_cache(maxsize=4)
def _packaged(on: date) -> tuple[tuple[ModelEntry, tuple[str, ...]], ...]:
    """Entries with the other names the package knows for them."""
    # A megabyte of data and 0.2 s: only paid by those who look a model up.
    from genai_prices import __version__  # noqa: PLC0415
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    source = f"genai-prices {__version__}"
    return tuple(
        (entry, tuple(_aliases(model.match)))
        for provider in get_snapshot().providers
        if provider.id in VENDORS
        for model in provider.models
        if (entry := _entry(provider.id, model, on, source)) is not None
    )


def _aliases(match: Any) -> Iterator[str]:
    # A name that the package takes for the beginning of other names is used as a whole name here: beginnings
    # would let claude-opus-4-50 pass for claude-opus-4-5.
    for clause in getattr(match, "or_", (match,)):
        name = getattr(clause, "equals", None) or getattr(clause, "starts_with", None)
        if name:
            yield name.rstrip("-@")


def _entry(vendor: str, model: Any, on: date, source: str) -> ModelEntry | None:
    if _NOT_TEXT.search(model.id) or (vendor == "google" and not _GOOGLE_ONLY.match(model.id)):
        return None
    prices = model.get_prices(datetime.combine(on, time(12), UTC))
    if not model.context_window or prices.output_mtok is None:
        return None
    name = _canonical(model.id)
    limit = next((tokens for pattern, tokens in OUTPUT_LIMITS if re.match(pattern, name)), None)
    return ModelEntry(
        provider=vendor,
        model_id=model.id,
        name=model.name or model.id,
        context_window=model.context_window,
        max_output_tokens=min(limit or ASSUMED_OUTPUT_LIMIT, model.context_window),
        input_prices=_tiers(prices.input_mtok),
        output_prices=_tiers(prices.output_mtok),
        cache_read_prices=_tiers(prices.cache_read_mtok),
        cache_write_prices=_tiers(prices.cache_write_mtok),
        tokenizer=_tokenizer(vendor, name),
        source=f"window and prices: {source}; output limit: {'assumed' if limit is None else 'own table'}",
    )


def _tiers(price: Any) -> tuple[PriceTier, ...]:
    if price is None:
        return ()
    if isinstance(price, Decimal):
        return (PriceTier(above=0, price=price),)
    later = (PriceTier(above=tier.start, price=tier.price) for tier in price.tiers)
    return (PriceTier(above=0, price=price.base), *later)


def _tokenizer(vendor: str, name: str) -> Literal["o200k_base", "cl100k_base"] | None:
    if vendor != "openai":
        return None
    if _O200K.match(name):
        return "o200k_base"
    return "cl100k_base" if _CL100K.match(name) else None


def _overridden(override: ModelEntry | ModelSpec, known: ModelEntry | None) -> ModelEntry:
    if isinstance(override, ModelEntry):
        return override
    numbers = override.model_dump()
    if known is None:
        return ModelEntry(**numbers, name=override.model_id, source="window and output limit: override")
    kept = {name: getattr(known, name) for name in ModelEntry.model_fields if name not in numbers}
    source = f"window and output limit: override; otherwise {known.source}"
    return ModelEntry(**{**kept, **numbers, "source": source})

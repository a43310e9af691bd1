"""Counting text, data and images, in tokens.

Pure: a count depends on its arguments alone. The default counts characters, as the source system does; a
tokenizer takes its place by one setting: ``PreparationEstimator(load_tokenizer().count, name="o200k_base")``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.tokens import compact_json
from playground.values import LARGEST_WHOLE_NUMBER, shown

__all__ = ["ApproximateEstimator", "CountText", "PreparationEstimator"]

CHARACTERS_PER_TOKEN = 3.5  # code points; the source system's ratio
APPROXIMATE_RATIOS = {"code": 3.0, "prose": 4.0, "mixed": 3.5}  # code points a token; the source system's
UNSERIALISABLE_TOKENS = 100  # tokens of data that JSON cannot write; never 0, which would pass unseen
IMAGE_BASE_TOKENS = 85  # tokens of an image in low detail, and of the overview of a larger one
IMAGE_TILE_TOKENS = 170  # tokens of one tile
IMAGE_TILE_PIXELS = 512  # edge of a tile
UNKNOWN_IMAGE_TOKENS = 1000  # tokens of an image whose size is not known

CountText = Callable[[str], float]


class PreparationEstimator:
    """Count what a request holds; 3.5 characters a token unless a tokenizer counts.

    Args:
        count_text: Tokens of a text. Where it raises, or answers a negative number, one above 2**53 or none,
            that one call falls back to the characters.
        name: What people see.
        characters_per_token: The ratio, in code points; more than 0.

    Raises:
        InvalidInputError: When the ratio is no positive number.

    References:
        The ratio and the figures for images are the source system's; those for images follow OpenAI's tiles.
    """

    __slots__ = ("_characters_per_token", "_count_text", "name")

    def __init__(
        self,
        count_text: CountText | None = None,
        *,
        name: str | None = None,
        characters_per_token: float = CHARACTERS_PER_TOKEN,
    ) -> None:
        number = isinstance(characters_per_token, int | float) and not isinstance(characters_per_token, bool)
        if not number or not 0 < characters_per_token < math.inf:
            raise InvalidInputError(
                f"The characters per token are {shown(characters_per_token)}.", remedy="Give more than 0."
            )
        self._count_text = count_text
        self._characters_per_token = characters_per_token
        self.name = name or ("heuristic" if count_text is None else "tokenizer")

    @property
    def kind(self) -> Literal["heuristic", "tokenizer"]:
        """Whether characters are counted or a tokenizer counts."""
        return "heuristic" if self._count_text is None else "tokenizer"

    def text(self, text: str | None) -> int:
        """Count a text: ``ceil(code points / 3.5)``, 0 for none."""
        if not text:
            return 0
        if self._count_text is not None:
            counted = _asked(self._count_text, text)
            if counted is not None:
                return counted
        return math.ceil(len(text) / self._characters_per_token)

    def data(self, value: Any) -> int:
        """Count any value: a text as it is, the rest as compact JSON; 100 for what JSON cannot write."""
        if isinstance(value, str):
            return self.text(value)
        return self.text(compact_json(value)) or UNSERIALISABLE_TOKENS

    def image(self, width: Any = None, height: Any = None, detail: Any = None) -> int:
        """Count an image by its size in pixels and its detail: 85 for ``low``, 1,000 for an unknown size."""
        if detail == "low":
            return IMAGE_BASE_TOKENS
        if not (_is_size(width) and _is_size(height)):
            return UNKNOWN_IMAGE_TOKENS
        tiles: int = math.ceil(width / IMAGE_TILE_PIXELS) * math.ceil(height / IMAGE_TILE_PIXELS)
        return IMAGE_BASE_TOKENS + IMAGE_TILE_TOKENS * tiles

    def longest(self, text: str, tokens: int) -> int:
        """Return how many code points of the beginning of ``text`` cost at most ``tokens``.

        Bisection under a tokenizer, O(n log n): the answer fits, though a longer beginning might too.
        """
        if tokens <= 0:
            return 0
        if self._count_text is None:
            return min(len(text), math.floor(tokens * self._characters_per_token))
        fits, over = 0, len(text) + 1
        while over - fits > 1:
            middle = (fits + over) // 2
            if self.text(text[:middle]) <= tokens:
                fits = middle
            else:
                over = middle
        return fits


class ApproximateEstimator:
    """The source system's second estimator, by kind of content. Preparation does not use it."""

    __slots__ = ()

    name = "approximate"

    def tokens(self, text: str | None, content: Literal["code", "prose", "mixed"] = "mixed") -> int:
        """Count a text: 3 code points a token for code, 4 for prose, 3.5 for a mixture.

        Raises:
            InvalidInputError: For another kind of content.
        """
        ratio = APPROXIMATE_RATIOS.get(content) if isinstance(content, str) else None
        if ratio is None:
            raise InvalidInputError(
                f"The content is {shown(content)}.", remedy=f"Use one of {sorted(APPROXIMATE_RATIOS)}."
            )
        return math.ceil(len(text or "") / ratio)

    def data_tokens(self, value: Any) -> int:
        """Count a value as compact JSON: 1 for None, 100 for what JSON cannot write."""
        if value is None:
            return 1
        return self.tokens(compact_json(value)) or UNSERIALISABLE_TOKENS


def _asked(count_text: CountText, text: str) -> int | None:
    try:
        counted = float(count_text(text))
    except Exception:  # noqa: BLE001  # a caller's tokenizer may raise anything; the characters are counted then
        return None
    return math.ceil(counted) if 0 <= counted <= LARGEST_WHOLE_NUMBER else None


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LARGEST_WHOLE_NUMBER

"""Counting tokens: one estimator for messages, records, lines and tool schemas.

The heuristic counts 3.6 characters a token and corrects itself from real usage; any tokenizer can replace
the base count. Deterministic: an estimator's answers depend on its arguments and its calibration alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from playground.messages import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
    as_messages,
    encode_bytes,
)
from playground.values import LARGEST_WHOLE_NUMBER

__all__ = [
    "ANTHROPIC_TOOL_FRAMING_TOKENS",
    "CHARACTERS_PER_TOKEN",
    "CountTokens",
    "TextTokenEstimator",
    "TokenEstimator",
    "compact_json",
    "message_tokens",
]

CHARACTERS_PER_TOKEN = 3.6  # characters; the heuristic's only ratio
MESSAGE_TOKENS = 4  # tokens of framing around one message
TOOL_PART_TOKENS = 10  # tokens of framing around one tool call or tool result
IMAGE_TOKENS = 1600  # tokens, flat; base64 is never counted as text
FILE_TOKENS = 1000  # tokens of a document part whose data is not text
UNKNOWN_PART_TOKENS = 8  # tokens of a part of unknown kind
ANTHROPIC_TOOL_FRAMING_TOKENS = 346  # tokens that Anthropic adds to a request with tools; not calibrated
FILE_TYPES = frozenset({"document", "file"})  # of parts that hold a file
FACTOR_RANGE = (0.5, 2.0)  # bounds of the calibration factor
BLEND = 0.3  # weight of one observation in the factor
MEMO_LIMIT = 65_536  # texts whose count is remembered per estimator


def _encodable(value: Any) -> Any:
    encoded = encode_bytes(value)
    if encoded is value:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return encoded


# Reused: json.dumps makes a new one a call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_encodable).encode

CountTokens = Callable[[Sequence[Message]], float]


class TokenEstimator:
    """Estimate tokens; calibrate from usage, or count with a tokenizer.

    Args:
        count_tokens: Synchronous count of a message list, in tokens. It replaces the heuristic's base count;
            the calibration factor still multiplies it. Where it raises or answers a negative number, one
            above 2**53 or none, that one call falls back to the heuristic.
        framing_tokens: Replaces ``ANTHROPIC_TOOL_FRAMING_TOKENS``, in tokens; 0 is allowed.
        name: What people see: the tokenizer's name, or ``heuristic``.

    References:
        3.6 characters a token, the part rules and the blend are the source system's own figures.
    """

    def __init__(
        self,
        count_tokens: CountTokens | None = None,
        *,
        framing_tokens: int | None = None,
        name: str | None = None,
    ) -> None:
        self._count_tokens = count_tokens
        self._framing_tokens = framing_tokens
        self._factor = 1.0
        self._calibrated = False
        self._model_id: str | None = None
        self._memo: dict[bytes, float] = {}
        self.name = name or ("heuristic" if count_tokens is None else "tokenizer")

    @property
    def kind(self) -> Literal["heuristic", "tokenizer"]:
        """Whether the base count is the heuristic's or a tokenizer's."""
        return "heuristic" if self._count_tokens is None else "tokenizer"

    @property
    def factor(self) -> float:
        """The calibration factor, 1.0 until the first usage, always in 0.5 to 2.0."""
        return self._factor

    def base(self, messages: Sequence[Message | Mapping[str, Any]]) -> float:
        """Count without the calibration factor, in tokens; never raises for unserialisable content."""
        values = as_messages(messages)
        if not values:
            return 0.0
        if self._count_tokens is not None:
            counted = _tokenizer_count(self._count_tokens, values)
            if counted is not None:
                return counted
        return float(sum(map(_heuristic_base, values)))

    def estimate(self, messages: Sequence[Message | Mapping[str, Any]]) -> int:
        """Return ``ceil(base × factor)``, in tokens; 0 for an empty list."""
        return math.ceil(self.base(messages) * self._factor)

    @property
    def calibrated(self) -> bool:
        """Whether a real usage was taken into the factor."""
        return self._calibrated

    def calibrate(self, actual: float, estimated: float, *, model_id: str | None = None) -> None:
        """Move the factor towards what a provider really counted.

        Args:
            actual: Input tokens of one model call as its provider reported them, > 0: those read from a cache
                included, output tokens and other calls' never. Anthropic reports cache reads and writes
                beside ``input_tokens``: the sum of the three is meant.
            estimated: What this estimator said, just before that call, of the very request that was sent:
                ``estimate(messages)`` and ``overhead(...)``, > 0. An estimate from before a compaction, or
                of a request without its system prompt, teaches something wrong.
            model_id: The model that was called. The first one named is the one this estimator learns from;
                usage of another, which counts differently, is ignored.

        Non-finite and non-positive numbers are ignored. The blend is in factor space, so that repeated
        observations converge to actual / base; the factor stays within 0.5 to 2.0, so that a usage that
        counted something else does limited harm and is corrected by those that follow.
        """
        try:
            counted, said = float(actual), float(estimated)
        except (TypeError, ValueError, OverflowError):
            return
        if not all(math.isfinite(number) and number > 0 for number in (counted, said)):
            return
        if model_id is not None:
            self._model_id = self._model_id or model_id
            if model_id != self._model_id:
                return
        low, high = FACTOR_RANGE
        self._factor = min(high, max(low, self._factor * ((1 - BLEND) + BLEND * counted / said)))
        self._calibrated = True

    def piece_tokens(self, text: str) -> int:
        """Count one rendered record or line: what it adds to a message that is there anyway, in tokens.

        The message's own framing is measured and taken off rather than assumed, so that it holds for any
        tokenizer. Counts of a tokenizer are remembered per text.
        """
        if self._count_tokens is None:
            return self.length_tokens(len(text))
        return max(0, math.ceil((self._memoised_base(text) - self._memoised_base("")) * self._factor))

    def length_tokens(self, length: int) -> int:
        """Count a piece of ``length`` code points by the heuristic, in tokens. O(1)."""
        base = (MESSAGE_TOKENS + length / CHARACTERS_PER_TOKEN) - MESSAGE_TOKENS
        return max(0, math.ceil(base * self._factor))

    @property
    def counts_by_length(self) -> bool:
        """Whether a piece's count depends on its length alone, and counts of pieces bound their sum."""
        return self._count_tokens is None

    def overhead(
        self,
        tools: Sequence[Mapping[str, Any]] = (),
        output_schema: Mapping[str, Any] | None = None,
        provider: str = "",
    ) -> int:
        """Count what a request carries beside its messages, in tokens.

        Args:
            tools: Active tools as ``{name, description, parameters}``; ``input_schema`` counts as parameters.
            output_schema: JSON schema of a structured answer, if one is sent.
            provider: Adds the tool framing for ``anthropic`` when there is at least one tool.
        """
        total = 0
        for tool in tools:
            parameters = tool.get("parameters", tool.get("input_schema"))
            schema = {
                "name": tool.get("name"),
                "description": tool.get("description"),
                "parameters": parameters,
            }
            total += self._schema_tokens(schema)
        if output_schema is not None:
            total += self._schema_tokens(output_schema)
        if tools and provider == "anthropic":
            framing = self._framing_tokens
            total += ANTHROPIC_TOOL_FRAMING_TOKENS if framing is None else framing
        return total

    def for_text(self) -> TextTokenEstimator:
        """Return an estimator of plain text, for the block compiler: at least 1 token a text."""
        return TextTokenEstimator(self)

    def _schema_tokens(self, schema: Mapping[str, Any]) -> int:
        text = compact_json(schema)
        if self._count_tokens is None:
            return math.ceil(len(text) / CHARACTERS_PER_TOKEN * self._factor)
        return self.piece_tokens(text)

    def _memoised_base(self, text: str) -> float:
        # By digest: a count must not keep a text alive that somebody forgot.
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= MEMO_LIMIT:
                self._memo.clear()
            found = self._memo[key] = self.base((Message("user", text),))
        return found


class TextTokenEstimator:
    """Counts plain text by a ``TokenEstimator``, as ``estimate(text) -> int``."""

    __slots__ = ("_estimator",)

    def __init__(self, estimator: TokenEstimator) -> None:
        self._estimator = estimator

    def estimate(self, text: str) -> int:
        """Return the tokens of ``text``, at least 1."""
        return max(1, self._estimator.piece_tokens(text))


def message_tokens(messages: Sequence[Message], count_text: Callable[[str], float]) -> float:
    """Return the base count of messages when text is counted by ``count_text``, in tokens.

    4 a message, 10 around a tool call or result, 1,600 an image, 1,000 a document that is not text, 8 a part of
    unknown kind; everything else is text, tool data as compact JSON.
    """
    return float(sum(_message_base(message, count_text) for message in messages))


def compact_json(value: Any) -> str:
    """Return compact JSON with non-ASCII characters kept; an unserialisable value gives the empty string."""
    try:
        try:
            return _encode(value)
        except TypeError:
            # Keys that are no text; a copy has them as text.
            return _encode(encode_bytes(value))
    except (TypeError, ValueError, RecursionError):
        return ""


def _tokenizer_count(count_tokens: CountTokens, messages: Sequence[Message]) -> float | None:
    try:
        counted = float(count_tokens(messages))
    except Exception:  # noqa: BLE001  # a caller's tokenizer may raise anything; the heuristic takes over
        return None
    return counted if 0 <= counted <= LARGEST_WHOLE_NUMBER else None


def _heuristic_base(message: Message) -> float:
    """Return a message's base count by the heuristic, remembered on the message; the factor is not in it."""
    known: float | None = getattr(message, "_base_tokens", None)
    if known is not None:
        return known
    # Threads that come here at once write the same value.
    base = _message_base(message, _heuristic_count)
    object.__setattr__(message, "_base_tokens", base)
    return base


def _message_base(message: Message, count_text: Callable[[str], float]) -> float:
    if isinstance(message.content, str):
        return MESSAGE_TOKENS + count_text(message.content)
    return MESSAGE_TOKENS + sum([_part_tokens(part, count_text) for part in message.content])


def _part_tokens(part: Part, count_text: Callable[[str], float]) -> float:
    match part:
        case TextPart() | ReasoningPart():
            return count_text(part.text)
        case ToolUsePart():
            return count_text(compact_json(part.input)) + TOOL_PART_TOKENS
        case ToolResultPart(result=result):
            return count_text(result if isinstance(result, str) else compact_json(result)) + TOOL_PART_TOKENS
        case ImagePart():
            return IMAGE_TOKENS
        case UnknownPart(data=data) if isinstance(kind := data.get("type"), str) and kind in FILE_TYPES:
            content = data.get("data")
            return count_text(content) if isinstance(content, str) else FILE_TOKENS
    return UNKNOWN_PART_TOKENS


def _heuristic_count(text: str) -> float:
    return len(text) / CHARACTERS_PER_TOKEN

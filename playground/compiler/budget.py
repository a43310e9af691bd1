"""The budget: how many tokens the compiler may add to a request, and how the kinds share them."""

from __future__ import annotations

import math
import numbers
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from playground.compiler.per_kind import PerKind
from playground.errors import InvalidInputError
from playground.values import RecordedValue, as_float, shown, whole_number

__all__ = ["DEFAULT_CONTEXT_BUDGET", "ContextBudget", "ContextShares"]

SHARE_SUM_TOLERANCE = 1e-9  # what a sum of decimal fractions may exceed 1 by


def _tokens(value: Any) -> int:
    return whole_number(value, "A token limit")


def _number(value: Any) -> float:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = as_float(value) if real else math.nan
    if not math.isfinite(number):
        raise InvalidInputError(f"{shown(value)} is not a finite number.")
    return number


Tokens = Annotated[int, BeforeValidator(_tokens)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)]


class ContextShares(PerKind[float]):
    """How the kinds divide what working memory and mandatory content leave; hashable, read like a mapping.

    Each share is in 0 to 1 and the four sum to at most 1. Kinds left out keep their default. A share that a
    kind leaves unused flows to the others.
    """

    memory: Share = 0.35
    """Share of memory records."""
    rag: Share = 0.35
    """Share of document chunks."""
    transcript: Share = 0.15
    """Share of past chat messages."""
    skills: Share = 0.15
    """Share of skill catalogue lines."""

    @model_validator(mode="after")
    def _check_sum(self) -> Self:
        total = math.fsum(self.values())
        if total > 1 + SHARE_SUM_TOLERANCE:
            raise InvalidInputError(
                f"the shares sum to {total:.4g}, above 1.",
                remedy="Lower one, or divide each by their sum; a kind left out keeps its default.",
            )
        return self


class ContextBudget(RecordedValue):
    """The knobs of a compile. Fields left out keep their default.

    Raises:
        InvalidInputError: For a ratio outside (0, 1], a token limit that is no whole number of at least 0,
            a negative share or shares above 1 in sum.
    """

    ratio: Annotated[float, BeforeValidator(_number), Field(gt=0, le=1)] = 0.25
    """Part of the free room that added context may take, above 0 and at most 1."""
    max_tokens: Tokens = 8192
    """Upper bound of the added context, in tokens."""
    working_memory_tokens: Tokens = 2048
    """What working memory may take of it for its optional items, in tokens."""
    shares: ContextShares = ContextShares()
    """How the four kinds divide the rest."""

    def context_tokens(self, room: int) -> int:
        """Return the tokens the compiler may add when the request leaves ``room`` tokens; never below 0."""
        return max(0, math.floor(min(self.ratio * room, self.max_tokens)))


# 8,192 is the source system's figure; the others are this project's and are what the tuner is for.
DEFAULT_CONTEXT_BUDGET = ContextBudget()

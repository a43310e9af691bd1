"""What a host configures of a context, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.capacity import DEFAULT_CRITICAL_THRESHOLD, DEFAULT_RESPONSE_RESERVE
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.ports import Clock, CompactionStrategy, ContextStorage
from playground.preparation.zones import DATE_GRANULARITIES, DateGranularity
from playground.values import of_type, shown, whole_number

__all__ = ["ContextSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """Settings of a context.

    Attributes:
        model: The id of the model that it prepares for.
        strategy: Compacts where that is needed.
        clock: Returns milliseconds.
        max_context_tokens: The window; None infers it from the model.
        response_reserve: What is kept free for the answer, in tokens.
        critical_compaction_threshold: Share of the content capacity above which it compacts; above 0, up to 1.
        system_prompt: May name ``{{AGENT_ID}}``, ``{{MODEL}}`` and ``{{USER_ID}}``.
        storage: Where sessions are kept.
        timezone: Name of the date line's zone; the host's stands in for none, and for one that there is not.
        date_granularity: What the date line tells: ``minute``, ``hour`` or ``day``.
        estimator: Counts.
        agent_id: Names the agent.
        user_id: Names the user.

    Raises:
        InvalidInputError: When one is malformed.
    """

    model: str
    strategy: CompactionStrategy
    clock: Clock
    max_context_tokens: int | None = None
    response_reserve: int = DEFAULT_RESPONSE_RESERVE
    critical_compaction_threshold: float = DEFAULT_CRITICAL_THRESHOLD
    system_prompt: str | None = None
    storage: ContextStorage | None = None
    timezone: str | None = None
    date_granularity: DateGranularity = "minute"
    estimator: PreparationEstimator
    agent_id: str | None = None
    user_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise InvalidInputError(f"The model is {shown(self.model)}.", remedy="Give a model's id.")
        if self.max_context_tokens is not None:
            window = whole_number(self.max_context_tokens, "The window in tokens", least=1)
            object.__setattr__(self, "max_context_tokens", window)
        reserve = whole_number(self.response_reserve, "The response reserve in tokens")
        object.__setattr__(self, "response_reserve", reserve)
        if not _is_share(self.critical_compaction_threshold):
            raise InvalidInputError(
                f"The critical threshold is {shown(self.critical_compaction_threshold)}.",
                remedy="Give a share of the content capacity, above 0 and up to 1.",
            )
        for subject in ("system_prompt", "agent_id", "user_id"):
            text = getattr(self, subject)
            if text is not None and not isinstance(text, str):
                raise InvalidInputError(f"The {subject} is {shown(text)}.", remedy="Give a text.")
        if self.date_granularity not in DATE_GRANULARITIES:
            raise InvalidInputError(
                f"The granularity of the date is {shown(self.date_granularity)}.",
                remedy=f"Use one of {', '.join(DATE_GRANULARITIES)}.",
            )
        if not callable(self.clock):
            raise InvalidInputError(f"The clock is {shown(self.clock)}.", remedy="Give a function.")
        of_type(self.estimator, PreparationEstimator, "The estimator")
        _check_strategy(self.strategy)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _check_strategy(strategy: Any) -> None:
    missing = [name for name in ("name", "threshold", "compact", "consolidate") if not hasattr(strategy, name)]
    if missing:
        raise InvalidInputError(
            f"The strategy is a {type(strategy).__name__} without {', '.join(missing)}.",
            remedy="Pass a strategy's name, or an object with its methods.",
        )

"""How large a request may be, when it is compacted, and how far.

Pure but for the models' catalogue. All numbers are tokens.
"""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Integral, Real

from playground.errors import InvalidInputError
from playground.models import find_model

__all__ = [
    "DEFAULT_CRITICAL_THRESHOLD",
    "DEFAULT_RESPONSE_RESERVE",
    "DEFAULT_WINDOW",
    "configured_window",
    "effective_window",
    "over_critical",
    "reclaim_target",
    "usable",
]

DEFAULT_WINDOW = 128_000  # tokens; of a model that no catalogue knows
DEFAULT_RESPONSE_RESERVE = 4_096  # tokens kept free for the answer
DEFAULT_CRITICAL_THRESHOLD = 0.9  # share of the content capacity above which a request is compacted
RECLAIM_MARGIN = 0.1  # share below the threshold that compaction aims at


def usable(value: object) -> int | None:
    """Return a provider's capacity in whole tokens, or None for what is no real finite number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = int(value) if isinstance(value, Integral) else math.floor(float(value))
    except Exception:  # noqa: BLE001  # infinity, NaN, and whatever a foreign number raises
        return None
    return number if number >= 1 else None


def configured_window(model: str | None, explicit: int | None) -> int:
    """Return the owner's window: the explicit one, else the model's registered one, else 128,000."""
    return explicit if explicit is not None else _registered(model) or DEFAULT_WINDOW


def effective_window(
    *,
    configured: int,
    explicit: bool,
    owner_model: str | None,
    request_model: str | None = None,
    provider: object = None,
) -> int:
    """Return the window that counts for one request; it never changes the owner's.

    Args:
        configured: The owner's window, see ``configured_window``.
        explicit: Whether the host gave it: then it stays an upper bound.
        owner_model: The owner's model.
        request_model: The model that the request names.
        provider: The capacity that the provider says it has; ignored unless ``usable``.

    Returns:
        The configured window where nothing else is known; otherwise the provider's number, else the request
        model's registered window, else the configured one, below an explicit one.
    """
    capacity = usable(provider)
    if capacity is None:
        if request_model is None or request_model == owner_model:
            return configured
        capacity = _registered(request_model) or configured
    return min(configured, capacity) if explicit else capacity


def over_critical(used: int, capacity: int, critical: float) -> bool:
    """Whether content of ``used`` tokens is over the critical share of its capacity, strictly."""
    return used / capacity > critical if capacity > 0 else used > 0


def reclaim_target(used: int, capacity: int, *, threshold: float, critical: float) -> int:
    """Return how many tokens a strategy is asked to free.

    Down to a tenth below the lower of the strategy's threshold and the critical one: of 900 tokens, 585 stay
    for a threshold of 0.75, 540 for 0.70 and 720 for 0.95 under a critical threshold of 0.9.
    """
    # Rounded, and with a hair added: the difference of two floats must not cost a token.
    share = max(0.0, round(min(threshold - RECLAIM_MARGIN, critical - RECLAIM_MARGIN), 9))
    return max(0, used - math.floor(capacity * share + 1e-9))


@lru_cache(maxsize=256)
def _registered(model: str | None) -> int | None:
    if not isinstance(model, str):
        return None
    try:
        return find_model(model).context_window
    except InvalidInputError:
        return None

"""The strategies by name. The built-in ones are registered on first use and cannot be removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, overload

from playground.errors import InvalidInputError
from playground.preparation.algorithmic import AlgorithmicStrategy
from playground.preparation.default_strategy import DefaultStrategy
from playground.preparation.ports import CompactionStrategy
from playground.values import shown

__all__ = ["StrategyInfo", "StrategyRegistry", "strategy_registry"]

StrategyClass = Callable[..., CompactionStrategy]
"""A class of strategies, or a function that makes one; called without arguments it makes one that works."""


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """What is known of a strategy.

    Attributes:
        name: What the registry calls it.
        display_name: What people call it.
        description: What it does, in one line.
        threshold: The share that sets how far it reclaims, unless it is configured otherwise.
        is_built_in: Whether it comes with the package.
    """

    name: str
    display_name: str
    description: str
    threshold: float
    is_built_in: bool


class StrategyRegistry:
    """Classes of strategies by name, in the order of their registration."""

    def __init__(self) -> None:
        self._classes: dict[str, tuple[StrategyClass, StrategyInfo]] = {}
        self._has_built_ins = False

    def register(self, strategy: StrategyClass, built_in: bool = False) -> None:
        """Add a class of strategies; what is known of it is read from an instance that is thrown away.

        Raises:
            InvalidInputError: When its name is taken, or what it makes is no strategy.
        """
        self._add_built_ins()
        self._add(strategy, built_in=built_in)

    def get(self, name: str) -> StrategyClass:
        """Return the class of a strategy.

        Raises:
            InvalidInputError: When there is none of this name; names those that there are.
        """
        return self._entry(name)[0]

    def get_if_exists(self, name: str) -> StrategyClass | None:
        """Return the class of a strategy, None if there is none of this name."""
        self._add_built_ins()
        found = self._classes.get(name) if isinstance(name, str) else None
        return None if found is None else found[0]

    def create(self, name: str, **settings: Any) -> CompactionStrategy:
        """Return a new strategy.

        Raises:
            InvalidInputError: When there is none of this name; names those that there are.
        """
        return self.get(name)(**settings)

    def list(self) -> tuple[str, ...]:
        """Return the names."""
        self._add_built_ins()
        return tuple(self._classes)

    @overload
    def get_info(self, name: str) -> StrategyInfo: ...

    @overload
    def get_info(self, name: None = None) -> tuple[StrategyInfo, ...]: ...

    def get_info(self, name: str | None = None) -> StrategyInfo | tuple[StrategyInfo, ...]:
        """Return what is known of a strategy, or of all of them.

        Raises:
            InvalidInputError: When there is none of this name; names those that there are.
        """
        if name is not None:
            return self._entry(name)[1]
        self._add_built_ins()
        return tuple([info for _, info in self._classes.values()])

    def remove(self, name: str) -> bool:
        """Forget a strategy; whether there was one.

        Raises:
            InvalidInputError: When it is built in.
        """
        self._add_built_ins()
        found = self._classes.get(name) if isinstance(name, str) else None
        if found is None:
            return False
        if found[1].is_built_in:
            raise InvalidInputError(
                f"Cannot remove built-in strategy {name}.", remedy="Configure another one instead."
            )
        del self._classes[name]
        return True

    def _entry(self, name: str) -> tuple[StrategyClass, StrategyInfo]:
        self._add_built_ins()
        found = self._classes.get(name) if isinstance(name, str) else None
        if found is None:
            raise InvalidInputError(
                f"Compaction strategy {shown(name)} not found.", remedy=f"There are {', '.join(self._classes)}."
            )
        return found

    def _add(self, strategy: StrategyClass, *, built_in: bool) -> None:
        info = _info(strategy() if callable(strategy) else strategy, built_in=built_in)
        if info.name in self._classes:
            raise InvalidInputError(
                f"A compaction strategy called {info.name} is already registered.",
                remedy="Give each strategy a name of its own.",
            )
        self._classes[info.name] = (strategy, info)

    def _add_built_ins(self) -> None:
        if not self._has_built_ins:
            self._has_built_ins = True
            for strategy in (DefaultStrategy, AlgorithmicStrategy):
                self._add(strategy, built_in=True)


@lru_cache(maxsize=1)
def strategy_registry() -> StrategyRegistry:
    """Return the registry that contexts look names up in; there is one a process."""
    return StrategyRegistry()


def _info(made: Any, *, built_in: bool) -> StrategyInfo:
    name, threshold = getattr(made, "name", None), getattr(made, "threshold", None)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"A strategy has the name {shown(name)}.", remedy="Give it a name.")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InvalidInputError(
            f"The threshold of the strategy {name} is {shown(threshold)}.", remedy="Give a share from 0 to 1."
        )
    for method in ("compact", "consolidate"):
        if not callable(getattr(made, method, None)):
            raise InvalidInputError(f"The strategy {name} lacks {method}.", remedy="Give it that method.")
    return StrategyInfo(
        name=name,
        display_name=str(getattr(made, "display_name", None) or name),
        description=str(getattr(made, "description", None) or ""),
        threshold=threshold,
        is_built_in=built_in,
    )

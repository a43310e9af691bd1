"""One number a kind, read like a mapping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from playground.compiler.values import KINDS, Kind
from playground.values import RecordedValue

__all__ = ["PerKind"]

Number = TypeVar("Number", int, float)


class PerKind(RecordedValue, Generic[Number]):
    """Base of values with one field a kind: frozen and hashable, and equal to a mapping with the same items."""

    def __getitem__(self, kind: Kind) -> Number:
        if kind not in KINDS:
            raise KeyError(kind)
        number: Number = getattr(self, kind)
        return number

    def keys(self) -> tuple[Kind, ...]:
        """Return the kinds, in their fixed order."""
        return KINDS

    def values(self) -> tuple[Number, ...]:
        """Return the numbers in the order of ``keys``."""
        return tuple(self[kind] for kind in KINDS)

    def items(self) -> Iterator[tuple[Kind, Number]]:
        """Yield kind and number in the order of ``keys``."""
        return ((kind, self[kind]) for kind in KINDS)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return dict(self.items()) == dict(other)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.values()))

"""Finding a free id where the wanted one is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["FreeNames"]


class FreeNames:
    """Ids that are taken.

    Args:
        taken: Those that are taken from the start.
        key: Two ids of one key count as the same.
    """

    def __init__(self, taken: Iterable[str] = (), *, key: Callable[[str], str] = str) -> None:
        self._key = key
        self._taken = set(map(key, taken))
        self._numbers: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return ``wanted``, or ``wanted~2`` and so on where it is taken. O(1) on average, however often."""
        found, number = wanted, self._numbers.get(wanted, 1)
        while self._key(found) in self._taken:
            number += 1
            found = f"{wanted}~{number}"
        self._numbers[wanted] = number
        self._taken.add(self._key(found))
        return found

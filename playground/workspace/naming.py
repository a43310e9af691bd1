"""Names of projects and ids in them: which are allowed, and finding one that is free."""

from __future__ import annotations

import re
from collections.abc import Iterable

from playground.errors import ProjectError
from playground.values import shown

__all__ = ["FreeNames", "checked_name"]

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def checked_name(name: str) -> str:
    """Return a project's name as it is: it stands in links and names a folder, so it can lead nowhere else.

    Raises:
        ProjectError: When it is not 1 to 64 small letters, digits and hyphens, a hyphen not the first.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ProjectError(
            f"{shown(name)} cannot be the name of a project.",
            remedy="Use 1 to 64 small letters, digits and hyphens, and begin with a letter or a digit.",
            project=str(name)[:80],
        )
    return name


class FreeNames:
    """Ids that are taken; finds another one for each that is. O(1) on average, however often one repeats."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return ``wanted``, or ``wanted~2`` and so on where it is taken."""
        found, number = wanted, self._numbers.get(wanted, 1)
        while found in self._taken:
            number += 1
            found = f"{wanted}~{number}"
        self._numbers[wanted] = number
        self._taken.add(found)
        return found

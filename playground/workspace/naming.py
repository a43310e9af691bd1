"""Names of projects: which are allowed."""

from __future__ import annotations

import re

from playground.errors import ProjectError
from playground.values import shown

__all__ = ["checked_name"]

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

"""Where a user's data are kept, and what can be computed again: XDG's folders, or those below the home."""

from __future__ import annotations

import os
from pathlib import Path

from playground.errors import InvalidRequestError

__all__ = ["user_folder"]


def user_folder(variable: str, usual: str) -> Path:
    """Return the absolute path that a variable of the environment names, else one below the user's home.

    A path that is not absolute counts as none: it would be another folder wherever a program is started.

    Args:
        variable: ``XDG_DATA_HOME``, for example.
        usual: The path below the home.

    Raises:
        InvalidRequestError: When there is neither, as for a user of a container whom its system does not know.

    References:
        XDG Base Directory Specification 0.8.
    """
    given = Path(os.environ.get(variable, ""))
    if given.is_absolute():
        return given
    try:
        return Path.home() / usual
    except RuntimeError:
        raise InvalidRequestError(
            "This user has no home folder.", remedy=f"Set HOME, or {variable} to the full path of a folder."
        ) from None

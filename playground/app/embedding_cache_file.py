"""The file that keeps vectors between runs, in the user's cache folder: its place, its size, clearing it."""

from __future__ import annotations

import os
from pathlib import Path

from playground.errors import PlaygroundError

__all__ = ["cache_path", "cache_size", "clear_cache", "shown_path"]


def cache_path() -> Path:
    """Return the file that keeps vectors between runs, in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "context-playground" / "vectors.sqlite"


def shown_path() -> str:
    """Return that path as people read it, with ``~`` for the home folder."""
    path = cache_path()
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        return str(path)


def cache_size() -> int:
    """Return its bytes on disk, 0 when there is none."""
    return sum(part.stat().st_size for part in _parts() if part.is_file())


def clear_cache() -> None:
    """Delete the file with what was set aside of it; vectors that are in a project stay there.

    Raises:
        PlaygroundError: When it cannot be deleted.
    """
    try:
        for part in _parts():
            part.unlink(missing_ok=True)
    except OSError as error:
        raise PlaygroundError(
            f"The vector cache cannot be deleted ({type(error).__name__}).",
            remedy=f"Close other programs that use it, or delete {shown_path()} by hand.",
        ) from error


def _parts() -> list[Path]:
    path = cache_path()
    names = [path.name, f"{path.name}.damaged"]
    return [path.with_name(name + suffix) for name in names for suffix in ("", "-wal", "-shm")]

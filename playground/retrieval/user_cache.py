"""The file that keeps vectors between runs, in the user's cache folder: its place, its size, clearing it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from playground.errors import InvalidRequestError, PlaygroundError
from playground.retrieval.embedding_cache import EmbeddingCache
from playground.retrieval.vector_file import cache_parts, remove
from playground.user_folders import user_folder

__all__ = ["cache_path", "cache_size", "clear_cache", "forget_cached", "shown_path"]


def cache_path() -> Path:
    """Return the file that keeps vectors between runs, in the user's cache folder.

    Raises:
        InvalidRequestError: When the user has no such folder; see ``user_folder``.
    """
    return user_folder("XDG_CACHE_HOME", ".cache") / "context-playground" / "vectors.sqlite"


def shown_path() -> str:
    """Return that path as people read it, with ``~`` for the home folder; the file's name where none can be."""
    try:
        path = cache_path()
    except InvalidRequestError:
        return "vectors.sqlite"
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        return str(path)


def cache_size() -> int:
    """Return its bytes on disk, 0 when there is none, or none that can be read."""
    try:
        return sum(part.stat().st_size for part in cache_parts(cache_path()))
    except InvalidRequestError:  # no folder, no cache
        return 0
    except OSError:  # a folder in its place, no right to read, or another process has just deleted it
        return 0


def forget_cached(keys: Collection[bytes]) -> None:
    """Erase the vectors under these keys, where there are any keys; see ``EmbeddingCache.forget``.

    Raises:
        PlaygroundError: When the file cannot be written now.
    """
    if keys:
        with closing(EmbeddingCache(cache_path())) as cache:
            cache.forget(keys)


def clear_cache() -> None:
    """Delete the cache with what was set aside of it; foreign files and vectors that are in a project stay.

    Raises:
        PlaygroundError: When it cannot be deleted.
    """
    try:
        remove(cache_path())
    except OSError as error:
        raise PlaygroundError(
            f"The vector cache cannot be deleted ({type(error).__name__}).",
            remedy=f"Close other programs that use it, or delete {shown_path()} by hand.",
        ) from error

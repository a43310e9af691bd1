"""Caches of what is made of projects' texts, all of which can be emptied at once.

What somebody wants forgotten must not live on in this process. Every function of the app that keeps something
made of a project is cached by ``material_cache``, and ``drop_material`` empties them all, in every session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import streamlit as st

from playground.workspace import Project

__all__ = ["drop_material", "material_cache"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_emptying: Final[list[Callable[[], None]]] = []


def material_cache(
    max_entries: int, *, show_spinner: bool | str = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that caches a function for all sessions until material is dropped.

    A project among the arguments is recognised by what it holds: an edited one is another.

    Args:
        max_entries: How many results are kept, the least recently used first to go.
        show_spinner: What the page says meanwhile; nothing by default.
    """

    def cached(function: Callable[_P, _R]) -> Callable[_P, _R]:
        made = st.cache_resource(max_entries=max_entries, show_spinner=show_spinner, hash_funcs=_KEYS)(function)
        _emptying.append(made.clear)
        return made

    return cached


def drop_material() -> None:
    """Let go of everything that this process made of projects; it is made again when it is next asked for."""
    for empty in _emptying:
        empty()


def _content(project: Project) -> str:
    return project.digest


_KEYS: Final[dict[str | type[Any], Callable[[Any], Any]]] = {Project: _content}

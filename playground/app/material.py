"""Changing the material of a project: the one way in which every page does it."""

from __future__ import annotations

from collections.abc import Callable

from playground.app.projects import library, load_project
from playground.app.shelf import keep
from playground.workspace import Project
from playground.workspace.samples import is_sample

__all__ = ["change_project"]


def change_project(name: str, change: Callable[[Project], Project]) -> Project:
    """Change a project and return what became of it.

    An own project is changed on disk, where nobody else's change is lost; a sample for this session alone.

    Args:
        name: The project.
        change: Gives the changed project; what it raises leaves the project as it was. It gets the project as
            it is now, which may be newer than the one that the page was drawn from. Others wait meanwhile, so
            it should only put together what was computed before.

    Raises:
        PlaygroundError: What ``change`` raised, and when the project cannot be read or written.
    """
    if not is_sample(name):
        return library().change(name, change)
    before = load_project(name)
    after = change(before)
    if after is not before:
        keep(after)
    return after

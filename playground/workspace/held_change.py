"""Changing a project as it is on the disk now, for who keeps every other program from it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playground.errors import InvalidInputError
from playground.workspace.loading import load_project
from playground.workspace.project import Project
from playground.workspace.saving import write_held

__all__ = ["change_held"]


def change_held(path: Path, change: Callable[[Project], Project]) -> Project:
    """Write what ``change`` makes of a project in a folder that the caller holds; see ``held``.

    Nothing is written when it returns the very project that it was given.

    Raises:
        InvalidInputError: When the new project knows less of what was forgotten than the old one.
        ProjectError: When the project is damaged, or a record cannot be written without loss.
        OSError: When the disk refuses; the folder is what it was.
    """
    before = load_project(path)
    after = change(before)
    if lost := {stone.id for stone in before.forgotten} - {stone.id for stone in after.forgotten}:
        raise InvalidInputError(
            f"The change would lose that memories were forgotten: {len(lost):,} of them.",
            remedy="Change the project that is passed in, not one that was loaded before.",
        )
    return before if after is before else write_held(path, after)

"""Which project an argument of the command line names, and changing it where it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from playground.errors import ProjectError
from playground.terminal import print_error

if TYPE_CHECKING:
    from playground.workspace import Project

__all__ = ["Place", "find_project", "new_folder", "print_warnings"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a project lies.

    Attributes:
        given: What the person wrote; what they write to name it again.
        folder: Its folder.
        read_only: Whether it is a sample.
    """

    given: str
    folder: Path
    read_only: bool = False

    def load(self) -> Project:
        """Read the project and say on the error stream what was odd about its files."""
        from playground.workspace import load_project  # noqa: PLC0415  # brings NumPy

        project = load_project(self.folder)
        print_warnings(project)
        return project

    def change(self, change: Callable[[Project], Project]) -> Project:
        """Write what ``change`` makes of the project as it is now."""
        from playground.workspace import load_project, save_project  # noqa: PLC0415  # brings NumPy

        changed = change(load_project(self.folder))
        save_project(changed, self.folder)
        return changed


def find_project(name: str) -> Place:
    """Return where a project lies: a sample by its name, else a folder.

    Raises:
        ProjectError: When the name is no possible path.
    """
    from playground.workspace.samples import is_sample, sample_folder  # noqa: PLC0415  # brings NumPy

    if is_sample(name):
        return Place(name, sample_folder(name), read_only=True)
    if "\0" in name:
        raise ProjectError("A path cannot hold a NUL character.", remedy="Correct the path.", project="")
    return Place(name, Path(name).expanduser().absolute())


def new_folder(path: Path) -> Path:
    """Return a folder that is to be written, if nothing is there yet.

    Raises:
        ProjectError: When there is something, so that nothing is replaced.
    """
    folder = path.expanduser().absolute()
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ProjectError(
            f"{path.name!r} is there already.", remedy="Give a new or an empty folder.", project=path.name
        )
    return folder


def print_warnings(project: Project) -> None:
    """Say on the error stream what was odd about a project's files."""
    for odd in project.warnings:
        print_error(f"Warning: {project.name}: {odd}")

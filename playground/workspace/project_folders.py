"""The folders of a library: which are projects, what people are told of one, and what the disk refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playground.errors import PlaygroundError, ProjectError
from playground.workspace.files import ProjectFolder
from playground.workspace.folder_exchange import read_folder

__all__ = ["ProjectSummary", "faults_told", "is_project", "summary_of"]


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """What people are told of a project before it is opened.

    Attributes:
        name: By which it is loaded.
        title: What people see; the name where it cannot be read.
        description: One or two sentences.
        problem: Why it cannot be opened, with the remedy; empty when nothing is known to be wrong.
    """

    name: str
    title: str
    description: str = ""
    problem: str = ""


def is_project(path: Path) -> bool:
    """Say whether a project lies there; a link is none, it leads to somebody else's folder."""
    try:
        return not path.is_symlink() and (path / "project.json").is_file()
    except PermissionError:
        return True  # opening it tells what is wrong


def summary_of(path: Path) -> ProjectSummary:
    """Return what people are told of a project; only its ``project.json`` is read."""
    name = path.name
    try:
        head = read_folder(path, lambda: ProjectFolder(path).json("project.json", dict, dict))
    except PlaygroundError as error:
        return ProjectSummary(name, name, problem=str(error))
    except OSError as error:
        return ProjectSummary(name, name, problem=f"It cannot be read: {error.strerror}. Check its rights.")
    title, description = (head.get(field) for field in ("title", "description"))
    return ProjectSummary(
        name,
        title if isinstance(title, str) and title else name,
        description if isinstance(description, str) else "",
    )


@contextmanager
def faults_told(name: str, done: str) -> Iterator[None]:
    """Raise what the disk refuses as an error about the project.

    Args:
        name: The project; empty for the whole library.
        done: What was being done with it, as in "cannot be read".

    Raises:
        ProjectError: For every ``OSError``.
    """
    try:
        yield
    except OSError as error:
        which = f"The project {name!r}" if name else "The folder of the projects"
        raise ProjectError(
            f"{which} cannot be {done}: {error.strerror or type(error).__name__}.",
            remedy="Check free space and rights, and try again.",
            project=name,
        ) from error

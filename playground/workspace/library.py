"""The user's own projects on disk: one folder each, changed by several programs at once without loss."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playground.errors import PlaygroundError, ProjectError
from playground.workspace.files import ProjectFolder
from playground.workspace.folder_exchange import (
    folder_stamp,
    held,
    interrupted,
    read_folder,
    remove_folder,
    tidy,
)
from playground.workspace.loading import load_project
from playground.workspace.naming import NAME, checked_name
from playground.workspace.project import Project
from playground.workspace.samples import is_sample
from playground.workspace.saving import write_held

__all__ = ["ProjectLibrary", "ProjectSummary", "default_library"]

Change = Callable[[Project], Project]


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


class ProjectLibrary:
    """Own projects in the folders of one directory.

    Names are 1 to 64 small letters, digits and hyphens, never a sample's. Every change is on the disk when a
    method returns. Programs and threads that change one project take turns; whoever loads gets a whole project.
    A crash leaves the old or the new one, and what it leaves besides is removed when the library is next used.

    Args:
        root: The directory; it is made when the first project is.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser().absolute()

    def names(self) -> tuple[str, ...]:
        """Return the names of all projects, sorted.

        Raises:
            ProjectError: When the directory cannot be read.
        """
        with _told("", "read"):
            if not self.root.exists():
                return ()
            # A project that a crash took away is put back, and one that was half removed goes.
            for name in filter(NAME.fullmatch, interrupted(self.root)):
                tidy(self.root / name)
            found = sorted(path.name for path in self.root.iterdir() if NAME.fullmatch(path.name))
            return tuple(name for name in found if _is_project(self.root / name))

    def summaries(self) -> tuple[ProjectSummary, ...]:
        """Return what people are told of each project, by name; one that is damaged says so.

        Raises:
            ProjectError: When the directory cannot be read.
        """
        return tuple(map(self._summary, self.names()))

    def load(self, name: str) -> Project:
        """Read a project; see ``load_project``.

        Raises:
            ProjectError: When there is none of this name, or it is damaged.
        """
        path = self._path(name)
        with _told(name, "read"):
            if self.root.is_dir():
                tidy(path)
            self._check_there(path, or_soon=True)
        return load_project(path)

    def stamp(self, name: str) -> Hashable:
        """Return a value that changes when a project is exchanged, or a file of it is edited; for caches.

        ``None`` when there is no such project. It costs one look at the folder; nothing is read.

        Raises:
            ProjectError: When the folder cannot be read.
        """
        path = self._path(name)
        with _told(name, "read"):
            folder = folder_stamp(path)
            if folder is None:
                return None
            with os.scandir(path) as entries:
                states = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
            return folder, tuple(sorted((file, state.st_mtime_ns, state.st_size) for file, state in states))

    def create(self, name: str, project: Project) -> Project:
        """Write a new project and return it as it is loaded.

        Args:
            name: A free name; the title may be anything.
            project: What is written, from wherever it came.

        Raises:
            ProjectError: When the name is taken or not allowed, a record cannot be written without loss, or the
                disk refuses.
        """
        path = self._path(name)
        if is_sample(name):
            raise ProjectError(
                f"{name} is the name of a sample project.", remedy="Choose another name.", project=name
            )
        with _told(name, "written"), held(path):
            if path.exists():
                raise ProjectError(
                    f"There is a project {name!r} already.", remedy="Choose another name.", project=name
                )
            return write_held(path, project)

    def change(self, name: str, change: Change) -> Project:
        """Change a project as it is now on the disk, and return what it has become.

        Args:
            name: A project of this library.
            change: Makes the new project of the old one. It runs while all others wait, so it must be quick and
                must not use the library. When it returns the very project that it was given, nothing is
                written; what it raises is raised, and nothing is written either.

        Raises:
            ProjectError: When there is no such project, another program keeps changing it, a record cannot be
                written without loss, or the disk refuses.
        """
        path = self._path(name)
        with _told(name, "written"), self._held(path):
            before = load_project(path)
            after = change(before)
            return before if after is before else write_held(path, after)

    def delete(self, name: str) -> None:
        """Remove a project with everything in its folder.

        Raises:
            ProjectError: When there is no such project, or the disk refuses.
        """
        path = self._path(name)
        with _told(name, "removed"), self._held(path):
            remove_folder(path)

    def _path(self, name: str) -> Path:
        return self.root / checked_name(name)

    @contextmanager
    def _held(self, path: Path) -> Iterator[None]:
        """Hold a project that is there; no directory is made for one that is not."""
        self._check_there(path, or_soon=True)
        with held(path):
            self._check_there(path)
            yield

    def _check_there(self, path: Path, *, or_soon: bool = False) -> None:
        """Refuse what is no project; ``or_soon`` takes one that is being exchanged at this moment."""
        if _is_project(path) or (or_soon and self.root.is_dir() and path.name in interrupted(self.root)):
            return
        raise ProjectError(
            f"There is no project {path.name!r}.",
            remedy=f"Choose one of {', '.join(self.names()) or 'the samples: no other is there yet'}.",
            project=path.name,
        )

    def _summary(self, name: str) -> ProjectSummary:
        path = self.root / name
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


def default_library() -> ProjectLibrary:
    """Return the library in the user's data folder, as the XDG base directories name it."""
    root = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return ProjectLibrary(Path(root) / "context-playground" / "projects")


def _is_project(path: Path) -> bool:
    """Say whether a project lies there; a link is none, it leads to somebody else's folder."""
    try:
        return not path.is_symlink() and (path / "project.json").is_file()
    except PermissionError:
        return True  # opening it tells what is wrong


@contextmanager
def _told(name: str, done: str) -> Iterator[None]:
    """Raise what the disk refuses as an error about the project."""
    try:
        yield
    except OSError as error:
        which = f"The project {name!r}" if name else "The folder of the projects"
        raise ProjectError(
            f"{which} cannot be {done}: {error.strerror or type(error).__name__}.",
            remedy="Check free space and rights, and try again.",
            project=name,
        ) from error

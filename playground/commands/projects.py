"""Which project an argument of the command line names, and changing it where it lies.

A name is a sample's, else one of the user's own projects; anything else is a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playground.errors import ProjectError
from playground.terminal import print_error
from playground.values import shown

if TYPE_CHECKING:
    from playground.workspace import Project
    from playground.workspace.memories import Forgetting

__all__ = ["Place", "find_project", "new_folder", "new_project", "print_warnings"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a project lies, or will lie.

    Attributes:
        given: What the person wrote; what they write to name it again.
        folder: Its folder.
        kind: A sample, which is read-only; one of the user's own projects; or any other folder.
        new: Whether nothing is there yet.
    """

    given: str
    folder: Path
    kind: Literal["sample", "own", "folder"]
    new: bool = False

    @property
    def read_only(self) -> bool:
        """Whether nothing may be written there."""
        return self.kind == "sample"

    def load(self) -> Project:
        """Read the project and say on the error stream what was odd about its files."""
        from playground.workspace import load_project  # noqa: PLC0415  # brings NumPy
        from playground.workspace.library import default_library  # noqa: PLC0415

        if self.kind == "folder":
            self._finish_forgetting()
        own = self.kind == "own"
        project = default_library().load(self.given) if own else load_project(self.folder)
        print_warnings(project)
        return project

    def change(self, change: Callable[[Project], Project]) -> Project:
        """Write what ``change`` makes of the project as it is now; nobody else's change is lost.

        Nothing is written when it returns the very project that it was given.

        Raises:
            InvalidInputError: When the new project knows less of what was forgotten than the old one.
            ProjectError: When it cannot be read or written.
        """
        from playground.workspace.folder_exchange import held  # noqa: PLC0415  # brings NumPy
        from playground.workspace.held_change import change_held  # noqa: PLC0415
        from playground.workspace.library import default_library  # noqa: PLC0415
        from playground.workspace.project_folders import faults_told  # noqa: PLC0415

        if self.kind == "own":
            return default_library().change(self.given, change)
        with faults_told(self.folder.name, "written"), held(self.folder):
            return change_held(self.folder, change)

    def create(self, project: Project) -> Project:
        """Write a project where nothing is yet.

        Raises:
            ProjectError: When something is there now, or it cannot be written.
        """
        from playground.workspace import save_project  # noqa: PLC0415  # brings NumPy
        from playground.workspace.library import default_library  # noqa: PLC0415

        if self.kind == "own":
            return default_library().create(self.given, project)
        save_project(project, new_folder(self.folder))
        return project

    def forget(self, record_ids: Iterable[str], *, now: int) -> Forgetting:
        """Forget memories here, in what is kept in the folder, and in the user's vector cache.

        Raises:
            ProjectError: When the project cannot be read or written.
        """
        from playground.retrieval.embedding_cache import EmbeddingCache  # noqa: PLC0415  # brings NumPy
        from playground.retrieval.user_cache import cache_path  # noqa: PLC0415
        from playground.workspace.folder_exchange import held  # noqa: PLC0415
        from playground.workspace.forgetting import forget_everywhere  # noqa: PLC0415
        from playground.workspace.library import default_library  # noqa: PLC0415
        from playground.workspace.project_folders import faults_told  # noqa: PLC0415

        if self.kind == "own":
            return default_library().forget(self.given, record_ids, now=now)
        with (
            faults_told(self.folder.name, "written"),
            held(self.folder),
            closing(EmbeddingCache(cache_path())) as cache,
        ):
            return forget_everywhere(self.folder, record_ids, now=now, cache=cache)

    def _finish_forgetting(self) -> None:
        """Go on with a forget that was cut off, as the library does for own projects."""
        from playground.workspace.forgetting import is_unfinished  # noqa: PLC0415  # brings NumPy

        if is_unfinished(self.folder, has_cache=True):
            self.forget((), now=0)  # nothing new is forgotten, so that no time is written


def find_project(name: str) -> Place:
    """Return where a project lies.

    Raises:
        ProjectError: When it is neither the name of a project nor the folder of one.
    """
    from playground.workspace import load_project  # noqa: PLC0415  # brings NumPy

    found = _known(name)
    if found is not None:
        return found
    if _is_path(name) or _folder(name).is_dir():
        load_project(_folder(name))  # says what it lacks, unless it was being exchanged when it was looked at
        return Place(name, _folder(name), "folder")
    raise ProjectError(
        f"There is no project {shown(name)}.",
        remedy=f"Choose one of {', '.join(_names())}, or give the folder of a project.",
        project=name[:80],
    )


def new_project(name: str) -> Place:
    """Return where a project lies, or where one of this name is to be made.

    Raises:
        ProjectError: When it is no possible name, or a folder that holds something else.
    """
    from playground.workspace.library import default_library  # noqa: PLC0415  # brings NumPy
    from playground.workspace.naming import checked_name  # noqa: PLC0415

    found = _known(name)
    if found is not None:
        return found
    if _is_path(name):
        return Place(name, new_folder(name), "folder", new=True)
    try:
        checked_name(name)
    except ProjectError as error:
        raise ProjectError(
            error.problem, remedy=f"{error.remedy} A folder is written like ./folder.", project=name[:80]
        ) from None
    return Place(name, default_library().root / name, "own", new=True)


def new_folder(path: str | Path) -> Path:
    """Return a folder that is to be written, if nothing is there yet.

    Raises:
        ProjectError: When there is something, so that nothing is replaced.
    """
    folder = _folder(str(path))
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ProjectError(
            f"{folder.name or str(folder)!r} is there already.",
            remedy="Give a new or an empty folder.",
            project=folder.name,
        )
    return folder


def print_warnings(project: Project) -> None:
    """Say on the error stream what was odd about a project's files."""
    for odd in project.warnings:
        print_error(f"Warning: {project.name}: {odd}")


def _known(name: str) -> Place | None:
    from playground.workspace.library import default_library  # noqa: PLC0415  # brings NumPy
    from playground.workspace.samples import is_sample, sample_folder  # noqa: PLC0415

    if is_sample(name):
        return Place(name, sample_folder(name), "sample")
    library = default_library()
    if name in library.names():
        return Place(name, library.root / name, "own")
    folder = _folder(name)
    return Place(name, folder, "folder") if (folder / "project.json").is_file() else None


def _folder(name: str) -> Path:
    if not name.strip() or "\0" in name:
        raise ProjectError(f"{shown(name)} is no path.", remedy="Name a project or its folder.", project="")
    try:
        # Not a link to the folder: that would be exchanged, and the folder would keep what is forgotten.
        folder = Path(name).expanduser().resolve()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            folder.lstat()
    except (OSError, RuntimeError, ValueError) as error:  # too long, of nobody's home, or links in a circle
        raise ProjectError(
            f"{shown(name)} is no path: {getattr(error, 'strerror', None) or error}.",
            remedy="Name a project or its folder.",
            project=name[:80],
        ) from None
    return folder


def _is_path(name: str) -> bool:
    separators = {os.sep, os.altsep or os.sep, "/"}
    return name.startswith((".", "~")) or any(separator in name for separator in separators)


def _names() -> list[str]:
    from playground.workspace import sample_projects  # noqa: PLC0415  # brings NumPy
    from playground.workspace.library import default_library  # noqa: PLC0415

    return [*default_library().names(), *sample_projects()]

"""The user's own projects on disk: one folder each, changed by several programs at once without loss."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playground.errors import InvalidRequestError, ProjectError
from playground.retrieval.embedding_cache import EmbeddingCache
from playground.retrieval.user_cache import cache_path
from playground.user_folders import user_folder
from playground.workspace.folder_exchange import (
    folder_stamp,
    held,
    interrupted,
    is_away,
    read_folder,
    remove_folder,
    tidy,
)
from playground.workspace.forgetting import finish_forgetting, forget_everywhere, is_unfinished
from playground.workspace.held_change import change_held
from playground.workspace.kept_exports import KeptExport, drop_export, keep_export, kept_exports, read_export
from playground.workspace.loading import load_project
from playground.workspace.memories import Forgetting
from playground.workspace.naming import NAME, checked_name
from playground.workspace.project import Project
from playground.workspace.project_folders import ProjectSummary, faults_told, is_project, summary_of
from playground.workspace.samples import is_sample
from playground.workspace.saving import write_held

__all__ = ["KeptExport", "ProjectLibrary", "ProjectSummary", "default_library"]

Change = Callable[[Project], Project]
_logger = logging.getLogger(__name__)


class ProjectLibrary:
    """Own projects in the folders of one directory.

    Names are 1 to 64 small letters, digits and hyphens, never a sample's. Every change is on the disk when a
    method returns. Programs and threads that change one project take turns; whoever loads gets a whole project.
    A crash leaves the old or the new one, and what it leaves besides is removed when the library is next used.

    Args:
        root: The directory; it is made when the first project is.
        open_cache: Opens the cache that holds vectors of the projects' texts, so that a forget that was cut off
            can be gone on with there too.
    """

    def __init__(self, root: str | Path, *, open_cache: Callable[[], EmbeddingCache] | None = None) -> None:
        self.root = Path(root).expanduser().absolute()
        self._open_cache = open_cache

    def names(self) -> tuple[str, ...]:
        """Return the names of all projects, sorted.

        Raises:
            ProjectError: When the directory cannot be read.
        """
        with faults_told("", "read"):
            if not self.root.exists():
                return ()
            # A project that a crash took away is put back, and one that was half removed goes.
            for name in filter(NAME.fullmatch, interrupted(self.root)):
                tidy(self.root / name)
            found = {path.name for path in self.root.iterdir()} | interrupted(self.root)
            return tuple(sorted(name for name in filter(NAME.fullmatch, found) if self._is_there(name)))

    def summaries(self) -> tuple[ProjectSummary, ...]:
        """Return what people are told of each project, by name; one that is damaged says so.

        Raises:
            ProjectError: When the directory cannot be read.
        """
        return tuple(summary_of(self.root / name) for name in self.names())

    def load(self, name: str) -> Project:
        """Read a project; see ``load_project``. A forget in it that was cut off is gone on with first.

        Raises:
            ProjectError: When there is none of this name, or it is damaged.
        """
        path = self._path(name)
        with faults_told(name, "read"):
            if self.root.is_dir():
                tidy(path)
            self._check_there(path, or_soon=True)
            self._finish_forgetting(path)
        return load_project(path)

    def stamp(self, name: str) -> Hashable:
        """Return a value that changes when a project is exchanged, or a file of it is edited; for caches.

        ``None`` when there is no such project. It costs one look at the folder; nothing is read.

        Raises:
            ProjectError: When the folder cannot be read.
        """
        path = self._path(name)
        with faults_told(name, "read"):
            try:
                return read_folder(path, lambda: _stamp(path))
            except FileNotFoundError:
                return None

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
        with faults_told(name, "written"), held(path):
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
            InvalidInputError: When the new project knows less of what was forgotten than the one passed in.
            ProjectError: When there is no such project, another program keeps changing it, a record cannot be
                written without loss, or the disk refuses.
        """
        path = self._path(name)
        with faults_told(name, "written"), self._held(path):
            return change_held(path, change)

    def delete(self, name: str) -> None:
        """Remove a project with everything in its folder.

        A forget in it that was cut off is gone on with first, because the cache may still hold its vectors.

        Raises:
            ProjectError: When there is no such project, or the disk refuses.
        """
        path = self._path(name)
        with faults_told(name, "removed"):
            self._check_there(path, or_soon=True)
            try:
                self._finish_forgetting(path)
            except ProjectError as error:  # what is damaged can be removed all the same
                _logger.warning("A forget in the project %s cannot be finished: %s", name, error)
            with self._held(path):
                remove_folder(path)

    def forget(
        self, name: str, record_ids: Iterable[str], *, now: int, cache: EmbeddingCache | None = None
    ) -> Forgetting:
        """Erase memories from a project, its exports and the vector cache. Idempotent.

        When this returns, neither a text of any revision, nor its digest, nor its vector is in the project's
        folder, in archives and packages that were kept there, or in the cache, unless ``left`` or ``pending``
        of the outcome says so. A text that another memory, a document, a chat or a skill of the project has
        stays theirs, with its vector. The order of the steps, and what a crash between them leaves, is told in
        ``playground.workspace.forgetting``: the next ``load`` or ``forget`` goes on. Copies outside the folder
        and the cache are out of reach.

        Args:
            name: A project of this library.
            record_ids: Unknown ones are no error.
            now: When they are forgotten, in ms.
            cache: What holds their vectors, too; the library's own by default.

        Raises:
            ProjectError: When there is no such project, it is damaged, another program keeps changing it, or
                the disk refuses; after the first step the memories are hidden all the same.
        """
        path = self._path(name)
        with faults_told(name, "written"), self._held(path), self._cache(cache) as vectors:
            return forget_everywhere(path, record_ids, now=now, cache=vectors)

    def keep_export(self, name: str, file_name: str, data: bytes) -> KeptExport:
        """Keep a file beside a project; one of the same name is replaced.

        Args:
            name: A project of this library.
            file_name: Letters, digits, blanks, ``.``, ``_`` and ``-``, with an ending that says what it is:
                zip, npz, json, jsonl, md, txt, csv, html or xml. ``forget`` could not look into others.
            data: Its content. Memories that were forgotten meanwhile are taken out of it.

        Raises:
            ProjectError: When there is no such project, the name is not allowed, the file is a damaged archive,
                or the disk refuses.
        """
        path = self._path(name)
        with faults_told(name, "written"), self._held(path):
            return keep_export(path, file_name, data)

    def exports(self, name: str) -> tuple[KeptExport, ...]:
        """Return what is told of each file that was kept beside a project, by name.

        Raises:
            ProjectError: When there is no such project, or it cannot be read.
        """
        path = self._path(name)
        with faults_told(name, "read"):
            self._check_there(path, or_soon=True)
            return read_folder(path, lambda: kept_exports(path))

    def read_export(self, name: str, file_name: str) -> bytes:
        """Return the content of a file that was kept beside a project.

        Raises:
            ProjectError: When there is no such project or file, or it cannot be read.
        """
        path = self._path(name)
        with faults_told(name, "read"):
            self._check_there(path, or_soon=True)
            return read_folder(path, lambda: read_export(path, file_name))

    def drop_export(self, name: str, file_name: str) -> None:
        """Remove a file that was kept beside a project.

        Raises:
            ProjectError: When there is no such project or file, or the disk refuses.
        """
        path = self._path(name)
        with faults_told(name, "written"), self._held(path):
            drop_export(path, file_name)

    def _path(self, name: str) -> Path:
        return self.root / checked_name(name)

    @contextmanager
    def _held(self, path: Path) -> Iterator[None]:
        """Hold a project that is there; no directory is made for one that is not."""
        self._check_there(path, or_soon=True)
        with held(path):
            self._check_there(path)
            yield

    def _is_there(self, name: str) -> bool:
        path = self.root / name
        # Asked twice, because an exchange may end between the other two.
        return is_project(path) or is_away(path) or is_project(path)

    def _check_there(self, path: Path, *, or_soon: bool = False) -> None:
        """Refuse what is no project; ``or_soon`` takes one that is being exchanged at this moment."""
        if is_project(path) or (or_soon and self.root.is_dir() and path.name in interrupted(self.root)):
            return
        raise ProjectError(
            f"There is no project {path.name!r}.",
            remedy=f"Choose one of {', '.join(self.names()) or 'the samples: no other is there yet'}.",
            project=path.name,
        )

    def _finish_forgetting(self, path: Path) -> None:
        has_cache = self._open_cache is not None
        if not read_folder(path, lambda: is_unfinished(path, has_cache=has_cache)):
            return
        try:
            with self._held(path), self._cache(None) as cache:
                if is_unfinished(path, has_cache=has_cache):
                    finish_forgetting(path, cache)
        except OSError as error:  # readers do not see the memories, and need no right to write
            _logger.warning("A forget in the project %s cannot be finished now: %s.", path.name, error)

    @contextmanager
    def _cache(self, cache: EmbeddingCache | None) -> Iterator[EmbeddingCache | None]:
        if cache is not None or self._open_cache is None:
            yield cache
            return
        opened = self._open_cache()
        try:
            yield opened
        finally:
            opened.close()


def _stamp(path: Path) -> Hashable:
    with os.scandir(path) as entries:
        states = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    files = tuple(sorted((file, state.st_mtime_ns, state.st_size) for file, state in states))
    return folder_stamp(path), files


def default_library() -> ProjectLibrary:
    """Return the library in the user's data folder, XDG_DATA_HOME, that knows the user's vector cache.

    Raises:
        ProjectError: When the user has no such folder; see ``user_folder``.
    """
    try:
        folder = user_folder("XDG_DATA_HOME", ".local/share")
    except InvalidRequestError as error:
        raise ProjectError(error.problem, remedy=error.remedy, project="") from error
    root = folder / "context-playground" / "projects"
    return ProjectLibrary(root, open_cache=lambda: EmbeddingCache(cache_path()))

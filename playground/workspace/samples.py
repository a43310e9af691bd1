"""The projects that come with the package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from playground.errors import ProjectError
from playground.workspace.files import ProjectFolder

if TYPE_CHECKING:
    from playground.workspace.project import Project

__all__ = [
    "SampleSummary",
    "is_sample",
    "load_sample",
    "sample_folder",
    "sample_projects",
    "sample_summaries",
]

FIRST_SAMPLE = "bank-support"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """What people are told of a sample before it is opened.

    Attributes:
        name: Its folder's name, by which it is loaded.
        title: What people see.
        description: One or two sentences.
    """

    name: str
    title: str
    description: str


def sample_projects() -> tuple[str, ...]:
    """Return the names of the sample projects, the one that opens first in front."""
    root = _root()
    names = [path.parent.name for path in root.glob("*/project.json")] if root else []
    return tuple(sorted(names, key=lambda name: (name != FIRST_SAMPLE, name)))


def sample_summaries() -> tuple[SampleSummary, ...]:
    """Return name, title and description of each sample, in the order of ``sample_projects``.

    Reads nothing but their ``project.json``.

    Raises:
        ProjectError: When one of these is damaged.
    """
    return tuple(map(_summary, sample_projects()))


def is_sample(name: str) -> bool:
    """Whether a sample project has this name; a path never does."""
    return bool(_NAME.fullmatch(name)) and name in sample_projects()


def sample_folder(name: str) -> Path:
    """Return a sample project's folder.

    Raises:
        ProjectError: When there is no such sample; the name is never used as a path.
    """
    root = _root()
    if root is None or not is_sample(name):
        raise ProjectError(
            f"There is no sample project {name[:80]!r}.",
            remedy=f"Choose one of {', '.join(sample_projects()) or 'none: the package is incomplete'}.",
            project=name[:80],
        )
    return root / name


def load_sample(name: str) -> Project:
    """Load a sample project by its name only; for names from links, which must never be used as a path.

    Raises:
        ProjectError: When there is no such sample.
    """
    from playground.workspace.loading import load_project  # noqa: PLC0415  # loading knows samples by name

    return load_project(sample_folder(name))


def _summary(name: str) -> SampleSummary:
    folder = ProjectFolder(sample_folder(name))
    head = folder.json("project.json", dict, dict)
    title, description = head.get("title", ""), head.get("description", "")
    if not isinstance(title, str) or not isinstance(description, str):
        raise folder.error("project.json has a title or description that is no string.")
    return SampleSummary(name, title or name, description)


def _root() -> Path | None:
    # Installed, they lie inside the package; in a checkout, beside it.
    for folder in (_PACKAGE / "sample_data", _PACKAGE.parent / "sample_data"):
        if folder.is_dir():
            return folder
    return None

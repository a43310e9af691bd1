"""The projects that come with the package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from playground.errors import ProjectError

if TYPE_CHECKING:
    from playground.workspace.project import Project

__all__ = ["is_sample", "load_sample", "sample_folder", "sample_projects"]

FIRST_SAMPLE = "bank-support"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PACKAGE = Path(__file__).resolve().parent.parent


def sample_projects() -> tuple[str, ...]:
    """Return the names of the sample projects, the one that opens first in front."""
    root = _root()
    names = [path.parent.name for path in root.glob("*/project.json")] if root else []
    return tuple(sorted(names, key=lambda name: (name != FIRST_SAMPLE, name)))


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


def _root() -> Path | None:
    # Installed, they lie inside the package; in a checkout, beside it.
    for folder in (_PACKAGE / "sample_data", _PACKAGE.parent / "sample_data"):
        if folder.is_dir():
            return folder
    return None

"""The resources of skills, wherever they lie, and whether two skills are the same with all of them."""

from __future__ import annotations

from pathlib import Path

from playground.sources import Skill
from playground.workspace.folder_files import files_under

__all__ = ["resources_of", "same_skill"]

_OF_TEXT = ("id", "name", "description", "body", "license", "allowed_tools")


def resources_of(skill: Skill) -> dict[str, Path | bytes]:
    """Return the file or the content of each resource, by its path within the skill's folder.

    What is held in memory wins over a file of the same path, as it does when the skill is written. Links are
    left out.

    Raises:
        OSError: When a folder cannot be read.
    """
    found: dict[str, Path | bytes] = {}
    if skill.folder is not None and skill.folder.is_dir():
        for path in files_under(skill.folder):
            if path != skill.folder / "SKILL.md":
                found[path.relative_to(skill.folder).as_posix()] = path
    return found | dict(skill.resources)


def same_skill(one: Skill, other: Skill) -> bool:
    """Whether two skills say the same and have the same resources, wherever these lie. O(bytes).

    Where a file cannot be read they count as different: who writes the skill is told what is wrong.
    """
    if any(getattr(one, name) != getattr(other, name) for name in _OF_TEXT):
        return False
    try:
        ours, theirs = resources_of(one), resources_of(other)
        return ours.keys() == theirs.keys() and all(
            _content(ours[path]) == _content(theirs[path]) for path in ours
        )
    except OSError:
        return False


def _content(resource: Path | bytes) -> bytes:
    return resource if isinstance(resource, bytes) else resource.read_bytes()

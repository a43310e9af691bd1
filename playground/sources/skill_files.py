"""The skills of a run by id: read from folders with a SKILL.md, or made of records that hold the same."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from playground.errors import DocumentError, InvalidInputError
from playground.sources.skill_text import REPLACED, Skill, parse_skill, skill_of_record

__all__ = ["RESOURCE_BYTES", "SKILL_BYTES", "SKILL_FILE", "SkillRegistry", "read_skill"]

SKILL_FILE = "SKILL.md"
SKILL_BYTES = 1_000_000  # largest SKILL.md; a body must fit a model call
RESOURCE_BYTES = 10_000_000  # largest resource that is read


class SkillRegistry:
    """Skills by id.

    Args:
        skills: Later ones with a taken id get a number behind it and an issue that says so.
        problems: Files that could not be read.
    """

    def __init__(self, skills: Iterable[Skill] = (), *, problems: Iterable[DocumentError] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        self._numbers: dict[str, int] = {}
        for skill in skills:
            renamed = self._renamed(skill)
            self._skills[renamed.id] = renamed
        self.problems = tuple(problems)

    @classmethod
    def from_folder(cls, folder: str | Path) -> SkillRegistry:
        """Read every ``<skill>/SKILL.md`` under ``folder``, in name order.

        A file that cannot be read, is too large or leads outside the folder through a link is listed in
        ``problems``; the others load.

        Raises:
            InvalidInputError: When there is no such folder.
        """
        root = Path(folder)
        if not root.is_dir():
            raise InvalidInputError(f"There is no folder {root.name!r}.", remedy="Give a folder with skills.")
        skills, problems = [], []
        for path in sorted(root.glob(f"*/{SKILL_FILE}")):
            try:
                skills.append(read_skill(path.parent))
            except DocumentError as error:
                problems.append(error)
        return cls(skills, problems=problems)

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> SkillRegistry:
        """Make skills of dictionaries with name, description, body and optionally id, license, allowed_tools.

        Raises:
            InvalidInputError: When name, description or body is not a string.
        """
        return cls(map(skill_of_record, records))

    def list(self) -> tuple[Skill, ...]:
        """Return all skills by id."""
        return tuple(skill for _, skill in sorted(self._skills.items()))

    def get(self, skill_id: str) -> Skill | None:
        """Return a skill, or None."""
        return self._skills.get(skill_id)

    def trigger(self, skill_id: str) -> str:
        """Return a skill's body: what the load_skill tool answers.

        Raises:
            InvalidInputError: When there is no such skill.
        """
        return self._known(skill_id).body

    def read_resource(self, skill_id: str, path: str) -> bytes:
        """Return a file of a skill's folder.

        Raises:
            InvalidInputError: When the skill has no such file, the path leads outside its folder (upwards,
                absolute, or through a link), or the file is larger than 10 MB.
        """
        skill = self._known(skill_id)
        held = dict(skill.resources).get(posixpath.normpath(path))
        if held is not None:
            return held
        folder = skill.folder
        found = None if folder is None else _inside(folder, path)
        if found is None:
            raise InvalidInputError(
                f"Skill {skill_id!r} has no resource {path[:200]!r}.",
                remedy="Give a path of a file inside the skill's folder.",
            )
        if found.stat().st_size > RESOURCE_BYTES:
            raise InvalidInputError(
                f"The resource {path[:200]!r} has {found.stat().st_size:,} bytes.",
                remedy=f"Keep resources under {RESOURCE_BYTES:,} bytes.",
            )
        return found.read_bytes()

    def _known(self, skill_id: str) -> Skill:
        skill = self._skills.get(skill_id)
        if skill is None:
            raise InvalidInputError(
                f"There is no skill {skill_id[:80]!r}.", remedy="Use an id of the catalogue."
            )
        return skill

    def _renamed(self, skill: Skill) -> Skill:
        if skill.id not in self._skills:
            return skill
        number = self._numbers.get(skill.id, 2)
        while f"{skill.id}-{number}" in self._skills:
            number += 1
        self._numbers[skill.id] = number + 1
        issue = f"The id {skill.id!r} is taken; this one is called {skill.id}-{number}."
        return replace(skill, id=f"{skill.id}-{number}", issues=(*skill.issues, issue))


def read_skill(folder: Path) -> Skill:
    """Read the skill of one folder.

    Raises:
        DocumentError: When its SKILL.md cannot be read, is too large, or is a link that leads out of the folder
            above.
    """
    path, root = folder / SKILL_FILE, folder.parent
    name = f"{path.parent.name}/{SKILL_FILE}".encode("utf-8", "replace").decode()
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            raise DocumentError(
                f"{name} is a link that leads outside the folder.", remedy="Copy the file.", name=name
            )
        if not path.is_file():  # a pipe could be read for ever
            raise DocumentError(f"{name} is no regular file.", remedy="Put a text file there.", name=name)
        if path.stat().st_size > SKILL_BYTES:
            raise DocumentError(
                f"{name} has {path.stat().st_size:,} bytes.",
                remedy=f"Keep it under {SKILL_BYTES:,} bytes and move the rest into resources.",
                name=name,
            )
        with path.open("rb") as file:
            data = file.read(SKILL_BYTES + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        reason = error.strerror if isinstance(error, OSError) else "links lead in a circle"
        raise DocumentError(
            f"{name} cannot be read ({reason}).", remedy="Check its permissions.", name=name
        ) from None
    text = data.decode("utf-8-sig", errors="replace")
    skill = parse_skill(text, id=path.parent.name, folder=path.parent)
    if "\ufffd" in text and REPLACED not in skill.issues:
        return replace(skill, issues=(REPLACED, *skill.issues))
    return skill


def _inside(folder: Path, path: str) -> Path | None:
    """Return the file that ``path`` names inside ``folder``, links followed; None when it is elsewhere."""
    try:
        root = folder.resolve()
        found = (root / path).resolve()
        return found if found.is_relative_to(root) and found.is_file() else None
    except (OSError, ValueError):  # names that no file can have: too long, or with a NUL
        return None

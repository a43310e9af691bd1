"""Skills: folders with a SKILL.md, or records that hold the same.

A SKILL.md is front matter (name, description, and optionally license and allowed-tools) between two ``---``
lines, then the body. The rules for names and descriptions are advisory: what breaks them is listed as issues
and still loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playground.errors import DocumentError, InvalidInputError

__all__ = ["Skill", "SkillRegistry", "parse_skill"]

SKILL_FILE = "SKILL.md"
SKILL_BYTES = 1_000_000  # largest SKILL.md; a body must fit a model call
REPLACED = "Bytes that are not UTF-8, NUL or lone surrogates were replaced by U+FFFD."
RESOURCE_BYTES = 10_000_000  # largest resource that is read
FRONT_MATTER_CHARACTERS = 32_000  # largest front matter; a description has a thousand
DESCRIPTION_CHARACTERS = 1_024

_NAME = re.compile("[a-z0-9-]{1,64}")
_VENDOR = re.compile("anthropic|claude|openai|gemini", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Between commas and blanks, which inside brackets belong to the tool: Bash(git log:*).
_TOOL = re.compile(r"(?:\([^()]*\)|[^,\s])+")
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        id: Unique in a registry; the folder's name.
        name: Shown in the catalogue.
        description: What it is for; a model decides by it.
        body: The instructions, given only after the model loads the skill.
        license: As stated.
        allowed_tools: As stated.
        issues: Advisory rules it breaks, as sentences.
        folder: Where its resources are, if it has any.
    """

    id: str
    name: str
    description: str
    body: str = field(repr=False)
    license: str | None = None
    allowed_tools: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    folder: Path | None = None


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
                skills.append(_read_skill(path, root))
            except DocumentError as error:
                problems.append(error)
        return cls(skills, problems=problems)

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> SkillRegistry:
        """Make skills of dictionaries with name, description, body and optionally id, license, allowed_tools.

        Raises:
            InvalidInputError: When name, description or body is not a string.
        """
        return cls(map(_skill_of_record, records))

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
        folder = self._known(skill_id).folder
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


def parse_skill(text: str, *, id: str, folder: Path | None = None) -> Skill:  # noqa: A002  # the skill's own word
    """Read the text of a SKILL.md. Never raises: whatever is wrong becomes an issue.

    Without front matter the whole text is the body. Front matter that is no valid YAML, an unquoted colon in
    the description for example, is read line by line. Its values are text as it stands: a date, a number or
    ``yes`` is no more than these characters. NUL and lone surrogates are replaced by U+FFFD.
    """
    issues: list[str] = []
    text = _storable(text, issues)
    found = _FRONT_MATTER.match(text)
    fields: Mapping[str, Any] = {}
    if found is None:
        issues.append("It has no front matter.")
    elif len(found[1]) > FRONT_MATTER_CHARACTERS:
        issues.append(
            f"Its front matter has {len(found[1]):,} characters, above {FRONT_MATTER_CHARACTERS:,}; "
            "it was not read."
        )
    else:
        fields = _front_matter(found[1], issues)
    tools = fields.get("allowed-tools", fields.get("allowed_tools"))
    license_name = fields.get("license")
    known_id = _storable(id, issues)
    skill = Skill(
        id=known_id,
        name=_storable(_text(fields.get("name")), issues) or known_id,
        description=_storable(_text(fields.get("description")), issues),
        body=text if found is None else found[2],
        license=None if license_name is None else _storable(_text(license_name), issues),
        allowed_tools=tuple(_storable(tool, issues) for tool in _tools(tools)),
        folder=folder,
    )
    return replace(skill, issues=(*dict.fromkeys(issues), *_broken_rules(skill)))


def _read_skill(path: Path, root: Path) -> Skill:
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


def _skill_of_record(record: Mapping[str, Any]) -> Skill:
    texts = {name: record.get(name) for name in ("name", "description", "body")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise InvalidInputError(
                f"A skill's {name} is a {type(value).__name__}.", remedy="Give name, description and body."
            )
    skill = Skill(
        id=str(record.get("id") or texts["name"]),
        name=str(texts["name"]),
        description=str(texts["description"]),
        body=str(texts["body"]),
        license=record.get("license", record.get("licence")),
        allowed_tools=_tools(record.get("allowed_tools", record.get("allowed-tools"))),
    )
    return replace(skill, issues=_broken_rules(skill))


def _front_matter(text: str, issues: list[str]) -> Mapping[str, Any]:
    import yaml  # noqa: PLC0415  # only those who load skills need it

    try:
        # Knows text, lists and mappings only and makes nothing of them: safe, and quick for any scalar.
        fields = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except Exception:  # noqa: BLE001  # hostile text makes a parser fail in any way; then lines are read
        issues.append("Its front matter is no valid YAML; it was read line by line.")
        lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
        return {line[1]: line[2].strip("\"'") for line in lines if line is not None}
    if isinstance(fields, Mapping):
        return fields
    issues.append("Its front matter holds no fields.")
    return {}


def _broken_rules(skill: Skill) -> tuple[str, ...]:
    issues = []
    if not _NAME.fullmatch(skill.name):
        issues.append("The name is not 1 to 64 lower-case letters, digits and hyphens.")
    if _VENDOR.search(skill.name):
        issues.append("The name holds a vendor's name.")
    if not 1 <= len(skill.description) <= DESCRIPTION_CHARACTERS:
        issues.append(f"The description has {len(skill.description):,} characters, not 1 to 1,024.")
    if re.search("[<>]", skill.description):
        issues.append("The description holds angle brackets.")
    return tuple(issues)


def _text(value: Any) -> str:
    # Only scalars: the text of nested YAML aliases can be exponentially long. Only the blanks that YAML itself
    # leaves at the ends of block scalars are dropped.
    return value.strip(" \t\r\n") if isinstance(value, str) else ""


def _tools(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(_TOOL.findall(value))
    return tuple(filter(None, map(_text, value))) if isinstance(value, list | tuple) else ()


def _storable(text: str, issues: list[str]) -> str:
    """Replace what no file and no store takes; an issue says so."""
    clean, count = _UNSTORABLE.subn("\ufffd", text)
    if count:
        issues.append(REPLACED)
    return clean

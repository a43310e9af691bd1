"""Skills: what they are, and reading one from the text of its SKILL.md or from a record that holds the same.

A SKILL.md is front matter (name, description, and optionally license and allowed-tools) between two ``---``
lines, then the body. The rules for names and descriptions are advisory: what breaks them is listed as issues
and still loads. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playground.errors import InvalidInputError

__all__ = ["REPLACED", "Skill", "parse_skill", "skill_of_record"]

REPLACED = "Bytes that are not UTF-8, NUL or lone surrogates were replaced by U+FFFD."
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
        folder: Where its resources are, if it has any on the disk.
        resources: Those that are held in memory: path within the skill's folder, and content, by path.
    """

    id: str
    name: str
    description: str
    body: str = field(repr=False)
    license: str | None = None
    allowed_tools: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    folder: Path | None = None
    resources: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)


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


def skill_of_record(record: Mapping[str, Any]) -> Skill:
    """Make a skill of a dictionary with name, description, body and optionally id, license, allowed_tools.

    Raises:
        InvalidInputError: When name, description or body is not a string.
    """
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

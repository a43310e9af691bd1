"""One memory as a Markdown file: front matter, then the newest text. Pure."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.memory.records import MemoryRecord, MemoryRevision
from playground.scope import MemoryScope
from playground.values import shown

__all__ = ["file_name", "from_markdown", "to_markdown"]

FRONT_MATTER_CHARACTERS = 256_000  # the parser takes a second for as many
NAME_LENGTH = 80  # characters of an id that a file is named by
_VERSION = "1"
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_LOOKS_DIGESTED = re.compile(r".*-[0-9a-f]{12}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|readme|index)")  # Windows' devices, and what folders hold
_FRONT_MATTER = re.compile(r"\ufeff?---\r?\n(.*?)^---\r?\n(?:\r?\n)?(.*)", re.DOTALL | re.MULTILINE)
_OWN_FIELDS = {"version", "id", "scope"}


class _PlainLoader(yaml.BaseLoader):
    """Knows text, lists and mappings only, each written where it stands."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            # A few lines of them stand for gigabytes.
            raise yaml.MarkedYAMLError(problem="an alias stands in it")
        return super().compose_node(parent, index)


class _ExactDumper(yaml.SafeDumper):
    """Writes texts so that they are read back as they were."""


def _exact(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Only between double quotes are all line breaks escaped, U+0085 and U+2028 among them.
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_ExactDumper.add_representer(str, _exact)


def file_name(record_id: str) -> str:
    """Return the name of a record's file.

    Ids of small letters, digits, ``_`` and ``-`` name their file as they are. Others lose all else and get a
    digest behind, so that ``a/b``, ``a_b`` and ``A_b`` have three files in any file system.
    """
    plain = _PLAIN.fullmatch(record_id) and not _LOOKS_DIGESTED.fullmatch(record_id)
    if plain and not _RESERVED.fullmatch(record_id):
        return f"{record_id}.md"
    safe = re.sub("[^a-z0-9_-]+", "_", record_id.lower())[:NAME_LENGTH]
    digest = hashlib.sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{safe}-{digest}.md"


def to_markdown(record: MemoryRecord) -> str:
    """Return the newest revision of a record as Markdown; earlier ones and the embedding are left out.

    Raises:
        InvalidInputError: When there is too much front matter, of very many sources for example.
    """
    hidden = {"text", "digest", "embedding"}
    fields = record.latest.model_dump(by_alias=True, exclude_none=True, exclude=hidden)
    fields["sources"] = list(fields["sources"])
    scope = record.scope.model_dump(by_alias=True, exclude_none=True)
    front = {"version": int(_VERSION), "id": record.id, "scope": scope, **fields}
    text = yaml.dump(front, Dumper=_ExactDumper, allow_unicode=True, sort_keys=False, width=math.inf)
    if len(text) > FRONT_MATTER_CHARACTERS:
        raise InvalidInputError(
            f"The memory {shown(record.id)} has {len(text):,} characters beside its text, "
            f"above {FRONT_MATTER_CHARACTERS:,}.",
            remedy="Export it as JSONL.",
        )
    return f"---\n{text}---\n\n{record.latest.text}\n"


def from_markdown(content: str) -> tuple[str, MemoryScope, MemoryRevision]:
    """Return id, scope and newest revision of a file. The text may have been edited: its digest is made anew.

    Raises:
        InvalidInputError: When there is no front matter, or it is malformed.
    """
    found = _FRONT_MATTER.fullmatch(content)
    if found is None:
        raise InvalidInputError("it does not begin with front matter between two lines of ---")
    front = _front_matter(found[1])
    if front.get("version") != _VERSION:
        raise InvalidInputError(f"its version is {shown(front.get('version'))}, not {_VERSION}")
    text = found[2].removesuffix("\n")
    fields = {name: value for name, value in front.items() if name not in _OWN_FIELDS}
    if "sources" in fields:
        fields["sources"] = [_source(source) for source in fields["sources"]]
    revision = MemoryRevision.parse({**fields, "text": text, "digest": text_digest(text)})
    scope = MemoryScope.parse(front.get("scope") or {})
    record_id = front.get("id")
    if not isinstance(record_id, str):
        raise InvalidInputError("it has no id")
    return record_id, scope, revision


def _front_matter(text: str) -> Mapping[str, Any]:
    if len(text) > FRONT_MATTER_CHARACTERS:
        raise InvalidInputError(f"its front matter has {len(text):,} characters")
    try:
        front = yaml.load(text, Loader=_PlainLoader)  # noqa: S506  # makes nothing but text of what it reads
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "it is malformed"
        raise InvalidInputError(f"its front matter is no YAML: {problem}") from None
    if not isinstance(front, Mapping):
        raise InvalidInputError("its front matter holds no fields")
    return front


def _source(source: Any) -> Any:
    # The one number that is not read of text, because a model's own JSON must not pass for one.
    if isinstance(source, Mapping) and re.fullmatch(r"\d{1,16}", str(source.get("step", ""))):
        return {**source, "step": int(source["step"])}
    return source

"""What people are told about a record: a title, where it is from, which part of it this is.

Pure. Labels are plain untrusted text, like the records themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from playground.memory import MemoryRecord
from playground.retrieval.chunking import Chunk
from playground.sources import ChatRecord, Skill

__all__ = ["RecordLabel", "chat_label", "chunk_label", "memory_label", "skill_label"]


@dataclass(frozen=True, slots=True)
class RecordLabel:
    """A record in words.

    Attributes:
        title: One line; empty where the text is its own title.
        origin: The document, chat or source it comes from.
        part: Which part of it, for example ``part 2``.
    """

    title: str = ""
    origin: str = ""
    part: str = ""


def memory_label(record: MemoryRecord) -> RecordLabel:
    """Say how a memory became known, who vouches for it and when it was written down."""
    revision = record.latest
    kinds = sorted({source.kind for source in revision.sources})
    vouched = f"{revision.origin} by {' and '.join(kinds)}" if kinds else revision.origin
    parts = [vouched, _day(revision.recorded_at)]
    if revision.revision > 1:
        parts.append(f"revision {revision.revision}")
    return RecordLabel(origin=", ".join(part for part in parts if part))


def chunk_label(chunk: Chunk) -> RecordLabel:
    """Give the document's title and id, and which of its parts this is."""
    numbered = f"part {chunk.meta['part']}" if chunk.meta.get("parts", 1) > 1 else ""
    return RecordLabel(chunk.meta.get("title", ""), chunk.meta.get("document", ""), numbered)


def chat_label(record_id: str, chats: Mapping[str, ChatRecord], titles: Mapping[str, str]) -> RecordLabel:
    """Give the chat's title or id, and who spoke in which of its messages."""
    chat_id, _, number = record_id.rpartition("#")
    chat = chats.get(chat_id)
    part = ""
    if chat is not None and number.isdecimal() and int(number) < len(chat.messages):
        role = chat.messages[int(number)].role
        part = f"{role} message {int(number) + 1}"
    return RecordLabel(origin=titles.get(chat_id) or chat_id, part=part)


def skill_label(record_id: str, skills: Mapping[str, Skill]) -> RecordLabel:
    """Give the skill's name, and whether this is its catalogue line or its loaded body."""
    level, _, skill_id = record_id.partition("/")
    skill = skills.get(skill_id)
    origin = {"catalog": "skill catalogue", "body": "loaded skill"}.get(level, "")
    return RecordLabel(skill.name if skill else skill_id, origin)


def _day(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC).date().isoformat() if time_ms > 0 else ""
    except (OverflowError, OSError, ValueError):
        return ""

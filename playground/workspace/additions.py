"""Adding material to a project: each addition gives a new project value under a new digest.

Pure, but for a look at the files that skills bring. The project it started from stays as it is, so that nothing
that was loaded can be lost by adding to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision
from playground.retrieval.archives import folded_path
from playground.retrieval.documents import Document
from playground.retrieval.free_names import FreeNames
from playground.sources import ChatRecord, Skill
from playground.workspace.changing import changed
from playground.workspace.memory_files import MemoryLoad, load_memories
from playground.workspace.project import Project
from playground.workspace.records import memory_from_json
from playground.workspace.skill_resources import same_skill
from playground.workspace.vectors import VectorTable

__all__ = [
    "Addition",
    "MemoryLoad",
    "load_memories",
    "with_chats",
    "with_documents",
    "with_memories",
    "with_skills",
    "with_vectors",
    "without_chats",
    "without_documents",
    "without_skills",
]

Change = Literal["added", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class Addition:
    """A project after something was added to it.

    Attributes:
        project: The new project.
        added: How many items are new.
        replaced: How many replace the text of an item with the same id.
        unchanged: How many were there already.
        forgotten: Ids of memories that were forgotten before, and so were not brought back.
    """

    project: Project
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    forgotten: tuple[str, ...] = ()


def with_documents(project: Project, documents: Sequence[Document]) -> Addition:
    """Cut documents as the project says and add them; one with a known id replaces the older text.

    Chunks of other documents keep their numbers. A document without an id gets one of its text's digest.
    """
    documents = [document if document.id else _named(document) for document in documents]
    present = {document.id: document for document in project.documents}
    changes: list[Change] = [_change(present.get(document.id), document) for document in documents]
    corpus = project.corpus.with_documents(documents, project.chunking.chunker)
    return _addition(changed(project, corpus=corpus), changes)


def without_documents(project: Project, ids: Iterable[str]) -> Project:
    """Take documents out of a project with their chunks; all others keep their numbers, ever after.

    Unknown ids are no error. Vectors stay: a text that comes back needs no embedding.
    """
    return changed(project, corpus=project.corpus.without(ids))


def with_memories(project: Project, entries: Sequence[Mapping[str, Any]], *, now: int) -> Addition:
    """Add memories; one with a known id and another text becomes that memory's next revision.

    An id that a memory of another scope has, or had before it was forgotten, is not known: the entry becomes a
    new memory under another id. An id that was forgotten in this scope stays forgotten: the entry is left out
    and reported.

    Args:
        project: Its scope becomes the scope of the memories.
        entries: As ``load_memories`` gives them.
        now: When they are written down, in ms, where an entry does not say.

    Raises:
        InvalidInputError: When an entry is malformed.
    """
    records = {record.id: record for record in project.memories}
    stones = {stone.id: stone.scope for stone in project.forgotten}
    names = FreeNames([*records, *stones])
    changes: list[Change] = []
    forgotten: dict[str, None] = {}
    for entry in entries:
        own = {"recordedAt": now, "origin": "imported", **entry}
        own.pop("scope", None)
        fresh = memory_from_json(own, project.scope)
        if stones.get(fresh.id) == project.scope:
            forgotten[fresh.id] = None
            continue
        known = records.get(fresh.id)
        if fresh.id in stones or (known is not None and known.scope != project.scope):
            fresh, known = fresh.model_copy(update={"id": names.take(fresh.id)}), None
        changes.append(_change(known and known.latest.text, fresh.latest.text))
        if known is None:
            records[fresh.id] = fresh
        elif changes[-1] == "replaced":
            records[fresh.id] = _revised(known, fresh.latest)
    return _addition(changed(project, memories=tuple(records.values())), changes, tuple(forgotten))


def with_chats(
    project: Project, chats: Sequence[ChatRecord], titles: Mapping[str, str] | None = None
) -> Addition:
    """Add past chats; one with a known id takes the place of the older one.

    Args:
        project: Its scope becomes the scope of the chats: a file never chooses whose chat it is.
        chats: In any order.
        titles: What people see of a chat, by chat id.

    An id that a chat of another scope has is not known: the chat becomes a new one under another id.
    """
    present = {chat.chat_id: chat for chat in project.chats}
    shown_as = dict(project.chat_titles)
    names = FreeNames(present)
    changes: list[Change] = []
    for chat in chats:
        fresh = replace(chat, scope=project.scope)
        known = present.get(fresh.chat_id)
        if known is not None and known.scope != project.scope:
            fresh, known = replace(fresh, chat_id=names.take(fresh.chat_id)), None
        title = (titles or {}).get(chat.chat_id) or shown_as.get(fresh.chat_id, "")
        before = None if known is None else (known, shown_as.get(known.chat_id, ""))
        changes.append(_change(before, (fresh, title)))
        present[fresh.chat_id] = fresh
        if title:
            shown_as[fresh.chat_id] = title
    return _addition(changed(project, chats=tuple(present.values()), chat_titles=shown_as), changes)


def without_chats(project: Project, ids: Iterable[str]) -> Project:
    """Take past chats out of a project; unknown ids are no error."""
    gone = frozenset(ids)
    return changed(
        project,
        chats=tuple(chat for chat in project.chats if chat.chat_id not in gone),
        chat_titles={name: title for name, title in project.chat_titles.items() if name not in gone},
    )


def with_skills(project: Project, skills: Sequence[Skill]) -> Addition:
    """Add skills; one with a known id takes the place of the older one, its resources included.

    One that says the same and has the same resources is there already, wherever these lie.

    Args:
        project: What they are added to.
        skills: Those with a folder bring the files in it as resources: they are copied when the project is
            saved, so the folder must stay until then.
    """
    # Ids name folders, which on some disks know no case.
    present = {folded_path(skill.id): skill for skill in project.skills}
    changes: list[Change] = []
    for skill in skills:
        known = present.get(folded_path(skill.id))
        if known is not None and same_skill(known, skill):
            changes.append("unchanged")
            continue
        changes.append("added" if known is None else "replaced")
        present[folded_path(skill.id)] = skill
    ordered = sorted(present.values(), key=lambda skill: skill.id)
    return _addition(changed(project, skills=tuple(ordered)), changes)


def without_skills(project: Project, ids: Iterable[str]) -> Project:
    """Take skills out of a project; unknown ids are no error."""
    gone = frozenset(ids)
    return changed(project, skills=tuple(skill for skill in project.skills if skill.id not in gone))


def with_vectors(project: Project, vectors: VectorTable) -> Project:
    """Give a project vectors; those of another model take the place of what it had."""
    return changed(project, vectors=vectors)


def _named(document: Document) -> Document:
    identifier = f"untitled-{text_digest(document.text).removeprefix('sha256:')[:12]}"
    return replace(document, id=identifier, title=document.title or identifier)


def _change(known: object, fresh: object) -> Change:
    if known is None:
        return "added"
    return "unchanged" if known == fresh else "replaced"


def _revised(known: MemoryRecord, fresh: MemoryRevision) -> MemoryRecord:
    following = fresh.model_copy(update={"revision": known.latest.revision + 1})
    return known.model_copy(update={"revisions": (*known.revisions, following)})


def _addition(project: Project, changes: Sequence[Change], forgotten: tuple[str, ...] = ()) -> Addition:
    return Addition(
        project,
        added=changes.count("added"),
        replaced=changes.count("replaced"),
        unchanged=changes.count("unchanged"),
        forgotten=forgotten,
    )

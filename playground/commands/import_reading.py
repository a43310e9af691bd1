"""Reading what ``playground import`` found, and adding it to a project in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.commands.import_files import Found, contents
from playground.commands.import_history import Recorded
from playground.errors import DocumentError, InvalidInputError
from playground.memory.markdown_file import from_markdown
from playground.retrieval.decoding import decode
from playground.retrieval.documents import Document, LoadWarning, load_documents
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill, SkillRegistry
from playground.sources.chat_files import load_chats
from playground.sources.skill_archives import load_skills
from playground.sources.skill_files import read_skill
from playground.workspace import Project
from playground.workspace.additions import (
    Addition,
    load_memories,
    with_chats,
    with_documents,
    with_memories,
    with_skills,
)
from playground.workspace.recorded_memories import with_records

__all__ = ["Material", "Outcome", "read_material"]

_HIDDEN = {"revision", "digest", "embedding", "embedding_model_id"}


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that was read."""

    recorded: Recorded
    documents: tuple[Document, ...] = ()
    entries: tuple[Mapping[str, Any], ...] = ()
    chats: tuple[ChatRecord, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    skills: tuple[Skill, ...] = ()
    warnings: tuple[LoadWarning, ...] = ()
    errors: tuple[DocumentError, ...] = ()

    def add_to(self, project: Project, *, now: int) -> Outcome:
        """Add all of this to a project."""
        done: dict[str, list[Addition]] = {}
        errors: list[DocumentError] = []

        def joined(kind: str, addition: Addition) -> None:
            nonlocal project
            project = addition.project
            done.setdefault(kind, []).append(addition)

        if self.documents:
            joined("documents", with_documents(project, self.documents))
        if self.entries:
            joined("memories", with_memories(project, self.entries, now=now))
        for records, edited_at in ((self.recorded.records, None), (self.recorded.edited, now)):
            if records:
                addition, refused = with_records(project, records, edited_at=edited_at)
                joined("memories", addition)
                errors += refused
        if self.chats:
            joined("chats", with_chats(project, self.chats, self.titles))
        if self.skills:
            joined("skills", with_skills(project, self.skills))
        return Outcome(project, done, tuple(errors))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of material.

    Attributes:
        project: The project with it.
        additions: What joined, by kind.
        errors: One for each item that was not added.
    """

    project: Project
    additions: Mapping[str, Sequence[Addition]]
    errors: tuple[DocumentError, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything new in the project."""
        return any(one.added or one.replaced for one in self._each())

    @property
    def found(self) -> bool:
        """Whether anything was of use, though it may have been there already."""
        return self.changed or any(one.unchanged or one.forgotten for one in self._each())

    @property
    def forgotten(self) -> tuple[str, ...]:
        """Ids of memories that were forgotten before, and not brought back."""
        return tuple(identifier for one in self._each() for identifier in one.forgotten)

    def _each(self) -> Iterator[Addition]:
        return (one for some in self.additions.values() for one in some)


def read_material(found: Iterable[Found], recorded: Recorded, *, scope: MemoryScope) -> Material:
    """Read all files that are not read yet; one that cannot be read leaves the others.

    Args:
        found: What was found.
        recorded: What was read of it before.
        scope: Whose memories and chats they become.
    """
    errors: list[DocumentError] = list(recorded.errors)
    files = [one for one in found if one.form in {"", "exported file"}]

    def of(kind: str, form: str = "") -> Iterable[tuple[str, bytes]]:
        return contents((one for one in files if (one.kind, one.form) == (kind, form)), errors)

    documents = load_documents(of("documents"))
    memories = load_memories(of("memories"), scope=scope)
    chats = load_chats(of("chats"), scope=scope)
    skills = load_skills(of("skills"))
    folders, problems = _skill_folders(one for one in found if one.form in {"skill", "skills"})
    pages = tuple(_entries(of("memories", "exported file"), errors))
    loads = (documents, memories, chats, skills)
    return Material(
        recorded=recorded,
        documents=documents.documents,
        entries=(*memories.entries, *pages),
        chats=chats.chats,
        titles=chats.titles,
        skills=(*skills.skills, *folders),
        warnings=tuple(warning for load in loads for warning in load.warnings),
        errors=(*errors, *(error for load in loads for error in load.errors), *problems),
    )


def _entries(files: Iterable[tuple[str, bytes]], errors: list[DocumentError]) -> Iterator[Mapping[str, Any]]:
    """Yield exported memories of single files; whose they were and what was before them is left out."""
    for name, data in files:
        try:
            record_id, _, revision = from_markdown(decode(name, data, lambda _: None))
        except InvalidInputError as error:
            errors.append(
                DocumentError(f"{name}: {error.problem}.", remedy="Mend the front matter.", name=name)
            )
            continue
        except DocumentError as error:
            errors.append(error)
            continue
        shown = revision.model_dump(by_alias=True, exclude_defaults=True, exclude=_HIDDEN, mode="json")
        yield {"id": record_id, **shown}


def _skill_folders(found: Iterable[Found]) -> tuple[list[Skill], list[DocumentError]]:
    skills: list[Skill] = []
    problems: list[DocumentError] = []
    for one in found:
        try:
            if one.form == "skill":
                skills.append(read_skill(one.path.resolve()))
            else:
                registry = SkillRegistry.from_folder(one.path)
                skills += registry.list()
                problems += registry.problems
        except DocumentError as error:
            problems.append(error)
        except InvalidInputError as error:  # the folder has gone
            problems.append(DocumentError(error.problem, remedy=error.remedy, name=one.name))
    return skills, problems

"""Reading what ``playground import`` found, and adding it to a project in one go."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from playground.commands.import_files import Found, contents
from playground.concurrency import run_sync
from playground.errors import DocumentError, InvalidInputError, InvalidRequestError
from playground.memory import MemoryRecord, SqlMemoryStore
from playground.memory.exchange import LoadedMemories
from playground.memory.jsonl import read_memories_jsonl
from playground.memory.markdown_file import from_markdown
from playground.memory.markdown_folder import HISTORY_FILE, read_memories_folder
from playground.retrieval.archives import checked_names
from playground.retrieval.decoding import decode
from playground.retrieval.documents import Document, LoadWarning, load_documents
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill, SkillRegistry
from playground.sources.chat_files import load_chats
from playground.sources.skill_archives import load_skills
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

__all__ = ["Material", "Recorded", "read_material", "read_recorded", "scope_of"]

_HIDDEN = {"revision", "digest", "embedding", "embedding_model_id"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Memories with their whole history.

    Attributes:
        records: As they are.
        edited: Of files whose newest texts people may have edited.
        forgotten: Ids that the store has forgotten.
        errors: What could not be read, or not wholly.
    """

    records: tuple[MemoryRecord, ...] = ()
    edited: tuple[MemoryRecord, ...] = ()
    forgotten: tuple[str, ...] = ()
    errors: tuple[DocumentError, ...] = ()

    @property
    def scopes(self) -> frozenset[MemoryScope]:
        """Whose memories they are."""
        return frozenset(record.scope for record in (*self.records, *self.edited))


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

    def add_to(
        self, project: Project, *, now: int
    ) -> tuple[Project, dict[str, list[Addition]], list[DocumentError]]:
        """Return the project with all of this, what became of each kind, and what was not added."""
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
        return project, done, errors


def read_recorded(found: Iterable[Found], *, store: str | None, scope: MemoryScope) -> Recorded:
    """Read memories that come with their history: of exported files, and of a store.

    Args:
        found: Files of any kind; the others are left alone.
        store: Path or URL of a store, which must be there.
        scope: Whose memories are read of the store.

    Raises:
        StoreError: When the store cannot be read.
    """
    records: list[MemoryRecord] = []
    edited: list[MemoryRecord] = []
    errors: list[DocumentError] = []
    forgotten: tuple[str, ...] = ()
    if store is not None:
        with closing(SqlMemoryStore(store, create=False)) as opened:
            records += run_sync(opened.list(scope=scope))
            forgotten = tuple(stone.id for stone in run_sync(opened.tombstones(scope=scope)))
    for one in found:
        if one.kind != "memories" or one.form not in _WITH_HISTORY:
            continue
        try:
            read = _WITH_HISTORY[one.form](one.path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            errors.append(
                DocumentError(
                    f"{one.name} cannot be read: {reason}.", remedy="Check its rights.", name=one.name
                )
            )
            continue
        (records if one.form == "exported lines" else edited).extend(read.records)
        errors += read.problems
    return Recorded(tuple(records), tuple(edited), forgotten, tuple(errors))


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


def scope_of(recorded: Recorded, asked: MemoryScope, usual: MemoryScope) -> MemoryScope:
    """Return whose a new project is: as asked, else as its memories say, else the usual one.

    Raises:
        InvalidRequestError: When the memories are those of several.
    """
    if asked.fields():
        return asked
    scopes = sorted(recorded.scopes, key=lambda scope: sorted(scope.fields().items()))
    if len(scopes) > 1:
        named = "; ".join(_named(scope) for scope in scopes[:3])
        raise InvalidRequestError(
            f"These are the memories of {len(scopes):,}: {named}{'; …' if len(scopes) > 3 else ''}.",
            remedy="Choose whose the project is to be, for example --scope user_id=ada.",
        )
    return scopes[0] if scopes and scopes[0].fields() else usual


def _named(scope: MemoryScope) -> str:
    return ", ".join(f"{name}={value}" for name, value in scope.fields().items()) or "nobody in particular"


def _read_archive(path: Path) -> LoadedMemories:
    """Read the Markdown files of an archive; they lie in a temporary folder meanwhile, and only there."""
    data = path.read_bytes()
    try:
        checked_names(path.name, data)
    except DocumentError as error:
        return LoadedMemories(problems=(error,))
    with zipfile.ZipFile(io.BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
        for entry in archive.infolist():
            name = PurePosixPath(entry.filename).name
            # What lies in a folder of the archive is none of an export's files.
            if name == entry.filename and (name.endswith(".md") or name == HISTORY_FILE):
                Path(folder, name).write_bytes(archive.read(entry))
        return read_memories_folder(folder)


_WITH_HISTORY: Mapping[str, Callable[[Path], LoadedMemories]] = {
    "exported lines": read_memories_jsonl,
    "exported folder": read_memories_folder,
    "exported archive": _read_archive,
}


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
        whole = one.form == "skills"
        try:
            registry = SkillRegistry.from_folder(one.path if whole else one.path.resolve().parent)
        except InvalidInputError as error:
            problems.append(DocumentError(error.problem, remedy=error.remedy, name=one.name))
            continue
        name = one.path.resolve().name
        skills += [skill for skill in registry.list() if whole or skill.folder == one.path.resolve()]
        problems += [error for error in registry.problems if whole or error.name.startswith(f"{name}/")]
    return skills, problems

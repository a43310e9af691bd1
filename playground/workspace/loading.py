"""Reading a project from its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from playground.compiler.budget import ContextBudget
from playground.errors import InvalidInputError, PlaygroundError, ProjectError
from playground.memory import MemoryTombstone
from playground.messages import as_messages
from playground.models import DEFAULT_MODEL_ID
from playground.retrieval.corpus import Corpus
from playground.scope import MemoryScope
from playground.sources import ChatRecord, SkillRegistry
from playground.values import LARGEST_WHOLE_NUMBER, shown
from playground.working_memory import WorkingMemorySnapshot
from playground.workspace.files import ProjectFolder
from playground.workspace.folder_exchange import read_folder
from playground.workspace.project import CANDIDATES_PER_SOURCE, FORMAT_VERSION, ChunkSettings, Project
from playground.workspace.records import corpus_from_lines, document_from_json, memory_from_json
from playground.workspace.samples import is_sample, sample_folder
from playground.workspace.scenario import Scenario
from playground.workspace.vectors import VectorTable
from playground.workspace.working_memory import working_memory_history

__all__ = ["load_folder", "load_project"]

_FIELDS = frozenset(
    (
        "version",
        "title",
        "description",
        "question",
        "modelId",
        "contextWindow",
        "maxOutputTokens",
        "candidatesPerSource",
        "budget",
        "scope",
        "chatId",
        "chunking",
        "nextChunkIndex",
    )
)


def load_project(name_or_path: str | Path) -> Project:
    """Read a sample project by its name, or any project folder by its path.

    Missing files are empty parts; only ``project.json`` must be there. Documents that were added or edited
    since they were cut are cut now, under new numbers, and a warning says so.

    Raises:
        ProjectError: When the folder is missing, damaged, of an unknown version, or leads outside itself;
            names the file, the line and the remedy.
    """
    name = Path(name_or_path).name[:80]
    try:
        path = _located(name_or_path)
        return read_folder(path, lambda: load_folder(path))
    except PlaygroundError:
        raise
    except Exception as error:  # a path or a file can be odd in any way
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise ProjectError(
            f"The project {name!r} cannot be read: {reason}.",
            remedy="Check the path and the rights of its files.",
            project=name,
        ) from error


def load_folder(path: Path, name: str = "") -> Project:
    """Read a project of a folder that nobody exchanges meanwhile.

    Args:
        path: The folder.
        name: What the project is called; the folder's name by default.

    Raises:
        ProjectError: As ``load_project`` does.
        OSError: When a file cannot be read.
    """
    folder = ProjectFolder(path, name)
    head = folder.json("project.json", dict, dict)
    version = head.get("version")
    if type(version) is not int or version != FORMAT_VERSION:  # True and 1.0 equal 1
        raise folder.error(
            f"project.json has the version {shown(version)}, this program reads {FORMAT_VERSION}."
            if head
            else "there is no project.json.",
            "Choose a folder that was saved by this program.",
        )
    if unknown := sorted(head.keys() - _FIELDS):
        raise folder.error(f"project.json has unknown fields: {', '.join(unknown)}.", "Remove or correct them.")
    return folder.checked("project.json", lambda: _project(folder, head))


def _located(name_or_path: str | Path) -> Path:
    if isinstance(name_or_path, str) and is_sample(name_or_path):
        return sample_folder(name_or_path)
    if "\0" in str(name_or_path):
        raise ProjectError("A path cannot hold a NUL character.", remedy="Correct the path.", project="")
    # The folder itself: what an exchange that was cut off left lies beside it, and not beside a link to it.
    return Path(name_or_path).expanduser().resolve()


def _project(folder: ProjectFolder, head: Mapping[str, Any]) -> Project:
    scope = MemoryScope.parse(head.get("scope", {}))
    chunking = ChunkSettings.parse(head.get("chunking", {}))
    corpus, warnings = _corpus(folder, chunking, _count(head, "nextChunkIndex", 0))
    memories = folder.lines("memories.jsonl", lambda data: memory_from_json(data, scope))
    _unique(folder, "memories.jsonl", (record.id for record in memories))
    forgotten = folder.lines("forgotten.jsonl", MemoryTombstone.recorded)
    gone = _unique(folder, "forgotten.jsonl", (stone.id for stone in forgotten))
    if back := [record.id for record in memories if record.id in gone]:
        which = "memory was" if len(back) == 1 else "memories were"
        warnings.append(
            f"{len(back):,} {which} forgotten before; save the project to erase what its file still holds."
        )
    titles: dict[str, str] = {}

    def chat(data: dict[str, Any]) -> ChatRecord:
        record = ChatRecord.from_json({"scope": scope, **data})
        titles[record.chat_id] = str(data.get("title", ""))
        return record

    chats = folder.lines("chats.jsonl", chat)
    _unique(folder, "chats.jsonl", (record.chat_id for record in chats))
    scenarios = folder.lines("scenarios.jsonl", Scenario.parse)
    _unique(folder, "scenarios.jsonl", (scenario.id for scenario in scenarios))
    conversation = folder.json("conversation.json", list, list)
    messages = folder.checked("conversation.json", lambda: as_messages(conversation))
    tools = folder.json("tools.json", list, list)
    if not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in tools):
        raise folder.error("tools.json holds a tool without a name.")
    memory_text = folder.text("working_memory.json")
    working_memory = (
        folder.checked("working_memory.json", lambda: WorkingMemorySnapshot.from_json(memory_text))
        if memory_text is not None
        else None
    )
    history = working_memory_history(folder, working_memory)
    skills, problems = _skills(folder)
    vectors_file = folder.file("vectors.npz")
    vectors = VectorTable.read(vectors_file, folder.name) if vectors_file else VectorTable()
    folder.contents += [b"vectors", *vectors.digests]
    project = Project(
        name=folder.name,
        title=_text(head, "title") or folder.name,
        description=_text(head, "description"),
        question=_text(head, "question"),
        corpus=corpus,
        memories=tuple(record for record in memories if record.id not in gone),
        forgotten=tuple(sorted(forgotten, key=lambda stone: stone.id)),
        chats=tuple(chats),
        chat_titles={chat_id: title for chat_id, title in titles.items() if title},
        skills=skills,
        working_memory=working_memory,
        working_memory_history=history,
        messages=messages,
        tools=tuple(tools),
        scenarios=tuple(scenarios),
        model_id=_text(head, "modelId") or DEFAULT_MODEL_ID,
        context_window=_count(head, "contextWindow", None, least=1),
        max_output_tokens=_count(head, "maxOutputTokens", None),
        budget=ContextBudget.parse(head.get("budget", {})),
        candidates_per_source=_count(head, "candidatesPerSource", CANDIDATES_PER_SOURCE, least=1),
        scope=scope,
        chat_id=_text(head, "chatId"),
        chunking=chunking,
        vectors=vectors,
    )
    digest = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in folder.contents))
    return replace(project, digest=f"sha256:{digest.hexdigest()}", warnings=(*warnings, *problems))


def _corpus(folder: ProjectFolder, chunking: ChunkSettings, next_index: int) -> tuple[Corpus, list[str]]:
    documents = folder.lines("documents.jsonl", document_from_json)
    _unique(folder, "documents.jsonl", (document.id for document in documents))
    lines = folder.lines("chunks.jsonl", dict)
    corpus, new = folder.checked("chunks.jsonl", lambda: corpus_from_lines(documents, lines, next_index))
    if not new:
        return corpus, []
    warnings = (
        [f"{len(new):,} documents were cut anew; save the project to keep their numbers."] if lines else []
    )
    return corpus.with_documents(new, chunking.chunker), warnings


def _skills(folder: ProjectFolder) -> tuple[tuple[Any, ...], list[str]]:
    path = folder.root / "skills"
    if not path.is_dir():
        return (), []
    if not path.resolve().is_relative_to(folder.root):
        raise folder.error("skills leads outside the project.", "Replace the link by the folder itself.")
    registry = SkillRegistry.from_folder(path)
    for skill in registry.list():
        state = f"{skill.id}\0{skill.name}\0{skill.description}\0{skill.body}"
        folder.contents.append(state.encode("utf-8", "surrogatepass"))
    return registry.list(), [str(problem) for problem in registry.problems]


def _unique(folder: ProjectFolder, name: str, ids: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            raise folder.error(f"{name} holds the id {identifier!r} twice.", "Rename one of the two.")
        seen.add(identifier)
    return seen


def _text(head: Mapping[str, Any], name: str) -> str:
    value = head.get(name, "")
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is not a string.")
    return value


def _count(head: Mapping[str, Any], name: str, default: Any, *, least: int = 0) -> Any:
    value = head.get(name, default)
    if value is default:
        return value
    if type(value) is not int or not least <= value <= LARGEST_WHOLE_NUMBER:
        raise InvalidInputError(
            f"{name} is {_shown(value)}.",
            remedy=f"Write a whole number from {least} to {LARGEST_WHOLE_NUMBER:,}.",
        )
    return value


def _shown(value: Any) -> str:
    return f"a number of {len(str(value))} digits" if type(value) is int and value > 10**20 else shown(value)

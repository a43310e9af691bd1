"""Writing a project so that a crash leaves either the old or the new one, never a mixture."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playground.errors import ProjectError
from playground.messages import message_to_json
from playground.sources import Skill
from playground.workspace.project import FORMAT_VERSION, Project
from playground.workspace.records import chunk_lines, document_to_json, memory_to_json

__all__ = ["finish_interrupted_save", "project_files", "save_project"]

_OWN_FILES = frozenset(
    {
        "project.json",
        "documents.jsonl",
        "chunks.jsonl",
        "memories.jsonl",
        "chats.jsonl",
        "scenarios.jsonl",
        "conversation.json",
        "tools.json",
        "working_memory.json",
        "vectors.npz",
        "skills",
    }
)


def save_project(project: Project, folder: str | Path) -> Path:
    """Write a project to a folder and return the folder.

    Everything is written to a folder beside it first and reaches the disk before the names are exchanged. Files
    of other names that were there (licences, a README) are kept.

    Args:
        project: What is saved.
        folder: A new folder, an empty one, or one that holds a project, which is replaced.

    Raises:
        ProjectError: When the folder holds something else, or the disk refuses.
    """
    target = Path(folder).expanduser().resolve()
    finish_interrupted_save(target)
    if target.exists() and not target.is_dir():
        raise ProjectError(f"{target.name} is a file.", remedy="Choose a folder.", project=target.name)
    if target.is_dir() and any(target.iterdir()) and not (target / "project.json").is_file():
        raise ProjectError(
            f"The folder {target.name!r} holds files that are no project.",
            remedy="Choose an empty or a new folder.",
            project=target.name,
        )
    fresh = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        fresh.mkdir(parents=True)
        for name, data in project_files(project).items():
            _write(fresh / name, data)
        _keep_others(target, fresh, project.skills)
        _exchange(fresh, target)
    except OSError as error:
        raise ProjectError(
            f"The project cannot be written to {target.name!r}: {error.strerror or error}.",
            remedy="Check free space and rights, or choose another folder.",
            project=target.name,
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def project_files(project: Project) -> dict[str, bytes]:
    """Return a project's files by their name in the folder; empty parts have no file."""
    scope = project.scope
    files = {
        "project.json": _json(_head(project)),
        "documents.jsonl": _lines(map(document_to_json, project.documents)),
        "chunks.jsonl": _lines(chunk_lines(project.corpus)),
        "memories.jsonl": _lines(memory_to_json(record, scope) for record in project.memories),
        "chats.jsonl": _lines(
            {**chat.to_json(), "title": project.chat_titles.get(chat.chat_id, "")} for chat in project.chats
        ),
        "scenarios.jsonl": _lines(
            scenario.model_dump(by_alias=True, exclude_defaults=True) for scenario in project.scenarios
        ),
    }
    if project.messages:
        files["conversation.json"] = _json([message_to_json(message) for message in project.messages])
    if project.tools:
        files["tools.json"] = _json(list(project.tools))
    if project.working_memory is not None:
        files["working_memory.json"] = _json(json.loads(project.working_memory.to_json()))
    if len(project.vectors):
        files["vectors.npz"] = project.vectors.to_bytes()
    for skill in project.skills:
        files[f"skills/{_folder_name(skill)}/SKILL.md"] = _skill_file(skill)
    return {name: data for name, data in files.items() if data}


def finish_interrupted_save(target: Path) -> None:
    """Put the previous project back when a crash fell between taking it away and setting the new one."""
    if not target.name:
        return  # the root of a disk has no neighbours
    previous = _previous(target)
    if not previous.is_dir():
        return
    if target.exists():
        shutil.rmtree(previous, ignore_errors=True)
    else:
        previous.rename(target)


def _head(project: Project) -> dict[str, Any]:
    optional = {
        "contextWindow": project.context_window,
        "maxOutputTokens": project.max_output_tokens,
    }
    return {
        "version": FORMAT_VERSION,
        "title": project.title,
        "description": project.description,
        "question": project.question,
        "modelId": project.model_id,
        **{name: value for name, value in optional.items() if value is not None},
        "candidatesPerSource": project.candidates_per_source,
        "budget": project.budget.model_dump(by_alias=True, exclude_defaults=True),
        "scope": project.scope.model_dump(by_alias=True, exclude_none=True),
        "chatId": project.chat_id,
        "chunking": project.chunking.model_dump(by_alias=True),
        "nextChunkIndex": project.corpus.next_index,
    }


def _skill_file(skill: Skill) -> bytes:
    front = {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license or "",
        "allowed-tools": ", ".join(skill.allowed_tools),
    }
    # JSON strings are YAML strings, so that colons and quotes in a description stay what they are.
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in front.items() if value]
    return _bytes("---\n" + "\n".join(lines) + "\n---\n" + skill.body)


def _folder_name(skill: Skill) -> str:
    if not skill.id or skill.id in {".", ".."} or any(character in skill.id for character in "/\\:\0"):
        raise ProjectError(
            f"The skill id {skill.id!r} cannot be a folder name.",
            remedy="Use letters, digits and hyphens.",
            project=skill.id,
        )
    return skill.id


def _keep_others(target: Path, fresh: Path, skills: Iterable[Skill]) -> None:
    """Carry over what this format does not know: licences, notes and the resources of skills that remain."""
    if target.is_dir():
        for path in target.iterdir():
            if path.name not in _OWN_FILES:
                _copy(path, fresh / path.name)
        for path in target.glob("skills/*"):
            if path.is_file():
                _copy(path, fresh / "skills" / path.name)
    for skill in skills:
        if skill.folder is not None:
            for path in skill.folder.iterdir():
                if path.name != "SKILL.md":
                    _copy(path, fresh / "skills" / skill.id / path.name)


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        return  # a link could lead outside the project
    if source.is_dir():
        shutil.copytree(source, destination, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, destination)


def _exchange(fresh: Path, target: Path) -> None:
    previous = _previous(target)
    if target.exists():
        target.rename(previous)
    fresh.rename(target)
    _flush_folder(target.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _previous(target: Path) -> Path:
    return target.with_name(f".{target.name}.previous")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # other systems cannot open a folder
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _json(value: Any) -> bytes:
    return _bytes(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    return _bytes("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def _bytes(text: str) -> bytes:
    # Lone surrogates have no UTF-8 form; in JSON they could only be written as escapes that databases refuse.
    return text.encode("utf-8", "replace") if not text.isascii() else text.encode()

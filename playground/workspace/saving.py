"""Writing a project so that a crash leaves either the old or the new one, never a mixture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from playground.errors import ProjectError
from playground.messages import message_to_json
from playground.sources import Skill
from playground.workspace.folder_exchange import exchange_folder, swap_folder
from playground.workspace.folder_files import keep_others, write_files
from playground.workspace.loading import load_folder
from playground.workspace.project import FORMAT_VERSION, Project
from playground.workspace.records import chunk_lines, document_to_json, memory_to_json
from playground.workspace.working_memory import HISTORY_FILE

__all__ = ["project_files", "save_project", "write_held"]

# Line breaks of YAML that are none of JSON, and characters that it refuses.
_NOT_IN_YAML = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def save_project(project: Project, folder: str | Path) -> Path:
    """Write a project to a folder and return the folder.

    Everything is written to a folder beside it first and reaches the disk before the names are exchanged; who
    saves at the same time waits, who loads gets the old or the new project. Files of other names that were
    there (licences, a README) are kept.

    Args:
        project: What is saved.
        folder: A new folder, an empty one, or one that holds a project, which is replaced.

    Raises:
        ProjectError: When the folder holds something else, the disk refuses, another program keeps saving, or
            a record cannot be written without loss: a lone surrogate, an infinite number.
    """
    try:
        target = Path(folder).expanduser().resolve()
        files = project_files(project)

        def prepare(fresh: Path) -> None:
            _check_target(target)
            keep_others(target, fresh, project.skills)
            write_files(target, fresh, files)

        if not target.name:
            raise ProjectError("The root of a disk is no project.", remedy="Choose a folder.", project="")
        exchange_folder(target, prepare)
    except (OSError, ValueError, RuntimeError) as error:  # a path with NUL, an unknown home
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        name = Path(folder).name
        raise ProjectError(
            f"The project cannot be written to {name!r}: {reason}.",
            remedy="Check free space and rights, or choose another folder.",
            project=name,
        ) from error
    return target


def write_held(target: Path, project: Project, *, more: Mapping[str, bytes] | None = None) -> Project:
    """Write a project to a folder that the caller holds, see ``held``, and return it as it can be loaded.

    It is read back before the exchange, so that no project is ever written that does not open.

    Args:
        target: A new folder, or one that holds a project, which is replaced.
        project: What is written.
        more: Further files of the folder, by name.

    Returns:
        The project that was given, with its built indexes, under the digest, the name and the skill folders
        that loading gives it.

    Raises:
        ProjectError: When a record cannot be written without loss, or what was written does not open.
        OSError: When the disk refuses; the folder is what it was.
    """
    files = {**project_files(project), **(more or {})}

    def prepare(fresh: Path) -> Project:
        keep_others(target, fresh, project.skills)
        write_files(target, fresh, files)
        return load_folder(fresh, target.name)

    loaded = swap_folder(target, prepare)
    skills = tuple(
        skill if skill.folder is None else replace(skill, folder=target / "skills" / skill.folder.name)
        for skill in loaded.skills
    )
    return project.with_parts(
        name=loaded.name,
        title=loaded.title,
        skills=skills,
        digest=loaded.digest,
        warnings=loaded.warnings,
    )


def project_files(project: Project) -> dict[str, bytes]:
    """Return a project's files by their name in the folder; empty parts have no file.

    Resources of skills that lie in a folder are not among them.
    """
    scope = project.scope
    files = {
        "project.json": _json("project.json", _head(project)),
        "documents.jsonl": _lines("documents.jsonl", map(document_to_json, project.documents)),
        "chunks.jsonl": _lines("chunks.jsonl", chunk_lines(project.corpus), "document"),
        "memories.jsonl": _lines(
            "memories.jsonl", (memory_to_json(record, scope) for record in project.memories)
        ),
        "forgotten.jsonl": b"".join(f"{stone.to_json()}\n".encode() for stone in project.forgotten),
        "chats.jsonl": _lines(
            "chats.jsonl",
            ({**chat.to_json(), "title": project.chat_titles.get(chat.chat_id, "")} for chat in project.chats),
            "chatId",
        ),
        "scenarios.jsonl": _lines(
            "scenarios.jsonl",
            (scenario.model_dump(by_alias=True, exclude_defaults=True) for scenario in project.scenarios),
        ),
    }
    if project.messages:
        files["conversation.json"] = _json(
            "conversation.json", [message_to_json(message) for message in project.messages]
        )
    if project.tools:
        files["tools.json"] = _json("tools.json", list(project.tools))
    if project.working_memory is not None:
        files["working_memory.json"] = _indented(project.working_memory.to_json())
    if project.working_memory_history:
        lines = (revision.to_json() + "\n" for revision in project.working_memory_history)
        files[HISTORY_FILE] = "".join(lines).encode()
    if len(project.vectors):
        files["vectors.npz"] = project.vectors.to_bytes()
    files = {name: data for name, data in files.items() if data}
    for skill in project.skills:
        folder = f"skills/{_folder_name(skill)}"
        files[f"{folder}/SKILL.md"] = _skill_file(skill)
        files.update((f"{folder}/{path}", data) for path, data in skill.resources)
    return files


def _check_target(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise ProjectError(f"{target.name} is a file.", remedy="Choose a folder.", project=target.name)
    if target.is_dir() and any(target.iterdir()) and not (target / "project.json").is_file():
        raise ProjectError(
            f"The folder {target.name!r} holds files that are no project.",
            remedy="Choose an empty or a new folder.",
            project=target.name,
        )


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
    front: dict[str, str | list[str]] = {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license or "",
        "allowed-tools": list(skill.allowed_tools),
    }
    where = f"skills, {skill.id[:80]!a}"
    # JSON strings are YAML strings, so that colons and quotes in a description stay what they are.
    lines = [f"{name}: {_yaml(where, value)}" for name, value in front.items() if value]
    return _bytes(where, "---\n" + "\n".join(lines) + "\n---\n" + skill.body)


def _yaml(where: str, value: str | list[str]) -> str:
    """Write a flow value that YAML reads as JSON does: what it folds or refuses is escaped."""
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", _dumped(where, value))


def _folder_name(skill: Skill) -> str:
    if not skill.id or skill.id in {".", ".."} or any(character in skill.id for character in "/\\:\0"):
        raise ProjectError(
            f"The skill id {skill.id!r} cannot be a folder name.",
            remedy="Use letters, digits and hyphens.",
            project=skill.id,
        )
    return skill.id


def _json(name: str, value: Any) -> bytes:
    return _bytes(name, _dumped(name, value, indent=2) + "\n")


def _indented(text: str) -> bytes:
    """Write canonical JSON so that people can read it; half a character stays the escape that it is."""
    value = json.loads(text)
    shown = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        return f"{shown}\n".encode()
    except UnicodeEncodeError:
        return f"{json.dumps(value, indent=2)}\n".encode()


def _lines(name: str, values: Iterable[Mapping[str, Any]], key: str = "id") -> bytes:
    return b"".join(
        _bytes(where, _dumped(where, value) + "\n")
        for value in values
        for where in [f"{name}, record {str(value[key])[:80]!a}"]
    )


def _dumped(where: str, value: Any, *, indent: int | None = None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:  # infinite, endless, or no JSON at all
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ProjectError(
            f"{where} cannot be saved: {reason}.",
            remedy="Keep to finite numbers, strings, lists and objects.",
            project=where,
        ) from error


def _bytes(where: str, text: str) -> bytes:
    """Encode as UTF-8; a lone surrogate has no such form, and replacing it could make two ids one."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ProjectError(
            f"{where} cannot be saved: it holds the lone surrogate U+{ord(text[error.start]):04X}.",
            remedy="Replace it by U+FFFD.",
            project=where,
        ) from None

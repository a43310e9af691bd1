"""A project's memories as files, and back."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from playground.memory.jsonl import read_memories_jsonl
from playground.memory.markdown_folder import read_memories_folder
from playground.scope import MemoryScope
from playground.workspace import Project
from playground.workspace.memories import forget_memories, remember_memory, revise_memory
from playground.workspace.memory_exports import memories_as_jsonl, memories_as_markdown

ADA, BO = MemoryScope(user_id="ada"), MemoryScope(user_id="bo")


def _project() -> Project:
    project = Project(name="p", scope=ADA, digest="sha256:0")
    project = remember_memory(project, "Ships on Friday. \U0001f6a2", id="a/b", now=1, importance=0.5)
    project = remember_memory(project, "Ships never.", id="a_b", now=2, scope=BO)
    return revise_memory(project, "a/b", "Ships on\n---\nMonday.", expected_revision=1, now=3)


def test_json_lines_give_every_memory_back_with_its_history(tmp_path: Path) -> None:
    project = _project()
    file = tmp_path / "memories.jsonl"
    file.write_bytes(memories_as_jsonl(project))
    assert read_memories_jsonl(file).records == project.memories


def test_markdown_files_in_an_archive_give_every_memory_back_with_its_history(tmp_path: Path) -> None:
    project = _project()
    data = memories_as_markdown(project)
    assert data == memories_as_markdown(project)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    loaded = read_memories_folder(tmp_path)
    assert loaded.problems == ()
    assert {record.id: record for record in loaded.records} == {
        record.id: record for record in project.memories
    }


def test_what_was_forgotten_is_in_neither() -> None:
    project = forget_memories(_project(), ["a/b"], now=4).project
    for data in (memories_as_jsonl(project), _texts(memories_as_markdown(project))):
        assert b"Ships never." in data
        assert b"Ships on" not in data


def _texts(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())

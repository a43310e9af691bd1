"""A project's memories as files to take elsewhere; ``read_memories_jsonl`` and its fellows read them again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playground.errors import ProjectError
from playground.memory.jsonl import memory_lines
from playground.memory.markdown_folder import write_memories_folder
from playground.workspace.archive import pack_files
from playground.workspace.project import Project

__all__ = ["memories_as_jsonl", "memories_as_markdown"]


def memories_as_jsonl(project: Project) -> bytes:
    """Return all memories with all their revisions, one memory a line. O(bytes)."""
    return b"".join(memory_lines(project.memories))


def memories_as_markdown(project: Project) -> bytes:
    """Return a ZIP archive with one Markdown file a memory and their earlier revisions beside them. O(bytes).

    Raises:
        InvalidInputError: When a memory cannot be written as Markdown.
        ProjectError: When there is no room for temporary files.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            write_memories_folder(project.memories, folder)
            return pack_files({path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())})
    except OSError as error:
        raise ProjectError(
            f"The memories cannot be written: {error.strerror or type(error).__name__}.",
            remedy="Check free space for temporary files.",
            project=project.name,
        ) from error

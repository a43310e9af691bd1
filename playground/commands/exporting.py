"""``playground export``: a project as one archive, or its memories as files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from playground.commands.projects import find_project
from playground.errors import InvalidRequestError
from playground.terminal import print_line

if TYPE_CHECKING:
    from playground.workspace import Project

__all__ = ["export_command"]


class Memories(StrEnum):
    """How memories are written."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"


def export_command(
    project: Annotated[str, typer.Argument(help="Name of a project, or its folder.")],
    output: Annotated[
        Path | None,
        typer.Option(help="File, or folder of Markdown files, to write; replaced where it is there."),
    ] = None,
    memories: Annotated[
        Memories | None, typer.Option(help="The memories alone: one a line, or a folder with one file each.")
    ] = None,
) -> None:
    """Write a project to a ZIP archive that import reads again. What was forgotten is in none."""
    place = find_project(project)
    target = output or _usual(place.folder.name, memories)
    if output is None and target.exists():
        raise InvalidRequestError(
            f"{target} is there already.", remedy=f"Give --output {target} to replace it, or another name."
        )
    loaded = place.load()
    try:
        what = _written(loaded, target, memories)
    except (OSError, ValueError) as error:  # a path without a name
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidRequestError(
            f"{target} cannot be written: {reason}.", remedy="Choose another place with --output."
        ) from error
    print_line(f"{target}: {what}")


def _usual(name: str, memories: Memories | None) -> Path:
    ending = {None: ".zip", Memories.JSONL: "-memories.jsonl", Memories.MARKDOWN: "-memories"}[memories]
    return Path(f"{name}{ending}")


def _written(project: Project, target: Path, memories: Memories | None) -> str:
    """Write what is asked for, whole or not at all, and say what it is."""
    from playground.memory.exchange import replace_file  # noqa: PLC0415  # brings NumPy
    from playground.memory.jsonl import write_memories_jsonl  # noqa: PLC0415
    from playground.memory.markdown_folder import write_memories_folder  # noqa: PLC0415
    from playground.views.words import plural  # noqa: PLC0415
    from playground.workspace.archive import pack_project  # noqa: PLC0415

    count = plural(len(project.memories), ("memory", "memories"))
    if memories is None:
        data = pack_project(project)
        replace_file(target, [data])
        return f"the project, {len(data):,} bytes"
    if memories is Memories.JSONL:
        write_memories_jsonl(project.memories, target)
        return f"{count}, one a line"
    write_memories_folder(project.memories, target)
    return f"{count}, one a file"

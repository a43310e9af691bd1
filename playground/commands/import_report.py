"""What ``playground import`` did, in lines: which rule told each file, what joined, what to know."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from playground.commands.import_files import Found
from playground.commands.import_reading import Material, Outcome
from playground.scope import MemoryScope
from playground.views.words import joined, plural
from playground.workspace import Project
from playground.workspace.additions import Addition
from playground.workspace.embedding import embedded_texts

__all__ = ["told_additions", "told_files", "told_project", "told_vectors", "told_warnings"]

NAMES_SHOWN = 3  # files or memories that a line names; the rest is counted


def told_files(found: Sequence[Found]) -> Iterator[str]:
    """Say as what files are read and which rule says so: one line for all of one rule."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in found:
        kind: str = "a project" if one.form == "project" else one.kind
        groups.setdefault((kind, one.rule), []).append(one.name)
    for (kind, rule), names in groups.items():
        yield f"{_first_of(names)}: {kind} ({rule})"


def told_additions(
    name: str, additions: Mapping[str, Sequence[Addition]], *, made: MemoryScope | None
) -> Iterator[str]:
    """Say what joined the project of this name.

    Args:
        name: By which it was given.
        additions: By kind.
        made: Whose a project is that was made for them.
    """
    if made is not None and additions:
        whose = ", ".join(f"{field}={value}" for field, value in made.fields().items())
        yield f"The project {name} was made; its memories and chats are those of {whose}."
    for kind, some in additions.items():
        counts = {
            "added": sum(addition.added for addition in some),
            "replaced": sum(addition.replaced for addition in some),
            "there already": sum(addition.unchanged for addition in some),
        }
        said = [f"{number:,} {word}" for word, number in counts.items() if number or word == "added"]
        yield f"{name}: {kind}: {', '.join(said)}"


def told_project(name: str, project: Project) -> str:
    """Say that a whole project was taken over, and what is in it."""
    parts = [
        plural(len(project.documents), "document"),
        plural(len(project.memories), ("memory", "memories")),
        plural(len(project.chats), "chat"),
        plural(len(project.skills), "skill"),
    ]
    return f"The project {name} was made, with {joined(parts)}."


def told_vectors(name: str, project: Project) -> str:
    """Say how many texts are not found by meaning yet, and what to do; empty when all are."""
    missing = sum(1 for text in embedded_texts(project) if text not in project.vectors)
    if not missing:
        return ""
    needs = "has" if missing == 1 else "have"
    return f"{plural(missing, 'text')} {needs} no vector yet: {shlex.join(['playground', 'embed', name])}"


def told_warnings(name: str, material: Material, outcome: Outcome, project: Project) -> Iterator[str]:
    """Say what a person should know of files that were read, and of memories that were forgotten."""
    for warning in material.warnings:
        yield f"{warning.name}: {warning.message}"
    if stayed := outcome.forgotten:
        were = "was" if len(stayed) == 1 else "were"
        memories = plural(len(stayed), ("memory", "memories"))
        yield f"{memories} {were} forgotten here before, and not brought back: {_first_of(stayed)}."
    here = {record.id for record in project.memories}
    if gone := [identifier for identifier in material.recorded.forgotten if identifier in here]:
        yield (
            f"{plural(len(gone), ('memory', 'memories'))} of the project {'was' if len(gone) == 1 else 'were'} "
            f"forgotten in the store. To forget here too: {shlex.join(['playground', 'forget', name, *gone])}"
        )


def _first_of(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMES_SHOWN:,} more"] if len(names) > NAMES_SHOWN else []
    return joined([*names[:NAMES_SHOWN], *more])

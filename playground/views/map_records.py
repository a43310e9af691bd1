"""Which records a map can show, what became of them, and which are drawn. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playground.compiler.manifest import ContextManifest, ManifestEntry
from playground.compiler.values import Kind, SourceResult
from playground.retrieval.corpus import search_text
from playground.sources.chats import positions_of
from playground.workspace import Project
from playground.workspace.texts import skill_text

__all__ = ["MapRecord", "chosen_of", "map_records", "ranks_of", "selected_of"]

_BODY = "body/"


@dataclass(frozen=True, slots=True)
class MapRecord:
    """One record that can have a vector."""

    kind: Kind
    record_id: str
    """As its source offers it."""
    text: str
    """What is embedded of it."""
    title: str
    """What people call it, of any length."""


def map_records(project: Project) -> Iterator[MapRecord]:
    """Yield chunks, memories as they stand now, turns of chats and catalogue lines of skills."""
    for chunk in project.chunks:
        label = project.label("rag", str(chunk.index))
        title = ", ".join(filter(None, [label.title, label.part])) or chunk.text
        yield MapRecord("rag", str(chunk.index), search_text(chunk), title)
    for memory in project.memories:
        yield MapRecord("memory", memory.id, memory.latest.text, memory.latest.text)
    for chat in project.chats:
        for place in positions_of(chat.messages):
            if place.text.strip():
                yield MapRecord("transcript", f"{chat.chat_id}#{place.index}", place.text, place.text)
    for skill in project.skills:
        yield MapRecord("skills", f"catalog/{skill.id}", skill_text(skill), skill.name)


def ranks_of(results: Sequence[SourceResult]) -> dict[tuple[str, str], int]:
    """Return the place of each record that was ranked, by source and id; what is mandatory was not."""
    return {
        (result.kind, candidate.record_id): rank
        for result in results
        for rank, candidate in enumerate(
            (candidate for candidate in result.candidates if not candidate.mandatory), 1
        )
    }


def selected_of(manifest: ContextManifest | None) -> frozenset[tuple[str, str]]:
    """Return kind and id of what is in the request; a loaded skill is the point of its catalogue line."""
    entries = manifest.entries if manifest is not None else ()
    return frozenset((entry.kind, _on_the_map(entry)) for entry in entries if entry.selected)


def chosen_of(ranks: Sequence[int], most: int) -> list[int]:
    """Return which points are drawn, in order: those with a rank, then an even selection of the others."""
    offered = [at for at, rank in enumerate(ranks) if rank][:most]
    others = [at for at, rank in enumerate(ranks) if not rank]
    room = min(len(others), most - len(offered))
    return sorted(offered + [others[number * len(others) // room] for number in range(room)])


def _on_the_map(entry: ManifestEntry) -> str:
    if entry.kind == "skills" and entry.record_id.startswith(_BODY):
        return f"catalog/{entry.record_id.removeprefix(_BODY)}"
    return entry.record_id

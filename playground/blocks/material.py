"""The same material for the other compiler: blocks as records and working memory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from playground.blocks.compile import BlockKind, ContextBlock
from playground.blocks.package import PackageRecord
from playground.compiler.values import KINDS, WORKING_MEMORY_SOURCE, ContextCandidate, Kind, SourceResult
from playground.working_memory.items import WRITTEN_LISTS
from playground.working_memory.rendering import record_id
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["ContextMaterial", "material_from_blocks"]

KIND_OF_BLOCK: dict[BlockKind, Kind] = {
    "memory": "memory",
    "recent": "transcript",
    "skill": "skills",
    "tool-catalog": "skills",
    "workspace": "rag",
    # The context compiler keeps these in working memory; a text that is not from there has no place in it.
    "constitution": "rag",
    "control": "rag",
    "goal": "rag",
    "evaluation": "rag",
}


@dataclass(frozen=True, slots=True)
class ContextMaterial:
    """What the context compiler is given in place of blocks.

    Attributes:
        results: Answers of sources, one candidate a block.
        working_memory: The items that are blocks, if any is.
        ids: The block's id, by source and record id.
    """

    results: tuple[SourceResult, ...]
    working_memory: WorkingMemorySnapshot | None
    ids: Mapping[tuple[str, str], str]


def material_from_blocks(
    blocks: Iterable[ContextBlock],
    *,
    forced: Collection[str] = (),
    records: Mapping[str, PackageRecord] | None = None,
    results: Sequence[SourceResult] = (),
    working_memory: WorkingMemorySnapshot | None = None,
) -> ContextMaterial:
    """Return blocks as what the context compiler chooses from.

    A block becomes a record of the kind that ``KIND_OF_BLOCK`` names: mandatory if it is forced, its score the
    priority. A block that came from a compile becomes again what it was there, with the changes made to it
    since. Of working memory an item that was changed, or is forced and was not mandatory, becomes a record.

    Args:
        blocks: Checked ones, with unique ids.
        forced: Ids of the blocks that must be in.
        records: Where blocks came from, see ``package_records``.
        results: What ``records`` was made of.
        working_memory: The same.
    """
    known = records or {}
    offered: dict[str, list[ContextCandidate]] = {result.source_id: [] for result in results}
    kinds: dict[str, Kind] = {result.source_id: result.kind for result in results}
    own = {kind: _free(kind, kinds) for kind in KINDS}
    ids: dict[tuple[str, str], str] = {}
    lines: set[str] = set()
    for block in blocks:
        must, origin = block.id in forced, known.get(block.id)
        if (
            origin is not None
            and origin.source == WORKING_MEMORY_SOURCE
            and _is_item(block, must, origin.block)
        ):
            pair = (origin.source, origin.record_id)
            lines.add(origin.record_id)
        elif origin is not None and origin.candidate is not None and block.kind == origin.block.kind:
            pair = (origin.source, origin.record_id)
            offered[origin.source].append(_changed(origin.candidate, block, must))
        else:
            source = own[KIND_OF_BLOCK[block.kind]]
            kinds[source] = KIND_OF_BLOCK[block.kind]
            pair = (source, block.id)
            offered.setdefault(source, []).append(
                ContextCandidate(block.id, block.content, block.priority, mandatory=must)
            )
        ids[pair] = block.id
    asked = {result.source_id: result for result in results}
    return ContextMaterial(
        results=tuple(
            replace(asked[source], candidates=tuple(candidates))
            if source in asked
            else SourceResult(source, kinds[source], candidates=tuple(candidates))
            for source, candidates in offered.items()
        ),
        working_memory=_only(working_memory, lines) if working_memory is not None and lines else None,
        ids=ids,
    )


def _free(kind: Kind, taken: Mapping[str, Kind]) -> str:
    name: str = kind
    while name in taken:
        name += "-blocks"
    return name


def _is_item(block: ContextBlock, must: bool, item: ContextBlock) -> bool:
    """Whether a block can still be the item that it was; working memory has an order of its own."""
    return (block.content, block.kind, must) == (item.content, item.kind, item.required)


def _changed(candidate: ContextCandidate, block: ContextBlock, must: bool) -> ContextCandidate:
    if block.content != candidate.text:
        candidate = replace(candidate, text=block.content, digest=None, tokens=None)
    return replace(candidate, score=block.priority, mandatory=must)


def _only(snapshot: WorkingMemorySnapshot, lines: Collection[str]) -> WorkingMemorySnapshot:
    """Return a snapshot with the items of these lines alone."""
    kept: dict[str, object] = {
        section: tuple(item for item in getattr(snapshot, section) if record_id(section, item.id) in lines)
        for section in ("constraints", *WRITTEN_LISTS)
    }
    kept["goal"] = snapshot.goal if record_id("goal") in lines else None
    if snapshot.tasks is not None:
        tasks = tuple(task for task in snapshot.tasks.list if record_id("tasks", task.id) in lines)
        active = next((task.id for task in tasks if task.id == snapshot.tasks.active_task_id), None)
        kept["tasks"] = snapshot.tasks.model_copy(update={"list": tasks, "active_task_id": active})
    return snapshot.model_copy(update=kept)

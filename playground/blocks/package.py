"""What a context compile chose from, as blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from playground.blocks.compile import BlockKind, ContextBlock
from playground.compiler.values import WORKING_MEMORY_SOURCE, ContextPackage, Kind, SourceResult
from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.values import of_type, shown
from playground.working_memory.items import Section
from playground.working_memory.rendering import MemoryLine, memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["blocks_from_package"]

SECTION_KINDS: dict[Section, BlockKind] = {
    "goal": "goal",
    "constraints": "constitution",
    "tasks": "control",
    "decisions": "control",
    "questions": "control",
    "attempts": "recent",
    "hypotheses": "evaluation",
    "observations": "evaluation",
}
RECORD_KINDS: dict[Kind, BlockKind] = {
    "memory": "memory",
    "rag": "workspace",
    "transcript": "recent",
    "skills": "tool-catalog",  # a skill that was loaded is of the kind skill
}
RETENTION_REASONS: dict[BlockKind, str] = {
    "constitution": "rule of the host",
    "control": "steers the task",
    "goal": "current goal",
    "workspace": "passage that was found",
    "memory": "memory that was recalled",
    "skill": "skill that the model loaded",
    "recent": "said or tried before",
    "tool-catalog": "skill on offer",
    "evaluation": "seen or assumed in the task",
}

_TextKey = tuple[str, str, str]
_Text = tuple[str, BlockKind, bool]


def blocks_from_package(
    package: ContextPackage,
    *,
    results: Sequence[SourceResult],
    working_memory: WorkingMemorySnapshot | None = None,
) -> tuple[ContextBlock, ...]:
    """Return what a compile chose from as blocks: the same material for the other compiler.

    Ids are ``<source>:<recordId>``, in manifest order. What was mandatory there is required here. A record's
    priority is its score; working memory stands above every record, since it is filled before them. Left out is
    what was no choice: what stands in the history already, an outdated revision, a record offered twice.

    Args:
        package: What was compiled; its manifest holds no text.
        results: What the sources answered to it.
        working_memory: The snapshot that it was compiled with.

    Raises:
        InvalidInputError: When the text of an entry was not given, or two records have the same block id.
    """
    entries = of_type(package, ContextPackage, "The package").manifest.entries
    texts = {**_record_texts(results), **_line_texts(working_memory)}
    highest = max([1.0, *(entry.score for entry in entries if entry.score is not None)])
    blocks: dict[str, ContextBlock] = {}
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        record = (entry.source, entry.record_id)
        if record in seen or entry.reason in {"already-placed", "superseded"}:
            continue
        seen.add(record)
        if (found := texts.get((*record, entry.digest))) is None:
            raise InvalidInputError(
                f"The text of record {shown(entry.record_id)} of {shown(entry.source)} was not given.",
                remedy="Pass the results and the working memory that the package was compiled from.",
            )
        block_id = ":".join(record)
        if block_id in blocks:
            raise InvalidInputError(
                f"Two records have the block id {shown(block_id)}.",
                remedy="Give a source an id without a colon.",
            )
        content, kind, required = found
        blocks[block_id] = ContextBlock(
            id=block_id,
            kind=kind,
            source=entry.source,
            role="user",
            content=content,
            priority=highest if entry.score is None else entry.score,
            required=required,
            retention_reason=RETENTION_REASONS[kind],
        )
    return tuple(blocks.values())


def _record_texts(results: Sequence[SourceResult]) -> dict[_TextKey, _Text]:
    texts: dict[_TextKey, _Text] = {}
    for result in results:
        of_type(result, SourceResult, "A result")
        for candidate in result.candidates:
            loaded = result.kind == "skills" and candidate.mandatory
            kind = "skill" if loaded else RECORD_KINDS[result.kind]
            key = (result.source_id, candidate.record_id, str(candidate.digest))
            texts.setdefault(key, (candidate.text, kind, candidate.mandatory))
    return texts


def _line_texts(snapshot: WorkingMemorySnapshot | None) -> dict[_TextKey, _Text]:
    if snapshot is None:
        return {}
    lines = memory_lines(of_type(snapshot, WorkingMemorySnapshot, "The working memory"))
    return {
        (WORKING_MEMORY_SOURCE, line.record_id, text_digest(line.text)): (
            _line_content(line), SECTION_KINDS[line.section], line.mandatory
        )
        for line in lines
    }  # fmt: skip


def _line_content(line: MemoryLine) -> str:
    """Return what the item says; without its state and its remark a rejected one would pass for a fact."""
    name, said = line.remark
    state = f"({line.status}) " if line.status else ""
    return f"{state}{line.text}" + (f"\n{name}: {said}" if said else "")

"""What a context compile chose from, as blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playground.blocks.compile import BlockKind, ContextBlock
from playground.compiler.values import (
    WORKING_MEMORY_SOURCE,
    ContextCandidate,
    ContextPackage,
    Kind,
    SourceResult,
    TextKey,
)
from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.values import of_type, shown
from playground.working_memory.items import Section
from playground.working_memory.rendering import MemoryLine, memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["PackageRecord", "blocks_from_package", "package_records"]

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


@dataclass(frozen=True, slots=True)
class PackageRecord:
    """One record that a compile chose from, and the block that stands for it.

    Attributes:
        source: Id of the record's source, or ``working-memory``.
        record_id: Identifier within the source.
        block: The block.
        candidate: What its source offered; ``None`` for an item of working memory.
    """

    source: str
    record_id: str
    block: ContextBlock
    candidate: ContextCandidate | None = None


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
    records = package_records(package, results=results, working_memory=working_memory)
    return tuple(record.block for record in records.values())


def package_records(
    package: ContextPackage,
    *,
    results: Sequence[SourceResult],
    working_memory: WorkingMemorySnapshot | None = None,
) -> dict[str, PackageRecord]:
    """Return the records behind ``blocks_from_package``, by the id of their block; the same arguments."""
    entries = of_type(package, ContextPackage, "The package").manifest.entries
    candidates, lines = _candidates(results), _lines(working_memory)
    highest = max([1.0, *(entry.score for entry in entries if entry.score is not None)])
    records: dict[str, PackageRecord] = {}
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        pair = (entry.source, entry.record_id)
        if pair in seen or entry.reason in {"already-placed", "superseded"}:
            continue
        seen.add(pair)
        candidate, line = candidates.get((*pair, entry.digest)), lines.get((*pair, entry.digest))
        if candidate is not None and entry.kind != "working-memory":
            kind, content, required = _record_kind(entry.kind, candidate), candidate.text, candidate.mandatory
        elif line is not None:
            kind, content, required = SECTION_KINDS[line.section], _content(line), line.mandatory
        else:
            raise InvalidInputError(
                f"The text of record {shown(entry.record_id)} of {shown(entry.source)} was not given.",
                remedy="Pass the results and the working memory that the package was compiled from.",
            )
        block = ContextBlock(
            id=":".join(pair),
            kind=kind,
            source=entry.source,
            role="user",
            content=content,
            priority=highest if entry.score is None else entry.score,
            required=required,
            retention_reason=RETENTION_REASONS[kind],
        )
        if block.id in records:
            raise InvalidInputError(
                f"Two records have the block id {shown(block.id)}.",
                remedy="Give a source an id without a colon.",
            )
        records[block.id] = PackageRecord(*pair, block, candidate)
    return records


def _record_kind(kind: Kind, candidate: ContextCandidate) -> BlockKind:
    return "skill" if kind == "skills" and candidate.mandatory else RECORD_KINDS[kind]


def _candidates(results: Sequence[SourceResult]) -> dict[TextKey, ContextCandidate]:
    found: dict[TextKey, ContextCandidate] = {}
    for result in results:
        of_type(result, SourceResult, "A result")
        for candidate in result.candidates:
            found.setdefault((result.source_id, candidate.record_id, str(candidate.digest)), candidate)
    return found


def _lines(snapshot: WorkingMemorySnapshot | None) -> dict[TextKey, MemoryLine]:
    if snapshot is None:
        return {}
    lines = memory_lines(of_type(snapshot, WorkingMemorySnapshot, "The working memory"))
    return {(WORKING_MEMORY_SOURCE, line.record_id, text_digest(line.text)): line for line in lines}


def _content(line: MemoryLine) -> str:
    """Return what an item says; without its state and its remark a reverted one would pass for a fact."""
    name, said = line.remark
    state = f"({line.status}) " if line.status else ""
    return f"{state}{line.text}" + (f"\n{name}: {said}" if said else "")

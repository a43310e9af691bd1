"""What a labelled question could find at most, and which of it is the evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from playground.cancel import CancelToken
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextSource, ContextSourceRequest, SourceResult
from playground.concurrency import run_sync
from playground.errors import ProjectError, SourceError
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors
from playground.workspace import Project, Scenario, project_sources

__all__ = ["ROOM", "Key", "Material", "ask", "evidence_of", "material_of", "wanted_sources"]

Key = tuple[str, str]
"""Id of a source, and of a record in it."""

EVERYTHING = 1_000_000  # candidates; more than any source offers
ROOM = 100_000_000  # tokens of the request; the budget alone is to limit what is selected
TIME_LIMIT = 600.0  # seconds a source may take; nobody waits for an answer here


@dataclass(frozen=True, slots=True)
class Material:
    """All that some sources can offer for any question of one scope.

    Attributes:
        tokens: Of each record, its tags included.
    """

    tokens: Mapping[Key, int]

    @property
    def total(self) -> int:
        """Tokens of everything."""
        return sum(self.tokens.values())


def wanted_sources(scenario: Scenario) -> tuple[str, ...]:
    """Return the ids of the sources that hold a question's evidence; none when nobody named any."""
    documents = ["rag"] if scenario.gold_documents else []
    return tuple(dict.fromkeys([*documents, *(record.source for record in scenario.gold)]))


def material_of(project: Project, source_ids: Collection[str]) -> Material:
    """Return what these sources of the project can offer, whatever is asked."""
    sources = project_sources(project, embedder=_AllAlike(), mode="dense")
    chosen = [source for source in sources if source.id in source_ids]
    results = ask(project, chosen, ContextSourceRequest(query="all", scope=project.scope, limit=EVERYTHING))
    offers = prepare(CompileInputs(results=results, messages=(), input_tokens=ROOM, used_tokens=0))
    keys = [
        (results[number].source_id, candidate.record_id)
        for number, candidate in zip(offers.sources, offers.candidates, strict=True)
    ]
    return Material(dict(zip(keys, offers.tokens, strict=True)))


def evidence_of(project: Project, scenario: Scenario, material: Material) -> tuple[frozenset[Key], ...]:
    """Return what a question needs: for each document its chunks, for each other record itself.

    Raises:
        ProjectError: When the material lacks one of them, so that no budget could bring it in.
    """
    chunks: dict[str, set[Key]] = {}
    for chunk in project.chunks:
        key = ("rag", str(chunk.index))
        if key in material.tokens:
            chunks.setdefault(str(chunk.meta.get("document")), set()).add(key)
    needed = {
        ("document", document): frozenset(chunks.get(document, ())) for document in scenario.gold_documents
    }
    for record in scenario.gold:
        key = (record.source, record.record_id)
        needed[key] = frozenset([key] if key in material.tokens else [])
    for (kind, identifier), records in needed.items():
        if not records:
            raise ProjectError(
                f"{project.name}: question {scenario.id[:80]!r} needs the {kind[:80]} record "
                f"{identifier[:80]!r}, which no source offers in its scope.",
                remedy="Correct the question's evidence or its scope.",
                project=project.name,
            )
    return tuple(needed.values())


def ask(
    project: Project, sources: Sequence[ContextSource], request: ContextSourceRequest
) -> tuple[SourceResult, ...]:
    """Ask the sources what they knew when the project's newest memory was recorded, so that no clock counts.

    Raises:
        SourceError: When one fails; figures without it would be of something else.
    """
    times = [revision.recorded_at for record in project.memories for revision in record.revisions]
    dated = replace(request, recorded_as_of=max(times, default=None))
    results = run_sync(query_sources(sources, dated, time_limit=TIME_LIMIT))
    for result in results:
        if result.status == "failed":
            raise SourceError(
                f"{project.name}: the source {result.source_id!r} failed: {result.error}",
                remedy="Mend what it reads.",
                source_id=result.source_id,
            ) from result.error
    return results


class _AllAlike:
    """An embedder to which all texts mean the same, so that a search by meaning offers all there is."""

    model_id = "all-alike"
    weights_digest = "all-alike"
    dims = 1

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        del progress, signal
        return np.ones((len(texts), self.dims), dtype=np.float32)

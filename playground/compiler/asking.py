"""What a compiler asks its sources in one step, and what it makes of the answers.

Not pure: sources and the rewriting of a query meet the outside world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playground.compiler.querying import query_sources
from playground.compiler.refresh import build_query
from playground.compiler.rewriting import QUERY_REWRITE_FAILED, rewritten
from playground.compiler.settings import CompilerSettings
from playground.compiler.step_input import StepInput
from playground.compiler.values import ContextSource, ContextSourceRequest, PlacedEntry, SourceResult

__all__ = ["Asking"]


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the sources on behalf of one step.

    Attributes:
        settings: The compiler's.
        call: The step.
        used_tokens: What its request takes already, in tokens.
        attempt: How often this instance has tried to ask for the step, from 1; each try is charged apart.
        warn: Where a source, or the rewriting, reports what is worth knowing.
    """

    settings: CompilerSettings
    call: StepInput
    used_tokens: int
    attempt: int
    warn: Callable[[Mapping[str, Any]], None]

    def nobody(self) -> tuple[SourceResult, ...]:
        """Return a result a source that says that it was not asked."""
        return tuple(
            SourceResult(source_id=source.id, kind=source.kind, required=source.required, status="reused")
            for source in self.settings.sources
        )

    async def everybody(self, retrieval_pass: int) -> tuple[tuple[SourceResult, ...], bool]:
        """Ask all sources; also return whether there was something to ask for."""
        query = build_query(self.call.messages, self.call.working_memory)
        if query:
            query = await self._rewritten(query)
        request = self._request(query, str(retrieval_pass))
        return await self._answers(self.settings.sources, request), bool(query)

    async def for_mandatory(
        self,
        source_ids: frozenset[str],
        wanted: Sequence[PlacedEntry],
        retrieval_pass: int,
        results: tuple[SourceResult, ...],
    ) -> tuple[SourceResult, ...]:
        """Return ``results`` with the mandatory candidates that these sources offer now; no pass is spent.

        They are asked even where there is no query: nothing has to find what the model has loaded. Of their
        answers only mandatory candidates count; what they answered before in this step stays beside them.
        """
        sources = [source for source in self.settings.sources if source.id in source_ids]
        if not sources:
            return results
        query = build_query(self.call.messages, self.call.working_memory)
        request = replace(
            self._request(query, f"{retrieval_pass}/again"),
            wanted=frozenset((entry.source, entry.record_id) for entry in wanted),
        )
        answers = {
            answer.source_id: answer for answer in await self._answers(sources, request, even_blank=True)
        }
        return tuple(
            _with_mandatory(result, answers[result.source_id]) if result.source_id in answers else result
            for result in results
        )

    async def _rewritten(self, query: str) -> str:
        rewrite = self.settings.refresh.rewrite_query
        if rewrite is None:
            return query
        better, failure = await rewritten(
            query, rewrite, signal=self.call.signal, time_limit=self.settings.time_limit
        )
        if failure is not None:
            message = f"The query stays as it was: {failure}."
            self.warn({"type": QUERY_REWRITE_FAILED, "setting": "rewrite_query", "message": message})
        return better

    def _request(self, query: str, name: str) -> ContextSourceRequest:
        call, accounting = self.call, self.call.accounting
        if accounting is not None:
            attempt = "" if self.attempt == 1 else f"/attempt-{self.attempt}"
            accounting = {**accounting, "request_id": f"{call.run_id}/context/{call.step}/{name}{attempt}"}
        return ContextSourceRequest(
            query=query,
            scope=self.settings.scope,
            limit=self.settings.refresh.candidates_per_source,
            signal=call.signal,
            run_id=call.run_id,
            step=call.step,
            messages=call.messages,
            accounting=accounting,
            on_warning=self.warn,
        )

    async def _answers(
        self, sources: Sequence[ContextSource], request: ContextSourceRequest, *, even_blank: bool = False
    ) -> tuple[SourceResult, ...]:
        call, settings = self.call, self.settings
        hints = settings.share_hints(call.input_tokens - self.used_tokens, call.working_memory)
        return await query_sources(
            sources, request, hints=hints, time_limit=settings.time_limit, even_blank=even_blank
        )


def _with_mandatory(before: SourceResult, answer: SourceResult) -> SourceResult:
    """Return what a source answered in this step, with the mandatory candidates of its new answer."""
    mandatory = [candidate for candidate in answer.candidates if candidate.mandatory]
    if before.status != "ok":
        return replace(answer, candidates=tuple(mandatory))
    new = {candidate.record_id for candidate in mandatory}
    kept = [c for c in before.candidates if not (c.mandatory and c.record_id in new)]
    return replace(before, status=answer.status, error=answer.error, candidates=(*kept, *mandatory))

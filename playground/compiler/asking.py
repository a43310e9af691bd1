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
from playground.compiler.values import ContextSource, ContextSourceRequest, SourceResult

__all__ = ["Asking"]


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the sources on behalf of one step.

    Attributes:
        settings: The compiler's.
        call: The step.
        used_tokens: What its request takes already, in tokens.
        warn: Where a source, or the rewriting, reports what is worth knowing.
    """

    settings: CompilerSettings
    call: StepInput
    used_tokens: int
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
        self, source_ids: frozenset[str], retrieval_pass: int, results: tuple[SourceResult, ...]
    ) -> tuple[SourceResult, ...]:
        """Return ``results`` with the mandatory candidates that these sources offer now; no pass is spent.

        They are asked even where there is no query: nothing has to find what the model has loaded.
        """
        sources = [source for source in self.settings.sources if source.id in source_ids]
        if not sources:
            return results
        query = build_query(self.call.messages, self.call.working_memory)
        request = self._request(query, f"{retrieval_pass}/again")
        answers = {
            answer.source_id: replace(answer, candidates=tuple(c for c in answer.candidates if c.mandatory))
            for answer in await self._answers(sources, request, even_blank=True)
        }
        return tuple(answers.get(result.source_id, result) for result in results)

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
            accounting = {**accounting, "request_id": f"{call.run_id}/context/{call.step}/{name}"}
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

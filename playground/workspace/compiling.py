"""A project's question as a compile: what pages, the command line and notebooks have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextPackage, ContextSourceRequest, SourceResult
from playground.concurrency import run_sync
from playground.models import ModelSpec, keeps_tail
from playground.retrieval.search import SearchMode
from playground.tokens import TokenEstimator
from playground.workspace.project import Project
from playground.workspace.sources import project_sources

if TYPE_CHECKING:
    from playground.retrieval.embedding import Embedder

__all__ = ["ask_sources", "compile_answers", "compile_inputs", "compile_project"]


def ask_sources(
    project: Project,
    question: str | None = None,
    *,
    embedder: Embedder | None = None,
    mode: SearchMode = "hybrid",
    limit: int | None = None,
    embed_chunks: bool = True,
) -> tuple[SourceResult, ...]:
    """Ask the project's sources and return one result each; a failing one is a failed result.

    No budget is needed: a project's sources rank, and offer the best ``limit`` records whatever their share.

    Args:
        project: Whose records are searched.
        question: The project's own by default; a blank one skips every source.
        embedder: See ``project_sources``.
        mode: ``hybrid``, ``dense`` or ``lexical``.
        limit: Records that each source may offer; the project's figure by default.
        embed_chunks: See ``project_sources``.
    """
    asked = project.question if question is None else question
    messages = project.request_messages(asked)
    request = ContextSourceRequest(
        query=project.query(asked) if asked.strip() else "",
        scope=project.scope,
        limit=project.candidates_per_source if limit is None else limit,
        messages=messages,
    )
    sources = project_sources(project, embedder, mode, embed_chunks=embed_chunks)
    return run_sync(query_sources(sources, request))


def compile_inputs(
    project: Project,
    results: Sequence[SourceResult],
    question: str | None = None,
    *,
    model: ModelSpec | None = None,
    estimator: TokenEstimator | None = None,
) -> CompileInputs:
    """Return everything a compile of this question takes beside the budget.

    Args:
        project: Conversation, tools and working memory.
        results: What ``ask_sources`` returned.
        question: The project's own by default.
        model: The project's own by default.
        estimator: Counts the request too, its tool schemas included; the heuristic by default.
    """
    spec = model or project.model
    counter = estimator or TokenEstimator()
    messages = project.request_messages(question)
    overhead = counter.overhead(project.tools, provider=spec.provider)
    return CompileInputs(
        results=tuple(results),
        messages=messages,
        input_tokens=spec.input_tokens,
        used_tokens=counter.estimate(messages) + overhead,
        working_memory=project.working_memory,
        estimator=counter,
        tail_kept=keeps_tail(spec.model_id),
    )


def compile_project(
    project: Project,
    question: str | None = None,
    *,
    budget: ContextBudget | Mapping[str, Any] | None = None,
    embedder: Embedder | None = None,
    mode: SearchMode = "hybrid",
    limit: int | None = None,
    model: ModelSpec | None = None,
    estimator: TokenEstimator | None = None,
) -> ContextPackage:
    """Ask the sources and compile, in one call; the project's own budget by default.

    Raises:
        ContextBudgetExceededError: When mandatory content does not fit.
    """
    results = ask_sources(project, question, embedder=embedder, mode=mode, limit=limit)
    return compile_answers(project, results, question, budget=budget, model=model, estimator=estimator)


def compile_answers(
    project: Project,
    results: Sequence[SourceResult],
    question: str | None = None,
    *,
    budget: ContextBudget | Mapping[str, Any] | None = None,
    model: ModelSpec | None = None,
    estimator: TokenEstimator | None = None,
) -> ContextPackage:
    """Compile what ``ask_sources`` returned; for those who need the answers themselves too.

    Raises:
        ContextBudgetExceededError: When mandatory content does not fit.
    """
    inputs = compile_inputs(project, results, question, model=model, estimator=estimator)
    return compile_offers(prepare(inputs), project.budget if budget is None else budget)

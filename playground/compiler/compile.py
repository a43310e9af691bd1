"""One compile, readable from top to bottom: prepare, select, render, describe.

Pure and synchronous: without clock, randomness or I/O, so that equal input gives an equal package, down to
the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.description import describe
from playground.compiler.manifest import EstimatorKind, EstimatorName, Fallback, Refresh, estimator_kind_of
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.selection import Selection, mark_duplicates, select
from playground.compiler.values import ContextBlock, ContextPackage, PlacedEntry, SourceResult
from playground.errors import InvalidInputError, Phase
from playground.messages import Message
from playground.tokens import TokenEstimator
from playground.values import of_type
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["compile_context", "compile_offers", "fit_blocks", "foreign_package", "offers_of"]


def compile_context(
    *,
    results: Sequence[SourceResult],
    messages: Sequence[Message | Mapping[str, Any]],
    input_tokens: int,
    used_tokens: int,
    budget: ContextBudget | Mapping[str, Any] = DEFAULT_CONTEXT_BUDGET,
    working_memory: WorkingMemorySnapshot | Mapping[str, Any] | None = None,
    estimator: TokenEstimator | None = None,
    run_id: str = "",
    step: int = 0,
    retrieval_pass: int = 1,
    refresh: Refresh = "initial",
    placed: Sequence[PlacedEntry] = (),
    phase: Phase = "compile",
    redacted: bool = False,
    fallback: Fallback | None = None,
    tail_kept: bool = False,
    cache_prefix_changed: bool = False,
    estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None = None,
) -> ContextPackage:
    """Select candidates under a budget, render them as blocks and explain every choice. O(n log n).

    Args:
        results: What each source offers, in source order; ids are unique.
        messages: The request so far; only read, to see which earlier blocks still stand.
        input_tokens: What the model accepts: context window less output reserve, in tokens.
        used_tokens: What the request takes already: messages, tool schemas, framing, in tokens.
        budget: The knobs; a mapping is merged over the defaults.
        working_memory: Rendered as the tail of the request.
        estimator: Counts everything; the 3.6-characters heuristic by default.
        run_id: Recorded in the manifest.
        step: Model step, from 0.
        retrieval_pass: Retrieval pass, from 1; 0 before the first.
        refresh: Why the sources were asked.
        placed: What earlier packages put into the history.
        phase: Named by the error when mandatory content does not fit.
        redacted: Recorded: the step replaces a package that a forget redacted.
        fallback: Recorded; a failed optional source makes it ``source-failed``.
        tail_kept: Whether the host must keep this step's tail in the history.
        cache_prefix_changed: Recorded: the request no longer begins with the previous one.
        estimator_kind: Recorded: what the counts rest on; the estimator's own kind by default, and a bare
            name means that no usage calibrated it.

    Returns:
        Blocks (append first, tail last) and the manifest. Unless mandatory content is larger, the blocks'
        estimate never exceeds ``manifest.budget.context_tokens``.

    Raises:
        InvalidInputError: For malformed input.
        InvalidRequestError: When a required source failed.
        ContextBudgetExceededError: When mandatory content does not fit ``input_tokens - used_tokens``.
    """
    inputs = CompileInputs(
        results=results,
        messages=messages,
        input_tokens=input_tokens,
        used_tokens=used_tokens,
        working_memory=working_memory,  # type: ignore[arg-type]  # the inputs read plain data as a snapshot
        estimator=estimator or TokenEstimator(),
        run_id=run_id,
        step=step,
        retrieval_pass=retrieval_pass,
        refresh=refresh,
        placed=placed,
        phase=phase,
        redacted=redacted,
        fallback=fallback,
        tail_kept=tail_kept,
        cache_prefix_changed=cache_prefix_changed,
        estimator_kind=estimator_kind_of(estimator_kind),
    )
    return compile_offers(prepare(inputs), budget)


def compile_offers(
    offers: Offers, budget: ContextBudget | Mapping[str, Any] = DEFAULT_CONTEXT_BUDGET
) -> ContextPackage:
    """Compile prepared offers under one budget; what a slider or a sweep repeats.

    Raises:
        InvalidInputError: When the offers are not what ``prepare`` made, or the budget is malformed.
        ContextBudgetExceededError: When mandatory content does not fit.
    """
    of_type(offers, Offers, "What to compile")
    budget = ContextBudget.parse(budget)
    selection, blocks, selected_tokens = fit_blocks(offers, select(offers, budget))
    return ContextPackage(blocks, describe(offers, budget, selection, blocks, selected_tokens))


def offers_of(inputs: CompileInputs | Offers, package: ContextPackage) -> Offers:
    """Return what a package was selected from, for those who look at a compile afterwards.

    Raises:
        InvalidInputError: When the inputs or the package are something else, or hold other entries.
    """
    if not isinstance(inputs, CompileInputs | Offers):
        raise InvalidInputError(
            f"The inputs are a {type(inputs).__name__}.",
            remedy="Pass CompileInputs: a compiler's inputs() gives those of its last package.",
        )
    entries = of_type(package, ContextPackage, "The package").manifest.entries
    offers = inputs if isinstance(inputs, Offers) else prepare(inputs)
    if len(entries) != len(offers.memory.lines) + len(offers.candidates):
        raise foreign_package()
    return offers


def foreign_package() -> InvalidInputError:
    """Return the error that a package was compiled from something else."""
    return InvalidInputError(
        "The package was not compiled from these inputs.",
        remedy="Pass what it was compiled from, with the estimator calibrated as it was then.",
    )


def fit_blocks(offers: Offers, selection: Selection) -> tuple[Selection, tuple[ContextBlock, ...], int]:
    """Render, and drop what was admitted last while the whole is over the budget.

    Counts of whole pieces bound the count of the block for the heuristic, so that it never drops anything;
    a tokenizer may merge or split tokens across the border of two pieces.
    """
    limit = max(selection.context_tokens, offers.required_tokens)
    while True:
        blocks = offers.render(selection.records, selection.lines)
        tokens = offers.inputs.estimator.estimate([message for block in blocks for message in block.messages])
        smaller = selection.without_last(offers) if tokens > limit else None
        if smaller is None:
            return mark_duplicates(offers, selection), blocks, tokens
        selection = smaller

"""``playground compile``: the context of one model call, and why each record was selected or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playground.commands.projects import find_project
from playground.compiler.budget import ContextBudget
from playground.compiler.manifest import context_warnings
from playground.compiler.values import KINDS, ContextPackage, SourceResult
from playground.errors import EmbeddingUnavailableError, InvalidInputError
from playground.models import ModelEntry, find_model, input_cost
from playground.terminal import print_error, print_json, print_rich, print_xml, safe
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.tokens import TokenEstimator
from playground.values import LARGEST_WHOLE_NUMBER, shown

if TYPE_CHECKING:
    from rich.table import Table

    from playground.retrieval.embedding import Embedder
    from playground.retrieval.search import SearchMode
    from playground.workspace import Project

__all__ = ["compile_command"]

DEFAULT_PROJECT = "bank-support"
TITLE_LENGTH = 72  # code points of a record's title in the table
ENCODING = "o200k_base"  # counts for models whose vendor publishes no tokenizer


class Estimator(StrEnum):
    """What counts tokens."""

    HEURISTIC = "heuristic"
    TOKENIZER = "tokenizer"


class Mode(StrEnum):
    """How records are searched."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A compile and what it was made with."""

    project: Project
    question: str
    results: tuple[SourceResult, ...]
    package: ContextPackage
    entry: ModelEntry
    estimator: TokenEstimator


def compile_command(
    project: Annotated[
        str, typer.Option(help="Name of a sample or of an own project, or a project's folder.")
    ] = DEFAULT_PROJECT,
    question: Annotated[
        str | None, typer.Option(help="What the user asks; the project's own question by default.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model id; the project's model by default.")] = None,
    ratio: Annotated[float | None, typer.Option(help="Part of the free room, above 0 and at most 1.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Upper bound of the added context, in tokens.")] = None,
    working_memory_tokens: Annotated[
        int | None, typer.Option(help="Tokens of it for optional working memory.")
    ] = None,
    share: Annotated[
        list[str] | None, typer.Option(help=f"Share of a kind, repeatable: {'|'.join(KINDS)}=0.35.")
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="Records each source may offer.")] = None,
    estimator: Annotated[Estimator, typer.Option(help="What counts tokens.")] = Estimator.HEURISTIC,
    mode: Annotated[
        Mode | None, typer.Option(help="How records are searched; hybrid where the project has vectors.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
    as_xml: Annotated[bool, typer.Option("--xml", help="Print the rendered blocks.")] = False,
) -> None:
    """Compile the context of one model call and print why each record was selected or not."""
    if as_json and as_xml:
        raise InvalidInputError("--json and --xml were both given.", remedy="Choose one of them.")
    limits = {"--max-tokens": max_tokens, "--working-memory-tokens": working_memory_tokens}
    for option, value in (*limits.items(), ("--candidates", candidates)):
        _check_count(option, value, least=1 if option == "--candidates" else 0)
    changes = {"ratio": ratio, "max_tokens": max_tokens, "working_memory_tokens": working_memory_tokens}
    compiled = _compiled(
        project,
        question=question,
        model=model,
        budget={name: value for name, value in changes.items() if value is not None},
        shares=_shares(share or []),
        candidates=candidates,
        estimator=estimator,
        mode=mode,
    )
    for warning in context_warnings(compiled.package.manifest):
        print_error(f"Warning: {warning['message']}")
    if as_json:
        print_json(compiled.package.manifest.to_json())
    elif as_xml:
        print_xml(compiled.package.xml)
    else:
        _print_table(compiled)


def _compiled(
    name: str,
    *,
    question: str | None,
    model: str | None,
    budget: dict[str, Any],
    shares: dict[str, float],
    candidates: int | None,
    estimator: Estimator,
    mode: Mode | None,
) -> _Compiled:
    # Brings NumPy, which the help does not need.
    from playground.workspace import ask_sources, compile_answers  # noqa: PLC0415

    project = find_project(name).load()
    asked = project.question if question is None else question
    if not asked.strip():
        raise InvalidInputError("The question is empty.", remedy="Ask something with --question.")
    spec = project.model_for(model)
    entry = find_model(spec.model_id)
    own = project.budget.model_dump()
    merged = ContextBudget.parse({**own, **budget, "shares": {**own["shares"], **shares}})
    counter = _estimator(entry, estimator)
    searched, embedder = _search(project, project.query(asked), mode)
    results = ask_sources(project, asked, embedder=embedder, mode=searched, limit=candidates)
    package = compile_answers(project, results, asked, budget=merged, model=spec, estimator=counter)
    return _Compiled(project, asked, results, package, entry, counter)


def _check_count(option: str, value: int | None, *, least: int) -> None:
    if value is not None and not least <= value <= LARGEST_WHOLE_NUMBER:
        raise InvalidInputError(
            f"{option} is {shown(value)}.",
            remedy=f"Give a whole number, at least {least} and at most {LARGEST_WHOLE_NUMBER:,}.",
        )


def _estimator(entry: ModelEntry, estimator: Estimator) -> TokenEstimator:
    if estimator is Estimator.HEURISTIC:
        return TokenEstimator()
    return tokenizer_estimator(load_tokenizer(entry.tokenizer or ENCODING))


def _search(project: Project, query: str, mode: Mode | None) -> tuple[SearchMode, Embedder | None]:
    """Return how to search; the embedding model is loaded only when the search cannot do without."""
    from playground.retrieval.embedding import load_embedder  # noqa: PLC0415  # torch follows with the first text
    from playground.workspace import search_plan  # noqa: PLC0415

    wanted: SearchMode = (mode or (Mode.HYBRID if len(project.vectors) else Mode.LEXICAL)).value
    if search_plan(project, query, mode=wanted).mode == wanted:
        return wanted, None
    try:
        embedder = load_embedder()
        embedder.embed([query])
    except EmbeddingUnavailableError as error:
        print_error(f"Warning: {error} Words alone are searched.")
        return "lexical", None
    return wanted, embedder


def _shares(texts: Sequence[str]) -> dict[str, float]:
    shares = {}
    for text in texts:
        kind, _, number = text.partition("=")
        try:
            shares[kind.strip()] = float(number)
        except ValueError:
            raise InvalidInputError(
                f"--share {text[:80]!r} is no share.", remedy="Write kind=number, for example rag=0.5."
            ) from None
        if kind.strip() not in KINDS:
            raise InvalidInputError(
                f"--share names the unknown kind {kind[:80]!r}.", remedy=f"Use one of {', '.join(KINDS)}."
            )
    return shares


def _print_table(compiled: _Compiled) -> None:
    print_rich((safe(compiled.question), "bold"), (_summary(compiled), "dim"), (_table(compiled), None))


def _summary(compiled: _Compiled) -> str:
    from playground.views.words import money  # noqa: PLC0415  # the table's words are the app's

    manifest = compiled.package.manifest
    budget = manifest.budget
    selected = sum(1 for entry in manifest.entries if entry.selected)
    cost = input_cost(compiled.entry, budget.used_tokens + budget.selected_tokens)
    parts = [
        f"{budget.selected_tokens:,} of {budget.context_tokens:,} tokens",
        f"{selected} selected, {len(manifest.entries) - selected} not",
        f"counted by {compiled.estimator.name}",
        f"{money(cost)} of input on {compiled.entry.model_id}",
    ]
    return " · ".join(parts)


def _table(compiled: _Compiled) -> Table:
    from rich.table import Table  # noqa: PLC0415

    from playground.views.record_text import record_texts  # noqa: PLC0415

    texts = record_texts(compiled.results, compiled.project.working_memory, compiled.project.label)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "source", "record", "id", "score", "tokens", "reason"):
        table.add_column(
            name, justify="right" if name in {"score", "tokens"} else "left", no_wrap=True, overflow="ellipsis"
        )
    for entry in compiled.package.manifest.entries:
        table.add_row(
            "✓" if entry.selected else "·",
            safe(entry.source),
            safe(texts[(entry.source, entry.record_id)].title[:TITLE_LENGTH]),
            safe(entry.record_id),
            "" if entry.score is None else f"{entry.score:.3f}",
            f"{entry.tokens:,}",
            entry.reason,
            style=None if entry.selected else "dim",
        )
    return table

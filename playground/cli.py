"""``playground``: starts the app; ``playground compile`` prints one compile.

What is wrong is said in one line on the error stream, with the remedy, and ends with exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.manifest import context_warnings
from playground.compiler.offers import prepare
from playground.compiler.values import KINDS, ContextPackage, SourceResult
from playground.errors import EmbeddingUnavailableError, InvalidInputError, PlaygroundError
from playground.escaping import one_line, replace_forbidden
from playground.models import ModelEntry, ModelSpec, find_model, input_cost
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.tokens import TokenEstimator

if TYPE_CHECKING:
    from rich.table import Table

    from playground.retrieval.embedding import Embedder
    from playground.retrieval.search import SearchMode
    from playground.workspace import Project

__all__ = ["main"]

DEFAULT_PROJECT = "bank-support"
EXIT_ERROR = 2
INTERRUPTED = 130  # what shells report for Ctrl+C
PIPED_WIDTH = 160  # columns of a table that no terminal limits
TITLE_LENGTH = 72  # code points of a record's title in the table
ENCODING = "o200k_base"  # counts for models whose vendor publishes no tokenizer

# typer brings its own click from 0.20 on and raises that one's errors; this finds the right base for either.
_UsageError: type[Exception] = next(
    kind
    for kind in typer.BadParameter.__mro__
    if issubclass(kind, Exception) and kind.__name__ == "ClickException"
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0, 2 for errors, or 130 when interrupted."""
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except PlaygroundError as error:
        _print_error(f"Error: {error}")
        code = EXIT_ERROR
    except _UsageError as error:
        message = getattr(error, "format_message", error.__str__)()
        _print_error(f"Error: {message.rstrip('.')}. See playground --help.")
        code = EXIT_ERROR
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever reads the output has seen enough; Python would complain again when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    project: Annotated[str | None, typer.Option(help="Sample project to open.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; the first free one from 8501 by default.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Decide what goes into a model call. Without a command the app starts on this machine."""
    if context.invoked_subcommand is not None:
        return
    from playground.launch import launch  # noqa: PLC0415
    from playground.workspace import load_sample  # noqa: PLC0415

    if project is not None:
        load_sample(project)  # a wrong name is told here and not in a page
    launch(port=port, project=project, open_browser=not no_browser)


@app.command("compile")
def compile_command(
    project: Annotated[
        str, typer.Option(help="Name of a sample project, or a project's folder.")
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
        _print_error(f"Warning: {warning['message']}")
    if as_json:
        _print(compiled.package.manifest.to_json())
    elif as_xml:
        _print(compiled.package.xml)
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
    from playground.workspace import ask_sources, compile_inputs, load_project  # noqa: PLC0415

    project = load_project(name)
    asked = project.question if question is None else question
    if not asked.strip():
        raise InvalidInputError("The question is empty.", remedy="Ask something with --question.")
    entry, spec = _model(project, model)
    own = project.budget.model_dump()
    merged = ContextBudget.parse({**own, **budget, "shares": {**own["shares"], **shares}})
    counter = _estimator(entry, estimator)
    limit = project.candidates_per_source if candidates is None else candidates
    if limit < 1:
        raise InvalidInputError(f"--candidates is {limit}.", remedy="Let each source offer at least 1 record.")
    searched, embedder = _search(project, project.query(asked), mode)
    results = ask_sources(project, asked, embedder=embedder, mode=searched, limit=limit, model=spec)
    inputs = compile_inputs(project, results, asked, model=spec, estimator=counter)
    package = compile_offers(prepare(inputs), merged)
    return _Compiled(project, asked, results, package, entry, counter)


def _model(project: Project, model_id: str | None) -> tuple[ModelEntry, ModelSpec]:
    entry = find_model(model_id or project.model_id)
    if model_id is None or entry.model_id == project.model_id:
        return entry, project.model
    # Another model has its own window; the reserve goes with the task.
    wanted = project.max_output_tokens
    reserve = entry.max_output_tokens if wanted is None else min(wanted, entry.max_output_tokens)
    return entry, entry.spec(max_output_tokens=reserve)


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
        _print_error(f"Warning: {error} Words alone are searched.")
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
    from rich.console import Console  # noqa: PLC0415  # rich is for people only

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(_shown(compiled.question), style="bold")
    console.print(_summary(compiled), style="dim")
    console.print(_table(compiled))


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
            _shown(entry.source),
            _shown(texts[(entry.source, entry.record_id)].title[:TITLE_LENGTH]),
            _shown(entry.record_id),
            "" if entry.score is None else f"{entry.score:.3f}",
            f"{entry.tokens:,}",
            entry.reason,
            style=None if entry.selected else "dim",
        )
    return table


def _shown(text: str) -> str:
    """Make untrusted text safe for a terminal: no escape sequence, no line break."""
    plain = one_line(replace_forbidden(text))
    return "".join("\ufffd" if "\x7f" <= character <= "\x9f" else character for character in plain)


def _print(text: str) -> None:
    # As bytes, because the terminal's encoding may not know every character of a record.
    typer.echo(text.encode("utf-8", "replace"))


def _print_error(text: str) -> None:
    typer.echo(_shown(text).encode("utf-8", "replace"), err=True)


if __name__ == "__main__":
    main()

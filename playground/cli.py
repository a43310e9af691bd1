"""``playground``: starts the app; ``playground compile`` prints one compile, ``evaluate`` compares strategies.

What is wrong is said in one line on the error stream, with the remedy, and ends with exit code 2.

Records are untrusted text. The table shows nothing of them that could steer a terminal. JSON writes such
characters as escapes, which mean the same; XML does so on a terminal only, so that piped blocks are exact.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import bidirectional

import typer

from playground.compiler.budget import ContextBudget
from playground.compiler.manifest import context_warnings
from playground.compiler.values import KINDS, ContextPackage, SourceResult
from playground.errors import EmbeddingUnavailableError, InvalidInputError, InvalidRequestError, PlaygroundError
from playground.escaping import one_line, replace_forbidden
from playground.models import ModelEntry, find_model, input_cost
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.tokens import TokenEstimator
from playground.values import LARGEST_WHOLE_NUMBER, shown

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

# DEL, C1 controls, and the marks that embed, override or isolate a direction of writing.
_STEERING = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NOT_SHOWN = re.compile(f"[{_STEERING}]")
# C0 controls inside strings are escaped in any JSON; the rest is valid there and escaped all the same.
_JSON_ESCAPED = re.compile(f"[{_STEERING}\u2028\u2029]")
# A cell that was cut short lost the mark that ends its isolate.
_CUT_ISOLATE = re.compile("(\u2068[^\u2068\u2069\n…]*…)(?!\u2069)")
_ASCII_MARKS = str.maketrans({"✓": "+", "·": "-", "…": "~", "\u2068": None, "\u2069": None})

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
    except OSError as error:
        _print_error(f"Error: {_unwritable(error)}")
        code = EXIT_ERROR
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
    for odd in compiled.project.warnings:
        _print_error(f"Warning: {compiled.project.name}: {odd}")
    for warning in context_warnings(compiled.package.manifest):
        _print_error(f"Warning: {warning['message']}")
    if as_json:
        _print(_JSON_ESCAPED.sub(_json_escape, compiled.package.manifest.to_json()))
    elif as_xml:
        _print(_on_terminal(compiled.package.xml))
    else:
        _print_table(compiled)


@app.command("evaluate")
def evaluate_command(
    steps: Annotated[int | None, typer.Option(help="Model steps to play; the whole script by default.")] = None,
    window: Annotated[int | None, typer.Option(help="Context window, in tokens; at least 16,000.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens that may be added at once.")] = None,
    model: Annotated[str | None, typer.Option(help="Model id whose rules of placement hold.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, each step's too.")
    ] = False,
) -> None:
    """Play a long scripted task, without any model, and print what each strategy keeps in sight."""
    from playground.evaluation import evaluate  # noqa: PLC0415  # brings NumPy

    options: dict[str, Any] = {
        "steps": steps,
        "context_window": window,
        "max_tokens": max_tokens,
        "model_id": model,
    }
    report = evaluate(**{name: value for name, value in options.items() if value is not None})
    if as_json:
        _print(_JSON_ESCAPED.sub(_json_escape, report.to_json()))
        return
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for row in report.strategies:
        table.add_column(row.label, justify="right")
    for name, cells in report.lines():
        table.add_row(name, *cells)
    legend = "\n".join(f"{row.label}: {row.description}" for row in report.strategies)
    _print_rich((_shown(report.summary), "bold"), (table, None), (f"\n{legend}\n\n{report.caveat}", "dim"))


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
    from playground.workspace import ask_sources, compile_answers, load_project  # noqa: PLC0415

    project = load_project(name)
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
    _print_rich((_shown(compiled.question), "bold"), (_summary(compiled), "dim"), (_table(compiled), None))


def _print_rich(*parts: tuple[Table | str, str | None]) -> None:
    """Print parts, each with its style, for people."""
    from rich.console import Console  # noqa: PLC0415  # rich is for people only

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    # Captured, because rich would end the program by itself where the reader has gone.
    with console.capture() as captured:
        for part, style in parts:
            console.print(part, style=style)
    _print_plain(_CUT_ISOLATE.sub("\\1\u2069", captured.get()))


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
    """Make untrusted text safe for a terminal: no escape sequence, no line break, nothing that turns its order.

    Text of a script that runs from right to left is isolated, so that it does not turn its neighbours round.
    """
    plain = _NOT_SHOWN.sub("\ufffd", one_line(replace_forbidden(text)))
    turned = any(bidirectional(character) in {"R", "AL", "AN"} for character in plain)
    return f"\u2068{plain}\u2069" if turned else plain


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _on_terminal(xml: str) -> str:
    """Write what steers a terminal as numeric references there, which mean the same; piped output is exact."""
    if sys.stdout is None or not sys.stdout.isatty():
        return xml
    return _NOT_SHOWN.sub(lambda found: f"&#x{ord(found[0]):X};", xml)


def _print(text: str) -> None:
    # As bytes, because XML and JSON are UTF-8 whatever the terminal's encoding is.
    _write(text.encode("utf-8", "replace") + b"\n")


def _print_plain(text: str) -> None:
    """Print text for people in the encoding of the output; what it lacks is written as an escape."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "✓·…".encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII_MARKS)
    _write(text.encode(encoding, "backslashreplace"))


def _write(data: bytes) -> None:
    # Here and not in main, because click ends the program with 1 where the reader has gone.
    try:
        typer.echo(data, nl=False)
    except BrokenPipeError:
        _discard_output()  # whoever reads the output has seen enough
        raise typer.Exit from None
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> InvalidRequestError:
    _discard_output()
    reason = error.strerror or type(error).__name__
    return InvalidRequestError(f"The output cannot be written: {reason}.", remedy="Write it elsewhere.")


def _print_error(text: str) -> None:
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with suppress(OSError):  # there is nobody left to tell
        typer.echo(_shown(text).encode(encoding, "backslashreplace"), err=True)


def _discard_output() -> None:
    """Send what is still buffered nowhere; Python would complain again when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()

"""``playground prepare``: the request that a conversation comes to, what it costs, and where things went."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playground.commands import exits
from playground.concurrency import run_sync
from playground.errors import ContextOverflowError, InvalidInputError
from playground.terminal import print_error, print_json, print_rich, safe
from playground.values import whole_number

if TYPE_CHECKING:
    from rich.table import Table

    from playground.preparation import (
        AgentContext,
        ImportedConversation,
        PreparationEstimator,
        PreparedContext,
    )
    from playground.views.preparation import BudgetRow, PreparationReport, TokenizerCount
    from playground.views.preparation_groups import GroupRow

__all__ = ["prepare_command"]

NO_MODEL = "unspecified"  # no registered model: the window is given
ROW_LIMIT = 1_000  # groups in the table, and lines below it; people read no more
CONSUMERS = 3  # parts that are named where a request does not fit


class Estimator(StrEnum):
    """What counts tokens."""

    HEURISTIC = "heuristic"
    TOKENIZER = "tokenizer"


class Shape(StrEnum):
    """Whose request body is printed."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def prepare_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="CONVERSATION", help="A chat of OpenAI's or Anthropic's messages; - is the standard input."
        ),
    ],
    window: Annotated[int, typer.Option(help="The model's context window, in tokens.")],
    reserve: Annotated[int, typer.Option(help="Tokens of it that are kept for the answer.")] = 4_096,
    strategy: Annotated[str, typer.Option(help="What compacts a request that is too full.")] = "algorithmic",
    chat: Annotated[
        str | None, typer.Option(help="Which chat of a file with several: its id or its number.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model that the request is for.")] = NO_MODEL,
    tools: Annotated[str | None, typer.Option(help="A JSON file with definitions of further tools.")] = None,
    estimator: Annotated[Estimator, typer.Option(help="What counts tokens.")] = Estimator.HEURISTIC,
    prefix_ids: Annotated[
        bool, typer.Option("--prefix-ids", help="Keep apart calls of joined logs that share an id.")
    ] = False,
    export: Annotated[Shape | None, typer.Option(help="Print the request as this provider takes it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Prepare the request that answers a conversation, and print what it costs and what was compacted."""
    # The help needs neither the contexts nor the importers.
    from playground.commands.conversation_files import read_conversation, read_tools  # noqa: PLC0415
    from playground.preparation import AgentContext  # noqa: PLC0415

    if export is not None and as_json:
        raise InvalidInputError("--json and --export were both given.", remedy="Choose one of them.")
    imported = read_conversation(file, chat=chat, prefix_ids=prefix_ids)
    more_tools = [] if tools is None else read_tools(tools)
    for warning in imported.warnings:
        print_error(f"Warning: {warning}")
    counter = _counter(estimator)
    context = AgentContext(
        model=model,
        max_context_tokens=whole_number(window, "--window", least=1),
        response_reserve=whole_number(reserve, "--reserve"),
        strategy=strategy,
        estimator=counter,
    )
    given = _with_ids(imported)
    context.add_conversation(given)
    prepared = _prepared(context, more_tools)
    if export is not None:
        _print_body(prepared, export, model=model, max_tokens=reserve)
        return
    tokenizer = _tokenizer_count(prepared) if estimator is Estimator.HEURISTIC else None
    report = _report(context, given, prepared, counter, tokenizer)
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report)


def _counter(estimator: Estimator) -> PreparationEstimator:
    from playground.preparation import PreparationEstimator  # noqa: PLC0415

    if estimator is Estimator.HEURISTIC:
        return PreparationEstimator()
    from playground.tokenizers import load_tokenizer  # noqa: PLC0415

    tokenizer = load_tokenizer()
    return PreparationEstimator(tokenizer.count, name=tokenizer.name)


def _with_ids(imported: ImportedConversation) -> ImportedConversation:
    """Return a conversation whose items can be found again."""
    from dataclasses import replace  # noqa: PLC0415

    from playground.views.preparation_groups import with_ids  # noqa: PLC0415

    history = with_ids(imported.conversation)
    return replace(imported, conversation=history, current_input=with_ids(imported.current_input, len(history)))


def _prepared(context: AgentContext, tools: Sequence[dict[str, Any]]) -> PreparedContext:
    try:
        return run_sync(context.prepare(get_tools=lambda: [*context.tools.definitions(), *tools]))
    except ContextOverflowError as error:
        parts = ", ".join(f"{name} {tokens:,}" for name, tokens in error.get_top_consumers(CONSUMERS))
        print_error(f"Error: {error} The largest parts: {parts}.")
        raise typer.Exit(exits.ERROR) from None


def _print_body(prepared: PreparedContext, shape: Shape, *, model: str, max_tokens: int) -> None:
    from playground.preparation import export_anthropic, export_openai  # noqa: PLC0415

    export = export_openai if shape is Shape.OPENAI else export_anthropic
    body = export(prepared.input, model=model, max_tokens=max_tokens, tools=prepared.tools)
    print_json(json.dumps(body, ensure_ascii=False, indent=2))


def _report(
    context: AgentContext,
    given: ImportedConversation,
    prepared: PreparedContext,
    counter: PreparationEstimator,
    tokenizer: TokenizerCount | None,
) -> PreparationReport:
    from playground.preparation import WorkingMemoryPlugin  # noqa: PLC0415
    from playground.views.preparation import preparation_report  # noqa: PLC0415

    preparation, memory = context.last_preparation, context.plugins.get("working_memory")
    assert preparation is not None
    return preparation_report(
        given.conversation,
        given.current_input,
        after=[*context.conversation, *context.current_input],
        notes=memory.store.list() if isinstance(memory, WorkingMemoryPlugin) else (),
        prepared=prepared,
        preparation=preparation,
        estimator=counter,
        tokenizer=tokenizer,
    )


def _tokenizer_count(prepared: PreparedContext) -> TokenizerCount | None:
    """Count the same request by a tokenizer, where one is installed."""
    from playground.tokenizers import load_tokenizer  # noqa: PLC0415
    from playground.views.preparation import count_again  # noqa: PLC0415

    tokenizer = load_tokenizer()
    return None if tokenizer.origin == "heuristic" else count_again(prepared, tokenizer.count, tokenizer.name)


def _print_report(report: PreparationReport) -> None:
    lines = report.log[:ROW_LIMIT]
    print_rich(
        (safe(report.headline), "bold"),
        *_if_any(safe(report.error)),
        ("", None),
        (_budget_table(report.budget), None),
        ("", None),
        (_group_table(report.groups[:ROW_LIMIT]), None),
        *_if_any(_rest(len(report.groups) - ROW_LIMIT)),
        ("", None),
        ("Where it went" if lines else "Nothing was moved, dropped or cut.", "bold"),
        *[(_log_table(lines), None) for _ in lines[:1]],
        *_if_any(_rest(len(report.log) - ROW_LIMIT)),
    )


def _log_table(lines: Sequence[str]) -> Table:
    """Mark each line of the log: what a long one wraps to must not look like another."""
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row("-", safe(line))
    return table


def _if_any(line: str) -> list[tuple[str, str]]:
    return [(line, "dim")] if line else []


def _rest(number: int) -> str:
    return f"… and {number:,} more; --json has them all." if number > 0 else ""


def _budget_table(rows: Sequence[BudgetRow]) -> Table:
    table = _columns(("part", "tokens"), numbers={"tokens"})
    for row in rows:
        table.add_row(safe(row.name), f"{row.tokens:,}", style="bold" if row.is_sum else None)
    return table


def _group_table(rows: Sequence[GroupRow]) -> Table:
    table = _columns(("items", "group", "tokens", "outcome", ""), numbers={"tokens"})
    for row in rows:
        cells = (row.places, row.what, f"{row.tokens:,}", row.outcome, row.because)
        table.add_row(*map(safe, cells), style="dim" if row.outcome in {"moved", "removed"} else None)
    return table


def _columns(heads: Sequence[str], *, numbers: set[str]) -> Table:
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", overflow="fold")
    return table

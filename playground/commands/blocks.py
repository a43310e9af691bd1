"""``playground blocks``: which blocks of a file fit a budget, and why each is in or out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from playground.errors import InvalidInputError
from playground.terminal import print_error, print_json, print_rich, safe
from playground.values import shown, whole_number

if TYPE_CHECKING:
    from rich.table import Table

    from playground.blocks import CompiledBlocks, ContextBlock
    from playground.blocks import Estimator as BlockEstimator
    from playground.workspace.block_files import BlockFile

__all__ = ["blocks_command"]

ROW_LIMIT = 1_000  # blocks in the table; people read no more, and a table takes half a second for so many
ID_LENGTH = 160  # code points of an id in the table, as many as a piped line has columns


class Estimator(StrEnum):
    """What counts tokens."""

    APPROXIMATE = "approximate"
    HEURISTIC = "heuristic"
    TOKENIZER = "tokenizer"


def blocks_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Blocks as JSON, JSON Lines or CSV; - is the standard input.")
    ],
    budget: Annotated[
        int | None, typer.Option(help="Tokens that the blocks may cost; the file's own budget by default.")
    ] = None,
    pin: Annotated[
        list[str] | None, typer.Option(help="Id of a block that must be in; again for more.")
    ] = None,
    estimator: Annotated[Estimator, typer.Option(help="What counts tokens.")] = Estimator.APPROXIMATE,
    as_json: Annotated[bool, typer.Option("--json", help="Print messages and blocks as JSON.")] = False,
) -> None:
    """Select blocks under a budget, required and pinned ones first, and print why each is in or out."""
    from playground.blocks import compile_blocks  # noqa: PLC0415  # the help needs neither compiler nor parsers
    from playground.commands.block_files import read_block_file  # noqa: PLC0415

    given = read_block_file(file)
    for warning in given.warnings:
        print_error(f"Warning: {given.name}: {warning}")
    tokens = _budget(budget, given)
    pinned = [*given.pinned_optional_ids, *(pin or [])]
    name, counter = _counter(estimator)
    compiled = compile_blocks(given.blocks, budget_tokens=tokens, estimator=counter, pinned_optional_ids=pinned)
    _warn_of_unknown(pin or [], given.blocks)
    if as_json:
        print_json(compiled.to_json())
        return
    print_rich(
        (_summary(compiled, name), "bold"),
        (_table(compiled, given.blocks[:ROW_LIMIT], frozenset(pinned)), None),
        (_rest(len(given.blocks) - ROW_LIMIT), "dim"),
        (_stats(compiled), None),
    )


def _budget(option: int | None, given: BlockFile) -> int:
    if option is not None:
        return whole_number(option, "--budget", least=1)
    if given.budget_tokens is None:
        raise InvalidInputError(
            f"No budget was given, and {given.name} has none.", remedy="Add --budget and a number of tokens."
        )
    return whole_number(given.budget_tokens, f"{given.name}: budgetTokens", least=1)


def _counter(estimator: Estimator) -> tuple[str, BlockEstimator]:
    """Return the name of what counts, and the estimator itself."""
    if estimator is Estimator.APPROXIMATE:
        from playground.blocks import approximate_token_estimator  # noqa: PLC0415

        return estimator.value, approximate_token_estimator
    from playground.tokenizers import load_tokenizer, tokenizer_estimator  # noqa: PLC0415
    from playground.tokens import TokenEstimator  # noqa: PLC0415

    counter = TokenEstimator() if estimator is Estimator.HEURISTIC else tokenizer_estimator(load_tokenizer())
    return counter.name, counter


def _warn_of_unknown(pins: Iterable[str], blocks: Iterable[ContextBlock]) -> None:
    """The compiler passes over pinned ids of no block by rule; here somebody has mistyped one."""
    known = {block.id for block in blocks}
    for pin in dict.fromkeys(pins):
        if pin not in known:
            print_error(f"Warning: No block has the id {shown(pin)}; --pin changes nothing there.")


def _summary(compiled: CompiledBlocks, counted_by: str) -> str:
    included, omitted = len(compiled.included), len(compiled.omitted)
    return " · ".join(
        (
            f"{included:,} of {included + omitted:,} blocks",
            f"{compiled.estimated_tokens:,} of {compiled.budget_tokens:,} tokens",
            f"counted by {safe(counted_by)}",
        )
    )


def _rest(count: int) -> str:
    return f"… and {count:,} more; --json has them all.\n" if count > 0 else ""


def _table(compiled: CompiledBlocks, blocks: Iterable[ContextBlock], pinned: frozenset[str]) -> Table:
    """Return one row a block, in input order, with why it is in or out."""
    from rich.text import Text  # noqa: PLC0415  # rich is for people only

    from playground.views.blocks import block_outcome  # noqa: PLC0415
    from playground.views.words import shortened  # noqa: PLC0415

    included = {counted.id for counted in compiled.included}
    tokens = {counted.id: counted.estimated_tokens for counted in (*compiled.included, *compiled.omitted)}
    table = _columns(("", "id", "kind", "priority", "tokens", "reason"), numbers={"priority", "tokens"})
    for block in blocks:
        table.add_row(
            "✓" if block.id in included else "·",
            # Its column may be made narrower, and only that one: a long id leaves the others whole.
            Text(safe(shortened(block.id, ID_LENGTH)), no_wrap=True, overflow="ellipsis"),
            block.kind,
            f"{block.priority:.12g}",
            f"{tokens[block.id]:,}",
            block_outcome(block, included=block.id in included, pinned=block.id in pinned),
            style=None if block.id in included else "dim",
        )
    return table


def _stats(compiled: CompiledBlocks) -> Table:
    heads = ("kind", "included", "tokens", "omitted", "tokens")
    table = _columns(heads, numbers={"included", "tokens", "omitted"})
    for kind, *numbers in compiled.block_stats:
        table.add_row(kind, *(f"{number:,}" for number in numbers))
    return table


def _columns(heads: Iterable[str], *, numbers: set[str]) -> Table:
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", no_wrap=head != "id")
    return table

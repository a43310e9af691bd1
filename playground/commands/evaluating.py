"""``playground evaluate``: a long scripted task, and what each strategy keeps in sight of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from playground.models import find_model
from playground.terminal import print_json, print_rich, safe

__all__ = ["evaluate_command"]


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
        # Callers of evaluate may name a model of their own; here a mistyped one would change the rules.
        "model_id": None if model is None else find_model(model).model_id,
    }
    report = evaluate(**{name: value for name, value in options.items() if value is not None})
    if as_json:
        print_json(report.to_json())
        return
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for row in report.strategies:
        table.add_column(row.label, justify="right")
    for name, cells in report.lines():
        table.add_row(name, *cells)
    legend = "\n".join(f"{row.label}: {row.description}" for row in report.strategies)
    print_rich((safe(report.summary), "bold"), (table, None), (f"\n{legend}\n\n{report.caveat}", "dim"))

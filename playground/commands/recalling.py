"""``playground recall``: which share of what answers a project's labelled questions gets into a budget."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from playground.commands.compiling import Mode
from playground.commands.projects import find_project
from playground.terminal import print_json, print_rich, safe

__all__ = ["recall_command"]


class Joining(StrEnum):
    """How two rankings become one."""

    RRF = "rrf"
    CONVEX = "convex"


def recall_command(
    project: Annotated[
        list[str] | None,
        typer.Option(help="Project; again for more. All samples with labelled questions by default."),
    ] = None,
    tokens: Annotated[
        list[int] | None, typer.Option(help="Tokens that records can take; again for more.")
    ] = None,
    mode: Annotated[
        list[Mode] | None, typer.Option(help="How records are searched; again for more. All three by default.")
    ] = None,
    fusion: Annotated[
        Joining | None, typer.Option(help="How hybrid search joins two rankings of documents; rrf by default.")
    ] = None,
    neighbour_weight: Annotated[
        float | None, typer.Option(help="Weight of each neighbour of a past message; 0 switches smoothing off.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Search and compile for labelled questions, without any model, and print how much evidence gets in."""
    from playground.evaluation.recall import is_labelled, measure_recall  # noqa: PLC0415  # brings NumPy
    from playground.workspace import load_sample, sample_projects  # noqa: PLC0415

    names = list(dict.fromkeys(project or ()))
    projects = [find_project(name).load() for name in names] or [
        sample for sample in map(load_sample, sample_projects()) if any(map(is_labelled, sample.scenarios))
    ]
    options: dict[str, Any] = {
        "token_limits": tokens or None,
        "modes": [one.value for one in mode] if mode else None,
        "fusion": None if fusion is None else fusion.value,
        "neighbour_weight": neighbour_weight,
    }
    report = measure_recall(projects, **{name: value for name, value in options.items() if value is not None})
    if as_json:
        print_json(report.to_json())
        return
    from rich.table import Table  # noqa: PLC0415  # rich is for people only

    table = Table(box=None, pad_edge=False, header_style="bold")
    named = len(report.heads()) - len(report.token_limits)
    for position, head in enumerate(report.heads()):
        table.add_column(head, justify="left" if position < named else "right")
    for cells in report.lines():
        table.add_row(*map(safe, cells))
    notes = "\n".join(map(safe, report.notes))
    print_rich((safe(report.summary), "bold"), (table, None), (f"\n{notes}", "dim"))

"""``playground forget``: memories go from a project, from what was kept beside it and from the vector cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from playground.commands import exits
from playground.commands.projects import find_project
from playground.errors import InvalidRequestError
from playground.terminal import print_error, print_line

if TYPE_CHECKING:
    from playground.workspace.memories import Forgetting

__all__ = ["forget_command"]


def forget_command(
    project: Annotated[str, typer.Argument(help="Name of an own project, or a project's folder.")],
    ids: Annotated[list[str], typer.Argument(help="Ids of memories.", metavar="ID...")],
) -> None:
    """Forget memories for good: every revision, its vectors, and what kept exports hold of it."""
    place = find_project(project)
    if place.read_only:
        raise InvalidRequestError(
            f"{place.given} is a sample and read-only.", remedy="Forget in a project of your own."
        )
    outcome = place.forget(ids, now=time.time_ns() // 1_000_000)
    unknown = [identifier for identifier in dict.fromkeys(ids) if identifier not in outcome.ids]
    _print(place.given, outcome, unknown)
    if unknown:
        raise typer.Exit(exits.PARTLY if outcome.ids else exits.ERROR)


def _print(name: str, outcome: Forgetting, unknown: Sequence[str]) -> None:
    from playground.views.words import joined, plural  # noqa: PLC0415  # brings NumPy

    if outcome.ids:
        vectors = plural(len(outcome.vector_keys), "text")
        print_line(f"{name}: {joined(outcome.ids)} {'is' if len(outcome.ids) == 1 else 'are'} forgotten.")
        print_line(
            f"Gone are all revisions, the vectors of {vectors}, and what files kept in the project held."
        )
    for files, words in (
        (outcome.rewritten, "Rewritten without it"),
        (outcome.deleted, "Deleted, as it held it"),
    ):
        if files:
            print_line(f"{words}: {joined(files)}.")
    if outcome.left:
        print_error(f"Warning: the same text is still in {joined(outcome.left)}, for another reason.")
    if outcome.pending:
        print_error(
            "Warning: another program holds the vector cache; the vectors go when the project is next used."
        )
    for identifier in unknown:
        print_error(f"Error: {name} has no memory {identifier}.")

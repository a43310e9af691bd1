"""``playground import``: files of any kind, a store's memories, or a whole project join a project."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from playground.commands import exits
from playground.commands.import_files import Found, contents, find_files
from playground.commands.projects import Place, new_project, print_warnings
from playground.errors import DocumentError, InvalidInputError, InvalidRequestError
from playground.scope import MemoryScope, narrow
from playground.terminal import print_error, print_line
from playground.values import shown

if TYPE_CHECKING:
    from playground.workspace import Project

__all__ = ["import_command"]

NEW_SCOPE = MemoryScope(user_id="local")  # whose memories a project has that is made of files that do not say


class Kind(StrEnum):
    """As what files are read."""

    DOCUMENTS = "documents"
    MEMORIES = "memories"
    CHATS = "chats"
    SKILLS = "skills"


def import_command(
    project: Annotated[
        str, typer.Argument(help="Name of an own project, made when it is not there, or a folder like ./notes.")
    ],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; a project's archive or folder as a whole.")
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="As what files are read; by default their content says.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Read memories out of a store: an SQLite file, or postgresql://….")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Whose memories, where a store or a new project leaves it open: user_id=ada."),
    ] = None,
) -> None:
    """Add files to a project. Exits with 1 when some could not be read and the rest was added."""
    if not files and store is None:
        raise InvalidRequestError("Nothing is to be imported.", remedy="Name files, or a store with --store.")
    place = new_project(project)
    if place.read_only:
        raise InvalidRequestError(
            f"{place.given} is a sample and read-only.",
            remedy="Import into a project of your own: choose a name.",
        )
    found, errors = find_files(files or (), kind=None if kind is None else kind.value)
    if any(one.form == "project" for one in found):
        _take_over(place, found, alone=len(files or ()) == 1 and store is None)
        return
    _add(place, found, errors, store=store, asked=_scope(scope or ()))


def _scope(fields: Sequence[str]) -> MemoryScope:
    given = dict(field.partition("=")[::2] for field in fields)
    try:
        return MemoryScope.parse(given)
    except InvalidInputError:
        raise InvalidInputError(
            f"--scope {shown(' '.join(fields))} is no scope.",
            remedy=f"Write field=value; the fields are {', '.join(MemoryScope.model_fields)}.",
        ) from None


def _take_over(place: Place, found: Sequence[Found], *, alone: bool) -> None:
    """Make a project of the archive or the folder of one."""
    from playground.commands.import_report import told_files, told_project  # noqa: PLC0415  # brings NumPy
    from playground.workspace import load_project  # noqa: PLC0415
    from playground.workspace.archive import unpack_project  # noqa: PLC0415

    whole = next(one for one in found if one.form == "project")
    if not (place.new and alone):
        raise InvalidRequestError(
            f"{whole.name} is a whole project, which becomes a new one.",
            remedy="Import it alone, under a name that is not taken.",
        )
    if whole.path.is_dir():
        project = load_project(whole.path)
    else:
        errors: list[DocumentError] = []
        archives = [data for _, data in contents([whole], errors)]
        if errors:
            raise errors[0]
        project = unpack_project(archives[0], name=place.given if place.kind == "own" else "project")
    print_warnings(project)
    place.create(project)
    for line in (*told_files(found), told_project(place.given, project)):
        print_line(line)


def _add(
    place: Place, found: Sequence[Found], errors: list[DocumentError], *, store: str | None, asked: MemoryScope
) -> None:
    """Read everything first and add it in one change, so that nobody waits and nothing is added by half."""
    from playground.commands.import_history import read_recorded, scope_of  # noqa: PLC0415  # brings NumPy
    from playground.commands.import_reading import read_material  # noqa: PLC0415  # NumPy
    from playground.commands.import_report import (  # noqa: PLC0415
        told_additions,
        told_files,
        told_vectors,
        told_warnings,
    )
    from playground.workspace import Project  # noqa: PLC0415

    project = None if place.new else place.load()
    for line in told_files(found):
        print_line(line)
    scope = asked if project is None else narrow(project.scope, asked)
    recorded = read_recorded(found, store=store, scope=scope)
    if project is None:
        scope = scope_of(recorded, asked, NEW_SCOPE)
        project = Project(name=place.folder.name, title=place.folder.name, scope=scope)
    material = read_material(found, recorded, scope=project.scope)
    outcome = material.add_to(project, now=time.time_ns() // 1_000_000)
    after = outcome.project
    if outcome.changed:

        def change(now: Project) -> Project:
            nonlocal outcome
            if now.digest != project.digest:  # somebody else changed it meanwhile
                outcome = material.add_to(now, now=time.time_ns() // 1_000_000)
            return outcome.project if outcome.changed else now

        after = place.create(after) if place.new else place.change(change)
    made = project.scope if place.new and outcome.changed else None
    for line in told_additions(place.given, outcome.additions, made=made):
        print_line(line)
    if (line := told_vectors(place.given, after)) and (outcome.changed or not place.new):
        print_line(line)
    for warning in told_warnings(place.given, material, outcome, after):
        print_error(f"Warning: {warning}")
    problems = [*errors, *material.errors, *outcome.errors]
    for problem in problems:
        print_error(f"Error: {problem}")
    if problems:
        raise typer.Exit(exits.PARTLY if outcome.found else exits.ERROR)

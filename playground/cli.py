"""``playground``: starts the app, or runs one of its commands.

What is wrong is said in one line on the error stream, with the remedy, and ends with exit code 2; see
``playground.commands.exits``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from playground.commands import exits
from playground.commands.blocks import blocks_command
from playground.commands.compiling import compile_command
from playground.commands.embedding import embed_command
from playground.commands.evaluating import evaluate_command
from playground.commands.exporting import export_command
from playground.commands.forgetting import forget_command
from playground.commands.importing import import_command
from playground.commands.preparing import prepare_command
from playground.commands.projects import find_project
from playground.commands.recalling import recall_command
from playground.errors import InvalidRequestError, PlaygroundError
from playground.terminal import print_error, unwritable
from playground.values import shown

__all__ = ["main"]

# typer brings its own click from 0.20 on and raises that one's errors; this finds the right base for either.
_UsageError: type[Exception] = next(
    kind
    for kind in typer.BadParameter.__mro__
    if issubclass(kind, Exception) and kind.__name__ == "ClickException"
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command("blocks")(blocks_command)
app.command("compile")(compile_command)
app.command("embed")(embed_command)
app.command("evaluate")(evaluate_command)
app.command("export")(export_command)
app.command("forget")(forget_command)
app.command("import")(import_command)
app.command("prepare")(prepare_command)
app.command("recall")(recall_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0, 2 for errors, or 130 when interrupted."""
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except PlaygroundError as error:
        print_error(f"Error: {error}")
        code = exits.ERROR
    except _UsageError as error:
        message = getattr(error, "format_message", error.__str__)()
        context = getattr(error, "ctx", None)
        command = f"{context.info_name} " if context is not None and context.parent is not None else ""
        print_error(f"Error: {message.rstrip('.')}. See playground {command}--help.")
        code = exits.ERROR
    except (typer.Abort, KeyboardInterrupt):
        code = exits.INTERRUPTED
    except OSError as error:
        print_error(f"Error: {unwritable(error)}")
        code = exits.ERROR
    sys.exit(code if isinstance(code, int) else 0)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    project: Annotated[
        str | None, typer.Option(help="Name of the project to open, a sample or your own.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; the first free one from 8501 by default.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Decide what goes into a model call. Without a command the app starts on this machine."""
    if context.invoked_subcommand is not None:
        return
    from playground.launch import launch  # noqa: PLC0415

    if project is not None and find_project(project).kind == "folder":  # a wrong name is told here
        raise InvalidRequestError(
            f"The app opens projects by name, and {shown(project)} is a folder.",
            remedy="Take it over under a name first: playground import NAME FOLDER.",
        )
    launch(port=port, project=project, open_browser=not no_browser)

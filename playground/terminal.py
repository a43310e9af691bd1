"""Writing to a terminal, a pipe or a file: untrusted text, for people and for programs.

Nothing that is shown to people can steer their terminal. JSON writes such characters as escapes, which mean the
same; XML does so on a terminal only, so that piped blocks are exact.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from playground.errors import InvalidRequestError
from playground.escaping import one_line, replace_forbidden
from playground.views.direction import isolated

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["print_error", "print_json", "print_line", "print_rich", "print_xml", "safe", "unwritable"]

PIPED_WIDTH = 160  # columns of a table that no terminal limits

# DEL, C1 controls, and the marks that embed, override or isolate a direction of writing.
_STEERING = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NOT_SHOWN = re.compile(f"[{_STEERING}]")
# C0 controls inside strings are escaped in any JSON; the rest is valid there and escaped all the same.
_JSON_ESCAPED = re.compile(f"[{_STEERING}\u2028\u2029]")
# A cell that was cut short lost the mark that ends its isolate.
_CUT_ISOLATE = re.compile("(\u2068[^\u2068\u2069\n…]*…)(?!\u2069)")
_ASCII_MARKS = str.maketrans({"✓": "+", "·": "-", "…": "~", "\u2068": None, "\u2069": None})


def print_rich(*parts: tuple[Table | str, str | None]) -> None:
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


def print_line(text: str) -> None:
    """Print one line of untrusted text for people."""
    _print_plain(f"{safe(text)}\n")


def safe(text: str) -> str:
    """Make untrusted text safe for a terminal: no escape sequence, no line break, nothing that turns its order.

    Text of a script that runs from right to left is isolated, so that it does not turn its neighbours round.
    """
    return isolated(_NOT_SHOWN.sub("\ufffd", one_line(replace_forbidden(text))))


def print_json(text: str) -> None:
    """Print JSON with what steers a terminal as escapes, which mean the same."""
    _print(_JSON_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_xml(xml: str) -> None:
    """Print XML; on a terminal with what steers it as numeric references, which mean the same."""
    if sys.stdout is not None and sys.stdout.isatty():
        xml = _NOT_SHOWN.sub(lambda found: f"&#x{ord(found[0]):X};", xml)
    _print(xml)


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
        # Whoever reads the output has seen enough; the work that it tells of is done all the same.
        _discard_output()
    except OSError as error:
        raise unwritable(error) from error


def unwritable(error: OSError) -> InvalidRequestError:
    """Return what to say when the output takes nothing more, and drop what is still buffered."""
    _discard_output()
    reason = error.strerror or type(error).__name__
    return InvalidRequestError(f"The output cannot be written: {reason}.", remedy="Write it elsewhere.")


def print_error(text: str) -> None:
    """Print one line on the error stream."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with suppress(OSError):  # there is nobody left to tell
        typer.echo(safe(text).encode(encoding, "backslashreplace"), err=True)


def _discard_output() -> None:
    """Send what is still buffered nowhere; Python would complain again when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

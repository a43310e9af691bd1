"""Reading a project's files as hostile input: bounded, inside the folder, with errors that name the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from playground.errors import PlaygroundError, ProjectError
from playground.retrieval.json_records import finite_json

__all__ = ["ProjectFolder"]

SIZE_LIMIT = 200 * 1024 * 1024  # bytes of one file
_Value = TypeVar("_Value")


class ProjectFolder:
    """A folder whose files are read by fixed names; nothing in it can point outside.

    Args:
        path: The folder.
        name: What the project is called; the folder's name by default.

    Raises:
        ProjectError: When there is no such folder.
    """

    def __init__(self, path: Path, name: str = "") -> None:
        self.name = name or path.name or str(path)
        if not path.is_dir():
            raise ProjectError(
                f"There is no project folder {self.name!r}.",
                remedy="Choose a sample project or a folder with a project.json.",
                project=self.name,
            )
        self.root = path.resolve()
        self.contents: list[bytes] = []

    def error(self, message: str, remedy: str = "Correct the file or choose another project.") -> ProjectError:
        """Return the error to raise; it names the project."""
        return ProjectError(f"{self.name}: {message}", remedy=remedy, project=self.name)

    def file(self, name: str) -> Path | None:
        """Return a file's path, or ``None`` when it is not there.

        Raises:
            ProjectError: When it is a link that leads outside the folder, no file, or too large.
        """
        path = self.root / name
        if not path.exists():
            return None
        if not path.resolve().is_relative_to(self.root):
            raise self.error(f"{name} leads outside the project.", "Replace the link by the file itself.")
        if not path.is_file():
            raise self.error(f"{name} is not a file.")
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise self.error(f"{name} has {size:,} bytes, the limit is {SIZE_LIMIT:,}.", "Split the project.")
        return path

    def text(self, name: str) -> str | None:
        """Return a UTF-8 file's text, or ``None`` when it is not there.

        Raises:
            ProjectError: When it is not UTF-8, or empty: no part is saved as an empty file, so a crash or a
                full disk made it one, and the next save would drop it.
        """
        path = self.file(name)
        if path is None:
            return None
        data = path.read_bytes()
        self.contents.append(name.encode() + b"\0" + data)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.error(f"{name} is not UTF-8 (byte {error.start:,}).", "Save it as UTF-8.") from None
        if not text.strip():
            raise self.error(f"{name} is empty.", "Restore it, or delete it where nothing is to be there.")
        return text

    def json(self, name: str, kind: type[_Value], make_default: Callable[[], _Value]) -> _Value:
        """Return a JSON file's value, which must be a ``kind``; the default when the file is not there."""
        text = self.text(name)
        if text is None:
            return make_default()
        value = self._parsed(text, name)
        if not isinstance(value, kind):
            raise self.error(f"{name} does not hold a JSON {'object' if kind is dict else 'list'}.")
        return value

    def lines(
        self,
        name: str,
        read: Callable[[dict[str, Any]], _Value],
        *,
        newest: Callable[[Sequence[str]], int] | None = None,
    ) -> list[_Value]:
        """Return what is made of each object of a JSON Lines file; none when the file is not there.

        Args:
            name: The file.
            read: Makes a value of an object.
            newest: Says how many of the lines, which are not blank, are read at the end; all by default.
        """
        lines = [
            (number, line) for number, line in enumerate((self.text(name) or "").split("\n"), 1) if line.strip()
        ]
        if newest is not None:
            lines = lines[len(lines) - newest([line for _, line in lines]) :]
        return [self._line(f"{name}, line {number}", line, read) for number, line in lines]

    def checked(self, where: str, read: Callable[[], _Value]) -> _Value:
        """Return what ``read`` gives, or raise its complaint as one about this project."""
        try:
            return read()
        except ProjectError:
            raise
        except PlaygroundError as error:
            raise self.error(f"{where}: {error.problem}", error.remedy or "Correct the file.") from None
        except OSError:
            raise
        except Exception as error:  # values of any type stand in the file
            missing = f"the field {error} is missing" if isinstance(error, KeyError) else "malformed"
            raise self.error(f"{where}: {missing}.") from error

    def _line(self, where: str, line: str, read: Callable[[dict[str, Any]], _Value]) -> _Value:
        value = self._parsed(line, where)
        if not isinstance(value, dict):
            raise self.error(f"{where}: not a JSON object.")
        return self.checked(where, lambda: read(value))

    def _parsed(self, text: str, where: str) -> Any:
        try:
            return finite_json(text)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise self.error(f"{where} is not valid JSON: {reason}.") from None

"""Persistent instructions as a plugin: texts by key that stand in every request and are never compacted.

They are the host's: no tool writes them. They are kept in memory, and then saved with a session, or in a JSON
file, which is read anew before every change, and replaced whole.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground.durable import flush_folder
from playground.errors import InvalidInputError, StoreError
from playground.escaping import replace_surrogates
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.memory_entries import check_key
from playground.preparation.plugin_state import state_entries, versioned
from playground.preparation.ports import BasePlugin
from playground.values import shown

__all__ = ["PersistentInstructionsPlugin"]


class PersistentInstructionsPlugin(BasePlugin):
    """The plugin ``persistent_instructions``.

    Args:
        path: The JSON file, which need not exist; without one the texts are kept in memory.
        estimator: Counts for inspection.

    Raises:
        StoreError: When the file cannot be read or is damaged.
    """

    name = "persistent_instructions"

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, estimator: PreparationEstimator | None = None
    ) -> None:
        self._path = None if path is None else Path(path)
        self._estimator = estimator or PreparationEstimator()
        self._texts: dict[str, str] = {}
        self.reload()

    def reload(self) -> None:
        """Read the file again, if there is one.

        Raises:
            StoreError: When it cannot be read or is damaged; what was known stays then.
        """
        if self._path is not None:
            self._texts = _read(self._path)

    def set(self, key: str, text: str) -> None:
        """Write a text; one that is replaced keeps its place, a new one stands last.

        Raises:
            InvalidInputError: For a key that there cannot be, or a blank text.
            StoreError: When the file cannot be written; nothing was changed then.
        """
        self._change({check_key(key): _text(text, key)})

    def remove(self, key: str) -> bool:
        """Remove a text; whether there was one.

        Raises:
            StoreError: When the file cannot be written; nothing was changed then.
        """
        self.reload()
        if key not in self._texts:
            return False
        self._keep({name: text for name, text in self._texts.items() if name != key})
        return True

    def clear(self) -> None:
        """Remove all texts.

        Raises:
            StoreError: When the file cannot be written; nothing was changed then.
        """
        self._keep({})

    def get(self, key: str) -> str | None:
        """Return a text, None where there is none."""
        return self._texts.get(key)

    async def get_content(self) -> str | None:
        """Return all texts under their keys, None without any."""
        return self._content()

    def get_contents(self) -> dict[str, str]:
        """Return the texts by key."""
        return dict(self._texts)

    def get_token_size(self) -> int:
        """Count the content."""
        return self._estimator.text(self._content())

    def get_state(self) -> dict[str, Any]:
        """Return the texts for ``restore_state``; those in a file stay there."""
        texts = self._texts if self._path is None else {}
        return _state(texts)

    def restore_state(self, state: Any) -> None:
        """Become what ``get_state`` returned; a file is left as it is, however old the session.

        Raises:
            InvalidInputError: For malformed data or another version; nothing was changed then.
        """
        texts = _texts(state)
        if self._path is None:
            self._texts = texts

    def _change(self, texts: Mapping[str, str]) -> None:
        self.reload()
        self._keep({**self._texts, **texts})

    def _keep(self, texts: dict[str, str]) -> None:
        if self._path is not None:
            _replace(self._path, json.dumps(_state(texts), indent=1))
        self._texts = texts

    def _content(self) -> str | None:
        return "\n\n".join(f"## {key}\n{replace_surrogates(text)}" for key, text in self._texts.items()) or None


def _text(text: object, key: object) -> str:
    if isinstance(text, str) and text.strip():
        return text
    raise InvalidInputError(f"The instruction {shown(key)} is {shown(text)}.", remedy="Give a text.")


def _state(texts: Mapping[str, str]) -> dict[str, Any]:
    return versioned("entries", [{"key": key, "text": text} for key, text in texts.items()])


def _texts(state: Any) -> dict[str, str]:
    texts: dict[str, str] = {}
    for entry in state_entries(state, "entries", "persistent instructions"):
        if not isinstance(entry, Mapping):
            raise InvalidInputError(f"An instruction is {shown(entry)}.", remedy="Give it a key and a text.")
        key = check_key(entry.get("key"))
        texts[key] = _text(entry.get("text"), key)
    return texts


def _read(path: Path) -> dict[str, str]:
    try:
        return _texts(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(
            f"The instructions in {path.name} cannot be read: {error.strerror}.", store=path.name
        ) from None
    except (ValueError, RecursionError):
        raise StoreError(
            f"The instructions in {path.name} are damaged.", remedy="Mend or remove the file.", store=path.name
        ) from None


def _replace(path: Path, text: str) -> None:
    """Replace a file whole: a reader sees the old text or the new one, also after a crash."""
    name = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            name = file.name
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
        flush_folder(path.parent)
    except OSError as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise StoreError(
            f"The instructions in {path.name} cannot be written: {error.strerror}.", store=path.name
        ) from None

"""Finding an embedding model's files, and refusing those that would run code of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.model_hub import fetched_model
from playground.values import shown

__all__ = ["existing_folder", "fetched_folder", "refuse_foreign_code", "weight_files"]

NAME_LENGTH = 96  # characters, the hub's own limit
_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9][A-Za-z0-9_.-]*)?")
_TRUSTED = "sentence_transformers."
_CONFIGURATION = ("modules.json", "router_config.json", "config.json")
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")  # globs, because a recursive one does not follow linked folders


def existing_folder(name: str) -> Path | None:
    """Return the folder of that name, or ``None``: whatever is no possible path is no folder."""
    try:
        folder = Path(name).expanduser()
        return folder if name and folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, an unknown user, a NUL or surrogate
        return None


def fetched_folder(name: str, signal: CancelToken | None = None) -> Path:
    """Return the local folder of a model, fetching it once when ``name`` is a hub name.

    Raises:
        EmbeddingUnavailableError: When ``name`` is neither, or the model cannot be fetched.
        CallCancelledError: When the signal was cancelled.
    """
    if (folder := existing_folder(name)) is not None:
        if _has_model(folder):
            return folder
        raise EmbeddingUnavailableError(
            f"{name[-NAME_LENGTH:]!r} holds neither modules.json, config.json nor safetensors weights.",
            remedy="Give the folder of one sentence-transformers model.",
            model=name,
        )
    if len(name) > NAME_LENGTH or not _HUB_NAME.fullmatch(name):
        raise EmbeddingUnavailableError(
            f"{name[:NAME_LENGTH]!r} is neither a folder nor a model name.",
            remedy="Give an existing folder, or a name such as sentence-transformers/all-MiniLM-L6-v2.",
            model=name,
        )
    return fetched_model(name, signal)


def weight_files(folder: Path, name: str) -> list[Path]:
    """Return the safetensors files of a model folder, in a fixed order.

    Raises:
        EmbeddingUnavailableError: When there is none.
    """
    found = (path for path in folder.rglob("*.safetensors") if path.is_file())
    files = sorted(found, key=lambda path: path.relative_to(folder).as_posix())
    if not files:
        raise EmbeddingUnavailableError(
            f"The embedding model {name!r} has no safetensors weights.",
            remedy="Choose a model that is published as safetensors, or convert this one.",
            model=name,
        )
    return files


def refuse_foreign_code(folder: Path, name: str) -> None:
    """Look at every class that a model's files name, before the library imports any of them.

    Old releases of sentence-transformers import whatever a local ``modules.json`` names, code beside it
    included; this check does not rely on the release.

    Raises:
        EmbeddingUnavailableError: When a class is not sentence-transformers' own, or a file cannot be read.
    """
    for file in _CONFIGURATION:
        for path in sorted(path for depth in _DEPTHS for path in folder.glob(depth + file)):
            try:
                content = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError, RecursionError) as error:
                raise EmbeddingUnavailableError(
                    f"{file} of the embedding model {name!r} cannot be read ({type(error).__name__}).",
                    remedy="Fetch the model again, choose another, or search lexically.",
                    model=name,
                ) from error
            for kind in _named_classes(content):
                if not (isinstance(kind, str) and kind.startswith(_TRUSTED)):
                    raise EmbeddingUnavailableError(
                        f"The embedding model {name!r} wants to run code of its own: {shown(kind)}.",
                        remedy="Choose a model that is made of sentence-transformers' own modules.",
                        model=name,
                    )


def _has_model(folder: Path) -> bool:
    # Looked at before anything searches below: the folder may be a whole disk.
    try:
        named = any((folder / file).is_file() for file in ("modules.json", "config.json"))
        return named or any(folder.glob("*.safetensors"))
    except OSError:  # what may not be entered cannot be read as a model either
        return False


def _named_classes(content: Any) -> Iterator[Any]:
    if isinstance(content, list):
        yield from (item["type"] for item in content if isinstance(item, dict) and "type" in item)
    elif isinstance(content, dict) and isinstance(content.get("types"), dict):
        yield from content["types"].values()

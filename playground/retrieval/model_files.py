"""Finding an embedding model's files, on this machine or on the hub."""

from __future__ import annotations

import re
from pathlib import Path

from playground.errors import EmbeddingUnavailableError

__all__ = ["fetched_folder", "weight_files"]

# What a sentence-transformers model needs; other weights of the same model would be gigabytes for nothing.
_NEEDED = ["*.json", "*.txt", "*.model", "*.safetensors"]
_UNNEEDED = ["onnx/*", "openvino/*", "*.onnx"]
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")


def fetched_folder(name: str) -> Path:
    """Return the local folder of a model, fetching it once when ``name`` is a hub name.

    Raises:
        EmbeddingUnavailableError: When ``name`` is neither, or the model cannot be fetched.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_NAME.fullmatch(name):
        raise EmbeddingUnavailableError(
            f"{name!r} is neither a folder nor a model name.",
            remedy="Give an existing folder, or a name such as sentence-transformers/all-MiniLM-L6-v2.",
            model=name,
        )
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415  # only names that must be fetched need it

        # Names without an owner are those of the sentence-transformers project, as in its own library.
        full = name if "/" in name else f"sentence-transformers/{name}"
        return Path(snapshot_download(full, allow_patterns=_NEEDED, ignore_patterns=_UNNEEDED))
    except Exception as error:  # network, hub and disk faults come in many types
        raise EmbeddingUnavailableError(
            f"The embedding model {name!r} cannot be fetched ({type(error).__name__}).",
            remedy="Check the name and the network, choose a local folder or the default model, "
            "or search lexically.",
            model=name,
        ) from error


def weight_files(folder: Path, name: str) -> list[Path]:
    """Return the safetensors files of a model folder, in a fixed order.

    Raises:
        EmbeddingUnavailableError: When there is none.
    """
    files = sorted(folder.rglob("*.safetensors"), key=lambda path: path.relative_to(folder).as_posix())
    if not files:
        raise EmbeddingUnavailableError(
            f"The embedding model {name!r} has no safetensors weights.",
            remedy="Choose a model that is published as safetensors, or convert this one.",
            model=name,
        )
    return files

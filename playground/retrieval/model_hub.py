"""Fetching a model from the hub without ever hanging on it.

A hub may refuse, answer nothing, or drip a byte now and then, and the client library waits and tries again for
minutes. So every wait here happens in a thread of its own that is given up when nothing comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.redaction import redact

__all__ = ["fetched_model"]

REPLY_LIMIT = 8.0  # seconds the hub may take to say which files a model has
STALL_LIMIT = 60.0  # seconds a download may go without a new byte
LOOK_EVERY = 0.1  # seconds between two looks at the cancel token and at what has arrived
# What a sentence-transformers model needs; other weights of the same model would be gigabytes for nothing.
_NEEDED = ["*.json", "*.txt", "*.model", "*.safetensors"]
_UNNEEDED = ["onnx/*", "openvino/*", "*.onnx"]
_logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")


def fetched_model(name: str, signal: CancelToken | None = None) -> Path:
    """Return the local folder of the hub's model, fetching what is missing; else a copy fetched before.

    Args:
        name: ``owner/model``; names without an owner are those of the sentence-transformers project.
        signal: Stops the waiting.

    Raises:
        EmbeddingUnavailableError: When the hub does not give it and there is no earlier copy.
        CallCancelledError: When the signal was cancelled.
    """
    try:
        import huggingface_hub  # noqa: PLC0415  # only names that must be fetched need it
        from huggingface_hub import constants  # noqa: PLC0415
    except Exception as error:  # a broken installation fails in many ways
        raise EmbeddingUnavailableError(
            f"The hub's client cannot be imported ({type(error).__name__}: {redact(str(error))}).",
            remedy="Install huggingface-hub again, choose a local folder, or search lexically.",
            model=name,
        ) from error
    full = name if "/" in name else f"sentence-transformers/{name}"
    store = Path(constants.HF_HUB_CACHE) / f"models--{full.replace('/', '--')}"
    try:
        listing = _awaited(lambda: huggingface_hub.HfApi().model_info(full), REPLY_LIMIT, signal)
        return _awaited(
            lambda: _downloaded(full, listing), STALL_LIMIT, signal, arrived=lambda: _bytes_in(store)
        )
    except Exception as error:  # network, hub and disk faults come in many types
        if signal is not None:
            signal.raise_if_cancelled()
        if (earlier := _fetched_before(store)) is not None:
            _logger.warning("The hub gave no model (%s); a copy fetched before is used.", type(error).__name__)
            return earlier
        raise EmbeddingUnavailableError(
            f"The embedding model {name!r} cannot be fetched ({type(error).__name__}).",
            remedy="Check the name and the network, choose a local folder or the default model, "
            "or search lexically.",
            model=name,
        ) from error


def _downloaded(full: str, listing: Any) -> Path:
    from huggingface_hub import hf_hub_download  # noqa: PLC0415

    names = [file.rfilename for file in listing.siblings or ()]
    folder: Path | None = None
    # One after the other: the library's own pool of threads would be waited for when the interpreter ends.
    for file in filter(_is_needed, names):
        path = Path(hf_hub_download(full, file, revision=listing.sha))
        folder = path.parents[len(PurePosixPath(file).parts) - 1]
    if folder is None:
        raise FileNotFoundError("the model has no file that is needed")
    return folder


def _is_needed(file: str) -> bool:
    wanted = any(fnmatch(file, pattern) for pattern in _NEEDED)
    return wanted and not any(fnmatch(file, pattern) for pattern in _UNNEEDED)


def _fetched_before(store: Path) -> Path | None:
    copies = [folder for folder in store.glob("snapshots/*") if any(folder.rglob("*.safetensors"))]
    return max(copies, key=lambda folder: folder.stat().st_mtime, default=None)


def _bytes_in(store: Path) -> int:
    total = 0
    for path in store.glob("blobs/*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # renamed when it was complete; the next look finds it
            continue
    return total


def _awaited(
    work: Callable[[], _Result],
    limit: float,
    signal: CancelToken | None,
    *,
    arrived: Callable[[], int] = lambda: 0,
) -> _Result:
    """Run ``work`` in a daemon thread and give it up after ``limit`` seconds in which nothing arrived."""
    outcome: list[_Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001  # raised again below, in the thread that waits
            failure.append(error)

    thread = threading.Thread(target=run, name="model-hub", daemon=True)
    thread.start()
    known, since = arrived(), time.monotonic()
    while True:
        thread.join(LOOK_EVERY)
        if not thread.is_alive():
            break
        if signal is not None:
            signal.raise_if_cancelled()
        if (now := arrived()) != known:
            known, since = now, time.monotonic()
        elif time.monotonic() - since > limit:
            raise TimeoutError(f"nothing arrived for {limit:g} seconds")
    if failure:
        raise failure[0]
    return outcome[0]

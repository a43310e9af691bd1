"""What a process does once an embedding model is in it, so that the page stays quick beside it."""

from __future__ import annotations

import gc
import os
import sys
import threading

__all__ = ["make_room", "model_ready"]

_lock = threading.Lock()
_made = False


def make_room() -> None:
    """Leave one core to the page, and spare the garbage collector what the model brought; once a process.

    Streamlit collects all garbage after every run of a script. Over the modules and tensors of torch that takes
    a good part of a second, during which nothing is embedded and nothing is drawn; frozen objects are skipped.
    Without torch nothing happens.
    """
    global _made  # noqa: PLW0603  # one a process
    torch = sys.modules.get("torch")
    if torch is None:
        return
    with _lock:
        # The number holds for threads that compute later, and for the one that sets it.
        torch.set_num_threads(max(1, _cores() - 1))
        if not _made:
            gc.collect()
            gc.freeze()
            _made = True


def model_ready() -> bool:
    """Whether a model was loaded in this process."""
    return _made


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

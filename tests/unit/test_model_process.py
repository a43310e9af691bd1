"""Making room for the page beside a loaded model."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, os
from playground.app.model_process import make_room, model_ready
make_room()
assert not model_ready() and gc.get_freeze_count() == 0
import torch
cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
make_room()
assert model_ready() and gc.get_freeze_count() > 10_000
assert torch.get_num_threads() == max(1, cores - 1)
"""


def test_one_core_is_left_to_the_page_and_the_collector_skips_what_the_model_brought() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)

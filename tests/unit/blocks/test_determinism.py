from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
from playground.blocks import BLOCK_KINDS, ContextBlock, compile_blocks
blocks = [
    ContextBlock(f"b{n}", BLOCK_KINDS[n * 7 % 9], "s", "user", "é" * (n % 5) + "x" * n, n % 4, n % 11 == 0)
    for n in range(60)
]
pinned = {f"b{n}" for n in range(0, 60, 13)}
print(compile_blocks(blocks, budget_tokens=400, pinned_optional_ids=pinned).to_json())
"""


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    """Kinds and pinned ids go through sets."""
    digests = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
        assert done.stdout.count(b'"included"') == 1
        digests.add(hashlib.sha256(done.stdout).hexdigest())
    assert len(digests) == 1

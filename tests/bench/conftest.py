"""Figures of a bench: printed beside those recorded before, and written when ``RECORD_BENCH`` is set."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def record(request: pytest.FixtureRequest) -> Iterator[dict[str, float]]:
    """Collects the figures of ``test_<name>_bench.py``; they are kept in ``<name>_results.json`` beside it."""
    module = Path(str(request.path))
    results = module.with_name(f"{module.stem.removeprefix('test_').removesuffix('_bench')}_results.json")
    figures: dict[str, float] = {}
    yield figures
    known: dict[str, Any] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    before = known.get("figures", {})
    print(f"\n{'figure':<52}{'now':>12}{'recorded':>12}")
    for name, value in figures.items():
        print(f"{name:<52}{value:>12,.3f}{before.get(name, float('nan')):>12,.3f}")
    if os.environ.get("RECORD_BENCH"):
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
        data = {"machine": machine, "figures": {**before, **{k: round(v, 3) for k, v in figures.items()}}}
        results.write_text(json.dumps(data, indent=2) + "\n", "utf-8")

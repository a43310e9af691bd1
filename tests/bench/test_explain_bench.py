"""How long an explanation takes on the sample of support articles.

    python -m pytest tests/bench/test_explain_bench.py -m bench -s

Times are processor time of this process. The panel of what binds has to follow a slider, an explanation has to
come before a reader turns away; both are gated with room for a slower machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from playground.compiler.binding import binding_constraint
from playground.compiler.compile import compile_offers
from playground.compiler.explain import explain
from playground.compiler.offers import Offers, prepare
from playground.compiler.values import ContextPackage
from playground.workspace import ask_sources, compile_inputs, load_project

pytestmark = pytest.mark.bench

EXPLAINED = 40  # records, picked by a seed


def milliseconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return (time.process_time() - start) * 1_000


def sample(limit: int) -> tuple[Offers, ContextPackage]:
    project = load_project("bank-support")
    results = [replace(result, limit=limit) for result in ask_sources(project, limit=limit)]
    offers = prepare(compile_inputs(project, results))
    return offers, compile_offers(offers, project.budget)


@pytest.mark.parametrize(("limit", "candidates"), [(127, 200), (868, 941)])
def test_an_explanation_comes_at_once(limit: int, candidates: int, capsys: pytest.CaptureFixture[str]) -> None:
    offers, package = sample(limit)
    assert len(offers.candidates) == candidates
    out = [number for number, entry in enumerate(package.manifest.entries) if not entry.selected]
    picked = Random(candidates).sample(out, min(EXPLAINED, len(out)))
    times = [milliseconds(partial(explain, offers, package, number)) for number in picked]
    panel = min(milliseconds(partial(binding_constraint, offers, package)) for _ in range(5))
    with capsys.disabled():
        print(
            f"\n{candidates} candidates, {len(picked)} of {len(out)} explained: median "
            f"{statistics.median(times):,.0f} ms, slowest {max(times):,.0f} ms; what binds {panel:,.0f} ms"
        )
    assert statistics.median(times) < 500
    assert max(times) < 4_000
    assert panel < 200

from __future__ import annotations

import asyncio
import builtins
import copy
import itertools
import os
import random
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from playground import (
    ContextBudget,
    ContextCandidate,
    ContextPackage,
    Provenance,
    SourceResult,
    TokenEstimator,
    compile_context,
    create_working_memory,
)
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextSourceRequest, Kind
from tests.builders import compiled, offer

ROOT = Path(__file__).parents[3]


def scenario(**more: Any) -> ContextPackage:
    """A compile in which every rule has something to decide."""
    candidates = [
        ContextCandidate(
            f"r{i % 7}",
            f"text {i % 5} " * (i % 4 + 1),
            (i % 3) / 2,
            revision=i % 2 or None,
            tokens=i if i % 4 == 0 else None,
            provenance=Provenance("observed", ("tool", "user", f"k{i % 3}")),
            mandatory=i == 9,
        )
        for i in range(24)
    ]
    memory = create_working_memory(
        scope="s", goal="Goal.", constraints=["One.", "Two."], tasks={"list": ["A", "B"]}, now=5
    )
    return compile_context(
        results=[
            offer(*candidates[:12], source_id="one", query="q"),
            offer(*candidates[12:], source_id="two", kind="memory", limit=9),
            offer(source_id="three", kind="skills", status="failed", error=ValueError("no")),
        ],
        messages=[{"role": "user", "content": "How do I deploy?"}],
        **{"input_tokens": 2_000, "used_tokens": 9, "working_memory": memory, "run_id": "run", **more},
    )


def bytes_of(package: ContextPackage) -> bytes:
    return (package.manifest.to_json() + "\n" + package.xml).encode()


def test_r40_the_same_input_gives_the_same_bytes_every_time() -> None:
    first = bytes_of(scenario())
    assert all(bytes_of(scenario()) == first for _ in range(100))


def test_r40_an_estimator_that_is_used_again_gives_the_same_bytes() -> None:
    estimator = TokenEstimator(lambda messages: float(sum(len(str(m.content).split()) for m in messages)))
    first = bytes_of(scenario(estimator=estimator))
    assert bytes_of(scenario(estimator=estimator)) == first


OUTSIDE: list[tuple[Any, str]] = [
    *((time, name) for name in ("time", "time_ns", "monotonic", "perf_counter", "localtime", "gmtime")),
    *((random, name) for name in ("random", "randint", "choice", "shuffle", "getrandbits", "seed")),
    *((os, name) for name in ("urandom", "getenv", "listdir", "stat", "open", "getpid")),
    (uuid, "uuid4"),
    (builtins, "open"),
    (builtins, "print"),
    (builtins, "input"),
    (socket, "socket"),
    (socket, "create_connection"),
    (subprocess, "Popen"),
]


def test_r41_a_compile_touches_no_clock_randomness_environment_file_or_network() -> None:
    first = bytes_of(scenario())

    def refuse(*args: object, **named: object) -> Any:
        raise AssertionError("a compile reached outside")

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in OUTSIDE:
            patch.setattr(owner, name, refuse)
        second = bytes_of(scenario())
    assert second == first


class DelayedSource:
    """Answers after a while; the order of the answers is what the test turns round."""

    kind: Kind = "rag"
    required = False

    def __init__(self, number: int, delay: float, log: list[int]) -> None:
        self.id = f"source-{number}"
        self._number, self._delay, self._log = number, delay, log

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        await asyncio.sleep(self._delay)
        self._log.append(self._number)
        return [ContextCandidate(f"{self._number}-{i}", f"text {self._number} {i}", 0.5) for i in range(3)]


def test_r42_the_order_in_which_sources_answer_does_not_matter() -> None:
    def run(delays: Sequence[float]) -> tuple[list[int], bytes]:
        log: list[int] = []
        sources = [DelayedSource(i, delay, log) for i, delay in enumerate(delays)]
        results = asyncio.run(query_sources(sources, ContextSourceRequest("q")))
        return log, bytes_of(compiled(*results, context_tokens=150))

    forward, backward = run([0.0, 0.02, 0.04]), run([0.04, 0.02, 0.0])
    assert forward[0] == [0, 1, 2]
    assert backward[0] == [2, 1, 0]
    assert forward[1] == backward[1]


def test_r43_nothing_that_goes_in_is_changed() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}], "providerMetadata": {"a": [1]}}]
    budget = {"ratio": 0.5, "shares": {"rag": 0.2}}
    candidates = [ContextCandidate(str(i), f"text {i}", i) for i in range(5)]
    results = [offer(*candidates)]
    memory = create_working_memory(scope="s", goal="g", constraints=["c"], now=1)
    before = copy.deepcopy((messages, budget, candidates, results, memory))
    compile_context(
        results=results,
        messages=messages,
        input_tokens=900,
        used_tokens=0,
        budget=budget,
        working_memory=memory,
    )
    assert (messages, budget, candidates, results, memory) == before


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (ContextCandidate("a", "b", 1.0), "score"),
        (Provenance("asserted"), "origin"),
        (SourceResult("a", "rag"), "candidates"),
        (ContextBudget(), "ratio"),
        (create_working_memory(scope="s", now=0), "goal"),
    ],
)
def test_r43_the_values_that_go_in_are_frozen(value: object, name: str) -> None:
    with pytest.raises((AttributeError, ValueError)):
        setattr(value, name, getattr(value, name))


def test_r43_a_list_that_grows_after_the_compile_does_not_reach_the_package() -> None:
    candidates = [ContextCandidate("a", "text", 1.0)]
    result = SourceResult("rag", "rag", candidates=candidates)  # type: ignore[arg-type]  # lists happen
    candidates.append(ContextCandidate("b", "more", 1.0))
    assert [entry.record_id for entry in compiled(result).manifest.entries] == ["a"]


_SCRIPT = """
import hashlib
from tests.unit.compiler.test_determinism import bytes_of, scenario
print(hashlib.sha256(bytes_of(scenario())).hexdigest())
"""


def test_r44_the_hash_seed_does_not_matter() -> None:
    def run(seed: int) -> str:
        env = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=env, cwd=ROOT, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    digests = {run(seed) for seed in range(5)}
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_r45_permuting_the_candidates_of_a_source_changes_nothing() -> None:
    candidates = [
        ContextCandidate("a", "one", 0.5),
        ContextCandidate("a", "two", 0.5),
        ContextCandidate("a", "one", 0.5, tokens=90),
        ContextCandidate("a", "one", 0.5, query="q", revision=1),
        ContextCandidate("b", "one", 0.5, provenance=Provenance("asserted", ("host",))),
    ]
    packages = {
        bytes_of(compiled(offer(*order), context_tokens=110)) for order in itertools.permutations(candidates)
    }
    assert len(packages) == 1


class CalibrationIsForbidden(TokenEstimator):
    """Says so when somebody calibrates it."""

    def calibrate(self, actual: float, estimated: float, *, model_id: str | None = None) -> None:
        raise AssertionError("a compile calibrated its estimator")


def test_r46_a_compile_never_calibrates() -> None:
    estimator = CalibrationIsForbidden()
    assert bytes_of(scenario(estimator=estimator)) == bytes_of(scenario())
    assert estimator.factor == 1.0


def test_r212_one_estimator_counts_messages_records_and_lines() -> None:
    seen: list[str] = []

    def count(messages: Sequence[Any]) -> float:
        seen.extend(str(message.content) for message in messages)
        return float(sum(len(str(message.content)) for message in messages))

    compiled(
        offer(ContextCandidate("a", "marker-record", 1.0)),
        working_memory=create_working_memory(scope="s", goal="marker-goal", now=0),
        estimator=TokenEstimator(count),
    )
    assert any("marker-record" in text for text in seen)
    assert any("marker-goal" in text for text in seen)


def test_r47_the_manifest_has_one_spelling() -> None:
    package = scenario()
    text = package.manifest.to_json()
    keys: list[str] = []
    for found in text.split('"entries":[{')[1].split("}")[0].split(","):
        keys.append(found.split(":")[0].strip('"'))
    assert keys[:3] == ["source", "kind", "recordId"]
    assert ": " not in text.split('"message"')[0]
    assert "NaN" not in text
    assert text.encode("utf-8").decode("utf-8") == text


def test_r47_numbers_have_one_form_on_every_platform() -> None:
    scores: list[tuple[float, str]] = [
        (0.1, "0.1"),
        (1, "1.0"),
        (-0.0, "0.0"),
        (1e-07, "1e-07"),
        (1 / 3, "0.3333333333333333"),
    ]
    for score, written in scores:
        text = compiled(offer(ContextCandidate("a", "b", score))).manifest.to_json()
        assert f'"score":{written}' in text

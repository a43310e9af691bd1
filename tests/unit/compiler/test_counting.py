"""Requirements M of the estimator, held through the whole compiler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from playground import ContextCandidate, ContextCompiler, TokenEstimator, create_working_memory
from playground.compiler.values import ContextSourceRequest, Kind
from playground.messages import Message, text_of
from tests.builders import compiled

MODEL = {"provider": "anthropic", "model_id": "a-model", "context_window": 200_000, "max_output_tokens": 8_000}
TOOL = {"name": "search", "description": "marker-tool", "parameters": {"type": "object"}}


class Facts:
    """A source of one record."""

    id = "memory"
    kind: Kind = "memory"
    required = False

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        return [ContextCandidate("a", "marker-record", 1.0)]


def stepped(compiler: ContextCompiler, number: int = 0, **more: Any) -> Any:
    step: dict[str, Any] = {"messages": [{"role": "user", "content": "marker-message"}], "model": MODEL, **more}
    return compiler.before_model_call_sync(run_id="r", step=number, **step).manifest


def test_r212_one_shared_estimator_counts_messages_records_lines_and_schemas() -> None:
    seen: list[str] = []

    def count(messages: Sequence[Message]) -> float:
        seen.extend(map(text_of, messages))
        return float(sum(len(text_of(message)) for message in messages))

    estimator = TokenEstimator(count)
    schema = {"title": "marker-schema"}
    overhead = estimator.overhead([TOOL], schema, "anthropic")
    memory = create_working_memory(scope="s", goal="marker-goal", now=0)
    compiler = ContextCompiler(sources=[Facts()], estimator=estimator)
    manifest = stepped(compiler, working_memory=memory, overhead_tokens=overhead)
    for marker in ("message", "record", "goal", "tool", "schema"):
        assert any(f"marker-{marker}" in text for text in seen), marker
    assert overhead == len(json.dumps(TOOL, separators=(",", ":"))) + len('{"title":"marker-schema"}') + 346
    assert manifest.budget.used_tokens == len("marker-message") + overhead
    blocks = [text for text in seen if text.startswith("<deuz_")]
    assert manifest.budget.selected_tokens in {len(one) + len(two) for one in blocks for two in blocks}


def test_r212_the_calibration_reaches_every_count() -> None:
    plain, doubled = TokenEstimator(), TokenEstimator()
    doubled.calibrate(10_000, 1_000)
    memory = create_working_memory(scope="s", goal="g" * 360, now=0)
    one, two = (
        stepped(ContextCompiler(sources=[Facts()], estimator=estimator), working_memory=memory)
        for estimator in (plain, doubled)
    )
    for counted, twice in zip(one.entries, two.entries, strict=True):
        assert 2 * counted.tokens - 1 <= twice.tokens <= 2 * counted.tokens
    assert two.budget.used_tokens == round(2 * (4 + len("marker-message") / 3.6))
    assert two.budget.selected_tokens > 1.9 * one.budget.selected_tokens
    assert two.budget.frame_tokens > one.budget.frame_tokens or one.budget.frame_tokens == 0


def test_r215_the_kind_of_the_options_stands_until_a_step_says_otherwise() -> None:
    compiler = ContextCompiler(sources=[], estimator_kind="provider")
    told = stepped(compiler, 1, estimator_kind={"kind": "tokenizer", "calibrated": True})
    kinds = [stepped(compiler, 0).estimator, told.estimator, stepped(compiler, 2).estimator]
    assert [(kind.kind, kind.calibrated) for kind in kinds] == [
        ("provider", False), ("tokenizer", True), ("provider", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("estimator", "kind"), [(TokenEstimator(), "heuristic"), (TokenEstimator(lambda _: 5.0), "tokenizer")]
)
def test_r215_without_one_the_manifest_says_what_the_estimator_is(estimator: TokenEstimator, kind: str) -> None:
    compiler = ContextCompiler(sources=[], estimator=estimator)
    before = stepped(compiler, 0).estimator
    estimator.calibrate(-1, 100)
    estimator.calibrate(130, 100)
    after = stepped(compiler, 1).estimator
    assert (before.kind, before.calibrated) == (kind, False)
    assert (after.kind, after.calibrated) == (kind, True)


def test_r217_a_tokenizer_that_fails_now_and_then_does_not_stop_a_step() -> None:
    calls = 0

    def count(messages: Sequence[Message]) -> float:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            raise RuntimeError("cannot")
        return float("nan") if calls % 3 == 1 else 4.0 + len(text_of(messages[0])) / 3.6

    compiler = ContextCompiler(sources=[Facts()], estimator=TokenEstimator(count))
    manifest = stepped(compiler, working_memory=create_working_memory(scope="s", goal="g", now=0))
    assert calls > 3
    assert manifest == compiled_by_heuristic(manifest)


def compiled_by_heuristic(manifest: Any) -> Any:
    """The manifest of the same step by the heuristic, but for the estimator's name."""
    compiler = ContextCompiler(sources=[Facts()], estimator_kind=manifest.estimator)
    return stepped(compiler, working_memory=create_working_memory(scope="s", goal="g", now=0))


def test_section_10_a_short_question_leaves_room_for_the_whole_default_budget() -> None:
    question = [Message("user", "How do I deploy?")]
    used = TokenEstimator().estimate(question)
    package = compiled(messages=question, input_tokens=192_000, used_tokens=used)
    assert (used, 192_000 - used, package.manifest.budget.context_tokens) == (9, 191_991, 8_192)
    for ratio, tokens in ((0.042669, 8_192), (0.042668, 8_191)):
        narrow = compiled(messages=question, input_tokens=192_000, used_tokens=used, budget={"ratio": ratio})
        assert narrow.manifest.budget.context_tokens == tokens

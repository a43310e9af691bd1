"""The evaluation: equal figures everywhere, the compiler where it should stand, and faults that show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from playground.compiler.placement import is_compiler_block
from playground.errors import InvalidInputError
from playground.escaping import escape_text
from playground.evaluation import STRATEGIES, EvaluationReport, StepFigures, StrategyFigures, evaluate
from playground.evaluation.compaction import compacted
from playground.evaluation.comparison import setting_of
from playground.evaluation.compiler_host import CompilerHost, CompilerRestarted
from playground.evaluation.hosts import SystemMessage
from playground.evaluation.measuring import measure
from playground.evaluation.moments import Moment, Sent, Setting, Strategy
from playground.evaluation.playing import PlayedStep, play
from playground.evaluation.report import CAVEAT, FIGURES
from playground.evaluation.strategies import DESCRIPTIONS, LABELS, StrategyName, make_strategy
from playground.evaluation.task import load_task
from playground.evaluation.world import World
from playground.messages import Message, ReasoningPart, as_messages, message_to_json, text_of
from playground.tokens import TokenEstimator

ROOT = Path(__file__).resolve().parents[2]
TASK = load_task()
FORGOTTEN = TASK.records["memory/night-number"]
COMPILERS: tuple[StrategyName, ...] = ("compiler", "compiler-restarted", "compiler-default-passes")
OTHERS: tuple[StrategyName, ...] = (
    "first-message",
    "system-message",
    "system-message-with-state",
    "last-messages",
)


def played_with(
    kind: type[CompilerHost | SystemMessage], model_id: str = "claude-opus-5-5"
) -> tuple[PlayedStep, ...]:
    world = World(TASK)
    strategy: Strategy = kind(setting_of(model_id=model_id), world)
    return play(TASK, strategy, world)


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return evaluate()


@pytest.fixture(scope="module")
def compiled() -> tuple[PlayedStep, ...]:
    return played_with(CompilerHost)


def figures(played: Sequence[PlayedStep]) -> tuple[StrategyFigures, tuple[StepFigures, ...]]:
    return measure(TASK, "compiler", played)


def whole_text(messages: Sequence[Message]) -> str:
    return "\n".join(str(message_to_json(message)) for message in messages)


def test_figures_are_equal_on_a_second_run() -> None:
    few: tuple[StrategyName, ...] = ("compiler", "system-message")
    assert evaluate(strategies=few, steps=20).to_json() == evaluate(strategies=few, steps=20).to_json()


def test_figures_do_not_depend_on_the_hash_seed_or_the_process(report: EvaluationReport) -> None:
    """R44, over a whole run; this process draws its own seed."""
    environment = {**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run(
        [sys.executable, "-m", "playground", "evaluate", "--json"],
        env=environment, capture_output=True, check=True,
    )  # fmt: skip
    assert EvaluationReport.from_json(printed.stdout) == report


def test_requests_are_equal_down_to_the_bytes(compiled: tuple[PlayedStep, ...]) -> None:
    again = played_with(CompilerHost)
    assert [step.sent.request for step in again] == [step.sent.request for step in compiled]


def test_the_compiler_keeps_more_in_sight_than_what_came_before_it(report: EvaluationReport) -> None:
    best = report.figures("compiler")
    assert best.retrieval_preserved is not None
    assert best.retrieval_preserved > 0.9
    assert best.decisions_preserved == 1
    for name in OTHERS:
        other = report.figures(name)
        assert other.retrieval_preserved is not None
        assert other.decisions_preserved is not None
        assert best.retrieval_preserved > other.retrieval_preserved
        assert best.decisions_preserved >= other.decisions_preserved
    without_state = [report.figures(name).decisions_preserved for name in OTHERS if "state" not in name]
    assert all(share is not None and share < 1 for share in without_state)


def test_the_compiler_leaves_more_of_a_prompt_cache_than_writing_into_the_system_message(
    report: EvaluationReport,
) -> None:
    best = report.figures("compiler")
    for name in ("system-message", "system-message-with-state", "last-messages"):
        assert best.unchanged_share > report.figures(name).unchanged_share + 0.1
        assert best.cache_prefix_changes < report.figures(name).cache_prefix_changes
    assert best.passes < report.figures("system-message").passes


def test_nothing_is_found_where_nothing_is_retrieved(report: EvaluationReport) -> None:
    """The needs are not met by the task's own words."""
    assert report.figures("last-messages").retrieval_preserved == 0
    rows = [row for row in report.steps if row.strategy == "last-messages"]
    assert all(row.needed > 0 and row.needed_visible == 0 for row in rows)


def test_fewer_passes_find_less(report: EvaluationReport) -> None:
    held, free = report.figures("compiler-default-passes"), report.figures("compiler")
    assert held.passes == 6 + 1  # the forget asks beyond the limit
    assert held.retrieval_preserved is not None
    assert free.retrieval_preserved is not None
    assert held.retrieval_preserved < free.retrieval_preserved


def test_restarts_from_recorded_state_cost_no_pass_and_no_decision(report: EvaluationReport) -> None:
    restarted, whole = report.figures("compiler-restarted"), report.figures("compiler")
    assert restarted.passes == whole.passes
    assert restarted.decisions_preserved == 1
    assert restarted.cache_prefix_changes == whole.cache_prefix_changes


@pytest.mark.parametrize("name", COMPILERS)
def test_no_outdated_or_forgotten_text_is_the_newest_in_sight(
    name: StrategyName, report: EvaluationReport
) -> None:
    row = report.figures(name)
    assert (row.outdated_shown, row.forgotten_steps, row.reverted_shown) == (0, 0, 0)


def test_what_was_forgotten_is_nowhere_in_the_requests_that_follow(compiled: tuple[PlayedStep, ...]) -> None:
    """R138 in a whole run: the text stood in the history before, and in nothing after."""
    at = FORGOTTEN.forgotten
    assert at is not None
    text = FORGOTTEN.texts[0][1]
    assert text in whole_text(compiled[at - 1].sent.request)
    for step in compiled[at:]:
        assert step.sent.manifest is not None
        for words in (
            whole_text(step.sent.request),
            whole_text(step.sent.history),
            step.sent.manifest.to_json(),
        ):
            assert text not in words
            assert "0555 0142" not in words
    manifest = compiled[at].sent.manifest
    assert manifest is not None
    assert (manifest.refresh, manifest.redacted) == ("redacted", True)


def test_a_retrieval_without_a_later_one_shows_what_was_forgotten(report: EvaluationReport) -> None:
    at = FORGOTTEN.forgotten
    assert at is not None
    assert report.figures("first-message").forgotten_steps == len(TASK.steps) - at


def test_bytes_before_replayed_thinking_change_at_boundaries_alone(compiled: tuple[PlayedStep, ...]) -> None:
    """R97 over 74 steps: each thinking part stands behind exactly the bytes that it was made after."""
    made_after: dict[str | None, str] = {}
    boundaries = 0
    for step in compiled:
        request = step.sent.request
        boundary = step.shortened or step.forgotten
        boundaries += boundary
        for at, message in enumerate(request):
            for part in message.parts:
                if isinstance(part, ReasoningPart):
                    if boundary:
                        made_after[part.signature] = whole_text(request[:at])
                    assert made_after[part.signature] == whole_text(request[:at])
        made_after[f"signature-{step.step.index}"] = whole_text(request)
    assert 5 <= boundaries <= 10
    assert figures(compiled)[0].reasoning_prefix_changes == boundaries


@pytest.mark.parametrize("model_id", ["claude-opus-5-5", "gpt-5"])
def test_the_measured_prefix_agrees_with_the_manifest(model_id: str) -> None:
    """R100, R101, R104: two ways to see a changed prefix, one answer at each step."""
    played = played_with(CompilerHost, model_id)
    _, steps = figures(played)
    for step, row in zip(played, steps, strict=True):
        assert step.sent.manifest is not None
        assert row.cache_prefix_changed == step.sent.manifest.cache_prefix_changed
        assert row.cache_prefix_changed == (step.shortened or step.forgotten)


def test_the_system_message_stays_as_it_is_and_the_current_notes_end_each_request(
    compiled: tuple[PlayedStep, ...],
) -> None:
    """R85, R90, R98."""
    for step in compiled:
        request = step.sent.request
        assert request[0] == Message("system", TASK.system)
        assert sum(message.role == "system" for message in request) == 1
        assert str(request[-1].content).startswith("<deuz_working_memory revision=")


def test_an_ordinary_model_keeps_no_copy_of_the_notes() -> None:
    """R91; thinking is not bound there, so that figure is left out."""
    for step in played_with(CompilerHost, "gpt-5"):
        assert not any("<deuz_working_memory" in text_of(message) for message in step.sent.history)
    row = evaluate(strategies=["compiler"], steps=6, model_id="gpt-5").figures("compiler")
    assert row.reasoning_prefix_changes is None


def test_all_strategies_stay_within_the_window(report: EvaluationReport) -> None:
    assert max(row.request_tokens for row in report.steps) <= report.context_window - 2_000


@pytest.mark.parametrize("name", STRATEGIES)
def test_requests_are_valid_conversations(name: StrategyName) -> None:
    """Every call has its result right behind it, whatever was shortened."""
    world = World(TASK)
    for step in play(TASK, make_strategy(name, setting_of(), world), world, steps=40):
        for message, following in pairwise(step.sent.request):
            assert (message.role == "assistant") == (following.role == "tool")
        assert step.sent.request[-1].role != "assistant"


def record_lines(step: PlayedStep, text: str) -> list[int]:
    """Where a record's text stands in the retrieval blocks of a request."""
    blocks = [text_of(message) for message in step.sent.request if is_compiler_block(message)]
    found = re.finditer(re.escape(f"\n{escape_text(text)}\n</record>"), "\n".join(blocks))
    return [match.start() for match in found]


@pytest.mark.parametrize("kind", [CompilerHost, CompilerRestarted])
def test_no_record_stands_twice_and_no_old_revision_behind_a_newer_one(kind: type[CompilerHost]) -> None:
    """R88, R165, R166 at each of 74 steps, with compactions, restarts and a forget."""
    for step in played_with(kind):
        for record in TASK.records.values():
            places = [record_lines(step, text) for _, text in record.texts]
            assert all(len(found) <= 1 for found in places)
            stands = [found[0] for found in places if found]
            assert stands == sorted(stands)
        assert any(record_lines(step, record.texts[-1][1]) for record in TASK.records.values())


class Refused(CompilerHost):
    """Is refused every ninth request as too long: it compacts, and sends the step again within a token less."""

    def __init__(self, setting: Setting, world: World) -> None:
        super().__init__(setting, world)
        self.refused: list[tuple[int, Sent]] = []

    def prepare(self, moment: Moment) -> Sent:
        sent = super().prepare(moment)
        if moment.step.index % 9 != 8:
            return sent
        limit = self.estimator.estimate(sent.request) - 1
        history = compacted(moment.history, context_window=1, estimator=self.estimator)
        package = self.compiler.on_overflow_sync(
            input_tokens=limit, **{**self.asked(moment), "messages": history}
        )
        again = self.placed(history, package, retrieved=sent.retrieved)
        self.refused.append((limit, again))
        return again


def test_refused_requests_are_sent_smaller_and_lose_nothing_that_must_stay() -> None:
    """R174-R177, R180 within a whole run."""
    world = World(TASK)
    host = Refused(setting_of(), world)
    played = play(TASK, host, world)
    assert len(host.refused) == 8
    for limit, sent in host.refused:
        assert TokenEstimator().estimate(sent.request) <= limit
        assert sent.manifest is not None
        assert sent.manifest.refresh == "overflow-retry"
    total, _ = figures(played)
    assert total.decisions_preserved == 1
    assert (total.outdated_shown, total.forgotten_steps, total.reverted_shown) == (0, 0, 0)
    assert total.passes == figures(played_with(CompilerHost))[0].passes
    for step in played:
        for record in TASK.records.values():
            assert all(len(record_lines(step, text)) <= 1 for _, text in record.texts)


class Careless(CompilerHost):
    """Leaves the blocks of a forgotten record where they are."""

    def forget(self, history: tuple[Message, ...], record_ids: Sequence[str]) -> tuple[Message, ...]:
        return history


class Untold(CompilerHost):
    """Takes the blocks away, but does not tell the compiler of the forget."""

    def prepare(self, moment: Moment) -> Sent:
        return super().prepare(replace(moment, forgotten=False, changed=False))


class Forgetful(CompilerHost):
    """Sends the retrieval block and leaves it out of the history."""

    def prepare(self, moment: Moment) -> Sent:
        sent = super().prepare(moment)
        blocks = [
            message for message in sent.request[len(moment.history) :] if "<deuz_context" in text_of(message)
        ]
        return replace(sent, history=tuple(message for message in sent.history if message not in blocks))


class Blind(CompilerHost):
    """Leaves the retrieval blocks out of the requests."""

    def prepare(self, moment: Moment) -> Sent:
        sent = super().prepare(moment)
        return replace(sent, request=tuple(m for m in sent.request if "<deuz_context" not in text_of(m)))


class TailLosing(CompilerHost):
    """Keeps no copy of working memory on a model that binds its thinking to it."""

    def prepare(self, moment: Moment) -> Sent:
        sent = super().prepare(moment)
        return replace(sent, history=tuple(m for m in sent.history if "<deuz_working_memory" not in text_of(m)))


class Frozen(CompilerHost):
    """Shows working memory as it was at the third step, for ever."""

    def prepare(self, moment: Moment) -> Sent:
        if moment.step.index == 15:
            self.notes = moment.notes
        old = replace(moment, notes=self.notes) if moment.step.index > 15 else moment
        return super().prepare(old)


class Stamped(SystemMessage):
    """Writes the step into what it adds."""

    def prepare(self, moment: Moment) -> Sent:
        sent = super().prepare(moment)
        first = replace(sent.request[0], content=f"{sent.request[0].content}\nstep {moment.step.index}")
        return replace(sent, request=(first, *sent.request[1:]))


def test_a_host_that_leaves_forgotten_blocks_is_seen() -> None:
    total, steps = figures(played_with(Careless))
    assert total.forgotten_steps > 0
    assert total.outdated_shown
    assert any(row.forgotten_visible for row in steps)


def test_a_host_that_does_not_tell_of_a_forget_is_seen() -> None:
    total, _ = figures(played_with(Untold))
    assert total.forgotten_steps > 0  # the instance places again what it knew


def test_a_host_that_does_not_append_blocks_is_seen(compiled: tuple[PlayedStep, ...]) -> None:
    total, _ = figures(played_with(Forgetful))
    assert total.cache_prefix_changes > 50
    assert total.cache_prefix_changes > figures(compiled)[0].cache_prefix_changes


def test_a_host_that_does_not_send_blocks_keeps_no_record_in_sight() -> None:
    assert figures(played_with(Blind))[0].retrieval_preserved == 0


def test_a_host_that_keeps_no_tail_moves_thinking_at_each_step() -> None:
    total, _ = figures(played_with(TailLosing))
    assert total.reasoning_prefix_changes == len(TASK.steps) - 1


def test_stale_notes_are_seen_as_lost_and_as_reverted_decisions() -> None:
    total, _ = figures(played_with(Frozen))
    assert total.decisions_preserved is not None
    assert total.decisions_preserved < 0.95
    assert total.reverted_shown == 1


def test_a_stamp_in_the_system_message_leaves_no_prefix() -> None:
    total, _ = figures(played_with(Stamped))
    assert total.unchanged_share == 0
    assert total.cache_prefix_changes == len(TASK.steps) - 1


def test_unchanged_tokens_are_counted_over_whole_messages(compiled: tuple[PlayedStep, ...]) -> None:
    estimator = TokenEstimator()
    _, steps = figures(compiled)
    for (before, step), row in zip(pairwise(compiled), steps[1:], strict=True):
        same = 0
        for old, new in zip(before.sent.request, step.sent.request, strict=False):
            if whole_text([old]) != whole_text([new]):
                break
            same += 1
        assert row.unchanged_tokens == estimator.estimate(step.sent.request[:same])
        assert row.request_tokens == estimator.estimate(step.sent.request)


def test_blocks_survive_the_round_trip_that_a_restart_makes(compiled: tuple[PlayedStep, ...]) -> None:
    """R109: what a restarted host reads back is the history it stored."""
    history = compiled[-1].sent.history
    assert as_messages([message_to_json(message) for message in history]) == history
    assert any(is_compiler_block(message) for message in history)


def test_the_report_survives_json_and_becomes_frames(report: EvaluationReport) -> None:
    assert EvaluationReport.from_json(report.to_json()) == report
    assert report.to_frame()["strategy"].tolist() == list(STRATEGIES)
    assert len(report.to_step_frame()) == len(STRATEGIES) * len(TASK.steps)
    assert set(report.to_frame().columns) == set(StrategyFigures.model_fields)


def test_every_figure_has_a_name_and_every_strategy_a_description(report: EvaluationReport) -> None:
    described = {"strategy", "label", "description"} | {field for _, field, _ in FIGURES}
    assert described == set(StrategyFigures.model_fields)
    assert tuple(LABELS) == tuple(DESCRIPTIONS) == get_args(StrategyName)
    for _, cells in report.lines():
        assert len(cells) == len(STRATEGIES)


def test_the_report_says_in_a_notebook_what_it_does_not_claim(report: EvaluationReport) -> None:
    page = report._repr_html_()
    assert CAVEAT in page
    assert page.count("<tr>") == 1 + len(FIGURES)


def test_shares_of_nothing_are_left_out() -> None:
    row = evaluate(strategies=["compiler"], steps=2).figures("compiler")
    assert (row.outdated_shown, row.reverted_shown) == (None, None)
    lines = dict(evaluate(strategies=["compiler"], steps=2).lines())
    assert lines["Outdated records in sight"] == ("–",)


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": 0},
        {"steps": len(TASK.steps) + 1},
        {"steps": 1.5},
        {"context_window": 8_000},
        {"max_tokens": -1},
        {"strategies": ["magic"]},
    ],
)
def test_impossible_requests_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        evaluate(**bad)  # type: ignore[arg-type]


def test_other_windows_and_budgets_play_too() -> None:
    for changes in ({"context_window": 16_000}, {"context_window": 1_000_000}, {"max_tokens": 0}):
        row = evaluate(strategies=["compiler"], **changes).figures("compiler")  # type: ignore[arg-type]
        assert row.decisions_preserved is not None
        assert row.decisions_preserved > 0.2

"""The scripted task is what it claims to be: long, in need of its records, and not solved by its own words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.compiler.refresh import COMPACTION_SUMMARY
from playground.errors import CallCancelledError
from playground.evaluation.compaction import THRESHOLD, compacted, last_messages
from playground.evaluation.embedder import DIMS, HashingEmbedder
from playground.evaluation.notes import first_notes, next_notes
from playground.evaluation.task import LongTask, load_task
from playground.evaluation.world import World
from playground.messages import Message, TextPart, ToolResultPart, ToolUsePart
from playground.retrieval.words import words
from playground.tokens import TokenEstimator

TASK = load_task()


def said(task: LongTask) -> str:
    """Everything that user, model and host say."""
    return "\n".join([task.system, task.opening, *(f"{step.user}\n{step.say}" for step in task.steps)])


def test_the_task_is_long_and_has_every_kind_of_event() -> None:
    assert 60 <= len(TASK.steps) <= 100
    assert 8 <= len(TASK.subtasks) <= 12
    assert len(TASK.records) >= 30
    assert sum(bool(step.user) for step in TASK.steps) >= 10
    assert sum(bool(step.revised) for step in TASK.steps) >= 3
    assert sum(bool(step.forgotten) for step in TASK.steps) == 1
    assert sum(item.reverted is not None for item in TASK.commitments) == 1
    assert {item.kind for item in TASK.commitments} == {"goal", "constraint", "decision", "attempt"}


def test_each_subtask_needs_records_and_all_kinds_of_records_are_needed() -> None:
    for subtask in TASK.subtasks:
        assert TASK.steps[subtask.first].needs or TASK.steps[subtask.last].needs
    needed = {need for step in TASK.steps for need in step.needs}
    assert {TASK.records[need].kind for need in needed} == {"memory", "document", "chat", "skill"}
    assert len(needed) < len(TASK.records) / 2  # the others only stand in the way


def test_what_is_needed_is_known_when_it_is_needed() -> None:
    for step in TASK.steps:
        for need in step.needs:
            assert TASK.records[need].current(step.index)


def test_no_record_is_told_by_the_task_itself() -> None:
    spoken = said(TASK)
    for record in TASK.records.values():
        for _, text in record.texts:
            assert text not in spoken


def test_no_text_of_a_record_stands_inside_another() -> None:
    texts = [text for record in TASK.records.values() for _, text in record.texts]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert sum(text in other for other in texts) == 1


def test_every_subtask_has_records_that_share_its_words_and_are_not_needed() -> None:
    for subtask in TASK.subtasks:
        title = {word for word in words(subtask.title) if len(word) > 4}
        needed = {need for step in TASK.steps[subtask.first : subtask.last + 1] for need in step.needs}
        others = [record for record in TASK.records.values() if record.id not in needed]
        assert any(title & set(words(record.texts[0][1])) for record in others), subtask.title


def test_a_commitment_is_said_word_for_word_when_it_is_made() -> None:
    for item in TASK.commitments:
        made = (
            TASK.opening
            if item.since == 0
            else f"{TASK.steps[item.since - 1].say}\n{TASK.steps[item.since].user}"
        )
        assert item.text in made
        assert said(TASK).count(item.text) == (2 if item.reverted is not None else 1)


def test_a_revised_memory_has_its_newest_text_and_a_forgotten_one_has_none() -> None:
    batch = TASK.records["memory/batch-size"]
    changed = batch.texts[1][0]
    assert "5,000" in str(batch.current(changed - 1))
    assert "2,000" in str(batch.current(changed))
    assert batch.outdated(changed - 1) == ()
    assert batch.outdated(changed) == (batch.texts[0][1],)
    number = TASK.records["memory/night-number"]
    assert number.forgotten is not None
    assert number.current(number.forgotten - 1) == number.texts[0][1]
    assert number.current(number.forgotten) is None
    assert number.outdated(number.forgotten) == (number.texts[0][1],)


def test_working_memory_grows_with_the_task_and_keeps_its_last_state() -> None:
    notes = [first_notes(TASK)]
    for step in TASK.steps[1:]:
        notes.append(next_notes(TASK, notes[-1], step.index))
    revisions = [snapshot.revision for snapshot in notes]
    assert revisions == sorted(revisions)
    assert revisions[0] == 0
    assert all(later - earlier <= 1 for earlier, later in pairwise(revisions))
    for before, after in pairwise(notes):
        same = before.model_copy(update={"updated_at": after.updated_at})
        assert (same == after) == (before.revision == after.revision)
    for step, snapshot in zip(TASK.steps, notes, strict=True):
        assert snapshot.active_task is not None
        assert snapshot.active_task.title == TASK.subtasks[step.subtask].title
    last = notes[-1]
    reverted = next(item for item in TASK.commitments if item.reverted is not None)
    assert [item.text for item in last.decisions if item.status == "reverted"] == [reverted.text]
    assert {item.text for item in last.attempts} == {i.text for i in TASK.commitments if i.kind == "attempt"}


async def _texts(world: World) -> dict[str, str]:
    from playground.compiler.values import ContextSourceRequest

    source = world.sources[0]
    found = await source.query(
        ContextSourceRequest("booking database number night calls batches rows", limit=99)
    )
    return {candidate.record_id: candidate.text for candidate in found}


def test_the_world_follows_the_script() -> None:
    from playground.concurrency import run_sync

    world = World(TASK)
    for step in TASK.steps:
        gone = world.advance(step)
        assert gone == step.forgotten
        if step.revised or gone or step.index == 0:
            texts = run_sync(_texts(world))
            for name in ("memory/batch-size", "memory/night-number"):
                assert texts.get(name) == TASK.records[name].current(step.index)


def test_the_embedder_gives_unit_rows_that_depend_on_the_text_alone() -> None:
    texts = ["Copy the old bookings.", "", "Kopier bestillingene nå!", "Copy the old bookings."]
    vectors = HashingEmbedder().embed(texts)
    assert vectors.shape == (4, DIMS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[0], vectors[3])
    assert np.array_equal(HashingEmbedder().embed(texts[:1])[0], vectors[0])
    assert HashingEmbedder().embed([]).shape == (0, DIMS)


def test_the_embedder_is_the_same_on_every_machine() -> None:
    vector = HashingEmbedder().embed(["ferry"])[0]
    places = {16: 0.2236, 85: 0.2236, 300: 0.8944, 307: -0.2236, 377: -0.2236}
    assert {place: round(float(vector[place]), 4) for place in np.flatnonzero(vector).tolist()} == places


def test_shared_words_and_stems_are_near() -> None:
    question, near, stem, far = HashingEmbedder().embed(
        [
            "copy old bookings in batches",
            "old bookings are copied in batches",
            "booking copies",
            "menus of the café",
        ]
    )
    assert question @ near > question @ stem > question @ far
    assert abs(question @ far) < 0.15


def test_a_cancelled_embedder_stops() -> None:
    signal = CancelToken()
    signal.cancel()
    with pytest.raises(CallCancelledError):
        HashingEmbedder().embed(["text"], signal=signal)


def _history(steps: int, *, long: int = 900) -> tuple[Message, ...]:
    history = [Message("system", "system"), Message("user", "first")]
    for step in range(steps):
        use = ToolUsePart(f"c{step}", "tool", {})
        history.append(Message("assistant", (TextPart(f"said {step}"), use)))
        history.append(Message("tool", (ToolResultPart(f"c{step}", "x" * long),)))
    return tuple(history)


BLOCK = Message("user", '<deuz_context pass="1" step="0">\nsecret\n</deuz_context>')


def test_compaction_leaves_small_histories_alone_and_makes_one_summary_of_large_ones() -> None:
    estimator = TokenEstimator()
    history = _history(20)
    window = int(estimator.estimate(history) / THRESHOLD) + 1
    assert compacted(history, context_window=window, estimator=estimator) == history
    history = (*history[:6], BLOCK, *history[6:])
    shorter = compacted(history, context_window=window - 20, estimator=estimator)
    assert shorter[:2] == history[:2]
    assert shorter[-8:] == history[-8:]  # four calls with their results
    assert len(shorter) == 2 + 1 + 8
    summary = str(shorter[2].content)
    assert summary.startswith(f"{COMPACTION_SUMMARY}\n")
    assert "said 0" in summary
    assert "said 16" not in summary
    assert "secret" not in summary
    again = compacted((*shorter, *_history(20)[2:]), context_window=window - 20, estimator=estimator)
    assert sum(str(message.content).startswith(COMPACTION_SUMMARY) for message in again) == 1
    assert "said 1\n" in str(again[2].content)


def test_last_messages_fit_and_never_begin_with_a_result() -> None:
    estimator = TokenEstimator()
    history = _history(20)
    for window in range(800, 6_000, 150):
        shorter = last_messages(history, context_window=window, estimator=estimator)
        assert shorter[0] == history[0]
        assert estimator.estimate(shorter) <= max(THRESHOLD * window, estimator.estimate(history[:1]))
        assert len(shorter) == 1 or shorter[1].role != "tool"
        assert history[len(history) - len(shorter) + 1 :] == shorter[1:]

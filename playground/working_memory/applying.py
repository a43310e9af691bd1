"""Applying a patch: the only way in which a working memory changes.

Pure. Either every operation is carried out or none is, and the snapshot that was given stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from playground.errors import InvalidInputError
from playground.values import shown, whole_number
from playground.working_memory.draft import Draft, GenerateId, Refusal
from playground.working_memory.items import (
    GOAL_LENGTH,
    ID_LENGTH,
    TEXT_LENGTH,
    TITLE_LENGTH,
    WRITTEN_LISTS,
    AttemptItem,
    DecisionItem,
    Goal,
    HypothesisItem,
    MemoryItem,
    OperationRecord,
    QuestionItem,
    Task,
    TaskInput,
    Writer,
)
from playground.working_memory.operations import (
    HOST_ONLY,
    AddConstraint,
    AddDecision,
    AddHypothesis,
    AddObservation,
    AddQuestion,
    AnswerQuestion,
    DropQuestion,
    Operation,
    RecordAttempt,
    RemoveConstraint,
    RemoveItem,
    SetActiveTask,
    SetDecisionStatus,
    SetGoal,
    SetHypothesisStatus,
    SetTasks,
    UpdateAttempt,
)
from playground.working_memory.outcome import AppliedPatch, DuplicatePatch, PatchOutcome, RejectedPatch
from playground.working_memory.patch import WorkingMemoryPatch
from playground.working_memory.snapshot import JOURNAL, SNAPSHOT_BYTES, WorkingMemorySnapshot

__all__ = ["apply_working_memory_patch"]

_Text = TypeVar("_Text", str, str | None)


def apply_working_memory_patch(
    snapshot: WorkingMemorySnapshot | Mapping[str, Any],
    patch: WorkingMemoryPatch | Mapping[str, Any],
    *,
    now: int,
    generate_id: GenerateId | None = None,
) -> PatchOutcome:
    """Return what a patch makes of a snapshot: ``applied``, ``duplicate`` or ``rejected``.

    A repeated patch is recognised before its revision is looked at, so that a call may be replayed. A model may
    not use the host's operations, cite a host, or change what the host wrote or decided. The revision rises by
    one whatever the number of operations.

    Args:
        snapshot: What is changed.
        patch: Operation id, the revision that was read, the writer, and 1 to 16 operations.
        now: The time, in whole ms since the epoch.
        generate_id: Names new items, called with the list, the new revision and the item's number among those
            that the patch adds to the list, or a task's position; ``<list>-<revision>-<number>`` by default.

    Raises:
        InvalidInputError: When the snapshot, the patch or an option is malformed; never for what is only not
            allowed, which is a rejection.
    """
    before = WorkingMemorySnapshot.recorded(snapshot)
    wanted = WorkingMemoryPatch.parse(patch)
    time = whole_number(now, "The time in ms")
    if generate_id is not None and not callable(generate_id):
        raise InvalidInputError(
            f"generate_id is {shown(generate_id)}.",
            remedy="Pass a function of a list, a revision and a number.",
        )
    digest = wanted.digest
    known = next((one for one in before.operations if one.operation_id == wanted.operation_id), None)
    if known is not None and known.digest == digest:
        return DuplicatePatch(before, known.revision)
    if known is not None:
        message = f"The operation id stands for another patch, applied at revision {known.revision}."
        return RejectedPatch(before, "operation-conflict", message)
    if (forbidden := _forbidden(before, wanted)) is not None:
        return forbidden
    if wanted.expected_revision != before.revision:
        message = f"The patch is for revision {wanted.expected_revision}, the snapshot is at {before.revision}."
        return RejectedPatch(before, "stale-revision", message)
    draft = Draft(before, writer=wanted.writer, now=time, generate_id=generate_id)
    for number, operation in enumerate(wanted.operations):
        try:
            _carry_out(draft, operation, wanted.writer)
        except Refusal as refusal:
            return RejectedPatch(before, refusal.reason, refusal.message, number)
    record = OperationRecord(operation_id=wanted.operation_id, revision=before.revision + 1, digest=digest)
    operations = (*before.operations, record)[-JOURNAL:]
    after = before.model_copy(update={**draft.contents(), "operations": operations, "updated_at": time})
    after, size = _fitted(after)
    if size > SNAPSHOT_BYTES:
        message = f"The snapshot would have {size:,} bytes of JSON, at most {SNAPSHOT_BYTES:,} are kept."
        return RejectedPatch(before, "limit", message)
    return AppliedPatch(after, tuple(draft.ids))


def _fitted(snapshot: WorkingMemorySnapshot) -> tuple[WorkingMemorySnapshot, int]:
    """Return a snapshot that is as small as it can be made, and its bytes of JSON.

    Of one that is too large the oldest patches are no longer remembered: long operation ids can take more room
    than there is in all, and nothing else would free it.
    """
    size = len(snapshot.to_json().encode())
    dropped = 0
    for record in snapshot.operations[:-1]:
        if size <= SNAPSHOT_BYTES:
            break
        size -= len(record.to_json().encode()) + 1  # with its comma
        dropped += 1
    kept = snapshot.operations[dropped:]
    return (snapshot.model_copy(update={"operations": kept}) if dropped else snapshot), size


def _forbidden(snapshot: WorkingMemorySnapshot, patch: WorkingMemoryPatch) -> RejectedPatch | None:
    """What no snapshot allows a model to do."""
    if patch.writer == "host":
        return None
    for number, operation in enumerate(patch.operations):
        message = ""
        if isinstance(operation, HOST_ONLY):
            message = f"{operation.op} is for the host alone."
        elif any(source.kind == "host" for source in getattr(operation, "sources", None) or ()):
            message = "A model may not cite the host as a source."
        elif isinstance(operation, AddDecision) and operation.status not in {None, "proposed"}:
            message = f"A model proposes decisions; only the host makes one {operation.status}."
        if message:
            return RejectedPatch(snapshot, "forbidden", message, number)
    return None


def _carry_out(draft: Draft, operation: Operation, writer: Writer) -> None:
    match operation:
        case SetGoal():
            _set_goal(draft, operation)
        case SetTasks():
            _set_tasks(draft, operation)
        case SetActiveTask():
            draft.activate(operation.id)
        case RemoveConstraint():
            draft.remove(draft.find(operation.id, "constraints"))
        case RemoveItem():
            draft.remove(draft.find(operation.id, *WRITTEN_LISTS))
        case SetDecisionStatus():
            draft.change(draft.find(operation.id, "decisions"), status=operation.status)
        case SetHypothesisStatus():
            draft.change(draft.find(operation.id, "hypotheses"), status=operation.status)
        case AnswerQuestion() | DropQuestion():
            _settle_question(draft, operation)
        case UpdateAttempt():
            _update_attempt(draft, operation)
        case _:
            _add(draft, operation, writer)


def _add(
    draft: Draft,
    operation: AddConstraint | AddObservation | AddHypothesis | AddDecision | AddQuestion | RecordAttempt,
    writer: Writer,
) -> None:
    text, sources = _within(operation.text, "text"), operation.sources
    match operation:
        case AddConstraint():
            draft.add("constraints", MemoryItem, text, sources)
        case AddObservation():
            draft.add("observations", MemoryItem, text, sources)
        case AddHypothesis():
            draft.add("hypotheses", HypothesisItem, text, sources)
        case AddQuestion():
            draft.add("questions", QuestionItem, text, sources)
        case AddDecision():
            status = operation.status or ("accepted" if writer == "host" else "proposed")
            rationale = _within(operation.rationale, "rationale")
            draft.add("decisions", DecisionItem, text, sources, status=status, rationale=rationale)
        case RecordAttempt():
            detail = _within(operation.detail, "detail")
            draft.add("attempts", AttemptItem, text, sources, outcome=operation.outcome, detail=detail)


def _set_goal(draft: Draft, operation: SetGoal) -> None:
    if operation.text is None:
        draft.goal = None
    else:
        text = _within(operation.text, "goal", GOAL_LENGTH)
        draft.goal = Goal(text=text, **draft.stamp(operation.sources))


def _set_tasks(draft: Draft, operation: SetTasks) -> None:
    draft.check_room("tasks", len(operation.list))
    before = {task.id: task for task in (draft.tasks.list if draft.tasks else ())}
    # A task without an id is a new one: were its id one that was listed, it would pass for that task.
    taken = {task.id for task in operation.list if task.id is not None} | set(before)
    tasks = []
    for position, stated in enumerate(operation.list):
        title = _within(stated.title, "title of a task", TITLE_LENGTH)
        notes = _within(stated.notes, "notes of a task")
        task_id = _within(stated.id, "id of a task", ID_LENGTH)
        if task_id is None:
            task_id = draft.new_id("tasks", taken, position)
            taken.add(task_id)
        known = before.get(task_id)
        if known is not None and _same(known, stated):
            tasks.append(known)
        else:
            tasks.append(Task(id=task_id, title=title, status=stated.status, notes=notes, **draft.stamp()))
    draft.replace_tasks(tasks)


def _same(task: Task, stated: TaskInput) -> bool:
    return (task.title, task.status, task.notes) == (stated.title, stated.status, stated.notes)


def _settle_question(draft: Draft, operation: AnswerQuestion | DropQuestion) -> None:
    question = draft.find(operation.id, "questions")
    assert isinstance(question, QuestionItem)
    if question.status == "dropped":
        raise Refusal("invalid-state", "The question has been dropped.")
    if isinstance(operation, DropQuestion):
        draft.change(question, status="dropped")
    else:
        draft.change(question, status="answered", answer=_within(operation.answer, "answer"))


def _update_attempt(draft: Draft, operation: UpdateAttempt) -> None:
    attempt = draft.find(operation.id, "attempts")
    assert isinstance(attempt, AttemptItem)
    outcome = attempt.outcome if operation.outcome is None else operation.outcome
    detail = attempt.detail if operation.detail is None else _within(operation.detail, "detail")
    draft.change(attempt, outcome=outcome, detail=detail)


def _within(text: _Text, what: str, most: int = TEXT_LENGTH) -> _Text:
    """Return a text that is no longer than allowed."""
    if text is not None and len(text) > most:
        raise Refusal("limit", f"The {what} has {len(text):,} characters, at most {most:,} are kept.")
    return text

"""Applying patches: who may do what, in which order it is checked, and that nothing happens by halves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playground import InvalidInputError, compile_context
from playground.working_memory import (
    AppliedPatch,
    DuplicatePatch,
    InMemoryWorkingMemory,
    PatchOutcome,
    RejectedPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
    create_working_memory,
)
from playground.working_memory.snapshot import JOURNAL


def start(**options: Any) -> WorkingMemorySnapshot:
    return create_working_memory(**{"scope": "acme", "now": 1, **options})


def patched(
    snapshot: WorkingMemorySnapshot,
    *operations: dict[str, Any],
    writer: str = "host",
    operation_id: str = "",
    expected_revision: int | None = None,
    now: int = 2,
    generate_id: Any = None,
) -> PatchOutcome:
    patch = {
        "operationId": operation_id or f"op-{snapshot.revision}-{writer}",
        "expectedRevision": snapshot.revision if expected_revision is None else expected_revision,
        "writer": writer,
        "operations": list(operations),
    }
    return apply_working_memory_patch(snapshot, patch, now=now, generate_id=generate_id)


def after(snapshot: WorkingMemorySnapshot, *operations: dict[str, Any], **more: Any) -> WorkingMemorySnapshot:
    outcome = patched(snapshot, *operations, **more)
    assert isinstance(outcome, AppliedPatch), outcome
    return outcome.snapshot


def refused(snapshot: WorkingMemorySnapshot, *operations: dict[str, Any], **more: Any) -> RejectedPatch:
    """R224: whatever is refused leaves the very snapshot that was given."""
    bytes_before = snapshot.to_json()
    outcome = patched(snapshot, *operations, **more)
    assert isinstance(outcome, RejectedPatch), outcome
    assert outcome.status == "rejected"
    assert outcome.snapshot is snapshot
    assert snapshot.to_json() == bytes_before
    return outcome


OBSERVE = {"op": "add-observation", "text": "The build is red."}
EVERY_LIST = [
    {"op": "add-observation", "text": "o"},
    {"op": "add-hypothesis", "text": "h"},
    {"op": "add-decision", "text": "d", "rationale": "r"},
    {"op": "add-question", "text": "q"},
    {"op": "record-attempt", "text": "a", "outcome": "in_progress"},
]


def test_r222_r223_r224_r226_r236_the_documented_example() -> None:
    memory = start(goal="Make the nightly build green.", constraints=["Do not touch the release branch."])
    proposed = patched(
        memory,
        {"op": "add-hypothesis", "text": "The flaky test depends on the time zone."},
        {"op": "record-attempt", "text": "Re-ran the suite with TZ=UTC.", "outcome": "succeeded"},
        writer="model",
        operation_id="step-3:call-7",
    )
    assert (proposed.status, proposed.snapshot.hypotheses[0].status) == ("applied", "proposed")
    assert isinstance(proposed, AppliedPatch)
    assert proposed.ids == ("hypotheses-1-0", "attempts-1-0")
    assert memory.hypotheses == ()
    memory = proposed.snapshot

    skip = refused(memory, {"op": "set-goal", "text": "Skip the flaky test."}, writer="model")
    assert (skip.reason, skip.operation) == ("forbidden", 0)

    confirm = {"op": "set-hypothesis-status", "id": memory.hypotheses[0].id, "status": "confirmed"}
    confirmed = patched(memory, confirm, operation_id="review-1", now=4)
    assert (confirmed.snapshot.revision, confirmed.snapshot.hypotheses[0].status) == (2, "confirmed")


def test_r221_r233_every_new_item_carries_its_writer_revision_sources_time_and_generated_id() -> None:
    memory = after(start(), OBSERVE, now=2)
    memory = after(memory, *EVERY_LIST, *EVERY_LIST[:1], writer="model", now=7)
    lists = (memory.decisions, memory.questions, memory.attempts, memory.hypotheses)
    added = [*memory.observations[1:], *(item for items in lists for item in items)]
    assert len(added) == 6
    for item in added:
        assert (item.writer, item.revision, item.updated_at) == ("model", 2, 7)
        assert [source.kind for source in item.sources] == ["model"]
        assert item.decided_by is None
    assert [item.id for item in memory.observations] == [
        "observations-1-0",
        "observations-2-0",
        "observations-2-1",
    ]
    assert [items[0].id for items in lists] == [
        "decisions-2-0",
        "questions-2-0",
        "attempts-2-0",
        "hypotheses-2-0",
    ]
    assert [source.kind for source in memory.observations[0].sources] == ["host"]
    assert (memory.created_at, memory.updated_at) == (1, 7)


def test_r233_an_id_that_is_taken_is_passed_over() -> None:
    taken = WorkingMemorySnapshot.parse(
        {"scope": "s", "questions": [{"id": "observations-1-1", "text": "a question with a strange id"}]}
    )
    outcome = patched(taken, OBSERVE, OBSERVE, OBSERVE)
    assert isinstance(outcome, AppliedPatch)
    assert outcome.ids == ("observations-1-0", "observations-1-2", "observations-1-3")


def test_r233_an_id_is_not_given_twice_in_one_patch() -> None:
    outcome = patched(start(), OBSERVE, {"op": "remove-item", "id": "observations-1-0"}, OBSERVE)
    assert isinstance(outcome, AppliedPatch)
    assert [item.id for item in outcome.snapshot.observations] == ["observations-1-1"]


def test_r233_a_task_without_an_id_is_named_by_its_position_and_never_like_one_that_was_listed() -> None:
    memory = after(start(), {"op": "set-tasks", "list": ["One", {"id": "mine", "title": "Two"}, "Three"]})
    assert memory.tasks is not None
    assert [task.id for task in memory.tasks.list] == ["tasks-1-0", "mine", "tasks-1-2"]
    # An id that a host chose is the one that the next list would give to its first task.
    active = {"op": "set-active-task", "id": "tasks-2-0"}
    memory = after(start(tasks={"list": [{"id": "tasks-1-0", "title": "Old"}], "active_task_id": "tasks-1-0"}),
                   {"op": "set-tasks", "list": ["New"]})  # fmt: skip
    assert memory.tasks is not None
    assert ([task.id for task in memory.tasks.list], memory.active_task) == (["tasks-1-1"], None)
    twice = after(memory, {"op": "set-tasks", "list": ["A"]}, active, {"op": "set-tasks", "list": ["B"]})
    assert twice.tasks is not None
    assert ([task.id for task in twice.tasks.list], twice.active_task) == (["tasks-2-1"], None)


def test_every_text_may_hold_half_of_a_character() -> None:
    half = "\ud800"
    tasks = {"list": [{"title": half, "notes": half}]}
    memory = after(
        start(goal=half, constraints=[half], scope=half, goal_ref=half, tasks=tasks),
        *[{**operation, "text": half} for operation in EVERY_LIST],
        {"op": "answer-question", "id": "questions-1-0", "answer": half},
        {"op": "update-attempt", "id": "attempts-1-0", "detail": half},
        {"op": "add-decision", "text": half, "rationale": half, "sources": [{"kind": "tool", "id": half}]},
        operation_id=half,
    )
    assert WorkingMemorySnapshot.from_json(memory.to_json()) == memory
    assert patched(memory, {"op": "remove-item", "id": half}).status == "rejected"


def test_r233_generate_id_names_items_instead() -> None:
    asked: list[tuple[str, int, int]] = []

    def generate_id(of: str, revision: int, number: int) -> str:
        asked.append((of, revision, number))
        return f"id{len(asked)}"

    tasks = {"op": "set-tasks", "list": ["One", {"id": "mine", "title": "Two"}]}
    memory = after(start(), OBSERVE, *EVERY_LIST[:2], tasks, generate_id=generate_id)
    assert asked == [("observations", 1, 0), ("observations", 1, 1), ("hypotheses", 1, 0), ("tasks", 1, 0)]
    assert [item.id for item in memory.observations] == ["id1", "id2"]
    assert memory.tasks is not None
    assert [task.id for task in memory.tasks.list] == ["id4", "mine"]


@pytest.mark.parametrize("bad", ["", "x" * 257, 5, None, "taken"], ids=repr)
def test_r231_a_generate_id_that_returns_no_new_id_is_the_callers_mistake(bad: Any) -> None:
    memory = after(start(), OBSERVE, generate_id=lambda *_: "taken")
    longest = after(memory, OBSERVE, generate_id=lambda *_: "x" * 256)
    assert longest.observations[1].id == "x" * 256
    with pytest.raises(InvalidInputError):
        patched(memory, {"op": "add-question", "text": "?"}, generate_id=lambda *_: bad)


HOST_ONLY = [
    {"op": "set-goal", "text": "g"},
    {"op": "add-constraint", "text": "c"},
    {"op": "remove-constraint", "id": "constraints-0-0"},
    {"op": "set-tasks", "list": []},
    {"op": "set-hypothesis-status", "id": "hypotheses-1-0", "status": "confirmed"},
    {"op": "set-decision-status", "id": "decisions-1-0", "status": "accepted"},
]


@pytest.mark.parametrize("operation", HOST_ONLY, ids=lambda operation: operation["op"])
def test_r225_what_is_the_hosts_is_forbidden_to_the_model(operation: dict[str, Any]) -> None:
    memory = after(start(constraints=["c"]), *EVERY_LIST, writer="model")
    outcome = refused(memory, OBSERVE, operation, writer="model")
    assert (outcome.reason, outcome.operation) == ("forbidden", 1)
    assert operation["op"] in outcome.message
    assert patched(memory, operation).status == "applied"


CHANGES = [
    {"op": "answer-question", "id": "questions-1-0", "answer": "yes"},
    {"op": "drop-question", "id": "questions-1-0"},
    {"op": "update-attempt", "id": "attempts-1-0", "outcome": "failed"},
    *({"op": "remove-item", "id": f"{name}-1-0"} for name in
      ("observations", "hypotheses", "decisions", "questions", "attempts")),
]  # fmt: skip


@pytest.mark.parametrize("operation", CHANGES, ids=lambda operation: f"{operation['op']} {operation['id']}")
def test_r226_a_model_changes_and_removes_only_what_it_wrote(operation: dict[str, Any]) -> None:
    hosts = after(start(), *EVERY_LIST)
    outcome = refused(hosts, OBSERVE, operation, writer="model")
    assert (outcome.reason, outcome.operation) == ("forbidden", 1)
    assert operation["id"] in outcome.message
    models = after(start(), *EVERY_LIST, writer="model")
    assert patched(models, operation, writer="model").status == "applied"
    assert patched(models, operation).status == "applied"


@pytest.mark.parametrize(
    ("decision", "change"),
    [
        ({"op": "set-decision-status", "id": "decisions-1-0", "status": "accepted"}, "decisions"),
        ({"op": "set-hypothesis-status", "id": "hypotheses-1-0", "status": "rejected"}, "hypotheses"),
        ({"op": "answer-question", "id": "questions-1-0", "answer": "No."}, "questions"),
        ({"op": "update-attempt", "id": "attempts-1-0", "outcome": "failed"}, "attempts"),
    ],
    ids=["decision", "hypothesis", "question", "attempt"],
)
def test_r226_what_the_host_has_decided_stays_so_although_the_model_wrote_it(
    decision: dict[str, Any], change: str
) -> None:
    memory = after(after(start(), *EVERY_LIST, writer="model"), decision)
    (item,) = getattr(memory, change)
    assert (item.writer, item.decided_by, item.revision) == ("model", "host", 2)
    outcome = refused(memory, {"op": "remove-item", "id": item.id}, writer="model")
    assert outcome.reason == "forbidden"
    assert "decided by the host" in outcome.message
    again = WorkingMemorySnapshot.from_json(memory.to_json())
    assert refused(again, {"op": "remove-item", "id": item.id}, writer="model").reason == "forbidden"
    assert patched(memory, {"op": "remove-item", "id": item.id}).status == "applied"


@pytest.mark.parametrize("by", ["host", "model"])
def test_r221_a_change_says_when_it_was_made_and_leaves_who_wrote_the_item_and_why(by: str) -> None:
    cites = [{"kind": "tool", "tool_call_id": "call-1"}]
    ask = {"op": "add-question", "text": "?", "sources": cites}
    memory = after(start(), ask, {"op": "add-question", "text": "Untouched?"}, writer=by, now=5)
    (item, untouched) = after(
        memory, {"op": "answer-question", "id": "questions-1-0", "answer": "So."}, writer=by, now=8
    ).questions
    assert (item.writer, item.revision, item.updated_at, item.decided_by) == (by, 2, 8, None)
    assert (item.text, [source.tool_call_id for source in item.sources]) == ("?", ["call-1"])
    assert untouched == memory.questions[1]


@pytest.mark.parametrize("writer", ["host", "model"])
def test_r221_sources_are_kept_as_they_are_stated(writer: str) -> None:
    cites = [{"kind": "document", "id": "readme"}, {"kind": "user"}]
    observed: list[dict[str, Any]] = [{**OBSERVE, "sources": stated} for stated in (cites, [], None)]
    memory = after(start(), *observed, writer=writer)
    kinds = [[source.kind for source in item.sources] for item in memory.observations]
    assert kinds == [["document", "user"], [], [writer]]
    goal = after(start(), {"op": "set-goal", "text": "g", "sources": cites}).goal
    assert goal is not None
    assert [source.kind for source in goal.sources] == ["document", "user"]


def test_r227_a_model_may_not_cite_the_host() -> None:
    cites = {**OBSERVE, "sources": [{"kind": "document", "id": "readme"}, {"kind": "host"}]}
    outcome = refused(start(), OBSERVE, cites, writer="model")
    assert (outcome.reason, outcome.operation) == ("forbidden", 1)
    assert patched(start(), cites).status == "applied"
    others = [{"kind": kind} for kind in ("user", "model", "tool", "message", "document", "record")]
    memory = after(start(), {**OBSERVE, "sources": others}, writer="model")
    assert [source.kind for source in memory.observations[0].sources] == [one["kind"] for one in others]


@pytest.mark.parametrize("status", ["accepted", "reverted"])
def test_r236_a_model_proposes_decisions_and_the_host_makes_them(status: str) -> None:
    decide = {"op": "add-decision", "text": "Use blue.", "status": status}
    assert refused(start(), decide, writer="model").reason == "forbidden"
    assert after(start(), decide).decisions[0].status == status
    plain = {"op": "add-decision", "text": "Use blue."}
    assert after(start(), plain).decisions[0].status == "accepted"
    assert after(start(), plain, writer="model").decisions[0].status == "proposed"
    stated = {**plain, "status": "proposed"}
    assert after(start(), stated, writer="model").decisions[0].status == "proposed"
    assert after(start(), stated).decisions[0].status == "proposed"
    assert after(start(), {"op": "add-hypothesis", "text": "h"}).hypotheses[0].status == "proposed"


@pytest.mark.parametrize("revision", [0, 2, 10**6])
def test_r228_a_patch_for_another_revision_is_stale(revision: int) -> None:
    memory = after(start(), OBSERVE)
    outcome = refused(memory, OBSERVE, expected_revision=revision)
    assert (outcome.reason, outcome.operation) == ("stale-revision", None)
    assert str(revision) in outcome.message


@pytest.mark.parametrize(
    "never",
    [
        {"op": "set-goal", "text": "g"},
        {**OBSERVE, "sources": [{"kind": "host"}]},
        {"op": "add-decision", "text": "d", "status": "accepted"},
    ],
    ids=lambda operation: operation["op"],
)
def test_r225_r227_r228_what_a_model_never_may_is_forbidden_before_the_revision_is_looked_at(
    never: dict[str, Any],
) -> None:
    outcome = refused(start(), OBSERVE, never, writer="model", expected_revision=7)
    assert (outcome.reason, outcome.operation) == ("forbidden", 1)


def test_r228_the_revision_is_looked_at_before_the_items_are() -> None:
    memory = after(start(), {"op": "add-question", "text": "?"})
    for item_id in ("questions-1-0", "questions-9-9"):
        drop = {"op": "drop-question", "id": item_id}
        assert refused(memory, drop, writer="model", expected_revision=0).reason == "stale-revision"


LONG = "x" * 1_001


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"op": "answer-question", "id": "questions-9-9", "answer": LONG}, "not-found"),
        ({"op": "answer-question", "id": "questions-1-0", "answer": LONG}, "forbidden"),
        ({"op": "answer-question", "id": "questions-2-0", "answer": LONG}, "invalid-state"),
        ({"op": "drop-question", "id": "questions-1-0"}, "forbidden"),
        ({"op": "update-attempt", "id": "attempts-9-9", "detail": LONG}, "not-found"),
        ({"op": "update-attempt", "id": "attempts-1-0", "detail": LONG}, "forbidden"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value['op']} {value['id']}",
)
def test_an_operation_fails_for_the_first_of_its_reasons(operation: dict[str, Any], reason: str) -> None:
    """Not found, not the writer's, not in this state, too long: in this order."""
    ask = {"op": "add-question", "text": "?"}
    memory = after(start(), ask, {"op": "record-attempt", "text": "a", "outcome": "failed"})
    memory = after(memory, ask, writer="model")
    memory = after(memory, {"op": "drop-question", "id": "questions-2-0"}, writer="model")
    assert refused(memory, operation, writer="model").reason == reason


def test_sources_are_counted_before_the_list_is() -> None:
    memory = after(start(), *[{"op": "add-question", "text": "?"}] * 16)
    memory = after(memory, *[{"op": "add-question", "text": "?"}] * 16)
    many = {"op": "add-question", "text": "?", "sources": [{"kind": "user"}] * 17}
    assert "17 sources" in refused(memory, many).message


def test_r229_a_repeated_patch_is_recognised_before_its_revision_is_looked_at() -> None:
    memory = after(start(), OBSERVE, operation_id="once", writer="model")
    later = after(memory, OBSERVE)
    again = patched(later, OBSERVE, operation_id="once", expected_revision=0, writer="model")
    assert isinstance(again, DuplicatePatch)
    assert (again.status, again.revision) == ("duplicate", 1)
    assert again.snapshot is later
    other = patched(later, OBSERVE, operation_id="once", expected_revision=77, writer="model")
    assert other.status == "duplicate"


@pytest.mark.parametrize("writer", ["model", "host"])
def test_r229_an_operation_id_that_stands_for_something_else_is_a_conflict(writer: str) -> None:
    memory = after(start(), OBSERVE, operation_id="once", writer="model")
    operation = {"op": "set-goal", "text": "g"} if writer == "model" else OBSERVE
    outcome = refused(memory, operation, operation_id="once", writer=writer)
    assert (outcome.reason, outcome.operation) == ("operation-conflict", None)


def test_r229_the_newest_256_patches_are_remembered() -> None:
    memory = start()
    for number in range(JOURNAL + 1):
        memory = after(memory, {"op": "set-active-task", "id": None}, operation_id=f"op-{number}")
    assert memory.revision == JOURNAL + 1
    assert [record.operation_id for record in memory.operations] == [f"op-{n}" for n in range(1, JOURNAL + 1)]
    assert patched(memory, {"op": "set-active-task", "id": None}, operation_id="op-1").status == "duplicate"


def test_r223_r230_all_or_nothing_and_one_revision_a_patch() -> None:
    memory = after(start(), *EVERY_LIST)
    assert memory.revision == 1
    outcome = refused(memory, OBSERVE, {"op": "drop-question", "id": "questions-9-9"}, OBSERVE)
    assert (outcome.reason, outcome.operation) == ("not-found", 1)
    assert "questions-9-9" in outcome.message


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove-constraint", "id": "observations-1-0"},
        {"op": "set-active-task", "id": "observations-1-0"},
        {"op": "set-decision-status", "id": "observations-1-0", "status": "accepted"},
        {"op": "set-hypothesis-status", "id": "observations-1-0", "status": "confirmed"},
        {"op": "answer-question", "id": "observations-1-0", "answer": "a"},
        {"op": "drop-question", "id": "observations-1-0"},
        {"op": "update-attempt", "id": "observations-1-0", "outcome": "failed"},
        {"op": "remove-item", "id": "constraints-0-0"},
        {"op": "remove-item", "id": "tasks-0-0"},
        {"op": "remove-item", "id": "goal"},
    ],
    ids=lambda operation: f"{operation['op']} {operation['id']}",
)
def test_an_operation_finds_only_items_of_its_own_lists(operation: dict[str, Any]) -> None:
    memory = after(start(goal="g", constraints=["c"], tasks={"list": ["t"]}), OBSERVE)
    assert refused(memory, operation).reason == "not-found"


def test_an_operation_changes_the_item_of_its_own_list_where_another_list_has_the_same_id() -> None:
    same = {"id": "same", "text": "x"}
    tasks = {"list": [{"id": "same", "title": "x"}]}
    memory = WorkingMemorySnapshot.parse(
        {"scope": "s", "constraints": [same], "tasks": tasks, "questions": [same]}
    )
    answered = after(memory, {"op": "answer-question", "id": "same", "answer": "So."})
    assert (answered.constraints, answered.questions[0].answer) == (memory.constraints, "So.")
    removed = after(memory, {"op": "remove-item", "id": "same"})
    assert (removed.constraints, removed.tasks, removed.questions) == (memory.constraints, memory.tasks, ())
    removed = after(memory, {"op": "remove-constraint", "id": "same"})
    assert (removed.constraints, removed.questions) == ((), memory.questions)


def test_a_dropped_question_is_neither_answered_nor_dropped_again() -> None:
    memory = after(start(), {"op": "add-question", "text": "?"})
    answered = after(memory, {"op": "answer-question", "id": "questions-1-0", "answer": "One."})
    anew = after(answered, {"op": "answer-question", "id": "questions-1-0", "answer": "Two."})
    assert (anew.questions[0].status, anew.questions[0].answer) == ("answered", "Two.")
    dropped = after(anew, {"op": "drop-question", "id": "questions-1-0"})
    assert (dropped.questions[0].status, dropped.questions[0].answer) == ("dropped", "Two.")
    for operation in (
        {"op": "answer-question", "id": "questions-1-0", "answer": "a"},
        {"op": "drop-question", "id": "questions-1-0"},
    ):
        assert refused(dropped, operation).reason == "invalid-state"


def test_an_attempt_keeps_what_an_update_does_not_state() -> None:
    memory = after(start(), {"op": "record-attempt", "text": "a", "outcome": "in_progress", "detail": "first"})
    failed = after(memory, {"op": "update-attempt", "id": "attempts-1-0", "outcome": "failed"})
    assert (failed.attempts[0].outcome, failed.attempts[0].detail) == ("failed", "first")
    more = after(failed, {"op": "update-attempt", "id": "attempts-1-0", "detail": "second"})
    assert (more.attempts[0].outcome, more.attempts[0].detail) == ("failed", "second")
    assert (more.attempts[0].revision, more.attempts[0].text) == (3, "a")
    bare = after(more, {"op": "update-attempt", "id": "attempts-1-0", "detail": ""})
    assert (bare.attempts[0].outcome, bare.attempts[0].detail) == ("failed", "")


def test_r234_new_tasks_raise_the_list_revision_and_keep_an_active_task_that_is_still_listed() -> None:
    memory = after(start(), {"op": "set-tasks", "list": ["One", {"id": "b", "title": "Two", "notes": "n"}]})
    assert memory.tasks is not None
    assert memory.tasks.list_revision == 1
    assert [task.id for task in memory.tasks.list] == ["tasks-1-0", "b"]
    memory = after(memory, {"op": "set-active-task", "id": "b"})
    kept = after(memory, {"op": "set-tasks", "list": ["New", {"id": "b", "title": "Two", "notes": "n"}]}, now=9)
    assert kept.tasks is not None
    assert (kept.tasks.list_revision, kept.tasks.active_task_id) == (2, "b")
    assert [(task.id, task.revision, task.updated_at) for task in kept.tasks.list] == [
        ("tasks-3-0", 3, 9), ("b", 1, 2),
    ]  # fmt: skip
    changed = after(kept, {"op": "set-tasks", "list": [{"id": "b", "title": "Two", "status": "done"}]})
    assert changed.tasks is not None
    assert (changed.tasks.list[0].revision, changed.tasks.active_task_id) == (4, "b")
    cleared = after(kept, {"op": "set-tasks", "list": []})
    assert cleared.tasks is not None
    assert (cleared.tasks.active_task_id, cleared.tasks.list, cleared.tasks.list_revision) == (None, (), 3)


@pytest.mark.parametrize("change", [{"title": "New"}, {"status": "done"}, {"notes": "more"}], ids=repr)
def test_r221_a_task_that_differs_in_one_field_is_a_new_statement_of_the_host(change: dict[str, Any]) -> None:
    task = {"id": "b", "title": "Two", "status": "in_progress", "notes": "n"}
    memory = after(start(), {"op": "set-tasks", "list": [task, {"id": "c", "title": "Three"}]}, now=5)
    changed = after(memory, {"op": "set-tasks", "list": [{**task, **change}, "Three"]}, now=8).tasks
    assert changed is not None
    listed = changed.list[0].model_dump(exclude_none=True)
    assert listed == {
        **task, **change, "writer": "host", "revision": 2, "updated_at": 8, "sources": ({"kind": "host"},)
    }  # fmt: skip
    assert (changed.list[1].id, changed.list[1].status) == ("tasks-2-1", "pending")


def test_r234_a_first_task_list_has_list_revision_1_whatever_the_snapshots_revision() -> None:
    memory = after(after(start(), OBSERVE), {"op": "set-tasks", "list": ["One"]})
    assert memory.tasks is not None
    assert (memory.revision, memory.tasks.list_revision) == (2, 1)


def test_r233_tasks_without_an_id_get_ids_that_no_other_task_of_the_list_has() -> None:
    def ids(*tasks: Any) -> list[str]:
        listed = after(start(), {"op": "set-tasks", "list": list(tasks)}).tasks
        assert listed is not None
        return [task.id for task in listed.list]

    assert ids("A", {"id": "tasks-1-0", "title": "B"}) == ["tasks-1-1", "tasks-1-0"]
    assert ids({"id": "tasks-1-1", "title": "A"}, "B", "C") == ["tasks-1-1", "tasks-1-2", "tasks-1-3"]


@pytest.mark.parametrize("writer", ["host", "model"])
def test_r235_the_active_task_is_set_by_id_and_cleared_by_null(writer: str) -> None:
    memory = start(
        tasks={"list": [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}], "active_task_id": "a"}
    )
    memory = after(memory, {"op": "set-active-task", "id": "b"}, writer=writer)
    assert memory.active_task is not None
    assert memory.active_task.id == "b"
    assert refused(memory, {"op": "set-active-task", "id": "c"}, writer=writer).reason == "not-found"
    assert after(memory, {"op": "set-active-task", "id": None}, writer=writer).active_task is None
    assert after(start(), {"op": "set-active-task", "id": None}, writer=writer).tasks is None


def test_the_goal_is_set_and_cleared_and_constraints_come_and_go() -> None:
    memory = after(start(goal="g", constraints=["One."]), {"op": "set-goal", "text": "New\ngoal."})
    assert memory.goal is not None
    assert (memory.goal.text, memory.goal.revision) == ("New\ngoal.", 1)
    memory = after(memory, {"op": "add-constraint", "text": "Two."}, {"op": "set-goal", "text": None})
    assert memory.goal is None
    assert [item.id for item in memory.constraints] == ["constraints-0-0", "constraints-2-0"]
    memory = after(memory, {"op": "remove-constraint", "id": "constraints-0-0"})
    assert [item.text for item in memory.constraints] == ["Two."]


FITTING: list[tuple[dict[str, Any], str]] = [
    ({"op": "set-goal", "text": "x" * 4_000}, "text"),
    ({"op": "add-constraint", "text": "x" * 1_000}, "text"),
    ({"op": "add-observation", "text": "x" * 1_000}, "text"),
    ({"op": "add-hypothesis", "text": "x" * 1_000}, "text"),
    ({"op": "add-question", "text": "x" * 1_000}, "text"),
    ({"op": "add-decision", "text": "x" * 1_000}, "text"),
    ({"op": "add-decision", "text": "x", "rationale": "x" * 1_000}, "rationale"),
    ({"op": "record-attempt", "text": "x" * 1_000, "outcome": "failed"}, "text"),
    ({"op": "record-attempt", "text": "x", "outcome": "failed", "detail": "x" * 1_000}, "detail"),
    ({"op": "update-attempt", "id": "attempts-1-0", "detail": "x" * 1_000}, "detail"),
    ({"op": "answer-question", "id": "questions-1-0", "answer": "x" * 1_000}, "answer"),
    ({"op": "add-observation", "text": "x", "sources": [{"kind": "user"}] * 16}, "sources"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "field"), FITTING, ids=lambda value: value if isinstance(value, str) else value["op"]
)
def test_r239_each_text_may_be_as_long_as_its_limit_and_no_longer(
    operation: dict[str, Any], field: str
) -> None:
    memory = after(start(), *EVERY_LIST)
    assert patched(memory, operation).status == "applied"
    longer = {**operation, field: operation[field] + operation[field][:1]}
    outcome = refused(memory, OBSERVE, longer)
    assert (outcome.reason, outcome.operation) == ("limit", 1)


@pytest.mark.parametrize(
    ("field", "most"), [("id", 256), ("title", 500), ("notes", 1_000)]
)  # fmt: skip
def test_r239_a_task_keeps_its_limits(field: str, most: int) -> None:
    task = {"title": "t", field: "x" * most}
    assert patched(start(), {"op": "set-tasks", "list": [task]}).status == "applied"
    longer = {**task, field: "x" * (most + 1)}
    assert refused(start(), {"op": "set-tasks", "list": [longer]}).reason == "limit"


@pytest.mark.parametrize(
    ("operation", "most"),
    [
        ({"op": "add-constraint", "text": "x"}, 32),
        ({"op": "add-decision", "text": "x"}, 64),
        ({"op": "add-question", "text": "x"}, 32),
        ({"op": "record-attempt", "text": "x", "outcome": "failed"}, 64),
        ({"op": "add-hypothesis", "text": "x"}, 32),
        ({"op": "add-observation", "text": "x"}, 128),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else value["op"],
)
def test_r239_each_list_keeps_its_limit(operation: dict[str, Any], most: int) -> None:
    memory = start()
    for _ in range(most // 16):
        memory = after(memory, *[operation] * 16)
    outcome = refused(memory, operation)
    assert (outcome.reason, outcome.operation) == ("limit", 0)
    assert str(most) in outcome.message


def test_r239_a_task_list_holds_64_tasks() -> None:
    assert patched(start(), {"op": "set-tasks", "list": ["t"] * 64}).status == "applied"
    assert refused(start(), {"op": "set-tasks", "list": ["t"] * 65}).reason == "limit"


def test_r239_a_snapshot_does_not_grow_above_256_kib() -> None:
    large = {"op": "add-observation", "text": "日" * 1_000}
    memory = start()
    for _ in range(5):
        memory = after(memory, *[large] * 16)
    outcome = refused(memory, *[large] * 16)
    assert (outcome.reason, outcome.operation) == ("limit", None)
    assert "262,144" in outcome.message


def test_r239_a_snapshot_may_grow_to_262144_bytes() -> None:
    large = {"op": "add-observation", "text": "日" * 1_000}
    memory = start()
    for _ in range(5):
        memory = after(memory, *[large] * 16)
    memory = memory.model_copy(update={"operations": ()})  # remembered patches would make room

    def grown(last: int) -> PatchOutcome:
        return patched(memory, *[large] * 4, {"op": "add-observation", "text": "x" * last})

    bare = len(grown(1).snapshot.to_json().encode())
    fits = grown(1 + 262_144 - bare)
    assert (fits.status, len(fits.snapshot.to_json().encode())) == ("applied", 262_144)
    over = grown(2 + 262_144 - bare)
    assert isinstance(over, RejectedPatch)
    assert "262,145 bytes" in over.message


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add-observation", "text": "SECRET" * 200},
        {"op": "set-goal", "text": "SECRET" * 900},
        {"op": "answer-question", "id": "questions-1-0", "answer": "SECRET" * 200},
        {"op": "remove-constraint", "id": "questions-1-0"},
        {"op": "set-decision-status", "id": "questions-1-0", "status": "accepted"},
    ],
    ids=lambda operation: operation["op"],
)
def test_a_rejection_tells_no_text(operation: dict[str, Any]) -> None:
    memory = after(start(), {"op": "add-question", "text": "SECRET?"})
    assert "SECRET" not in refused(memory, operation).message


MALFORMED: list[Any] = [
    {"op": "replace", "path": "/goal", "value": "x"},  # R232: there is no free-form change
    {"op": "add", "path": "/observations/-", "value": {}},
    {"op": "set-goal"},
    {"op": "set-goal", "text": ""},
    {"op": "set-goal", "text": " \n\u3000"},
    {"op": "answer-question", "id": "questions-1-0", "answer": " "},
    {"op": "set-tasks", "list": [{"title": "\t"}]},
    {"op": "set-goal", "text": 5},
    {"op": "add-question", "text": "?", "sources": [{"kind": "tool", "step": True}]},
    {"op": "set-goal", "text": "g", "status": "accepted"},
    {"op": "add-observation", "text": None},
    {"op": "add-observation", "text": "x", "sources": [{"kind": "oracle"}]},
    {"op": "add-observation", "text": "x", "sources": "host"},
    {"op": "add-decision", "text": "x", "status": "maybe"},
    {"op": "record-attempt", "text": "x"},
    {"op": "record-attempt", "text": "x", "outcome": "done"},
    {"op": "update-attempt", "id": "attempts-1-0"},
    {"op": "answer-question", "id": "questions-1-0", "answer": ""},
    {"op": "remove-item", "id": ""},
    {"op": "set-active-task"},
    {"op": "set-tasks", "list": "one"},
    {"op": "set-tasks", "list": {"one", "two"}},  # a set has no order
    {"op": "add-observation", "text": "x", "sources": {"tool": 1}.keys()},
    {"op": "set-goal", "text": "g", 5: "x"},
    {"op": "set-tasks", "list": [""]},
    {"op": "set-tasks", "list": [{"title": "t", "writer": "model"}]},
    {"op": "set-tasks", "list": [{"id": "a", "title": "t"}, {"id": "a", "title": "u"}]},
    {"op": ["set-goal"], "text": "x"},
    {"text": "x"},
    "set-goal",
    None,
]  # fmt: skip


@pytest.mark.parametrize("operation", MALFORMED)
def test_r231_r232_a_malformed_operation_is_the_callers_mistake(operation: Any) -> None:
    memory = after(start(), *EVERY_LIST)
    with pytest.raises(InvalidInputError):
        patched(memory, OBSERVE, operation)


@pytest.mark.parametrize(
    "change",
    [
        {"operationId": ""},
        {"operationId": "x" * 257},
        {"operationId": 5},
        {"operationId": None},
        {"expectedRevision": -1},
        {"expectedRevision": True},
        {"expectedRevision": 1.5},
        {"expectedRevision": "0"},
        {"expectedRevision": 10**30},
        {"writer": "user"},
        {"writer": None},
        {"operations": []},
        {"operations": [OBSERVE] * 17},
        {"operations": {"0": OBSERVE}},
        {"operations": None},
        {"surprise": 1},
    ],
)
def test_r231_a_malformed_patch_is_the_callers_mistake(change: dict[str, Any]) -> None:
    patch = {"operationId": "a", "expectedRevision": 0, "writer": "host", "operations": [OBSERVE]}
    assert apply_working_memory_patch(start(), patch, now=0).status == "applied"
    with pytest.raises(InvalidInputError):
        apply_working_memory_patch(start(), {**patch, **change}, now=0)
    if "expectedRevision" not in change:
        with pytest.raises(InvalidInputError):  # never a rejection
            apply_working_memory_patch(start(), {**patch, "expectedRevision": 7, **change}, now=0)
    for key in patch:
        with pytest.raises(InvalidInputError):
            apply_working_memory_patch(start(), {k: v for k, v in patch.items() if k != key}, now=0)


@pytest.mark.parametrize("snapshot", [None, 5, "s", {}, {"scope": "s", "version": 2}], ids=repr)
def test_r231_a_malformed_snapshot_is_the_callers_mistake(snapshot: Any) -> None:
    patch = {"operationId": "a", "expectedRevision": 0, "writer": "host", "operations": [OBSERVE]}
    with pytest.raises(InvalidInputError):
        apply_working_memory_patch(snapshot, patch, now=0)


@pytest.mark.parametrize("now", [None, True, -1, 1.5, "0", 10**30], ids=repr)
def test_r231_a_malformed_time_is_the_callers_mistake(now: Any) -> None:
    # The second one makes nothing that would have a time of its own.
    for operation in (OBSERVE, {"op": "set-active-task", "id": None}):
        with pytest.raises(InvalidInputError):
            patched(start(), operation, now=now)


@pytest.mark.parametrize("writer", ["host", "model"])
def test_r231_a_generate_id_that_is_no_function_is_the_callers_mistake(writer: str) -> None:
    """Also where it is not asked for an id, or the patch would be rejected."""
    for operation in (OBSERVE, {"op": "set-goal", "text": "g"}):
        with pytest.raises(InvalidInputError, match="generate_id"):
            patched(start(), operation, writer=writer, generate_id="observations-1-0")


def test_r231_a_message_about_a_patch_stays_short() -> None:
    for operation in ({"op": "x" * 10**6}, {"op": {"deep": "x" * 10**6}}, "x" * 10**6):
        with pytest.raises(InvalidInputError) as caught:
            patched(start(), operation)  # type: ignore[arg-type]
        assert len(str(caught.value)) < 400
    outcome = refused(start(), {"op": "drop-question", "id": "x" * 10**6})
    assert len(outcome.message) < 200
    elsewhere = start(tasks={"list": [{"id": f"t\n{'x' * 250}", "title": "T"}]})
    outcome = refused(elsewhere, {"op": "drop-question", "id": f"t\n{'x' * 250}"}, writer="model")
    assert "is one of tasks, which are the host's" in outcome.message
    assert len(outcome.message) < 200
    assert "\n" not in outcome.message


def test_snapshot_and_patch_are_taken_as_plain_json_too() -> None:
    memory = after(start(goal="g"), *EVERY_LIST, writer="model")
    patch = {"operationId": "a", "expectedRevision": 1, "writer": "host", "operations": [OBSERVE]}
    same = apply_working_memory_patch(json.loads(memory.to_json()), patch, now=5)
    assert same.snapshot == apply_working_memory_patch(memory, patch, now=5).snapshot


def test_r229_what_could_be_read_of_a_source_makes_no_other_patch() -> None:
    cites = {"kind": "tool", "toolCallId": "a", "digest": "sha256:" + "0" * 64}
    memory = after(start(), {**OBSERVE, "sources": [cites]}, operation_id="once")
    bare = {name: value for name, value in cites.items() if name != "digest"}
    assert patched(memory, {**OBSERVE, "sources": [bare]}, operation_id="once").status == "duplicate"
    other = {**bare, "toolCallId": "b"}
    assert refused(memory, {**OBSERVE, "sources": [other]}, operation_id="once").reason == "operation-conflict"


@pytest.mark.parametrize(
    "character", ["😀", pytest.param("\ud83d", marks=pytest.mark.slow)], ids=["emoji", "half"]
)
def test_r239_patches_with_long_ids_never_fill_the_snapshot(character: str) -> None:
    memory = start(goal="g")
    none = {"op": "set-active-task", "id": None}
    for number in range(JOURNAL + 44):
        memory = after(memory, none, operation_id=f"{number:04}{character * 252}")
    assert memory.revision == JOURNAL + 44
    assert 0.98 * 2**18 < len(memory.to_json().encode()) <= 2**18
    assert 150 < len(memory.operations) < JOURNAL
    assert WorkingMemorySnapshot.from_json(memory.to_json()) == memory
    newest = memory.operations[-1].operation_id
    assert patched(memory, none, operation_id=newest).status == "duplicate"
    large = after(memory, *[{**OBSERVE, "text": "x" * 1_000}] * 16)
    assert len(large.operations) < len(memory.operations)


def test_r229_r239_the_oldest_patches_give_way_one_by_one_and_only_as_far_as_they_must() -> None:
    large = {**OBSERVE, "text": "日" * 1_000}
    memory = start()
    for number in range(84):
        memory = after(memory, large, operation_id=f"日{number}")

    def grown(last: int) -> WorkingMemorySnapshot:
        return after(memory, {**OBSERVE, "text": "x" * last}, operation_id="last")

    def size(snapshot: WorkingMemorySnapshot) -> int:
        return len(snapshot.to_json().encode())

    bare = grown(1)
    remembered = [record.operation_id for record in bare.operations]
    assert remembered[-1] == "last"
    assert 1 < len(remembered) < 85
    # Whatever still fits forgets no more than it must: a whole record and its comma.
    spare = 262_144 - size(bare)
    full, over = grown(1 + spare), grown(2 + spare)
    assert (size(full), [record.operation_id for record in full.operations]) == (262_144, remembered)
    assert [record.operation_id for record in over.operations] == remembered[1:]
    assert size(over) == 262_145 - len(bare.operations[0].to_json().encode()) - 1


class Short(list[Any]):
    """A list that says that it holds one thing."""

    def __len__(self) -> int:
        return 1


def test_r231_a_list_that_lies_about_its_length_is_counted() -> None:
    patch = {"operationId": "a", "expectedRevision": 0, "writer": "host", "operations": Short([OBSERVE] * 17)}
    with pytest.raises(InvalidInputError, match="17 operations"):
        apply_working_memory_patch(start(), patch, now=0)
    sources = Short([{"kind": "user"}] * 17)
    assert refused(start(), {**OBSERVE, "sources": sources}).reason == "limit"


class Broken:
    def __index__(self) -> int:
        raise RuntimeError("no number today")


def test_r231_a_time_that_raises_is_the_callers_mistake() -> None:
    with pytest.raises(InvalidInputError, match="time"):
        patched(start(), OBSERVE, now=Broken())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operation", "writer", "said"),
    [
        (
            {"op": "remove-item", "id": "constraints-0-0"},
            "model",
            "is one of constraints, which are the host's, not",
        ),
        (
            {"op": "remove-item", "id": "tasks-0-0"},
            "model",
            "is one of tasks, which are the host's, not of decisions",
        ),
        ({"op": "remove-item", "id": "constraints-0-0"}, "host", "is one of constraints, not of decisions or"),
        (
            {"op": "update-attempt", "id": "questions-1-0", "detail": "d"},
            "model",
            "of questions, not of attempts.",
        ),
        ({"op": "drop-question", "id": "nowhere"}, "model", "No item of questions has the id 'nowhere'."),
    ],
)
def test_an_id_of_another_list_is_told_from_one_that_is_nowhere(
    operation: dict[str, Any], writer: str, said: str
) -> None:
    memory = after(start(constraints=["c"], tasks={"list": ["t"]}), *EVERY_LIST, writer="model")
    outcome = refused(memory, operation, writer=writer)
    assert outcome.reason == "not-found"
    assert said in outcome.message


def test_what_is_no_snapshot_is_refused_with_what_to_pass_instead() -> None:
    memory = start()
    handle = InMemoryWorkingMemory(memory)
    patch = {"operationId": "a", "expectedRevision": 0, "writer": "host", "operations": [OBSERVE]}
    for wrong, remedy in ((handle, "current"), (memory.to_json(), "from_json"), (b"{}", "from_json")):
        for use in (
            lambda value: apply_working_memory_patch(value, patch, now=0),
            InMemoryWorkingMemory,
            lambda value: compile_context(
                results=(), messages=(), input_tokens=9, used_tokens=0, working_memory=value
            ),
        ):
            with pytest.raises(InvalidInputError, match=remedy):
                use(wrong)  # type: ignore[arg-type]

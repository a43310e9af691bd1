"""R219-R239: patches of working memory against a slow reference, and against everything that is malformed."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import InvalidInputError
from playground.working_memory import (
    PatchOutcome,
    WorkingMemoryPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
)
from playground.working_memory.difference import WorkingMemoryRevision, revision_of
from tests.property.strategies import ANY_TEXT, examples
from tests.property.working_memory_reference import Expected, Json
from tests.property.working_memory_strategies import (
    MAKING,
    SECRET,
    History,
    any_text,
    histories,
    new_snapshot,
    random_patch,
    random_start,
)

SEEDS = st.randoms(use_true_random=True)


def plain(text: str) -> Any:
    """Read the JSON of a recorded value; texts that it holds in pieces are joined."""

    def joined(data: Json) -> Any:
        return "".join(data["$deuzText"]) if set(data) == {"$deuzText"} else data

    return json.loads(text, object_hook=joined)


def observed(outcome: PatchOutcome) -> Expected:
    """An outcome as the reference states it."""
    return Expected(
        outcome.status,
        plain(outcome.snapshot.to_json()),
        reason=getattr(outcome, "reason", None),
        operation=getattr(outcome, "operation", None),
        ids=getattr(outcome, "ids", ()),
        revision=getattr(outcome, "revision", None),
    )


class Digests:
    """Which digest of the package stands for which of the reference: each for one, and one for each."""

    def __init__(self) -> None:
        self.pairs: dict[str, str] = {}

    def same(self, ours: Json, theirs: Json) -> bool:
        """Whether two snapshots are equal but for how a digest is made."""
        if len(ours["operations"]) != len(theirs["operations"]):
            return False
        for own, other in zip(ours["operations"], theirs["operations"], strict=True):
            assert own["digest"].startswith("sha256:")
            assert len(own["digest"]) == 71
            if self.pairs.setdefault(own["digest"], other["digest"]) != other["digest"]:
                return False
        assert len(set(self.pairs.values())) == len(self.pairs)
        translated = [{**record, "digest": self.pairs[record["digest"]]} for record in ours["operations"]]
        return {**ours, "operations": translated} == theirs


def walk(history: History, visit: Callable[[WorkingMemorySnapshot, Json, int, PatchOutcome], None]) -> None:
    """Apply one patch after the other and show each outcome."""
    snapshot = WorkingMemorySnapshot.parse(history.start)
    for step in history.steps:
        outcome = apply_working_memory_patch(snapshot, step.patch, now=step.now)
        visit(snapshot, step.patch, step.now, outcome)
        snapshot = outcome.snapshot


@examples(150)
@given(histories())
def test_r219_r239_any_sequence_of_patches_has_the_outcomes_of_a_slow_reference(history: History) -> None:
    """Status, reason, operation, ids and the whole JSON, step by step: R221-R230, R233-R236, R239."""
    digests = Digests()
    snapshot = WorkingMemorySnapshot.parse(history.start)
    assert plain(snapshot.to_json()) == history.start
    for step in history.steps:
        outcome = apply_working_memory_patch(snapshot, step.patch, now=step.now)
        ours = observed(outcome)
        assert digests.same(ours.snapshot, step.expected.snapshot), step.patch
        theirs = {**vars(step.expected), "snapshot": ours.snapshot}
        assert vars(ours) == theirs, step.patch
        snapshot = outcome.snapshot


@examples(25)
@given(histories())
def test_r222_r224_r230_what_is_not_applied_leaves_the_same_bytes_and_nothing_that_is_given_changes(
    history: History,
) -> None:
    snapshot = WorkingMemorySnapshot.parse(history.start)
    for step in history.steps:
        before, given_patch = snapshot.to_json(), copy.deepcopy(step.patch)
        outcome = apply_working_memory_patch(snapshot, step.patch, now=step.now)
        assert step.patch == given_patch
        assert snapshot.to_json() == before
        if outcome.status == "applied":
            assert outcome.snapshot.revision == snapshot.revision + 1
        else:
            assert outcome.snapshot.to_json() == before
        if outcome.status == "rejected":
            assert outcome.message
            assert SECRET not in outcome.message
        snapshot = outcome.snapshot


@examples(40)
@given(histories(texts=any_text, steps=8))
def test_every_snapshot_and_every_patch_comes_back_from_json_whatever_its_texts_hold(history: History) -> None:
    def visit(before: WorkingMemorySnapshot, patch: Json, now: int, outcome: PatchOutcome) -> None:
        text = outcome.snapshot.to_json()
        text.encode("utf-8")
        again = WorkingMemorySnapshot.from_json(text)
        assert again == outcome.snapshot == WorkingMemorySnapshot.recorded(json.loads(text))
        assert again.to_json() == text
        parsed = WorkingMemoryPatch.parse(patch)
        returned = WorkingMemoryPatch.from_json(parsed.to_json())
        assert returned == parsed
        for same in (parsed, returned, plain(parsed.to_json())):
            assert apply_working_memory_patch(before, same, now=now) == outcome
        assert (
            apply_working_memory_patch(WorkingMemorySnapshot.from_json(before.to_json()), patch, now=now)
            == outcome
        )

    walk(history, visit)


@examples(30)
@given(histories(texts=any_text, steps=10))
def test_the_changes_of_a_revision_make_the_new_items_of_the_old_ones(history: History) -> None:
    def visit(before: WorkingMemorySnapshot, patch: Json, now: int, outcome: PatchOutcome) -> None:
        if outcome.status != "applied":
            return
        revision = revision_of(before, outcome, WorkingMemoryPatch.parse(patch))
        assert WorkingMemoryRevision.from_json(revision.to_json()) == revision
        assert (revision.revision, revision.changed_at) == (outcome.snapshot.revision, now)
        items = items_of(before)
        for change in revision.changes:
            if change.list == "taskOrder":
                continue
            place = (change.list, change.id)
            assert items.pop(place, None) == change.before
            assert (change.kind == "added", change.kind == "removed") == (
                change.before is None,
                change.after is None,
            )
            if change.after is not None:
                items[place] = change.after
        assert items == items_of(outcome.snapshot)

    walk(history, visit)


def items_of(snapshot: WorkingMemorySnapshot) -> dict[tuple[str, str], Any]:
    """Every item by list and id, and the active task as one."""
    data = plain(snapshot.to_json())
    items: dict[tuple[str, str], Any] = {("goal", ""): data["goal"]} if "goal" in data else {}
    tasks = data.get("tasks", {"list": []})
    if "activeTaskId" in tasks:
        items["activeTask", ""] = {"id": tasks["activeTaskId"]}
    for name in ("constraints", "decisions", "questions", "attempts", "hypotheses", "observations"):
        items |= {(name, item["id"]): item for item in data[name]}
    return items | {("tasks", task["id"]): task for task in tasks["list"]}


NAMES = {
    "snapshot": {"version", "scope", "revision", "goal", "goalRef", "constraints", "tasks", "decisions",
                 "questions", "attempts", "hypotheses", "observations", "operations", "createdAt", "updatedAt"},
    "goal": {"text", "writer", "revision", "sources", "updatedAt", "decidedBy"},
    "tasks": {"list", "activeTaskId", "listRevision"},
    "task": {"id", "title", "status", "notes", "writer", "revision", "sources", "updatedAt", "decidedBy"},
    "operation": {"operationId", "revision", "digest"},
    "source": {"kind", "id", "toolCallId", "runId", "step", "digest"},
    "constraints": set(),
    "decisions": {"status", "rationale"},
    "questions": {"status", "answer"},
    "attempts": {"outcome", "detail"},
    "hypotheses": {"status"},
    "observations": set(),
}  # fmt: skip


@examples(25)
@given(histories())
def test_r219_r221_the_json_has_the_documented_names_and_every_item_says_who_when_and_why(
    history: History,
) -> None:
    def visit(before: WorkingMemorySnapshot, patch: Json, now: int, outcome: PatchOutcome) -> None:
        data = plain(outcome.snapshot.to_json())
        assert set(data) <= NAMES["snapshot"]
        goal = data.get("goal")
        tasks = data.get("tasks", {"list": []})
        assert set(tasks) <= NAMES["tasks"]
        assert all(set(record) == NAMES["operation"] for record in data["operations"])
        items = [(goal, NAMES["goal"])] if goal else []
        items += [(task, NAMES["task"]) for task in tasks["list"]]
        for name in ("constraints", "decisions", "questions", "attempts", "hypotheses", "observations"):
            items += [(item, NAMES["goal"] | {"id"} | NAMES[name]) for item in data[name]]
        for item, names in items:
            assert {"writer", "revision", "sources", "updatedAt"} <= set(item) <= names
            assert 0 <= item["revision"] <= data["revision"]
            assert all(set(source) <= NAMES["source"] for source in item["sources"])

    walk(history, visit)


def respelled(rng: Random, value: Any) -> Any:
    """The same data with its keys in another order and some of them in snake_case."""
    if isinstance(value, Mapping):
        entries = list(value.items())
        rng.shuffle(entries)
        return {
            (
                "".join(f"_{c.lower()}" if c.isupper() else c for c in key) if rng.random() < 0.5 else key
            ): respelled(rng, item)
            for key, item in entries
        }
    return [respelled(rng, item) for item in value] if isinstance(value, list) else value


@examples(30)
@given(histories(steps=14), SEEDS)
def test_the_same_patch_gives_the_same_bytes_however_its_keys_are_ordered_and_spelled(
    history: History, rng: Random
) -> None:
    def visit(before: WorkingMemorySnapshot, patch: Json, now: int, outcome: PatchOutcome) -> None:
        for other in (patch, copy.deepcopy(patch), respelled(rng, patch)):
            again = apply_working_memory_patch(before, other, now=now)
            assert again == outcome
            assert again.snapshot.to_json() == outcome.snapshot.to_json()
        if outcome.status == "applied":
            # R229: whatever stands in the message that is sent again, it is the same patch.
            late = {**respelled(rng, patch), "expectedRevision": 0}
            late.pop("expected_revision", None)
            repeated = apply_working_memory_patch(outcome.snapshot, late, now=now + 1)
            assert (repeated.status, repeated.snapshot) == ("duplicate", outcome.snapshot)
            assert getattr(repeated, "revision", None) == outcome.snapshot.revision

    walk(history, visit)


JSON_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(10**400), 2**53, 2**64, math.nan, math.inf, -0.0, 1e308, "\ud800", "\0", ""]),
    st.floats(),
    ANY_TEXT,
    st.sampled_from(
        ["host", "model", "set-goal", "add-observation", "replace", "/goal/text", b"x", object(), {1}]
    ),
)
JSON_KEYS = ANY_TEXT | st.sampled_from(
    ["op", "path", "id", "text", "list", "operations", "sources", "kind", "$deuzText", 5, None, b"op"]
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    JSON_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JSON_KEYS, inner, max_size=4),
    max_leaves=8,
)
NEARLY_AN_OPERATION = st.fixed_dictionaries(
    {"op": st.sampled_from(["set-goal", "set-tasks", "remove-item", "add-decision"])},
    optional=dict.fromkeys(("text", "id", "list", "sources", "status"), ANYTHING),
)
PATCH_LIKE = st.fixed_dictionaries(
    {
        "operationId": st.just("op") | ANYTHING,
        "expectedRevision": st.just(0) | ANYTHING,
        "writer": st.sampled_from(["host", "model"]) | ANYTHING,
        "operations": st.lists(ANYTHING | NEARLY_AN_OPERATION, max_size=3) | ANYTHING,
    }
)
SMALL = WorkingMemorySnapshot.parse({"scope": "s", "observations": [{"id": "o", "text": SECRET}]})


@examples(250)
@given(ANYTHING | PATCH_LIKE)
def test_r231_whatever_stands_for_a_patch_it_is_an_outcome_or_the_callers_mistake(data: Any) -> None:
    before = SMALL.to_json()
    try:
        outcome = apply_working_memory_patch(SMALL, data, now=1)
    except InvalidInputError:
        pass
    else:
        if outcome.status != "applied":
            assert outcome.snapshot.to_json() == before
        assert WorkingMemorySnapshot.from_json(outcome.snapshot.to_json()) == outcome.snapshot
    assert SMALL.to_json() == before


FINE: Json = {
    "operationId": "op",
    "expectedRevision": 0,
    "writer": "host",
    "operations": [{"op": "set-goal", "text": "g"}],
}


@examples(150)
@given(ANYTHING)
def test_r231_whatever_stands_for_a_snapshot_or_the_time_it_is_an_outcome_or_the_callers_mistake(
    data: Any,
) -> None:
    with pytest.raises(InvalidInputError):
        apply_working_memory_patch(data, FINE, now=1)
    if isinstance(data, bool) or not isinstance(data, int) or not 0 <= data <= 2**53:
        # The second patch makes no item that would have a time of its own.
        for operation in (FINE["operations"][0], {"op": "set-active-task", "id": None}):
            with pytest.raises(InvalidInputError):
                apply_working_memory_patch(SMALL, {**FINE, "operations": [operation]}, now=data)


REQUIRED = {
    "set-goal": ("text",), "add-constraint": ("text",), "remove-constraint": ("id",), "set-tasks": ("list",),
    "set-active-task": ("id",), "set-hypothesis-status": ("id", "status"),
    "set-decision-status": ("id", "status"), "add-observation": ("text",), "add-hypothesis": ("text",),
    "add-decision": ("text",), "add-question": ("text",), "record-attempt": ("text", "outcome"),
    "answer-question": ("id", "answer"), "drop-question": ("id",), "update-attempt": ("id",),
    "remove-item": ("id",),
}  # fmt: skip
NULLABLE = {("set-goal", "text"), ("set-active-task", "id")}
WRONG = {
    "text": (5, True, [], {}, "", b"x", b"x", b"", ["x"]),
    "number": (True, 1.5, "1", -1, math.nan, [], {}, b"1"),
    "list": (5, True, "x", {}, {"a": 1}, {"a"}),
    "entry": (5, True, [], None, {}),
}
TEXT_FIELDS = ("text", "id", "answer", "title", "op", "operationId", "writer", "status", "outcome", "kind")


def broken(rng: Random, patch: Json) -> Json:
    """A patch with one thing wrong in it, at any depth."""
    patch = copy.deepcopy(patch)
    operation = rng.choice(patch["operations"])
    if operation["op"] in MAKING:
        operation["sources"] = [{"kind": "tool", "id": "i", "toolCallId": "call-7", "runId": "r", "step": 3}]
    inner = [*operation.get("sources", []), *operation.get("list", [])]
    place = rng.choice(
        [patch, operation, operation, *[entry for entry in inner if isinstance(entry, dict)][:2]]
    )
    field = rng.choice(list(place))
    match rng.choice(["surprise", "missing", "type", "type", "type", "count", "null"]):
        case "surprise":
            names = ["surprise", "revision", "decidedBy", "path", "TEXT", "\ud800", "", 5, None, b"id"]
            place[rng.choice(names)] = "x"
        case "missing":
            # Each of the four of a patch, the name of an operation and what it must say.
            required = list(patch) if place is patch else ["op", *REQUIRED[operation["op"]]]
            (patch if place is patch else operation).pop(rng.choice(required))
        case "count":
            count = rng.choice([0, 17, 40])
            patch["operations"] = (patch["operations"] * 40)[:count]
        case "null":
            required = list(patch) if place is patch else ["op", *REQUIRED[operation["op"]]]
            where = patch if place is patch else operation
            name = rng.choice(required)
            where[name] = None if (operation["op"], name) not in NULLABLE or where is patch else 5
        case _:
            # A reference may have an empty id; nothing else may.
            place[field] = _wrong(rng, "toolCallId" if field == "id" and "kind" in place else field)
    return patch


def _wrong(rng: Random, field: str) -> Any:
    if field in {"expectedRevision", "step"}:
        return rng.choice(WRONG["number"])
    if field in {"operations", "sources", "list"}:
        return rng.choice([*WRONG["list"], [rng.choice(WRONG["entry"])]])
    if field in TEXT_FIELDS:
        return rng.choice(
            [*WRONG["text"], *(["later"] if field in {"status", "outcome", "op", "writer", "kind"} else [])]
        )
    return rng.choice([value for value in WRONG["text"] if value != ""])


@examples(600)
@given(SEEDS)
def test_r231_r232_a_patch_with_one_thing_wrong_is_always_the_callers_mistake(rng: Random) -> None:
    """Whatever the snapshot holds, and before any other answer: unknown operations and free JSON Patch too."""
    start = new_snapshot(goal="g", constraints=["c"], titles=["t"]) if rng.random() < 0.9 else random_start(rng)
    patch = broken(rng, random_patch(rng, start))
    snapshot = WorkingMemorySnapshot.parse(start)
    before, given_patch = snapshot.to_json(), copy.deepcopy(patch)
    with pytest.raises(InvalidInputError):
        apply_working_memory_patch(snapshot, patch, now=9)
    with pytest.raises(InvalidInputError):
        WorkingMemoryPatch.parse(patch)
    assert snapshot.to_json() == before
    assert patch == given_patch

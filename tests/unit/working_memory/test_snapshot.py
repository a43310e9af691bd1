from __future__ import annotations

import json
from typing import Any

import pytest

from playground import InvalidInputError, create_working_memory
from playground.working_memory import WorkingMemorySnapshot


def test_r219_a_new_snapshot_is_plain_json_of_version_1_at_revision_0() -> None:
    snapshot = create_working_memory(scope="acme", goal="Deploy.", constraints=["One.", "Two."], now=1_700)
    data = json.loads(snapshot.to_json())
    assert (data["version"], data["revision"], data["scope"]) == (1, 0, "acme")
    assert [item["id"] for item in data["constraints"]] == ["constraints-0-0", "constraints-0-1"]
    assert (data["createdAt"], data["updatedAt"]) == (1_700, 1_700)
    assert WorkingMemorySnapshot.parse_json(snapshot.to_json()) == snapshot


def test_r220_tasks_start_at_list_revision_1() -> None:
    tasks = {"list": ["First", {"id": "b", "title": "Second", "status": "in_progress"}], "active_task_id": "b"}
    snapshot = create_working_memory(scope="s", tasks=tasks, now=0)
    assert snapshot.tasks is not None
    assert snapshot.tasks.list_revision == 1
    assert [task.id for task in snapshot.tasks.list] == ["tasks-0-0", "b"]
    assert snapshot.active_task is not None
    assert snapshot.active_task.title == "Second"


def test_r221_every_item_has_its_writer_revision_sources_and_time() -> None:
    snapshot = create_working_memory(scope="s", goal="g", constraints=["c"], tasks={"list": ["t"]}, now=9)
    assert snapshot.goal is not None
    assert snapshot.tasks is not None
    for item in (snapshot.goal, snapshot.constraints[0], snapshot.tasks.list[0]):
        assert (item.writer, item.revision, item.updated_at) == ("host", 0, 9)
        assert [source.kind for source in item.sources] == ["host"]


def test_the_same_arguments_give_equal_snapshots() -> None:
    def make() -> WorkingMemorySnapshot:
        return create_working_memory(scope="s", goal="g", constraints=["c"], goal_ref="g-1", now=9)

    assert make() == make()
    assert make().to_json() == make().to_json()


@pytest.mark.parametrize(
    "limits",
    [
        {"scope": "s" * 256},
        {"goal": "g" * 4_000},
        {"goal_ref": "r" * 256},
        {"constraints": ["c" * 1_000] * 32},
        {"tasks": {"list": ["t" * 500] * 64}},
        {"tasks": {"list": [{"title": "t", "notes": "n" * 1_000}]}},
    ],
    ids=lambda limits: next(iter(limits)),
)
def test_r239_each_limit_is_allowed_and_one_more_is_refused(limits: dict[str, Any]) -> None:
    create_working_memory(**{"scope": "s", "now": 0, **limits})

    def one_more(value: Any) -> Any:
        if isinstance(value, str):
            return value + "x"
        if isinstance(value, list):
            return [*value, value[0]] if len(value) > 1 else [one_more(value[0])]
        if "notes" in value:
            return {**value, "notes": one_more(value["notes"])}
        return {"list": one_more(value["list"])}

    with pytest.raises(InvalidInputError):
        create_working_memory(**{"scope": "s", "now": 0, **{k: one_more(v) for k, v in limits.items()}})


@pytest.mark.parametrize(
    "bad",
    [
        {"scope": ""},
        {"scope": None},
        {"goal": ""},
        {"goal": 5},
        {"constraints": "one string"},
        {"constraints": [""]},
        {"constraints": [5]},
        {"constraints": None},
        {"constraints": 5},
        {"tasks": []},
        {"tasks": {"tasks": []}},
        {"tasks": {"list": 5}},
        {"tasks": {"list": None}},
        {"tasks": {"list": [5]}},
        {"tasks": {"list": ["a"], "active_task_id": "b"}},
        {"tasks": {"list": [{"id": "a", "title": "x"}, {"id": "a", "title": "y"}]}},
        {"tasks": {"list": [{"title": "x", "status": "later"}]}},
        {"tasks": {"list": [{"title": "x", "surprise": 1}]}},
        {"now": None},
        {"now": 1.5},
        {"now": True},
    ],
    ids=repr,
)
def test_r231_malformed_options_are_the_callers_mistake(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        create_working_memory(**{"scope": "s", "now": 0, **bad})


@pytest.mark.parametrize(
    "bad",
    [
        {"version": 2},
        {"revision": -1},
        {"decisions": [{"id": "d", "text": "x", "status": "maybe"}]},
        {"observations": [{"id": "o", "text": "x"}, {"id": "o", "text": "y"}]},
        {"observations": [{"id": "o", "text": "x" * 1_001}]},
        {"observations": [{"id": f"o{i}", "text": "x"} for i in range(129)]},
        {"surprise": 1},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_r231_a_malformed_snapshot_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        WorkingMemorySnapshot.parse({"scope": "s", **bad})


def test_r239_a_snapshot_above_256_kib_is_refused() -> None:
    def snapshot(character: str) -> WorkingMemorySnapshot:
        observations = [{"id": f"o{i}", "text": character * 1_000} for i in range(100)]
        return WorkingMemorySnapshot.parse({"scope": "s", "observations": observations})

    assert len(snapshot("x").observations) == 100
    with pytest.raises(InvalidInputError, match="bytes"):
        snapshot("日")


def test_r222_a_snapshot_is_frozen() -> None:
    snapshot = create_working_memory(scope="s", goal="g", constraints=["c"], now=0)
    with pytest.raises(ValueError, match="frozen"):
        setattr(snapshot, "revision", 5)  # noqa: B010  # the type says so as well
    assert isinstance(snapshot.constraints, tuple)

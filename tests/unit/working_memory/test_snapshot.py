from __future__ import annotations

import json
from collections.abc import Callable
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
    tasks = {"list": ["First"], "activeTaskId": "tasks-0-0"}
    assert create_working_memory(scope="s", tasks=tasks, now=0).active_task is not None
    assert create_working_memory(scope="s", tasks={"list": ["First"]}, now=0).active_task is None


def test_r220_a_task_may_leave_its_id_open_and_gets_one_that_no_other_task_states() -> None:
    listed = ["One", {"id": "tasks-0-0", "title": "Two"}, {"id": None, "title": "Three", "notes": None}]
    snapshot = create_working_memory(scope="s", tasks={"list": listed}, now=0)
    assert snapshot.tasks is not None
    assert [task.id for task in snapshot.tasks.list] == ["tasks-0-1", "tasks-0-0", "tasks-0-2"]


def test_r220_a_task_keeps_what_is_stated_of_it() -> None:
    stated = [
        {"id": "a", "title": "A", "status": "done", "notes": "n"},
        "tasks-0-0",
        {"title": "C"},
        {"id": "tasks-0-2", "title": "D"},
        {"title": "E", "notes": ""},
    ]
    tasks = create_working_memory(scope="s", tasks={"list": stated}, now=0).tasks
    assert tasks is not None
    assert [(task.id, task.title, task.status, task.notes) for task in tasks.list] == [
        ("a", "A", "done", "n"),
        ("tasks-0-1", "tasks-0-0", "pending", None),
        ("tasks-0-3", "C", "pending", None),
        ("tasks-0-2", "D", "pending", None),
        ("tasks-0-4", "E", "pending", ""),
    ]
    crowded = {"list": ["A", "B", {"id": "tasks-0-0", "title": "C"}]}
    tasks = create_working_memory(scope="s", tasks=crowded, now=0).tasks
    assert tasks is not None
    assert [task.id for task in tasks.list] == ["tasks-0-1", "tasks-0-2", "tasks-0-0"]


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
        {"goal": " \n"},
        {"constraints": ["c", "\t"]},
        {"tasks": {"list": [" "]}},
        {"constraints": "one string"},
        {"constraints": [""]},
        {"constraints": [5]},
        {"constraints": None},
        {"constraints": 5},
        {"tasks": []},
        {"tasks": {}},
        {"tasks": {"tasks": []}},
        {"tasks": {"list": 5}},
        {"tasks": {"list": None}},
        {"tasks": {"list": [5]}},
        {"tasks": {"list": ["a"], "active_task_id": "b"}},
        {"tasks": {"list": ["a"], "active_task_id": "tasks-0-0", "activeTaskId": "tasks-0-0"}},
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


def item(item_id: str = "i", **more: Any) -> dict[str, Any]:
    return {"id": item_id, "text": "x", **more}


def task(task_id: str = "t", **more: Any) -> dict[str, Any]:
    return {"id": task_id, "title": "x", **more}


def record(operation_id: str = "o", **more: Any) -> dict[str, Any]:
    return {"operationId": operation_id, "revision": 1, "digest": "sha256:0", **more}


STATED = {"decisions": {"status": "proposed"}, "attempts": {"outcome": "failed"}}
WRITTEN = ("decisions", "questions", "attempts", "hypotheses", "observations")


def items(name: str, *ids: str, **more: Any) -> list[dict[str, Any]]:
    return [item(item_id, **STATED.get(name, {}), **more) for item_id in ids]


@pytest.mark.parametrize(
    "bad",
    [
        {"version": 2},
        {"revision": -1},
        {"scope": ""},
        {"scope": b"s"},
        {"createdAt": -1},
        {"updatedAt": 1.0},
        {"decisions": [item(status="maybe")]},
        {"decisions": [item()]},
        {"attempts": [item()]},
        {"questions": [item(status="proposed")]},
        {"hypotheses": [item(status="accepted")]},
        {"observations": [item("")]},
        {"observations": [item(text="")]},
        {"observations": [item(writer="user")]},
        {"observations": [item(decidedBy="model")]},
        {"observations": [item(sources=[{"kind": "oracle"}])]},
        {"goal": {"text": ""}},
        {"tasks": {"list": [task(title="")]}},
        {"tasks": {"list": [task()], "activeTaskId": "u"}},
        {"tasks": {"list": [task()], "activeTaskId": b"t"}},
        {"tasks": {"list": [], "listRevision": 0}},
        {"operations": [record("")]},
        {"operations": [record(digest=b"x")]},
        {"surprise": 1},
    ],
    ids=repr,
)
def test_r231_a_malformed_snapshot_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        WorkingMemorySnapshot.parse({"scope": "s", **bad})


@pytest.mark.parametrize("first", WRITTEN)
@pytest.mark.parametrize("second", WRITTEN)
def test_an_id_stands_once_in_all_the_lists_that_a_model_writes_to(first: str, second: str) -> None:
    lists: dict[str, Any] = {first: items(first, "a")}
    lists[second] = [*lists.get(second, ()), *items(second, "a")]
    with pytest.raises(InvalidInputError, match="twice"):
        WorkingMemorySnapshot.parse({"scope": "s", **lists})


@pytest.mark.parametrize(
    "twice",
    [
        {"constraints": [item(), item()]},
        {"tasks": {"list": [task(), task()]}},
        {"operations": [record(), record()]},
    ],
    ids=lambda twice: next(iter(twice)),
)
def test_an_id_stands_once_in_each_of_the_hosts_lists_and_in_the_journal(twice: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="twice"):
        WorkingMemorySnapshot.parse({"scope": "s", **twice})


def test_lists_of_the_host_have_ids_of_their_own() -> None:
    same = {"constraints": [item("a")], "tasks": {"list": [task("a")]}, "observations": [item("a")]}
    assert WorkingMemorySnapshot.parse({"scope": "s", **same, "operations": [record("a")]})


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("constraints", 32), ("decisions", 64), ("questions", 32), ("attempts", 64), ("hypotheses", 32),
        ("observations", 128), ("operations", 256), ("tasks", 64),
    ],
)  # fmt: skip
def test_r239_each_list_of_a_snapshot_keeps_its_limit(name: str, most: int) -> None:
    def of(number: int) -> dict[str, Any]:
        ids = [str(index) for index in range(number)]
        if name == "tasks":
            return {"scope": "s", "tasks": {"list": [task(one) for one in ids]}}
        listed = [record(one) for one in ids] if name == "operations" else items(name, *ids)
        return {"scope": "s", name: listed}

    assert WorkingMemorySnapshot.parse(of(most))
    with pytest.raises(InvalidInputError):
        WorkingMemorySnapshot.parse(of(most + 1))


@pytest.mark.parametrize(
    ("most", "holding"),
    [
        (4_000, lambda text: {"goal": {"text": text}}),
        (256, lambda text: {"goalRef": text}),
        (500, lambda text: {"tasks": {"list": [task(title=text)]}}),
        (1_000, lambda text: {"tasks": {"list": [task(notes=text)]}}),
        (256, lambda text: {"tasks": {"list": [task(text)]}}),
        (256, lambda text: {"operations": [record(text)]}),
        (1_000, lambda text: {"decisions": items("decisions", "a", rationale=text)}),
        (1_000, lambda text: {"questions": items("questions", "a", answer=text)}),
        (1_000, lambda text: {"attempts": items("attempts", "a", detail=text)}),
        (16, lambda text: {"goal": {"text": "g", "sources": [{"kind": "user"} for _ in text]}}),
        (16, lambda text: {"tasks": {"list": [task(sources=[{"kind": "user"} for _ in text])]}}),
        *((256, lambda text, name=name: {name: items(name, text)}) for name in ("constraints", *WRITTEN)),
        *((16, lambda text, name=name: {name: items(name, "a", sources=[{"kind": "user"} for _ in text])})
          for name in ("constraints", *WRITTEN)),
    ],
)  # fmt: skip
def test_r239_each_text_and_every_items_sources_keep_their_limit(
    most: int, holding: Callable[[str], dict[str, Any]]
) -> None:
    assert WorkingMemorySnapshot.parse({"scope": "s", **holding("日" * most)})
    with pytest.raises(InvalidInputError):
        WorkingMemorySnapshot.parse({"scope": "s", **holding("日" * (most + 1))})


def test_what_is_said_beside_a_text_may_be_empty() -> None:
    memory = WorkingMemorySnapshot.parse(
        {
            "scope": "s",
            "goalRef": "",
            "tasks": {"list": [task(notes="")]},
            "decisions": items("decisions", "d", rationale=""),
            "questions": items("questions", "q", answer=""),
            "attempts": items("attempts", "a", detail=""),
        }
    )
    assert WorkingMemorySnapshot.from_json(memory.to_json()) == memory


def test_r239_a_snapshot_may_have_262144_bytes_of_json() -> None:
    def of(last: int) -> WorkingMemorySnapshot:
        observations = [item(f"o{index:02}", text="日" * 1_000) for index in range(85)]
        return WorkingMemorySnapshot.parse(
            {"scope": "s", "observations": [*observations, item("last", text="x" * last)]}
        )

    spare = 256 * 1024 - len(of(1).to_json().encode())
    assert 0 < spare < 1_000
    assert len(of(1 + spare).to_json().encode()) == 262_144
    with pytest.raises(InvalidInputError, match="262,145 bytes"):
        of(2 + spare)


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

"""Random working memories and patches that get deep: full lists, both writers, host decisions, a full journal.

Hypothesis draws a seed and the number of patches; everything between comes from the seed, because thousands of
draws a history would leave time for a few histories only. A failing history shrinks to its shortest beginning.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.property.working_memory_reference import (
    HOST_ONLY,
    SNAPSHOT_BYTES,
    Expected,
    Json,
    apply_by_the_rules,
    size_of,
)

LISTS = ("decisions", "questions", "attempts", "hypotheses", "observations")
LIMITS = {"constraints": 32, "decisions": 64, "questions": 32, "attempts": 64, "hypotheses": 32,
          "observations": 128}  # fmt: skip
OUTCOMES = ("in_progress", "failed", "abandoned", "succeeded")
STATES = {
    "decisions": ("status", ("proposed", "accepted", "reverted")),
    "questions": ("status", ("open", "answered", "dropped")),
    "attempts": ("outcome", OUTCOMES),
    "hypotheses": ("status", ("proposed", "confirmed", "rejected")),
}
TASK_STATES = ("pending", "in_progress", "done", "failed")
SECRET = "SECRET"  # in the texts of items that stand already; no message may repeat it
GONE = "gone-1-0"  # an id that no item has
LONG = "x" * 1_000
TEXTS = ("a", "b", "c", "two\nlines", "<b>&", "日" * 300, "\ud800")
EDGES = (LONG, LONG + "x")

Texts = Callable[[Random], str]


@dataclass(frozen=True)
class Step:
    """One patch, and what the rules make of it."""

    patch: Json
    now: int
    expected: Expected


@dataclass(frozen=True)
class History:
    """Patches one after the other, from a first snapshot on."""

    start: Json
    steps: tuple[Step, ...]


@st.composite
def histories(draw: st.DrawFn, *, texts: Texts | None = None, steps: int = 24) -> History:
    """Sequences of patches, most of them valid, each made for the snapshot that stands at its turn."""
    rng = draw(st.randoms(use_true_random=True))
    start = snapshot = random_start(rng)
    done: list[Step] = []
    for number in range(draw(st.integers(1, steps))):
        patch = random_patch(rng, snapshot, number, [step.patch for step in done], texts or some_text)
        now = 10 + number
        if rng.random() < 0.5 and size_of(snapshot) > SNAPSHOT_BYTES - 3_200:
            patch = _up_to_the_limit(rng, snapshot, number, now)
        expected = apply_by_the_rules(snapshot, patch, now)
        snapshot = expected.snapshot
        done.append(Step(patch, now, expected))
    return History(start, tuple(done))


def some_text(rng: Random) -> str:
    """A short text as a rule; seldom as long as an item may be, or one longer."""
    return rng.choice(EDGES if rng.random() < 0.03 else TEXTS)


def any_text(rng: Random) -> str:
    """Any code points, halves of characters and controls among them."""
    pools = ((0, 0x80), (0x80, 0x3000), (0xD800, 0xE000), (0, 0x110000), (0x1F300, 0x1F700))
    special = (
        "\n",
        "\r\n",
        "\u2028",
        "\x85",
        "\0",
        "</observations>",
        "\ud83d",
        "\ude00",
        "\U000e0041",
        "\u202e",
    )
    pieces = [
        rng.choice(special) if rng.random() < 0.4 else chr(rng.randrange(*rng.choice(pools)))
        for _ in range(rng.randint(1, 12))
    ]
    text = "".join(pieces)
    return text if text.strip() else f"{text}x"  # blank ones are malformed


def random_start(rng: Random) -> Json:
    """A new snapshot, or one in which every list holds items of both writers, one of them up to its limit."""
    goal = rng.choice([None, "Ship it."])
    if rng.random() < 0.25:
        titles = rng.choice([[], ["one"], ["one", "two"]])
        return new_snapshot(goal=goal, constraints=["rule"] * rng.randint(0, 2), titles=titles)
    snapshot = new_snapshot(goal=goal, constraints=[], titles=["one", "two", "three"])
    revision = snapshot["revision"] = rng.choice([1, 7, 300])
    snapshot["tasks"]["list"][0]["notes"] = "kept"
    if rng.random() < 0.5:
        snapshot["tasks"]["activeTaskId"] = "tasks-0-1"
    nearly_full = rng.choice([None, "constraints", *LISTS])
    for name, limit in LIMITS.items():
        count = limit - rng.randint(0, 2) if name == nearly_full else rng.randint(0, 4)
        snapshot[name] = [_standing(name, number) for number in range(count)]
    if rng.random() < 0.25:
        # Ids that the next patches would take, also in lists of another name.
        for name, taken in (
            ("decisions", "observations"),
            ("attempts", "attempts"),
            ("observations", "questions"),
        ):
            if len(snapshot[name]) < LIMITS[name]:
                snapshot[name].append({**_standing(name, 0), "id": f"{taken}-{revision + 1}-0"})
    for number in range(rng.choice([0, 0, 1, 250, 256])):
        record = {"operationId": f"old-{number}", "revision": number + 1, "digest": "sha256:" + "0" * 64}
        snapshot["operations"].append(record)
    if len(snapshot["observations"]) < 10 and rng.random() < 0.1:
        _fill_up_to_the_size_limit(snapshot, spare=rng.choice([0, 400, 3_000]))
    return snapshot


def new_snapshot(*, goal: str | None, constraints: list[str], titles: list[str]) -> Json:
    """What a start at revision 0 looks like by the rules."""
    stamp = {"writer": "host", "revision": 0, "sources": [{"kind": "host"}], "updatedAt": 5}
    snapshot: Json = {
        "version": 1, "scope": "s", "revision": 0, **{name: [] for name in LISTS}, "operations": [],
        "constraints": [], "createdAt": 5, "updatedAt": 5,
    }  # fmt: skip
    for number, text in enumerate(constraints):
        snapshot["constraints"].append({"id": f"constraints-0-{number}", "text": text, **stamp})
    if goal is not None:
        snapshot["goal"] = {"text": goal, **stamp}
    if titles:
        tasks = [
            {"id": f"tasks-0-{i}", "title": title, "status": "pending", **stamp}
            for i, title in enumerate(titles)
        ]
        snapshot["tasks"] = {"list": tasks, "listRevision": 1}
    return snapshot


def _standing(name: str, number: int) -> Json:
    """One item of a list: each third by the host, and of the model's each fourth decided by the host."""
    item: Json = {
        "id": f"{name}-0-{number}", "text": f"{SECRET} {number}", "revision": 0, "updatedAt": 5,
        "writer": "host" if name == "constraints" or number % 3 == 1 else "model",
    }  # fmt: skip
    item["sources"] = [{"kind": item["writer"]}]
    if name in STATES:
        field, states = STATES[name]
        item[field] = states[number % len(states)]
    if item["writer"] == "model" and number % 4 == 2:
        item["decidedBy"] = "host"
    return item


def _fill_up_to_the_size_limit(snapshot: Json, *, spare: int) -> None:
    left = SNAPSHOT_BYTES - spare - size_of(snapshot)
    for number in range(10, 10 + left // 3_160):
        snapshot["observations"].append({**_standing("observations", number), "text": "日" * 1_000})


def _up_to_the_limit(rng: Random, snapshot: Json, number: int, now: int) -> Json:
    """One text that takes all the bytes that are left, or one byte more."""
    operation = {"op": "add-observation", "text": "x"}
    patch = {
        "operationId": f"full-{number}",
        "expectedRevision": snapshot["revision"],
        "writer": "host",
        "operations": [operation],
    }
    expected = apply_by_the_rules(snapshot, patch, now)
    if expected.status == "applied":
        wide, narrow = divmod(SNAPSHOT_BYTES - size_of(expected.snapshot) + rng.choice([0, 1, 1, 1]), 3)
        operation["text"] = "日" * wide + "x" * (narrow + 1)
    return patch


def random_patch(
    rng: Random, snapshot: Json, number: int = 0, earlier: list[Json] | None = None, texts: Texts = some_text
) -> Json:
    """A patch of a snapshot: fitting, late, repeated, or repeated with something changed."""
    kind = rng.choice(["fitting"] * 14 + ["late", "repeated", "changed"])
    if earlier and kind in {"repeated", "changed"}:
        patch = copy.deepcopy(rng.choice(earlier))
        for source in (source for operation in patch["operations"] for source in operation.get("sources", [])):
            source.update(_optional(rng, digest="sha256:1"))  # another state of what is cited, the same patch
        if kind == "changed" and rng.random() < 0.3:
            patch["writer"] = "host" if patch["writer"] == "model" else "model"
        elif kind == "changed":
            patch["operations"] = [*patch["operations"][1:], {"op": "remove-item", "id": GONE}]
        if rng.random() < 0.5:
            patch["expectedRevision"] = snapshot["revision"]
        return patch
    writer = rng.choice(["model", "host"])
    revision = snapshot["revision"]
    if kind == "late":
        revision = rng.choice([revision + 1, max(0, revision - 1)])
    count = rng.choice([1, 1, 1, 1, 2, 2, 3, 4, 16])
    operations = [random_operation(rng, snapshot, writer, texts) for _ in range(count)]
    if rng.random() < 0.05:
        # What is made and removed in one patch leaves its id to nobody.
        add = {"op": "add-question", "text": "?"}
        operations += [add, {"op": "remove-item", "id": f"questions-{revision + 1}-0"}, {**add}][: 16 - count]
    return {
        "operationId": rng.choice(["old-0", "old-3", "old-255"]) if rng.random() < 0.08 else f"op-{number}",
        "expectedRevision": revision,
        "writer": writer,
        "operations": operations,
    }


def random_operation(rng: Random, snapshot: Json, writer: str = "host", texts: Texts = some_text) -> Json:
    """One operation, mostly on something that exists and that the writer may touch."""
    name = rng.choice(list(FIELDS))
    while rng.random() < 0.95 and not _fits(name, snapshot, writer):
        name = rng.choice(list(FIELDS))
    operation = {"op": name, **FIELDS[name](rng, snapshot, writer, texts)}
    if name in MAKING and rng.random() < 0.2:
        operation["sources"] = _sources(rng, writer)
    return operation


MAKING = ("set-goal", "add-constraint", "add-observation", "add-hypothesis", "add-decision", "add-question",
          "record-attempt")  # fmt: skip
TARGETS = {
    "remove-constraint": "constraints", "set-hypothesis-status": "hypotheses",
    "set-decision-status": "decisions", "answer-question": "questions", "drop-question": "questions",
    "update-attempt": "attempts",
}  # fmt: skip


def _fits(name: str, snapshot: Json, writer: str) -> bool:
    return (writer == "host" or name not in HOST_ONLY) and (
        name not in TARGETS or bool(snapshot[TARGETS[name]])
    )


def _sources(rng: Random, writer: str) -> list[Json]:
    kinds = ["model", "user", "tool", "message", "document", "record"]
    if rng.random() < 0.1:
        return rng.choice(
            [[{"kind": "tool"}] * 16, [{"kind": "tool"}] * 17, [{"kind": "tool"}, {"kind": "host"}]]
        )
    if rng.random() < 0.2:
        return [
            {"kind": "tool", "toolCallId": "call-7", "runId": "r", "step": 3, "digest": "sha256:0", "id": "i"}
        ]
    return [{"kind": rng.choice(kinds)} for _ in range(rng.randint(0, 2))]


def _some_id(rng: Random, snapshot: Json, writer: str, *names: str) -> str:
    items = [item for name in names for item in snapshot[name]]
    own = [item for item in items if item["writer"] == "model" and "decidedBy" not in item]
    chance = rng.random()
    if chance < 0.04:
        return GONE
    if chance < 0.1:
        # Perhaps made earlier in the same patch.
        return f"{rng.choice(names)}-{snapshot['revision'] + 1}-{rng.randint(0, 1)}"
    if chance < 0.15 or not items:
        return str(rng.choice([item["id"] for name in LIMITS for item in snapshot[name]] or [GONE]))
    return str(rng.choice(own if own and writer == "model" and chance < 0.9 else items)["id"])


def _optional(rng: Random, **fields: Any) -> Json:
    return {name: value for name, value in fields.items() if rng.random() < 0.5}


def _tasks_of(snapshot: Json) -> list[Json]:
    tasks: list[Json] = snapshot["tasks"]["list"] if "tasks" in snapshot else []
    return tasks


def _task_list(rng: Random, snapshot: Json, texts: Texts) -> Json:
    tasks = _tasks_of(snapshot)
    ids = [*[task["id"] for task in tasks], "mine", f"tasks-{snapshot['revision'] + 1}-{rng.randint(0, 2)}"]
    entries: list[Any] = []
    for _ in range(rng.randint(0, 5)):
        title = (
            rng.choice(["x" * 500, "x" * 501]) if rng.random() < 0.04 else rng.choice(["one", "two", "three"])
        )
        chance = rng.random()
        if chance < 0.3:
            entries.append(title)
        elif chance < 0.7 and tasks:
            old = rng.choice(tasks)
            entries.append({name: old[name] for name in ("id", "title", "status", "notes") if name in old})
        else:
            more = _optional(rng, id=rng.choice(ids), status=rng.choice(TASK_STATES), notes=texts(rng))
            entries.append({"title": title, **more})
    stated: set[str] = set()
    once = []
    for entry in entries:
        own = entry.get("id") if isinstance(entry, dict) else None
        if own is None or own not in stated:
            once.append(entry)
            stated |= {own} if own else set()
    entries = once
    if rng.random() < 0.05:
        entries = ["one"] * rng.choice([64, 65])
    return {"list": entries}


def _attempt_change(rng: Random, texts: Texts) -> Json:
    change = _optional(rng, outcome=rng.choice(OUTCOMES), detail=texts(rng))
    return change or {"outcome": rng.choice(OUTCOMES)}


FIELDS: dict[str, Callable[[Random, Json, str, Texts], Json]] = {
    "set-goal": lambda rng, _, __, texts: {
        "text": rng.choice([None, "x" * 4_000, "x" * 4_001]) if rng.random() < 0.2 else texts(rng)
    },
    "add-constraint": lambda rng, _, __, texts: {"text": texts(rng)},
    "remove-constraint": lambda rng, snapshot, writer, _: {
        "id": _some_id(rng, snapshot, writer, "constraints")
    },
    "set-tasks": lambda rng, snapshot, _, texts: _task_list(rng, snapshot, texts),
    "set-active-task": lambda rng, snapshot, _, __: {
        "id": rng.choice([*[task["id"] for task in _tasks_of(snapshot)] * 3, None, None, GONE])
    },
    "set-hypothesis-status": lambda rng, snapshot, writer, _: {
        "id": _some_id(rng, snapshot, writer, "hypotheses"),
        "status": rng.choice(STATES["hypotheses"][1]),
    },
    "set-decision-status": lambda rng, snapshot, writer, _: {
        "id": _some_id(rng, snapshot, writer, "decisions"),
        "status": rng.choice(STATES["decisions"][1]),
    },
    "add-observation": lambda rng, _, __, texts: {"text": texts(rng)},
    "add-hypothesis": lambda rng, _, __, texts: {"text": texts(rng)},
    "add-decision": lambda rng, _, writer, texts: {
        "text": texts(rng),
        **_optional(
            rng,
            rationale=texts(rng),
            status=rng.choice(["proposed"] * (9 if writer == "model" else 1) + ["accepted", "reverted"]),
        ),
    },
    "add-question": lambda rng, _, __, texts: {"text": texts(rng)},
    "record-attempt": lambda rng, _, __, texts: {
        "text": texts(rng), "outcome": rng.choice(OUTCOMES), **_optional(rng, detail=texts(rng))
    },
    "answer-question": lambda rng, snapshot, writer, texts: {
        "id": _some_id(rng, snapshot, writer, "questions"), "answer": texts(rng)
    },
    "drop-question": lambda rng, snapshot, writer, _: {"id": _some_id(rng, snapshot, writer, "questions")},
    "update-attempt": lambda rng, snapshot, writer, texts: {
        "id": _some_id(rng, snapshot, writer, "attempts"), **_attempt_change(rng, texts)
    },
    "remove-item": lambda rng, snapshot, writer, _: {"id": _some_id(rng, snapshot, writer, *LISTS)},
}  # fmt: skip

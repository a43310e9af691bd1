"""A slow and obvious patch of working memory, over plain dictionaries and written from the rules alone.

It shares nothing with the package. A snapshot and a patch are what their JSON says, in camelCase and complete
(no field with a default is left out of a snapshot); malformed patches are none of its business.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

JOURNAL = 256
SNAPSHOT_BYTES = 256 * 1024
SOURCES = 16
MODEL_LISTS = {"decisions": 64, "questions": 32, "attempts": 64, "hypotheses": 32, "observations": 128}
CONSTRAINTS = 32
TASKS = 64
TEXT, GOAL, TITLE, ID = 1000, 4000, 500, 256
HOST_ONLY = {
    "set-goal", "add-constraint", "remove-constraint", "set-tasks", "set-hypothesis-status",
    "set-decision-status",
}  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """What the rules say must come out."""

    status: str
    snapshot: Json
    reason: str | None = None
    operation: int | None = None
    ids: tuple[str, ...] = ()
    revision: int | None = None


class RejectedError(Exception):
    """The patch is refused."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Work:
    """One patch under way, on a copy."""

    snapshot: Json
    writer: str
    revision: int
    now: int
    made: dict[str, list[str]]
    ids: list[str]


def apply_by_the_rules(snapshot: Json, patch: Json, now: int) -> Expected:
    """Follow the documented checks and operations one after the other."""
    digest = digest_of(patch)
    for record in snapshot["operations"]:
        if record["operationId"] == patch["operationId"]:
            if record["digest"] == digest:
                return Expected("duplicate", snapshot, revision=record["revision"])
            return Expected("rejected", snapshot, "operation-conflict")
    writer = patch["writer"]
    for index, operation in enumerate(patch["operations"]):
        if writer == "model" and _is_never_for_a_model(operation):
            return Expected("rejected", snapshot, "forbidden", index)
    if patch["expectedRevision"] != snapshot["revision"]:
        return Expected("rejected", snapshot, "stale-revision")

    items = {name: value for name, value in snapshot.items() if name != "operations"}
    work = Work(copy.deepcopy(items), writer, snapshot["revision"] + 1, now, {}, [])
    for index, operation in enumerate(patch["operations"]):
        try:
            OPERATIONS[operation["op"]](work, operation)
        except RejectedError as refusal:
            return Expected("rejected", snapshot, refusal.reason, index)
    after = work.snapshot
    after["revision"] = work.revision
    after["updatedAt"] = now
    record = {"operationId": patch["operationId"], "revision": work.revision, "digest": digest}
    after["operations"] = [*snapshot["operations"], record][-JOURNAL:]
    while size_of(after) > SNAPSHOT_BYTES and len(after["operations"]) > 1:
        del after["operations"][0]
    if size_of(after) > SNAPSHOT_BYTES:
        return Expected("rejected", snapshot, "limit")
    return Expected("applied", after, ids=tuple(work.ids))


def digest_of(patch: Json) -> str:
    """Tell two patches apart by writer and operations; which hash a package takes is its own business.

    The digests of sources say what could be read at the time, which may be less when a patch comes again.
    """
    operations = copy.deepcopy(patch["operations"])
    for operation in operations:
        for source in operation.get("sources") or []:
            source.pop("digest", None)
    content = json.dumps([patch["writer"], operations], sort_keys=True)
    return "sha256:" + hashlib.sha256(content.encode()).hexdigest()


def size_of(snapshot: Json) -> int:
    """UTF-8 bytes of the compact JSON, where a lone surrogate stands as its escape of six."""
    text = json.dumps(snapshot, ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass")) + 3 * len(re.findall("[\ud800-\udfff]", text))


def _is_never_for_a_model(operation: Json) -> bool:
    cites_host = any(source["kind"] == "host" for source in operation.get("sources") or [])
    states_status = operation["op"] == "add-decision" and operation.get("status") not in {None, "proposed"}
    return operation["op"] in HOST_ONLY or cites_host or states_status


def _within(limit: int, value: str | list[Any] | None) -> None:
    if value is not None and len(value) > limit:
        raise RejectedError("limit")


def _stamp(work: Work, operation: Json) -> Json:
    sources = operation.get("sources")
    if sources is None:
        sources = [{"kind": work.writer}]
    _within(SOURCES, sources)
    return {"writer": work.writer, "revision": work.revision, "sources": sources, "updatedAt": work.now}


def _new_id(work: Work, name: str) -> str:
    """``<list>-<new revision>-<index>``: the index counts what was made and passes over what is taken."""
    beside = [name] if name == "constraints" else list(MODEL_LISTS)
    made = work.made.setdefault(name, [])
    taken = {item["id"] for other in beside for item in work.snapshot[other]} | set(made)
    made.append(_free_id(work, name, len(made), taken))
    return made[-1]


def _free_id(work: Work, name: str, index: int, taken: set[str]) -> str:
    while f"{name}-{work.revision}-{index}" in taken:
        index += 1
    return f"{name}-{work.revision}-{index}"


def _add(work: Work, name: str, limit: int, operation: Json, **more: Any) -> None:
    _within(TEXT, operation["text"])
    for extra in ("rationale", "detail"):
        if operation.get(extra) is not None:
            _within(TEXT, operation[extra])
            more[extra] = operation[extra]
    item = {"id": "", "text": operation["text"], **_stamp(work, operation), **more}
    if len(work.snapshot[name]) >= limit:
        raise RejectedError("limit")
    item["id"] = _new_id(work, name)
    work.snapshot[name] = [*work.snapshot[name], item]
    work.ids.append(item["id"])


def _mine(work: Work, item: Json) -> Json:
    """Check that the writer may change the item."""
    if work.writer == "model" and (item["writer"] != "model" or item.get("decidedBy") == "host"):
        raise RejectedError("forbidden")
    return item


def _find(work: Work, name: str, item_id: str) -> Json:
    for item in work.snapshot[name]:
        if item["id"] == item_id:
            return _mine(work, item)
    raise RejectedError("not-found")


def _touch(work: Work, item: Json, **changes: Any) -> None:
    item.update(changes, revision=work.revision, updatedAt=work.now)
    if work.writer == "host" and item["writer"] == "model":
        item["decidedBy"] = "host"


def _set_goal(work: Work, operation: Json) -> None:
    work.snapshot.pop("goal", None)
    if operation["text"] is not None:
        _within(GOAL, operation["text"])
        work.snapshot["goal"] = {"text": operation["text"], **_stamp(work, operation)}


def _remove_constraint(work: Work, operation: Json) -> None:
    kept = [item for item in work.snapshot["constraints"] if item["id"] != operation["id"]]
    if len(kept) == len(work.snapshot["constraints"]):
        raise RejectedError("not-found")
    work.snapshot["constraints"] = kept


def _set_tasks(work: Work, operation: Json) -> None:
    entries = [{"title": entry} if isinstance(entry, str) else entry for entry in operation["list"]]
    _within(TASKS, entries)
    for entry in entries:
        _within(TITLE, entry["title"])
        _within(TEXT, entry.get("notes"))
        _within(ID, entry.get("id"))
    before = work.snapshot.get("tasks") or {"list": [], "listRevision": 0}
    known = {task["id"]: task for task in before["list"]}
    taken = {entry["id"] for entry in entries if entry.get("id") is not None} | set(known)
    listed = []
    for position, entry in enumerate(entries):
        task_id = entry.get("id")
        if task_id is None:
            # A task without an id is a new one: no task that is or was listed has its id.
            task_id = _free_id(work, "tasks", position, taken)
            taken.add(task_id)
        task = {
            "id": task_id, "title": entry["title"], "status": entry.get("status") or "pending",
            "writer": "host", "revision": work.revision, "sources": [{"kind": "host"}], "updatedAt": work.now,
        }  # fmt: skip
        if entry.get("notes") is not None:
            task["notes"] = entry["notes"]
        old = known.get(task_id)
        if old and all(old.get(name) == task.get(name) for name in ("title", "status", "notes")):
            task = old
        listed.append(task)
    tasks = {"list": listed, "listRevision": before["listRevision"] + 1}
    if before.get("activeTaskId") in [task["id"] for task in listed]:
        tasks["activeTaskId"] = before["activeTaskId"]
    work.snapshot["tasks"] = tasks


def _set_active_task(work: Work, operation: Json) -> None:
    tasks = work.snapshot.get("tasks")
    if operation["id"] is None:
        if tasks:
            tasks.pop("activeTaskId", None)
        return
    if not tasks or operation["id"] not in [task["id"] for task in tasks["list"]]:
        raise RejectedError("not-found")
    tasks["activeTaskId"] = operation["id"]


def _add_decision(work: Work, operation: Json) -> None:
    unstated = "proposed" if work.writer == "model" else "accepted"
    _add(work, "decisions", 64, operation, status=operation.get("status") or unstated)


def _answer_question(work: Work, operation: Json) -> None:
    question = _find(work, "questions", operation["id"])
    if question["status"] == "dropped":
        raise RejectedError("invalid-state")
    _within(TEXT, operation["answer"])
    _touch(work, question, status="answered", answer=operation["answer"])


def _drop_question(work: Work, operation: Json) -> None:
    question = _find(work, "questions", operation["id"])
    if question["status"] == "dropped":
        raise RejectedError("invalid-state")
    _touch(work, question, status="dropped")


def _update_attempt(work: Work, operation: Json) -> None:
    attempt = _find(work, "attempts", operation["id"])
    changes = {name: operation[name] for name in ("outcome", "detail") if operation.get(name) is not None}
    _within(TEXT, changes.get("detail"))
    _touch(work, attempt, **changes)


def _remove_item(work: Work, operation: Json) -> None:
    for name in MODEL_LISTS:
        for item in work.snapshot[name]:
            if item["id"] == operation["id"]:
                _mine(work, item)
                work.snapshot[name] = [other for other in work.snapshot[name] if other is not item]
                return
    raise RejectedError("not-found")


OPERATIONS: dict[str, Callable[[Work, Json], None]] = {
    "set-goal": _set_goal,
    "add-constraint": lambda work, operation: _add(work, "constraints", CONSTRAINTS, operation),
    "remove-constraint": _remove_constraint,
    "set-tasks": _set_tasks,
    "set-active-task": _set_active_task,
    "set-hypothesis-status": lambda work, operation: _touch(
        work, _find(work, "hypotheses", operation["id"]), status=operation["status"]
    ),
    "set-decision-status": lambda work, operation: _touch(
        work, _find(work, "decisions", operation["id"]), status=operation["status"]
    ),
    "add-observation": lambda work, operation: _add(work, "observations", 128, operation),
    "add-hypothesis": lambda work, operation: _add(work, "hypotheses", 32, operation, status="proposed"),
    "add-decision": _add_decision,
    "add-question": lambda work, operation: _add(work, "questions", 32, operation, status="open"),
    "record-attempt": lambda work, operation: _add(
        work, "attempts", 64, operation, outcome=operation["outcome"]
    ),
    "answer-question": _answer_question,
    "drop-question": _drop_question,
    "update-attempt": _update_attempt,
    "remove-item": _remove_item,
}

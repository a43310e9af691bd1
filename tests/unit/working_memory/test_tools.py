from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from playground import CancelToken, InvalidInputError, WorkingMemorySnapshot
from playground.digests import text_digest
from playground.errors import CallCancelledError, ExecutionError, ToolExecutionError
from playground.tools import Tool, ToolContext
from playground.working_memory import AppliedPatch, PatchOutcome, WorkingMemoryPatch
from playground.working_memory.handle import InMemoryWorkingMemory
from playground.working_memory.items import MOST, SECTIONS
from playground.working_memory.tools import working_memory_tools
from tests.unit.working_memory.helpers import (
    ADD,
    DROP,
    NOTE,
    PATCHES,
    READ,
    UPDATE,
    asked,
    awaited,
    call,
    in_threads,
    memory,
    noted,
    refusal,
    started,
)


class Contested:
    """An asynchronous handle before whose next writes another writer comes first."""

    def __init__(self, within: InMemoryWorkingMemory, *, times: int) -> None:
        self.within, self.times, self.tries = within, times, 0

    async def current(self) -> WorkingMemorySnapshot:
        return self.within.current()

    async def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
        self.tries += 1
        if self.tries <= self.times:
            self.within.apply(noted(f"other {self.tries}", self.within.current().revision))
        return self.within.apply(patch)


class Failing:
    """A handle that raises."""

    def __init__(self, error: BaseException, *, reading: bool = False) -> None:
        self.error, self.reading = error, reading

    def current(self) -> WorkingMemorySnapshot:
        if self.reading:
            raise self.error
        return started()

    def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
        raise self.error


# What reading answers.


def test_the_sections_are_the_lists_of_a_snapshot_and_its_goal_in_their_order() -> None:
    assert [name for name in WorkingMemorySnapshot.model_fields if name in SECTIONS] == list(SECTIONS)
    assert tuple(MOST) == SECTIONS[1:]


def test_reading_tells_what_the_model_may_change_and_nothing_that_is_of_no_use_to_it() -> None:
    found = memory(
        goal="Ship it.",
        constraints=["No deploys on Friday."],
        tasks={"list": ["Build"], "active_task_id": "tasks-0-0"},
    )
    read, add, _ = working_memory_tools(memory=found)
    call(
        add,
        {
            "items": [
                {"kind": "decision", "text": "Use TZ=UTC.", "rationale": "It is stable."},
                {"kind": "attempt", "text": "Ran it."},
            ]
        },
    )
    verdict = {"op": "set-decision-status", "id": "decisions-1-0", "status": "accepted"}
    found.apply({"operation_id": "r", "expected_revision": 1, "writer": "host", "operations": [verdict]})
    answer = call(read, {})
    assert answer == {
        "revision": 2,
        "goal": {"text": "Ship it.", "writer": "host"},
        "constraints": [{"id": "constraints-0-0", "text": "No deploys on Friday.", "writer": "host"}],
        "tasks": {
            "list": [{"id": "tasks-0-0", "title": "Build", "status": "pending", "writer": "host"}],
            "active_task_id": "tasks-0-0",
        },
        "decisions": [
            {
                "id": "decisions-1-0",
                "text": "Use TZ=UTC.",
                "status": "accepted",
                "rationale": "It is stable.",
                "writer": "model",
                "decided_by": "host",
            }
        ],
        "questions": [],
        "attempts": [{"id": "attempts-1-0", "text": "Ran it.", "outcome": "in_progress", "writer": "model"}],
        "hypotheses": [],
        "observations": [],
    }
    assert list(answer) == ["revision", *SECTIONS]
    assert json.loads(json.dumps(answer)) == answer
    assert call(read, None) == call(read, "") == call(read, "{}") == call(read, {"sections": []}) == answer
    assert call(read, {"sections": ["questions", "goal"]}) == {
        "revision": 2, "goal": answer["goal"], "questions": []
    }  # fmt: skip
    assert list(call(read, {"sections": ["questions", "goal"]})) == ["revision", "goal", "questions"]


def test_an_empty_memory_can_be_read() -> None:
    answer = call(working_memory_tools(memory=memory())[READ], {})
    assert (answer["revision"], answer["goal"], answer["tasks"], answer["decisions"]) == (0, None, None, [])


# What writing does.


def test_r240_adding_writes_every_kind_and_answers_the_ids_in_order() -> None:
    found = memory()
    items = [
        {"kind": "observation", "text": "The build is red."},
        {"kind": "hypothesis", "text": "It is the time zone."},
        {"kind": "decision", "text": "Use TZ=UTC.", "rationale": "It is stable."},
        {"kind": "question", "text": "Who owns it?"},
        {"kind": "attempt", "text": "Ran it.", "outcome": "failed", "detail": "Red."},
        {"kind": "attempt", "text": "Run it again."},
    ]
    answer = call(working_memory_tools(memory=found)[ADD], {"items": items})
    ids = [
        "observations-1-0", "hypotheses-1-0", "decisions-1-0", "questions-1-0", "attempts-1-0", "attempts-1-1"
    ]  # fmt: skip
    assert answer == {"status": "applied", "revision": 1, "ids": ids}
    after = found.current()
    assert (after.hypotheses[0].status, after.decisions[0].status) == ("proposed", "proposed")
    assert (after.decisions[0].rationale, after.questions[0].status) == ("It is stable.", "open")
    assert [(one.outcome, one.detail) for one in after.attempts] == [("failed", "Red."), ("in_progress", None)]
    assert {item.writer for item in (*after.attempts, *after.observations)} == {"model"}
    assert [source.kind for source in after.observations[0].sources] == ["model"]


def test_r240_updating_answers_drops_tells_and_removes_in_one_patch() -> None:
    found = asked()
    update = working_memory_tools(memory=found)[UPDATE]
    changes = [
        {"action": "answer", "id": "questions-1-0", "answer": "The zone."},
        {"action": "attempt", "id": "attempts-1-0", "outcome": "succeeded", "detail": "Green."},
    ]
    assert call(update, {"changes": changes}) == {"status": "applied", "revision": 3}
    after = found.current()
    assert (after.questions[0].status, after.questions[0].answer) == ("answered", "The zone.")
    assert (after.attempts[0].outcome, after.attempts[0].detail) == ("succeeded", "Green.")
    changes = [{"action": "drop", "id": "questions-1-0"}, {"action": "remove", "id": "attempts-1-0"}]
    assert call(update, {"changes": changes}, call_id="call-2") == {"status": "applied", "revision": 4}
    assert found.current().questions[0].status == "dropped"
    assert found.current().attempts == ()


@pytest.mark.parametrize(
    ("change", "reason", "told"),
    [
        ({"action": "answer", "id": "questions-2-0", "answer": "Now."}, "forbidden", "questions-2-0"),
        ({"action": "remove", "id": "questions-2-0"}, "forbidden", "host"),
        ({"action": "remove", "id": "constraints-0-0"}, "not-found", "constraints-0-0"),
        ({"action": "drop", "id": "attempts-1-0"}, "not-found", "attempts-1-0"),
        ({"action": "attempt", "id": "questions-1-0", "detail": "x"}, "not-found", "questions-1-0"),
    ],
)
def test_r240_a_refusal_is_a_tool_error_with_the_reason_of_the_patch(
    change: dict[str, Any], reason: str, told: str
) -> None:
    found = asked()
    before = found.current()
    first = {"action": "answer", "id": "questions-1-0", "answer": "So."}
    error = refusal(working_memory_tools(memory=found)[UPDATE], {"changes": [first, change]})
    assert error.reason == reason
    assert str(error).startswith("changes.1: ")
    assert told in str(error)
    assert error.to_json()["code"] == "tool_execution"
    assert found.current() is before, "all or nothing"


def test_an_item_that_cannot_be_added_is_named_by_its_place() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    error = refusal(add, {"items": [NOTE, {**NOTE, "text": "x" * 1_001}]})
    assert error.reason == "limit"
    assert str(error).startswith("items.1: ")
    assert found.current() == started(), "all or nothing"


def test_a_memory_that_is_full_says_so() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    for number in range(2):
        call(add, {"items": [{"kind": "question", "text": "Why?"}] * 16}, call_id=str(number))
    assert refusal(add, {"items": [{"kind": "question", "text": "Why?"}]}).reason == "limit"


# Which call it is: R241.


def test_r241_the_same_call_twice_is_applied_once() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    first = call(add, {"items": [NOTE]}, call_id="call-7", step=3)
    after = found.current()
    assert call(add, {"items": [NOTE]}, call_id="call-7", step=3) == {"status": "duplicate", "revision": 1}
    assert found.current() is after
    call(add, {"items": [NOTE]}, call_id="call-8", step=3)
    again = call(add, {"items": [NOTE]}, call_id="call-7", step=3)
    assert again == {"status": "duplicate", "revision": first["revision"]}, "the revision that it made"


def test_r241_tool_step_and_call_id_tell_calls_apart() -> None:
    found = asked()
    _, add, update = working_memory_tools(memory=found)
    _, other, _ = working_memory_tools(memory=found, prefix="notes")
    answers = [
        call(add, {"items": [NOTE]}, call_id="1:2", step=3),
        call(add, {"items": [NOTE]}, call_id="2", step=1),
        call(add, {"items": [NOTE]}, call_id="2", step=31),
        call(add, {"items": [NOTE]}, call_id=":2", step=31),
        call(other, {"items": [NOTE]}, call_id="2", step=1),
        call(update, {"changes": [DROP]}, call_id="2", step=1),
    ]
    assert [answer["status"] for answer in answers] == ["applied"] * 6
    written = [record.operation_id for record in found.current().operations[2:]]
    assert written[0] == "working_memory_add:3:1:2"
    assert len(set(written)) == 6


def test_r241_call_ids_of_any_length_and_kind_tell_calls_apart() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    digest = text_digest("x" * 300)
    for call_id in (
        "x" * 300,
        "x" * 299 + "y",
        "\ud800",
        "\n",
        " ",
        digest,
        f"#{digest}",
        "x" * 235,
        "x" * 236,
    ):
        assert call(add, {"items": [NOTE]}, call_id=call_id)["status"] == "applied", ascii(call_id)
        assert call(add, {"items": [NOTE]}, call_id=call_id)["status"] == "duplicate", ascii(call_id)
    written = [record.operation_id for record in found.current().operations]
    assert max(map(len, written)) == 256
    assert all(map(str.isprintable, written))


def test_the_id_of_a_call_that_did_something_else_is_refused() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    call(add, {"items": [NOTE]})
    error = refusal(add, {"items": [{**NOTE, "text": "Another."}]})
    assert error.reason == "operation-conflict"
    assert str(error).startswith("The operation id"), "no entry of it is to blame"
    assert len(found.current().observations) == 1


# Races, agents, cancelling: R242.


@pytest.mark.parametrize("times", [0, 1, 2])
def test_r242_a_write_that_loses_a_race_twice_is_written_at_the_third_try(times: int) -> None:
    handle = Contested(memory(), times=times)
    answer = call(working_memory_tools(memory=handle)[ADD], {"items": [NOTE]})
    assert answer["revision"] == times + 1
    assert handle.tries == times + 1
    assert [item.text for item in handle.within.current().observations].count(NOTE["text"]) == 1


def test_r242_a_write_that_loses_a_race_three_times_is_a_tool_error() -> None:
    handle = Contested(memory(), times=3)
    add = working_memory_tools(memory=handle)[ADD]
    error = refusal(add, {"items": [NOTE]})
    assert (error.reason, handle.tries) == ("stale-revision", 3)
    assert "3 tries" in str(error)
    assert NOTE["text"] not in [item.text for item in handle.within.current().observations]
    assert call(add, {"items": [NOTE]})["status"] == "applied", "the same call may come again"


def test_r242_another_agent_reads_and_does_not_write() -> None:
    found = asked()
    before = found.current()
    tools = working_memory_tools(memory=found, agent_path=["main"])
    for path in ((), ("main", "researcher"), ("researcher",)):
        assert call(tools[READ], {}, agent_path=path)["revision"] == before.revision
        for which, data in ((ADD, {"items": [NOTE]}), (UPDATE, {"changes": [DROP]})):
            assert refusal(tools[which], data, agent_path=path).reason == "forbidden"
            assert refusal(tools[which], {"nonsense": 1}, agent_path=path).reason == "forbidden"
    assert found.current() is before
    assert call(tools[ADD], {"items": [NOTE]}, agent_path=("main",))["status"] == "applied"


def test_r242_the_tools_keep_nothing_of_what_they_wrote() -> None:
    first, second = memory(), memory()
    data = {"items": [NOTE]}
    assert call(working_memory_tools(memory=first)[ADD], data)["status"] == "applied"
    # The same call on what was before, as after a crash without a checkpoint, is applied anew.
    assert call(working_memory_tools(memory=second)[ADD], data)["status"] == "applied"
    assert second.current() == first.current()


@pytest.mark.parametrize(
    ("which", "data"), [(READ, {}), (ADD, {"items": [NOTE]}), (UPDATE, {"changes": [DROP]})]
)
def test_a_cancelled_call_writes_nothing(which: int, data: Any) -> None:
    found = asked()
    before = found.current()
    signal = CancelToken()
    signal.cancel()
    with pytest.raises(CallCancelledError):
        call(working_memory_tools(memory=found)[which], data, signal=signal)
    assert found.current() is before


@pytest.mark.parametrize(
    ("which", "data"), [(READ, {}), (ADD, {"items": [NOTE]}), (UPDATE, {"changes": [DROP]})]
)
def test_a_cancelled_call_does_not_even_read(which: int, data: Any) -> None:
    signal = CancelToken()
    signal.cancel()
    handle = Failing(RuntimeError("The handle was asked."), reading=True)
    with pytest.raises(CallCancelledError):
        call(working_memory_tools(memory=handle)[which], data, signal=signal)


def test_a_call_that_is_cancelled_while_it_reads_writes_nothing() -> None:
    found, signal = memory(), CancelToken()

    class Slow(Contested):
        async def current(self) -> WorkingMemorySnapshot:
            signal.cancel()
            return await super().current()

    handle = Slow(found, times=0)
    with pytest.raises(CallCancelledError):
        call(working_memory_tools(memory=handle)[ADD], {"items": [NOTE]}, signal=signal)
    assert handle.tries == 0


@pytest.mark.parametrize("reading", [True, False])
@pytest.mark.parametrize(
    "error",
    [
        ExecutionError("The ledger refused."),
        RuntimeError("The store is gone."),
        InvalidInputError("generate_id returned nothing."),
        CallCancelledError("Stopped."),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_handle_raises_passes_as_it_is(error: BaseException, reading: bool) -> None:
    add = working_memory_tools(memory=Failing(error, reading=reading))[ADD]
    with pytest.raises(type(error)) as caught:
        call(add, {"items": [NOTE]})
    assert caught.value is error


def test_a_handle_that_answers_no_outcome_is_the_hosts_mistake() -> None:
    class Silent(Contested):
        async def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
            return None  # type: ignore[return-value]

    with pytest.raises(InvalidInputError, match="answered a patch with None"):
        call(working_memory_tools(memory=Silent(memory(), times=0))[ADD], {"items": [NOTE]})


# Two writers at once.


async def writes(tools: tuple[Tool, Tool, Tool], writer: str) -> int:
    """Add and remove items, ``PATCHES`` writes in all; return how often all three tries were lost."""
    _, add, update = tools
    lost = 0
    for number in range(PATCHES // 2):
        context = ToolContext(f"{writer}-{number}", number)
        answer: Mapping[str, Any] = {}
        for tool, make in (
            (add, lambda _, n=number: {"items": [{"kind": "observation", "text": f"{writer}-{n}"}]}),
            (update, lambda ids: {"changes": [{"action": "remove", "id": ids[0]}]}),
        ):
            data = make(answer.get("ids"))
            while True:
                try:
                    answer = await tool.execute(data, context)
                except ToolExecutionError as error:
                    if error.reason != "stale-revision":
                        raise
                    lost += 1
                else:
                    break
            assert answer["status"] == "applied"
    return lost


def check_race(found: InMemoryWorkingMemory) -> None:
    told = found.history()
    assert found.current().revision == 2 * PATCHES == len(told)
    assert found.current().observations == ()
    for writer in "ab":
        mine = [one.operation_id for one in told if one.operation_id.rpartition(":")[2].startswith(writer)]
        assert mine == [
            f"working_memory_{verb}:{number}:{writer}-{number}"
            for number in range(PATCHES // 2)
            for verb in ("add", "update")
        ]


@pytest.mark.slow
def test_two_tasks_that_race_through_the_tools_lose_no_write_and_apply_none_twice() -> None:
    found = InMemoryWorkingMemory(started(), history=3 * PATCHES)
    tools = working_memory_tools(memory=found)

    async def both() -> None:
        await asyncio.gather(writes(tools, "a"), writes(tools, "b"))

    asyncio.run(both())
    check_race(found)


@pytest.mark.slow
def test_two_threads_that_race_through_the_tools_lose_no_write_and_apply_none_twice() -> None:
    found = InMemoryWorkingMemory(started(), history=3 * PATCHES)
    tools = working_memory_tools(memory=found)
    in_threads(*(lambda writer=writer: asyncio.run(writes(tools, writer)) for writer in "ab"))
    check_race(found)


def test_the_same_call_twice_at_once_is_applied_once() -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]

    async def twice() -> list[Mapping[str, Any]]:
        context = ToolContext("call-1", 0)
        return list(await asyncio.gather(*(add.execute({"items": [NOTE]}, context) for _ in range(8))))

    answers = asyncio.run(twice())
    assert sorted(answer["status"] for answer in answers) == ["applied", *["duplicate"] * 7]
    assert {answer["revision"] for answer in answers} == {1}
    assert len(found.current().observations) == 1


# Calls at the same time, and handles that hang or answer nonsense.


@pytest.mark.parametrize("asynchronous", [False, True])
def test_r242_calls_of_one_turn_wait_for_each_other_instead_of_losing_races(asynchronous: bool) -> None:
    found = memory()
    handle = Contested(found, times=0) if asynchronous else found
    add = working_memory_tools(memory=handle)[ADD]

    async def turn() -> list[Any]:
        calls = [add.execute({"items": [NOTE]}, ToolContext(f"call-{n}", 0)) for n in range(16)]
        return await asyncio.gather(*calls, return_exceptions=True)

    answers = asyncio.run(turn())
    assert [answer["revision"] for answer in answers] == list(range(1, 17))
    assert len(found.current().observations) == 16

    async def removed() -> list[Any]:
        update = working_memory_tools(memory=handle)[UPDATE]
        changes = [{"action": "remove", "id": f"observations-{n}-0"} for n in range(1, 17)]
        calls = [update.execute({"changes": [one]}, ToolContext(one["id"], 1)) for one in changes]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [answer["revision"] for answer in asyncio.run(removed())] == list(range(17, 33))
    assert found.current().observations == ()


class Hanging:
    """A handle that does not answer before it is let go."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def current(self) -> WorkingMemorySnapshot:
        self.over.wait(30)
        return started()

    def apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
        raise AssertionError("it was never read")


@pytest.mark.parametrize("number", [READ, ADD])
def test_a_call_to_a_handle_that_hangs_ends_when_it_is_cancelled(number: int) -> None:
    handle, signal = Hanging(), CancelToken()
    tool = working_memory_tools(memory=handle)[number]
    threading.Timer(0.2, signal.cancel).start()
    began = time.monotonic()
    try:
        with pytest.raises(CallCancelledError):
            tool.execute_sync({"items": [NOTE]} if number == ADD else {}, ToolContext("c", 0, signal=signal))
        assert time.monotonic() - began < 20
    finally:
        handle.over.set()


@pytest.mark.parametrize("number", [READ, ADD])
def test_a_call_that_is_cancelled_leaves_nothing_waiting(number: int) -> None:
    signal, ended = CancelToken(), []

    class Waiting(Contested):
        async def current(self) -> WorkingMemorySnapshot:
            try:
                await asyncio.sleep(30)
            finally:
                ended.append(number)
            return started()

    tool = working_memory_tools(memory=Waiting(memory(), times=0))[number]

    async def cancelled() -> None:
        asyncio.get_running_loop().call_later(0.05, signal.cancel)
        with pytest.raises(CallCancelledError):
            await awaited(tool, {"items": [NOTE]} if number == ADD else {}, ToolContext("c", 0, signal=signal))
        await asyncio.sleep(0.05)
        assert ended == [number]

    asyncio.run(cancelled())


class Garbage:
    """A handle that answers what it must not."""

    def __init__(self, *, snapshot: Any, outcome: Any = None) -> None:
        self.snapshot, self.outcome = snapshot, outcome

    def current(self) -> Any:
        return self.snapshot

    def apply(self, patch: WorkingMemoryPatch) -> Any:
        return self.outcome


@pytest.mark.parametrize("snapshot", [None, {}, "{}", 5], ids=repr)
def test_a_handle_that_answers_nonsense_is_the_hosts_mistake(snapshot: Any) -> None:
    read, add, _ = working_memory_tools(memory=Garbage(snapshot=snapshot))
    for tool, data in ((read, {}), (add, {"items": [NOTE]})):
        with pytest.raises(InvalidInputError, match="current"):
            tool.execute_sync(data, ToolContext("c", 0))
    bad = Garbage(snapshot=started(), outcome=AppliedPatch(snapshot))
    with pytest.raises(InvalidInputError, match="PatchOutcome"):
        working_memory_tools(memory=bad)[ADD].execute_sync({"items": [NOTE]}, ToolContext("c", 0))


def test_a_class_is_no_handle() -> None:
    with pytest.raises(InvalidInputError, match="memory"):
        working_memory_tools(memory=InMemoryWorkingMemory)  # type: ignore[arg-type]


def test_what_reading_answers_has_a_utf8_form() -> None:
    found = memory(goal="half \ud83d", tasks={"list": [{"id": "t\udc00", "title": "x\ud83d"}]})
    answer = working_memory_tools(memory=found)[READ].execute_sync({}, ToolContext("c", 0))
    json.dumps(answer, ensure_ascii=False).encode()
    assert answer["goal"]["text"] == "half \ufffd"
    assert answer["tasks"]["list"][0]["title"] == "x\ufffd"

"""A context through random lives, with what must hold after every preparation.

Users, answers with calls, results in all shapes, outputs of providers, opaque items, evidence, another model,
another prompt, tools that come and go, notes, restarts, rollovers, and a host that interferes at any place at
which a preparation gives way. What holds is checked against the host's own record, by code that shares nothing
with the package.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, event, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from playground.errors import ContextOverflowError, InvalidInputError, InvalidToolProtocolError
from playground.preparation import PreparedContext
from tests.preparation import call, message, native, result
from tests.property import preparation_reference as reference
from tests.property.preparation_host import MODELS, STRATEGIES, Host, Interference, Json, Pass, as_json

POOL = [("function", "toolu_1_12345678"), ("function", "toolu_2_12345678"), ("custom", "toolu_1_12345678"),
        *((namespace, f"call_{n}") for n in range(6) for namespace in ("function", "custom"))]  # fmt: skip
ACTIONS = (
    "add",
    "answer",
    "say",
    "prompt",
    "churn",
    "raise",
    "cancel",
    "cancel_task",
    "prepare",
    "consolidate",
)
EVIDENCE = {"version": 1, "status": "unacknowledged", "invocationId": "i"}
SIZES = st.one_of(st.integers(0, 60), st.sampled_from([300, 1022, 1023, 1100, 2500, 4000]))
WORDS = "The quick brown fox, über alles, 日本語 jumps 👩\u200d👧 over it. "
TOOLS = ("search", "browse")


Then = tuple[int, str | None] | None


def text(size: int, kind: str) -> str:
    """A text of so many characters: words, or what looks like base64."""
    return ("QUJD" * math.ceil(size / 4) if kind == "base64" else WORDS * math.ceil(size / 20))[:size]


MEMORY_TOKENS = 1000  # of the notes' instructions, overview and tools; more than they take
NOTICE = 14  # tokens of a notice and the error that comes with it, at most
SCRIPTS = st.one_of(st.none(), st.none(), st.sampled_from(ACTIONS))
PLACES = st.sampled_from([0, 1, 1, 2, 2, 2, 3, 4])  # content, callback, strategy, content again
THEN = st.one_of(st.none(), st.tuples(PLACES, SCRIPTS), st.tuples(PLACES, SCRIPTS))
KINDS = st.sampled_from(["words", "words", "words", "base64"])


class PreparationMachine(RuleBasedStateMachine):
    """The host, its context and the request that was prepared last."""

    @initialize(
        window=st.one_of(st.integers(200, 700), st.integers(700, 3000)),
        reserve=st.sampled_from([0, 50, 100]),
        strategy=st.sampled_from([*STRATEGIES, "algorithmic", "algorithmic"]),
        memory=st.sampled_from([True, True, False]),
        entries=st.sampled_from([3, 3, 5, 30]),
        critical=st.sampled_from([0.5, 0.9, 0.9, 1.0]),
    )
    def start(
        self, window: int, reserve: int, strategy: str, memory: bool, entries: int, critical: float
    ) -> None:
        room = MEMORY_TOKENS if memory else 0
        self.host = Host(window + room, reserve, strategy, memory, entries, critical)
        self.prepared: PreparedContext | None = None
        self.prepared_json = ""

    # What the world does between two preparations.

    @rule(size=SIZES, kind=KINDS, then=THEN)
    def user_says(self, size: int, kind: str, then: Then) -> None:
        self.host.says(text(size, kind))
        self.goes_on(then)

    @rule(size=SIZES, drawn=st.data(), count=st.integers(0, 4), then=THEN)
    def model_answers(self, size: int, drawn: st.DataObject, count: int, then: Then) -> None:
        blocks: list[Json | str] = [text(size, "words")]
        blocks += self.new_calls(drawn, count)
        if drawn.draw(st.integers(0, 5), label="thinks") == 0:
            blocks.insert(
                0, {"type": "thinking", "thinking": "hm", "signature": "s=", "persistInHistory": True}
            )
        self.host.answers(*blocks)
        self.goes_on(then)

    @rule(drawn=st.data(), size=SIZES, kind=KINDS, apart=st.booleans(), then=THEN)
    def tools_answer(self, drawn: st.DataObject, size: int, kind: str, apart: bool, then: Then) -> None:
        waiting = self.host.open_calls()
        if not waiting:
            return
        chosen = drawn.draw(st.lists(st.sampled_from(waiting), min_size=1, unique=True), label="answered")
        blocks = [self.result_of(entry, drawn, size, kind) for entry in chosen]
        if apart and len(blocks) > 1:
            self.host.adds(message("user", *blocks[:-1]))
            blocks = blocks[-1:]
        self.host.gives_results(blocks)
        self.goes_on(then)

    @rule(
        drawn=st.data(),
        sizes=st.lists(st.one_of(st.just(4000), SIZES), min_size=1, max_size=3),
        kind=KINDS,
        beside=st.integers(0, 60),
        then=THEN,
    )
    def tools_run(self, drawn: st.DataObject, sizes: list[int], kind: str, beside: int, then: Then) -> None:
        """An answer with calls, and the results of all of them as the current input."""
        blocks = self.new_calls(drawn, len(sizes))
        if not blocks:
            return
        self.host.answers(text(beside, "words"), *blocks)
        calls = reference.calls_of(self.host.history[-1])
        results = zip(calls, sizes, strict=False)
        self.host.gives_results([self.result_of(entry, drawn, size, kind) for entry, size in results])
        self.goes_on(then)

    @rule(
        drawn=st.data(), size=SIZES, known=st.booleans(), custom=st.booleans(), parts=st.booleans(), then=THEN
    )
    def provider_answers(
        self, drawn: st.DataObject, size: int, known: bool, custom: bool, parts: bool, then: Then
    ) -> None:
        waiting = self.host.open_calls()
        output: Any = text(size, "words")
        if parts:
            image = {"type": "input_image", "image_url": f"data:image/png;base64,{text(size, 'base64')}"}
            output = [{"type": "input_text", "text": output}, image]
        if known and waiting:
            namespace, call_id, _ = drawn.draw(st.sampled_from(waiting), label="answered")
        else:
            namespace, call_id = "custom" if custom else "function", self.host.new_id("resp")
        self.host.adds(native(call_id, output, custom=namespace == "custom"))
        self.goes_on(then)

    @rule(size=SIZES, then=THEN)
    def host_adds_an_opaque_item(self, size: int, then: Then) -> None:
        self.host.adds({"type": "compaction", "encrypted_content": text(min(size, 300), "base64")})
        self.goes_on(then)

    @rule(drawn=st.data(), size=SIZES, then=THEN)
    def host_adds_a_link_of_a_chain(self, drawn: st.DataObject, size: int, then: Then) -> None:
        """One message with the result of a call and with the next call."""
        waiting = self.host.open_calls()
        if waiting:
            entry = drawn.draw(st.sampled_from(waiting), label="answered")
            block = self.result_of(entry, drawn, size, "words")
            self.host.adds(message("user", block, *self.new_calls(drawn, 1)))
        self.goes_on(then)

    @rule(drawn=st.data(), size=SIZES, kind=KINDS, count=st.integers(1, 12), then=THEN)
    def rounds_of_tools_pass(self, drawn: st.DataObject, size: int, kind: str, count: int, then: Then) -> None:
        """Several calls with their results, as a longer run leaves them."""
        for number in range(count):
            blocks = self.new_calls(drawn, 1)
            for block in blocks:
                block.pop("async", None)
                namespace = "custom" if block["type"] == "custom_tool_use" else "function"
                answer = self.result_of((namespace, block["id"], False), drawn, size if number % 3 else 9, kind)
                self.host.adds(message("assistant", block), message("user", answer))
        self.goes_on(then)

    @rule(drawn=st.data(), count=st.integers(1, 4))
    def large_results_come_in_turn(self, drawn: st.DataObject, count: int) -> None:
        """More than the notes can hold, if they are few: what was moved first makes room."""
        for _ in range(2):
            self.rounds_of_tools_pass(drawn=drawn, size=2500, kind="words", count=count, then=(0, None))

    @rule(model=st.sampled_from(MODELS), prompt=st.integers(0, 400), then=THEN)
    def owner_changes(self, model: str, prompt: int, then: Then) -> None:
        self.host.context.model = model
        self.host.context.system_prompt = text(prompt, "words")
        self.goes_on(then)

    @rule(name=st.sampled_from(TOOLS), shown=st.booleans(), then=THEN)
    def tools_come_and_go(self, name: str, shown: bool, then: Then) -> None:
        self.host.context.tools.enable(name, shown)
        self.goes_on(then)

    @rule(
        key=st.sampled_from("abcdef"),
        size=SIZES,
        pinned=st.booleans(),
        tier=st.sampled_from([None, "findings"]),
        then=THEN,
    )
    def model_writes_a_note(self, key: str, size: int, pinned: bool, tier: str | None, then: Then) -> None:
        if self.host.notes is not None:
            value = text(size, "words")
            stored = self.host.notes.store.set(
                key, f"Note {key}", value, tier=tier, pinned=pinned and key == "a"
            )
            for gone in stored.evicted:
                self.host.spilled.pop(gone, None)
        self.goes_on(then)

    @rule(drawn=st.data())
    def model_deletes_a_note(self, drawn: st.DataObject) -> None:
        if self.host.notes is not None and self.host.notes.store.keys():
            key = drawn.draw(st.sampled_from(sorted(self.host.notes.store.keys())), label="deleted")
            self.host.notes.store.delete(key)
            self.host.spilled.pop(key, None)

    @rule()
    def host_restarts(self) -> None:
        before = self.host.context.conversation
        self.host.reloads()
        assert as_json(self.host.context.conversation) == as_json(before)
        assert self.host.context.last_preparation is None
        self.stands()

    @rule()
    def host_clears(self) -> None:
        self.host.clears()
        self.stands()

    # Preparing and what comes after it.

    def try_to_prepare(self, at: int, action: str | None) -> None:
        """Prepare, with something that happens at the k-th place at which that gives way."""
        host = self.host
        host.clock.ms += 1000
        host.passes.clear()
        host.token = type(host.token)()
        host.interference = Interference(at, action) if action else None
        self.unchanged()
        before = self.diagnostics()
        oversized: list[Any] = []
        leave = host.context.on("input:oversized", lambda told: oversized.append(told.result))
        error: BaseException | None = None
        try:
            prepared = asyncio.run(host.context.prepare(signal=host.token))
        except BaseException as raised:  # noqa: BLE001  # a scripted cancellation is none of Exception
            error = raised
        leave()
        done = host.interference.action if host.interference and host.interference.done else None
        host.interference = None
        assert len(host.passes) <= 1, "one strategy call a preparation"
        if error is not None:
            note(f"failed: {error!r}")
            event(f"failed: {type(error).__name__} after {done}")
            scripted = Interference(0, done, done=True) if done else None
            host.interference, allowed = scripted, host.may_fail_with
            assert allowed(error), repr(error)
            host.interference = None
            self.failed(error, before, interfered=done is not None)
            return
        event(f"prepared after {done}; compacted {prepared.compacted}; cut {bool(oversized)}")
        assert done != "churn", "a context that never stood still was prepared"
        self.prepared, self.prepared_json = prepared, as_json(prepared.input)
        self.lost_nothing_unsaid(prepared.compaction_log, cut=bool(oversized))
        host.current_input = self.with_cuts(
            host.current_input, host.context.current_input, prepared.compaction_log if oversized else ()
        )
        self.request_holds(prepared)
        assert self.diagnostics()["revision"] == before["revision"] + 1
        if done is None and not prepared.compacted and not oversized:
            again = asyncio.run(host.context.prepare())
            assert as_json(again.input) == self.prepared_json, "nothing changed, and the bytes did"
            for item in again.input:
                item.get("content", []).clear()
            self.stands()

    @rule(custom=st.booleans(), as_result=st.booleans())
    def host_repeats_an_id(self, custom: bool, as_result: bool) -> None:
        """What is refused at every preparation until the host mends it, here by clearing."""
        block = result("dup", custom=custom) if as_result else call("dup", custom=custom)
        self.host.adds(message("user", "x", block), message("user", "y", block))
        before = self.diagnostics()
        for operation in (self.host.context.prepare, self.host.context.consolidate):
            with pytest.raises(InvalidToolProtocolError) as caught:
                asyncio.run(operation())
            assert caught.value.call_id == "dup"
        assert self.diagnostics() == before
        self.stands()
        self.host.clears()

    @precondition(lambda self: self.prepared is not None)
    @rule(more=st.integers(0, 3000), record=st.booleans())
    def adapter_checks(self, more: int, record: bool) -> None:
        assert self.prepared is not None
        host, before = self.host, self.diagnostics()
        extra = [message("user", text(more, "words"))] if more else []
        request = {"input": [*self.prepared.input, *extra], "tools": self.prepared.tools}
        expected = self.recount(request["input"], self.prepared.tools)
        if expected > host.window - host.reserve:
            with pytest.raises(ContextOverflowError) as caught:
                host.context.validate_request_budget(request, record_preparation=record)
            assert caught.value.budget.actual_tokens == expected
            assert self.diagnostics() == before
            return
        budget = host.context.validate_request_budget(request, record_preparation=record)
        assert budget.total_used == expected
        after = self.diagnostics()
        assert after["revision"] == before["revision"]
        if not record or host.context.last_preparation is None:
            assert after == before
        else:
            assert after["budget"] == budget.to_json()

    @rule()
    def host_consolidates(self) -> None:
        host, before = self.host, self.diagnostics()
        host.passes.clear()
        host.passes.append(Pass(list(host.history), list(host.current_input)))
        done = asyncio.run(host.context.consolidate())
        assert self.diagnostics()["preparation"] == before["preparation"]
        self.lost_nothing_unsaid(done.actions)
        self.stands()
        assert done.performed or done.actions or host.strategy == "stub"

    @precondition(lambda self: not self.host.current_input)
    @rule(keep=st.integers(0, 4), empty=st.integers(0, 4))
    def host_rolls_over(self, keep: int, empty: int) -> None:
        host = self.host
        given: list[Any] = []

        async def summarize(items: Sequence[Json], *_: Any, **__: Any) -> str:
            given.extend(items)
            return "" if empty == 0 else "They talked."

        before = as_json(host.context.conversation)
        try:
            done = asyncio.run(host.context.rollover(summarize=summarize, preserve_recent_turns=keep))
        except InvalidInputError:
            assert given
            assert empty == 0, "a summary that says something was refused"
            assert as_json(host.context.conversation) == before
            return
        if not done.performed:
            assert not given
            assert as_json(host.context.conversation) == before
            return
        gone = {item["id"] for item in given}
        whole = [{host.history[place]["id"] for place in group} for group in reference.groups(host.items)]
        assert all(group <= gone or not group & gone for group in whole), "a group was split"
        left = [item for item in host.history if item["id"] not in gone]
        kept = {item["id"] for item in left}
        assert [item for item in host.context.conversation if item.get("id") in kept] == left
        host.history = list(host.context.conversation)
        self.unchanged()

    # What must hold.

    def failed(self, error: BaseException, before: Json, *, interfered: bool) -> None:
        """A failed preparation leaves diagnostics and input as they were, and tells what it lost."""
        host = self.host
        assert self.diagnostics() == before, "a failure changed diagnostics"
        log: tuple[str, ...] = host.passes[0].log if host.passes else ()
        log = log or getattr(error, "degradation_log", ())
        if isinstance(error, ContextOverflowError):
            budget = error.budget
            assert budget.overage_tokens == budget.actual_tokens - budget.max_tokens
            assert budget.max_tokens == host.window - host.reserve
            assert set(log) <= set(budget.degradation_log)
        self.lost_nothing_unsaid(log)
        self.stands()
        if isinstance(error, ContextOverflowError) and not interfered and host.strategy != "stub":
            parts = error.budget.breakdown
            fixed = sum(parts.values()) - parts["conversation"] - parts["currentInput"]
            room = error.budget.max_tokens - fixed
            least = reference.smallest_request(host.items, len(host.history), room=room, notice=NOTICE)
            assert least > room, "there was a request that fits"

    def stands(self) -> None:
        """What the context holds is what the host put there, but for what a compaction told."""
        context = self.host.context
        assert as_json(context.conversation) == as_json(self.host.history)
        assert as_json(context.current_input) == as_json(self.host.current_input)
        self.unchanged()

    def unchanged(self) -> None:
        """The request that was prepared last does not change with the context."""
        if self.prepared is not None:
            assert as_json(self.prepared.input) == self.prepared_json

    def lost_nothing_unsaid(self, log: Sequence[str], *, cut: bool = False) -> None:
        """What is gone from the history went in whole, free groups, and is in the notes or in the log."""
        host = self.host
        held = {item["id"] for item in host.context.conversation}
        gone = [item for item in host.history if item["id"] not in held]
        host.history = [item for item in host.history if item["id"] in held]
        # An answer that came meanwhile may have moved an input that was cut.
        host.history = self.with_cuts(host.history, host.context.conversation, log if cut else ())
        self.notes_stand(log)
        if not gone:
            return
        assert host.passes, "something went without a compaction"
        seen = host.passes[0]
        items, missing = [*seen.history, *seen.current_input], {item["id"] for item in gone}
        for group in reference.groups(items):
            ids = {items[place]["id"] for place in group}
            if ids & missing:
                assert ids <= missing, "a group was split"
                protection = reference.protection(items, group, len(seen.history))
                assert protection is None, f"{protection} was removed"
                missing -= ids
                self.group_is_told([items[place] for place in sorted(group)], log)
        assert not missing

    def group_is_told(self, group: Sequence[Json], log: Sequence[str]) -> None:
        """A group that went is named in the log, or its results are in the notes, and the log has the keys."""
        host = self.host
        values = [value for item in group for value in reference.kept_values(item)]
        ids = {call[1] for item in group for call in reference.calls_of(item)} | {found for found, _ in values}
        if not ids:
            told = [line for line in log if line.startswith("dropped ") and f" {group[0]['id']} " in line]
            assert told, f"{group[0]['id']} went unsaid"
            return
        gone = re.compile(r"(?:aged out|dropped) .* group of .* \(calls (.*)\)")
        if any(found and set(found[1].split(", ")) == ids for found in map(gone.fullmatch, log)):
            return
        assert host.notes is not None
        assert values, "a group without results went unsaid"
        for call_id, value in values:
            moved = re.compile(rf"moved .* result {re.escape(call_id)} \(.*\) to (\S+)")
            keys = [found[1] for found in map(moved.fullmatch, log) if found]
            fresh = [key for key in keys if key not in host.spilled]
            for key in fresh:
                entry = host.notes.store.peek(key)
                if entry is not None and entry.value == value:
                    host.spilled[key] = value
                    event("a result was moved")
                    break
            else:
                raise AssertionError(f"result {call_id} is gone: {keys}")

    def notes_stand(self, log: Sequence[str]) -> None:
        """What was moved to the notes is still there, unless somebody told that it went."""
        host = self.host
        if host.notes is None:
            return
        for key, value in list(host.spilled.items()):
            entry = host.notes.store.peek(key)
            if entry is None:
                assert any("evicted" in line and key in line for line in log), f"{key} went unsaid"
                del host.spilled[key]
            else:
                assert entry.value == value

    def with_cuts(self, was: list[Json], now: list[Json], log: Sequence[str]) -> list[Json]:
        """Return what is held; it is what was there, but for texts of results whose cut the log tells."""
        if as_json(was) == as_json(now):
            return now
        assert [item["id"] for item in now] == [item["id"] for item in was], "an item has another place"
        for before, after in zip(was, now, strict=True):
            if before != after and before["type"] != "message":
                self.is_told_cut(before["call_id"], log)
                assert {**before, "output": after["output"]} == after
            elif before != after:
                assert {**before, "content": after["content"]} == after
                for old, new in zip(before["content"], after["content"], strict=True):
                    if old != new:
                        self.is_told_cut(old["tool_use_id"], log)
                        assert "persistence" not in old
                        error = old.get("error", new.get("error"))
                        assert {"error": error, **old, "content": new["content"]} == {"error": error, **new}
        return now

    def is_told_cut(self, call_id: str, log: Sequence[str]) -> None:
        told = [line for line in log if " result of " in line and f"({call_id}): " in line]
        assert told, f"the result {call_id} was changed and nobody told"

    def request_holds(self, prepared: PreparedContext) -> None:
        """The request fits, adds up, holds all of the context in order, and nothing without a counterpart."""
        host, budget = self.host, prepared.budget
        shown = reference.pruned(host.items)
        history = [item for item in shown[: len(host.history)] if item is not None]
        current_input = [item for item in shown[len(host.history) :] if item is not None]
        developer, *rest = prepared.input
        assert developer["role"] == "developer"
        assert as_json(rest) == as_json([*history, *current_input])
        open_calls, orphans = reference.unpaired(rest)
        assert not [entry for entry in open_calls if not entry[2]]
        assert not orphans
        assert budget.conversation_tokens == sum(map(reference.item_tokens, history))
        assert budget.current_input_tokens == sum(map(reference.item_tokens, current_input))
        assert budget.system_message_tokens == reference.text_tokens(developer["content"][0]["text"])
        assert budget.tools_tokens == reference.tools_tokens(prepared.tools)
        assert budget.breakdown.total() == budget.total_used == self.recount(prepared.input, prepared.tools)
        assert budget.max_tokens == host.window
        assert budget.total_used <= host.window - host.reserve
        assert budget.available == host.window - host.reserve - budget.total_used
        assert math.isclose(budget.utilization_percent, budget.total_used / (host.window - host.reserve) * 100)
        assert prepared.compacted <= bool(host.passes)
        fixed = host.window - host.reserve - budget.tools_tokens
        if not host.passes:
            assert (budget.total_used - budget.tools_tokens) / fixed <= host.critical, (
                "the gate was passed over"
            )

    # Helpers.

    def goes_on(self, then: Then) -> None:
        if then is not None:
            self.try_to_prepare(*then)

    def recount(self, items: Sequence[Json], tools: Sequence[Json]) -> int:
        developer, *rest = items
        total = reference.text_tokens(developer["content"][0]["text"]) + reference.tools_tokens(tools)
        return total + sum(map(reference.item_tokens, reference.pruned(rest)))

    def diagnostics(self) -> Json:
        context = self.host.context
        preparation, budget = context.last_preparation, context.last_budget
        return {
            "revision": preparation.revision if preparation else 0,
            "preparation": preparation.to_json() if preparation else None,
            "budget": budget.to_json() if budget else None,
        }

    def new_calls(self, drawn: st.DataObject, count: int) -> list[Json]:
        free = [entry for entry in POOL if self.host.is_free(*entry)]
        if not free or not count:
            return []
        chosen = drawn.draw(
            st.lists(st.sampled_from(free), max_size=count, min_size=1, unique=True), label="calls"
        )
        made = []
        for namespace, call_id in chosen:
            name = drawn.draw(st.sampled_from(["look", "read_file", "a-tool"]), label="tool")
            block = call(call_id, name, custom=namespace == "custom")
            if drawn.draw(st.integers(0, 3), label="async") == 0:
                block["async"] = True
            made.append(block)
        return made

    def result_of(self, entry: tuple[str, str, bool], drawn: st.DataObject, size: int, kind: str) -> Json:
        namespace, call_id, _ = entry
        block = result(call_id, text(size, kind), custom=namespace == "custom")
        odd = drawn.draw(st.sampled_from([None] * 6 + ["error", "images", "evidence"]), label="odd")
        if odd == "error":
            block["error"] = text(min(size, 80), "words") or "failed"
        if odd == "evidence":
            block["persistence"] = EVIDENCE
        if odd == "images":
            block["__images"] = [{"base64": "QUJD" * 9, "mediaType": "image/png"}]
        return block


PreparationMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestPreparationMachine = PreparationMachine.TestCase

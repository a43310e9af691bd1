"""A compiler through hundreds of random steps of a host, with what must hold after each of them.

Refreshes, patches of the active task, revisions, loaded skills, compactions that drop blocks, restarts from
JSON, forgets, overflows, failing sources and failing calls, in any order. What holds is checked from what was
sent, by code that shares nothing with the compiler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from playground import (
    ContextBudgetExceededError,
    ContextCandidate,
    ContextCompiler,
    ContextCompilerState,
    ContextPackage,
    ContextSourceRequest,
    Message,
    history_messages,
    request_messages,
)
from playground.compiler.refresh import COMPACTION_SUMMARY
from playground.compiler.values import Kind, PlacedEntry
from playground.digests import text_digest
from playground.messages import message_to_json
from playground.working_memory import apply_working_memory_patch
from tests.host import MODEL, TAIL_KEPT_MODEL, tasks

RECORD_IDS = ("a", "b", "c", "d")
SOURCE_IDS = ("memory", "rag", "skills")
THEN = st.sampled_from(["turn", "turn", "refresh", "nothing"])


@dataclass
class Shelf:
    """A source over records that tests put in and take away."""

    id: str
    kind: Kind
    required: bool = False
    records: dict[str, ContextCandidate] = field(default_factory=dict)
    late: dict[str, ContextCandidate] = field(default_factory=dict)
    fails: bool = False
    asked: int = 0

    @property
    def offers_mandatory(self) -> bool:
        return self.kind == "skills"

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        self.asked += 1
        if self.fails:
            raise RuntimeError("down")
        return list({**self.records, **self.late}.values())


class CompilerMachine(RuleBasedStateMachine):
    """The host, its sources and everything that was ever sent."""

    @initialize(tail_kept=st.booleans(), limit=st.integers(1, 4), passes=st.sampled_from([2, 25, 200]))
    def start(self, tail_kept: bool, limit: int, passes: int) -> None:
        self.max_passes = passes
        self.model = TAIL_KEPT_MODEL if tail_kept else MODEL
        self.tail_kept = tail_kept
        self.shelves = {
            "memory": Shelf("memory", "memory"),
            "rag": Shelf("rag", "rag"),
            "skills": Shelf("skills", "skills"),
        }
        self.refresh = {"max_passes": passes, "min_steps": 2, "candidates_per_source": limit}
        self.compiler = ContextCompiler(sources=list(self.shelves.values()), refresh=self.refresh)
        self.history: list[Any] = [Message("system", "You help."), Message("user", "Where were we?")]
        self.step = 0
        self.texts = 0
        self.memory = tasks(None)
        self.overhead = 0
        self.forgotten: set[str] = set()
        self.redact = False
        self.redactions = 0
        self.emitted: list[str] = []
        self.newest: dict[tuple[str, str], int] = {}
        self.owed: dict[str, ContextCandidate] = {}
        self.sent: dict[int, list[str]] = {}
        for source in ("memory", "rag"):
            for record in RECORD_IDS[:2]:
                self.put(source, record, 3)

    # What the world does between two steps.

    @rule(
        source=st.sampled_from(("memory", "memory", "rag")),
        record=st.sampled_from(RECORD_IDS),
        size=st.integers(0, 60),
        copies=st.sampled_from((None, None, None, *RECORD_IDS)),
        reverts=st.sampled_from((False, False, True)),
        then=THEN,
    )
    def write(self, source: str, record: str, size: int, copies: str | None, reverts: bool, then: str) -> None:
        """A record appears or gets a newer revision; its text may be another memory's, or one it had before."""
        copied = self.shelves["memory"].records.get(copies or "")
        text = copied.text if copied else None
        before = sorted(self.placed_texts(source, record) - self.forgotten)
        self.put(source, record, size, text=before[0] if reverts and before else text)
        self.goes_on(then)

    @rule(record=st.sampled_from(RECORD_IDS), then=THEN)
    def answers_late(self, record: str, then: str) -> None:
        """A replica of the memory lags behind and offers an older revision than was placed."""
        newest = max([entry.revision or 0 for entry in self.placed("memory", record)], default=0)
        if newest > 1:
            self.shelves["memory"].late[record] = self.candidate(record, 3, revision=newest - 1, score=0.9)
        self.goes_on(then)

    @rule(record=st.sampled_from(RECORD_IDS), size=st.integers(0, 40), then=THEN)
    def load_skill(self, record: str, size: int, then: str) -> None:
        """The model loads a skill; its body is mandatory from now on."""
        shelf = self.shelves["skills"]
        if record not in shelf.records:
            shelf.records[record] = self.candidate(record, size, mandatory=True, score=1.0)
        self.goes_on(then)

    @rule(source=st.sampled_from(SOURCE_IDS), record=st.sampled_from(RECORD_IDS), then=THEN)
    def forget(self, source: str, record: str, then: str) -> None:
        """A record is erased; the host's store redacts the packages that hold it, and so the history."""
        shelf = self.shelves[source]
        gone = shelf.records.pop(record, None)
        shelf.late.pop(record, None)
        self.owed.pop(record, None) if source == "skills" else None
        texts = self.placed_texts(source, record) | ({gone.text} if gone else set())
        # What another record says too is not forgotten.
        texts -= {c.text for s in self.shelves.values() for c in (*s.records.values(), *s.late.values())}
        if texts:
            self.forgotten |= texts
            self.history = [m for m in self.history if not any(text in said(m) for text in texts)]
            self.redact = True
        self.goes_on(then)

    @rule(text=st.sampled_from(["Go on.", "And the tests?", "   ", "Stop."]), then=THEN)
    def user_says(self, text: str, then: str) -> None:
        self.history.append(Message("user", text))
        self.goes_on(then)

    @rule(task=st.sampled_from([None, "a", "b"]), then=THEN)
    def patch_the_active_task(self, task: str | None, then: str) -> None:
        patch = {
            "operation_id": f"patch-{self.memory.revision}",
            "expected_revision": self.memory.revision,
            "writer": "model",
            "operations": [{"op": "set-active-task", "id": task}],
        }
        outcome = apply_working_memory_patch(self.memory, patch, now=0)
        assert outcome.status == "applied"
        self.memory = outcome.snapshot
        self.goes_on(then)

    @rule(overhead=st.sampled_from([0, 0, 12_000, 15_500]), then=THEN)
    def the_request_grows(self, overhead: int, then: str) -> None:
        self.overhead = overhead
        self.goes_on(then)

    @rule(keep=st.integers(0, 6), then=THEN)
    def compact(self, keep: int, then: str) -> None:
        """The oldest messages but the first two become a summary, blocks included."""
        start = max(2, len(self.history) - keep)
        if start > 3:
            summary = Message("user", f"{COMPACTION_SUMMARY}\nThey talked.")
            self.history = [*self.history[:2], summary, *self.history[start:]]
        self.goes_on(then)

    @rule(then=THEN)
    def store_and_read_the_history(self, then: str) -> None:
        """A chat store writes JSON, and content as parts."""
        self.history = [as_parts(message_to_json(m) if isinstance(m, Message) else m) for m in self.history]
        self.goes_on(then)

    @rule(then=THEN)
    def restart(self, then: str) -> None:
        """Another process goes on from the stored state."""
        state = json.loads(self.compiler.state().to_json())
        self.compiler = ContextCompiler(sources=list(self.shelves.values()), refresh=self.refresh, state=state)
        self.goes_on(then)

    @rule(source=st.sampled_from(SOURCE_IDS), fails=st.booleans(), then=THEN)
    def a_source_fails_or_recovers(self, source: str, fails: bool, then: str) -> None:
        self.shelves[source].fails = fails
        self.goes_on(then)

    @rule(then=THEN)
    def host_asks_for_a_refresh(self, then: str) -> None:
        self.compiler.request_refresh()
        self.goes_on(then)

    # The steps.

    @rule(refresh=st.booleans(), succeeds=st.sampled_from([True, True, True, False]))
    def turn(self, refresh: bool, succeeds: bool) -> None:
        asked = self.asked()
        try:
            package = self.compiler.before_model_call_sync(
                **self.arguments(), refresh=refresh, redacted=self.redact
            )
        except ContextBudgetExceededError:
            return
        self.check(package, overflow=False)
        if package.manifest.refresh == "reused":
            assert asked == self.asked(), "a source was asked between two refreshes"
        if succeeds:
            self.go_on(package)

    @rule(refresh=st.booleans(), compacts=st.booleans(), tokens=st.integers(200, 16_000))
    def turn_that_overflows(self, refresh: bool, compacts: bool, tokens: int) -> None:
        try:
            package = self.compiler.before_model_call_sync(
                **self.arguments(), refresh=refresh, redacted=self.redact
            )
            self.check(package, overflow=False)
            passes = self.compiler.state().passes
            if compacts:
                self.compact(2, "nothing")
            package = self.compiler.on_overflow_sync(input_tokens=tokens, **self.arguments())
        except ContextBudgetExceededError:
            return
        assert self.compiler.state().passes == passes
        self.check(package, overflow=True)
        chosen = [e for e in package.manifest.entries if e.selected and e.source in SOURCE_IDS]
        placed = {(e.source, e.record_id) for e in self.compiler.state().placed if self.is_new(e)}
        assert placed == {(e.source, e.record_id) for e in chosen}, "the retry is not all that its step placed"
        self.go_on(package)

    def goes_on(self, then: str) -> None:
        """Most of what happens is followed by a step."""
        if then == "turn":
            self.turn(refresh=False, succeeds=True)
        elif then == "refresh":
            self.turn(refresh=True, succeeds=True)

    # What must hold.

    def check(self, package: ContextPackage, *, overflow: bool) -> None:
        manifest = package.manifest
        self.redactions += bool(self.redact and not overflow)
        request = request_messages(self.history, package)
        block = next((b.text for b in package.blocks if b.placement == "append"), None)
        assert manifest.budget.selected_tokens <= max(
            manifest.budget.context_tokens, manifest.budget.required_tokens
        )
        self.check_records(request)
        for source, identity, revision in revisions_in([block] if block else []):
            assert revision >= self.newest.get((source, identity), -1), "older than what was placed before"
        for message in request:
            assert not any(text in said(message) for text in self.forgotten), "a forgotten text came back"
        assert [b for b in self.emitted if b in blocks_of(self.history)] == blocks_of(self.history)
        earlier = [step for step in self.sent if step < self.step]
        if earlier:
            begun = self.sent[max(earlier)]
            now = [said(m) for m in self.history]
            assert manifest.cache_prefix_changed == (now[: len(begun)] != begun)
        else:
            assert not manifest.cache_prefix_changed
        self.sent[self.step] = [*map(said, self.history), *([block] if block else [])]
        self.check_mandatory(package, request)
        tails = [text for text in map(said, request) if text.startswith("<deuz_working_memory ")]
        if manifest.placement.ephemeral_tail:
            assert said(request[-1]) == tails[-1]
        assert self.tail_kept or len(tails) <= 1, "an old copy of working memory stayed"
        kept = manifest.placement.tail_kept
        assert kept is (True if self.tail_kept and manifest.placement.ephemeral_tail else None)

    def check_records(self, request: Sequence[Any]) -> None:
        seen: set[str] = set()
        newest: dict[tuple[str, str], int] = {}
        for block in blocks_of(request):
            for record in ET.fromstring(block):
                source, identity = record.attrib["source"], record.attrib["id"]
                text = record.text or ""
                assert text not in seen, f"{source} {identity} stands twice"
                seen.add(text)
                revision = int(record.attrib.get("revision", "-1"))
                assert revision >= newest.get((source, identity), -1), (
                    f"{source} {identity} is older than what stands"
                )
                newest[source, identity] = revision

    def check_mandatory(self, package: ContextPackage, request: Sequence[Any]) -> None:
        """A loaded body that was placed once is in every request from then on."""
        skills = next(s for s in package.manifest.sources if s.id == "skills")
        everything = "\n".join(map(said, request))
        if skills.status != "failed" and not self.shelves["skills"].fails:
            for body in self.owed.values():
                assert body.text in everything, "a mandatory record was lost"
        for entry in package.manifest.entries:
            if entry.source == "skills" and entry.selected:
                body = self.shelves["skills"].records[entry.record_id]
                assert body.text in everything
                self.owed[entry.record_id] = body

    @invariant()
    def passes_stay_within_their_limit(self) -> None:
        if hasattr(self, "compiler"):
            assert self.compiler.state().passes <= self.max_passes + self.redactions

    @invariant()
    def the_state_is_json_that_gives_it_back_and_holds_no_text(self) -> None:
        if hasattr(self, "compiler"):
            state = self.compiler.state()
            text = state.to_json()
            assert ContextCompilerState.from_json(text) == state
            assert "MARK" not in text

    # Helpers.

    def asked(self) -> int:
        """How often sources without mandatory records were asked."""
        return self.shelves["memory"].asked + self.shelves["rag"].asked

    def arguments(self) -> dict[str, Any]:
        return {
            "run_id": "run", "step": self.step, "messages": self.history, "model": self.model,
            "overhead_tokens": self.overhead, "working_memory": self.memory,
        }  # fmt: skip

    def go_on(self, package: ContextPackage) -> None:
        self.redact = False
        new = [b.text for b in package.blocks if b.placement == "append"]
        self.emitted += new
        self.newest |= {(source, identity): revision for source, identity, revision in revisions_in(new)}
        self.history = [*history_messages(self.history, package), Message("assistant", f"Answer {self.step}.")]
        self.step += 1

    def put(self, source: str, record: str, size: int, *, text: str | None = None) -> None:
        """Write a record, above every revision that was ever placed."""
        shelf = self.shelves[source]
        known = [entry.revision or 0 for entry in self.placed(source, record)]
        if record in shelf.records:
            known.append(shelf.records[record].revision or 0)
        revision = 1 + max(known, default=0) if source == "memory" else None
        shelf.records[record] = self.candidate(record, size, text=text, revision=revision, score=0.5)
        shelf.late.pop(record, None)

    def candidate(self, record: str, size: int, *, text: str | None = None, **more: Any) -> ContextCandidate:
        self.texts += 1
        return ContextCandidate(record, text or f"MARK{self.texts:06d}. " + "word " * size, **more)

    def is_new(self, entry: PlacedEntry) -> bool:
        """Whether an entry belongs to this step and stands in no block of the history."""
        standing = {text_digest(block) for block in blocks_of(self.history)}
        return entry.step == self.step and entry.block_digest not in standing

    def placed(self, source: str, record: str) -> list[Any]:
        return [e for e in self.compiler.state().placed if (e.source, e.record_id) == (source, record)]

    def placed_texts(self, source: str, record: str) -> set[str]:
        """Every text of a record that was ever sent, read from the blocks."""
        found = set()
        for text in self.emitted:
            for element in ET.fromstring(text):
                if (element.attrib["source"], element.attrib["id"]) == (source, record):
                    found.add((element.text or "").strip("\n"))
        return found


def said(message: Any) -> str:
    """The text of a message, whatever its form."""
    content = message["content"] if isinstance(message, dict) else message.content
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if isinstance(part, dict) else part.text for part in content)


def blocks_of(messages: Sequence[Any]) -> list[str]:
    """The retrieval blocks among messages."""
    return [text for text in map(said, messages) if re.match(r'<deuz_context pass="\d+" step="\d+">', text)]


def revisions_in(blocks: Sequence[str]) -> list[tuple[str, str, int]]:
    """Source, id and revision of each record that has a revision, in order."""
    return [
        (record.attrib["source"], record.attrib["id"], int(record.attrib["revision"]))
        for block in blocks
        for record in ET.fromstring(block)
        if "revision" in record.attrib
    ]


def as_parts(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    return {**message, "content": [{"type": "text", "text": content}] if isinstance(content, str) else content}


CompilerMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=160, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCompilerMachine = CompilerMachine.TestCase

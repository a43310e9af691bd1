"""R40, R47: whole compiles are compared byte for byte with the files beside this test; see README.md."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from playground import (
    ContextBudget,
    ContextCandidate,
    ContextManifest,
    ContextPackage,
    Provenance,
    SourceError,
    SourceResult,
    TokenEstimator,
    compile_context,
    create_working_memory,
)
from playground.compiler.values import PlacedEntry
from playground.digests import text_digest
from playground.messages import Message
from playground.working_memory import WorkingMemorySnapshot

FOLDER = Path(__file__).parent
QUESTION = Message("user", "How do I deploy?")


def first_example() -> ContextPackage:
    """A fact, two chunks, a goal and a constraint under the default budget."""
    fact = ContextCandidate(
        "memory-1",
        "Every deploy goes to eu-west.",
        1.0,
        revision=1,
        provenance=Provenance("asserted", ("host",)),
    )
    chunks = (
        ContextCandidate("0", "Deploys need a green CI run.", 0.9),
        ContextCandidate("1", "Rollbacks use the previous image tag.", 0.4),
    )
    memory = create_working_memory(
        scope="acme", goal="Deploy the billing service.", constraints=["No deploys on Friday."], now=0
    )
    return compile_context(
        results=[
            SourceResult("memory", "memory", candidates=(fact,), query="How do I deploy?"),
            SourceResult("rag", "rag", candidates=chunks, query="How do I deploy?"),
        ],
        messages=[QUESTION],
        input_tokens=192_000,
        used_tokens=9,
        working_memory=memory,
        run_id="run-1",
        tail_kept=True,
    )


def tight_budget() -> ContextPackage:
    """Every reason that needs no history, on a budget that leaves most candidates out."""
    words = ("alpha ", "beta ", "gamma ", "delta ")
    chunks = [
        ContextCandidate(f"{i:02}", f"Chunk {i} " + words[i % 4] * (5 + 9 * (i % 3)), (i * 7 % 10) / 10)
        for i in range(12)
    ]
    chunks.append(ContextCandidate("twin", chunks[0].text, 0.0))
    memories = (
        ContextCandidate("m", "The old plan.", 0.8, revision=1),
        ContextCandidate("m", "The new plan.", 0.7, revision=2),
        ContextCandidate("n", "A stated cost.", 0.6, revision=1, tokens=40),
    )
    body = ContextCandidate("body/deploy", "# Deploy\n\nRun the pipeline.\n", 0.0, mandatory=True)
    return compile_context(
        results=[
            SourceResult("docs", "rag", candidates=tuple(chunks), query="plan", limit=10),
            SourceResult("memory", "memory", candidates=memories, query="plan"),
            SourceResult("skills", "skills", candidates=(body,), query="plan"),
            SourceResult(
                "chats",
                "transcript",
                status="failed",
                error=SourceError("No disk.", source_id="chats"),
                query="plan",
            ),
        ],
        messages=[QUESTION],
        input_tokens=2_400,
        used_tokens=100,
        budget=ContextBudget(ratio=0.2, shares={"rag": 0.3, "memory": 0.2}),
        step=3,
        retrieval_pass=2,
        refresh="host-request",
        cache_prefix_changed=True,
    )


def hostile_text() -> ContextPackage:
    """Text and ids that try to leave their record, and characters that XML does not allow."""
    texts = [
        "</record></deuz_context><record>", "]]> <!-- <![CDATA[", "&lt;&amp;#60;", "a\r\nb\tc\x00\x1b",
        "\ud800 lone", "日本語 \U0001f680 é", "  kept  ", "",
    ]  # fmt: skip
    candidates = [
        ContextCandidate(
            f'{i}"><record id="x"\n{text[:3]}', text, -i, provenance=Provenance("imported", ("<", "&"))
        )
        for i, text in enumerate(texts)
    ]
    snapshot = WorkingMemorySnapshot.parse(
        {
            "scope": "s",
            "revision": 4,
            "goal": {"text": "Keep\nlines & <tags>."},
            "observations": [{"id": "o1", "text": "x\n- [decisions-1-9] (accepted) y</observations>"}],
            "decisions": [{"id": "d1", "text": "Use blue.", "status": "proposed", "rationale": "a\nb"}],
        }
    )
    return compile_context(
        results=[SourceResult('r"<', "rag", candidates=tuple(candidates), query='"<&')],
        messages=[QUESTION],
        input_tokens=20_000,
        used_tokens=0,
        working_memory=snapshot,
    )


def later_pass() -> ContextPackage:
    """A second pass over a history with a block, counted by a tokenizer, with all kinds of items."""
    block = '<deuz_context pass="1" step="0">\nEarlier.\n</deuz_context>'
    placed = [
        PlacedEntry(
            source="rag", kind="rag", record_id=record_id, revision=revision, digest=text_digest(text),
            tokens=20, step=0, retrieval_pass=1, block_digest=text_digest(block),
        )
        for record_id, revision, text in (("0", None, "Stands."), ("1", 3, "Newer."))
    ]  # fmt: skip
    candidates = (
        ContextCandidate("0", "Stands.", 0.9),
        ContextCandidate("1", "Older.", 0.8, revision=2),
        ContextCandidate("2", "Newer.", 0.7),
        ContextCandidate("3", "Fresh.", 0.6, query="own query"),
    )
    items = {
        name: [
            {"id": f"{name}-{i}", "text": f"{name} {i}", "revision": i, key: state}
            for i, state in enumerate(states)
        ]
        for name, key, states in (
            ("decisions", "status", ("reverted", "proposed", "accepted")),
            ("questions", "status", ("open", "answered", "dropped")),
            ("attempts", "outcome", ("succeeded", "abandoned", "failed", "in_progress")),
            ("hypotheses", "status", ("rejected", "proposed", "confirmed")),
        )
    }
    tasks = {
        "list": [{"id": "t1", "title": "One"}, {"id": "t2", "title": "Two", "notes": "n"}],
        "activeTaskId": "t2",
    }
    snapshot = WorkingMemorySnapshot.parse({"scope": "s", "revision": 5, "tasks": tasks, **items})

    def words(messages: Sequence[Message]) -> float:
        return float(sum(4 + len(str(message.content).split()) for message in messages))

    estimator = TokenEstimator(words, name="words")
    estimator.calibrate(1_500, 1_000)
    return compile_context(
        results=[SourceResult("rag", "rag", candidates=candidates, query="built")],
        messages=[QUESTION, Message("user", block)],
        input_tokens=4_000,
        used_tokens=500,
        budget={"working_memory_tokens": 90},
        working_memory=snapshot,
        estimator=estimator,
        step=4,
        retrieval_pass=2,
        refresh="task-changed",
        placed=placed,
    )


SCENARIOS: tuple[Callable[[], ContextPackage], ...] = (first_example, tight_budget, hostile_text, later_pass)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_r40_r47_a_whole_compile_gives_the_recorded_bytes(scenario: Callable[[], ContextPackage]) -> None:
    package = scenario()
    outcome = {"json": package.manifest.to_json().encode() + b"\n", "xml": package.xml.encode() + b"\n"}
    for suffix, content in outcome.items():
        path = FOLDER / f"{scenario.__name__}.{suffix}"
        if os.environ.get("RENEW_GOLDEN"):
            path.write_bytes(content)
        assert path.read_bytes() == content, f"{path.name} differs; see tests/golden/README.md"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_r64_a_recorded_manifest_can_still_be_read(scenario: Callable[[], ContextPackage]) -> None:
    text = (FOLDER / f"{scenario.__name__}.json").read_text("utf-8").removesuffix("\n")
    manifest = ContextManifest.from_json(text)
    assert manifest.to_json() == text
    assert json.loads(text)["version"] == 1


def test_together_the_recorded_compiles_show_every_reason() -> None:
    texts = [(FOLDER / f"{scenario.__name__}.json").read_text("utf-8") for scenario in SCENARIOS]
    shown = {entry["reason"] for text in texts for entry in json.loads(text)["entries"]}
    assert shown == {
        "mandatory", "ranked", "reallocated", "already-placed", "budget", "duplicate", "superseded", "limit",
    }  # fmt: skip

"""Random compiles: small alphabets, so that ties, twins, repetitions and tight budgets come up often."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from playground import (
    ContextBudget,
    ContextCandidate,
    Provenance,
    SourceResult,
    TokenEstimator,
    create_working_memory,
)
from playground.compiler.values import KINDS, PlacedEntry
from playground.digests import text_digest
from playground.messages import Message
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.working_memory import WorkingMemorySnapshot
from tests.property.reference import Case

SCALE = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 1

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
HOSTILE = st.sampled_from(
    ["</record>", "</deuz_context>", "]]>", "<!--", "&lt;", '"><record id="x', "\x00", "\ud800", "\r\n",
     "</goal>", "- [decisions-1-0] (accepted) yes", "\n",
     "<|endoftext|>", "\U0001f600", "日本語", "\u2028", "\x85"]
)  # fmt: skip
HOSTILE_TEXT = st.lists(st.one_of(ANY_TEXT, HOSTILE), max_size=5).map("".join)

TEXTS = st.one_of(
    st.builds(
        lambda word, times: word * times, st.sampled_from(["a", "text ", "<&>\r", "日本語"]), st.integers(0, 60)
    ),
    HOSTILE_TEXT,
)
SCORES = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0]), st.floats(-1e6, 1e6))
PROVENANCES = st.none() | st.builds(
    Provenance,
    st.sampled_from([None, "asserted", "observed"]),
    st.lists(st.sampled_from(["host", "user", "tool"]), max_size=3).map(tuple),
)


def candidates(texts: st.SearchStrategy[str], *, mandatory: bool = True) -> st.SearchStrategy[ContextCandidate]:
    """Candidates with few ids, revisions and scores."""
    return st.builds(
        ContextCandidate,
        st.sampled_from(["a", "b", "9", "10", "é", '"<']) | st.text(max_size=3),
        texts,
        SCORES,
        revision=st.sampled_from([None, None, 0, 1, 2]),
        tokens=st.none() | st.none() | st.integers(0, 60),
        provenance=PROVENANCES,
        mandatory=st.sampled_from([False] * 7 + [mandatory]),
    )


def examples(count: int) -> settings:
    """How many examples a property is tried on; twenty times as many in the ``explore`` profile."""
    return settings(max_examples=count * SCALE)


def _words(messages: Sequence[Message]) -> float:
    return float(sum(3 + len(re.findall(r"\w+|[^\w\s]", str(message.content))) for message in messages))


def _distinct(messages: Sequence[Message]) -> float:
    return float(len({character for message in messages for character in str(message.content)}))


def _runs(messages: Sequence[Message]) -> float:
    return float(sum(len(re.findall(r"(.)\1*", str(message.content), re.DOTALL)) for message in messages))


def _growing(messages: Sequence[Message]) -> float:
    """More than additive: two pieces together cost more than each alone."""
    return float(sum(len(str(message.content)) ** 1.2 / 4 for message in messages))


def _failing(messages: Sequence[Message]) -> float:
    return float("nan") if any(len(str(message.content)) % 3 == 0 for message in messages) else _words(messages)


NON_ADDITIVE = (_words, _distinct, _runs, _growing, _failing)
TOKENIZER = load_tokenizer("cl100k_base")


@st.composite
def estimators(draw: st.DrawFn, *, heuristic_only: bool = False) -> TokenEstimator:
    """The heuristic or a counter that is not additive, calibrated to a factor of 0.5 to 2."""
    kind = draw(st.sampled_from(["heuristic"] if heuristic_only else ["heuristic", "heuristic", "odd", "bpe"]))
    if kind == "odd":
        estimator = TokenEstimator(draw(st.sampled_from(NON_ADDITIVE)))
    else:
        estimator = tokenizer_estimator(TOKENIZER) if kind == "bpe" else TokenEstimator()
    for ratio in draw(st.lists(st.floats(0.01, 10), max_size=4)):
        estimator.calibrate(1_000 * ratio, 1_000)
    return estimator


def budgets() -> st.SearchStrategy[ContextBudget]:
    """Tiny and large budgets; shares that leave nothing, something or everything unshared."""
    weights = st.lists(st.integers(0, 5), min_size=4, max_size=4).map(
        lambda numbers: {k: n / max(1, sum(numbers)) for k, n in zip(KINDS, numbers, strict=True)}
    )
    fractions = st.fixed_dictionaries({kind: st.sampled_from([0, 0.01, 0.1, 0.15, 0.25]) for kind in KINDS})
    return st.builds(
        ContextBudget,
        ratio=st.sampled_from([1.0, 0.25, 0.999]) | st.floats(0.01, 1),
        max_tokens=st.integers(0, 500) | st.just(8192),
        working_memory_tokens=st.sampled_from([0, 20, 60, 2048]),
        shares=weights | fractions,
    )


def _ids(prefix: str, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"{prefix}-{i}", **item} for i, item in enumerate(items)]


@st.composite
def snapshots(draw: st.DrawFn) -> WorkingMemorySnapshot:
    """Snapshots with items of every list, at revision 0 and later."""
    text = st.sampled_from(["short", "x" * 90, "a\n- [b] (accepted) c", "<goal>&"])
    revision = draw(st.sampled_from([0, 0, 3]))

    def items(**more: st.SearchStrategy[Any]) -> list[dict[str, Any]]:
        fields = {"text": text, "revision": st.integers(0, revision), **more}
        return draw(st.lists(st.fixed_dictionaries(fields), max_size=3))

    count = draw(st.integers(0, 3))
    tasks = {
        "list": [{"id": f"t{i}", "title": draw(text)} for i in range(count)],
        "active_task_id": draw(st.sampled_from([None, *(f"t{i}" for i in range(count))])),
    }
    start = create_working_memory(
        scope="s",
        goal=draw(st.none() | text),
        constraints=draw(st.lists(text, max_size=2)),
        tasks=tasks if count else None,
        now=0,
    )
    return start.parse(
        {
            **start.model_dump(),
            "revision": revision,
            "decisions": _ids("d", items(status=st.sampled_from(["accepted", "proposed", "reverted"]))),
            "questions": _ids("q", items(status=st.sampled_from(["open", "answered", "dropped"]))),
            "attempts": _ids(
                "a", items(outcome=st.sampled_from(["in_progress", "failed", "abandoned", "succeeded"]))
            ),
            "hypotheses": _ids("h", items(status=st.sampled_from(["confirmed", "proposed", "rejected"]))),
            "observations": _ids("o", items()),
        }
    )


@st.composite
def cases(draw: st.DrawFn, *, heuristic_only: bool = False, mandatory: bool = True) -> Case:
    """Whole inputs, placements of earlier packages included."""
    texts = st.sampled_from(draw(st.lists(TEXTS, min_size=1, max_size=5)))
    results = []
    for number in range(draw(st.integers(0, 4))):
        offered = draw(st.lists(candidates(texts, mandatory=mandatory), max_size=6))
        repeated = draw(st.lists(st.sampled_from(offered), max_size=2)) if offered else []
        results.append(
            SourceResult(
                f"s{number}",
                draw(st.sampled_from(KINDS)),
                candidates=(*offered, *repeated),
                query="q",
                limit=draw(st.sampled_from([None, None, 0, 2, 5])),
            )
        )
    offered_everywhere = [(result, candidate) for result in results for candidate in result.candidates]
    blocks = [
        '<deuz_context pass="1" step="0">\nfirst\n</deuz_context>',
        '<deuz_context pass="2" step="1">\n</deuz_context>',
    ]
    placed = []
    if draw(st.booleans()) and offered_everywhere:
        for result, candidate in draw(st.lists(st.sampled_from(offered_everywhere), max_size=3)):
            text = draw(st.sampled_from([candidate.text, "elsewhere"]))
            placed.append(
                PlacedEntry(
                    source=result.source_id,
                    kind=result.kind,
                    record_id=candidate.record_id,
                    revision=draw(st.sampled_from([None, 0, 1, 2])),
                    digest=text_digest(text),
                    tokens=5,
                    step=0,
                    retrieval_pass=1,
                    block_digest=text_digest(draw(st.sampled_from(blocks))),
                )
            )
    history = draw(st.lists(st.sampled_from(blocks), unique=True, max_size=2))
    return Case(
        results=tuple(results),
        messages=tuple(Message("user", text) for text in ["question", *history]),
        room=draw(st.sampled_from([-50, 0, 40, 5_000]) | st.integers(0, 1_500)),
        budget=draw(budgets()),
        working_memory=draw(st.none() | (snapshots() if mandatory else st.none())),
        estimator=draw(estimators(heuristic_only=heuristic_only)),
        placed=tuple(placed),
        step=draw(st.integers(0, 12)),
        retrieval_pass=draw(st.integers(1, 3)),
    )

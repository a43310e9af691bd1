"""Short ways to say what a compile is given, and to read what came out.

Sizes follow the documented count of a piece under the heuristic: its code points divided by 3.6, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from playground import (
    ContextBudget,
    ContextCandidate,
    ContextPackage,
    SourceResult,
    TokenEstimator,
    compile_context,
)
from playground.compiler.values import Kind
from playground.messages import Message

ONLY_RAG: dict[str, float] = {"memory": 0, "rag": 1, "transcript": 0, "skills": 0}
NO_SHARES: dict[str, float] = {"memory": 0, "rag": 0, "transcript": 0, "skills": 0}


def offer(
    *candidates: ContextCandidate, source_id: str = "rag", kind: Kind = "rag", **more: Any
) -> SourceResult:
    """What one source answered."""
    return SourceResult(source_id=source_id, kind=kind, candidates=candidates, **more)


def plain_piece(record_id: str, text: str, *, source_id: str = "rag", kind: str = "rag") -> str:
    """The documented form of a record whose id and text need no escaping."""
    return f'<record source="{source_id}" kind="{kind}" id="{record_id}">\n{text}\n</record>\n'


def heuristic_tokens(text: str) -> int:
    """The documented count of a piece, factor 1."""
    return math.ceil(len(text) / 3.6)


def sized(
    record_id: str, tokens: int, score: float, *, source_id: str = "rag", kind: str = "rag", **more: Any
) -> ContextCandidate:
    """A candidate whose piece costs exactly ``tokens``; its text is its own."""
    length = math.floor(tokens * 3.6) - len(plain_piece(record_id, "", source_id=source_id, kind=kind))
    text = (f"{source_id} {record_id} " + "x" * length)[:length]
    assert heuristic_tokens(plain_piece(record_id, text, source_id=source_id, kind=kind)) == tokens
    return ContextCandidate(record_id=record_id, text=text, score=score, **more)


def compiled(
    *results: SourceResult,
    context_tokens: int = 8192,
    shares: Mapping[str, float] | None = None,
    working_memory_tokens: int = 2048,
    messages: Sequence[Message | Mapping[str, Any]] = (),
    **more: Any,
) -> ContextPackage:
    """Compile with exactly ``context_tokens`` to add and plenty of room for mandatory content."""
    budget = ContextBudget.parse(
        {
            "ratio": 1,
            "max_tokens": context_tokens,
            "working_memory_tokens": working_memory_tokens,
            "shares": dict(shares or {}),
        }
    )
    return compile_context(
        results=results,
        messages=messages,
        **{"input_tokens": 1_000_000, "used_tokens": 0, "budget": budget, **more},
    )


def reasons(package: ContextPackage) -> list[tuple[str, str]]:
    """Record ids with their reasons, in manifest order."""
    return [(entry.record_id, entry.reason) for entry in package.manifest.entries]


def selected(package: ContextPackage) -> list[str]:
    """Ids of the selected entries, in manifest order."""
    return [entry.record_id for entry in package.manifest.entries if entry.selected]


def retrieval_frame_tokens() -> int:
    """Tokens of a retrieval block without records, measured on a block with one."""
    package = compiled(offer(ContextCandidate("a", "b", 1.0)))
    frame = package.blocks[0].text.replace(plain_piece("a", "b"), "")
    return TokenEstimator().estimate([Message("user", frame)])


def rag_budget(tokens: int) -> dict[str, Any]:
    """Keywords of ``compiled`` that leave exactly ``tokens`` for records of kind rag."""
    return {"context_tokens": tokens + retrieval_frame_tokens(), "shares": ONLY_RAG}


def records_of(text: str) -> list[ET.Element]:
    """The record elements of a retrieval block, by an XML parser."""
    root = ET.fromstring(text)
    assert root.tag == "deuz_context"
    assert all(child.tag == "record" for child in root)
    return list(root)


def text_of_record(record: ET.Element) -> str:
    """A record's text without the line ends that set it apart from its tags."""
    text = record.text or ""
    assert text.startswith("\n")
    assert text.endswith("\n")
    return text[1:-1]


def block_tokens(package: ContextPackage, estimator: TokenEstimator | None = None) -> int:
    """Estimate of everything the package adds to a request."""
    messages: Iterable[Message] = [message for block in package.blocks for message in block.messages]
    return (estimator or TokenEstimator()).estimate(list(messages))

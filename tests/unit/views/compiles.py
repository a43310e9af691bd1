"""A small real compile for the tests of views that need more than a manifest."""

from __future__ import annotations

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import ContextCandidate, ContextPackage, SourceResult
from playground.messages import Message

QUESTION = (Message("user", "How do I freeze a card?"),)


def offers(*, documents: int = 12, limit: int | None = None, input_tokens: int = 100_000) -> Offers:
    """Documents of 100 to 320 tokens, best first, and two memories."""
    chunks = tuple(
        ContextCandidate(record_id=str(i), text="freeze the card " * (20 + 4 * i), score=0.9 - i / 100)
        for i in range(documents)
    )
    memories = tuple(
        ContextCandidate(record_id=f"m{i}", text=f"The customer lost card {i}.", score=0.5) for i in range(2)
    )
    results = (
        SourceResult(source_id="memory", kind="memory", candidates=memories, query="q"),
        SourceResult(source_id="rag", kind="rag", candidates=chunks, query="q", limit=limit),
    )
    return prepare(
        CompileInputs(results=results, messages=QUESTION, input_tokens=input_tokens, used_tokens=500)
    )


def package(prepared: Offers, **budget: float) -> ContextPackage:
    """Compile under a budget."""
    return compile_offers(prepared, ContextBudget(**budget))

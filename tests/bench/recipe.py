"""The material of the compiler benches: always the same, made from a seed and nothing else."""

from __future__ import annotations

from random import Random
from typing import Any

from playground import ContextCandidate, SourceResult

CHARACTERS = 600  # code points of a text
LETTERS = "abcdefghij klmnopqrs tuvwxyz, ."


def texts(count: int) -> list[str]:
    """Texts of 600 code points that all differ."""
    random = Random(count)
    pool = "".join(random.choices(LETTERS, k=50_000))
    made = []
    for number in range(count):
        start = random.randrange(len(pool) - CHARACTERS)
        made.append(f"{number} {pool[start:]}"[:CHARACTERS])
    return made


def offers(contents: list[str]) -> list[ContextCandidate]:
    """One candidate a text, in an order that has nothing to do with the scores, which all differ."""
    scores = [1 / (position + 1) for position in range(len(contents))]
    Random(0).shuffle(scores)
    return [ContextCandidate(str(i), text, scores[i]) for i, text in enumerate(contents)]


def answer(candidates: list[ContextCandidate]) -> SourceResult:
    """The candidates as one source's answer."""
    return SourceResult("rag", "rag", candidates=tuple(candidates), query="how")


def history(count: int) -> list[dict[str, Any]]:
    """A history of ``count`` messages as a host stores it: questions, tool calls, their results and answers.

    Every text has 200 to 400 code points.
    """
    random = Random(count)
    pool = "".join(random.choices(LETTERS, k=50_000))

    def text() -> str:
        start = random.randrange(len(pool) - 400)
        return pool[start : start + random.randint(200, 400)]

    made: list[dict[str, Any]] = []
    for number in range(0, count, 4):
        call = {"type": "tool_use", "id": f"call-{number}", "name": "search"}
        result = {"type": "tool_result", "toolUseId": f"call-{number}", "result": text()}
        asked = {**call, "input": {"query": text()[:60], "limit": 5}}
        made += [
            {"role": "user", "content": text()},
            {"role": "assistant", "content": [{"type": "text", "text": text()}, asked]},
            {"role": "tool", "content": [result]},
            {"role": "assistant", "content": text()},
        ]
    return made[:count]

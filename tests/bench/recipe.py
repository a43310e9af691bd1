"""The material of the compiler benches: always the same, made from a seed and nothing else."""

from __future__ import annotations

from random import Random

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

"""The figures of evidence recall, as values: of each group of questions, search and token limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Literal

from playground.retrieval.search import Fusion, SearchMode
from playground.values import RecordedValue

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIGITS", "GroupRecall", "RecallReport", "UnlabelledQuestions"]

CAVEAT = (
    "Evidence recall: of the records that a question needs, the share that got into the context; a document "
    "counts when one of its chunks did. The mean over the questions of a group. Only the sources that hold "
    "evidence are asked, for all they find. Records and their tags have exactly the tokens named, several "
    "kinds in equal shares; there is no conversation and no working memory. Memories and skills are ranked by "
    "meaning in hybrid search too. No model is called, and nothing is said about answers."
)
LEFT_OUT = "–: all that the group's questions search fits in that many tokens, and nothing is left to choose."
VALLEY = (
    "A figure can fall as tokens grow: what fits is taken by score, and one large record can take the room "
    "that two small ones had."
)
NONE = "–"
DIGITS = 6  # of a recall; sums of floats differ behind them from machine to machine


class GroupRecall(RecordedValue):
    """One group of questions under one search."""

    project: str
    """The project's name."""
    group: str
    """The group's name; empty where questions have none."""
    mode: SearchMode
    """How records were searched."""
    questions: int
    """Labelled questions."""
    evidence: int
    """Documents and records that they need, all questions together."""
    material_tokens: int
    """Tokens of all that is searched for a question, the most of the group."""
    searched_by_words: int
    """Questions that were searched by words although the mode is another, for want of vectors."""
    recall: tuple[float | None, ...]
    """Evidence recall at each token limit, 0 to 1; ``None`` where ``material_tokens`` fit."""


class UnlabelledQuestions(RecordedValue):
    """Questions that are not measured, because nobody said what answers them."""

    project: str
    """The project's name."""
    questions: int
    """How many."""


class RecallReport(RecordedValue):
    """What was found of the evidence, format version 1."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    caveat: str = CAVEAT
    """What is measured, and what is not."""
    token_limits: tuple[int, ...]
    """What records could take, in tokens, ascending."""
    fusion: Fusion
    """How hybrid search joins two rankings of documents."""
    neighbour_weight: float
    """Weight of each neighbour of a past message."""
    groups: tuple[GroupRecall, ...]
    """One row a project, group and search, in that order."""
    unlabelled: tuple[UnlabelledQuestions, ...] = ()
    """Projects some of whose questions are not measured."""

    @property
    def summary(self) -> str:
        """What was measured, in one line."""
        (mode, *_) = (row.mode for row in self.groups)
        questions = sum(row.questions for row in self.groups if row.mode == mode)
        return (
            f"Evidence recall of {questions:,} questions; documents fused by {self.fusion}, "
            f"neighbours of a past message weigh {self.neighbour_weight:g}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the figures; one paragraph each."""
        notes = [self.caveat]
        if any(share is None for row in self.groups for share in row.recall):
            notes.append(LEFT_OUT)
        if any(map(_has_valley, self.groups)):
            notes.append(VALLEY)
        for project, mode in dict.fromkeys((row.project, row.mode) for row in self.groups):
            rows = [row for row in self.groups if (row.project, row.mode) == (project, mode)]
            if by_words := sum(row.searched_by_words for row in rows):
                notes.append(
                    f"{project}, {mode}: {by_words:,} of {sum(row.questions for row in rows):,} questions lack "
                    "vectors, their own or their records', and were searched by words."
                )
        notes += [
            f"{row.project}: {row.questions:,} more questions name no evidence and are not counted."
            for row in self.unlabelled
        ]
        return tuple(notes)

    def __repr__(self) -> str:
        return f"RecallReport({self.summary})"

    def heads(self) -> tuple[str, ...]:
        """Return the names of the columns of ``lines``."""
        return ("project", "group", "questions", "search", *(f"{at:,}" for at in self.token_limits))

    def lines(self) -> tuple[tuple[str, ...], ...]:
        """Return ``with_means`` as people read it."""
        return tuple(map(_line, self.with_means()))

    def with_means(self) -> tuple[GroupRecall, ...]:
        """Return each row, and after a project's groups the mean of several.

        The mean is of the groups that are measured at every limit, each counting the same.
        """
        return tuple(self._with_means())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a project, group, search and token limit; ``recall`` is NaN for a group left out."""
        import pandas as pd  # noqa: PLC0415  # the command must not wait for pandas

        rows = [
            {**row.model_dump(exclude={"recall"}), "token_limit": limit, "recall": share}
            for row in self.groups
            for limit, share in zip(self.token_limits, row.recall, strict=True)
        ]
        return pd.DataFrame(rows).astype({"recall": float})

    def _with_means(self) -> Iterator[GroupRecall]:
        for project in dict.fromkeys(row.project for row in self.groups):
            rows = [row for row in self.groups if row.project == project]
            yield from rows
            for mode in dict.fromkeys(row.mode for row in rows):
                # A group that is left out somewhere would make a row's figures be of different questions.
                groups = [row for row in rows if row.mode == mode and None not in row.recall]
                if len(groups) > 1:
                    yield _mean(groups)


def _mean(groups: Sequence[GroupRecall]) -> GroupRecall:
    """Return the mean of groups that are measured at every limit, each group counting the same."""
    shares = zip(*(row.recall for row in groups), strict=True)
    return GroupRecall(
        project=groups[0].project,
        group=f"mean of {len(groups)} groups",
        mode=groups[0].mode,
        questions=sum(row.questions for row in groups),
        evidence=sum(row.evidence for row in groups),
        material_tokens=max(row.material_tokens for row in groups),
        searched_by_words=sum(row.searched_by_words for row in groups),
        recall=tuple(round(fsum(share or 0.0 for share in at) / len(groups), DIGITS) for at in shares),
    )


def _has_valley(row: GroupRecall) -> bool:
    return any(more < less for less, more in pairwise(share for share in row.recall if share is not None))


def _line(row: GroupRecall) -> tuple[str, ...]:
    shares = (NONE if share is None else f"{share:.1%}" for share in row.recall)
    return (row.project, row.group or "all", f"{row.questions:,}", row.mode, *shares)

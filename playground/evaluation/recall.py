"""Evidence recall: which share of what answers a question the compiler gets into a budget.

The project's own sources and the compiler itself, no model and no clock. Each question is asked once a search;
only the selection runs anew for each token limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import get_args

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import KINDS, ContextSource, ContextSourceRequest, SourceResult
from playground.errors import InvalidInputError, InvalidRequestError
from playground.evaluation.recall_material import (
    ROOM,
    Key,
    Material,
    ask,
    evidence_of,
    material_of,
    wanted_sources,
)
from playground.evaluation.recall_report import DIGITS, GroupRecall, RecallReport, UnlabelledQuestions
from playground.retrieval.search import Fusion, SearchMode
from playground.sources.transcript import NEIGHBOUR_WEIGHT
from playground.values import shown, whole_number
from playground.workspace import Project, Scenario, project_sources

__all__ = ["MODES", "TOKEN_LIMITS", "is_labelled", "measure_recall"]

TOKEN_LIMITS = (1_000, 2_000, 4_000, 8_000)  # tokens
MODES: tuple[SearchMode, ...] = ("lexical", "dense", "hybrid")


def measure_recall(
    projects: Sequence[Project],
    *,
    modes: Sequence[SearchMode] = MODES,
    token_limits: Sequence[int] = TOKEN_LIMITS,
    fusion: Fusion = "rrf",
    neighbour_weight: float = NEIGHBOUR_WEIGHT,
) -> RecallReport:
    """Measure evidence recall on the labelled questions of some projects.

    A question is searched with the vectors that its project holds; one that lacks them is searched by words,
    and the report says how many were. Sources are asked for all they find.

    Args:
        projects: Each with at least one labelled question and a name of its own.
        modes: How records are searched.
        token_limits: What records and their tags can take, in tokens, at least 1 each.
        fusion: How ``hybrid`` joins two rankings of documents.
        neighbour_weight: Weight of each neighbour of a past message; 0 switches smoothing off.

    Returns:
        The figures; equal arguments give equal values, in any process.

    Raises:
        InvalidInputError: For an unknown search, a limit out of range, one of them or a project's name twice.
        InvalidRequestError: When a project has no labelled question.
        ProjectError: When evidence does not exist, or not in the question's scope.
        SourceError: When a source fails.
    """
    limits = tuple(sorted(whole_number(limit, "A token limit") for limit in token_limits))
    if not limits or limits[0] < 1 or len(set(limits)) < len(limits):
        raise InvalidInputError(
            f"The token limits are {shown(limits)}.", remedy="Give whole numbers of 1 or more, each once."
        )
    if not modes or len(set(modes)) < len(modes) or not set(modes) <= set(get_args(SearchMode)):
        raise InvalidInputError(
            f"The searches are {shown(tuple(modes))}.", remedy=f"Use some of {', '.join(MODES)}, each once."
        )
    names = [project.name for project in projects]
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(
            f"The projects are called {shown(tuple(names))}.", remedy="Give at least one, each name once."
        )
    groups: list[GroupRecall] = []
    unlabelled: list[UnlabelledQuestions] = []
    for project in projects:
        labelled = tuple(filter(is_labelled, project.scenarios))
        if not labelled:
            raise InvalidRequestError(
                f"{project.name} has no question with evidence.", remedy="Choose another project."
            )
        asking = _Asking(project, fusion, neighbour_weight)
        groups += _measured(asking, labelled, modes, limits)
        if rest := len(project.scenarios) - len(labelled):
            unlabelled.append(UnlabelledQuestions(project=project.name, questions=rest))
    return RecallReport(
        token_limits=limits,
        fusion=fusion,
        neighbour_weight=neighbour_weight,
        groups=groups,
        unlabelled=unlabelled,
    )


def is_labelled(scenario: Scenario) -> bool:
    """Whether somebody said what answers the question."""
    return bool(wanted_sources(scenario))


@dataclass(frozen=True, slots=True)
class _Question:
    project: Project
    sources: tuple[str, ...]
    material: Material
    evidence: tuple[frozenset[Key], ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    offers: Offers
    by_words: bool


class _Asking:
    """Asks a project's labelled questions; what several of them share is made once."""

    def __init__(self, project: Project, fusion: Fusion, neighbour_weight: float) -> None:
        # What is under way would be searched for too, and belongs to another question.
        self._project = project.with_parts(messages=(), working_memory=None, working_memory_history=())
        self._fusion: Fusion = fusion
        self._neighbour_weight = neighbour_weight
        self._materials: dict[object, Material] = {}
        self._sources: dict[object, list[ContextSource]] = {}

    @property
    def name(self) -> str:
        return self._project.name

    def question(self, scenario: Scenario) -> _Question:
        project, wanted = self._project.for_scenario(scenario), wanted_sources(scenario)
        key = (project.scope, project.chat_id, wanted)
        if key not in self._materials:
            self._materials[key] = material_of(project, wanted)
        material = self._materials[key]
        return _Question(project, wanted, material, evidence_of(project, scenario, material))

    def answer(self, question: _Question, mode: SearchMode) -> _Answer:
        project = question.project
        key = (project.scope, project.chat_id, mode)
        if key not in self._sources:
            self._sources[key] = project_sources(
                project, mode=mode, fusion=self._fusion, neighbour_weight=self._neighbour_weight
            )
        request = ContextSourceRequest(
            query=project.query(),
            scope=project.scope,
            limit=len(question.material.tokens),
            messages=project.request_messages(),
        )
        asked = [source for source in self._sources[key] if source.id in question.sources]
        results = ask(project, asked, request)
        inputs = CompileInputs(results=results, messages=request.messages, input_tokens=ROOM, used_tokens=0)
        no_vector = request.query not in project.vectors
        by_words = mode != "lexical" and (no_vector or any(map(_fell_back, results)))
        return _Answer(prepare(inputs), by_words)


def _measured(
    asking: _Asking, labelled: Sequence[Scenario], modes: Sequence[SearchMode], limits: Sequence[int]
) -> Iterator[GroupRecall]:
    for group in dict.fromkeys(scenario.group for scenario in labelled):
        questions = [asking.question(scenario) for scenario in labelled if scenario.group == group]
        most = max(question.material.total for question in questions)
        measured = [limit for limit in limits if limit < most]
        for mode in modes:
            answers = [asking.answer(question, mode) for question in questions if measured]
            recall = {
                limit: fsum(map(_found, questions, answers, [limit] * len(questions))) / len(questions)
                for limit in measured
            }
            yield GroupRecall(
                project=asking.name,
                group=group,
                mode=mode,
                questions=len(questions),
                evidence=sum(len(question.evidence) for question in questions),
                material_tokens=most,
                searched_by_words=sum(answer.by_words for answer in answers),
                recall=tuple(round(recall[limit], DIGITS) if limit in recall else None for limit in limits),
            )


def _found(question: _Question, answer: _Answer, tokens: int) -> float:
    """Return the share of the evidence that gets in when the records have that many tokens."""
    offers = answer.offers
    kinds = {result.kind for result in offers.inputs.results}
    budget = ContextBudget(
        ratio=1,
        max_tokens=tokens + offers.frame_tokens,
        shares={kind: 1 / len(kinds) if kind in kinds else 0 for kind in KINDS},
    )
    manifest = compile_offers(offers, budget).manifest
    # A duplicate was left out because its very text is in.
    in_sight = {
        (entry.source, entry.record_id)
        for entry in manifest.entries
        if entry.selected or entry.reason == "duplicate"
    }
    return sum(bool(records & in_sight) for records in question.evidence) / len(question.evidence)


def _fell_back(result: SourceResult) -> bool:
    return any(candidate.match == "lexical" for candidate in result.candidates)

"""What pages get from the compiler, cached: answers of sources, counted offers, compiles and their views.

Caches are bounded and keyed by digests and plain settings. A slider move finds answers and offers in the cache
and runs selection, rendering and views alone.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import streamlit as st

from playground.app.caches import material_cache
from playground.app.controls import Estimator, Search, Settings
from playground.app.model_process import make_room, model_ready
from playground.app.projects import shared_embedder
from playground.compiler.binding import Binding, binding_constraint
from playground.compiler.compile import compile_offers
from playground.compiler.knobs import Knob
from playground.compiler.offers import Offers, prepare
from playground.compiler.values import ContextPackage, SourceResult
from playground.errors import EmbeddingUnavailableError
from playground.messages import Message
from playground.models import ModelSpec, find_model, input_cost
from playground.retrieval.embedding import Embedder
from playground.tokenizers import Tokenizer, estimator_error, load_tokenizer, tokenizer_estimator
from playground.tokens import TokenEstimator
from playground.views.binding import BindingView, binding_view
from playground.views.binding_trial import trial_of
from playground.views.knobs import budget_of
from playground.views.panes import CardsView, ManifestView, cards_view, manifest_view
from playground.views.record_text import RecordTexts, record_texts
from playground.views.sources import SourcesView, sources_view
from playground.views.strip import StripView, strip_view
from playground.views.waterfall import WaterfallView, waterfall_view
from playground.views.xml_pane import XmlView, xml_view
from playground.workspace import Project, search_plan
from playground.workspace.compiling import ask_sources, compile_inputs
from playground.workspace.texts import texts_searched_at_once

__all__ = ["Compiled", "Retrieval", "compiled", "loads_model", "retrieve", "searching_model"]

_numbers = itertools.count(1)
Positions = tuple[tuple[Knob, float], ...]
Model = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What the sources answered to one question."""

    number: int
    """Rises with every retrieval of this process; a slider move shows the same number."""
    results: tuple[SourceResult, ...]
    texts: RecordTexts
    seconds: float
    """How long the sources took, without loading the model."""
    problem: EmbeddingUnavailableError | None = None
    """Set when lexical search had to stand in for search by meaning."""
    note: str = ""
    """Why records were not searched as asked for; empty when they were."""

    @property
    def candidates(self) -> int:
        """How many records the sources offered."""
        return sum(len(result.candidates) for result in self.results)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One compile with everything that pages show of it."""

    retrieval: Retrieval
    messages: tuple[Message, ...]
    offers: Offers
    package: ContextPackage
    strip: StripView
    waterfall: WaterfallView
    sources: SourcesView
    binding: BindingView
    cards: CardsView
    manifest: ManifestView
    xml: XmlView


@dataclass(frozen=True, slots=True)
class _Counted:
    offers: Offers
    messages: tuple[Message, ...]
    estimator: TokenEstimator
    tokenizer: Tokenizer


def loads_model(settings: Settings) -> bool:
    """Whether a compile first loads the embedding model, which takes seconds, once a process."""
    project = settings.project
    return (
        settings.search != "lexical"
        and bool(settings.question.strip())
        and not model_ready()
        and _needs_model(project, project.query(settings.question))
        and searching_model(project) is not None
    )


def searching_model(project: Project) -> Embedder | None:
    """Return the model that a project is searched with.

    ``None`` while no document has a vector, since then there is nothing to compare with.
    """
    return shared_embedder(project) if len(project.chunk_vectors) or not project.chunks else None


@material_cache(16)
def retrieve(
    project: Project,
    question: str,
    search: Search,
    candidates: int,
) -> Retrieval:
    """Ask the project's sources; lexical search steps in where the embedding model cannot be loaded.

    Args:
        project: Whose sources are asked.
        question: A blank one skips every source.
        search: How records are found.
        candidates: How many records each source may offer.
    """
    embedder = searching_model(project) if search != "lexical" else None
    query = project.query(question) if question.strip() else ""
    problem = None
    try:
        if embedder is not None and query and _needs_model(project, query):
            embedder.embed([query])
            make_room()
    except EmbeddingUnavailableError as error:
        problem, search, embedder = error, "lexical", None
    start = time.perf_counter()  # searching alone; the model may just have been loaded
    # Chunks are embedded by a button of the Data page; until then words find those without a vector.
    results = ask_sources(
        project, question, embedder=embedder, mode=search, limit=candidates, embed_chunks=False
    )
    seconds = time.perf_counter() - start
    plan = search_plan(project, query, embedder=embedder, mode=search, embed_chunks=False)
    return Retrieval(
        number=next(_numbers),
        results=results,
        texts=record_texts(results, project.working_memory, project.label),
        seconds=seconds,
        problem=problem,
        note=plan.notice if query else "",
    )


def compiled(settings: Settings) -> Compiled:
    """Return the compile of the present settings.

    Raises:
        PlaygroundError: As ``compile_context`` does, and when the project cannot be read.
    """
    return _compiled(
        settings.project,
        settings.question,
        settings.search,
        settings.candidates,
        _sizes(settings.model),
        settings.estimator,
        tuple(settings.positions.items()),
    )


@material_cache(32)
def _compiled(
    project: Project,
    question: str,
    search: Search,
    candidates: int,
    model: Model,
    estimator: Estimator,
    positions: Positions,
) -> Compiled:
    retrieval = retrieve(project, question, search, candidates)
    counted = _counted(project, question, search, candidates, model, estimator)
    where = dict(positions)
    budget = budget_of(where)
    package = compile_offers(counted.offers, budget)
    manifest, texts = package.manifest, retrieval.texts
    binding = binding_constraint(counted.offers, package)

    def title(source: str, record_id: str) -> str:
        return texts[(source, record_id)].title

    return Compiled(
        retrieval=retrieval,
        messages=counted.messages,
        offers=counted.offers,
        package=package,
        strip=_strip(counted, package, binding, _spec(model).model_id),
        waterfall=waterfall_view(manifest, context_window=_spec(model).context_window),
        sources=sources_view(manifest, title=title),
        binding=binding_view(
            binding,
            manifest,
            title=title,
            positions=where,
            trial=trial_of(counted.offers),
        ),
        cards=cards_view(package, texts),
        manifest=manifest_view(package, texts),
        xml=xml_view(package),
    )


@material_cache(16)
def _counted(
    project: Project,
    question: str,
    search: Search,
    candidates: int,
    model: Model,
    estimator: Estimator,
) -> _Counted:
    spec = _spec(model)
    tokenizer = _tokenizer(find_model(spec.model_id).tokenizer or "o200k_base")
    counter = tokenizer_estimator(tokenizer) if estimator == "tokenizer" else TokenEstimator()
    results = retrieve(project, question, search, candidates).results
    inputs = compile_inputs(project, results, question, model=spec, estimator=counter)
    return _Counted(prepare(inputs), project.request_messages(question), counter, tokenizer)


@st.cache_resource(max_entries=2, show_spinner=False)
def _tokenizer(encoding: str) -> Tokenizer:
    return load_tokenizer(encoding)


def _sizes(model: ModelSpec) -> Model:
    return model.provider, model.model_id, model.context_window, model.max_output_tokens


def _spec(model: Model) -> ModelSpec:
    provider, model_id, window, reserve = model
    return ModelSpec(provider=provider, model_id=model_id, context_window=window, max_output_tokens=reserve)


def _needs_model(project: Project, query: str) -> bool:
    """Whether the question, or a record that is searched by meaning at once, has no vector yet."""
    return any(text not in project.vectors for text in (query, *texts_searched_at_once(project)))


def _strip(counted: _Counted, package: ContextPackage, binding: Binding, model_id: str) -> StripView:
    budget = package.manifest.budget
    measured = counted.estimator.kind == "heuristic" and counted.tokenizer.origin != "heuristic"
    texts = [block.text for block in package.blocks]
    return strip_view(
        package.manifest,
        binding,
        estimator=counted.estimator.name,
        tokenizer=counted.tokenizer.name if measured else None,
        error=estimator_error(counted.estimator, counted.tokenizer, texts) if measured else None,
        cost=input_cost(find_model(model_id), budget.used_tokens + budget.selected_tokens),
    )

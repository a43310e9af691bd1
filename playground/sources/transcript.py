"""Messages of past chats as candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from playground.compiler.values import ContextCandidate, ContextSourceRequest, Kind, Provenance
from playground.concurrency import in_thread
from playground.digests import text_digest
from playground.errors import EmbeddingUnavailableError, InvalidInputError, InvalidRequestError
from playground.memory.arguments import (
    checked_choices,
    checked_flag,
    checked_id,
    checked_number,
    checked_scope,
    checked_text,
)
from playground.messages import Role
from playground.retrieval.fusion import convex
from playground.retrieval.hits import SCORE_DIGITS, Hit
from playground.scope import MemoryScope, narrow
from playground.sources.chats import ChatRecord, ChatStore, Position, positions_of
from playground.values import shown

if TYPE_CHECKING:
    from playground.memory.ranking import VectorShelf
    from playground.retrieval.embedding import Embedder

__all__ = ["NEIGHBOUR_WEIGHT", "TranscriptSource", "WithEmbedder", "smoothed"]

NEIGHBOUR_WEIGHT = 0.4  # best of those tried on public multi-session chats at 1k to 8k tokens
LARGEST_WEIGHT = 1e6  # beyond it the own score is lost among its neighbours'
WithEmbedder = Literal["hybrid", "dense"]
"""How chats are searched with an embedder: by words and meaning, or by meaning alone."""


class TranscriptSource:
    """Offers messages of past chats, tool calls together with their results.

    A position's own score is BM25 divided by the query's best or, with an embedder, half of that plus half the
    cosine clipped at 0 and divided by its best; ``dense`` search takes the clipped cosine alone. It is then
    smoothed over the neighbours of the same chat, see ``smoothed``. Scores are in 0 to 1, six decimals;
    positions with 0 are left out. ``match`` says whether ``lexical``, ``hybrid`` or ``dense`` search found it.
    Record ids are ``<chatId>#<index of the message>``.

    What already stands in the request is left out. System messages and blank ones are never offered.

    Args:
        store: Where the chats are.
        scope: What is pinned, at least one field; a request may narrow it.
        exclude_chat_id: The chat that goes on now.
        roles: Whose messages are offered; the others still lend weight to their neighbours.
        neighbour_weight: Weight of each neighbour, >= 0; 0 switches smoothing off.
        embedder: Adds search by meaning.
        mode: Whether words count beside meaning where there is an embedder: ``hybrid`` or ``dense``.
        id: The source's id.
        required: Whether a failure must stop the call.

    Raises:
        InvalidRequestError: When the scope sets no field.
        InvalidInputError: When the weight is no finite number of 0 or more, or another argument is malformed.
    """

    kind: Kind = "transcript"

    def __init__(
        self,
        store: ChatStore,
        scope: MemoryScope | Mapping[str, Any],
        *,
        exclude_chat_id: str | None = None,
        roles: Iterable[Role] = ("user", "assistant"),
        neighbour_weight: float = NEIGHBOUR_WEIGHT,
        embedder: Embedder | None = None,
        mode: WithEmbedder = "hybrid",
        id: str = "transcript",  # noqa: A002  # the protocol's word
        required: bool = False,
    ) -> None:
        if not isinstance(store, ChatStore):
            raise InvalidInputError(
                f"store is a {type(store).__name__}.", remedy="Pass a store, InMemoryChatStore() for example."
            )
        self._scope = checked_scope(scope)
        if not self._scope.fields():
            raise InvalidRequestError(
                "A transcript source needs a scope with at least one field.",
                remedy="Set user_id, agent_id, run_id, actor_id or chat_id.",
            )
        self.id = checked_id(id, "id")
        self.required = checked_flag(required, "required")
        self._store = store
        self._exclude_chat_id = (
            None if exclude_chat_id is None else checked_text(exclude_chat_id, "exclude_chat_id")
        )
        self._roles: frozenset[Role] = checked_choices(roles, "roles", get_args(Role))
        self._neighbour_weight = checked_number(neighbour_weight, "neighbour_weight", most=LARGEST_WEIGHT)
        self._embedder = embedder
        if mode not in get_args(WithEmbedder):
            raise InvalidInputError(f"mode is {shown(mode)}.", remedy="Use hybrid or dense.")
        self._mode = mode
        self._shelf: VectorShelf | None = None

    def scope_within(self, scope: MemoryScope | Mapping[str, Any]) -> MemoryScope:
        """Return what is read when ``scope`` is asked for: the pinned scope, narrowed by it.

        Raises:
            InvalidInputError: When ``scope`` contradicts the pinned one.
        """
        return narrow(self._scope, checked_scope(scope))

    async def query(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        """Return the best ``request.limit`` positions, best first, ties by record id.

        Raises:
            InvalidInputError: When the request's scope contradicts the pinned one.
            CallCancelledError: When the request was cancelled.
        """
        request.signal.raise_if_cancelled()
        chats = await self._store.list_chats(self.scope_within(request.scope))
        shown = [chat for chat in chats if chat.chat_id != self._exclude_chat_id]
        # In a thread, so that the event loop and its time limits go on.
        return await in_thread(self._ranked, shown, request)

    def _ranked(self, chats: Sequence[ChatRecord], request: ContextSourceRequest) -> list[ContextCandidate]:
        entries = [_Entry(chat.chat_id, place) for chat in chats for place in positions_of(chat.messages)]
        texts = {entry.record_id: entry.position.text for entry in entries if entry.position.text.strip()}
        if not request.query.strip() or not texts:
            return []
        own, match = self._own_scores(request.query, texts)
        standing = {(place.role, place.text) for place in positions_of(request.messages)}
        found = []
        for chat in _by_chat(entries):
            scores = smoothed([own.get(entry.record_id, 0.0) for entry in chat], self._neighbour_weight)
            found += [
                (score, entry)
                for entry, score in zip(chat, scores, strict=True)
                if score > 0 and self._offers(entry.position, standing)
            ]
        found.sort(key=lambda pair: (-pair[0], pair[1].record_id))
        return [entry.candidate(score, match) for score, entry in found[: request.limit]]

    def _offers(self, position: Position, standing: set[tuple[Role, str]]) -> bool:
        return (
            bool(position.text.strip())
            and position.role in self._roles
            and (position.role, position.text) not in standing
        )

    def _own_scores(self, query: str, texts: Mapping[str, str]) -> tuple[dict[str, float], str]:
        from playground.retrieval.lexical import LexicalIndex  # noqa: PLC0415  # brings NumPy

        near = self._nearest(query, texts)
        if near is not None and self._mode == "dense":
            return dict(near), "dense"
        index = LexicalIndex(texts.values(), list(texts))
        if near is None:
            return dict(index.search_scaled(query)), "lexical"
        return dict(convex(index.search(query), near)), "hybrid"

    def _nearest(self, query: str, texts: Mapping[str, str]) -> list[Hit] | None:
        if self._embedder is None:
            return None
        from playground.memory.ranking import VectorShelf  # noqa: PLC0415  # brings NumPy
        from playground.retrieval.index import ExactIndex  # noqa: PLC0415

        self._shelf = self._shelf or VectorShelf()
        # Chats that were deleted must not live on as vectors.
        self._shelf.keep(map(text_digest, texts.values()))
        try:
            vectors = self._shelf.vectors(list(texts.values()), self._embedder)
            question = self._embedder.embed([query])[0]
        except EmbeddingUnavailableError:
            return None
        return ExactIndex(list(texts), vectors).search(question, len(texts))


def smoothed(scores: Sequence[float], weight: float) -> list[float]:
    """Return (own + weight × (previous + next)) / (1 + 2 × weight) for each score, six decimals.

    A missing neighbour counts 0, so that scores in 0 to 1 stay there.
    """
    padded = [0.0, *scores, 0.0]
    return [
        round((padded[at] + weight * (padded[at - 1] + padded[at + 1])) / (1 + 2 * weight), SCORE_DIGITS)
        for at in range(1, len(padded) - 1)
    ]


@dataclass(frozen=True, slots=True)
class _Entry:
    chat_id: str
    position: Position

    @property
    def record_id(self) -> str:
        return f"{self.chat_id}#{self.position.index}"

    def candidate(self, score: float, match: str) -> ContextCandidate:
        speaker = {"user": "user", "assistant": "model"}.get(self.position.role, "tool")
        kinds = (speaker, "tool") if self.position.uses_tools else (speaker,)
        return ContextCandidate(
            record_id=self.record_id,
            text=self.position.text,
            score=score,
            provenance=Provenance(source_kinds=kinds),
            match=match,
        )


def _by_chat(entries: Iterable[_Entry]) -> Iterable[list[_Entry]]:
    chats: dict[str, list[_Entry]] = {}
    for entry in entries:
        chats.setdefault(entry.chat_id, []).append(entry)
    return chats.values()

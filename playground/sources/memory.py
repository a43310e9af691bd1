"""Memories as candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playground.compiler.values import ContextCandidate, ContextSourceRequest, Kind, Provenance
from playground.errors import InvalidInputError
from playground.memory import MemoryKind, MemorySession, MemoryStore, RecalledMemory
from playground.memory.arguments import checked_flag, checked_id, checked_kinds, checked_number, checked_scope
from playground.scope import MemoryScope, narrow

__all__ = ["MemorySource"]


class MemorySource:
    """Offers what a memory session recalls.

    Scores are the recall's: the cosine clipped at 0 with an embedder, else BM25 divided by the query's best;
    each candidate's ``match`` says which. Record ids are the memories' ids.

    Args:
        session: Read at its own scope; a request whose scope contradicts it is refused.
        store: Instead of a session; read at ``scope`` narrowed by the request's scope.
        scope: With ``store``: what is pinned, at least one field.
        id: The source's id.
        required: Whether a failure must stop the call.
        kinds: Only memories of these kinds.
        min_score: Leave out lower scores, 0 to 1.

    Raises:
        InvalidInputError: When neither or both of session and store are given, or an argument is malformed.
        InvalidRequestError: When the scope sets no field.
    """

    kind: Kind = "memory"

    def __init__(
        self,
        session: MemorySession | None = None,
        *,
        store: MemoryStore | None = None,
        scope: MemoryScope | Mapping[str, Any] | None = None,
        id: str = "memory",  # noqa: A002  # the protocol's word
        required: bool = False,
        kinds: Iterable[MemoryKind] | None = None,
        min_score: float | None = None,
    ) -> None:
        if (session is None) == (store is None) or (session is not None and scope is not None):
            raise InvalidInputError(
                "A memory source takes a session, or a store and a scope.", remedy="Give one of the two."
            )
        if session is not None and not isinstance(session, MemorySession):
            raise InvalidInputError(
                f"session is a {type(session).__name__}.", remedy="Pass a MemorySession, or store= and scope=."
            )
        self.id = checked_id(id, "id")
        self.required = checked_flag(required, "required")
        self._reads_store = session is None
        if session is None:
            assert store is not None
            session = MemorySession(store, MemoryScope() if scope is None else scope)
        self._session = session
        self._kinds = checked_kinds(kinds)
        self._min_score = checked_number(0.0 if min_score is None else min_score, "min_score", most=1)

    def scope_within(self, scope: MemoryScope | Mapping[str, Any]) -> MemoryScope:
        """Return what is read when ``scope`` is asked for: a session's own scope, or a store's narrowed by it.

        Raises:
            InvalidInputError: When ``scope`` contradicts the pinned one, for a session too.
        """
        narrowed = narrow(self._session.scope, checked_scope(scope))
        return narrowed if self._reads_store else self._session.scope

    async def query(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        """Recall up to ``request.limit`` memories.

        Raises:
            InvalidInputError: When the request's scope contradicts the pinned one.
            CallCancelledError: When the request was cancelled.
        """
        request.signal.raise_if_cancelled()
        recalled = await self._session.recall(
            request.query,
            request.limit,
            recorded_as_of=request.recorded_as_of,
            kinds=self._kinds,
            min_score=self._min_score,
            scope=self.scope_within(request.scope),
        )
        return [_candidate(memory, recalled.ranking) for memory in recalled]


def _candidate(memory: RecalledMemory, match: str) -> ContextCandidate:
    revision = memory.revision
    return ContextCandidate(
        record_id=memory.id,
        text=revision.text,
        score=memory.score,
        digest=revision.digest,
        revision=revision.revision,
        provenance=Provenance(revision.origin, tuple(source.kind for source in revision.sources)),
        match=match,
    )

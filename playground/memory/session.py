"""Remembering and recalling within one scope."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from playground.concurrency import in_thread
from playground.digests import text_digest
from playground.errors import EmbeddingUnavailableError, InvalidInputError, InvalidRequestError
from playground.memory.arguments import checked_kinds, checked_number, checked_scope, checked_text, checked_time
from playground.memory.recalled import Ranking, RecalledMemory, RecallResult
from playground.memory.records import MemoryKind, MemoryOrigin, MemoryRecord, MemoryRevision, MemoryTombstone
from playground.memory.store import ErasedIds, MemoryStore, unknown_id
from playground.scope import MemoryScope, MemorySourceRef, narrow
from playground.values import whole_number

if TYPE_CHECKING:
    from playground.memory.ranking import VectorShelf
    from playground.retrieval.embedding import Embedder
    from playground.retrieval.hits import Hit

__all__ = ["MemorySession"]

Writer = Literal["host", "model"]
_HOST = (MemorySourceRef(kind="host"),)
_KEEP: Any = object()


class MemorySession:
    """The memory of one scope. Times are milliseconds since 1970 on the session's clock.

    Args:
        store: Where the records are.
        scope: Whose memory; at least one field must be set. Records get exactly this scope.
        embedder: Ranks recall by meaning; without one, words do.
        clock: Returns the time in ms; the computer's clock by default.

    Raises:
        InvalidRequestError: When no field of the scope is set: that would open everybody's memory.
        InvalidInputError: When the store is none, or the scope is malformed.
    """

    def __init__(
        self,
        store: MemoryStore,
        scope: MemoryScope | Mapping[str, Any],
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        if not isinstance(store, MemoryStore):
            raise InvalidInputError(
                f"store is a {type(store).__name__}.", remedy="Pass a store, InMemoryMemoryStore() for example."
            )
        scope = checked_scope(scope)
        if not scope.fields():
            raise InvalidRequestError(
                "A memory session needs a scope with at least one field.",
                remedy="Set user_id, agent_id, run_id, actor_id or chat_id.",
            )
        self.store = store
        self.scope = scope
        self.embedder = embedder
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._shelf: VectorShelf | None = None

    async def remember(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002  # the record's own word
        kind: MemoryKind = "semantic",
        origin: MemoryOrigin = "asserted",
        sources: Iterable[MemorySourceRef | Mapping[str, Any]] = _HOST,
        writer: Writer = "host",
        importance: float | None = None,
        expires_at: int | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
    ) -> MemoryRecord:
        """Write down a new memory and return its record, at revision 1.

        Args:
            text: Not blank; without NUL and lone surrogates.
            id: Made up when left out; give one where samples must be reproducible.
            kind: What sort of memory it is.
            origin: How it became known.
            sources: Who vouches for it.
            writer: Who writes it down.
            importance: From 0 to 1.
            expires_at: Hidden from recall from then on, in ms.
            valid_from: Hidden from recall before that, in ms.
            valid_to: Hidden from recall from then on, in ms.

        Raises:
            InvalidInputError: When a field is malformed.
            InvalidRequestError: When the id was given out before, to a forgotten record for example.
        """
        revision = MemoryRevision(
            revision=1,
            text=text,
            digest=_digest(text),
            origin=origin,
            sources=_sources(sources),
            recorded_at=self._clock(),
            writer=writer,
            kind=kind,
            importance=importance,
            expires_at=expires_at,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        record_id = str(uuid.uuid4()) if id is None else id
        record = MemoryRecord(id=record_id, scope=self.scope, revisions=(revision,))
        await self.store.insert(record)
        return record

    async def revise(
        self,
        record_id: str,
        text: str,
        *,
        expected_revision: int,
        kind: MemoryKind = _KEEP,
        origin: MemoryOrigin = _KEEP,
        sources: Iterable[MemorySourceRef | Mapping[str, Any]] = _KEEP,
        writer: Writer = "host",
        importance: float | None = _KEEP,
        expires_at: int | None = _KEEP,
        valid_from: int | None = _KEEP,
        valid_to: int | None = _KEEP,
    ) -> MemoryRecord:
        """Add a revision and return the record. What is left out stays as it was.

        Raises:
            StaleRevisionError: When the record is no longer at ``expected_revision``.
            InvalidRequestError: When this scope has no such record.
            InvalidInputError: When a field is malformed.
        """
        expected_revision = whole_number(expected_revision, "expected_revision")
        record = await self.store.get(checked_text(record_id, "record_id"), scope=self.scope)
        if record is None:
            raise unknown_id(record_id)
        changes = {
            "kind": kind,
            "origin": origin,
            "sources": sources if sources is _KEEP else _sources(sources),
            "importance": importance,
            "expires_at": expires_at,
            "valid_from": valid_from,
            "valid_to": valid_to,
        }
        kept = {name: getattr(record.latest, name) for name in changes}
        revision = MemoryRevision(
            **{**kept, **{name: value for name, value in changes.items() if value is not _KEEP}},
            revision=expected_revision + 1,
            text=text,
            digest=_digest(text),
            recorded_at=self._clock(),
            writer=writer,
        )
        return await self.store.append(record_id, revision, scope=self.scope)

    async def recall(
        self,
        query: str,
        k: int = 5,
        *,
        recorded_as_of: int | None = None,
        kinds: Iterable[MemoryKind] | None = None,
        min_score: float = 0.0,
        scope: MemoryScope | Mapping[str, Any] | None = None,
    ) -> RecallResult:
        """Return the memories that answer a query, best first.

        Only the newest revision of a record is looked at (or the newest recorded by ``recorded_as_of``), and
        only while it is valid and has not expired at that time. Memories without anything in common with the
        query (score 0) are left out.

        Args:
            query: Any text; a blank one finds nothing.
            k: At most this many, >= 0.
            recorded_as_of: Recall what was known then, in ms on the store's clock.
            kinds: Only these kinds.
            min_score: Leave out lower scores, 0 to 1.
            scope: Narrows the session's scope.

        Raises:
            InvalidInputError: When ``scope`` contradicts the session's, or an argument is malformed.
        """
        checked_text(query, "query")
        k = whole_number(k, "k")
        min_score = checked_number(min_score, "min_score", most=1)
        found = await self._current(recorded_as_of=recorded_as_of, kinds=kinds, scope=scope)
        revisions = {record.id: revision for record, revision in found}
        ranking: Ranking = "lexical" if self.embedder is None else "cosine"
        if not query.strip() or not revisions or not k:
            return RecallResult((), ranking)
        hits, ranking = await self._ranked(query, revisions, k)
        gone = await self._forgotten_meanwhile(revisions)
        records = {record.id: record for record, _ in found}
        recalled = (
            RecalledMemory(records[hit.id], revisions[hit.id], hit.score) for hit in hits if hit.id not in gone
        )
        return RecallResult(tuple(memory for memory in recalled if memory.score >= min_score), ranking)

    async def list(
        self,
        *,
        recorded_as_of: int | None = None,
        kinds: Iterable[MemoryKind] | None = None,
        include_hidden: bool = False,
    ) -> tuple[MemoryRecord, ...]:
        """Return the records in the order they were first written, then by id.

        Args:
            recorded_as_of: Judge what was known then, in ms.
            kinds: Only these kinds.
            include_hidden: Also those that have expired or are not valid now.

        Raises:
            InvalidInputError: When an argument is malformed.
        """
        found = await self._current(recorded_as_of=recorded_as_of, kinds=kinds, include_hidden=include_hidden)
        return tuple(record for record, _ in found)

    async def history(self, record_id: str) -> tuple[MemoryRevision, ...]:
        """Return all revisions, oldest first; none for an unknown or forgotten record."""
        record = await self.store.get(checked_text(record_id, "record_id"), scope=self.scope)
        return () if record is None else record.revisions

    async def forget(
        self,
        record_id: str | None = None,
        *,
        kinds: Iterable[MemoryKind] | None = None,
        recorded_before: int | None = None,
    ) -> ErasedIds:
        """Erase text and digest of every revision of a record, or of all records that a filter takes.

        What remains is a tombstone. Vectors made of the texts are dropped: those that sessions of this process
        hold, those of a recall that runs at this moment once it ends, and, where the session's embedder has a
        ``forget(texts)`` as caching ones do, those that it stores. Idempotent.

        Args:
            record_id: One record; an unknown one is no error.
            kinds: All records whose newest revision is of these kinds.
            recorded_before: All records last written before that time, in ms.

        Returns:
            The ids, sorted. Stored packages that hold them must be redacted. ``pending`` is true while the
            bytes of the store's file may still hold the text, see ``SqlMemoryStore``.

        Raises:
            InvalidRequestError: When neither an id nor a filter is given.
            InvalidInputError: When an argument is malformed.
        """
        if record_id is None and kinds is None and recorded_before is None:
            raise InvalidRequestError("Nothing says what to forget.", remedy="Give an id or a filter.")
        wanted = checked_kinds(kinds)
        before = None if recorded_before is None else checked_time(recorded_before, "recorded_before")
        records = {record.id: record for record in await self.store.list(scope=self.scope)}
        if record_id is None:
            chosen = [
                record.id
                for record in records.values()
                if (wanted is None or record.latest.kind in wanted)
                and (before is None or record.latest.recorded_at < before)
            ]
        else:
            chosen = [checked_text(record_id, "record_id")]
        gone = [records[name] for name in chosen if name in records]
        texts = [revision.text for record in gone for revision in record.revisions]
        # Before, because once the texts are erased nobody knows whose vectors a second try would have to drop;
        # and after, because a recall may have made them again in between.
        await self._drop_vectors(texts)
        erased = await self.store.erase(chosen, scope=self.scope, at=self._clock())
        await self._drop_vectors(texts)
        return ErasedIds(erased, pending=getattr(erased, "pending", False))

    async def tombstones(self) -> tuple[MemoryTombstone, ...]:
        """Return what is left of forgotten records, by id."""
        return tuple(await self.store.tombstones(scope=self.scope))

    async def _forgotten_meanwhile(self, revisions: Mapping[str, MemoryRevision]) -> frozenset[str]:
        """Return what was forgotten while it was ranked, and drop the vectors made of it too late.

        Whoever forgets erases first and drops vectors then; here it is the other way round, so that one of the
        two finds them.
        """
        stones = await self.store.tombstones(scope=self.scope)
        gone = frozenset(stone.id for stone in stones if stone.id in revisions)
        await self._drop_vectors(revisions[name].text for name in gone)
        return gone

    async def _drop_vectors(self, texts: Iterable[str]) -> None:
        dropped = tuple(dict.fromkeys(texts))
        if not dropped:
            return
        from playground.memory.ranking import forget_vectors  # noqa: PLC0415  # brings NumPy

        forget_vectors(map(text_digest, dropped))
        stored = getattr(self.embedder, "forget", None)
        if stored is not None:
            await in_thread(stored, dropped)

    async def _ranked(
        self, query: str, revisions: dict[str, MemoryRevision], k: int
    ) -> tuple[Sequence[Hit], Ranking]:
        # NumPy takes a tenth of a second to import; whoever recalls nothing does not pay for it.
        from playground.memory.ranking import VectorShelf, rank_by_meaning, rank_by_words  # noqa: PLC0415

        if self.embedder is not None:
            self._shelf = self._shelf or VectorShelf()
            try:
                found = await rank_by_meaning(query, revisions, k, embedder=self.embedder, shelf=self._shelf)
            except EmbeddingUnavailableError:
                # The result says that words ranked it; whoever chose the model saw the error when choosing.
                pass
            else:
                return found, "cosine"
        # In a thread, like embedding, so that the event loop and its time limits go on.
        return await in_thread(rank_by_words, query, revisions, k), "lexical"

    async def _current(
        self,
        *,
        recorded_as_of: int | None,
        kinds: Iterable[MemoryKind] | None,
        scope: MemoryScope | Mapping[str, Any] | None = None,
        include_hidden: bool = False,
    ) -> Sequence[tuple[MemoryRecord, MemoryRevision]]:
        wanted = checked_kinds(kinds)
        moment = self._clock() if recorded_as_of is None else checked_time(recorded_as_of, "recorded_as_of")
        reach = self.scope if scope is None else narrow(self.scope, checked_scope(scope))
        found = []
        for record in await self.store.list(scope=reach):
            revision = record.as_of(recorded_as_of)
            if revision is None or (wanted is not None and revision.kind not in wanted):
                continue
            if include_hidden or revision.holds_at(moment):
                found.append((record, revision))
        return found


def _digest(text: object) -> str:
    return text_digest(text) if isinstance(text, str) else ""


def _sources(sources: Any) -> tuple[Any, ...]:
    if isinstance(sources, str | bytes | Mapping) or not isinstance(sources, Iterable):
        raise InvalidInputError(
            f"sources is a {type(sources).__name__}.", remedy='Pass a list, for example [{"kind": "user"}].'
        )
    return tuple(sources)

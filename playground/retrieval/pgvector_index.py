"""Nearest vectors in PostgreSQL with pgvector: for corpora beyond one machine, or shared by several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from playground.database import Database
from playground.errors import InvalidInputError
from playground.retrieval.decoding import UNSTORABLE
from playground.retrieval.hits import Hit, best_hits
from playground.retrieval.index import Vectors, check_rows, checked_query, cosines
from playground.retrieval.pgvector_statements import counted, graph_built, graph_dropped, near, nearest
from playground.retrieval.pgvector_tables import key_of, open_vectors, vector_tables
from playground.values import of_type, shown, whole_number

__all__ = ["PgVectorIndex"]

DIMS_LIMIT = 16_000  # numbers of a vector that pgvector keeps
GRAPH_DIMS_LIMIT = 2_000  # and that its HNSW index takes
EF_SEARCH_LIMIT = 1_000  # the server's bound, of the records that a search in the graph gives too
_BATCH = 500  # rows a statement
_Item = TypeVar("_Item")


class PgVectorIndex:
    """Keeps the vectors of one corpus by one model in a PostgreSQL database; a ``VectorIndex``.

    What is written is there for every connection, at once and lastingly, and acknowledged when it is committed.
    Corpora, models and weights never mix. Threads and processes may write at once; a call is applied whole or
    not at all.

    A search compares with every vector, O(n × d) on the server, and gives what ``ExactIndex`` gives, to the
    last digit and at equal scores too. Where that is too slow, ``build_graph`` makes an HNSW index, and an
    index opened with ``ef_search`` searches in it. Such an answer is **approximate**: a nearer record may be
    missed, and at equal scores it is not the id that decides which of them are found. The scores of those that
    are found are exact.

    Removing is logical: no query gives a vector any more, but dead rows stay until the server's vacuum has run,
    and its log and backups are the server's own.

    Args:
        url: ``postgresql://user@host/database``; the database must have the extension ``vector``.
        corpus: Name of the corpus.
        model_id: Name of the model whose vectors they are.
        weights_digest: Its weights, where two of one name are to be told apart.
        ef_search: Search in the graph, with a list of this many candidates: the more, the fewer are missed, and
            the slower it is. ``None`` compares with every vector.

    Raises:
        InvalidInputError: When the URL is malformed or not of PostgreSQL, a name is empty or holds NUL or a
            lone surrogate, or ``ef_search`` is out of its range.
        StoreBusyError: When others hold the database for too long.
        StoreError: When it is out of reach, lacks pgvector, or psycopg or pgvector is not installed here.
    """

    def __init__(
        self, url: str, *, corpus: str, model_id: str, weights_digest: str = "", ef_search: int | None = None
    ) -> None:
        given = {"corpus": corpus, "model_id": model_id, "weights_digest": weights_digest}
        self._names = {name: _checked_text(value, name) for name, value in given.items()}
        for name in ("corpus", "model_id"):
            if not self._names[name]:
                raise InvalidInputError(f"{name} is empty.", remedy="Pass a non-empty string.")
        if ef_search is not None and not 1 <= whole_number(ef_search, "ef_search") <= EF_SEARCH_LIMIT:
            raise InvalidInputError(
                f"ef_search is {shown(ef_search)}.", remedy=f"Pass 1 to {EF_SEARCH_LIMIT:,}, or None."
            )
        self._ef_search = ef_search
        self._space = key_of(*self._names.values())
        self._spaces, self._vectors = vector_tables()
        self.database: Database = open_vectors(url)

    def __len__(self) -> int:
        with self.database.reading() as connection:
            count = sa.select(sa.func.count()).select_from(self._vectors).where(self._is_here)
            return int(connection.execute(count).scalar_one())

    @property
    def dims(self) -> int:
        """Numbers a vector; 0 while none was ever kept."""
        with self.database.reading() as connection:
            return self._dims(connection)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all vectors, sorted. O(n log n)."""
        with self.database.reading() as connection:
            found = connection.execute(sa.select(self._vectors.c.id).where(self._is_here))
            return tuple(sorted(found.scalars()))

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors, in place of those that the same ids have. O(n × d).

        Args:
            ids: One id a row, unique.
            vectors: ``(n, d)`` float32, rows of unit length; ``d`` is that of the first ones ever kept here.

        Raises:
            InvalidInputError: When shapes disagree, ids repeat or hold NUL or a lone surrogate, or a row is not
                finite or not of unit length.
            StoreBusyError: When others write for too long; nothing was kept.
            StoreError: When the database cannot be written; nothing was kept.
        """
        keys = _keys(ids)
        matrix = check_rows(ids, vectors)
        if not ids:
            return
        dims = matrix.shape[1]
        if dims > DIMS_LIMIT:
            raise InvalidInputError(
                f"Vectors of {dims:,} numbers cannot be kept, the limit is {DIMS_LIMIT:,}.",
                remedy="Use a model with shorter vectors.",
            )
        with self.database.writing() as connection:
            space = insert(self._spaces).values(space=self._space, dims=dims, **self._names)
            connection.execute(space.on_conflict_do_nothing())
            if (kept := self._dims(connection)) != dims:
                raise InvalidInputError(
                    f"Vectors have {dims:,} numbers, those of this corpus and model {kept:,}.",
                    remedy="Embed all texts with the same model, and give each model its name.",
                )
            row = insert(self._vectors).values(space=self._space)
            replaced = {name: row.excluded[name] for name in ("id", "embedding")}
            row = row.on_conflict_do_update(index_elements=["space", "key"], set_=replaced)
            # In the order of the keys, so that two who write the same rows never wait in a ring.
            for some in _batches(sorted(range(len(ids)), key=keys.__getitem__)):
                values = [{"key": keys[at], "id": ids[at], "embedding": matrix[at]} for at in some]
                connection.execute(row, values)

    def remove(self, ids: Iterable[str]) -> int:
        """Remove vectors, and return how many there were; ids without a vector do no harm.

        Raises:
            InvalidInputError: When an id holds NUL or a lone surrogate.
            StoreBusyError: When others write for too long; nothing was removed.
            StoreError: When the database cannot be written; nothing was removed.
        """
        if isinstance(ids, str):
            raise InvalidInputError("ids is a str.", remedy="Pass a list of ids.")
        chosen = tuple(ids)
        removed = 0
        with self.database.writing() as connection:
            for keys in _batches(sorted(set(_keys(chosen)))):
                rows = sa.select(self._vectors.c.key).where(self._is_here, self._vectors.c.key.in_(keys))
                # Locked in the order of their keys, as in ``upsert``; what comes meanwhile is left alone.
                locked = rows.order_by(self._vectors.c.key).with_for_update()
                found = connection.execute(locked).scalars().all()
                these = self._is_here & self._vectors.c.key.in_(found)
                removed += connection.execute(sa.delete(self._vectors).where(these)).rowcount
        return removed

    def search(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the ``k`` nearest by cosine, clipped at 0 and at six decimals, best first, ties by id.

        With ``ef_search`` they are approximately the nearest, see the class.

        Args:
            vector: ``(d,)`` float32 of unit length.
            k: At most this many, >= 0.

        Raises:
            InvalidInputError: When the query is not finite, or of another length than the vectors.
            StoreError: When the database cannot be read.
        """
        with self.database.reading() as connection:
            query = checked_query(vector, self._dims(connection) or np.size(vector))
            if k <= 0:
                return []
            if self._ef_search is None or k > EF_SEARCH_LIMIT:
                found = connection.execute(nearest(self._space, query, k)).all()
            else:
                listed = sa.func.set_config("hnsw.ef_search", str(max(k, self._ef_search)), True)
                connection.execute(sa.select(listed))
                found = connection.execute(near(self._space, query, k)).all()
        scores = np.zeros(len(found))
        scored = [at for at, (_, embedding) in enumerate(found) if embedding is not None]
        rows = np.array([found[at][1] for at in scored], dtype=np.float32).reshape(-1, len(query))
        scores[scored] = cosines(rows, query)
        return best_hits([identifier for identifier, _ in found], scores, k)

    def build_graph(self, *, m: int = 16, ef_construction: int = 64) -> None:
        """Build the HNSW graph of this corpus and model, in place of one that there is.

        It follows later writes by itself. While it is built, which takes minutes for millions, others read and
        write, and every search compares with every vector.

        Args:
            m: Links of a record in each layer of the graph, 2 to 100.
            ef_construction: Candidates kept while building, at least twice ``m``, at most 1,000.

        Raises:
            InvalidInputError: When nothing was ever kept here, vectors have more than 2,000 numbers, or an
                argument is out of its range.
            StoreBusyError: When somebody else builds it, or holds the database for too long.
            StoreError: When the database cannot be written.

        References:
            Yu. A. Malkov, D. A. Yashunin, Efficient and robust approximate nearest neighbor search using
            Hierarchical Navigable Small World graphs, https://arxiv.org/abs/1603.09320. Defaults are those of
            pgvector.
        """
        m, ef_construction = whole_number(m, "m"), whole_number(ef_construction, "ef_construction")
        if not (2 <= m <= 100 and 2 * m <= ef_construction <= 1_000):
            raise InvalidInputError(
                f"m is {m}, ef_construction is {ef_construction}.",
                remedy="Pass an m of 2 to 100, and an ef_construction of 2 m to 1,000.",
            )
        dims = self.dims
        if not 0 < dims <= GRAPH_DIMS_LIMIT:
            raise InvalidInputError(
                f"Vectors of {dims:,} numbers have no graph." if dims else "There is no vector yet.",
                remedy=f"Keep vectors of at most {GRAPH_DIMS_LIMIT:,} numbers first.",
            )
        with self._graph_held() as connection:
            connection.execute(graph_dropped(self._space))
            connection.execute(graph_built(self._space, dims, m=m, ef_construction=ef_construction))
            connection.execute(counted())

    def drop_graph(self) -> None:
        """Drop the graph, if there is one: every search compares with every vector again.

        Raises:
            StoreBusyError: When somebody else builds it, or holds the database for too long.
            StoreError: When the database cannot be written.
        """
        with self._graph_held() as connection:
            connection.execute(graph_dropped(self._space))

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        self.database.close()

    @property
    def _is_here(self) -> sa.ColumnElement[bool]:
        return self._vectors.c.space == self._space

    def _dims(self, connection: sa.Connection) -> int:
        dims = sa.select(self._spaces.c.dims).where(self._spaces.c.space == self._space)
        return int(connection.execute(dims).scalar() or 0)

    @contextlib.contextmanager
    def _graph_held(self) -> Iterator[sa.Connection]:
        """Give a connection outside any transaction, to the only one who changes this graph."""
        lock = int(self._space[:15], 16)
        with self.database.faults_told(), self.database.engine.connect() as fresh:
            connection = fresh.execution_options(isolation_level="AUTOCOMMIT")
            # Without waiting: a statement that waits here would hold up the one that builds.
            if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(lock))).scalar():
                raise self.database.busy()
            try:
                yield connection
            finally:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(lock)))


def _checked_text(value: object, subject: str) -> str:
    text = of_type(value, str, subject)
    if UNSTORABLE.search(text):
        raise InvalidInputError(
            f"{subject} holds NUL or a lone surrogate: {shown(text)}.",
            remedy="Replace it; databases refuse it.",
        )
    return text


def _keys(ids: Iterable[str]) -> list[str]:
    return [key_of(_checked_text(one, "An id")) for one in ids]


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))

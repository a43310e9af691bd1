"""What is asked of PostgreSQL to find the nearest vectors of a space: exactly, or through its HNSW graph.

Pure: statements are made here and executed elsewhere.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from playground.retrieval.index import Vectors, reach
from playground.retrieval.pgvector_tables import vector_tables

__all__ = ["counted", "graph_built", "graph_dropped", "near", "nearest"]

_MOST = 2**31 - 1  # rows that a LIMIT is given at most; nobody keeps more in one table


def nearest(space: str, query: Vectors, k: int) -> sa.CompoundSelect[Any]:
    """Select ``id`` and ``embedding`` of all rows that may be among the k best. O(n × d).

    The server sums in single precision. So rows come along that are as near to the k-th as its sums can be
    wrong; whoever asked scores them again. Where fewer than k are above 0, those below tie: the first k of them
    by id come with NULL in place of a vector.

    Args:
        space: Key of the space.
        query: ``(d,)`` float32.
        k: At least 1.
    """
    vectors = vector_tables().vectors
    here, margin, most = vectors.c.space == space, reach(query), min(k, _MOST)
    product = vectors.c.embedding.max_inner_product(query)  # its negative, so that the nearest come first
    rough = sa.select(vectors.c.key, vectors.c.id, product.label("distance")).where(here).cte("rough")
    kth = sa.select(rough.c.distance).order_by(rough.c.distance).offset(most - 1).limit(1).scalar_subquery()
    limits = sa.select(sa.func.coalesce(kth, 0.0).label("worst")).cte("limits")
    worst = sa.select(limits.c.worst).scalar_subquery()
    bound = sa.case((worst < -margin, worst + margin), else_=margin)
    above = sa.select(vectors.c.id, vectors.c.embedding).join(rough, rough.c.key == vectors.c.key)
    above = above.where(here, rough.c.distance <= bound)
    below = sa.select(rough.c.id, sa.cast(None, vectors.c.embedding.type).label("embedding"))
    below = below.where(rough.c.distance > margin, worst >= -margin)
    # The order of UTF-8 bytes is that of code points, which is Python's.
    first = below.order_by(rough.c.id.collate("C")).limit(most).subquery()
    return sa.union_all(above, sa.select(first))


def near(space: str, query: Vectors, k: int) -> sa.Select[Any]:
    """Select ``id`` and ``embedding`` of about the k best, in the order that the graph of the space serves."""
    from pgvector.sqlalchemy import VECTOR  # noqa: PLC0415  # an extra

    vectors = vector_tables().vectors
    # Written into the statement: a plan for any space could not use the graph of one.
    here = vectors.c.space == sa.literal(space, literal_execute=True)
    embedding = vectors.c.embedding
    typed = sa.cast(embedding, VECTOR(len(query)))
    return sa.select(vectors.c.id, embedding).where(here).order_by(typed.max_inner_product(query)).limit(k)


def graph_built(space: str, dims: int, *, m: int, ef_construction: int) -> sa.TextClause:
    """Return the statement that builds the graph of a space; writers go on meanwhile. Outside a transaction."""
    # Nothing here is a user's: numbers, and the hexadecimal key of the space.
    return sa.text(
        f"CREATE INDEX CONCURRENTLY {_graph_name(space)} ON {vector_tables().vectors.name} "
        f"USING hnsw ((embedding::vector({dims:d})) vector_ip_ops) "
        f"WITH (m = {m:d}, ef_construction = {ef_construction:d}) WHERE space = '{space}'"
    )


def counted() -> sa.TextClause:
    """Return the statement that lets the server count rows: for a few it would rather compare with all."""
    return sa.text(f"ANALYZE {vector_tables().vectors.name}")


def graph_dropped(space: str) -> sa.TextClause:
    """Return the statement that drops the graph of a space, if it has one. Outside a transaction."""
    return sa.text(f"DROP INDEX CONCURRENTLY IF EXISTS {_graph_name(space)}")


def _graph_name(space: str) -> str:
    return f"{vector_tables().vectors.name}_{space[:32]}"  # PostgreSQL cuts names at 63 bytes

"""Embedding a query at a run's expense: held before, settled or left unknown after, never released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from playground.accounting import UNACCOUNTED_USAGE, Execution, OnWarning
from playground.callbacks import call_quietly
from playground.digests import text_digest
from playground.errors import ExecutionError, InvalidInputError, ends_execution
from playground.retrieval.chunking import approximate_tokens
from playground.retrieval.index import Vectors
from playground.values import shown, whole_number

__all__ = ["AccountedEmbedQuery", "EmbedQuery", "embed_charged"]

EmbedQuery = Callable[[str], Vectors | None]
"""Gives the query's vector, ``(d,)`` of unit length, or ``None`` when it has none."""

DIGEST_DIGITS = 16  # hexadecimal digits of a query's digest that a request id ends in


@runtime_checkable
class AccountedEmbedQuery(Protocol):
    """An ``EmbedQuery`` that can say what it used."""

    def __call__(self, query: str) -> Vectors | None:
        """Give the query's vector."""

    def with_usage(self, query: str) -> tuple[Vectors | None, int]:
        """Give the query's vector and the tokens that were billed for it."""


def embed_charged(
    embed_query: EmbedQuery,
    query: str,
    *,
    accounting: Mapping[str, Any] | None = None,
    on_warning: OnWarning | None = None,
) -> Vectors | None:
    """Embed a query and charge it to a run; without ``accounting`` just embed it.

    The estimate, a token for four characters, is reserved first. An ``AccountedEmbedQuery`` settles it with
    what was used; with any other the hold stays, and a warning of the type ``unaccounted-usage`` says so, the
    same each time, so that a run can show it once. Where embedding raises the hold stays too: something may
    have been billed. A request that is replayed reserves and settles nothing new.

    Args:
        embed_query: Makes the vector.
        query: What to embed.
        accounting: See ``Accounting``. Its ``request_id`` gets a part of the query's digest at its end: a
            search that embeds several queries for one request is charged for each.
        on_warning: Hears of usage that nobody reported; what it raises is ignored.

    Raises:
        InvalidInputError: When ``accounting`` is malformed.
        ExecutionError: When the run's ledger refuses; the run must end.
        Exception: What ``embed_query`` raised.
    """
    if accounting is None:
        return embed_query(query)
    execution, request_id = _account(accounting)
    request_id = f"{request_id}/{text_digest(query).removeprefix('sha256:')[:DIGEST_DIGITS]}"
    with _ledger("reserve"):
        is_new = execution.reserve(request_id, tokens=approximate_tokens(query)) == "reserved"
    used: int | None = None
    try:
        vector, used = _embedded(embed_query, query)
    finally:
        if is_new:
            with _ledger("settle"):
                if used is None:
                    execution.mark_unknown(request_id)
                else:
                    execution.settle(request_id, tokens=used)
    if used is None:
        _warn(on_warning)
    return vector


def _embedded(embed_query: EmbedQuery, query: str) -> tuple[Vectors | None, int | None]:
    """Return the vector, and the usage where it was reported as a number of tokens."""
    if not isinstance(embed_query, AccountedEmbedQuery):
        return embed_query(query), None
    vector, usage = embed_query.with_usage(query)
    try:
        return vector, whole_number(usage, "The usage of an embedding")
    except InvalidInputError:
        return vector, None


def _account(accounting: Mapping[str, Any]) -> tuple[Execution, str]:
    execution, request_id = accounting.get("execution"), accounting.get("request_id")
    if not isinstance(execution, Execution):
        raise InvalidInputError(
            f"The execution of an accounting is a {type(execution).__name__}.",
            remedy="Pass an object with reserve, settle and mark_unknown.",
        )
    if not isinstance(request_id, str) or not request_id:
        raise InvalidInputError(
            f"The request_id of an accounting is {shown(request_id)}.", remedy="Pass a non-empty string."
        )
    return execution, request_id


@contextmanager
def _ledger(what: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # What asks the program to end, or calls itself a cancellation, is the ledger's word on this run too.
        if ends_execution(error):
            raise
        raise ExecutionError(f"The run's ledger could not {what}: {type(error).__name__}.") from error


def _warn(on_warning: OnWarning | None) -> None:
    if on_warning is None:
        return
    warning = {
        "type": UNACCOUNTED_USAGE,
        "setting": "embed_query",
        "message": "The embedder does not report its usage, so that the estimate stays held.",
    }
    call_quietly(on_warning, warning)

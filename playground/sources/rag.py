"""Chunks of documents as candidates."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

from playground.accounting import Charge
from playground.cancel import CancelToken
from playground.compiler.values import ContextCandidate, ContextSourceRequest, Kind
from playground.concurrency import called, in_thread
from playground.errors import InvalidInputError
from playground.memory.arguments import checked_flag, checked_id
from playground.retrieval.hits import SCORE_DIGITS
from playground.values import shown

__all__ = ["RagSource", "Retrieve"]

Retrieve = Callable[..., Any]
"""``retrieve(query, top_k, signal)`` or, with accounting, ``retrieve(query, top_k, signal, charge)``.

Plain or async. Answers chunks, as objects or dictionaries with ``text``, ``index`` and ``score``. ``charge`` is
a mapping to be spread into the options of whatever embeds the query, ``search.hybrid(query, top_k, signal,
**charge)`` for example; give it a default, since it comes with accounting only. A function that takes three
arguments gets three, and charges nothing.
"""


class RagSource:
    """Offers what a retrieve function finds.

    Scores are the chunks' own, rounded to six decimals; the search of this package gives 0 to 1. Record ids
    are the chunks' indexes, whole numbers or strings, as text. Blank chunks are left out: a record without
    text costs tokens and says nothing. A plain function runs in a thread, so that time limits hold.

    Args:
        retrieve: See ``Retrieve``. Nothing found is an empty list. It is not called for a blank query.
        id: The source's id.
        required: Whether a failure must stop the call.

    Raises:
        InvalidInputError: When an argument is malformed.
    """

    kind: Kind = "rag"

    def __init__(
        self,
        retrieve: Retrieve,
        *,
        id: str = "rag",  # noqa: A002  # the protocol's word
        required: bool = False,
    ) -> None:
        if not callable(retrieve):
            raise InvalidInputError(
                f"retrieve is a {type(retrieve).__name__}.",
                remedy="Pass a function of query, top_k and signal.",
            )
        self.id = checked_id(id, "id")
        self.required = checked_flag(required, "required")
        self._retrieve = retrieve
        self._takes_charge = _takes(retrieve, 4)
        if not self._takes_charge and not _takes(retrieve, 3):
            raise InvalidInputError(
                "retrieve cannot be called with a query, top_k and a signal.",
                remedy="Give it three parameters; it may ignore the signal.",
            )

    async def query(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        """Retrieve up to ``request.limit`` chunks; a function that answers more is not cut here.

        Raises:
            InvalidInputError: When the answer is not a list of chunks, or a chunk lacks a field or has an index
                of another kind.
            CallCancelledError: When the request was cancelled.
        """
        request.signal.raise_if_cancelled()
        if not request.query.strip():
            return []
        arguments: tuple[Any, ...] = (request.query, request.limit, request.signal)
        if request.accounting is not None and self._takes_charge:
            charge: Charge = {"accounting": request.accounting, "on_warning": request.on_warning}
            arguments += (charge,)
        found = await called(self._retrieve, *arguments)
        # In a thread too: an answer may be a generator, which does its work when it is read, or very long.
        return await in_thread(self._candidates, found, request.signal)

    def _candidates(self, chunks: Any, signal: CancelToken) -> list[ContextCandidate]:
        if isinstance(chunks, str | bytes | Mapping) or not isinstance(chunks, Iterable):
            raise InvalidInputError(
                f"Source {self.id!r} retrieved a {type(chunks).__name__}.",
                remedy="Answer a list of chunks; nothing found is an empty list.",
            )
        candidates = []
        for chunk in chunks:
            signal.raise_if_cancelled()
            candidate = self._candidate(chunk)
            if candidate.text.strip():
                candidates.append(candidate)
        return candidates

    def _candidate(self, chunk: Any) -> ContextCandidate:
        text, index, score = (self._field(chunk, name) for name in ("text", "index", "score"))
        match = _get(chunk, "match")
        return ContextCandidate(
            record_id=self._record_id(index),
            text=text,
            score=_rounded(score),
            match=match if isinstance(match, str) else None,
        )

    def _record_id(self, index: Any) -> str:
        """Return an index as text; the text of anything else may be another one in each process."""
        if isinstance(index, str):
            return str.__str__(index)
        try:
            if not isinstance(index, bool):
                return str(operator.index(index))
        except (TypeError, ValueError):  # no whole number, or one of thousands of digits
            pass
        raise InvalidInputError(
            f"The index of a chunk of source {self.id!r} is {shown(index)}.",
            remedy="Give a whole number or a string.",
        )

    def _field(self, chunk: Any, name: str) -> Any:
        value = _get(chunk, name)
        if value is None:
            raise InvalidInputError(
                f"A chunk of source {self.id!r} has no {name}.", remedy="Give each chunk text, index and score."
            )
        return value


def _takes(function: Retrieve, count: int) -> bool:
    """Whether a function may be called with that many arguments; where nobody knows, it may."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _rounded(score: Any) -> Any:
    """Round any real number, NumPy's included; what is none is left for the candidate to refuse."""
    if isinstance(score, bool) or not isinstance(score, Real):
        return score
    return round(float(score), SCORE_DIGITS)


def _get(chunk: Any, name: str) -> Any:
    return chunk.get(name) if isinstance(chunk, Mapping) else getattr(chunk, name, None)

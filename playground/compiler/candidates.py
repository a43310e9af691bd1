"""Candidates: the records that compete for a budget.

Frozen slotted values whose digest and rendered length are computed once, when they are made: a sweep compiles
the same candidates thousands of times.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from numbers import Real
from operator import attrgetter, eq

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.escaping import escape_attribute
from playground.values import as_float, shown, whole_number

__all__ = ["ContextCandidate", "Provenance", "in_rank_order", "revision_order"]

_DIGEST = re.compile("sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a record came from.

    Attributes:
        origin: How it became known: ``asserted``, ``observed``, ``extracted``, ``inferred`` or ``imported``.
        source_kinds: Kinds of the sources behind it, kept sorted and unique.
    """

    origin: str | None = None
    source_kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds: object = self.source_kinds
        if not isinstance(kinds, Collection) or isinstance(kinds, str) or not all(map(_is_string, kinds)):
            raise InvalidInputError("A provenance's source kinds are not a list of strings.")
        if self.origin is not None and not isinstance(self.origin, str):
            raise InvalidInputError("A provenance's origin is not a string.")
        object.__setattr__(self, "source_kinds", tuple(sorted(set(self.source_kinds))))


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """One record that a source offers for the next model call.

    Attributes:
        record_id: Identifier within the source.
        text: The record, any Unicode text; it is never trimmed.
        score: Relevance, finite; higher is better. Sources of this package report 0 to 1.
        digest: ``sha256:<hex>`` of the UTF-8 text; computed where it is left out, checked where it is given.
        revision: Version of the record, a whole number; a newer one supersedes an older one.
        tokens: What the caller says the text costs, a whole number of tokens; never lowers the count.
        provenance: Shown as attributes of the record, so that a model can weigh it.
        mandatory: Whether the record must be in the request whatever the budget says.
        query: The query that found it, where it differs from the source's.
        match: What in the query matched, for people.

    Raises:
        InvalidInputError: When the id or text is no string, the score is not finite, the digest is not the
            text's, or tokens or revision are not whole numbers of at least 0.
    """

    record_id: str
    text: str
    score: float
    digest: str | None = None
    revision: int | None = None
    tokens: int | None = None
    provenance: Provenance | None = None
    mandatory: bool = False
    query: str | None = None
    match: str | None = None
    # Code points of the rendered record beside what its source adds: attributes after `kind`, escaped text.
    rendered_length: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.record_id, str) or not isinstance(self.text, str):
            raise InvalidInputError("A candidate's record id and text must be strings.")
        assign = object.__setattr__
        assign(self, "score", _finite_score(self.score, self.record_id))
        digest = text_digest(self.text)
        if self.digest is None:
            assign(self, "digest", digest)
        elif self.digest != digest:
            _reject_digest(self.record_id, self.digest)
        for name in ("revision", "tokens"):
            value = getattr(self, name)
            if value is not None:
                assign(self, name, whole_number(value, f"A candidate's {name}"))
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise InvalidInputError("A candidate's provenance is not a Provenance.")
        if not isinstance(self.mandatory, bool):
            raise InvalidInputError("A candidate's mandatory flag is not True or False.")
        for name in ("query", "match"):
            if not isinstance(getattr(self, name), str | None):
                raise InvalidInputError(f"A candidate's {name} is not a string.")
        text = self.text
        escapes = 4 * text.count("&") + 3 * text.count("<") + 3 * text.count(">") + 4 * text.count("\r")
        assign(self, "rendered_length", len(self.attributes()) + len(text) + escapes)

    def attributes(self) -> str:
        """Return the escaped attributes after ``kind``, each with a leading space; absent ones are left out."""
        parts = [f' id="{escape_attribute(self.record_id)}"']
        if self.revision is not None:
            parts.append(f' revision="{self.revision}"')
        if self.provenance is not None:
            if self.provenance.origin is not None:
                parts.append(f' origin="{escape_attribute(self.provenance.origin)}"')
            if self.provenance.source_kinds:
                parts.append(f' source_kinds="{escape_attribute(",".join(self.provenance.source_kinds))}"')
        return "".join(parts)

    def tie_key(self) -> tuple[object, ...]:
        """Return the total order among equal scores: id, newest revision, digest, then everything else."""
        provenance = self.provenance or Provenance()
        rest = [provenance.origin, provenance.source_kinds, self.tokens, self.query, self.match]
        return (self.record_id, -revision_order(self.revision), self.digest, json.dumps(rest))


def revision_order(revision: int | None) -> int:
    """Return a number by which revisions are compared: a text without one is older than any that has one."""
    return -1 if revision is None else revision


def in_rank_order(candidates: Sequence[ContextCandidate]) -> list[ContextCandidate]:
    """Return one source's candidates: mandatory first, then by descending score, then by ``tie_key``."""
    listed = sorted(candidates, key=attrgetter("score"), reverse=True)
    # Sorting by the float alone is fast; only runs of equal scores need the long key.
    scores = list(map(attrgetter("score"), listed))
    ties = list(compress(range(len(scores)), map(eq, scores, islice(scores, 1, None))))
    while ties:
        last = ties.pop()
        first = last
        while ties and ties[-1] == first - 1:
            first = ties.pop()
        listed[first : last + 2] = sorted(listed[first : last + 2], key=ContextCandidate.tie_key)
    if any(map(attrgetter("mandatory"), listed)):
        listed.sort(key=lambda candidate: not candidate.mandatory)
    return listed


def _finite_score(score: object, record_id: str) -> float:
    if not isinstance(score, bool) and isinstance(score, Real):
        number = as_float(score)
        if math.isfinite(number):
            return number + 0.0  # turns -0.0 into 0.0
    raise InvalidInputError(
        f"The score of record {record_id!r} is {shown(score)}.",
        remedy="Give a finite number; leave the record out otherwise.",
    )


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _reject_digest(record_id: str, digest: object) -> None:
    formed = isinstance(digest, str) and _DIGEST.fullmatch(digest)
    problem = "is not the digest of its text" if formed else "is not sha256: and 64 hexadecimal digits"
    raise InvalidInputError(
        f"The digest of record {record_id!r} {problem}.",
        remedy="Leave the digest out; it is computed from the text.",
    )

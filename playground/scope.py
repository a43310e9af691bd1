"""Whose memory is read: scopes and references to where a fact came from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from playground.errors import InvalidInputError
from playground.fields import TextLength
from playground.values import LARGEST_WHOLE_NUMBER, RecordedValue

__all__ = ["MemoryScope", "MemorySourceRef", "SourceKind", "narrow"]

SourceKind = Literal["host", "user", "model", "tool", "message", "document", "record"]
_Text = Annotated[str, TextLength()]


class MemoryScope(RecordedValue):
    """Five independent coordinates; a field left out makes no demand.

    A scope without any field is legal in a request. Where a session or a store is opened at least one field
    is required, because an unbounded scope would read everybody's records.
    """

    user_id: str | None = None
    """The person the memory is about."""
    agent_id: str | None = None
    """The agent that remembers."""
    run_id: str | None = None
    """One run of that agent."""
    actor_id: str | None = None
    """The participant who spoke."""
    chat_id: str | None = None
    """One conversation."""

    def matches(self, query: MemoryScope) -> bool:
        """Whether a record of this scope answers ``query``: equal on every field that the query sets."""
        return all(getattr(self, name) == value for name, value in query.fields().items())

    def fields(self) -> dict[str, str]:
        """Return the fields that are set, in declaration order; an empty string counts as unset."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name))}


class MemorySourceRef(RecordedValue):
    """Where a remembered fact came from."""

    kind: SourceKind
    """Who or what vouches for it."""
    id: _Text | None = None
    """Identifier within that kind."""
    tool_call_id: _Text | None = None
    """The tool call whose result is cited."""
    run_id: _Text | None = None
    """The run in which it was said."""
    step: Annotated[int, Field(strict=True, ge=0, le=LARGEST_WHOLE_NUMBER)] | None = None
    """The model step of that run."""
    digest: _Text | None = None
    """``sha256:<hex>`` of the cited text."""


def narrow(pinned: MemoryScope, request: MemoryScope) -> MemoryScope:
    """Return ``pinned`` with the fields that ``request`` adds; a request can never widen a scope.

    Raises:
        InvalidInputError: When both set one field to different values.
    """
    merged = pinned.fields()
    for name, value in request.fields().items():
        if merged.setdefault(name, value) != value:
            raise InvalidInputError(
                f"The scope is pinned to another {name}.",
                remedy="A request may narrow a pinned scope, never change or widen it.",
            )
    return MemoryScope(**merged)

"""What preparation takes and hands back: frozen values, detached from the context."""

from __future__ import annotations

import html
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from playground.errors import InvalidInputError
from playground.escaping import replace_surrogates
from playground.preparation.budget import PreparationBudget
from playground.preparation.items import Json, detached
from playground.values import RecordedValue, shown

__all__ = [
    "CompactionResult",
    "ConsolidationResult",
    "ContextPreparation",
    "ContextPrepareOptions",
    "ContextSnapshot",
    "OversizedInput",
    "PreparedContext",
    "RequestOptions",
    "RolloverResult",
    "SessionSummary",
]


@dataclass(frozen=True, slots=True)
class ContextPrepareOptions:
    """What an adapter may tell ``AgentContext.prepare``; all of it is optional.

    Attributes:
        instructions: Text that the adapter sends beside the input; it is counted.
        get_tools: Returns the definitions that are really visible; may be called twice, must change nothing.
        get_request_options: Called with the tools of a rendering; returns ``RequestOptions``, a mapping with
            any of its fields, or None. May be called twice, must change nothing.
        model_max_context_tokens: The provider's capacity for this request, in tokens.
        signal: A token or an event; once it is set, preparation raises ``CallCancelledError``.
        summarize: A host's async callback that strategies may use.

    Raises:
        InvalidInputError: When a callback cannot be called.
    """

    instructions: str | None = None
    get_tools: Callable[[], Sequence[Mapping[str, Any]]] | None = None
    get_request_options: Callable[[list[Json]], Any] | None = None
    model_max_context_tokens: Any = None
    signal: Any = None
    summarize: Callable[..., Awaitable[Any]] | None = None

    def __post_init__(self) -> None:
        for name in ("get_tools", "get_request_options", "summarize"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise InvalidInputError(f"{name} is {shown(given)}.", remedy="Pass a function.")


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What a request holds beside input and tools.

    Attributes:
        instructions: Separate instructions; None adds nothing and leaves the static ones.
        response_format: The format that the answer must have.
        native_tools: Definitions of tools that the provider runs.
    """

    instructions: str | None = None
    response_format: Any = None
    native_tools: tuple[Json, ...] = ()

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return options from a value, a mapping, or None for no contribution; detached.

        Raises:
            InvalidInputError: For anything else, an awaitable included, and for an unknown field.
        """
        if value is None:
            return cls()
        if isinstance(value, RequestOptions):
            value = {name: getattr(value, name) for name in RequestOptions.__slots__}
        if not isinstance(value, Mapping):
            if inspect.iscoroutine(value):
                value.close()
            raise InvalidInputError(
                f"The request options are a {type(value).__name__}.",
                remedy="Return them, or None, from a synchronous function.",
            )
        unknown = sorted(str(name) for name in value if name not in RequestOptions.__slots__)
        if unknown:
            raise InvalidInputError(
                f"The request options have the unknown field {shown(unknown[0])}.",
                remedy="Return instructions, response_format and native_tools only.",
            )
        instructions, native = value.get("instructions"), value.get("native_tools")
        if instructions is not None and not isinstance(instructions, str):
            raise InvalidInputError(f"The instructions are {shown(instructions)}.", remedy="Give a text.")
        objects = isinstance(native, list | tuple) and all(isinstance(tool, Mapping) for tool in native)
        if native is not None and not objects:
            raise InvalidInputError(
                f"The native tools are {shown(native)}.", remedy="Give a list of definitions."
            )
        return cls(instructions, detached(value.get("response_format")), tuple(detached(native or ())))


@dataclass(frozen=True, slots=True)
class PreparedContext:
    """A request that fits, as it stood when it was counted; nothing that happens later changes it.

    Attributes:
        input: The developer message, the history and the current input, in order.
        budget: What it holds, in tokens.
        compacted: Whether a strategy freed something.
        compaction_log: What was moved, dropped or cut for it, one line each.
        tools: The definitions that were counted.
    """

    input: list[Json]
    budget: PreparationBudget
    compacted: bool
    compaction_log: tuple[str, ...]
    tools: list[Json]

    def _repr_html_(self) -> str:
        log = "".join(f"<li>{html.escape(replace_surrogates(line))}</li>" for line in self.compaction_log)
        head = f"<p>{len(self.input):,} items, {len(self.tools):,} tools</p>"
        return head + self.budget._repr_html_() + (f"<ul>{log}</ul>" if log else "")


class ContextPreparation(RecordedValue):
    """Diagnostics of the last request that was prepared; lives no longer than its process."""

    revision: int
    """Counts successful preparations, from 1."""
    prepared_at: int
    """When it was prepared, in milliseconds."""
    budget: PreparationBudget
    """What it held; a final check of the same request may replace it."""
    compaction: Any = None
    """What a strategy reported of itself, if it did."""
    compaction_details: Any = None
    """What a provider's own compaction did, if it was used."""
    selection: Any = None
    """What selected views cost, if there were any."""

    def _repr_html_(self) -> str:
        return f"<p>revision {self.revision:,}</p>{self.budget._repr_html_()}"


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """What observation hooks see; a copy.

    Attributes:
        messages: The history.
        current_input: The current input.
    """

    messages: tuple[Json, ...]
    current_input: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a strategy did in its one pass.

    Attributes:
        tokens_freed: As the context's own removals counted it, in tokens.
        messages_removed: Items that are gone from the history.
        plugins_compacted: Names of plugins that gave something up.
        log: One line for each thing that was done.
        report: Whatever else the strategy reports.
    """

    tokens_freed: int = 0
    messages_removed: int = 0
    plugins_compacted: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    report: Any = None


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """What a consolidation did.

    Attributes:
        performed: Whether anything was removed.
        tokens_changed: Tokens after minus tokens before.
        actions: One line for each thing that was done, or one that says why nothing was.
    """

    performed: bool
    tokens_changed: int
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RolloverResult:
    """What a rollover did: an older part of the history became one summary.

    Attributes:
        performed: Whether there was anything to summarise.
        messages_summarized: Items that the summary stands for.
        messages_retained: Items kept as they are.
        tokens_before: The history's tokens before.
        tokens_after: The history's tokens after.
        summary: The summary's text.
    """

    performed: bool
    messages_summarized: int
    messages_retained: int
    tokens_before: int
    tokens_after: int
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OversizedInput:
    """What became of a current input that does not fit.

    Attributes:
        accepted: Whether it was cut rather than refused.
        content: The input as it is now.
        error: Why it was refused.
        warning: What was cut.
        original_size: Tokens before.
        final_size: Tokens now.
    """

    accepted: bool
    content: tuple[Json, ...]
    error: str | None = None
    warning: str | None = None
    original_size: int
    final_size: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A stored session in a list.

    Attributes:
        session_id: Its id.
        last_saved_at: When it was last saved: ISO 8601, UTC.
    """

    session_id: str
    last_saved_at: str

"""Every error raised on purpose, as one tree.

::

    PlaygroundError
    ├── InvalidInputError            (also TypeError and ValueError)  the caller's own mistake
    │   └── UnknownModelError        a model name that no catalogue holds
    ├── InvalidRequestError          a request that cannot be served as it stands
    ├── ContextBudgetExceededError   mandatory content does not fit the request
    ├── BlockBudgetError             blocks that are forced in do not fit the budget
    ├── SourceError                  a source could not answer
    │   └── SourceTimeoutError       a source did not answer in time
    ├── CallCancelledError           somebody cancelled the call
    ├── ExecutionError               the run itself cannot go on
    ├── ToolExecutionError           a tool refused a call or failed; the model may read why
    ├── DocumentError                one file of an upload cannot be read
    ├── EmbeddingUnavailableError    the embedding model cannot be loaded
    ├── StaleRevisionError           somebody else changed the record first
    ├── StoreError                   a database cannot be opened, read or written
    │   └── StoreBusyError           somebody else holds it for too long
    ├── ProjectError                 a project on disk cannot be used
    └── AIError                      a request to a model cannot be prepared
        ├── InvalidToolProtocolError calls and results of tools do not belong together
        ├── ContextOverflowError     a prepared request does not fit the window
        ├── ContextChangedError      the context changed under the operation
        └── ContextBusyError         another operation holds the context

Each message says what is wrong, with sizes, and then the remedy. Every error pickles, and ``to_json`` gives
a dictionary of scalars that is safe to log: never a cause, never a body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

__all__ = [
    "AIError",
    "BlockBudgetError",
    "CallCancelledError",
    "ContextBudgetExceededError",
    "ContextBusyError",
    "ContextChangedError",
    "ContextOverflowError",
    "DocumentError",
    "EmbeddingUnavailableError",
    "ExecutionError",
    "InvalidInputError",
    "InvalidRequestError",
    "InvalidToolProtocolError",
    "OverflowBudget",
    "PlaygroundError",
    "ProjectError",
    "SourceError",
    "SourceTimeoutError",
    "StaleRevisionError",
    "StoreBusyError",
    "StoreError",
    "ToolExecutionError",
    "UnknownModelError",
    "ends_execution",
]

Phase = Literal["compile", "overflow-retry"]

TOOL_MESSAGE_LENGTH = 600  # code points of what a model is told; its own input may be quoted there


class PlaygroundError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What is wrong, in one sentence.
        remedy: What the reader can do about it; appended to the message.
        **fields: Facts kept as attributes of the same name (subclasses name theirs).

    Attributes:
        code: Stable name of the kind of error.
        retryable: Whether the same call may succeed later.
        fatal_execution: Whether the run must end: nothing may turn the error into a failed source or into
            something that a model may try again. Errors of other packages may carry the attribute too.
    """

    code: ClassVar[str] = "playground_error"
    retryable: ClassVar[bool] = False
    fatal_execution: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "", **fields: Any) -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.problem = message
        self.remedy = remedy
        self._fields = tuple(fields)
        for name, value in fields.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            _rebuild,
            (type(self), self.problem, self.remedy, {name: getattr(self, name) for name in self._fields}),
        )

    def to_json(self) -> dict[str, str | int | float | bool | None]:
        """Return code, message and the scalar fields; causes and bodies never appear."""
        safe = {name: getattr(self, name) for name in self._fields}
        scalars = {k: v for k, v in safe.items() if v is None or isinstance(v, str | int | float | bool)}
        return {"code": self.code, "message": str(self), **scalars}


class InvalidInputError(PlaygroundError, TypeError, ValueError):
    """The caller passed something malformed; the caller's code must change."""

    code = "invalid_input"


class UnknownModelError(InvalidInputError):
    """No catalogue entry or override has this model id; choose one or add an override."""

    code = "unknown_model"
    model_id: str
    suggestions: tuple[str, ...]

    def __init__(
        self, message: str, *, remedy: str = "", model_id: str = "", suggestions: Sequence[str] = ()
    ) -> None:
        super().__init__(message, remedy=remedy, model_id=model_id, suggestions=tuple(suggestions))


class InvalidRequestError(PlaygroundError):
    """The request cannot be served as it stands; the host must change it."""

    code = "invalid_request"


class ContextBudgetExceededError(PlaygroundError):
    """Mandatory content does not fit what the request leaves; shorten it or free room.

    Attributes:
        required_tokens: Tokens of the blocks that hold the mandatory content alone.
        available_tokens: Tokens the request leaves, never below zero.
        phase: ``compile``, or ``overflow-retry`` when a provider refused the first request.
    """

    code = "context_budget_exceeded"
    required_tokens: int
    available_tokens: int
    phase: Phase

    def __init__(
        self,
        message: str = "",
        *,
        remedy: str = "",
        required_tokens: int,
        available_tokens: int,
        phase: Phase = "compile",
    ) -> None:
        super().__init__(
            message
            or f"Mandatory content needs {required_tokens:,} tokens, the request has {available_tokens:,}.",
            remedy=remedy
            or "Shorten the goal, constraints or loaded skills, or choose a model with a larger window.",
            required_tokens=required_tokens,
            available_tokens=available_tokens,
            phase=phase,
        )


class BlockBudgetError(PlaygroundError):
    """Required and pinned blocks alone cost more than the budget; nothing is dropped to make them fit.

    Attributes:
        required_tokens: What they cost together, in tokens.
        budget_tokens: The budget, in tokens.
    """

    code = "block_budget_exceeded"
    required_tokens: int
    budget_tokens: int

    def __init__(
        self, message: str = "", *, remedy: str = "", required_tokens: int, budget_tokens: int
    ) -> None:
        super().__init__(
            message
            or f"Required and pinned blocks need {required_tokens:,} tokens, the budget is {budget_tokens:,}.",
            remedy=remedy or "Raise the budget, or require and pin fewer blocks.",
            required_tokens=required_tokens,
            budget_tokens=budget_tokens,
        )


class SourceError(PlaygroundError):
    """A source could not answer; its owner must act, or make it optional."""

    code = "source_failed"
    source_id: str

    def __init__(self, message: str, *, remedy: str = "", source_id: str = "") -> None:
        super().__init__(message, remedy=remedy, source_id=source_id)


class SourceTimeoutError(SourceError):
    """A source did not answer within the time limit."""

    code = "source_timeout"
    retryable = True


class CallCancelledError(PlaygroundError):
    """The call was cancelled through its token; nothing needs to be done."""

    code = "cancelled"


class ExecutionError(PlaygroundError):
    """The run itself cannot go on, since its ledger refused for example; the host must act."""

    code = "execution_failed"
    fatal_execution = True


class ToolExecutionError(PlaygroundError):
    """A tool refused a call or failed; the model may read why and call again with another input.

    Attributes:
        tool: The tool's name.
        reason: Why, in one word that hosts may match on; a tool says which there are.
    """

    code = "tool_execution"
    tool: str
    reason: str | None

    def __init__(self, message: str, *, remedy: str = "", tool: str = "", reason: str | None = None) -> None:
        if len(message) > TOOL_MESSAGE_LENGTH:
            message = f"{message[: TOOL_MESSAGE_LENGTH - 1]}…"
        super().__init__(message, remedy=remedy, tool=tool, reason=reason)


class DocumentError(PlaygroundError):
    """One file cannot be read; the user must replace or convert it. The other files still load.

    Attributes:
        name: The file's name as the user gave it.
    """

    code = "document_unreadable"
    name: str

    def __init__(self, message: str, *, remedy: str = "", name: str = "") -> None:
        super().__init__(message, remedy=remedy, name=name)


class EmbeddingUnavailableError(PlaygroundError):
    """The embedding model cannot be loaded; lexical search goes on without it.

    Attributes:
        model: The model name or folder that was asked for.
    """

    code = "embedding_unavailable"
    model: str

    def __init__(self, message: str, *, remedy: str = "", model: str = "") -> None:
        super().__init__(message, remedy=remedy, model=model)


class StaleRevisionError(PlaygroundError):
    """Somebody changed the record in between; read it again and repeat the change.

    Attributes:
        record_id: The record that moved on.
        expected_revision: What the caller had read.
        actual_revision: What the store holds now.
    """

    code = "stale_revision"
    retryable = True
    record_id: str
    expected_revision: int
    actual_revision: int

    def __init__(
        self,
        message: str = "",
        *,
        remedy: str = "",
        record_id: str,
        expected_revision: int,
        actual_revision: int,
    ) -> None:
        super().__init__(
            message or f"Record {record_id!r} is at revision {actual_revision}, not {expected_revision}.",
            remedy=remedy or "Read the record again and repeat the change.",
            record_id=record_id,
            expected_revision=expected_revision,
            actual_revision=actual_revision,
        )


class StoreError(PlaygroundError):
    """A database is damaged, foreign, of another version or out of reach; whoever runs it must act.

    Attributes:
        store: The file's or the database's name, without user, password or host.
    """

    code = "store_unusable"
    store: str

    def __init__(self, message: str, *, remedy: str = "", store: str = "") -> None:
        super().__init__(message, remedy=remedy, store=store)


class StoreBusyError(StoreError):
    """Another writer held the database for longer than anybody waits; nothing was written, try again."""

    code = "store_busy"
    retryable = True


class ProjectError(PlaygroundError):
    """A project on disk is missing, damaged or of an unknown version; the user must choose another.

    Attributes:
        project: The project's name or folder.
    """

    code = "project_invalid"
    project: str

    def __init__(self, message: str, *, remedy: str = "", project: str = "") -> None:
        super().__init__(message, remedy=remedy, project=project)


class AIError(PlaygroundError):
    """A request to a model cannot be prepared; base of the second system's errors.

    Attributes:
        status: HTTP status that says the same, if one does. Codes are upper case here: hosts match on them.
    """

    code = "AI_ERROR"
    status: ClassVar[int | None] = None


class InvalidToolProtocolError(AIError):
    """Two calls, or two final results, have one id in one namespace; the host must change the history.

    Attributes:
        namespace: ``function`` or ``custom``.
        call_id: The id that occurs twice.
        positions: Places of the two items, from 0, in history and then current input.
    """

    code = "INVALID_TOOL_PROTOCOL"
    namespace: str
    call_id: str
    positions: tuple[int, ...]

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        namespace: str = "",
        call_id: str = "",
        positions: Sequence[int] = (),
    ) -> None:
        super().__init__(
            message, remedy=remedy, namespace=namespace, call_id=call_id, positions=tuple(positions)
        )


@dataclass(frozen=True, slots=True)
class OverflowBudget:
    """What a request that does not fit would have used, in tokens.

    Attributes:
        actual_tokens: Everything counted in it.
        max_tokens: What fits: the window without the response reserve.
        overage_tokens: ``actual_tokens - max_tokens``.
        breakdown: Tokens by part; a plugin's content stands as ``plugin:<name>``.
        degradation_log: What was moved, dropped or cut before, one line each.
    """

    actual_tokens: int
    max_tokens: int
    overage_tokens: int
    breakdown: Mapping[str, int]
    degradation_log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data under the recorded names."""
        return {
            "actualTokens": self.actual_tokens,
            "maxTokens": self.max_tokens,
            "overageTokens": self.overage_tokens,
            "breakdown": dict(self.breakdown),
            "degradationLog": list(self.degradation_log),
        }


class ContextOverflowError(AIError):
    """The request does not fit the window, even after compaction; shorten it or choose a larger window.

    Attributes:
        budget: What it would have used, and what was done before.
    """

    code = "CONTEXT_OVERFLOW"
    status = 413
    budget: OverflowBudget

    def __init__(self, message: str = "", *, remedy: str = "", budget: OverflowBudget) -> None:
        prefix = "Context overflow: "
        said = (message or "the request does not fit").removeprefix(prefix)
        if not message.startswith(prefix):
            said = (
                f"{said.removesuffix('.')}. It has {budget.actual_tokens:,} tokens, {budget.max_tokens:,} fit:"
                f" {budget.overage_tokens:,} too many."
            )
        super().__init__(f"{prefix}{said}", remedy=remedy, budget=budget)

    def get_degradation_summary(self) -> str:
        """Return what was moved, dropped or cut before, one line each."""
        return "\n".join(self.budget.degradation_log)

    def get_top_consumers(self, n: int = 5) -> list[tuple[str, int]]:
        """Return the ``n`` largest parts with their tokens, largest first, then by name."""
        parts = sorted(self.budget.breakdown.items(), key=lambda part: (-part[1], part[0]))
        return parts[: max(0, n)]

    def to_json(self) -> dict[str, str | int | float | bool | None]:
        """Return code, message and the three sizes; see ``PlaygroundError.to_json``."""
        budget = self.budget
        return {
            **super().to_json(),
            "actual_tokens": budget.actual_tokens,
            "max_tokens": budget.max_tokens,
            "overage_tokens": budget.overage_tokens,
        }


class ContextChangedError(AIError):
    """The context changed while an operation worked on it; do it again from the stable context."""

    code = "CONTEXT_CHANGED"
    retryable = True


class ContextBusyError(AIError):
    """Another preparation, consolidation or rollover holds the context; try again once it is done.

    Attributes:
        operation: What holds it.
    """

    code = "CONTEXT_BUSY"
    retryable = True
    operation: str

    def __init__(self, message: str = "", *, remedy: str = "", operation: str) -> None:
        super().__init__(
            message or f"The context is busy: {operation} is running.",
            remedy=remedy or "Try again once it is done.",
            operation=operation,
        )


def ends_execution(error: BaseException) -> bool:
    """Whether an error of any package says that the run must end, see ``PlaygroundError.fatal_execution``."""
    try:
        return getattr(error, "fatal_execution", False) is True
    except Exception:  # noqa: BLE001  # a foreign error may compute its attributes
        return False


def _rebuild(kind: type[PlaygroundError], problem: str, remedy: str, fields: dict[str, Any]) -> PlaygroundError:
    return kind(problem, remedy=remedy, **fields)

"""The checked arguments of one step of a compiler."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.accounting import OnWarning
from playground.cancel import CancelToken
from playground.compiler.history import history_digests
from playground.compiler.manifest import EstimatorKind, EstimatorName, estimator_kind_of
from playground.errors import InvalidInputError
from playground.messages import Message, as_messages
from playground.models import ModelSpec, keeps_tail
from playground.values import shown, whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["StepInput", "checked_callback"]


@dataclass(frozen=True, slots=True)
class StepInput:
    """What the host says of one model call; see ``ContextCompiler.before_model_call`` for the fields.

    ``digests`` are those of the messages, see ``history_digests``.
    """

    run_id: str
    step: int
    messages: tuple[Message, ...]
    digests: tuple[str, ...]
    input_tokens: int
    tail_kept: bool
    overhead_tokens: int
    working_memory: WorkingMemorySnapshot | None
    refresh: bool
    redacted: bool
    estimator_kind: EstimatorKind | None
    signal: CancelToken
    accounting: Mapping[str, Any] | None
    on_warning: OnWarning | None

    @classmethod
    def checked(
        cls,
        *,
        run_id: str,
        step: int,
        messages: Sequence[Message | Mapping[str, Any]],
        model: ModelSpec | Mapping[str, Any],
        overhead_tokens: int = 0,
        working_memory: WorkingMemorySnapshot | Mapping[str, Any] | None = None,
        refresh: bool = False,
        redacted: bool = False,
        estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None = None,
        signal: CancelToken | None = None,
        accounting: Mapping[str, Any] | None = None,
        on_warning: OnWarning | None = None,
    ) -> StepInput:
        """Return the values of what a host passed.

        Raises:
            InvalidInputError: When an argument is malformed; names it.
        """
        spec = ModelSpec.parse(model)
        if not isinstance(run_id, str):
            raise InvalidInputError(f"run_id is a {type(run_id).__name__}.", remedy="Pass a string.")
        for name, flag in (("refresh", refresh), ("redacted", redacted)):
            if not isinstance(flag, bool):
                raise InvalidInputError(f"{name} is {shown(flag)}.", remedy="Pass True or False.")
        if signal is not None and not isinstance(signal, CancelToken):
            raise InvalidInputError("The signal is not a CancelToken.", remedy="Pass a CancelToken.")
        if accounting is not None and not isinstance(accounting, Mapping):
            raise InvalidInputError(
                f"accounting is a {type(accounting).__name__}.", remedy="Pass a mapping, or leave it out."
            )
        history = as_messages(messages)
        return cls(
            run_id=run_id,
            step=whole_number(step, "step"),
            messages=history,
            digests=history_digests(history),
            input_tokens=spec.input_tokens,
            tail_kept=keeps_tail(spec.model_id),
            overhead_tokens=whole_number(overhead_tokens, "overhead_tokens"),
            working_memory=None if working_memory is None else WorkingMemorySnapshot.recorded(working_memory),
            refresh=refresh,
            redacted=redacted,
            estimator_kind=estimator_kind_of(estimator_kind),
            signal=CancelToken() if signal is None else signal,
            accounting=accounting,
            on_warning=checked_callback(on_warning, "on_warning"),
        )

    @property
    def active_task_id(self) -> str | None:
        """The active task of the working memory; no task is a value too."""
        task = self.working_memory.active_task if self.working_memory else None
        return task.id if task else None


def checked_callback(value: Any, name: str) -> Any:
    """Return a plain function, or ``None``.

    Raises:
        InvalidInputError: For anything else, asynchronous functions included: nobody would await them.
    """
    if value is None:
        return None
    if not callable(value):
        raise InvalidInputError(f"{name} is a {type(value).__name__}.", remedy="Pass a function.")
    for function in (value, type(value).__call__):
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidInputError(
                f"{name} is an asynchronous function, which nobody would await.",
                remedy="Pass a plain function.",
            )
    return value

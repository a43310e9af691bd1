"""Telling the host about a step: warnings to its callback, reports to its observer.

Not pure: it reads a clock. What a host's functions raise does not reach the step, unless it asks the program
to end.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playground.accounting import OnWarning
from playground.callbacks import call_quietly
from playground.compiler.manifest import context_warnings
from playground.compiler.reporting import Attribute, CompileObserver, CompileReport, compile_attributes
from playground.compiler.step_input import StepInput
from playground.compiler.values import ContextPackage

__all__ = ["Watch"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told what about the steps of one compiler.

    Attributes:
        on_warning: Hears of failed sources; a step may bring its own.
        observer: Hears of each compile.
        clock: Time in ns; read only where there is an observer. Without a time there is no report.
    """

    on_warning: OnWarning | None
    observer: CompileObserver | None
    clock: Callable[[], int]

    async def reported(
        self, call: StepInput, compiled: Callable[[StepInput], Awaitable[ContextPackage]]
    ) -> ContextPackage:
        """Compile, then tell the observer and, of failed sources, the host."""
        started = None if self.observer is None else self._now()
        try:
            package = await compiled(call)
        except BaseException as error:
            self._observe(call, started, {}, type(error).__name__)
            raise
        if started is not None:
            self._observe(call, started, compile_attributes(package.manifest))
        for warning in context_warnings(package.manifest):
            self.warn(call, warning)
        return package

    def warn(self, call: StepInput, warning: Mapping[str, Any]) -> None:
        """Hand a warning to the step's callback, or to the compiler's; to the log where there is none."""
        callback = call.on_warning or self.on_warning
        if callback is None:
            # Not the message: what a source raised may quote its content.
            _log.warning("%s: %s", warning.get("type"), warning.get("setting"))
        else:
            call_quietly(callback, warning)

    def _now(self) -> int | None:
        found: list[int] = []
        call_quietly(lambda _: found.append(operator.index(self.clock())), None)
        return found[0] if found else None

    def _observe(
        self,
        call: StepInput,
        started: int | None,
        attributes: Mapping[str, Attribute],
        error: str | None = None,
    ) -> None:
        ended = None if started is None else self._now()
        if self.observer is None or started is None or ended is None:
            return
        report = CompileReport(
            run_id=call.run_id,
            step=call.step,
            started_ns=started,
            ended_ns=ended,
            attributes=attributes,
            error=error,
        )
        call_quietly(self.observer, report)

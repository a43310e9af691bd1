"""Handing the reports of compiles to OpenTelemetry.

Not pure, and imported only by whoever wants it: ``import playground`` does not load OpenTelemetry. Nothing is
sent anywhere from here; where spans go is up to the SDK that the host has set up, and without one they go
nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from playground.compiler.reporting import CONTEXT_SUBSYSTEM, CompileReport

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

__all__ = ["OpenTelemetryObserver"]


class OpenTelemetryObserver:
    """Makes one span of each compile: ``ContextCompiler(..., observer=OpenTelemetryObserver())``.

    The span is a child of the one that is current where the compiler was called, begins and ends with the
    report's own times, and has its attributes and no other. The status of a compile that failed is an error
    described by the error's class; messages are left out, since they may quote a record.

    Args:
        tracer: Makes the spans; by default the host's tracer of the name ``playground.context``, also when
            the host sets its SDK up later.

    References:
        https://opentelemetry.io/docs/specs/otel/trace/api/
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = trace.get_tracer(f"playground.{CONTEXT_SUBSYSTEM}") if tracer is None else tracer

    def __call__(self, report: CompileReport) -> None:
        """Record one compile."""
        span = self._tracer.start_span(
            report.operation, attributes=report.attributes, start_time=report.started_ns
        )
        if report.error is not None:
            span.set_status(Status(StatusCode.ERROR, report.error))
        span.end(report.ended_ns)

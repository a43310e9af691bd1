from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from playground import ContextCandidate
from playground.compiler.reporting import CompileReport, compile_attributes
from playground.concurrency import run_sync
from playground.telemetry import OpenTelemetryObserver
from tests.builders import compiled, offer

MARKER = "MARKER"
STARTED, ENDED = 1_700_000_000_000_000_000, 1_700_000_000_500_000_000


class Watched:
    """An SDK of the test's own that keeps finished spans in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("test")
        self.observer = OpenTelemetryObserver(self.tracer)

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def compile_span(self) -> ReadableSpan:
        (span,) = [span for span in self.spans() if span.name == "deuz.context.compile"]
        return span


@pytest.fixture
def watched() -> Watched:
    return Watched()


def report(**more: Any) -> CompileReport:
    return CompileReport(run_id=MARKER, step=3, started_ns=STARTED, ended_ns=ENDED, **more)


def test_r245_a_span_has_the_attributes_of_the_report_and_no_other(watched: Watched) -> None:
    manifest = compiled(offer(ContextCandidate("a", MARKER, 1.0), source_id="My Docs!", query=MARKER)).manifest
    attributes = compile_attributes(manifest)
    watched.observer(report(attributes=attributes))
    span = watched.compile_span()
    assert dict(span.attributes or {}) == attributes
    assert "deuz.context.source.my_docs_.selected" in attributes
    assert (span.start_time, span.end_time) == (STARTED, ENDED)
    assert span.status.status_code is StatusCode.UNSET
    assert (span.events, span.links) == ((), ())
    assert MARKER not in span.to_json()


def test_r245_a_failed_compile_says_its_error_class_alone(watched: Watched) -> None:
    watched.observer(report(error="ContextBudgetExceededError"))
    span = watched.compile_span()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "ContextBudgetExceededError"
    assert not span.attributes


def test_r245_the_span_is_a_child_of_the_current_one(watched: Watched) -> None:
    with watched.tracer.start_as_current_span("step") as step:
        watched.observer(report())
    child = watched.compile_span()
    assert child.parent is not None
    assert child.parent.span_id == step.get_span_context().span_id
    watched.exporter.clear()
    watched.observer(report())
    assert watched.compile_span().parent is None


def test_r245_it_is_a_child_too_where_a_synchronous_call_runs_on_the_private_loop(watched: Watched) -> None:
    async def compile_somewhere() -> None:
        await asyncio.sleep(0)
        await asyncio.create_task(_observe())

    async def _observe() -> None:
        watched.observer(report())

    with watched.tracer.start_as_current_span("step") as step:
        run_sync(compile_somewhere())
    child = watched.compile_span()
    assert child.parent is not None
    assert child.parent.span_id == step.get_span_context().span_id


def test_without_an_sdk_a_report_goes_nowhere_and_leaves_no_trace() -> None:
    assert not trace.get_current_span().is_recording()
    OpenTelemetryObserver()(report(attributes={"deuz.context.selected": 1}, error="X"))
    assert not trace.get_current_span().is_recording()


def test_importing_the_package_does_not_load_opentelemetry() -> None:
    code = "import playground, sys; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_observer_needs_the_api_alone() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from playground.compiler.reporting import CompileReport\n"
        "from playground.telemetry import OpenTelemetryObserver\n"
        "OpenTelemetryObserver()(CompileReport(run_id='r', step=0, started_ns=1, ended_ns=2))\n"
        "print('streamlit' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

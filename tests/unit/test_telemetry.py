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
from opentelemetry.trace import NoOpTracer, StatusCode

from playground import ContextCandidate, ContextCompiler, RagSource, create_working_memory
from playground.compiler.reporting import CompileReport, compile_attributes
from playground.concurrency import run_sync
from playground.telemetry import OpenTelemetryObserver
from tests.builders import compiled, offer
from tests.host import Spy, call, step

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


def watched_compiler(watched: Watched, **more: Any) -> ContextCompiler:
    found = [ContextCandidate(MARKER, f"{MARKER} text", 1.0)]
    sources = [Spy(found, id="My Docs!"), Spy([], id="memory", kind="memory")]
    return ContextCompiler(sources=sources, observer=watched.observer, **more)


MARKED: dict[str, Any] = {
    "run_id": MARKER,
    "messages": [{"role": "user", "content": f"{MARKER} question"}],
    "working_memory": create_working_memory(scope=MARKER, goal=f"{MARKER} goal", now=0),
}


def test_r245_each_compile_makes_one_span_with_the_attributes_of_its_manifest(watched: Watched) -> None:
    compiler = watched_compiler(watched)
    packages = [step(compiler, number, **MARKED) for number in range(2)]
    packages.append(compiler.on_overflow_sync(input_tokens=9_000, **call(1, **MARKED)))
    spans = watched.spans()
    assert [dict(span.attributes or {}) for span in spans] == [
        compile_attributes(package.manifest) for package in packages
    ]
    reasons = [(span.attributes or {})["deuz.context.refresh_reason"] for span in spans]
    assert reasons == ["initial", "reused", "overflow-retry"]
    assert all((span.start_time or 0) <= (span.end_time or 0) for span in spans)
    assert MARKER in packages[0].xml
    assert MARKER in packages[0].manifest.to_json()
    assert not any(MARKER in span.to_json() for span in spans)
    assert (spans[0].attributes or {})["deuz.context.source.my_docs_.selected"] == 1


@pytest.mark.parametrize("synchronous", [True, False])
def test_r245_the_span_of_a_compile_is_a_child_of_the_callers(watched: Watched, synchronous: bool) -> None:
    compiler = watched_compiler(watched)
    with watched.tracer.start_as_current_span("step") as parent:
        if synchronous:
            step(compiler)
        else:
            asyncio.run(compiler.before_model_call(**call()))
    child = watched.compile_span()
    assert child.parent is not None
    assert child.parent.span_id == parent.get_span_context().span_id


def test_r245_spans_that_a_source_makes_are_the_callers_children_too(watched: Watched) -> None:
    def retrieve(*_: Any) -> list[Any]:
        with watched.tracer.start_as_current_span("embed"):
            return []

    with watched.tracer.start_as_current_span("step") as parent:
        step(ContextCompiler(sources=[RagSource(retrieve)]))
    inner = watched.spans()[0]
    assert inner.name == "embed"
    assert inner.parent is not None
    assert inner.parent.span_id == parent.get_span_context().span_id


def test_r245_a_compile_that_fails_is_reported_without_its_message(watched: Watched) -> None:
    failing = Spy(required=True, fails=RuntimeError(MARKER))
    compiler = ContextCompiler(sources=[failing], observer=watched.observer)
    with pytest.raises(RuntimeError):
        step(compiler)
    span = watched.compile_span()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "RuntimeError")
    assert not span.attributes
    assert MARKER not in span.to_json()


@pytest.mark.parametrize("fails", [False, True])
def test_an_observer_that_raises_never_matters(fails: bool) -> None:
    class BrokenTracer(NoOpTracer):
        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("the exporter is gone")

    source = Spy(required=True, fails=OSError("down") if fails else None)
    watched, plain = (
        ContextCompiler(sources=[source], observer=observer)
        for observer in (OpenTelemetryObserver(BrokenTracer()), None)
    )
    if fails:
        with pytest.raises(OSError, match="down"):
            step(watched)
        return
    assert step(watched) == step(plain)
    assert watched.state() == plain.state()


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

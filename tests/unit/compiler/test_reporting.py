from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from playground import ContextCandidate, ContextPackage, create_working_memory
from playground.compiler.reporting import CompileReport, compile_attributes
from tests.builders import compiled, offer

SECRET = "MARKER-content"
ASKED = "MARKER-query"


def package(**more: Any) -> ContextPackage:
    return compiled(
        offer(
            ContextCandidate("a", SECRET, 0.9),
            ContextCandidate("b", "x" * 2_000, 0.5),
            source_id="My Docs!",
            query=ASKED,
        ),
        offer(ContextCandidate("c", "another text", 0.4), source_id="memory", kind="memory", query=ASKED),
        context_tokens=200,
        **more,
    )


def test_r245_a_compile_has_the_attributes_of_the_table_and_no_other() -> None:
    manifest = package().manifest
    rows = {row.id: row for row in manifest.sources}
    assert compile_attributes(manifest) == {
        "deuz.context.selected": 2,
        "deuz.context.excluded": 1,
        "deuz.context.tokens": manifest.budget.selected_tokens,
        "deuz.context.estimator": "heuristic",
        "deuz.context.refresh_reason": "initial",
        "deuz.context.cache_prefix_changed": False,
        "deuz.context.manifest_digest": manifest.digest,
        "deuz.context.source.my_docs_.selected": 1,
        "deuz.context.source.my_docs_.excluded": 1,
        "deuz.context.source.my_docs_.tokens": rows["My Docs!"].tokens,
        "deuz.context.source.memory.selected": 1,
        "deuz.context.source.memory.excluded": 0,
        "deuz.context.source.memory.tokens": rows["memory"].tokens,
    }
    assert rows["My Docs!"].tokens > 0
    assert re.fullmatch("sha256:[0-9a-f]{64}", manifest.digest)


def test_r245_what_gave_way_and_calibration_are_said_only_where_they_are_so() -> None:
    assert "deuz.context.fallback" not in compile_attributes(package().manifest)
    changed = compile_attributes(
        package(
            fallback="pass-limit",
            refresh="reused",
            cache_prefix_changed=True,
            estimator_kind={"kind": "tokenizer", "calibrated": True},
        ).manifest
    )
    assert changed["deuz.context.fallback"] == "pass-limit"
    assert changed["deuz.context.estimator"] == "tokenizer+calibrated"
    assert changed["deuz.context.cache_prefix_changed"] is True
    assert changed["deuz.context.refresh_reason"] == "reused"


def test_r245_counts_of_ids_that_collapse_to_one_name_are_added() -> None:
    manifest = compiled(
        offer(ContextCandidate("a", "one", 1.0), source_id="My Docs!"),
        offer(ContextCandidate("b", "two", 1.0), ContextCandidate("c", "one", 0.5), source_id="my docs?"),
        offer(source_id="MY_DOCS_"),
    ).manifest
    attributes = compile_attributes(manifest)
    sums = {
        name: sum(getattr(row, name) for row in manifest.sources) for name in ("selected", "excluded", "tokens")
    }
    assert sums["selected"] == 2
    assert sums["excluded"] == 1
    assert {key.rpartition(".")[2]: value for key, value in attributes.items() if ".source." in key} == sums
    assert all(".my_docs_." in key for key in attributes if ".source." in key)


def test_r245_working_memory_is_counted_but_is_no_source() -> None:
    memory = create_working_memory(scope="s", goal=SECRET, now=1)
    attributes = compile_attributes(package(working_memory=memory).manifest)
    assert attributes["deuz.context.selected"] == 3
    assert not any("working" in key for key in attributes)


def test_r245_neither_content_nor_query_is_in_a_report() -> None:
    memory = create_working_memory(scope="s", goal=SECRET, now=1)
    found = package(working_memory=memory)
    assert SECRET in found.xml
    assert ASKED in found.manifest.to_json()
    report = CompileReport(
        run_id="r", step=0, started_ns=1, ended_ns=2, attributes=compile_attributes(found.manifest)
    )
    assert "MARKER" not in repr(report)


def test_a_report_names_its_operation_and_does_not_change() -> None:
    report = CompileReport(run_id="r", step=3, started_ns=1, ended_ns=2, error="InvalidInputError")
    assert (report.operation, report.subsystem) == ("deuz.context.compile", "context")
    assert (report.attributes, report.error) == ({}, "InvalidInputError")
    frozen: Any = report
    with pytest.raises(FrozenInstanceError):
        frozen.step = 4

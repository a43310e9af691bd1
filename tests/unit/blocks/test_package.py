from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from playground import (
    ContextCandidate,
    InvalidInputError,
    SourceResult,
    WorkingMemorySnapshot,
    compile_context,
    create_working_memory,
)
from playground.blocks import ContextBlock, blocks_from_package, compile_blocks
from playground.compiler.values import ContextPackage
from playground.working_memory import InMemoryWorkingMemory
from playground.workspace import ask_sources, compile_answers, load_project, sample_projects
from tests.builders import compiled, offer


@cache
def working_memory() -> WorkingMemorySnapshot:
    start = create_working_memory(
        scope="s",
        goal="Ship it.",
        constraints=["No downtime."],
        tasks={"list": ["Test", "Release"]},
        now=0,
    )
    memory = InMemoryWorkingMemory(start)
    operations = [
        {"op": "add-decision", "text": "Use SQLite.", "rationale": "It is small.", "status": "reverted"},
        {"op": "add-question", "text": "Which port?"},
        {"op": "record-attempt", "text": "Ran the suite.", "outcome": "failed"},
        {"op": "add-hypothesis", "text": "The disk is full."},
        {"op": "add-observation", "text": "Log says ENOSPC."},
    ]
    patch = {"operation_id": "p", "expected_revision": 0, "writer": "host", "operations": operations}
    assert memory.apply(patch).status == "applied"
    return memory.current()


RESULTS = (
    offer(ContextCandidate("m1", "Ada likes tea.", 0.4), source_id="notes", kind="memory"),
    offer(ContextCandidate("d<1>", "A passage: ä & b", 0.8), source_id="rag", kind="rag"),
    offer(ContextCandidate("c1", "Hello there", 0.3), source_id="transcript", kind="transcript"),
    offer(
        ContextCandidate("body/pdf", "How to read PDF.", 1, mandatory=True),
        ContextCandidate("catalog/xls", "xls: reads sheets", 0.6),
        source_id="skills",
        kind="skills",
    ),
)


def by_id(package: ContextPackage, *results: SourceResult, **more: Any) -> dict[str, ContextBlock]:
    return {block.id: block for block in blocks_from_package(package, results=results, **more)}


def test_every_kind_of_material_has_its_kind_of_block() -> None:
    memory = working_memory()
    package = compiled(*RESULTS, working_memory=memory)
    blocks = by_id(package, *RESULTS, working_memory=memory)
    assert {block_id: (block.kind, block.required) for block_id, block in blocks.items()} == {
        "working-memory:goal": ("goal", True),
        "working-memory:constraint/constraints-0-0": ("constitution", True),
        "working-memory:task/tasks-0-0": ("control", False),
        "working-memory:task/tasks-0-1": ("control", False),
        "working-memory:decision/decisions-1-0": ("control", False),
        "working-memory:question/questions-1-0": ("control", False),
        "working-memory:attempt/attempts-1-0": ("recent", False),
        "working-memory:hypothesis/hypotheses-1-0": ("evaluation", False),
        "working-memory:observation/observations-1-0": ("evaluation", False),
        "notes:m1": ("memory", False),
        "rag:d<1>": ("workspace", False),
        "transcript:c1": ("recent", False),
        "skills:body/pdf": ("skill", True),
        "skills:catalog/xls": ("tool-catalog", False),
    }
    assert list(blocks) == [f"{entry.source}:{entry.record_id}" for entry in package.manifest.entries]


def test_a_block_says_what_its_record_says() -> None:
    memory = working_memory()
    blocks = by_id(compiled(*RESULTS, working_memory=memory), *RESULTS, working_memory=memory)
    assert blocks["rag:d<1>"] == ContextBlock(
        "rag:d<1>", "workspace", "rag", "user", "A passage: ä & b", 0.8, False, "passage that was found"
    )
    assert blocks["working-memory:goal"].content == "Ship it."
    assert blocks["working-memory:constraint/constraints-0-0"].content == "No downtime."
    assert all(block.retention_reason and block.role == "user" for block in blocks.values())


def test_a_mandatory_record_is_a_required_block_of_its_kind() -> None:
    result = offer(
        ContextCandidate("m", "Must be known.", 0.2, mandatory=True), source_id="notes", kind="memory"
    )
    block = by_id(compiled(result), result)["notes:m"]
    assert (block.kind, block.required, block.source) == ("memory", True, "notes")


def test_what_is_said_about_an_item_of_working_memory_goes_with_it() -> None:
    """A reverted decision must not pass for one that holds."""
    memory = working_memory()
    blocks = by_id(compiled(working_memory=memory), working_memory=memory)
    decision = blocks["working-memory:decision/decisions-1-0"].content
    assert decision == "(reverted) Use SQLite.\nrationale: It is small."
    assert blocks["working-memory:attempt/attempts-1-0"].content.startswith("(failed) Ran the suite.")


def test_the_active_task_is_required() -> None:
    memory = create_working_memory(
        scope="s", goal="G", tasks={"list": [{"id": "a", "title": "Test"}], "active_task_id": "a"}, now=0
    )
    blocks = by_id(compiled(working_memory=memory), working_memory=memory)
    assert blocks["working-memory:task/a"].required is True


def test_working_memory_stands_above_every_score() -> None:
    memory = working_memory()
    high = offer(ContextCandidate("top", "x", 7.5))
    blocks = by_id(compiled(high, working_memory=memory), high, working_memory=memory)
    assert blocks["rag:top"].priority == 7.5
    assert {block.priority for block in blocks.values() if block.source == "working-memory"} == {7.5}
    fitting = compile_blocks(blocks.values(), budget_tokens=99)
    assert [one.source for one in fitting.included].count("working-memory") == 9


def test_what_was_excluded_is_there_and_what_was_no_choice_is_not() -> None:
    result = offer(
        ContextCandidate("a", "new", 0.5, revision=2),
        ContextCandidate("a", "old", 0.9, revision=1),
        ContextCandidate("b", "same text", 0.4),
        ContextCandidate("b", "same text again", 0.3),
        ContextCandidate("c", "same text", 0.2),
        ContextCandidate("d", "cut off", 0.1),
        limit=5,
    )
    package = compiled(result, context_tokens=1)
    blocks = by_id(package, result)
    assert {block_id: block.content for block_id, block in blocks.items()} == {
        "rag:a": "new",
        "rag:b": "same text",
        "rag:c": "same text",
        "rag:d": "cut off",
    }
    assert not any(entry.selected for entry in package.manifest.entries)


def test_what_stands_in_the_history_already_is_no_block() -> None:
    from playground import ContextCompiler, RagSource, request_messages

    docs = [{"text": "Deploys need CI.", "index": 0, "score": 0.9}]
    compiler = ContextCompiler(sources=[RagSource(lambda query, top_k, signal: docs)])
    call: dict[str, Any] = {
        "run_id": "r",
        "messages": [{"role": "user", "content": "How?"}],
        "model": {"provider": "o", "model_id": "m", "context_window": 99_000, "max_output_tokens": 9},
    }
    first = compiler.before_model_call_sync(step=0, **call)
    call["messages"] = request_messages(call["messages"], first)
    again = compiler.before_model_call_sync(step=1, refresh=True, **call)
    assert [entry.reason for entry in again.manifest.entries] == ["already-placed"]
    assert blocks_from_package(again, results=compiler.inputs().results) == ()


def test_texts_that_were_not_given_are_an_input_error() -> None:
    memory = working_memory()
    package = compiled(*RESULTS, working_memory=memory)
    other = (*RESULTS[:1], offer(ContextCandidate("d<1>", "Another text", 0.8)), *RESULTS[2:])
    for results, snapshot in ((RESULTS, None), (RESULTS[1:], memory), (other, memory)):
        with pytest.raises(InvalidInputError, match=r"was not given.*Pass the results"):
            blocks_from_package(package, results=results, working_memory=snapshot)


def test_two_records_with_one_block_id_are_an_input_error() -> None:
    results = (
        offer(ContextCandidate("b:c", "one", 0.5), source_id="a"),
        offer(ContextCandidate("c", "two", 0.5), source_id="a:b"),
    )
    with pytest.raises(InvalidInputError, match=r"block id 'a:b:c'.*colon"):
        by_id(compiled(*results), *results)


@pytest.mark.parametrize(
    "arguments",
    [{"package": "x"}, {"results": ["x"]}, {"working_memory": "x"}],
    ids=lambda value: next(iter(value)),
)
def test_malformed_arguments_are_an_input_error(arguments: dict[str, Any]) -> None:
    package = compile_context(results=(), messages=(), input_tokens=9, used_tokens=0)
    given: dict[str, Any] = {"package": package, "results": (), **arguments}
    with pytest.raises(InvalidInputError):
        blocks_from_package(given.pop("package"), **given)


@pytest.mark.parametrize("name", sample_projects())
def test_a_samples_compile_can_be_given_to_the_block_compiler(name: str) -> None:
    project = load_project(name)
    results = ask_sources(project, mode="lexical")
    package = compile_answers(project, results)
    blocks = blocks_from_package(package, results=results, working_memory=project.working_memory)
    assert len(blocks) == len(package.manifest.entries) > 0
    selected = compile_blocks(blocks, budget_tokens=8192)
    assert selected.estimated_tokens <= 8192

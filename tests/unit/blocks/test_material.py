from __future__ import annotations

from dataclasses import replace
from typing import Any

from playground import ContextCandidate, SourceResult, create_working_memory
from playground.blocks import ContextBlock
from playground.blocks.material import ContextMaterial, material_from_blocks
from playground.blocks.package import package_records
from tests.builders import compiled, offer
from tests.unit.blocks.test_package import RESULTS, working_memory


def own(block_id: str, kind: str = "memory", **more: Any) -> ContextBlock:
    text, priority = f"text of {block_id}", float(len(block_id))
    return ContextBlock(block_id, kind, "caller", "user", text, priority, **more)  # type: ignore[arg-type]


def candidates(material: ContextMaterial) -> dict[tuple[str, str], tuple[str, float, bool]]:
    return {
        (result.source_id, candidate.record_id): (candidate.text, candidate.score, candidate.mandatory)
        for result in material.results
        for candidate in result.candidates
    }


def from_compile(change: dict[str, dict[str, Any]], *forced: str, without: str = "") -> ContextMaterial:
    """The material of a compile, some of whose blocks were changed since."""
    memory = working_memory()
    package = compiled(*RESULTS, working_memory=memory)
    records = package_records(package, results=RESULTS, working_memory=memory)
    blocks = [
        replace(record.block, **change.get(block_id, {}))
        for block_id, record in records.items()
        if block_id != without
    ]
    must = {block.id for block in blocks if block.required} | set(forced)
    return material_from_blocks(blocks, forced=must, records=records, results=RESULTS, working_memory=memory)


def test_blocks_of_ones_own_become_records_of_the_nearest_kind() -> None:
    kinds = {
        "constitution": "rag", "control": "rag", "goal": "rag", "workspace": "rag", "memory": "memory",
        "skill": "skills", "recent": "transcript", "tool-catalog": "skills", "evaluation": "rag",
    }  # fmt: skip
    blocks = [own(f"b-{kind}", kind) for kind in kinds]
    material = material_from_blocks(blocks, forced={"b-goal"})
    assert material.working_memory is None
    assert {(result.source_id, result.kind) for result in material.results} == {
        (kind, kind) for kind in ("memory", "rag", "transcript", "skills")
    }
    assert candidates(material) == {
        (kind, f"b-{block_kind}"): (f"text of b-{block_kind}", len(f"b-{block_kind}"), block_kind == "goal")
        for block_kind, kind in kinds.items()
    }
    assert set(material.ids.values()) == {block.id for block in blocks}


def test_blocks_of_a_compile_become_what_they_were() -> None:
    material = from_compile({})
    assert material.results == RESULTS
    assert material.working_memory == working_memory()
    assert material.ids["rag", "d<1>"] == "rag:d<1>"
    assert material.ids["working-memory", "goal"] == "working-memory:goal"


def test_a_changed_record_is_that_record_with_the_change() -> None:
    rich = SourceResult(
        "notes",
        "memory",
        candidates=(ContextCandidate("m1", "old", 0.5, revision=3, tokens=900, query="q"),),
        query="asked",
        limit=7,
    )
    records = package_records(compiled(rich), results=(rich,))
    block = replace(records["notes:m1"].block, content="new", priority=0.9)
    (result,) = material_from_blocks([block], forced={"notes:m1"}, records=records, results=(rich,)).results
    assert (result.query, result.limit) == ("asked", 7)
    assert result.candidates == (ContextCandidate("m1", "new", 0.9, revision=3, query="q", mandatory=True),)


def test_what_its_source_says_of_an_unchanged_text_stays() -> None:
    rich = offer(ContextCandidate("a", "text", 0.5, tokens=900))
    records = package_records(compiled(rich), results=(rich,))
    (result,) = material_from_blocks([records["rag:a"].block], records=records, results=(rich,)).results
    assert result.candidates[0].tokens == 900


def test_a_removed_block_is_gone() -> None:
    assert ("rag", "d<1>") not in candidates(from_compile({}, without="rag:d<1>"))
    memory = from_compile({}, without="working-memory:question/questions-1-0").working_memory
    assert memory is not None
    assert (memory.questions, len(memory.decisions)) == ((), 1)
    memory = from_compile({}, without="working-memory:goal").working_memory
    assert memory is not None
    assert memory.goal is None


def test_an_item_of_working_memory_that_was_changed_or_pinned_is_a_record() -> None:
    name = "working-memory:question/questions-1-0"
    for change, forced, mandatory in (
        ({"content": "Which host?"}, (), False),
        ({"kind": "recent"}, (), False),
        ({}, (name,), True),
    ):
        material = from_compile({name: change}, *forced)
        assert material.working_memory is not None
        assert material.working_memory.questions == ()
        source = "transcript-blocks" if "kind" in change else "rag-blocks"
        text = str({"content": "Which port?"} | change).partition("'content': '")[2].partition("'")[0]
        found = candidates(material)[source, name]
        assert found[0].endswith(text)
        assert found[2] is mandatory


def test_the_priority_of_an_item_of_working_memory_changes_nothing() -> None:
    """Working memory is filled in an order of its own."""
    material = from_compile({"working-memory:question/questions-1-0": {"priority": -5}})
    assert material.working_memory == working_memory()


def test_without_any_item_there_is_no_working_memory() -> None:
    memory = create_working_memory(scope="s", goal="G", now=0)
    records = package_records(compiled(working_memory=memory), results=(), working_memory=memory)
    assert material_from_blocks([], records=records, working_memory=memory).working_memory is None


def test_the_active_task_stays_active_and_another_one_can_go() -> None:
    tasks = {"list": [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}], "active_task_id": "b"}
    memory = create_working_memory(scope="s", goal="G", tasks=tasks, now=0)
    records = package_records(compiled(working_memory=memory), results=(), working_memory=memory)
    for gone, active in (("a", "b"), ("b", None)):
        blocks = [record.block for record in records.values() if record.record_id != f"task/{gone}"]
        forced = {block.id for block in blocks if block.required}
        left = material_from_blocks(
            blocks, forced=forced, records=records, working_memory=memory
        ).working_memory
        assert left is not None
        assert left.tasks is not None
        assert ([task.id for task in left.tasks.list], left.tasks.active_task_id) == (
            [{"a": "b", "b": "a"}[gone]],
            active,
        )


def test_a_record_moved_to_another_kind_is_offered_there() -> None:
    material = from_compile({"rag:d<1>": {"kind": "memory"}})
    assert ("rag", "d<1>") not in candidates(material)
    assert candidates(material)["memory", "rag:d<1>"][0] == "A passage: ä & b"

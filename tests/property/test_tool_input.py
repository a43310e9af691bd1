"""Whatever a model sends to the tools of working memory: what the schema refuses is refused, and readably."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from playground import create_working_memory
from playground.errors import TOOL_MESSAGE_LENGTH, ToolExecutionError
from playground.tools import Tool, ToolContext
from playground.working_memory.handle import InMemoryWorkingMemory
from playground.working_memory.tools import working_memory_tools

ENTRIES = 3
TEXTS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=6) | st.sampled_from(
    ["x" * 1_000, "x" * 1_001, "", "\ud800"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.integers(), inner, max_size=3),
    max_leaves=8,
)


def mostly(likely: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what fits, and now and then anything."""
    return st.integers(0, 19).flatmap(lambda number: likely if number else ANYTHING)


def words(*choices: str | None) -> st.SearchStrategy[Any]:
    return mostly(st.sampled_from(choices))


KINDS = words("observation", "hypothesis", "decision", "question", "attempt")
OUTCOMES = words("in_progress", "failed", "abandoned", "succeeded", None)
IDS = words("questions-1-0", "questions-1-1", "attempts-1-0", "constraints-0-0")
ITEMS = st.fixed_dictionaries(
    {"kind": KINDS, "text": mostly(TEXTS)},
    optional={
        "rationale": mostly(TEXTS | st.none()),
        "outcome": OUTCOMES,
        "detail": mostly(TEXTS | st.none()),
        "evidence": mostly(st.lists(TEXTS, max_size=3) | st.none()),
    },
)
CHANGES = st.sampled_from(
    [
        {"action": "answer", "id": "questions-1-0", "answer": "So."},
        {"action": "drop", "id": "questions-1-1", "answer": None},
        {"action": "attempt", "id": "attempts-1-0", "detail": "Red."},
        {"action": "remove", "id": "attempts-1-0"},
    ]
) | st.fixed_dictionaries(
    {"action": words("answer", "drop", "attempt", "remove"), "id": IDS},
    optional={"answer": mostly(TEXTS | st.none()), "outcome": OUTCOMES, "detail": mostly(TEXTS | st.none())},
)
SECTIONS = words("goal", "constraints", "tasks", "questions")
PROSE = {"text", "rationale", "answer", "detail"}
OWN = {  # the fields of a kind of items or an action alone; an action needs one of its own
    "decision": {"rationale"},
    "attempt": {"outcome", "detail"},
    "answer": {"answer"},
}
FIELDS = {"sections": SECTIONS, "items": ITEMS, "changes": CHANGES}  # of the three tools, in their order
INPUTS = st.one_of(
    *(
        st.tuples(
            st.just(which),
            mostly(st.fixed_dictionaries({name: mostly(st.lists(entry, min_size=1, max_size=ENTRIES))})),
        )
        for which, (name, entry) in enumerate(FIELDS.items())
    )
)


@given(INPUTS)
def test_r240_an_input_is_carried_out_or_refused_with_an_error_that_a_model_can_read(
    call: tuple[int, Any],
) -> None:
    which, data = call
    memory = InMemoryWorkingMemory(create_working_memory(scope="acme", now=0), clock=lambda: 0)
    question = {"op": "add-question", "text": "Why?"}
    seed = [question, question, {"op": "record-attempt", "text": "TZ", "outcome": "failed"}]
    memory.apply({"operation_id": "seed", "expected_revision": 0, "writer": "model", "operations": seed})
    before = memory.current()
    tool = working_memory_tools(memory=memory)[which]
    # Providers send no input at all where a tool needs none.
    taken = {} if data in (None, "") else data
    fits = Draft202012Validator(tool.parameters).is_valid(taken)
    answer, error = asyncio.run(_outcome(tool, data))
    if error is None:
        assert fits
        assert (which == 0) == (memory.current() is before)
        assert which == 0 or answer["status"] == "applied"
    else:
        assert len(error.problem) <= TOOL_MESSAGE_LENGTH
        str(error).encode()
        assert memory.current() is before
        if fits and error.reason == "malformed":
            entries = next(iter(taken.values()), ()) or ()
            assert _has_half_a_character(taken) or any(map(_is_beyond_schemas, entries))
        elif fits:
            assert error.reason in {"evidence", "not-found", "invalid-state"}


def _has_half_a_character(data: Any) -> bool:
    if isinstance(data, str):
        return any("\ud800" <= character <= "\udfff" for character in data)
    parts = data.values() if isinstance(data, Mapping) else data or ()
    return any(map(_has_half_a_character, parts))


def _is_beyond_schemas(entry: Any) -> bool:
    """Whether an entry is wrong in what no schema of the part that providers take can say."""
    if isinstance(entry, str):
        return False
    stated = {name: value for name, value in entry.items() if value is not None}
    what = str(stated.get("kind", stated.get("action")))
    blank = any(not stated[name].strip() for name in PROSE & stated.keys())
    foreign = stated.keys() - {"kind", "action", "id", "text", "evidence"} - OWN.get(what, set())
    lacking = "action" in stated and what in OWN and not OWN[what] & stated.keys()
    return blank or bool(foreign) or lacking


async def _outcome(tool: Tool, data: Any) -> tuple[Mapping[str, Any], ToolExecutionError | None]:
    try:
        return await tool.execute(data, ToolContext("call-1", 0)), None
    except ToolExecutionError as error:
        return {}, error

"""Whatever tools, ids and arguments there are: a store takes every spill, and none overwrites another."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.preparation.memory_entries import check_description, check_key
from playground.preparation.memory_store import MemoryStore
from playground.preparation.protocol import protocol_map
from playground.preparation.spill import allocate, inventory
from playground.preparation.spill_writing import write_spills
from tests.preparation import call, items, message, native, result

names = st.sampled_from(["read", "mcp:read", "mcp/read", "", "é" * 70]) | st.text(max_size=9)
ids = st.sampled_from(["a-12345678", "b-12345678", "b_12345678", "..", "é"]) | st.text(min_size=1, max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
values = json_values | st.text(max_size=40)


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    found: list[Any] = []
    for call_id in draw(st.lists(ids, unique=True, max_size=8)):
        custom, value = draw(st.booleans()), draw(values)
        if draw(st.integers(0, 4)):
            arguments = draw(
                st.text(max_size=300) | st.dictionaries(st.text(max_size=5), values).map(json.dumps)
            )
            more = {"input": arguments} if custom else {"arguments": arguments}
            found.append(message("assistant", {**call(call_id, draw(names), custom=custom), **more}))
        if draw(st.booleans()):
            found.append(native(call_id, value, custom=custom))
        else:
            found.append(message("user", result(call_id, value, custom=custom)))
    return found


@given(conversations(), st.none() | st.text(max_size=400))
def test_14_every_spill_is_kept_as_it_was_under_a_key_of_its_own(data: list[Any], said: str | None) -> None:
    held, store = items(*data), MemoryStore()
    store.set("tool_result.read.12345678", "an earlier session's", "earlier", tier="raw")
    groups = protocol_map(held, ()).groups
    found = [one for group in groups for one in inventory(group, held)]
    spills = allocate(found, store.keys(), lambda name, arguments: said)
    log: list[str] = []
    assert write_spills(spills, store, log.append) == {one.group for one in found}
    assert len(store) == 1 + len(found)
    for spill in spills:
        check_key(spill.key)
        check_description(spill.description)
        entry = store.peek(spill.key)
        assert entry is not None
        assert json.dumps(entry.value) == json.dumps(spill.found.value)
    assert store.peek("raw.tool_result.read.12345678").value == "earlier"  # type: ignore[union-attr]

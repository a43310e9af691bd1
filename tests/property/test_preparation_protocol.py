"""Groups, protection, pruning and counts agree with slow and obvious code, whatever the items are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from playground.errors import InvalidToolProtocolError
from playground.preparation.protocol import protocol_map
from playground.preparation.pruning import prune, pruned_tokens
from tests.preparation import ESTIMATOR, item, items
from tests.property import preparation_reference as reference
from tests.property.preparation_strategies import items as any_items

LISTS = st.lists(any_items(), max_size=9)
CUTS = st.one_of(st.just(9), st.integers(0, 9))


def without_duplicates(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out blocks, and native items, that would repeat an id."""
    kept: list[dict[str, Any]] = []
    for entry in data:
        if entry["type"] != "message":
            kept += [] if reference.has_duplicates([*kept, entry]) else [entry]
            continue
        kept.append({**entry, "content": []})
        for block in entry["content"]:
            kept[-1]["content"].append(block)
            if reference.has_duplicates(kept):
                kept[-1]["content"].pop()
    return kept


@settings(max_examples=150)
@given(data=LISTS.map(without_duplicates), cut=CUTS)
def test_groups_protection_and_counts_agree_with_the_reference(data: list[dict[str, Any]], cut: int) -> None:
    history, current_input = items(*data[:cut]), items(*data[cut:])
    found = protocol_map(history, current_input)
    expected = reference.groups(data)
    assert [set(group.members) for group in found.groups] == expected
    assert [list(group.members) for group in found.groups] == [sorted(group) for group in expected]
    shown = reference.pruned(data)
    for group in found.groups:
        assert group.protection == reference.protection(data, group.members, len(history))
        event(f"protection {group.protection}")
        inside = [place for place in group.members if place < len(history)]
        assert group.tokens == sum(reference.item_tokens(shown[place]) for place in inside)
        assert all(found.group_of[place] is group for place in group.members)
        calls = [call[:2] for place in group.members for call in reference.calls_of(data[place])]
        results = [result for place in group.members for result in reference.results_of(data[place])]
        assert group.pairs == len(set(calls) & set(results))
        assert [(call.namespace, call.id) for _, call in group.calls] == calls
        assert [(result.namespace, result.id) for _, result in group.results] == results
        assert group.is_tool == bool(calls or results)


@settings(max_examples=150)
@given(data=LISTS.map(without_duplicates), cut=CUTS)
def test_a_request_holds_what_the_reference_leaves_and_counts_it(data: list[dict[str, Any]], cut: int) -> None:
    history, current_input = items(*data[:cut]), items(*data[cut:])
    dropped = protocol_map(history, current_input).dropped
    shown = reference.pruned(data)
    for part, start in ((history, 0), (current_input, len(history))):
        made = prune(part, dropped, start=start)
        left = [entry for entry in shown[start : start + len(part)] if entry is not None]
        assert list(made.items) == left
        assert made.tokens == pruned_tokens(part, dropped, start=start) == sum(map(reference.item_tokens, left))
    # What was pruned once has nothing left to prune, and counts the same when it is read again.
    again = items(*[entry for entry in shown if entry is not None])
    assert protocol_map(again, ()).dropped == frozenset()
    assert [entry.out() for entry in (*history, *current_input)] == data


@given(data=LISTS)
def test_an_id_that_occurs_twice_in_a_namespace_is_refused_and_only_that(data: list[dict[str, Any]]) -> None:
    read = items(*data)
    if not reference.has_duplicates(data):
        protocol_map(read, ())
        return
    with pytest.raises(InvalidToolProtocolError) as caught:
        protocol_map(read, ())
    error = caught.value
    for position in error.positions:
        ids = [call[:2] for call in reference.calls_of(data[position])] + reference.results_of(data[position])
        assert (error.namespace, error.call_id) in ids


@given(data=LISTS.map(without_duplicates), cut=CUTS, chosen=st.sets(st.integers(-2, 12)))
def test_what_may_go_is_whole_groups_of_the_history(
    data: list[dict[str, Any]], cut: int, chosen: set[int]
) -> None:
    assume(data)
    history = items(*data[:cut])
    found = protocol_map(history, items(*data[cut:]))
    gone = set(found.removable(chosen))
    expected: set[int] = set()
    for group in reference.groups(data):
        if group & chosen & set(range(len(history))):
            free = reference.protection(data, group, len(history)) is None
            expected |= group if free else set()
    assert gone == expected
    # What is left has no new orphan.
    before = {id(entry) for entry in found.dropped}
    left = [entry for place, entry in enumerate(history) if place not in gone]
    assert len(protocol_map(left, items(*data[cut:])).dropped) <= len(before)


@given(data=LISTS)
def test_an_item_counts_as_the_table_says_and_the_same_when_read_again(data: list[dict[str, Any]]) -> None:
    for entry in data:
        read = item(entry)
        assert read.tokens == reference.item_tokens(entry)
        assert item(read.out()).tokens == read.tokens
        assert read.evidence == any(map(reference.is_evidence, [entry, *entry.get("content", [])]))
    assert ESTIMATOR.name == "heuristic"

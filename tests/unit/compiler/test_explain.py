"""One entry of a compile is explained: its rank, what was left at its turn, and what would let it in.

That the named changes are the nearest ones is tried by exhaustion in ``tests/property``.
"""

from __future__ import annotations

from typing import Any

import pytest

from playground import ContextCandidate, ContextPackage, InvalidInputError, TokenEstimator
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.counterpart import Counterpart
from playground.compiler.explain import Explanation, binding_constraint, explain
from playground.compiler.knobs import KNOBS, Knob, with_knob
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import PlacedEntry, SourceResult
from playground.digests import text_digest
from playground.messages import Message
from playground.working_memory import WorkingMemorySnapshot, create_working_memory
from tests.builders import ONLY_RAG, offer, retrieval_frame_tokens, sized

FRAME = retrieval_frame_tokens()
HALVES = {"memory": 0.5, "rag": 0.5, "transcript": 0.0, "skills": 0.0}


def compile_of(
    *results: SourceResult, rest: int, room: int = 10_000, **more: Any
) -> tuple[Offers, ContextPackage]:
    """Compile with ``rest`` tokens for records."""
    inputs = {name: more.pop(name) for name in ("working_memory", "estimator", "placed") if name in more}
    messages = more.pop("messages", [])
    offers = prepare(CompileInputs(results, messages, room, 0, **inputs))
    budget = ContextBudget.parse({"ratio": 1, "max_tokens": FRAME + rest, "shares": ONLY_RAG, **more})
    return offers, compile_offers(offers, budget)


def needed(explanation: Explanation) -> dict[str, float | None]:
    return {change.knob: change.needed for change in explanation.changes}


# Ranks and turns


def test_a_record_left_out_tells_its_rank_what_was_left_and_what_took_its_place() -> None:
    memories = offer(sized("m", 90, 0.95, source_id="mem", kind="memory"), source_id="mem", kind="memory")
    chunks = offer(sized("a", 60, 0.9), sized("b", 70, 0.8), sized("c", 30, 0.7))
    offers, package = compile_of(memories, chunks, rest=200, shares=HALVES)
    found = explain(offers, package, ("rag", "b"))
    assert (found.kind, found.reason, found.selected) == ("rag", "budget", False)
    assert (found.tokens, found.score, found.rank, found.rank_in_kind) == (70, 0.8, 3, 2)
    assert (found.rivals, found.rivals_in_kind) == (4, 3)
    assert found.share is not None
    assert (found.share.room, found.share.left, found.share.short_by) == (100, 40, 30)
    assert found.share.before == (("rag", "a"),)
    assert found.pool is not None
    assert (found.pool.room, found.pool.left, found.pool.short_by, found.pool.before) == (20, 20, 50, ())
    assert found.allowance is None
    assert needed(found)["max_tokens"] == FRAME + 250


def test_a_record_that_no_pass_had_room_for_names_the_smaller_shortfall() -> None:
    chunks = offer(sized("a", 60, 0.9), sized("b", 70, 0.8), sized("c", 30, 0.7))
    offers, package = compile_of(chunks, rest=100)
    found = explain(offers, package, ("rag", "b"))
    assert found.share is not None
    assert found.pool is not None
    assert (found.share.left, found.pool.left) == (40, 10)
    assert (found.share.short_by, found.pool.short_by, found.short_by) == (30, 60, 30)


def test_what_reallocation_gave_away_before_it_is_named_in_that_turn() -> None:
    memories = offer(sized("m", 60, 0.9, source_id="mem", kind="memory"), source_id="mem", kind="memory")
    chunks = offer(sized("a", 50, 0.8), sized("b", 60, 0.7))
    offers, package = compile_of(memories, chunks, rest=110, shares=HALVES)
    assert [entry.reason for entry in package.manifest.entries] == ["reallocated", "ranked", "budget"]
    found = explain(offers, package, ("rag", "b"))
    assert found.pool is not None
    assert (found.pool.room, found.pool.left, found.pool.before) == (60, 0, (("mem", "m"),))


def test_a_selected_record_has_its_turn_and_no_changes() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9)), rest=100)
    found = explain(offers, package, ("rag", "a"))
    assert (found.selected, found.reason, found.changes, found.short_by) == (True, "ranked", (), 0)
    assert found.share is not None
    assert (found.share.left, found.share.before, found.pool) == (100, (), None)


def test_a_record_offered_twice_competes_once() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9), sized("a", 60, 0.8), sized("b", 70, 0.7)), rest=100)
    assert [entry.reason for entry in package.manifest.entries] == ["ranked", "duplicate", "budget"]
    best, again, last = (explain(offers, package, number) for number in range(3))
    assert [(one.rank, one.rivals, one.rivals_in_kind) for one in (best, again, last)] == [
        (1, 2, 2), (None, 0, 0), (2, 2, 2),
    ]  # fmt: skip


def test_a_mandatory_record_does_not_compete() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9, mandatory=True)), rest=100)
    found = explain(offers, package, ("rag", "a"))
    assert (found.rivals, found.rivals_in_kind) == (0, 0)
    assert (found.reason, found.rank, found.rank_in_kind, found.share, found.pool) == (
        "mandatory", None, None, None, None,
    )  # fmt: skip


def memory_of(*tasks: str) -> WorkingMemorySnapshot:
    return create_working_memory(scope="t", goal="g", tasks={"list": list(tasks)}, now=0)


def test_a_working_memory_line_tells_its_allowance() -> None:
    offers, package = compile_of(
        working_memory=memory_of("first task", "t" * 200, "third"), rest=900, working_memory_tokens=40
    )
    entries = package.manifest.entries
    number = next(i for i, entry in enumerate(entries) if entry.reason == "budget")
    found = explain(offers, package, number)
    goal, first = (entry.tokens for entry in entries[:2])
    assert (found.source, found.rank, found.share, found.pool) == ("working-memory", 2, None, None)
    assert (found.rivals, found.rivals_in_kind) == (3, 3)
    assert found.allowance is not None
    assert (found.allowance.room, found.allowance.left) == (40 - goal, 40 - goal - first)
    assert found.allowance.before == (("working-memory", entries[1].record_id),)
    assert found.short_by == found.tokens - found.allowance.left
    assert needed(found)["working_memory_tokens"] == goal + first + found.tokens
    assert needed(found)["ratio"] is None


# Changes


def test_the_change_of_each_knob_is_named_or_denied() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9), sized("b", 70, 0.8)), rest=100)
    found = needed(explain(offers, package, ("rag", "b")))
    assert list(found) == [*KNOBS, "candidates_per_source"]
    assert found.pop("max_tokens") == FRAME + 130
    assert set(found.values()) == {None}


def test_the_candidate_limit_that_offers_a_record_is_named() -> None:
    records = [sized(str(i), 20, 1 - i / 10) for i in range(6)]
    offers, package = compile_of(offer(*records, limit=2), rest=500)
    change = explain(offers, package, ("rag", "4")).changes[-1]
    assert (change.current, change.needed, change.drops) == (2, 5, ())
    assert needed(explain(offers, package, ("rag", "4")))["max_tokens"] is None


def test_fewer_candidates_may_let_a_record_in_and_name_what_has_to_go() -> None:
    other = offer(sized("m", 60, 0.9, source_id="mem", kind="memory"), source_id="mem", kind="memory")
    chunks = offer(sized("a", 40, 0.95), sized("b", 60, 0.93), limit=2)
    offers, package = compile_of(other, chunks, rest=100, shares=HALVES)
    found = explain(offers, package, ("mem", "m"))
    assert found.reason == "budget"
    change = found.changes[-1]
    assert (change.current, change.needed, change.drops) == (2, 1, (("rag", "b"),))


def test_more_candidates_may_make_room_though_the_new_one_fits_its_share_alone() -> None:
    # "n" takes the share from "big", and the pool then has room for "x", which ranks before "big".
    sizes = [("a", 20, 0.9), ("wall", 900, 0.85), ("n", 58, 0.8)]
    limited = offer(*(sized(*size, source_id="one") for size in sizes), source_id="one", limit=1)
    second = offer(sized("big", 75, 0.5, source_id="two"), source_id="two")
    other = offer(sized("x", 60, 0.6, source_id="m", kind="memory"), source_id="m", kind="memory")
    shares = {"memory": 0.0, "rag": 0.667, "transcript": 0.0, "skills": 0.0}
    offers, package = compile_of(limited, second, other, rest=150, shares=shares)
    found = explain(offers, package, ("m", "x"))
    assert found.reason == "budget"
    change = found.changes[-1]
    assert (change.current, change.needed, change.drops) == (1, 3, (("two", "big"),))


def test_fewer_candidates_may_spare_the_frame_of_a_block_without_records() -> None:
    block = '<deuz_context pass="1" step="0">\nx\n</deuz_context>'
    placed = PlacedEntry(
        source="rag", kind="rag", record_id="a", digest=text_digest("old"), tokens=5, step=0,
        retrieval_pass=1, block_digest=text_digest(block),
    )  # fmt: skip
    huge = (sized("b", 2_000, 0.8), sized("c", 2_000, 0.7))
    chunks = offer(ContextCandidate("a", "old", 0.9), *huge, limit=3)
    memory = memory_of("a task")
    offers, package = compile_of(
        chunks, working_memory=memory, rest=70, placed=[placed], messages=[Message("user", block)]
    )
    entries = package.manifest.entries
    assert [entry.reason for entry in entries] == ["mandatory", "budget", "already-placed", "budget", "budget"]
    change = explain(offers, package, 1).changes[-1]
    assert (change.current, change.needed, change.drops) == (3, 1, ())


def test_without_a_limit_there_is_no_such_knob() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9), sized("b", 70, 0.8)), rest=100)
    change = explain(offers, package, ("rag", "b")).changes[-1]
    assert (change.knob, change.current, change.needed) == ("candidates_per_source", None, None)


def test_of_two_values_equally_near_the_larger_is_named() -> None:
    # 59 tokens are too few for "a" and enough for "b"; 101 are enough for both.
    chunks = offer(sized("a", 60, 0.9), sized("b", 41, 0.8))
    offers, package = compile_of(chunks, rest=80)
    change = explain(offers, package, ("rag", "b")).changes[0]
    assert (change.current, change.needed, change.drops) == (FRAME + 80, FRAME + 101, ())
    offers, package = compile_of(chunks, rest=79)
    change = explain(offers, package, ("rag", "b")).changes[0]
    assert (change.needed, change.drops) == (FRAME + 59, (("rag", "a"),))


@pytest.mark.parametrize(("ratio", "wanted"), [(0.04267, 0.0427), (0.04263, 0.0427), (0.0426, 0.0427)])
def test_a_ratio_between_two_units_is_moved_to_a_whole_one(ratio: float, wanted: float) -> None:
    room = 10_000
    # 0.0427 of the room is 427 tokens; what 0.04267 allows is less.
    tokens = 427 - FRAME
    offers, package = compile_of(offer(sized("a", tokens, 0.9)), rest=8_000, room=room, ratio=ratio)
    change = explain(offers, package, ("rag", "a")).changes[1]
    assert (change.knob, change.current, change.needed) == ("ratio", ratio, wanted)


def test_a_ratio_between_two_units_may_move_down_to_the_nearer_one() -> None:
    # 0.04267 of the room is 4,267 tokens: "a" fits and leaves 2. With 4,260 it does not, and "b" does.
    chunks = offer(sized("a", 4_265 - FRAME, 0.9), sized("b", 20, 0.8))
    offers, package = compile_of(chunks, rest=9_000, room=100_000, ratio=0.04267)
    change = explain(offers, package, ("rag", "b")).changes[1]
    assert (change.knob, change.needed, change.drops) == ("ratio", 0.0426, (("rag", "a"),))


def test_a_larger_share_takes_from_the_others_in_proportion() -> None:
    turned = with_knob(DEFAULT_CONTEXT_BUDGET, "rag_share", 0.675)
    assert turned.shares.rag == 0.675
    assert turned.shares.memory == pytest.approx(0.175)
    assert turned.shares.transcript == pytest.approx(0.075)
    assert sum(turned.shares.values()) == pytest.approx(1)


# Records that nothing lets in


BLOCK = Message("user", '<deuz_context pass="1" step="4">\nx\n</deuz_context>')


def placed(record_id: str, text: str, *, revision: int | None = None, source: str = "rag") -> PlacedEntry:
    return PlacedEntry(
        source=source, kind="rag", record_id=record_id, revision=revision, digest=text_digest(text), tokens=5,
        step=4, retrieval_pass=1, block_digest=text_digest(str(BLOCK.content)),
    )  # fmt: skip


def why(record: tuple[str, str] | int, *results: SourceResult, rest: int = 300, **more: Any) -> Explanation:
    offers, package = compile_of(*results, rest=rest, **more)
    found = explain(offers, package, record)
    assert not found.selected
    return found


def test_a_duplicate_names_the_record_that_brings_its_text_and_has_no_turn() -> None:
    twin = ContextCandidate("twin", "the same words", 0.5)
    found = why(("rag", "twin"), offer(ContextCandidate("a", "the same words", 0.9), twin))
    assert (found.reason, found.instead) == ("duplicate", Counterpart("rag", "a", None, 0, None))
    assert (found.share, found.pool, found.short_by) == (None, None, 0)


def test_a_duplicate_of_another_source_names_that_source() -> None:
    notes = offer(ContextCandidate("n", "the same words", 0.9, revision=3), source_id="notes", kind="memory")
    found = why(("rag", "a"), notes, offer(ContextCandidate("a", "the same words", 0.5)), shares=HALVES)
    assert (found.reason, found.instead) == ("duplicate", Counterpart("notes", "n", 3, 0, None))


def test_a_duplicate_whose_text_stands_in_the_history_names_the_placement() -> None:
    chunks = offer(ContextCandidate("renumbered", "old", 0.9))
    entries = [placed("a", "old", revision=2)]
    found = why(("rag", "renumbered"), chunks, placed=entries, messages=[BLOCK])
    assert (found.reason, found.instead) == ("duplicate", Counterpart("rag", "a", 2, None, 4))


def test_an_id_that_was_offered_twice_names_the_copy_that_counts_whatever_became_of_it() -> None:
    chunks = offer(sized("b", 90, 0.95), sized("a", 60, 0.9), ContextCandidate("a", "another text", 0.8))
    found = why(2, chunks, rest=100)
    assert (found.reason, found.instead) == ("duplicate", Counterpart("rag", "a", None, 1, None))
    assert (found.share, found.pool) == (None, None)


def test_a_superseded_record_names_the_newest_revision_that_is_offered_or_was_placed() -> None:
    revisions = [ContextCandidate("a", f"text {n}", 0.9 - n / 10, revision=n) for n in (1, 3, 2)]
    found = why(0, offer(*revisions))
    assert (found.reason, found.instead) == ("superseded", Counterpart("rag", "a", 3, 2, None))
    found = why(0, offer(revisions[0]), placed=[placed("a", "new", revision=5), placed("a", "old", revision=4)])
    assert (found.reason, found.instead) == ("superseded", Counterpart("rag", "a", 5, None, 4))


def test_what_was_placed_already_names_its_placement() -> None:
    old = ContextCandidate("a", "old", 0.9, revision=1)
    found = why(0, offer(old), placed=[placed("a", "old", revision=1)], messages=[BLOCK])
    assert (found.reason, found.instead) == ("already-placed", Counterpart("rag", "a", 1, None, 4))


def test_what_the_limit_or_the_budget_leaves_out_has_nothing_in_its_place() -> None:
    chunks = offer(sized("a", 60, 0.9), sized("b", 60, 0.8), sized("c", 60, 0.7), limit=2)
    assert [why(number, chunks, rest=100).instead for number in (1, 2)] == [None, None]


@pytest.mark.parametrize(
    ("revision", "text", "reason"), [(2, "new", "superseded"), (1, "old", "already-placed")]
)
def test_no_knob_brings_back_what_the_history_settles(revision: int, text: str, reason: str) -> None:
    old = offer(ContextCandidate("a", "old", 0.9, revision=1), limit=5)
    found = why(("rag", "a"), old, placed=[placed("a", text, revision=revision)], messages=[BLOCK])
    assert (found.reason, found.rank, found.share, found.pool) == (reason, None, None, None)
    assert set(needed(found).values()) == {None}


def test_a_record_dropped_since_the_blocks_cost_more_than_their_pieces_tells_by_how_much() -> None:
    def growing(messages: Any) -> float:
        return float(sum(len(str(message.content)) ** 1.2 / 4 for message in messages))

    chunks = offer(*(ContextCandidate(str(i), f"word{i} " * 8, 1 - i / 10) for i in range(4)), limit=4)
    offers = prepare(CompileInputs([chunks], [], 10_000, 0, estimator=TokenEstimator(growing)))
    tokens = offers.frame_tokens + sum(offers.tokens)
    budget = ContextBudget(ratio=1, max_tokens=tokens, shares=ONLY_RAG)
    package = compile_offers(offers, budget)
    number = next(i for i, entry in enumerate(package.manifest.entries) if not entry.selected)
    found = explain(offers, package, number)
    assert found.share is not None
    assert (found.reason, found.share.short_by) == ("budget", 0)
    assert found.over_by == found.short_by > 0
    assert needed(found)["max_tokens"] == tokens + found.over_by


# What is asked


def test_an_entry_is_named_by_source_and_id_or_by_number_and_offers_need_not_be_prepared() -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9), sized("b", 70, 0.8)), rest=100)
    assert explain(offers, package, 1) == explain(offers.inputs, package, ("rag", "b"))


@pytest.mark.parametrize("record", [("rag", "nobody"), ("other", "a"), 1, -1])
def test_an_unknown_entry_is_refused(record: tuple[str, str] | int) -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9)), rest=100)
    with pytest.raises(InvalidInputError, match="no entry"):
        explain(offers, package, record)


@pytest.mark.parametrize(
    "record", [None, True, 1.5, "ra", ("rag",), ("rag", None), ("rag", "a", "b"), object()]
)
def test_what_names_no_entry_is_the_callers_mistake(record: Any) -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9), sized("b", 60, 0.8)), rest=200)
    with pytest.raises(InvalidInputError) as refused:
        explain(offers, package, record)
    assert refused.value.remedy


@pytest.mark.parametrize("looks", [explain, lambda inputs, package, _: binding_constraint(inputs, package)])
@pytest.mark.parametrize("wrong", [None, 5, "inputs", []])
def test_inputs_and_packages_of_another_type_are_refused(looks: Any, wrong: Any) -> None:
    offers, package = compile_of(offer(sized("a", 60, 0.9)), rest=100)
    with pytest.raises(InvalidInputError, match="The inputs are a"):
        looks(wrong, package, 0)
    with pytest.raises(InvalidInputError, match="The package is a"):
        looks(offers, wrong, 0)


def test_what_binds_is_not_asked_of_a_package_with_other_entries() -> None:
    offers, _ = compile_of(offer(sized("a", 60, 0.9)), rest=100)
    _, package = compile_of(offer(sized("a", 60, 0.9), sized("b", 60, 0.8)), rest=100)
    with pytest.raises(InvalidInputError, match="not compiled from these inputs"):
        binding_constraint(offers, package)


def test_a_package_of_other_inputs_is_refused() -> None:
    offers, _ = compile_of(offer(sized("a", 60, 0.9)), rest=100)
    _, package = compile_of(offer(sized("a", 61, 0.9)), rest=100)
    with pytest.raises(InvalidInputError, match="not compiled from these inputs"):
        explain(offers, package, 0)


@pytest.mark.parametrize("knob", KNOBS)
def test_the_present_value_of_each_knob_is_read_from_the_package(knob: Knob) -> None:
    budget = with_knob(ContextBudget(ratio=0.3, max_tokens=FRAME + 100), knob, 40 if "tokens" in knob else 0.01)
    offers = prepare(CompileInputs([offer(sized("a", 600, 0.9))], [], 10_000, 0))
    changes = explain(offers, compile_offers(offers, budget), 0).changes
    current = {change.knob: change.current for change in changes}
    assert current[knob] == (40 if "tokens" in knob else 0.01)

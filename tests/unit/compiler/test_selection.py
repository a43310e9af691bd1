from __future__ import annotations

from typing import Any

import pytest

from playground import (
    ContextBudgetExceededError,
    ContextCandidate,
    InvalidRequestError,
    TokenEstimator,
    compile_context,
    create_working_memory,
)
from playground.compiler.values import KINDS, Kind
from playground.messages import Message
from playground.working_memory import WorkingMemorySnapshot
from tests.builders import (
    NO_SHARES,
    ONLY_RAG,
    block_tokens,
    compiled,
    heuristic_tokens,
    offer,
    plain_piece,
    rag_budget,
    reasons,
    retrieval_frame_tokens,
    selected,
    sized,
)


def observing(count: int, *, length: int = 90, **more: Any) -> WorkingMemorySnapshot:
    items = [{"id": f"observations-1-{i:02}", "text": f"{i:02} " + "o" * (length - 3)} for i in range(count)]
    return WorkingMemorySnapshot.parse({"scope": "s", "revision": 1, "observations": items, **more})


class TestWorkingMemoryAllowance:
    def test_r18_optional_items_take_at_most_the_allowance_of_working_memory(self) -> None:
        package = compiled(working_memory=observing(40), working_memory_tokens=300)
        used = sum(entry.tokens for entry in package.manifest.entries if entry.selected)
        smallest = min(entry.tokens for entry in package.manifest.entries if not entry.selected)
        assert used <= 300 < used + smallest

    def test_r18_mandatory_items_count_against_the_allowance_of_the_optional_ones(self) -> None:
        memory = observing(10, goal={"text": "g" * 1000})
        package = compiled(working_memory=memory, working_memory_tokens=heuristic_tokens("g" * 1000) + 20)
        assert selected(package) == ["goal"]

    def test_r18_no_allowance_shows_no_optional_item(self) -> None:
        package = compiled(working_memory=observing(3), working_memory_tokens=0)
        assert [reason for _, reason in reasons(package)] == ["budget"] * 3

    def test_r19_what_working_memory_leaves_of_its_allowance_goes_to_retrieval(self) -> None:
        memory = create_working_memory(scope="s", goal="Short.", now=0)
        alone = compiled(working_memory=memory).manifest.budget.selected_tokens
        record = sized("a", 400, 1.0)
        exact = alone + retrieval_frame_tokens() + 400
        package = compiled(offer(record), working_memory=memory, context_tokens=exact, shares=ONLY_RAG)
        assert reasons(package) == [("goal", "mandatory"), ("a", "ranked")]
        short = compiled(offer(record), working_memory=memory, context_tokens=exact - 1, shares=ONLY_RAG)
        assert reasons(short) == [("goal", "mandatory"), ("a", "budget")]


class TestShares:
    def test_r20_each_kind_gets_at_most_its_share_in_the_first_pass(self) -> None:
        sources = [
            offer(
                *(sized(f"{i:02}", 50, 0.5, source_id=kind, kind=kind) for i in range(40)),
                source_id=kind,
                kind=kind,
            )
            for kind in KINDS
        ]
        shares = {"memory": 0.4, "rag": 0.3, "transcript": 0.2, "skills": 0.1}
        package = compiled(*sources, context_tokens=1_000 + retrieval_frame_tokens(), shares=shares)
        assert package.manifest.budget.shares == {"memory": 400, "rag": 300, "transcript": 200, "skills": 100}
        for kind in KINDS:
            entries = [entry for entry in package.manifest.entries if entry.kind == kind]
            assert sum(entry.tokens for entry in entries if entry.reason == "ranked") == 1_000 * shares[kind]
            assert {entry.reason for entry in entries} == {"ranked", "budget"}

    def test_r20_a_share_is_the_floor_of_its_part_of_the_rest(self) -> None:
        package = compiled(
            offer(sized("a", 60, 1.0)), context_tokens=99 + retrieval_frame_tokens(), shares={"rag": 0.35}
        )
        assert package.manifest.budget.shares == {"memory": 34, "rag": 34, "transcript": 14, "skills": 14}
        assert package.manifest.budget.rest_tokens == 99

    def test_r21_what_other_kinds_leave_unused_goes_to_the_best_of_the_rest_as_reallocated(self) -> None:
        records = [sized(str(i), 100, 1 - i / 10) for i in range(6)]
        package = compiled(
            offer(*records), context_tokens=500 + retrieval_frame_tokens(), shares={**NO_SHARES, "rag": 0.5}
        )
        assert [reason for _, reason in reasons(package)] == ["ranked"] * 2 + ["reallocated"] * 3 + ["budget"]

    def test_r21_unused_tokens_go_by_score_across_kinds(self) -> None:
        results = [
            offer(sized("m", 100, 0.2, source_id="memory", kind="memory"), source_id="memory", kind="memory"),
            offer(sized("r", 100, 0.9)),
        ]
        package = compiled(*results, context_tokens=100 + retrieval_frame_tokens(), shares=NO_SHARES)
        assert reasons(package) == [("m", "budget"), ("r", "reallocated")]

    def test_r22_a_candidate_that_fits_what_is_left_of_its_share_is_ranked(self) -> None:
        exact = compiled(offer(sized("a", 100, 0.9), sized("b", 50, 0.8)), **rag_budget(150))
        assert reasons(exact) == [("a", "ranked"), ("b", "ranked")]
        shares = {**NO_SHARES, "rag": 0.6}
        package = compiled(
            offer(sized("a", 100, 0.9), sized("b", 50, 0.8), sized("c", 20, 0.7)),
            context_tokens=200 + retrieval_frame_tokens(),
            shares=shares,
        )
        assert reasons(package) == [("a", "ranked"), ("b", "reallocated"), ("c", "ranked")]

    def test_r24_several_sources_of_one_kind_compete_inside_one_share(self) -> None:
        results = [
            offer(sized("a", 100, 0.1, source_id="one"), source_id="one"),
            offer(sized("a", 100, 0.9, source_id="two"), source_id="two"),
        ]
        package = compiled(*results, **rag_budget(100))
        assert [(e.source, e.reason) for e in package.manifest.entries] == [
            ("one", "budget"),
            ("two", "ranked"),
        ]


class TestOrder:
    @pytest.mark.parametrize("scores", [(0.9, 0.1), (0.1, 0.9), (5.0, -5.0), (-2.0, -1.0)])
    def test_r23_the_higher_score_wins_the_room_for_one(self, scores: tuple[float, float]) -> None:
        records = (sized("a", 100, scores[0]), sized("b", 100, scores[1]))
        winner = "a" if scores[0] > scores[1] else "b"
        assert selected(compiled(offer(*records), **rag_budget(100))) == [winner]

    @pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
    def test_r24_equal_scores_across_sources_go_to_the_source_named_first(self, order: tuple[str, str]) -> None:
        results = [
            offer(sized(record_id, 100, 0.5, source_id=source_id), source_id=source_id)
            for source_id, record_id in zip(order, ("z", "a"), strict=True)
        ]
        assert selected(compiled(*results, **rag_budget(100))) == ["z"]

    def test_r25_equal_scores_in_one_source_go_to_the_smaller_record_id(self) -> None:
        records = (sized("b", 100, 0.5), sized("a", 100, 0.5))
        assert reasons(compiled(offer(*records), **rag_budget(100))) == [("a", "ranked"), ("b", "budget")]

    def test_r26_record_ids_are_ordered_by_code_point(self) -> None:
        ids = ["é", "z", "a", "Z", "10", "9", "", "_", "\U0001f600", "\uffee", "ß"]
        package = compiled(offer(*(ContextCandidate(i, f"text {i}", 0.5) for i in ids)))
        assert [record_id for record_id, _ in reasons(package)] == [
            "", "10", "9", "Z", "_", "a", "z", "ß", "é", "\uffee", "\U0001f600",
        ]  # fmt: skip

    def test_r27_a_candidate_that_does_not_fit_is_skipped_and_smaller_ones_may_enter(self) -> None:
        records = (sized("a", 100, 0.9), sized("b", 900, 0.8), sized("c", 50, 0.7))
        package = compiled(offer(*records), **rag_budget(160))
        assert reasons(package) == [("a", "ranked"), ("b", "budget"), ("c", "ranked")]

    def test_r28_zero_and_minus_zero_are_equal_scores(self) -> None:
        records = (sized("b", 100, 0.0), sized("a", 100, -0.0))
        assert selected(compiled(offer(*records), **rag_budget(100))) == ["a"]
        swapped = (sized("b", 100, -0.0), sized("a", 100, 0.0))
        assert selected(compiled(offer(*swapped), **rag_budget(100))) == ["a"]


class TestMandatory:
    def test_r29_r30_mandatory_content_is_complete_however_small_the_added_budget(self) -> None:
        goal = "Deploy. " * 225
        package = compiled(working_memory=create_working_memory(scope="s", goal=goal, now=0), context_tokens=10)
        assert goal in package.blocks[0].text
        budget = package.manifest.budget
        assert budget.selected_tokens >= 500 > budget.context_tokens == 10

    @pytest.mark.parametrize("context_tokens", [0, 1, 50, 500])
    def test_r29_a_mandatory_candidate_is_placed_whole_under_any_budget(self, context_tokens: int) -> None:
        body = ContextCandidate("body/x", "line\n" * 400, 0.0, mandatory=True)
        package = compiled(offer(body, source_id="skills", kind="skills"), context_tokens=context_tokens)
        assert reasons(package) == [("body/x", "mandatory")]
        assert body.text in package.blocks[0].text

    def test_r29_the_active_task_is_mandatory_and_the_other_tasks_are_not(self) -> None:
        tasks = {"list": [{"id": "t1", "title": "One"}, {"id": "t2", "title": "Two"}], "active_task_id": "t2"}
        memory = create_working_memory(scope="s", tasks=tasks, now=0)
        package = compiled(working_memory=memory, working_memory_tokens=0)
        assert reasons(package) == [("task/t2", "mandatory"), ("task/t1", "budget")]

    def required(self) -> int:
        package = compiled(offer(ContextCandidate("m", "y" * 500, 0.5, mandatory=True)))
        assert package.manifest.budget.required_tokens == block_tokens(package)
        return block_tokens(package)

    def in_room(self, room: int, **more: Any) -> Any:
        result = offer(ContextCandidate("m", "y" * 500, 0.5, mandatory=True), ContextCandidate("o", "z", 0.9))
        return compile_context(
            results=[result], messages=[], input_tokens=1_000 + room, used_tokens=1_000, **more
        )

    def test_r31_mandatory_content_one_token_above_the_room_is_an_error(self) -> None:
        with pytest.raises(ContextBudgetExceededError):
            self.in_room(self.required() - 1)

    def test_r32_mandatory_content_that_fills_the_room_exactly_passes(self) -> None:
        package = self.in_room(self.required())
        assert selected(package) == ["m"]
        assert block_tokens(package) == self.required()

    def test_r33_the_error_carries_code_required_and_available_tokens_and_the_phase(self) -> None:
        required = self.required()
        with pytest.raises(ContextBudgetExceededError) as caught:
            self.in_room(required - 40)
        error = caught.value
        assert (error.code, error.phase) == ("context_budget_exceeded", "compile")
        assert (error.required_tokens, error.available_tokens) == (required, required - 40)
        assert str(required) in str(error)
        assert str(required - 40) in str(error)

    def test_r33_an_over_full_request_has_zero_tokens_available(self) -> None:
        with pytest.raises(ContextBudgetExceededError) as caught:
            compile_context(
                results=[offer(ContextCandidate("m", "y", 0.5, mandatory=True))],
                messages=[],
                input_tokens=10,
                used_tokens=50,
                phase="overflow-retry",
            )
        assert (caught.value.available_tokens, caught.value.phase) == (0, "overflow-retry")

    def test_r34_optional_content_gets_only_what_mandatory_content_leaves(self) -> None:
        mandatory = ContextCandidate("m", "y" * 500, 0.1, mandatory=True)
        optional = sized("o", 20, 0.9)
        required = self.required()
        full = compiled(offer(mandatory, optional), context_tokens=required, shares=ONLY_RAG)
        assert reasons(full) == [("m", "mandatory"), ("o", "budget")]
        assert selected(
            compiled(offer(mandatory, optional), context_tokens=required + 20, shares=ONLY_RAG)
        ) == ["m", "o"]
        assert selected(
            compiled(offer(mandatory, optional), context_tokens=required + 19, shares=ONLY_RAG)
        ) == ["m"]

    def test_r34_a_mandatory_record_takes_nothing_from_the_share_of_its_kind(self) -> None:
        mandatory = sized("m", 300, 0.1, mandatory=True)
        optional = sized("o", 100, 0.9)
        package = compiled(
            offer(mandatory, optional),
            context_tokens=block_tokens(compiled(offer(mandatory))) + 200,
            shares={**NO_SHARES, "rag": 0.5},
        )
        assert reasons(package) == [("m", "mandatory"), ("o", "ranked")]

    def test_r35_optional_content_never_causes_the_error(self) -> None:
        huge = ContextCandidate("a", "x" * 100_000, 1.0)
        observations = observing(100, length=1000)
        for room in (0, 5, 100):
            package = compile_context(
                results=[offer(huge)],
                messages=[],
                input_tokens=room + 200,
                used_tokens=0,
                working_memory=observations,
            )
            assert package.manifest.entries[-1].reason == "budget"
            assert package.manifest.budget.selected_tokens <= room + 200

    def test_r110_an_empty_tail_is_owed_once_the_snapshot_has_changed(self) -> None:
        fresh = WorkingMemorySnapshot(scope="s")
        changed = WorkingMemorySnapshot(scope="s", revision=3)
        assert compiled(working_memory=fresh).blocks == ()
        package = compiled(working_memory=changed, context_tokens=0)
        assert [block.placement for block in package.blocks] == ["ephemeral-tail"]
        assert 'revision="3"' in package.blocks[0].text
        with pytest.raises(ContextBudgetExceededError):
            compile_context(results=[], messages=[], input_tokens=5, used_tokens=0, working_memory=changed)


class TestCounting:
    @pytest.mark.parametrize("observed", [[], [2.0] * 30, [0.01] * 30, [1.3, 0.8], [1.7]])
    def test_r36_a_block_costs_at_most_its_frame_and_its_entries(self, observed: list[float]) -> None:
        estimator = TokenEstimator()
        for ratio in observed:
            estimator.calibrate(1_000 * ratio, 1_000)
        records = [ContextCandidate(str(i), "text & more " * i, 0.5) for i in range(1, 20)]
        package = compiled(offer(*records), estimator=estimator, shares=ONLY_RAG)
        text = package.blocks[0].text
        for entry in package.manifest.entries:
            if entry.selected:
                start = text.index("<record")
                text = text[:start] + text[text.index("</record>\n") + len("</record>\n") :]
        frame = estimator.estimate([Message("user", text)])
        spent = sum(entry.tokens for entry in package.manifest.entries if entry.selected)
        assert frame < block_tokens(package, estimator) <= frame + spent
        assert package.manifest.budget.frame_tokens == frame

    @pytest.mark.parametrize("context_tokens", [0, 30, 75, 150, 400, 2_000])
    def test_r37_blocks_never_exceed_the_added_budget(self, context_tokens: int) -> None:
        records = [ContextCandidate(str(i), "text " * i, i / 30) for i in range(30)]
        package = compiled(offer(*records), working_memory=observing(5), context_tokens=context_tokens)
        owed = package.manifest.budget.required_tokens
        assert block_tokens(package) == package.manifest.budget.selected_tokens <= max(context_tokens, owed)

    def test_r38_stated_tokens_never_lower_the_count(self) -> None:
        text = "word " * 200
        for stated in (None, 0, 1, 100):
            (entry,) = compiled(offer(ContextCandidate("a", text, 1.0, tokens=stated))).manifest.entries
            assert entry.tokens == heuristic_tokens(plain_piece("a", text))

    def test_r38_larger_stated_tokens_are_taken_with_the_tags_added(self) -> None:
        (entry,) = compiled(offer(ContextCandidate("a", "word", 1.0, tokens=500))).manifest.entries
        assert entry.tokens == 500 + heuristic_tokens(plain_piece("a", ""))


def test_r146_a_failed_required_source_stops_the_compile() -> None:
    error = RuntimeError("down")
    with pytest.raises(InvalidRequestError) as caught:
        compiled(offer(required=True, status="failed", error=error))
    assert caught.value.code == "invalid_request"
    assert caught.value.__cause__ is error
    assert compiled(offer(required=False, status="failed", error=error)).blocks == ()
    assert compiled(offer(required=True, status="skipped")).blocks == ()


class TestIdentity:
    def test_an_older_revision_offered_beside_a_newer_one_is_superseded(self) -> None:
        records = [ContextCandidate("a", f"text {i}", 1 - i, revision=i) for i in (1, 2, 3)]
        package = compiled(offer(*records))
        assert sorted((e.revision, e.reason) for e in package.manifest.entries) == [
            (1, "superseded"), (2, "superseded"), (3, "ranked"),
        ]  # fmt: skip

    def test_one_record_offered_twice_is_placed_once(self) -> None:
        package = compiled(offer(ContextCandidate("a", "text", 0.9), ContextCandidate("a", "text", 0.8)))
        assert reasons(package) == [("a", "ranked"), ("a", "duplicate")]

    def test_one_text_under_two_ids_is_placed_once_and_by_the_first_in_order(self) -> None:
        package = compiled(
            offer(ContextCandidate("a", "same", 0.2), source_id="one"),
            offer(ContextCandidate("b", "same", 0.8), source_id="two"),
            shares=ONLY_RAG,
        )
        assert reasons(package) == [("a", "duplicate"), ("b", "ranked")]

    def test_a_text_that_is_mandatory_anyway_is_not_placed_again(self) -> None:
        package = compiled(
            offer(ContextCandidate("a", "same", 0.9), source_id="one"),
            offer(ContextCandidate("b", "same", 0.1, mandatory=True), source_id="two"),
        )
        assert reasons(package) == [("a", "duplicate"), ("b", "mandatory")]

    def test_two_texts_that_both_found_no_room_are_left_out_for_the_budget(self) -> None:
        package = compiled(
            offer(ContextCandidate("a", "same", 0.9), ContextCandidate("b", "same", 0.8)), context_tokens=0
        )
        assert reasons(package) == [("a", "budget"), ("b", "budget")]

    def test_r141_optional_candidates_past_the_limit_are_listed_but_not_considered(self) -> None:
        records = [ContextCandidate(str(i), f"text {i}", -i) for i in range(5)]
        package = compiled(offer(*records, limit=3))
        assert reasons(package) == [
            ("0", "ranked"),
            ("1", "ranked"),
            ("2", "ranked"),
            ("3", "limit"),
            ("4", "limit"),
        ]

    def test_r141_mandatory_candidates_do_not_count_against_the_limit(self) -> None:
        records = [ContextCandidate(str(i), f"text {i}", -i, mandatory=i > 2) for i in range(5)]
        package = compiled(offer(*records, limit=1))
        assert reasons(package) == [
            ("3", "mandatory"), ("4", "mandatory"), ("0", "ranked"), ("1", "limit"), ("2", "limit"),
        ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_r196_the_kind_of_a_source_picks_its_share(kind: Kind) -> None:
    shares = {**NO_SHARES, kind: 1}
    record = sized("a", 100, 1.0, source_id="mine", kind=kind)
    package = compiled(
        offer(record, source_id="mine", kind=kind), context_tokens=100 + retrieval_frame_tokens(), shares=shares
    )
    assert reasons(package) == [("a", "ranked")]

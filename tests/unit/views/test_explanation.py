"""The panel that explains one record: its sentence, its turns and what would let it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from playground.compiler.changes import KnobChange
from playground.compiler.counterpart import Counterpart
from playground.compiler.explain import Explanation, explain
from playground.compiler.knobs import AnyKnob, Knob
from playground.compiler.manifest import Reason
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.values import ContextCandidate, SourceResult
from playground.views.binding_trial import trial_of
from playground.views.explanation import ExplanationView, explanation_view
from playground.views.explanation_sentence import explanation_sentence
from playground.views.knob_action import KnobAction, candidates_action, nearest_action
from playground.views.knobs import KNOBS
from playground.views.record_key import record_key
from playground.views.record_text import RecordText
from playground.views.words import Sentence
from playground.working_memory import create_working_memory
from tests.unit.views.compiles import offers, package

DEFAULTS: dict[Knob, float] = {knob: spec.default for knob, spec in KNOBS.items()}
HOSTILE = "**not bold** <b>"


def view(record: str, *, max_tokens: int = 1_024, limit: int | None = None) -> ExplanationView:
    prepared = offers(limit=limit)
    stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": max_tokens}
    compiled = package(prepared, max_tokens=max_tokens)
    source = "memory" if record.startswith("m") else "rag"
    found = explain(prepared, compiled, (source, record))
    texts = {("rag", str(i)): text(f"Chunk {i}", str(i)) for i in range(12)}
    return explanation_view(found, compiled.manifest, texts, positions=stand, trial=trial_of(prepared))


def text(title: str, record: str) -> RecordText:
    return RecordText(record_key("rag", record), title, f"part {record} of the guide", "")


def plain(sentence: tuple[tuple[str, bool], ...]) -> str:
    return "".join(part for part, _ in sentence)


def explanation(**fields: object) -> Explanation:
    known: dict[str, object] = {
        "source": "rag", "record_id": "1", "kind": "rag", "selected": False, "reason": "budget", "tokens": 40,
        "score": 0.5, "rank": None, "rank_in_kind": None, "share": None, "pool": None, "allowance": None,
        "rivals": 0, "rivals_in_kind": 0, "over_by": 0, "instead": None, "changes": (),
    }  # fmt: skip
    return Explanation(**{**known, **fields})  # type: ignore[arg-type]  # fields of many types


def test_the_head_names_the_record_its_kind_and_where_it_comes_from() -> None:
    found = view("9")
    assert (found.title, found.source) == ("Chunk 9", "Documents, part 9 of the guide")
    assert (found.key, found.slot) == (record_key("rag", "9"), "excluded")


def test_rank_score_and_tokens_stand_side_by_side() -> None:
    facts = {fact.label: (fact.value, fact.note) for fact in view("9").facts}
    assert facts["Rank"] == ("10", "of 14")
    assert facts["Rank in kind"] == ("10", "of 12 documents")
    assert facts["Score"] == ("0.81", "")
    assert facts["Tokens"][1] == "budget"


def test_a_record_offered_twice_counts_once_among_those_it_is_ranked_with() -> None:
    inputs = offers().inputs
    memory, chunks = inputs.results
    twice = replace(chunks, candidates=(*chunks.candidates, *chunks.candidates[:3]))
    prepared = prepare(replace(inputs, results=(memory, twice)))
    compiled = package(prepared, max_tokens=1_024)
    found = explain(prepared, compiled, ("rag", "9"))
    view = explanation_view(
        found, compiled.manifest, {}, positions=DEFAULTS, trial=lambda _: frozenset(), kinder=()
    )
    assert [entry.reason for entry in compiled.manifest.entries].count("duplicate") == 3
    assert [(fact.value, fact.note) for fact in view.facts[:2]] == [("10", "of 14"), ("10", "of 12 documents")]


def test_the_sentence_of_a_record_left_out_says_what_was_left_and_how_much_was_missing() -> None:
    prepared = offers()
    compiled = package(prepared, max_tokens=1_024)
    found = explain(prepared, compiled, ("rag", "9"))
    assert found.share is not None
    assert found.pool is not None
    shown = view("9")
    assert plain(shown.sentence) == (
        f"It takes {found.tokens} tokens; the share of documents had {found.share.left} left at its turn, "
        f"the pool {found.pool.left}: {found.short_by} short."
    )
    assert next(part for part, bold in shown.sentence if bold) == f"{found.tokens} tokens"


def test_each_pass_is_a_row_with_its_room_what_was_left_and_what_was_missing() -> None:
    rows = view("9").turns
    assert [row.name for row in rows] == ["Share of documents", "Pool, what shares left"]
    assert all(int(row.short.replace(",", "")) > 0 for row in rows)


def test_what_got_in_before_it_is_listed_and_adds_up() -> None:
    found = view("9")
    assert {row.title for row in found.before} <= {f"Chunk {i}" for i in range(9)} | {"m0", "m1"}
    tokens = sum(int(row.tokens) for row in found.before)
    assert found.before_total == f"{len(found.before)} records · {tokens} tokens"


def test_knobs_without_a_change_are_named() -> None:
    found = view("9")
    names = [row.name for row in found.changes]
    assert "Max tokens" in names
    assert found.idle.startswith("Ratio, working memory")
    assert "candidates per source" in found.idle


@pytest.mark.parametrize("max_tokens", range(512, 2_048, 128))
def test_changes_that_cost_nothing_stand_first(max_tokens: int) -> None:
    costs = [row.costs != "costs no record" for row in view("9", max_tokens=max_tokens).changes]
    assert costs == sorted(costs)


def test_a_kinder_change_stands_below_the_nearest_one_and_is_what_the_button_does() -> None:
    prepared = offers()
    stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": 1_024}
    compiled = package(prepared, max_tokens=1_024)
    nearest: KnobChange[AnyKnob] = KnobChange("max_tokens", 1_024, 1_000, (("rag", "0"),))
    kinder: KnobChange[Knob] = KnobChange("max_tokens", 1_024, 3_000)
    found = explanation_view(
        explanation(record_id="9", changes=(nearest,)),
        compiled.manifest,
        {},
        positions=stand,
        trial=trial_of(prepared),
        kinder=[kinder],
    )
    assert [(row.name, row.change, row.costs) for row in found.changes] == [
        ("Max tokens", "1,024 → 1,000", "swaps with 0"),
        ("", "1,024 → 3,000", "costs no record"),
    ]
    assert [action.label for action in found.actions] == ["Set max tokens to 3,008"]


def test_a_fraction_is_written_to_the_unit_of_the_search() -> None:
    change: KnobChange[AnyKnob] = KnobChange("ratio", 0.0426, 0.0427)
    prepared = offers()
    compiled = package(prepared)
    shown = explanation_view(
        explanation(changes=(change,)), compiled.manifest, {}, positions=DEFAULTS, trial=trial_of(prepared)
    )
    assert shown.changes[0].change == "4.26% → 4.27%"


def test_every_button_names_a_position_that_really_lets_the_record_in() -> None:
    found = view("9")
    assert found.actions
    for action in found.actions:
        stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": 1_024}
        for knob, position in action.positions:
            assert knob != "candidates"
            stand[knob] = position
        assert ("rag", "9") in trial_of(offers())(stand)


def test_a_selected_record_has_no_changes_and_says_how_it_got_in() -> None:
    found = view("0")
    assert (found.changes, found.idle, found.actions) == ((), "", ())
    assert plain(found.sentence).startswith("It got in: its share had ")
    assert found.slot == "rag"


def test_a_record_beyond_the_limit_says_so_and_names_the_candidates_it_takes() -> None:
    found = view("9", max_tokens=8_192, limit=3)
    assert plain(found.sentence).startswith("Its source offers more than the candidate limit allows")
    assert [(row.name, row.change) for row in found.changes] == [
        ("Candidates per source, of those found", "3 → 10")
    ]
    assert [fact.value for fact in found.facts][:2] == ["–", "–"]


def test_a_line_of_working_memory_tells_what_its_allowance_left() -> None:
    memory = create_working_memory(scope="t", tasks={"list": ["one", "t" * 300]}, now=0)
    prepared = prepare(CompileInputs([], [], 10_000, 0, working_memory=memory))
    compiled = package(prepared, working_memory_tokens=40)
    number = next(i for i, entry in enumerate(compiled.manifest.entries) if not entry.selected)
    found = explain(prepared, compiled, number)
    shown = explanation_view(found, compiled.manifest, {}, positions=DEFAULTS, trial=lambda _: frozenset())
    assert plain(shown.sentence).startswith(f"It takes {found.tokens} tokens; working memory had ")
    assert [row.name for row in shown.turns] == ["Working memory"]
    assert shown.facts[2].value == "–"


def sentence(found: Explanation, title: str = "x") -> Sentence:
    manifest = package(offers(), max_tokens=1_024).manifest
    return explanation_sentence(found, manifest, lambda *_: title)


@pytest.mark.parametrize(
    ("reason", "start"),
    [
        ("mandatory", "It is in the request whatever the budget"),
        ("limit", "Its source offers more than the candidate limit"),
    ],
)
def test_what_does_not_compete_says_why(reason: Reason, start: str) -> None:
    assert plain(sentence(explanation(reason=reason, selected=reason == "mandatory"))).startswith(start)


@pytest.mark.parametrize(
    ("reason", "instead", "said"),
    [
        ("duplicate", ("rag", "7", None, 2, None), "The same text got in as x (rag, id 7)."),
        (
            "duplicate",
            ("memory", "7", None, None, 3),
            "The same text stands in the history as x (memory, id 7), where the package of step 3 put it.",
        ),
        ("superseded", ("rag", "1", 3, 2, None), "Revision 3 of it (rag, id 1) is offered."),
        ("superseded", ("rag", "1", 3, None, 0), "Revision 3 of it (rag, id 1) was placed in step 0."),
        (
            "already-placed",
            ("rag", "1", None, None, 3),
            "Its text (rag, id 1) stands in the history already, where the package of step 3 put it.",
        ),
    ],
)
def test_what_is_there_in_its_place_is_named_by_source_and_id(
    reason: Reason, instead: tuple[str, str, int | None, int | None, int | None], said: str
) -> None:
    assert plain(sentence(explanation(reason=reason, instead=Counterpart(*instead)))) == said


def test_an_id_that_was_offered_twice_says_which_copy_counts_and_what_became_of_it() -> None:
    entries = package(offers(), max_tokens=1_024).manifest.entries
    for number, end in ((2, "it got in."), (len(entries) - 1, "it is left out: budget.")):
        entry = entries[number]
        other = Counterpart(entry.source, entry.record_id, None, number, None)
        found = explanation(reason="duplicate", record_id=entry.record_id, instead=other)
        assert plain(sentence(found)) == (
            f"It was offered more than once (rag, id {entry.record_id}). "
            f"The copy with score {entry.score:.2f} counts; {end}"
        )


def test_foreign_titles_are_never_read_as_marks() -> None:
    found = sentence(explanation(reason="duplicate", instead=Counterpart("rag", "2", None, 2, None)), HOSTILE)
    assert found == (("The same text got in as ", False), (HOSTILE, True), (" (rag, id 2).", False))


def panel(*chunks: ContextCandidate, number: int, limit: int | None = None) -> ExplanationView:
    """The panel of one entry of a compile that has room for one of these chunks."""
    prepared = prepare(
        CompileInputs([SourceResult("rag", "rag", candidates=chunks, limit=limit)], [], 10_000, 0)
    )
    stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": prepared.frame_tokens + max(prepared.tokens)}
    compiled = package(prepared, max_tokens=round(stand["max_tokens"]))
    found = explain(prepared, compiled, number)
    assert not found.selected
    return explanation_view(found, compiled.manifest, {}, positions=stand, trial=trial_of(prepared))


def test_a_record_whose_text_or_copy_or_newer_revision_is_there_shows_no_turns_and_no_knobs() -> None:
    first = ContextCandidate("a", "the same text", 0.9, revision=2)
    for second in (
        ContextCandidate("b", "the same text", 0.8),
        replace(first, score=0.8),
        ContextCandidate("a", "an older text", 0.8, revision=1),
    ):
        shown = panel(first, second, number=1, limit=5)
        assert (shown.turns, shown.before, shown.changes, shown.idle, shown.actions) == ((), (), (), "", ())


def test_a_record_beyond_the_candidate_limit_shows_that_control_alone() -> None:
    chunks = [ContextCandidate(name, f"text {name} " * 9, score) for name, score in (("a", 0.9), ("b", 0.8))]
    shown = panel(*chunks, number=1, limit=1)
    assert (shown.changes, shown.idle) == ((), "Candidates per source")
    shown = view("9", max_tokens=8_192, limit=5)
    assert ([row.name for row in shown.changes], shown.idle) == (
        ["Candidates per source, of those found"],
        "",
    )
    assert (shown.turns, shown.actions) == ((), ())


def test_a_record_dropped_at_rendering_says_by_how_much_the_blocks_were_over() -> None:
    found = sentence(explanation(over_by=3))
    assert plain(found).endswith("the blocks were 3 tokens over the budget.")


# The position a button names


def pressed(
    needed: float, selected_at: Mapping[int, set[str]], *, now: int = 2_048
) -> tuple[float, str] | None:
    """Position and note of the button of max tokens; record 9 is to get in, what the manifest selects stays."""
    compiled = package(offers(), max_tokens=1_024)
    inside = compiled.manifest.entries.selected_records()

    def selected(positions: Mapping[Knob, float]) -> frozenset[tuple[str, str]]:
        found = selected_at.get(round(positions["max_tokens"]))
        return (
            frozenset() if found is None else frozenset(inside | {("rag", "9")}) - {("rag", i) for i in found}
        )

    action = nearest_action(
        KnobChange("max_tokens", now, needed),
        compiled.manifest,
        ("rag", "9"),
        title=lambda _, record: f"Chunk {record}",
        positions={**DEFAULTS, "max_tokens": now},
        trial=selected,
    )
    return None if action is None else (action.positions[0][1], action.note)


def test_a_button_names_the_nearest_position_that_lets_the_record_in_on_either_side() -> None:
    assert pressed(500, {448: {"0"}, 512: {"1"}}) == (512, "Swaps with Chunk 1")
    assert pressed(2_120, {2_112: {"0"}, 2_176: {"0"}}) == (2_112, "Swaps with Chunk 0")


def test_the_free_one_of_two_neighbours_is_named_first() -> None:
    assert pressed(500, {448: set(), 512: {"1"}}) == (448, "")


def test_a_nearer_position_that_swaps_comes_before_a_free_one_farther_away() -> None:
    assert pressed(2_200, {2_240: {"0"}, 2_304: set()}) == (2_240, "Swaps with Chunk 0")


def test_where_no_position_nearby_lets_the_record_in_there_is_no_button() -> None:
    assert pressed(500, {64: set()}) is None
    assert pressed(2_050, {2_048: set()}) is None


# The candidates control


def limited(needed: float | None, selected_at: Mapping[int, set[str]]) -> KnobAction | None:
    change: KnobChange[AnyKnob] = KnobChange("candidates_per_source", 48, needed)
    return candidates_action(
        change,
        ("rag", "1"),
        lambda number: frozenset(("rag", record) for record in selected_at.get(number, set())),
        now=frozenset({("rag", "2")}),
        title=lambda _, record: f"Chunk {record}",
    )


def test_the_candidates_button_takes_a_position_of_the_control_that_was_tried() -> None:
    found = limited(25, {24: set(), 20: {"1", "2"}})
    assert found == KnobAction((("candidates", 20),), "Set candidates per source to 20")


def test_the_nearest_position_of_the_candidates_comes_first_on_either_side() -> None:
    found = limited(27, {24: {"1", "2"}, 28: {"1", "2"}})
    assert found is not None
    assert found.positions == (("candidates", 28),)


def test_the_candidates_button_says_what_it_costs() -> None:
    found = limited(49, {52: {"1"}})
    assert found is not None
    assert found.note == "Swaps with Chunk 2"


def test_without_a_position_that_works_there_is_no_candidates_button() -> None:
    assert limited(25, {}) is None
    assert limited(None, {}) is None

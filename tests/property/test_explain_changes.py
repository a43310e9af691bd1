"""The named change of each knob is the nearest one: checked against compiles at every value of the knob."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given

from playground import ContextBudget, ContextCandidate, SourceResult, TokenEstimator, create_working_memory
from playground.compiler.changes import nearest_change
from playground.compiler.compile import compile_offers
from playground.compiler.explain import explain
from playground.compiler.knobs import KNOBS, AnyKnob, Knob
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import KINDS, ContextPackage
from playground.errors import ContextBudgetExceededError
from playground.tokenizers import tokenizer_estimator
from tests.property.exhaustion import FRACTIONS, exhaust
from tests.property.reference import Case
from tests.property.strategies import NON_ADDITIVE, TOKENIZER, cases, examples

ALL_KNOBS: tuple[AnyKnob, ...] = (*KNOBS, "candidates_per_source")
WORDS = ("x", "word ", "日本語", "<&>", "a1-b2 ", "same text")


def random_inputs(random: Random) -> CompileInputs:
    """Up to 12 candidates of up to four sources, some alike, and a window that is small enough to exhaust."""
    estimator = random.choice(
        [TokenEstimator()] * 4 + [TokenEstimator(random.choice(NON_ADDITIVE)), tokenizer_estimator(TOKENIZER)]
    )
    estimator.calibrate(random.uniform(1, 4_000), 1_000)
    limit = random.choice([None, None, 1, 2, 3, 8])
    sources = random.randint(1, 4)
    left = random.randint(2, 12)
    results = []
    for number in range(sources):
        count = left if number == sources - 1 else random.randint(0, left)
        left -= count
        candidates = tuple(
            ContextCandidate(
                str(i),
                random.choice(WORDS) * random.choice([1, 1, 5, random.randint(1, 20)]),
                random.choice([0.5, random.random()]),
                tokens=random.choice([None] * 5 + [30]),
                mandatory=random.random() < 0.06,
            )
            for i in range(count)
        )
        own = random.choice([limit, limit, limit, None])
        results.append(SourceResult(f"s{number}", random.choice(KINDS), candidates=candidates, limit=own))
    memory = None
    if random.random() < 0.5:
        tasks = [random.choice(WORDS) * random.randint(1, 12) for _ in range(random.randint(1, 4))]
        memory = create_working_memory(
            scope="s", goal=random.choice([None, "goal"]), tasks={"list": tasks}, now=0
        )
    inputs = CompileInputs(results, [], 10_000, 0, working_memory=memory, estimator=estimator)
    offers = prepare(inputs)
    frames = offers.required_tokens + offers.frame_tokens + offers.memory.frame_tokens
    records = sum(offers.tokens) + sum(offers.memory.first_tokens)
    return replace(inputs, input_tokens=frames + random.randint(0, records), used_tokens=0)


def random_budget(random: Random, room: int) -> ContextBudget:
    weights = [random.choice([0, 1, 1, 2, random.random()]) for _ in KINDS]
    whole = max(1.0, sum(weights)) * random.choice([1, 1, 1.5])
    return ContextBudget(
        ratio=random.choice([1.0, 1.0, 0.25, 0.04267, random.uniform(0.5, 1)]),
        max_tokens=random.choice([8192, room // 2, random.randint(0, room)]),
        working_memory_tokens=random.choice([2048, 0, random.randint(0, 150)]),
        shares={kind: weight / whole for kind, weight in zip(KINDS, weights, strict=True)},
    )


def compiled(inputs: CompileInputs, budget: ContextBudget) -> tuple[Offers, ContextPackage] | None:
    offers = prepare(inputs)
    try:
        return offers, compile_offers(offers, budget)
    except ContextBudgetExceededError:
        return None


def check(offers: Offers, budget: ContextBudget, package: ContextPackage) -> dict[str, int]:
    """Compare every excluded entry's changes with the exhaustion; count those named and those denied."""
    tally = {"named": 0, "none": 0}
    out = [number for number, entry in enumerate(package.manifest.entries) if not entry.selected]
    if not out:
        return tally
    everything = {knob: exhaust(offers, budget, knob) for knob in ALL_KNOBS}
    for number in out:
        explanation = explain(offers, package, number)
        assert [change.knob for change in explanation.changes] == list(ALL_KNOBS)
        for change in explanation.changes:
            values = everything[change.knob]
            if values is None:
                assert (change.current, change.needed) == (None, None)
                continue
            if change.knob == "candidates_per_source":
                values = replace(values, position=position_of(offers, number))
            wanted = values.nearest(number)
            per_whole = 10_000 if change.knob in FRACTIONS else 1
            units = None if change.needed is None else round(change.needed * per_whole)
            assert units == wanted, (change, explanation)
            if change.knob != "candidates_per_source":
                check_kinder(offers, budget, number, change.knob, values.nearest(number, now(package)))
            if units is None:
                tally["none"] += 1
                continue
            tally["named"] += 1
            assert number in values.at(units)
            less = units - 1 if units > values.position else units + 1
            beyond = (less - values.position) * (units - values.position) <= 0
            assert beyond or number not in values.at(less)
            lost = now(package) - values.at(units)
            entries = package.manifest.entries
            assert sorted(change.drops) == sorted((entries[i].source, entries[i].record_id) for i in lost)
    return tally


def check_kinder(offers: Offers, budget: ContextBudget, number: int, knob: Knob, wanted: int | None) -> None:
    """Compare the nearest change that costs no record."""
    lines = len(offers.memory.lines)
    piece = number - lines if number >= lines else -1 - number
    change = nearest_change(offers, budget, piece, knob, keeping=True)
    per_whole = 10_000 if knob in FRACTIONS else 1
    assert (None if change.needed is None else round(change.needed * per_whole)) == wanted
    assert change.drops == ()


def now(package: ContextPackage) -> frozenset[int]:
    return frozenset(number for number, entry in enumerate(package.manifest.entries) if entry.selected)


def position_of(offers: Offers, number: int) -> Fraction:
    """The limit of the record's own source, else the largest."""
    limits = {result.source_id: result.limit for result in offers.inputs.results}
    place = number - len(offers.memory.lines)
    own = limits[offers.inputs.results[offers.sources[place]].source_id] if place >= 0 else None
    return Fraction(max(limit for limit in limits.values() if limit is not None) if own is None else own)


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=pytest.mark.slow if block > 2 else ()) for block in range(10)]
)
def test_applying_the_named_change_includes_the_record_and_one_unit_less_does_not(block: int) -> None:
    """Twenty of two hundred random compiles, every excluded record, every knob."""
    total = {"named": 0, "none": 0}
    compiles = seed = 0
    while compiles < 20:
        random = Random(f"{block}-{seed}")
        seed += 1
        inputs = random_inputs(random)
        budget = random_budget(random, inputs.room)
        found = compiled(inputs, budget)
        if inputs.room > 380 or found is None or len(now(found[1])) == len(found[1].manifest.entries):
            continue
        compiles += 1
        for key, count in check(found[0], budget, found[1]).items():
            total[key] += count
    assert min(total.values()) > 30, "one of the two answers is hardly tried"


@examples(40)
@given(cases())
def test_the_named_changes_are_exact_for_any_input(case: Case) -> None:
    """Placements, revisions, repeated ids and texts, hostile text, mandatory records, odd counters."""
    room = min(case.room, 300)
    inputs = CompileInputs(
        case.results, case.messages, 1_000 + room, 1_000, working_memory=case.working_memory,
        estimator=case.estimator, placed=case.placed, step=case.step, retrieval_pass=case.retrieval_pass,
    )  # fmt: skip
    found = compiled(inputs, case.budget)
    assume(found is not None)
    assert found is not None
    check(found[0], case.budget, found[1])

from __future__ import annotations

import copy
import math

from hypothesis import given
from hypothesis import strategies as st

from playground import TokenEstimator
from playground.messages import Message
from playground.tokens import compact_json
from tests.property.strategies import ANY_TEXT, estimators, examples
from tests.property.test_messages_codec import MESSAGES

ANY_NUMBER = st.floats() | st.integers(-(10**20), 10**20)


@examples(60)
@given(st.lists(MESSAGES, max_size=4))
def test_r210_the_base_of_a_list_is_the_sum_of_its_messages(messages: list[Message]) -> None:
    estimator = TokenEstimator()
    assert math.isclose(
        estimator.base(messages), sum(estimator.base([message]) for message in messages), abs_tol=1e-6
    )
    assert estimator.base(messages) >= 4 * len(messages)
    assert estimator.estimate(messages) == math.ceil(estimator.base(messages))
    # Counts are remembered on the messages; copies have none.
    assert estimator.base(copy.deepcopy(messages)) == estimator.base(messages)


@examples(150)
@given(st.lists(st.tuples(ANY_NUMBER, ANY_NUMBER), max_size=6))
def test_r211_whatever_is_observed_the_factor_stays_between_a_half_and_two(
    observed: list[tuple[float, float]],
) -> None:
    estimator = TokenEstimator()
    for actual, estimated in observed:
        before = estimator.factor
        estimator.calibrate(actual, estimated)
        assert 0.5 <= estimator.factor <= 2.0
        if not (math.isfinite(actual) and math.isfinite(estimated) and actual > 0 and estimated > 0):
            assert estimator.factor == before


@examples(100)
@given(st.integers(1_000, 100_000), st.floats(0.6, 1.9))
def test_r211_one_steady_model_is_learnt(length: int, true_factor: float) -> None:
    estimator = TokenEstimator()
    messages = [Message("user", "x" * length)]
    actual = estimator.base(messages) * true_factor
    for _ in range(60):
        estimator.calibrate(actual, estimator.estimate(messages))
    assert abs(estimator.factor - true_factor) < 0.01


@examples(150)
@given(estimators(), ANY_TEXT)
def test_a_piece_never_costs_less_than_nothing_and_is_counted_alike_twice(
    estimator: TokenEstimator, text: str
) -> None:
    first = estimator.piece_tokens(text)
    assert first == estimator.piece_tokens(text) >= 0
    base = estimator.base([Message("user", text)]) - estimator.base([Message("user", "")])
    assert first == max(0, math.ceil(base * estimator.factor))


@examples(100)
@given(st.lists(st.integers(0, 500), max_size=30), st.lists(st.floats(0.01, 10), max_size=4))
def test_r36_counts_of_pieces_bound_the_count_of_their_sum(lengths: list[int], observed: list[float]) -> None:
    estimator = TokenEstimator()
    for ratio in observed:
        estimator.calibrate(ratio * 1_000, 1_000)
    whole = estimator.estimate([Message("user", "x" * sum(lengths))])
    frame = estimator.estimate([Message("user", "")])
    assert whole <= frame + sum(estimator.length_tokens(length) for length in lengths)


@examples(100)
@given(
    st.recursive(
        st.none() | st.floats() | st.text(max_size=3) | st.sets(st.integers(), max_size=1),
        st.lists,
        max_leaves=5,
    )
)
def test_json_of_anything_is_text(value: object) -> None:
    assert isinstance(compact_json(value), str)

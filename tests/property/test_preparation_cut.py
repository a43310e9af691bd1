"""A cut keeps to its allowance, whatever the results and whoever counts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item, read_item
from playground.preparation.oversized import cut_results, fixed_tokens
from playground.preparation.result_cutting import BINARY, BINARY_ERROR, SKIPPED, SKIPPED_ERROR
from tests.preparation import message, native, result

ESTIMATORS = (
    PreparationEstimator(),
    PreparationEstimator(len, name="dense"),
    PreparationEstimator(lambda text: len(text.encode("utf-8", "surrogatepass")) / 5, name="bytes"),
    PreparationEstimator(characters_per_token=2.0),
)
pieces = st.sampled_from(["word ", "é", "\U0001f469\u200d\U0001f467", "QUJD", "\n", "漢字"])
texts = st.tuples(pieces, pieces, st.integers(0, 900)).map(lambda parts: (parts[0] + parts[1]) * parts[2])
images: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"__images": [{"base64": "QUJD", "mediaType": "image/png"}]}]
)
errors: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {}, {"error": "it failed before"}])


@st.composite
def inputs(draw: st.DrawFn, estimator: PreparationEstimator) -> tuple[Item, ...]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            found.append(native(f"n{number}", draw(texts)))
            continue
        blocks = [
            result(f"c{number}-{place}", draw(texts), **draw(images), **draw(errors))
            for place in range(draw(st.integers(1, 4)))
        ]
        if draw(st.booleans()):
            blocks.append({"type": "input_text", "text": draw(texts)})
        found.append(message("user", *blocks))
    return tuple([read_item(one, estimator) for one in found])


@given(st.data(), st.sampled_from(ESTIMATORS), st.integers(0, 3000))
def test_16_a_cut_is_never_over_its_allowance_unless_its_notices_are(
    data: st.DataObject, estimator: PreparationEstimator, allowance: int
) -> None:
    originals = data.draw(inputs(estimator))
    cut = cut_results(originals, allowance, estimator)
    notice = max(
        estimator.text(SKIPPED) + estimator.text(SKIPPED_ERROR),
        estimator.text(BINARY) + estimator.text(BINARY_ERROR),
    )
    count = sum(len(item.results) for item in originals)
    assert cut.result.final_size <= max(allowance, notice * count + 4) + fixed_tokens(originals, estimator)
    for before, after in zip(originals, cut.items, strict=True):
        assert (after is before) or (after.results == before.results and after.tokens <= before.tokens + notice)
        for old, new in zip(before.data.get("content", ()), after.data.get("content", ()), strict=True):
            assert new.get("__images") == old.get("__images")
            assert "error" not in old or new["error"] == old["error"]
            assert old["type"] == "tool_result" or new == old

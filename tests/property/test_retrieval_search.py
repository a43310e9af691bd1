"""Lexical search and fusion against slow, obvious references."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from playground.retrieval.fusion import convex, rrf, scaled_rrf
from playground.retrieval.hits import Hit
from playground.retrieval.lexical import LexicalIndex
from playground.retrieval.words import words

texts = st.lists(st.text(alphabet="abc é東京", max_size=12), max_size=8)
rankings = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=4)
hits = st.lists(
    st.builds(Hit, st.sampled_from("abcdef"), st.floats(-1, 9)), max_size=6, unique_by=lambda h: h.id
)


def slow_bm25(corpus: list[str], query: str) -> dict[str, float]:
    counts = [Counter(words(text)) for text in corpus]
    lengths = [sum(count.values()) for count in counts]
    scores: dict[str, float] = {}
    for at, count in enumerate(counts):
        score = 0.0
        for word in words(query):
            n = sum(word in other for other in counts)
            if count[word]:
                idf = math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
                length = lengths[at] / (sum(lengths) / len(corpus))
                score += idf * count[word] * 2.5 / (count[word] + 1.5 * (0.25 + 0.75 * length))
        if score > 0:
            scores[str(at)] = score
    return scores


@given(corpus=texts, query=st.text(alphabet="abcd é東京", max_size=8))
def test_lexical_search_agrees_with_the_formula(corpus: list[str], query: str) -> None:
    found = LexicalIndex(corpus).search(query)
    expected = slow_bm25(corpus, query)
    assert {hit.id for hit in found} == set(expected)
    assert all(math.isclose(hit.score, expected[hit.id], rel_tol=1e-9) for hit in found)
    assert found == sorted(found, key=lambda hit: (-round(hit.score, 6), hit.id))


@given(lists=rankings)
def test_fused_ranks_ignore_the_order_of_the_lists_and_stay_within_one(lists: list[list[str]]) -> None:
    one, other = scaled_rrf(lists), scaled_rrf(lists[::-1])
    assert [hit.id for hit in one] == [hit.id for hit in other]
    assert all(0 < hit.score <= 1 for hit in one)
    assert {hit.id for hit in rrf(lists)} == {i for ranking in lists for i in ranking}


@given(lexical=hits, dense=hits)
def test_convex_scores_stay_within_one_and_ignore_the_order_of_hits(
    lexical: list[Hit], dense: list[Hit]
) -> None:
    fused = convex(lexical, dense)
    assert all(0 <= hit.score <= 1 for hit in fused)
    assert fused == convex(lexical[::-1], dense[::-1])

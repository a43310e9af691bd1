"""BM25 with the golden scores, and words of any script."""

from __future__ import annotations

import itertools

import pytest

from playground.errors import InvalidInputError
from playground.retrieval.lexical import LexicalIndex
from playground.retrieval.words import words

GREEK = ["alpha beta beta", "beta gamma", "delta delta delta delta"]


def test_scores_are_the_golden_ones() -> None:
    index = LexicalIndex(GREEK)
    assert dict(index.search("beta alpha")) == pytest.approx(
        {"0": 1.6522630090770631, "1": 0.5529454461714537}, rel=1e-14
    )
    assert dict(index.search("delta")) == pytest.approx({"2": 1.6694966008710237}, rel=1e-14)


def test_only_texts_that_share_a_word_are_found() -> None:
    index = LexicalIndex(GREEK, ["a", "b", "c"])
    assert [hit.id for hit in index.search("GAMMA!")] == ["b"]
    assert index.search("omega") == []
    assert index.search("") == []
    assert index.search("beta", 0) == []


def test_ties_end_in_the_id_also_where_the_list_is_cut() -> None:
    index = LexicalIndex(["same words"] * 12, [f"r{n}" for n in reversed(range(12))])
    assert [hit.id for hit in index.search("same", 3)] == ["r0", "r1", "r10"]


def test_scaled_scores_put_the_best_at_one() -> None:
    hits = LexicalIndex(GREEK).search_scaled("beta alpha")
    assert hits[0] == ("0", 1.0)
    assert hits[1].score == round(0.5529454461714537 / 1.6522630090770631, 6)


def test_the_order_of_the_words_in_a_query_moves_nothing() -> None:
    index = LexicalIndex(["a b c d e f", "a c e g", "b d f h b", "c c d e"])
    answers = {tuple(index.search(" ".join(order))) for order in itertools.permutations("abcde")}
    assert len(answers) == 1


@pytest.mark.parametrize("texts", [[], ["", "..."]])
def test_nothing_to_search_in_finds_nothing(texts: list[str]) -> None:
    index = LexicalIndex(texts)
    assert index.search("anything") == []
    assert index.search_scaled("anything") == []
    assert len(index) == len(texts)


def test_an_empty_text_among_others_does_no_harm() -> None:
    assert LexicalIndex(["", "beta"]).search("beta")[0].id == "1"


@pytest.mark.parametrize("ids", [["a"], ["a", "a"]])
def test_each_text_needs_an_id_of_its_own(ids: list[str]) -> None:
    with pytest.raises(InvalidInputError, match="one id"):
        LexicalIndex(["x", "y"], ids)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The K-9 unit, e.g. A_B", ["the", "k", "9", "unit", "e", "g", "a", "b"]),
        ("Überweisung naïve Ⅳ ﬁne", ["uberweisung", "naive", "iv", "fine"]),
        ("İstanbul ΆΘΗΝΑ ЁЖ", ["istanbul", "αθηνα", "еж"]),
        ("東京都 に", ["東京", "京都", "に"]),
        ("ガギ ｶﾞ", ["ガギ", "ガ"]),
        ("한국어", ["한국", "국어"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("카드A3卡", ["카드", "a3", "卡"]),
        ("مرحبا, שלום", ["مرحبا", "שלום"]),
        ("\U0001f4b3 \ud800 — …", []),
    ],
)
def test_words_of_any_script_are_told_apart(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("code", range(0x2000, 0x2070))
def test_quotes_and_dashes_between_words_are_told_apart_as_beside_any_other_script(code: int) -> None:
    """An accent in the text takes the way that all scripts take."""
    for text in (f"Don{chr(code)}t", f"{chr(code)}A1{chr(code)}_{chr(code)}b", chr(code) * 3):
        assert words(f"é {text}") == ["e", *words(text)]


def test_other_scripts_are_found() -> None:
    index = LexicalIndex(["私は東京に住んでいます", "彼は大阪に住んでいます", "The bank"])
    assert [hit.id for hit in index.search("東京")] == ["0"]

"""What became of a text, word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.escaping import replace_surrogates
from playground.views.word_changes import AROUND, TEXT_SHOWN, WORDS_COMPARED, WordPiece, word_changes


def _side(pieces: tuple[WordPiece, ...], gone: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind != gone)


def test_words_that_went_and_came_are_told_apart_from_those_that_stayed() -> None:
    assert word_changes("Ship on Friday at noon.", "Ship on Monday at noon.") == (
        WordPiece("same", "Ship on "),
        WordPiece("removed", "Friday "),
        WordPiece("added", "Monday "),
        WordPiece("same", "at noon."),
    )


def test_the_same_text_is_one_piece() -> None:
    assert word_changes("As it was.", "As it was.") == (WordPiece("same", "As it was."),)


def test_a_text_without_blanks_is_compared_by_its_characters() -> None:
    pieces = word_changes("\u660e\u65e5\u4e0a\u7dda", "\u660e\u5f8c\u65e5\u4e0a\u7dda")
    assert WordPiece("added", "\u5f8c") in pieces
    assert not [piece for piece in pieces if piece.kind == "removed"]


def test_long_stretches_that_stayed_are_cut_to_what_is_near_a_change() -> None:
    many = [f"word{number}" for number in range(100)]
    first, change, last = word_changes(" ".join([*many, "old", *many]), " ".join([*many, *many]))
    assert first.text == "… " + "".join(f"{word} " for word in many[-AROUND:])
    assert change == WordPiece("removed", "old ")
    assert last.text == "".join(f"{word} " for word in many[:AROUND]) + "… "


def test_texts_too_long_to_compare_are_given_whole_and_cut() -> None:
    words = "word " * WORDS_COMPARED
    removed, added = word_changes(words, f"new {words}")
    assert (removed.kind, added.kind) == ("removed", "added")
    assert added.text.startswith("new word")
    assert added.text.endswith("…")
    assert len(added.text) <= TEXT_SHOWN + 1


@pytest.mark.parametrize("text", ["", "\ud83d", "a\u202eb", "<b>"])
def test_odd_texts_are_pieces_as_they_are_but_for_half_a_character(text: str) -> None:
    pieces = word_changes(text, f"{text} end")
    assert _side(pieces, "removed") == replace_surrogates(f"{text} end")


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_give_both_texts_back(before: str, after: str) -> None:
    pieces = word_changes(before, after)
    assert _side(pieces, "added") == replace_surrogates(before)
    assert _side(pieces, "removed") == replace_surrogates(after)

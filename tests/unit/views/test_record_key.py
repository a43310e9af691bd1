"""One opaque string per record."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.views.record_key import record_key, split_key

ANY_TEXT = st.text(st.characters())  # lone surrogates included


@given(ANY_TEXT, ANY_TEXT)
def test_a_key_gives_source_and_record_id_back(source: str, record_id: str) -> None:
    assert split_key(record_key(source, record_id)) == (source, record_id)


@given(ANY_TEXT, ANY_TEXT)
def test_a_key_holds_only_characters_that_are_safe_in_attributes_and_links(source: str, record_id: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", record_key(source, record_id))


def test_the_border_between_source_and_record_id_cannot_move() -> None:
    assert record_key("rag", "a") != record_key("ra", "ga")


@pytest.mark.parametrize(
    "text", ["", "x", "W10", "bm9uZQ", "WyJhIl0", "WzEsMl0", "é", record_key("a", "b") + "="]
)
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not a record key"):
        split_key(text)

from __future__ import annotations

import pytest

from playground.escaping import (
    escape_attribute,
    escape_text,
    one_line,
    replace_forbidden,
    replace_surrogates,
)


def test_r69_the_golden_vector() -> None:
    assert escape_text('a<b>&"c"') == 'a&lt;b&gt;&amp;"c"'
    assert escape_attribute('a<b>&"c"') == "a&lt;b&gt;&amp;&quot;c&quot;"


@pytest.mark.parametrize(
    ("text", "as_text", "as_attribute"),
    [
        ("\r", "&#13;", "&#13;"),
        ("\n", "\n", "&#10;"),
        ("\t", "\t", "&#9;"),
        ("'", "'", "'"),
        ("\x00", "\ufffd", "\ufffd"),
        ("\x1b[31m", "\ufffd[31m", "\ufffd[31m"),
        ("\ud800", "\ufffd", "\ufffd"),
        ("\ufffe\uffff", "\ufffd\ufffd", "\ufffd\ufffd"),
        ("\x7f\x85\u2028", "\x7f\x85\u2028", "\x7f\x85\u2028"),
        ("&lt;", "&amp;lt;", "&amp;lt;"),
        ("", "", ""),
    ],
)
def test_r69_r70_r71_single_characters(text: str, as_text: str, as_attribute: str) -> None:
    assert escape_text(text) == as_text
    assert escape_attribute(text) == as_attribute


def test_r71_a_character_outside_the_first_plane_is_no_surrogate() -> None:
    assert replace_forbidden("\U0001f600\U0010ffff") == "\U0001f600\U0010ffff"


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_r78_each_kind_of_line_end_becomes_one_space(end: str) -> None:
    assert one_line(f"a{end}b") == "a b"
    assert one_line(f"a{end}{end}b") == "a  b"


def test_r71_half_of_a_character_becomes_the_replacement_and_all_else_stays() -> None:
    text = "a\ud83d\x00\x1bé\udc00😀"
    assert replace_surrogates(text) == "a\ufffd\x00\x1bé\ufffd😀"
    assert replace_surrogates("plain") == "plain"

"""Own projects in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import ProjectError
from playground.views.projects import (
    delete_question,
    deleted_notice,
    file_size,
    gone_notice,
    imported_notice,
    refused_notice,
    saved_notice,
    suggested_name,
)
from playground.workspace import Project, load_sample
from playground.workspace.naming import checked_name


def _words(sentence: tuple[tuple[str, bool], ...]) -> str:
    return "".join(text for text, _ in sentence)


@pytest.mark.parametrize(
    ("wanted", "taken", "name"),
    [
        ("deploy-demo", (), "deploy-demo"),
        ("deploy-demo", ("deploy-demo",), "deploy-demo-2"),
        ("deploy-demo-2", ("deploy-demo", "deploy-demo-2"), "deploy-demo-3"),
        ("Größe & Ähnliches (2)", (), "grosse-ahnliches-2"),
        ("--- ", (), "project"),
        ("\u8a2d\u8a08", ("project",), "project-2"),
        ("../../etc/passwd", (), "etc-passwd"),
        ("x" * 200, (), "x" * 64),
        ("x" * 200, ("x" * 64,), "x" * 57 + "-2"),
    ],
)
def test_a_name_is_suggested_that_is_free_and_resembles_what_was_wanted(
    wanted: str, taken: tuple[str, ...], name: str
) -> None:
    assert suggested_name(wanted, taken) == name


@given(st.text(max_size=100), st.sets(st.text("ab-2", min_size=1, max_size=3), max_size=8))
def test_every_suggestion_is_a_name_that_is_allowed_and_free(wanted: str, taken: set[str]) -> None:
    name = suggested_name(wanted, taken)
    assert checked_name(name) not in taken


def test_the_question_before_a_project_goes_says_what_goes_with_it() -> None:
    words = _words(delete_question(load_sample("deploy-demo")))
    assert words.startswith(
        "Deploy demo goes from this computer with 2 documents, 1 memory and everything else"
    )
    assert "0 " not in words
    assert "no way back" in words


def test_a_title_cannot_turn_the_question_around() -> None:
    assert "\u202e" not in _words(delete_question(Project(name="p", title="a\u202eb")))


def test_saving_a_sample_says_that_the_sample_is_as_it_came() -> None:
    assert "The sample is as it came again." in _words(saved_notice("mine", sample=True).sentence)
    assert "sample" not in _words(saved_notice("mine", sample=False).sentence)


def test_an_import_says_what_was_odd_about_it() -> None:
    notice = imported_notice(Project(name="mine", title="Mine", warnings=("A file was left out.",)))
    assert notice.title == "Mine was imported"
    assert _words(notice.sentence) == "mine is open now. A file was left out."


def test_what_was_deleted_here_or_elsewhere_names_what_is_open_instead() -> None:
    assert "bank is open now." in _words(deleted_notice("mine", opened="bank").sentence)
    assert "bank is open now." in _words(gone_notice("mine", opened="bank").sentence)


def test_a_refusal_says_what_is_wrong_and_what_to_do() -> None:
    notice = refused_notice("Not saved", ProjectError("It is full.", remedy="Make room.", project="p"))
    assert (notice.level, notice.title, _words(notice.sentence)) == (
        "error",
        "Not saved",
        "It is full. Make room.",
    )


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1 kB"), (2_340_000, "2.3 MB")]
)
def test_sizes_are_written_in_units_of_a_thousand(size: int, words: str) -> None:
    assert file_size(size) == words

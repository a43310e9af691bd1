"""What the Data page says after loading."""

from __future__ import annotations

import pytest

from playground.errors import DocumentError
from playground.retrieval.documents import LoadWarning
from playground.views.load_report import REPORT, SHOWN, load_report
from playground.views.notices import Notice
from playground.workspace import Project
from playground.workspace.additions import Addition

NOUN = ("document", "documents")


def _words(notice: Notice) -> str:
    return "".join(text for text, _ in notice.sentence)


def test_the_result_counts_what_was_added_replaced_and_there_already() -> None:
    (notice,) = load_report(Addition(Project("p"), 3, 1, 2), NOUN, (), ())
    assert (notice.level, notice.title) == ("info", "6 documents read")
    assert _words(notice).startswith("3 added, 1 replaced, 2 there already.")


@pytest.mark.parametrize(("own", "words"), [(True, "They are saved."), (False, "They live in this session")])
def test_the_result_says_where_the_material_is_kept(own: bool, words: str) -> None:
    (notice,) = load_report(Addition(Project("p"), 1), NOUN, (), (), own=own)
    assert words in _words(notice)


def test_what_was_forgotten_is_named_and_not_said_to_be_added() -> None:
    ids = ("m1", "x" * 200, *(f"n{number}" for number in range(SHOWN)))
    result, left_out = load_report(Addition(Project("p"), 1, forgotten=ids), ("memory", "memories"), (), ())
    assert result.title == "1 memory read"
    assert (left_out.level, left_out.title) == ("warning", f"{SHOWN + 2} memories left out")
    assert f"m1, {'x' * 80}…, n0" in _words(left_out)
    assert _words(left_out).endswith("and 2 more.")


def test_each_unreadable_file_is_named_with_its_remedy() -> None:
    error = DocumentError("a.pdf is a PDF, not text.", remedy="Export it as text.", name="a.pdf")
    (notice,) = load_report(None, NOUN, (), [error])
    assert (notice.level, notice.title) == ("error", "a.pdf was not loaded")
    assert _words(notice) == "a.pdf is a PDF, not text. Export it as text."


def test_warnings_share_one_notice() -> None:
    warnings = [LoadWarning("a.txt", "First."), LoadWarning("b.txt", "Second.")]
    notice = load_report(Addition(Project("p"), 2), NOUN, warnings, ())[1]
    assert (notice.level, notice.title) == ("warning", "2 things to know")
    assert _words(notice) == "a.txt: First. b.txt: Second."


def test_many_errors_and_warnings_are_cut_and_the_rest_is_counted() -> None:
    errors = [DocumentError(f"{i} is bad.", name=f"{i}") for i in range(SHOWN + 3)]
    warnings = [LoadWarning(f"{i}", "Odd.") for i in range(SHOWN + 1)]
    notices = load_report(None, NOUN, warnings, errors)
    assert len(notices) == SHOWN + 2
    assert notices[-1].title == "3 more files could not be read"
    assert _words(notices[0]).endswith("And 1 more warning.")


def test_nothing_given_says_what_to_do() -> None:
    (notice,) = load_report(None, NOUN, (), ())
    assert (notice.title, _words(notice)) == ("Nothing was added", "Choose files or paste text first.")


def test_the_last_notice_dismisses_all() -> None:
    error = DocumentError("bad", name="a")
    notices = load_report(Addition(Project("p"), 1), NOUN, (), [error])
    assert [len(notice.actions) for notice in notices] == [0, 1]
    assert (notices[1].actions[0].control, notices[1].actions[0].value) == (REPORT, None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("scan\u202efdp.exe", "scan\ufffdfdp.exe"),
        ("\u05e9\u05dc\u05d5\u05dd.txt", "\u2068\u05e9\u05dc\u05d5\u05dd.txt\u2069"),
        ("plain é.txt", "plain é.txt"),
    ],
)
def test_a_name_cannot_turn_the_words_around_it(name: str, shown: str) -> None:
    error = DocumentError(f"{name} is bad.", name=name)
    warned, failed = load_report(None, NOUN, [LoadWarning(name, "Odd.")], [error])
    assert _words(warned) == f"{shown}: Odd."
    assert failed.title == f"{shown} was not loaded"
    assert "\u202e" not in _words(failed)

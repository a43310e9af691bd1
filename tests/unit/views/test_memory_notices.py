"""What is asked before a memory is forgotten, and what came of it."""

from __future__ import annotations

from playground.errors import StaleRevisionError
from playground.views.memory_notices import forget_question, forgotten_notice, revised_notice, stale_notice
from playground.workspace import load_sample
from playground.workspace.memories import Forgetting, remember_memory, revise_memory

DEMO = load_sample("deploy-demo")


def _words(sentence: tuple[tuple[str, bool], ...]) -> str:
    return "".join(text for text, _ in sentence)


def test_the_question_counts_the_revisions_and_says_what_stays() -> None:
    project = remember_memory(DEMO, "One.", id="m", now=1)
    assert "its text, its vectors" in _words(forget_question(project.memories[-1], sample=False))
    project = revise_memory(project, "m", "Two.", expected_revision=1, now=2)
    words = _words(forget_question(project.memories[-1], sample=False))
    assert "its text in all 2 revisions" in words
    assert "exports kept in the project" in words
    assert "no import brings it back" in words
    assert "The sample itself" in _words(forget_question(project.memories[-1], sample=True))


def test_the_outcome_names_what_became_of_kept_files() -> None:
    outcome = Forgetting(
        DEMO,
        ("m",),
        vector_keys=(b"1", b"2"),
        rewritten=("exports/a.zip",),
        deleted=("exports/b.npz", "exports/c.npz"),
        left=("documents.jsonl",),
        pending=True,
    )
    notice = forgotten_notice(outcome, sample=False)
    words = _words(notice.sentence)
    assert notice.level == "warning"
    assert "the vectors of 2 texts" in words
    assert "exports/a.zip was rewritten without it." in words
    assert "exports/b.npz and exports/c.npz were deleted: they could not be rewritten." in words
    assert "documents.jsonl still holds the same text." in words
    assert "Another program holds the vector cache" in words


def test_many_files_are_cut_and_counted() -> None:
    outcome = Forgetting(DEMO, ("m",), rewritten=tuple(f"exports/{number}.md" for number in range(8)))
    notice = forgotten_notice(outcome, sample=True)
    assert notice.level == "info"
    assert "exports/4.md and 3 more files were rewritten" in _words(notice.sentence)
    assert "from this session" in _words(notice.sentence)


def test_a_stale_form_says_whose_turn_it_was() -> None:
    error = StaleRevisionError(record_id="m", expected_revision=2, actual_revision=4)
    words = _words(stale_notice(error).sentence)
    assert "opened at revision 2; somebody has written revision 4" in words
    assert _words(revised_notice(3).sentence) == (
        "It is at revision 3 now; the revisions before are in its history."
    )

"""What is asked before an item is taken out of a project, and what is said after."""

from __future__ import annotations

import pytest

from playground.retrieval.documents import Document
from playground.views.removal import REMOVABLE, removal_of, removed_notice
from playground.workspace import load_sample
from playground.workspace.additions import with_documents

DOCUMENTS, CHATS, SKILLS = REMOVABLE
BANK = load_sample("bank-support")
ROWS = {
    DOCUMENTS: BANK.documents[0].id,
    CHATS: f"{BANK.chats[0].chat_id}#7",
    SKILLS: BANK.skills[0].id,
}


@pytest.mark.parametrize(
    ("table", "label", "title", "goes"),
    [
        (DOCUMENTS, "Remove the document", "Internal: Opening Personal Checking Accounts", "with 1 chunk"),
        (CHATS, "Remove the chat", "Light Blue card lost on a train", "with all its 12 messages"),
        (SKILLS, "Remove the skill", "account-closure", "with its resources"),
    ],
)
def test_a_removal_says_what_goes_with_the_item_and_whether_it_comes_back(
    table: str, label: str, title: str, goes: str
) -> None:
    wanted = removal_of(BANK, table, ROWS[table], sample=True)
    assert (wanted.table, wanted.id, wanted.label) == (table, ROWS[table].removesuffix("#7"), label)
    end = " In this session only; the sample keeps it."
    assert wanted.question == ((title, True), (f" goes {goes}.{end}", False))
    own = removal_of(BANK, table, ROWS[table], sample=False)
    assert own.question == ((title, True), (f" goes {goes}. There is no way back.", False))
    assert removed_notice(own).sentence == ((title, True), (" is not in the project any more.", False))


def test_a_title_cannot_turn_the_question_around() -> None:
    project = with_documents(BANK, [Document("odd", "\u202ecod.exe", "text")]).project
    wanted = removal_of(project, DOCUMENTS, "odd", sample=True)
    assert "cod.exe" in wanted.question[0][0]
    assert "\u202e" not in wanted.question[0][0]

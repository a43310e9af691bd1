"""A project as tiles and tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from playground.memory import MemoryRecord
from playground.messages import Message
from playground.retrieval.documents import Document
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill
from playground.views.data import DataView, data_view, record_preview
from playground.views.data_tables import AddedIds, DataTable
from playground.views.embedding import cache_text, embedding_view, progress_text, stopped_notice
from playground.working_memory.snapshot import create_working_memory
from playground.workspace import ChunkSettings, Project, VectorTable
from playground.workspace.additions import with_documents, with_memories
from playground.workspace.embedding import embedded_texts

SCOPE = MemoryScope(user_id="ada")


def _project() -> Project:
    chats = (
        ChatRecord("now", SCOPE, (Message("user", "Help me."),)),
        ChatRecord(
            "then",
            SCOPE,
            (Message("system", "Be kind."), Message("user", "Hi."), Message("assistant", "Hello.")),
        ),
    )
    base = Project(
        name="demo",
        scope=SCOPE,
        question="Where is my card?",
        chats=chats,
        chat_titles={"then": "A greeting"},
        chat_id="now",
        skills=(Skill("greet", "Greet", "Says hello.", "Say hello to the person."),),
        working_memory=create_working_memory(scope="case", goal="Close it.", constraints=["Be brief."], now=0),
        chunking=ChunkSettings(size=20, overlap=0),
    )
    documents = [
        Document("a", "Alpha", "alpha " * 40, "a.md"),
        Document("b", "Beta", "beta"),
        Document("c", "C", "  "),
    ]
    remembered = with_memories(
        with_documents(base, documents).project, [{"id": "m", "text": "likes tea"}], now=86_400_000
    )
    return remembered.project


def _view(project: Project, *, limit: int = 1_000, added: AddedIds = frozenset()) -> DataView:
    return data_view(project, tokens=len, limit=limit, added=added)


def _table(view: DataView, name: str) -> DataTable:
    return next(table for table in view.tables if table.name == name)


def test_tiles_count_items_and_total_their_tokens() -> None:
    project = _project()
    tiles = {tile.label: (tile.value, tile.note) for tile in _view(project).tiles}
    assert tiles == {
        "Documents": ("3", f"{len(project.chunks)} chunks · 246 tokens"),
        "Memories": ("1", "9 tokens"),
        "Past chats": ("3", "2 chats · 17 tokens"),
        "Skills": ("1", "11 tokens"),
        "Working memory": ("2", _view(project).tables[4].total.partition(" · ")[2]),
    }


def test_a_documents_row_has_chunks_tokens_and_file() -> None:
    row = _table(_view(_project()), "Documents").frame.iloc[0]
    assert (row["Title"], row["Tokens"], row["File"], row["Note"]) == ("Alpha", 240, "a.md", "")
    assert row["Chunks"] > 1


def test_a_document_without_text_is_flagged() -> None:
    assert _table(_view(_project()), "Documents").frame.iloc[2]["Note"] == "nothing to search in"


def test_a_copy_is_named_after_the_first_even_across_kinds() -> None:
    project = with_memories(_project(), [{"id": "copy", "text": "beta"}], now=1).project
    view = _view(project)
    assert _table(view, "Memories").frame.iloc[1]["Note"] == "same text as b"
    assert _table(view, "Documents").frame.iloc[1]["Note"] == ""
    assert _table(view, "Memories").odd == "1 with a note"


def test_an_item_larger_than_the_budget_is_flagged() -> None:
    view = _view(_project(), limit=20)
    notes = _table(view, "Documents").frame["Note"]
    assert notes[0] == "larger than the budget of 20"
    assert notes[1] == ""


def test_the_chat_at_hand_says_so_and_system_messages_are_no_turns() -> None:
    frame = _table(_view(_project()), "Past chats").frame
    assert list(frame["Note"]) == ["the chat at hand", "", ""]
    assert list(frame["Chat"]) == ["now", "A greeting", "A greeting"]
    assert list(frame["Turn"]) == [1, 2, 3]


def test_added_items_come_first_and_say_so() -> None:
    project = with_documents(_project(), [Document("z", "Zeta", "zeta")]).project
    table = _table(_view(project, added=frozenset({("rag", "z")})), "Documents")
    assert table.ids == ("z", "a", "b", "c")
    assert list(table.frame["Note"]) == ["added", "", "", "nothing to search in"]


def test_every_turn_of_an_added_chat_says_so_and_another_kind_of_the_same_id_does_not() -> None:
    added: AddedIds = frozenset({("transcript", "then"), ("skills", "greet"), ("rag", "m"), ("memory", "a")})
    view = _view(_project(), added=added)
    chats = _table(view, "Past chats")
    assert [identifier.partition("#")[0] for identifier in chats.ids] == ["then", "then", "now"]
    assert list(chats.frame["Note"]) == ["added", "added", "the chat at hand"]
    assert list(_table(view, "Skills").frame["Note"]) == ["added"]
    assert list(_table(view, "Documents").frame["Note"]) == ["", "", "nothing to search in"]
    assert list(_table(view, "Memories").frame["Note"]) == [""]


def test_working_memory_says_which_lines_are_always_shown() -> None:
    frame = _table(_view(_project()), "Working memory").frame
    assert list(frame["Section"]) == ["goal", "constraints"]
    assert set(frame["Shown"]) == {"always"}


def test_an_empty_project_has_five_empty_tables() -> None:
    view = _view(Project(name="empty"))
    assert [tile.value for tile in view.tiles] == ["0"] * 5
    assert all(len(table.frame) == 0 for table in view.tables)


def test_a_document_is_previewed_with_borders_and_other_rows_as_they_are() -> None:
    project = _project()
    view = _view(project)
    document = record_preview(project, view.tables[0], 0, tokens=len, limit=1_000)
    assert sum(bool(piece.border) for piece in document.pieces) == view.tables[0].frame.iloc[0]["Chunks"]
    skill = record_preview(project, _table(view, "Skills"), 0, tokens=len, limit=1_000)
    assert (skill.title, skill.pieces[0].text, skill.total) == (
        "Greet",
        "Say hello to the person.",
        "24 tokens",
    )


def test_a_preview_counts_what_its_row_counts() -> None:
    project = _project()
    table = _table(_view(project), "Working memory")
    goal = record_preview(project, table, 0, tokens=len, limit=1_000)
    assert goal.total == f"{table.frame['Tokens'].iloc[0]} tokens"
    assert table.frame["Tokens"].iloc[0] > len(goal.pieces[0].text)


def test_texts_without_a_vector_of_the_chosen_model_are_missing() -> None:
    project = _project()
    texts = embedded_texts(project)
    rows = np.ones((len(texts) - 1, 1), dtype=np.float32)
    table = VectorTable.of(texts[1:], rows, model_id="m", weights_digest="w")
    half = embedding_view(replace(project, vectors=table), model="m")
    assert half.missing == texts[:1]
    assert not half.complete
    assert embedding_view(replace(project, vectors=table), model="other").missing == texts


@pytest.mark.parametrize(
    ("state", "done", "text"),
    [
        ("loading", 0, "Loading the model: once, about 10 seconds"),
        ("embedding", 0, "Embedding: 0 of 9 texts"),
        ("embedding", 4, "Embedding: 4 of 9 texts"),
        ("stopping", 4, "Stopping after this batch… 4 of 9 texts"),
    ],
)
def test_what_a_run_does_now_is_put_into_words(state: str, done: int, text: str) -> None:
    assert progress_text(state, done, 9) == text


def test_missing_vectors_are_counted_in_texts_and_in_the_chunks_they_concern() -> None:
    project = _project()
    again = with_documents(project, [Document("copy", project.documents[0].title, project.documents[0].text)])
    sentence = "".join(text for text, _ in embedding_view(again.project, model="m").sentence)
    texts, chunks = len(embedded_texts(again.project)), len(again.project.chunks)
    assert sentence == (
        f"{texts} of {texts} texts still need a vector of m, which concerns {chunks} of {chunks} chunks."
    )


def test_a_stopped_run_says_what_it_keeps() -> None:
    assert "".join(text for text, _ in stopped_notice(288, 700).sentence).startswith("288 of 700 texts have")
    assert "".join(text for text, _ in stopped_notice(0, 700).sentence) == "No text was embedded."


def test_the_cache_is_named_with_its_size() -> None:
    assert cache_text("~/v", 1_440_000) == "Vectors are kept in ~/v on this computer: 1.4 MB."
    assert cache_text("~/v", 0) == "Vectors will be kept in ~/v on this computer."


def test_a_name_cannot_turn_the_order_of_a_table_or_a_title() -> None:
    hostile = "report\u202efdp.exe"
    project = with_documents(Project(name="p"), [Document("d", hostile, "Text.", hostile)]).project
    view = _view(project)
    assert "\u202e" not in "".join(map(str, view.tables[0].frame.iloc[0]))
    preview = record_preview(project, view.tables[0], 0, tokens=len, limit=1_000)
    assert "\u202e" not in preview.title + preview.source


def test_a_memory_shows_its_newest_revision_and_the_day_it_was_recorded() -> None:
    project = with_memories(_project(), [{"id": "m", "text": "likes coffee"}], now=2 * 86_400_000).project
    row = _table(_view(project), "Memories").frame.iloc[0]
    assert (row["Memory"], row["Revision"], row["Recorded"]) == ("likes coffee", 2, "1970-01-03")
    assert isinstance(project.memories[0], MemoryRecord)


def test_half_a_character_is_replaced_in_tables_and_previews() -> None:
    half = "half \ud83d"
    project = Project(
        name="demo",
        title=half,
        chats=(ChatRecord(half, SCOPE, (Message("user", half),)),),
        skills=(Skill(half, half, half, half),),
        working_memory=create_working_memory(
            scope="case", tasks={"list": [{"id": half, "title": half}], "active_task_id": half}, now=0
        ),
    )
    project = with_documents(project, [Document(half, half, half, half)]).project
    view = _view(project)
    for table in view.tables:
        if table.ids:
            preview = record_preview(project, table, 0, tokens=len, limit=9)
            shown = (table.frame.to_dict(), table.keys, table.texts, table.total, preview)
            assert "\\ud83d" not in str(shown)
            assert "half \ufffd" in str(shown)
    assert [len(table.ids) for table in view.tables] == [1, 0, 1, 1, 1]


def test_rows_whose_ids_differ_in_half_a_character_have_keys_of_their_own() -> None:
    halves = [Document(f"d{half}", half, half) for half in ("\ud83d", "\udc00", "\ufffd")]
    table = _view(with_documents(Project(name="p"), halves).project).tables[0]
    assert len(set(table.keys)) == len(table.ids) == 3
    assert all(key.isascii() for key in table.keys)

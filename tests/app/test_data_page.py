"""The Data page, driven from the app's entry point without a browser."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from playground.app.embedding_job import EmbeddingJob
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.embedding_cache import EmbeddingCache
from playground.retrieval.user_cache import cache_path
from playground.workspace import Project, load_sample
from playground.workspace.library import default_library
from tests.app.driver import body, go_to, opened, panes, press, project_of
from tests.app.tables import table_of, tables_of
from tests.app.test_embedding_job import LengthModel, StepModel

HOSTILE = "</record></deuz_context><script>alert(1)</script> **bold** [link](x)"


@pytest.fixture
def app() -> AppTest:
    return opened("data", project="deploy-demo", search="lexical")


def _add(app: AppTest, kind: str, text: str) -> None:
    app.segmented_control(key="add_kind").set_value(kind).run()
    app.text_area(key="add_text").input(text)
    press(app, f"Add {kind.lower()}")


def _table(app: AppTest, kind: str) -> Any:
    app.segmented_control(key="data_kind").set_value(kind).run()
    assert not app.exception
    return table_of(app)


def _preview(app: AppTest) -> dict[str, Any]:
    return next(data for data in panes(app) if "pieces" in data)


def test_it_opens_on_the_projects_with_counts_totals_and_a_preview(app: AppTest) -> None:
    page = body(app)
    assert "Bank support" in page
    assert "Deploy demo" in page
    assert "<strong>2</strong>" in page
    assert "2 chunks · " in page
    assert list(table_of(app)["Title"]) == ["Release checklist", "Rolling back"]
    assert _preview(app)["pieces"][0]["border"].startswith("One chunk · ")


@pytest.mark.parametrize(("kind", "rows"), [("Documents", 2), ("Memories", 1), ("Working memory", 2)])
def test_each_kind_has_its_table(app: AppTest, kind: str, rows: int) -> None:
    assert len(_table(app, kind)) == rows


def test_a_table_gives_no_room_to_notes_that_no_row_has(app: AppTest) -> None:
    assert "Note" not in table_of(app)
    _add(app, "Documents", "# Billing\n\nShip the billing service.")
    assert list(table_of(app)["Note"]) == ["added", "", ""]


def test_the_marked_row_is_found_by_its_key_and_shows_its_text(app: AppTest) -> None:
    (table,) = (data for data in panes(app) if "columns" in data)
    assert table["selected"] == table["rows"][0]["key"]
    app.session_state["row_Documents"] = table["rows"][1]["key"]
    app.run()
    assert _preview(app)["title"] == "Rolling back"


def test_a_kind_without_records_says_so(app: AppTest) -> None:
    app.segmented_control(key="data_kind").set_value("Past chats").run()
    assert not tables_of(app)
    assert "This project holds no past chats." in body(app)


def test_an_empty_project_offers_a_sample_with_one_click() -> None:
    default_library().create("mine", Project("mine"))
    app = opened("data", project="mine")
    assert "This project holds no documents." in body(app)
    app.button(key="open_deploy-demo").click().run()
    assert app.selectbox(key="project").value == "deploy-demo"
    assert list(table_of(app)["Title"]) == ["Release checklist", "Rolling back"]


def test_a_copy_and_an_item_above_the_budget_are_flagged(app: AppTest) -> None:
    limit = load_sample("deploy-demo").budget.max_tokens
    assert limit
    huge = {"id": "huge", "text": "word " * limit}
    copies = [{"id": name, "text": "The window is on Friday."} for name in ("first", "second")]
    _add(app, "Memories", "\n".join(json.dumps(one) for one in (huge, *copies)))
    notes = dict(zip(_table(app, "Memories")["Id"], _table(app, "Memories")["Note"], strict=True))
    assert notes["huge"] == f"added, larger than the budget of {limit:,}"
    assert notes["first"] == "added"
    assert notes["second"] == "added, same text as first"


def test_pasted_documents_join_the_project_and_the_compile(app: AppTest) -> None:
    _add(
        app,
        "Documents",
        json.dumps({"id": "billing", "title": "Billing", "text": "How to ship the billing service."}),
    )
    assert list(table_of(app)["Note"]) == ["added", "", ""]
    assert "1 document read" in body(app)
    go_to(app, "compile")
    assert "How to ship the billing service." in json.dumps(panes(app))


def test_pasted_memories_join_the_project(app: AppTest) -> None:
    _add(app, "Memories", "The billing service has two replicas.\nAda is on call.")
    frame = _table(app, "Memories")
    assert list(frame["Memory"])[:2] == ["The billing service has two replicas.", "Ada is on call."]
    assert "2 memories read" in body(app)


def test_hostile_text_reaches_no_html(app: AppTest) -> None:
    _add(app, "Memories", HOSTILE)
    _add(app, "Documents", json.dumps({"id": HOSTILE, "title": HOSTILE, "text": HOSTILE}))
    page = body(app)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert HOSTILE in "".join(piece["text"] for piece in _preview(app)["pieces"])


def test_unreadable_text_is_named_with_a_remedy_and_nothing_else_is_lost(app: AppTest) -> None:
    _add(app, "Documents", '{"id": "x", "text": "first"}\n{"id": broken')
    assert "was not loaded" in body(app)
    assert list(table_of(app)["Title"]) == ["Release checklist", "Rolling back"]


def test_one_unreadable_upload_leaves_the_others(app: AppTest) -> None:
    app.file_uploader(key="add_files").set_value(
        [
            ("good.md", b"# Good\n\nText.", "text/markdown"),
            ("picture.txt", b"\x89PNG\r\n\x1a\n", "text/plain"),
            ("latin.txt", "Grüße aus München, schöne Äpfel und Öl".encode("latin-1"), "text/plain"),
        ]
    )
    press(app, "Add documents")
    assert list(table_of(app)["Title"])[:2] == ["Good", "latin"]
    page = body(app)
    assert "picture.txt was not loaded" in page
    assert "Export it as Markdown, text, HTML, PDF, DOCX, CSV, JSON or JSON Lines" in page
    assert "The file is not UTF-8" in page


def test_nothing_chosen_says_what_to_do(app: AppTest) -> None:
    _add(app, "Documents", "   ")
    assert "Choose files or paste text first." in body(app)


def test_changes_can_be_undone(app: AppTest) -> None:
    _add(app, "Documents", "Something new.")
    assert len(table_of(app)) == 3
    press(app, "Undo changes")
    assert len(table_of(app)) == 2


def test_a_notice_can_be_dismissed(app: AppTest) -> None:
    _add(app, "Documents", "Something new.")
    press(app, "Dismiss")
    assert "1 document read" not in body(app)


def test_opening_another_project_switches_everything(app: AppTest) -> None:
    app.button(key="open_bank-support").click().run()
    assert not app.exception
    assert len(table_of(app)) == 698
    assert app.session_state["project"] == "bank-support"
    assert "wallet" in app.session_state["question"]


def test_additions_belong_to_the_project_they_were_made_in(app: AppTest) -> None:
    _add(app, "Memories", "Only for the demo.")
    app.button(key="open_bank-support").click().run()
    assert "Only for the demo." not in list(_table(app, "Memories")["Memory"])
    app.button(key="open_deploy-demo").click().run()
    assert "Only for the demo." in list(_table(app, "Memories")["Memory"])


def test_the_embedding_panel_counts_what_has_no_vector_yet(app: AppTest) -> None:
    assert app.button(key="embed").disabled
    _add(app, "Documents", "Something new.")
    assert app.button(key="embed").label == "Embed 1 text"
    assert "found by words" in body(app)


def test_what_was_added_during_an_embedding_run_stays(app: AppTest) -> None:
    job = EmbeddingJob(load_sample("deploy-demo"), "length", load=lambda _: LengthModel())
    job.start()
    job.join(20)
    _add(app, "Memories", "Added while the run went on.")
    app.session_state["embedding_job"] = job
    app.run()
    assert not app.exception
    assert "Added while the run went on." in list(_table(app, "Memories")["Memory"])
    assert "a vector of length" in body(app)
    assert cache_path().exists()


def test_a_run_that_failed_is_explained_and_the_page_goes_on(app: AppTest) -> None:
    def load(name: str) -> LengthModel:
        raise EmbeddingUnavailableError(f"{name} cannot be fetched.", remedy="Search lexically.", model=name)

    job = EmbeddingJob(load_sample("deploy-demo"), "no-such-model", load=load)
    job.start()
    job.join(20)
    app.session_state["embedding_job"] = job
    app.run()
    assert "no-such-model cannot be fetched." in body(app)
    assert len(table_of(app)) == 2


def test_a_run_that_goes_on_shows_progress_and_can_be_cancelled(app: AppTest) -> None:
    gate = threading.Event()
    job = EmbeddingJob(load_sample("deploy-demo"), "length", load=lambda _: LengthModel(gate))
    job.start()
    app.session_state["embedding_job"] = job
    app.run()
    assert len(app.get("progress")) == 1
    app.button(key="cancel_embedding").click().run()
    gate.set()
    job.join(20)
    app.run()
    assert job.state == "cancelled"
    assert not app.exception
    assert app.button(key="embed").disabled


def test_clearing_the_cache_takes_the_button_with_it(app: AppTest) -> None:
    EmbeddingCache(cache_path()).close()
    os.truncate(cache_path(), 2_000_000)
    app.run()
    assert "on this computer: 2.0 MB." in body(app)
    app.button(key="clear_cache").click().run()
    assert not app.exception
    assert "Vectors will be kept in" in body(app)
    assert not any(button.key == "clear_cache" for button in app.button)
    assert not cache_path().exists()


def test_a_stopped_run_keeps_its_vectors_and_says_so(app: AppTest) -> None:
    texts = "\n".join(json.dumps({"id": f"n{at}", "text": f"Note {at}."}) for at in range(40))
    _add(app, "Documents", texts)
    model = StepModel()
    sample = load_sample("deploy-demo").vectors
    model.model_id, model.weights_digest, model.dims = sample.model_id, sample.weights_digest, sample.dims
    job = EmbeddingJob(project_of(app), model.model_id, load=lambda _: model)
    job.start()
    assert model.called.acquire(timeout=20)
    model.step()
    app.session_state["embedding_job"] = job
    app.run()
    assert app.get("progress")[0].proto.text == "Embedding: 0 of 40 texts"
    app.button(key="cancel_embedding").click().run()
    assert app.button(key="cancel_embedding").disabled
    assert app.get("progress")[0].proto.text.startswith("Stopping after this batch")
    model.allowed.release()
    job.join(20)
    app.run()
    assert "<b>16</b> of <b>40 texts</b> have a vector now" in body(app)
    assert app.button(key="embed").label == "Embed 24 texts"
    assert cache_path().exists()


def test_pasted_markdown_is_named_by_its_heading_like_a_file(app: AppTest) -> None:
    _add(app, "Documents", "Intro.\n\n# Shipping at night\n\nAsk first.")
    assert table_of(app)["Title"][0] == "Shipping at night"


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "text": "One."}]',
        '{"id": "a", "text": "One."}\n{"text": "2"}',
        "<!doctype html><title>a</title><p>One.",
    ],
)
def test_a_pasted_text_is_not_scolded_for_a_name_that_nobody_gave(app: AppTest, text: str) -> None:
    _add(app, "Documents", text)
    assert "thing to know" not in body(app)
    assert "things to know" not in body(app)


def test_files_of_every_kind_are_taken_and_a_damaged_one_leaves_the_others(app: AppTest) -> None:
    folder = Path(__file__).parents[1] / "data"
    files = [(name, (folder / name).read_bytes(), "") for name in ("leave.docx", "leave.pdf", "tides.html")]
    app.file_uploader(key="add_files").set_value([*files, ("scan.pdf", b"%PDF-1.7 torn", "application/pdf")])
    press(app, "Add documents")
    assert not app.exception
    titles = ["Leave policy", "Leave policy", "Tide tables for pilots"]
    assert list(table_of(app)["Title"])[:3] == titles
    assert "scan.pdf was not loaded" in body(app)


def test_an_uploaded_name_cannot_turn_the_words_around_it(app: AppTest) -> None:
    app.file_uploader(key="add_files").set_value([("scan\u202etxt.md", b"%PDF-1.7", "text/markdown")])
    press(app, "Add documents")
    assert "was not loaded" in body(app)
    assert "\u202e" not in body(app)

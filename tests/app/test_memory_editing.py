"""Memories on the Data page: seen in full, revised, forgotten without a trace in the process."""

from __future__ import annotations

import gc
import json
import threading
import time
from pathlib import Path
from types import FrameType

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from playground.app.data_memory import _form_name
from playground.app.embedding_job import EmbeddingJob
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache
from playground.retrieval.user_cache import cache_path
from playground.views.record_key import record_key
from playground.workspace import Project, VectorTable, load_sample
from playground.workspace.additions import with_vectors
from playground.workspace.library import ProjectLibrary, default_library
from playground.workspace.memories import remember_memory, revise_memory
from tests.app.driver import go_to, press, project_of, whole_body
from tests.app.test_embedding_job import LengthModel
from tests.app.test_own_projects import memories, opened

HOSTILE = "</p><script>alert(1)</script> **bold** \u202ecod.exe"
KIND = "Memories"


@pytest.fixture
def library() -> ProjectLibrary:
    made = default_library()
    project = load_sample("deploy-demo")
    project = remember_memory(project, "The window is on Friday.", id="window", now=_ms(), importance=0.5)
    made.create(
        "mine", revise_memory(project, "window", "The window is on Monday.", expected_revision=1, now=_ms())
    )
    return made


def _ms() -> int:
    return time.time_ns() // 1_000_000


def picked(app: AppTest, record_id: str) -> AppTest:
    """Open the table of memories and mark one."""
    app.segmented_control(key="data_kind").set_value(KIND).run()
    app.session_state["row_Memories"] = record_key(KIND, record_id)
    app.run()
    assert not app.exception
    return app


def editing(app: AppTest, record_id: str, revision: int) -> AppTest:
    """Open the form of a memory that is at this revision."""
    picked(app, record_id)
    app.session_state[f"{_form_name(app.session_state['project'], record_id, revision)}_open"] = True
    app.run()
    assert not app.exception
    return app


def box(app: AppTest, ending: str) -> str:
    """The key of the form's field."""
    found = [element.key for element in (*app.text_area, *app.selectbox, *app.number_input)]
    return next(str(key) for key in found if str(key).startswith("memory_") and str(key).endswith(ending))


def write(app: AppTest, text: str) -> None:
    app.text_area(key=box(app, "_text")).set_value(text)


def save(app: AppTest) -> None:
    press(app, next(button.label for button in app.button if button.label.startswith("Save as revision")))


def texts_of(library: ProjectLibrary, record_id: str = "window") -> list[str]:
    record = {record.id: record for record in library.load("mine").memories}[record_id]
    return [revision.text for revision in record.revisions]


# Seeing


def test_the_picked_memory_shows_its_text_fields_and_history(library: ProjectLibrary) -> None:
    page = whole_body(picked(opened("mine"), "window"))
    assert "<b>window</b><span>2 revisions · " in page
    for field in ("semantic", "asserted", "0.50", "always", "never", "user ada"):
        assert f"<dd>{field}</dd>" in page
    assert "Revision 2" in page
    assert "<del>Friday.</del><ins>Monday.</ins>" in page
    assert "<span>The window is on Friday.</span>" in page


def test_hostile_memories_reach_no_markup(library: ProjectLibrary) -> None:
    library.change("mine", lambda project: remember_memory(project, HOSTILE, id=HOSTILE, now=_ms()))
    page = whole_body(picked(opened("mine"), HOSTILE))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


# Revising


def test_a_revision_is_saved_with_its_fields_and_stands_in_the_history(library: ProjectLibrary) -> None:
    app = editing(opened("mine"), "window", 2)
    write(app, "The window is on Tuesday.")
    app.selectbox(key=box(app, "_kind")).set_value("procedural")
    app.number_input(key=box(app, "_importance")).set_value(0.75)
    save(app)
    assert "The memory was revised" in whole_body(app)
    assert "<del>Monday.</del><ins>Tuesday.</ins>" in whole_body(app)
    assert "kind: semantic → procedural" in whole_body(app)
    latest = {record.id: record for record in library.load("mine").memories}["window"].latest
    assert (latest.revision, latest.text, latest.kind, latest.importance) == (
        3,
        "The window is on Tuesday.",
        "procedural",
        0.75,
    )
    assert "The window is on Tuesday." in memories(opened("mine"))


def test_times_that_the_form_cannot_show_stay_as_they_are(library: ProjectLibrary) -> None:
    odd = 10**17
    library.change(
        "mine",
        lambda project: revise_memory(
            project, "window", "Odd.", expected_revision=2, now=_ms(), expires_at=odd
        ),
    )
    app = editing(opened("mine"), "window", 3)
    write(app, "Odd, but revised.")
    save(app)
    latest = {record.id: record for record in library.load("mine").memories}["window"].latest
    assert (latest.text, latest.expires_at) == ("Odd, but revised.", odd)


def test_a_form_that_says_nothing_new_saves_nothing(library: ProjectLibrary) -> None:
    app = editing(opened("mine"), "window", 2)
    save(app)
    assert "The memory says this already." in whole_body(app)
    assert len(texts_of(library)) == 2


def test_a_blank_text_is_refused_in_words(library: ProjectLibrary) -> None:
    app = editing(opened("mine"), "window", 2)
    write(app, "   ")
    save(app)
    assert "Something was entered that cannot be used" in whole_body(app)
    assert len(texts_of(library)) == 2


def test_a_stale_form_overwrites_nothing_and_keeps_what_was_written(library: ProjectLibrary) -> None:
    app = editing(opened("mine"), "window", 2)
    library.change(
        "mine", lambda project: revise_memory(project, "window", "Theirs.", expected_revision=2, now=_ms())
    )
    write(app, "Ours.")
    save(app)
    shown = [element.proto.body if element.type == "html" else element.key or "" for element in app.main]
    said = next(at for at, part in enumerate(shown) if "Somebody else revised it first" in part)
    assert said < shown.index(box(app, "_text"))  # the form lies over what is below its button
    assert texts_of(library)[-1] == "Theirs."
    assert app.text_area(key=box(app, "_text")).value == "Ours."
    save(app)
    assert texts_of(library)[-2:] == ["Theirs.", "Ours."]


def test_a_sample_is_revised_for_the_session_alone() -> None:
    app = editing(opened(), "region", 1)
    write(app, "Everything runs in the north.")
    save(app)
    assert "Everything runs in the north." in memories(app)
    assert "Everything runs in the north." not in memories(opened())


# Forgetting


def secret() -> str:
    """A text that stands in no file: neither this one nor what Python keeps of it has it."""
    return "3719-esarhpssap-akkouq"[::-1]


def holders() -> list[str]:
    """Say what in this process refers to a string that holds the secret; frames that run are left out.

    Of what the collector does not track, such as a dictionary of strings, what it refers to is looked at, too.
    """
    gc.collect()
    text, data = secret(), secret().encode()
    found: list[str] = []
    seen: set[int] = set()
    waiting = [one for one in gc.get_objects() if not isinstance(one, FrameType)]
    while waiting:
        holder = waiting.pop()
        for value in gc.get_referents(holder):
            if (isinstance(value, str) and text in value) or (isinstance(value, bytes) and data in value):
                found.append(f"{type(holder).__module__}.{type(holder).__name__}: {value[:80]!r}")
            elif not gc.is_tracked(value) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
    return found


def test_the_search_for_traces_finds_one_where_there_is_one() -> None:
    assert holders() == []
    kept = [{"somewhere": f"{secret()} and more"}]
    assert any("and more" in found for found in holders())
    assert kept


def test_nothing_of_a_forgotten_text_stays_in_the_process_or_in_the_folder(library: ProjectLibrary) -> None:
    library.change("mine", lambda project: remember_memory(project, f"{secret()}.", id="secret", now=_ms()))
    app = editing(opened("mine"), "secret", 1)
    write(app, f"{secret()}, or so.")
    save(app)
    editing(app, "secret", 2)
    go_to(app, "explain")
    go_to(app, "compile")
    app.text_input(key="question").set_value("What is the passphrase?").run()
    go_to(app, "data")
    editing(app, "secret", 2)
    assert secret() in whole_body(app)
    assert holders()
    library.keep_export("mine", "before.md", f"- {secret()}.\n".encode())
    press(app, "Forget it for good")
    page = whole_body(app)
    assert "Forgotten" in page
    assert "exports/before.md was rewritten without it" in page
    assert secret() not in page
    assert "secret" not in [record.id for record in library.load("mine").memories]
    go_to(app, "compile")
    go_to(app, "data")
    assert secret() not in repr(app.session_state)
    assert holders() == []
    for path in library.root.rglob("*"):
        assert path.is_dir() or secret().encode() not in path.read_bytes(), path


def test_other_sessions_of_the_process_let_go_of_it_too(library: ProjectLibrary) -> None:
    library.change("mine", lambda project: remember_memory(project, f"{secret()}!", id="secret", now=_ms()))
    other, app = picked(opened("mine"), "secret"), picked(opened("mine"), "secret")
    press(app, "Forget it for good")
    other.run()
    assert secret() not in whole_body(other)
    go_to(other, "compile")
    assert holders() == []


def test_its_vectors_leave_the_project_and_the_cache_of_this_computer(library: ProjectLibrary) -> None:
    model = LengthModel()
    texts = [f"{secret()} one", "The window is on Monday."]
    rows = model.embed(texts)

    def embedded(project: Project) -> Project:
        project = remember_memory(project, texts[0], id="secret", now=_ms())
        table = VectorTable.of(texts, rows, model_id=model.model_id, weights_digest=model.weights_digest)
        return with_vectors(project, table)

    library.change("mine", embedded)
    cache = EmbeddingCache(cache_path())
    CachedEmbedder(model, cache).embed(texts)
    cache.close()
    app = picked(opened("mine"), "secret")
    press(app, "Forget it for good")
    assert "with the vectors of <b>1 text</b>" in whole_body(app)
    assert texts[0] not in library.load("mine").vectors
    assert texts[1] in library.load("mine").vectors
    cache = EmbeddingCache(cache_path())
    again = LengthModel()
    CachedEmbedder(again, cache).embed(texts)
    cache.close()
    assert again.asked == [texts[0]]


def test_an_import_of_a_forgotten_memory_does_not_bring_it_back(library: ProjectLibrary) -> None:
    app = picked(opened("mine"), "window")
    press(app, "Forget it for good")
    app.segmented_control(key="add_kind").set_value(KIND).run()
    app.text_area(key="add_text").input(json.dumps({"id": "window", "text": "The window is on Monday."}))
    press(app, "Add memories")
    assert "The window is on Monday." not in memories(app)
    assert "window" in whole_body(app)


def test_a_sample_forgets_for_the_session_and_says_that_it_keeps_it_itself() -> None:
    app = picked(opened(), "region")
    assert "The sample itself comes with the package and keeps it." in whole_body(app)
    press(app, "Forget it for good")
    assert "Its text is gone from this session" in whole_body(app)
    assert "This project holds no memories." in whole_body(app)
    assert [stone.id for stone in project_of(app).forgotten] == ["region"]
    assert len(memories(opened())) == 1


def test_forgetting_waits_for_an_embedding_that_holds_the_text(library: ProjectLibrary) -> None:
    app = picked(opened("mine"), "window")
    gate = threading.Event()
    job = EmbeddingJob(library.load("mine"), "length", load=lambda _: LengthModel(gate))
    job.start()
    press(app, "Forget it for good")
    assert "Cancel the embedding, or wait for its end, and forget then." in whole_body(app)
    assert len(texts_of(library)) == 2
    gate.set()
    job.join(20)
    press(app, "Forget it for good")
    assert "Its text is gone from the project" in whole_body(app)


@pytest.fixture(autouse=True)
def _no_caches_of_other_tests() -> None:
    st.cache_resource.clear()


def test_every_cache_of_the_app_that_holds_material_can_be_dropped() -> None:
    """A cache made with Streamlit's own decorator is none that ``drop_material`` empties."""
    own = ["embedder", "sample", "shelf", "shipped_summaries", "tokenizer"]
    folder = Path(__file__).parents[2] / "playground" / "app"
    found: list[str] = []
    for path in folder.rglob("*.py"):
        lines = path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines):
            if line.startswith("@st.cache"):
                found.append(lines[number + 1].removeprefix("def ").partition("(")[0].strip("_"))
    assert sorted(found) == own

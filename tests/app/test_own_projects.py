"""Own projects in the app: saved, opened by everybody, kept over a reload, deleted."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from playground.workspace import load_sample
from playground.workspace.archive import pack_project
from playground.workspace.library import ProjectLibrary, default_library
from playground.workspace.memories import remember_memory
from tests.app import driver
from tests.app.driver import press, whole_body
from tests.app.tables import table_of


@pytest.fixture
def library() -> ProjectLibrary:
    return default_library()


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def opened(project: str = "deploy-demo") -> AppTest:
    """Open the Data page on a project."""
    return driver.opened("data", project=project, search="lexical")


def add(app: AppTest, kind: str, text: str) -> None:
    app.segmented_control(key="add_kind").set_value(kind).run()
    app.text_area(key="add_text").input(text)
    press(app, f"Add {kind.lower()}")


def memories(app: AppTest) -> list[str]:
    app.segmented_control(key="data_kind").set_value("Memories").run()
    return list(table_of(app)["Memory"])


def save_as(app: AppTest, name: str, *, of: str = "deploy-demo", title: str = "") -> None:
    app.text_input(key=f"save_name_{of}").set_value(name)
    if title:
        app.text_input(key=f"save_title_{of}").set_value(title)
    press(app, "Save as a project")


def saved(app: AppTest, name: str = "mine") -> AppTest:
    save_as(app, name)
    assert app.session_state["project"] == name
    return app


# Saving


def test_a_sample_with_its_changes_becomes_an_own_project_and_the_sample_is_as_it_came(
    library: ProjectLibrary,
) -> None:
    app = opened()
    add(app, "Memories", "The billing service has two replicas.")
    save_as(app, "billing", title="Billing")
    assert app.session_state["project"] == "billing"
    assert "The billing service has two replicas." in memories(app)
    assert "Every change to it is saved at once. The sample is as it came again." in whole_body(app)
    project = library.load("billing")
    assert project.title == "Billing"
    assert [record.latest.text for record in project.memories][-1] == "The billing service has two replicas."
    app.button(key="open_deploy-demo").click().run()
    assert "The billing service has two replicas." not in memories(app)


def test_the_name_offered_is_free(library: ProjectLibrary) -> None:
    library.create("deploy-demo-2", load_sample("deploy-demo"))
    app = opened()
    assert app.text_input(key="save_name_deploy-demo").value == "deploy-demo-3"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Mine!", "cannot be the name of a project. Use 1 to 64 small letters"),
        ("../up", "cannot be the name of a project"),
        ("bank-support", "is the name of a sample project. Choose another name."),
        ("taken", "There is a project &#x27;taken&#x27; already."),
        ("", "cannot be the name of a project"),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_words_and_nothing_changes(
    name: str, words: str, library: ProjectLibrary
) -> None:
    library.create("taken", load_sample("deploy-demo"))
    app = opened()
    add(app, "Memories", "Still here.")
    save_as(app, name)
    assert "The project was not saved" in whole_body(app)
    assert words in whole_body(app)
    assert app.session_state["project"] == "deploy-demo"
    assert "Still here." in memories(app)
    assert library.names() == ("taken",)


def test_every_change_of_an_own_project_is_on_disk_and_a_reload_keeps_it(library: ProjectLibrary) -> None:
    app = saved(opened())
    add(app, "Documents", "# Night shipping\n\nAsk first.")
    add(app, "Memories", "Ada is on call.")
    project = library.load("mine")
    assert "Night shipping" in [document.title for document in project.documents]
    again = opened("mine")
    assert "Ada is on call." in memories(again)
    assert again.selectbox(key="project").value == "mine"


def test_edits_of_the_working_memory_of_an_own_project_are_saved(library: ProjectLibrary) -> None:
    app = saved(opened())
    before = library.load("mine").working_memory
    driver.go_to(app, "working_memory")
    box = next(area for area in app.text_area if str(area.key).startswith("add_text_"))
    box.set_value("Never on Fridays.").run()
    press(app, next(button.label for button in app.button if str(button.key).startswith("add_button_")))
    after = library.load("mine").working_memory
    assert before is not None
    assert after is not None
    assert after.revision == before.revision + 1
    assert "Never on Fridays." in [item.text for item in after.decisions]


# Sharing


def test_a_change_by_another_program_is_seen_at_the_next_run_and_nobodys_is_lost(
    library: ProjectLibrary,
) -> None:
    app, other = saved(opened()), opened("mine")
    library.change("mine", lambda project: remember_memory(project, "By the command line.", now=1))
    add(other, "Memories", "By the other session.")
    add(app, "Memories", "By this session.")
    everything = {"By the command line.", "By the other session.", "By this session."}
    assert everything <= set(memories(app))
    other.run()
    assert everything <= set(memories(other))


def test_own_projects_stand_before_the_samples_and_a_link_without_a_project_opens_a_sample(
    library: ProjectLibrary,
) -> None:
    library.create("a-first", load_sample("deploy-demo"))
    app = driver.opened(search="lexical")
    assert app.selectbox(key="project").options[0] == "a-first"
    assert app.selectbox(key="project").value == "bank-support"


def test_a_link_to_a_project_that_does_not_exist_is_named_and_the_default_is_opened() -> None:
    app = driver.opened(project="never-was", search="lexical")
    assert "A value in the link was not used" in whole_body(app)
    assert "<b>never-was</b>" in whole_body(app)
    assert app.selectbox(key="project").value == "bank-support"


def test_titles_are_listed_without_loading_a_project(
    library: ProjectLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.create("other", replace(load_sample("deploy-demo"), title="Quite another"))
    app = opened()
    loaded: list[str] = []
    load = ProjectLibrary.load

    def counted(self: ProjectLibrary, name: str) -> object:
        loaded.append(name)
        return load(self, name)

    monkeypatch.setattr(ProjectLibrary, "load", counted)
    app.run()
    assert "Quite another" in whole_body(app)
    assert loaded == []


def test_a_project_that_was_deleted_elsewhere_is_named_and_a_sample_is_opened(library: ProjectLibrary) -> None:
    app = saved(opened())
    library.delete("mine")
    app.run()
    assert "The open project is gone" in whole_body(app)
    assert "A value in the link was not used" not in whole_body(app)
    assert app.session_state["project"] == "bank-support"
    press(app, "Dismiss")
    assert "The open project is gone" not in whole_body(app)


def test_a_damaged_own_project_is_listed_with_what_is_wrong(library: ProjectLibrary) -> None:
    library.create("torn", load_sample("deploy-demo"))
    (library.root / "torn" / "project.json").write_text("{")
    app = opened()
    assert "project.json" in whole_body(app)
    assert not any(button.key == "open_torn" for button in app.button)


def test_a_hostile_title_and_description_reach_no_markup_and_turn_nothing_around(
    library: ProjectLibrary,
) -> None:
    library.create("odd", load_sample("deploy-demo"))
    hostile = "<script>alert(1)</script> \u202ecod.exe \ud83d"
    file = library.root / "odd" / "project.json"
    head = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**head, "title": hostile, "description": hostile}))
    app = opened("odd")
    for page in (whole_body(app), whole_body(opened())):
        assert "&lt;script&gt;" in page
        assert "<script>" not in page
        assert "\u202e" not in page
    press(app, "Delete the project")
    assert library.names() == ()


def test_a_folder_that_cannot_be_read_leaves_the_samples(library: ProjectLibrary) -> None:
    library.root.parent.mkdir(parents=True)
    library.root.write_text("a file where the folder should be")
    app = opened()
    assert len(table_of(app)) == 2
    assert "The project cannot be used" in whole_body(app)


# Deleting


def test_deleting_asks_tells_what_goes_and_opens_a_sample(library: ProjectLibrary) -> None:
    app = saved(opened())
    assert "goes from this computer with 2 documents, 1 memory and everything else" in whole_body(app)
    press(app, "Delete the project")
    assert library.names() == ()
    assert app.session_state["project"] == "bank-support"
    assert "The project was deleted" in whole_body(app)
    assert "A value in the link was not used" not in whole_body(app)
    assert "mine" not in app.selectbox(key="project").options


def test_samples_cannot_be_deleted() -> None:
    app = opened()
    assert not any(button.label == "Delete the project" for button in app.button)


# Taking projects elsewhere and back


def uploaded(app: AppTest, file_name: str, data: bytes) -> None:
    project = app.session_state["project"]
    app.file_uploader(key=f"import_file_{project}").set_value([(file_name, data, "application/zip")])
    press(app, "Import as a project")


def test_an_export_is_offered_in_three_forms_when_it_is_asked_for(library: ProjectLibrary) -> None:
    app = saved(opened())
    assert not app.get("download_button")
    app.session_state["export_mine"] = True
    app.run()
    labels = [button.proto.label for button in app.get("download_button")]
    assert [label.rpartition(",")[0] for label in labels] == [
        "The project",
        "Its memories as JSON Lines",
        "Its memories as Markdown files",
    ]


def test_a_copy_is_kept_beside_an_own_project_and_can_be_removed(library: ProjectLibrary) -> None:
    app = saved(opened())
    app.session_state["export_mine"] = True
    app.run()
    press(app, "Keep a copy with the project")
    (kept,) = library.exports("mine")
    assert library.read_export("mine", kept.name) == pack_project(library.load("mine"))
    assert any(kept.name in button.proto.label for button in app.get("download_button"))
    app.button(key=f"drop_{kept.name}").click().run()
    assert not app.exception
    assert library.exports("mine") == ()


def test_no_copy_is_kept_of_a_sample() -> None:
    app = opened()
    app.session_state["export_deploy-demo"] = True
    app.run()
    assert app.get("download_button")
    assert not any(button.key == "keep_export" for button in app.button)


def test_an_exported_project_is_imported_under_a_free_name_with_all_it_holds(library: ProjectLibrary) -> None:
    app = saved(opened())
    add(app, "Memories", "Travels in the file.")
    data = pack_project(library.load("mine"))
    uploaded(app, "mine.zip", data)
    assert app.session_state["project"] == "mine-2"
    assert "Deploy demo was imported" in whole_body(app)
    assert "Travels in the file." in memories(app)
    assert pack_project(library.load("mine-2")) == data


def test_what_was_forgotten_is_in_no_export_and_stays_forgotten_where_it_is_imported(
    library: ProjectLibrary,
) -> None:
    app = saved(opened())
    app.segmented_control(key="data_kind").set_value("Memories").run()
    press(app, "Forget it for good")
    data = pack_project(library.load("mine"))
    uploaded(app, "again.zip", data)
    assert app.session_state["project"] == "again"
    assert "This project holds no memories." in whole_body(app)
    add(app, "Memories", '{"id": "region", "text": "Releases of every service run in the eu-west region."}')
    assert "This project holds no memories." in whole_body(app)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not a zip file"),
        (b"no archive at all", "is not a zip file"),
        (zipped({"../up.txt": b"x", "project.json": b"{}"}), "points outside the archive"),
        (zipped({"/etc/up": b"x", "project.json": b"{}"}), "points outside the archive"),
        (zipped({"project.json": b"{}"}), "there is no project.json"),
        (zipped({"notes.txt": b"x"}), "holds no project.json"),
        (zipped({"project.json": b"{}", "documents.jsonl": b"\0" * 20_000_000}), "far more than it is"),
    ],
)
def test_a_file_that_is_no_project_is_refused_in_words_and_nothing_is_left(
    data: bytes, words: str, library: ProjectLibrary
) -> None:
    app = opened()
    uploaded(app, "odd.zip", data)
    page = whole_body(app)
    assert "The file was not imported" in page
    assert words in page
    assert app.session_state["project"] == "deploy-demo"
    assert library.names() == ()


def test_importing_nothing_says_what_to_do() -> None:
    app = opened()
    press(app, "Import as a project")
    assert "Choose a ZIP file first." in whole_body(app)


def test_the_name_of_a_file_becomes_a_name_that_is_allowed(library: ProjectLibrary) -> None:
    app = opened()
    uploaded(app, "Größe & Ähnliches (2).ZIP", pack_project(load_sample("deploy-demo")))
    assert library.names() == ("grosse-ahnliches-2",)


# Removing


@pytest.mark.parametrize(
    ("kind", "label", "left"),
    [
        ("Documents", "Remove the document", 1),
        ("Past chats", "Remove the chat", None),
        ("Skills", "Remove the skill", None),
    ],
)
def test_an_item_is_taken_out_after_a_question(
    kind: str, label: str, left: int | None, library: ProjectLibrary
) -> None:
    library.create("bank", load_sample("bank-support" if left is None else "deploy-demo"))
    app = opened("bank")
    app.segmented_control(key="data_kind").set_value(kind).run()
    before = library.load("bank")
    assert "There is no way back." in whole_body(app)
    press(app, label)
    after = library.load("bank")
    assert " is not in the project any more." in whole_body(app)
    parts = {"Documents": "documents", "Past chats": "chats", "Skills": "skills"}
    assert len(getattr(after, parts[kind])) == len(getattr(before, parts[kind])) - 1
    assert [chunk.index for chunk in after.chunks if chunk in before.chunks] == [
        chunk.index for chunk in after.chunks
    ]


def test_the_last_document_can_be_removed_and_the_notice_stays(library: ProjectLibrary) -> None:
    app = saved(opened())
    press(app, "Remove the document")
    press(app, "Remove the document")
    assert "This project holds no documents." in whole_body(app)
    assert " is not in the project any more." in whole_body(app)
    assert library.load("mine").documents == ()
    next(button for button in app.button if str(button.key).startswith("act_record_")).click().run()
    assert " is not in the project any more." not in whole_body(app)


def test_what_is_removed_from_a_sample_comes_back_with_undo() -> None:
    app = opened()
    assert "In this session only; the sample keeps it." in whole_body(app)
    press(app, "Remove the document")
    assert len(table_of(app)) == 1
    press(app, "Undo changes")
    assert len(table_of(app)) == 2


def test_working_memory_is_changed_on_its_own_page() -> None:
    app = opened()
    app.segmented_control(key="data_kind").set_value("Working memory").run()
    labels = [link.proto.label for link in app.get("page_link")]
    assert "Change it on the Working memory page" in labels

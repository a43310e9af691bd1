"""Chats and skills taken in on the Data page: uploaded and pasted, in a sample and in an own project."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from playground.scope import MemoryScope
from playground.sources import SkillRegistry
from playground.workspace import Project
from playground.workspace.library import default_library
from tests.app.driver import body, go_to, opened, panes, press
from tests.app.tables import table_of, tables_of

HOSTILE = "</record><script>alert(1)</script> **bold**\u202e"
SKILL = "---\nname: card-freeze\ndescription: Freezes a payment card.\n---\nFreeze it.\n"
CALL = {"id": "c1", "type": "function", "function": {"name": "freeze", "arguments": '{"card": 7}'}}
CHAT = [
    {"role": "user", "content": "Please freeze my card."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "frozen"},
]


def page(project: str = "deploy-demo") -> AppTest:
    app = opened("data", project=project, search="lexical")
    assert not app.exception
    return app


def choose(app: AppTest, kind: str) -> None:
    app.segmented_control(key="add_kind").set_value(kind).run()


def paste(app: AppTest, kind: str, text: str) -> None:
    choose(app, kind)
    app.text_area(key="add_text").input(text)
    press(app, f"Add {kind.lower()}")


def upload(app: AppTest, kind: str, *files: tuple[str, bytes]) -> None:
    choose(app, kind)
    app.file_uploader(key="add_files").set_value([(name, data, "") for name, data in files])
    press(app, f"Add {kind.lower()}")


def table(app: AppTest, kind: str) -> Any:
    app.segmented_control(key="data_kind").set_value(kind).run()
    assert not app.exception
    return table_of(app)


def packed(*files: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture
def own_project() -> str:
    default_library().create("mine", Project("mine", title="Mine", scope=MemoryScope(user_id="ada")))
    return "mine"


def test_pasted_chats_become_turns_with_their_tool_calls_in_one() -> None:
    app = page()
    paste(app, "Chats", json.dumps(CHAT))
    assert "1 chat read" in body(app)
    turns = table(app, "Past chats")
    assert list(turns["Text"]) == ["Please freeze my card.", '[freeze] {"card":7}\nfrozen']
    assert list(turns["Note"]) == ["added", "added"]


def test_the_same_chat_pasted_again_is_there_already() -> None:
    app = page()
    paste(app, "Chats", json.dumps(CHAT))
    paste(app, "Chats", json.dumps({"messages": CHAT}))
    assert "<b>0</b> added, <b>1</b> there already" in body(app)
    assert len(table(app, "Past chats")) == 2


def test_uploaded_chats_are_offered_in_a_compile() -> None:
    app = page()
    lines = "\n".join(json.dumps({"messages": CHAT}) for _ in range(2))
    upload(app, "Chats", ("log.jsonl", lines.encode()))
    assert "2 chats read" in body(app)
    go_to(app, "compile")
    app.text_input(key="question").set_value("freeze my card").run()
    assert "Please freeze my card." in str(panes(app))


def test_one_bad_chat_log_is_named_with_its_line_and_the_others_join() -> None:
    app = page()
    bad = json.dumps({"messages": CHAT}) + '\n{"messages": [{"role": "bot", "content": "x"}]}'
    upload(app, "Chats", ("bad.jsonl", bad.encode()), ("good.json", json.dumps(CHAT).encode()))
    shown = body(app)
    assert "1 chat read" in shown
    assert "bad.jsonl was not loaded" in shown
    assert "bad.jsonl, line 2, message 1" in shown


@pytest.mark.parametrize("kind", ["Documents", "Memories", "Chats", "Skills"])
def test_a_file_of_any_name_is_told_what_to_do_with_it(kind: str) -> None:
    """What the page would not even take could not name its remedy (a legacy .doc, for example)."""
    app = page()
    upload(
        app,
        kind,
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
        ("program", b"\x7fELF" + bytes(99)),
    )
    assert not app.exception
    shown = body(app)
    assert "old.doc" in shown
    assert "program" in shown
    assert "was not loaded" in shown
    if kind == "Documents":
        assert "Save it as DOCX and load that." in shown


def test_documents_are_told_by_their_content_and_not_by_their_name() -> None:
    app = page()
    upload(
        app,
        "Documents",
        ("letter", b"# Berths\n\nQuay nine is for tugs."),
        ("notes.rst", b"Tugs\n====\n\nThey pull."),
    )
    assert "2 documents read" in body(app)


def test_a_call_without_a_result_is_told_of() -> None:
    app = page()
    paste(app, "Chats", json.dumps(CHAT[:2]))
    assert "1 thing to know" in body(app)
    assert "has no result" in body(app)


def test_a_pasted_skill_joins_the_catalogue() -> None:
    app = page()
    paste(app, "Skills", SKILL)
    assert "1 skill read" in body(app)
    shown = table(app, "Skills")
    assert (list(shown["Skill"]), list(shown["Note"])) == (["card-freeze"], ["added"])


def test_an_uploaded_archive_keeps_its_resources_when_the_project_is_saved(own_project: str) -> None:
    app = page(own_project)
    data = packed(("pack/card-freeze/SKILL.md", SKILL.encode()), ("pack/card-freeze/data/form.txt", b"form"))
    upload(app, "Skills", ("pack.zip", data))
    assert "1 skill read" in body(app)
    assert "They are saved." in body(app)
    registry = SkillRegistry(default_library().load(own_project).skills)
    assert registry.read_resource("card-freeze", "data/form.txt") == b"form"


def test_a_hostile_archive_changes_nothing_and_the_other_file_joins() -> None:
    app = page()
    evil = packed(("a/SKILL.md", SKILL.encode()), ("xx/evil.txt", b"x")).replace(
        b"xx/evil.txt", b"../evil.txt"[:11]
    )
    upload(app, "Skills", ("evil.zip", evil), ("good.md", SKILL.encode()))
    shown = body(app)
    assert "evil.zip was not loaded" in shown
    assert "points outside" in shown
    assert list(table(app, "Skills")["Skill"]) == ["card-freeze"]


def test_chats_of_an_own_project_are_on_disk_at_once(own_project: str) -> None:
    app = page(own_project)
    paste(app, "Chats", json.dumps({"chatId": "c-1", "title": "Cards", "messages": CHAT}))
    saved = default_library().load(own_project)
    assert [chat.chat_id for chat in saved.chats] == ["c-1"]
    assert saved.chat_titles == {"c-1": "Cards"}
    assert saved.chats[0].scope == saved.scope


@pytest.mark.parametrize("kind", ["Chats", "Skills"])
def test_nothing_given_says_what_to_do(kind: str) -> None:
    app = page()
    choose(app, kind)
    press(app, f"Add {kind.lower()}")
    assert "Choose files or paste text first." in body(app)


def test_hostile_text_of_chats_and_skills_reaches_no_html() -> None:
    app = page()
    paste(
        app,
        "Chats",
        json.dumps({"chatId": HOSTILE, "title": HOSTILE, "messages": [{"role": "user", "content": HOSTILE}]}),
    )
    upload(
        app, "Skills", ("evil.md", f"---\nname: {HOSTILE!r}\ndescription: {HOSTILE!r}\n---\n{HOSTILE}".encode())
    )
    for kind in ("Past chats", "Skills"):
        assert len(table(app, kind)) == 1
        assert "<script>" not in body(app)
    assert tables_of(app)

"""``playground import``: told by content, added in one go, and nothing lost or made by mistake."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision, SqlMemoryStore
from playground.memory.jsonl import write_memories_jsonl
from playground.memory.markdown_folder import write_memories_folder
from playground.scope import MemoryScope
from playground.workspace import Project, load_project
from playground.workspace.archive import pack_project
from playground.workspace.library import default_library
from playground.workspace.memory_exports import memories_as_markdown
from tests import command_line
from tests.postgres import PostgresServer

run = partial(command_line.run, "import")
ADA, BOB = MemoryScope(user_id="ada"), MemoryScope(user_id="bob")
SKILL = "---\nname: pay\ndescription: Pays bills.\n---\nPay."


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def mine() -> Project:
    return default_library().load("mine")


def record(*texts: str, name: str = "m1", scope: MemoryScope = ADA) -> MemoryRecord:
    revisions = tuple(
        MemoryRevision(revision=number, text=text, digest=text_digest(text), recorded_at=number)
        for number, text in enumerate(texts, 1)
    )
    return MemoryRecord(id=name, scope=scope, revisions=revisions)


def fill(store: SqlMemoryStore, records: Sequence[MemoryRecord]) -> None:
    async def inserted() -> None:
        for one in records:
            await store.insert(one)

    asyncio.run(inserted())


def write(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def everything() -> list[str]:
    write("docs/a.md", "# Page one\n\nWords.")
    write("docs/deep/b.txt", "More words.")
    write("docs/chat.json", '[{"role": "user", "content": "Hi"}]')
    write("docs/bad.txt", "bad\0")
    write("docs/.git/config", "hidden")
    write("docs/.hidden", "hidden")
    write("pay/SKILL.md", SKILL)
    write("pay/table.csv", "a,b")
    write("m.jsonl", '{"text": "Ada likes tea.", "kind": "semantic"}')
    Path("docs/link.txt").symlink_to("a.md")
    os.mkfifo("docs/pipe")
    return ["docs", "pay", "m.jsonl", "missing.txt"]


def test_each_file_is_told_by_its_content_and_what_fails_leaves_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run("mine", *everything(), capsys=capsys)
    assert code == 1
    assert out.splitlines() == [
        "docs/a.md, docs/bad.txt and docs/deep/b.txt: documents (no mark of another kind)",
        "docs/chat.json: chats (messages with a role)",
        "pay: skills (a SKILL.md in it)",
        "m.jsonl: memories (fields that only memories have)",
        "The project mine was made; its memories and chats are those of user_id=local.",
        "mine: documents: 2 added",
        "mine: memories: 1 added",
        "mine: chats: 1 added",
        "mine: skills: 1 added",
        "5 texts have no vector yet: playground embed mine",
    ]
    errors = err.splitlines()
    assert all(line.startswith("Error: ") for line in errors)
    assert [line.split()[1] for line in errors] == ["docs/pipe", "missing.txt", "docs/bad.txt"]
    project = mine()
    assert [document.id for document in project.documents] == ["docs/a.md", "docs/deep/b.txt"]
    assert [memory.latest.text for memory in project.memories] == ["Ada likes tea."]
    assert {chat.scope for chat in project.chats} == {MemoryScope(user_id="local")}
    (skill,) = project.skills
    assert skill.folder is not None
    assert (skill.folder / "table.csv").read_text() == "a,b"


def test_importing_the_same_again_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    files = [write("a.md", "Words."), write("m.jsonl", '{"id": "m", "text": "Tea.", "kind": "semantic"}')]
    write("pay/SKILL.md", SKILL)
    write("pay/table.csv", "a,b")
    files.append("pay")
    assert run("mine", *files, capsys=capsys)[0] == 0
    before = default_library().stamp("mine")
    code, out, err = run("mine", *files, capsys=capsys)
    assert (code, err) == (0, "")
    assert "mine: documents: 0 added, 1 there already" in out
    assert "mine: skills: 0 added, 1 there already" in out
    assert default_library().stamp("mine") == before
    write("m.jsonl", '{"id": "m", "text": "Coffee.", "kind": "semantic"}')
    _, out, _ = run("mine", *files, capsys=capsys)
    assert "mine: memories: 0 added, 1 replaced" in out
    assert [revision.text for revision in mine().memories[0].revisions] == ["Tea.", "Coffee."]


def test_a_kind_that_is_asked_for_wins_over_the_content(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("list.txt", "- Ada likes tea.\n- Ada likes scones.")
    code, out, _ = run("mine", name, "--kind", "memories", capsys=capsys)
    assert code == 0
    assert "list.txt: memories (as --kind says)" in out
    assert [memory.latest.text for memory in mine().memories] == ["Ada likes tea.", "Ada likes scones."]
    chat = write("chat.json", '[{"role": "user", "content": "Hi"}]')
    run("mine", chat, "--kind", "documents", capsys=capsys)
    assert (len(mine().documents), len(mine().chats)) == (1, 0)
    code, _, err = run("mine", name, "--kind", "chats", capsys=capsys)
    assert code == 2
    assert "list.txt is not valid JSON" in err


def test_nothing_is_made_when_nothing_could_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("mine", "missing.txt", capsys=capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bank-support", "a.md"], "bank-support is a sample and read-only."),
        (["My Notes", "a.md"], "A folder is written like ./folder."),
        (["mine"], "Nothing is to be imported."),
        (["mine", "a.md", "--kind", "letters"], "--kind"),
        (["mine", "a.md", "--scope", "ada"], "field=value"),
        (["mine", "a.md", "--scope", "user=ada"], "the fields are user_id, agent_id"),
        (["mine", "--store", "missing.db"], "There is no memory store in missing.db."),
        (["mine", "--store", "mysql://host/name"], "Memories cannot be kept in 'mysql'"),
        (["./full", "a.md"], "'full' is there already."),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy_and_makes_nothing(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.md", "Words.")
    write("full/letter.txt", "Dear Bob")
    code, _, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert not (tmp_path / "data").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["a.md", "full"]
    assert [path.name for path in Path("full").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(("folder", "name"), [("./full", "'full'"), ("/", "'/'")])
def test_a_folder_of_other_files_is_refused_before_anything_is_read(
    folder: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("full/letter.txt", "Dear Bob")
    code, out, err = run(folder, write("a.md", "Words."), "missing.txt", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == f"Error: {name} is there already. Give a new or an empty folder.\n"


def test_a_folder_is_made_or_changed_as_well_as_an_own_project(capsys: pytest.CaptureFixture[str]) -> None:
    run("./notes", write("a.md", "Words."), "--scope", "user_id=ada", "--scope", "agent_id=x", capsys=capsys)
    write("notes/LICENSE", "MIT")
    code, out, _ = run("notes", write("b.md", "More."), capsys=capsys)
    assert code == 0
    assert "playground embed notes" in out
    project = load_project("notes")
    assert [document.id for document in project.documents] == ["a.md", "b.md"]
    assert project.scope == MemoryScope(user_id="ada", agent_id="x")
    assert Path("notes/LICENSE").read_text() == "MIT"
    # A folder that is no project does not keep an own project from having its name.
    write("docs/a.md", "Words.")
    run("docs", "docs", capsys=capsys)
    assert default_library().names() == ("docs",)


def test_exported_memories_come_back_with_their_history_in_every_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [record("one", "two"), record("x", name="m/2")]
    write_memories_jsonl(records, "lines.jsonl")
    write_memories_folder(records, "pages")
    Path("pages.zip").write_bytes(memories_as_markdown(Project(name="p", memories=tuple(records))))
    for number, (source, rule) in enumerate(
        [
            ("lines.jsonl", "lines of exported memories"),
            ("pages", "files of exported memories"),
            ("pages.zip", "files of exported memories in it"),
        ]
    ):
        code, out, err = run(f"project-{number}", source, capsys=capsys)
        assert (code, err) == (0, "")
        assert f"{source}: memories ({rule})" in out
        assert "those of user_id=ada" in out
        project = default_library().load(f"project-{number}")
        assert sorted(project.memories, key=lambda one: one.id) == sorted(records, key=lambda one: one.id)
    page = next(path for path in Path("pages").glob("*.md") if "m1" in path.name)
    page.write_text(page.read_text().replace("two", "three"))
    code, out, _ = run("project-1", "pages", capsys=capsys)
    assert "0 added, 1 replaced, 1 there already" in out
    code, out, _ = run("alone", str(page), capsys=capsys)
    assert f"{page.name}: memories (the front matter of an exported memory)" in out
    assert [one.text for one in default_library().load("alone").memories[0].revisions] == ["three"]


def test_a_damaged_line_and_a_foreign_scope_are_named_and_the_rest_is_added(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_memories_jsonl([record("one"), record("x", name="m2", scope=BOB)], "lines.jsonl")
    with Path("lines.jsonl").open("a") as file:
        file.write("{torn\n")
    code, out, err = run("mine", "lines.jsonl", "--scope", "user_id=ada", capsys=capsys)
    assert code == 1
    assert "mine: memories: 1 added" in out
    assert [line.split(".")[0] for line in err.splitlines()] == [
        "Error: lines",
        "Error: The memory 'm2' is of another scope than the project",
    ]


def test_an_archive_that_is_not_opened_says_why_and_the_rest_is_added(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", b" " * 3_000_000)
    with zipfile.ZipFile("evil.zip", "w") as archive:
        archive.writestr("../SKILL.md", SKILL)
    Path("torn.zip").write_bytes(Path("evil.zip").read_bytes()[:-20])
    archives = ["bomb.zip", "evil.zip", "torn.zip"]
    code, out, err = run("mine", *archives, write("a.md", "Words."), capsys=capsys)
    assert code == 1
    assert "mine: documents: 1 added" in out
    assert not any(name in out for name in archives)
    lines = err.splitlines()
    assert len(lines) == 3
    for line, words in zip(lines, ("far more than it is", "points outside", "is damaged"), strict=True):
        assert words in line
        assert "Unpack it" not in line


def test_where_everything_is_refused_no_project_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_memories_jsonl([record("x", name="m2", scope=BOB)], "lines.jsonl")
    code, out, err = run("mine", "lines.jsonl", "--scope", "user_id=ada", capsys=capsys)
    assert code == 2
    assert "was made" not in out
    assert "vector" not in out
    assert "another scope" in err
    assert not (tmp_path / "data").exists()


def test_memories_are_read_out_of_a_store_and_grow_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(SqlMemoryStore("m.db")) as store:
        fill(store, [record("one"), record("gone", name="m2"), record("x", name="m3", scope=BOB)])
        code, _, err = run("mine", "--store", "m.db", capsys=capsys)
        assert code == 2
        assert "These are the memories of 2: user_id=ada; user_id=bob." in err
        code, out, err = run("mine", "--store", "m.db", "--scope", "user_id=ada", capsys=capsys)
        assert (code, err) == (0, "")
        assert "mine: memories: 2 added" in out
        asyncio.run(store.append("m1", record("one", "two").latest, scope=ADA))
        asyncio.run(store.erase(["m2"], scope=ADA, at=9))
    code, out, err = run("mine", "--store", "m.db", capsys=capsys)
    assert "mine: memories: 0 added, 1 replaced" in out
    assert [revision.text for revision in mine().memories[0].revisions] == ["one", "two"]
    assert err == (
        "Warning: 1 memory of the project was forgotten in the store. "
        "To forget here too: playground forget mine m2\n"
    )
    code, _, err = run("mine", "--store", "m.db", "--scope", "user_id=bob", capsys=capsys)
    assert code == 2
    assert "pinned to another user_id" in err


def test_memories_are_read_out_of_postgresql(
    postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.new_url()
    with closing(SqlMemoryStore(url)) as store:
        fill(store, [record("one", "two")])
    code, out, err = run("mine", "--store", url, capsys=capsys)
    assert (code, err) == (0, "")
    assert "mine: memories: 1 added" in out
    assert mine().memories == (record("one", "two"),)


def test_what_was_forgotten_is_not_brought_back_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    write_memories_jsonl([record("one"), record("x", name="m2")], "lines.jsonl")
    run("mine", "lines.jsonl", capsys=capsys)
    default_library().forget("mine", ["m1"], now=9)
    code, out, err = run("mine", "lines.jsonl", capsys=capsys)
    assert (code, "0 added, 1 there already" in out) == (0, True)
    assert err == "Warning: 1 memory was forgotten here before, and not brought back: m1.\n"


def test_a_whole_project_becomes_a_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    sample = load_project("bank-support")
    Path("bank.zip").write_bytes(pack_project(sample))
    code, out, err = run("mine", "bank.zip", capsys=capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "bank.zip: a project (a project.json in it)"
    assert "The project mine was made, with 698 documents, " in out
    copy = mine()
    assert (copy.memories, copy.vectors.to_bytes()) == (sample.memories, sample.vectors.to_bytes())
    folder = default_library().root / "mine"
    code, out, _ = run("./copy", str(folder), capsys=capsys)
    assert code == 0
    assert load_project("copy").documents == sample.documents
    for arguments in (["mine", "bank.zip"], ["other", "bank.zip", write("a.md", "Words.")]):
        code, _, err = run(*arguments, capsys=capsys)
        assert code == 2
        assert "bank.zip is a whole project, which becomes a new one." in err
    assert default_library().names() == ("mine",)


def test_names_and_messages_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write("red\x1b[31m\n\u202e.md", "Words.")
    write("bad\x9b.json", json.dumps({"text": 5}))
    code, out, err = run("mine", *sorted(str(path) for path in Path().iterdir()), capsys=capsys)
    assert code == 1
    for steering in ("\x1b", "\x9b", "\u202e"):
        assert steering not in out + err
    assert err.count("\n") == 1


def test_a_reader_that_has_gone_stops_no_import() -> None:
    Path("notes.md").write_text("Tea is hot.")
    command = [sys.executable, "-m", "playground", "import", "mine", "notes.md"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    assert (process.wait(60), err) == (0, b"")
    assert [document.text for document in mine().documents] == ["Tea is hot."]

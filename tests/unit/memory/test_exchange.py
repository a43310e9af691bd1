"""Files of memories: hand-made, damaged and hostile ones, and adding what was read to a session."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.memory import (
    InMemoryMemoryStore,
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    MemorySession,
    MemorySourceRef,
)
from playground.memory import exchange as exchange_module
from playground.memory.exchange import AddedMemories, add_memories
from playground.memory.jsonl import MemoryLine, read_memories_jsonl, write_memories_jsonl
from playground.memory.markdown_file import file_name
from playground.memory.markdown_folder import HISTORY_FILE, read_memories_folder, write_memories_folder

ADA = MemoryScope(user_id="ada")


def record(name: str, *texts: str, scope: MemoryScope = ADA) -> MemoryRecord:
    revisions = tuple(
        MemoryRevision(
            revision=number,
            text=text,
            digest=text_digest(text),
            recorded_at=number,
            sources=(MemorySourceRef(kind="user", step=number),),
            embedding=(1.0, 0.0),
            embedding_model_id="m",
        )
        for number, text in enumerate(texts or ("Deploys go to eu-west.",), start=1)
    )
    return MemoryRecord(id=name, scope=scope, revisions=revisions)


def line(name: str) -> bytes:
    return MemoryLine(memory=record(name)).to_json().encode()


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"{", "is not JSON"),
        (b"[]", "has version None"),
        (b'"text"', "has version None"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"version":2,"memory":{}}', "has version 2"),
        (b'{"version":1,"memory":{"id":"x"}}', "scope: Field required"),
        (line("r").replace(b"eu-west", b"eu-east"), "the digest is not that of the text"),
        (line("r").replace(b"Deploys", b"\\u0000"), "NUL or a lone surrogate"),
        (line("a"), "the id 'a' stands twice"),
    ],
)
def test_a_malformed_line_is_reported_and_the_others_are_read(tmp_path: Path, bad: bytes, problem: str) -> None:
    path = tmp_path / "memories.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line("a") + b"\r\n\n" + bad + b"\n" + line("b"))
    loaded = read_memories_jsonl(path)
    assert [one.id for one in loaded.records] == ["a", "b"]
    (told,) = loaded.problems
    assert told.name == "memories.jsonl"
    assert "memories.jsonl, line 3: " in str(told)
    assert problem in str(told)
    assert len(str(told)) < 700


def test_a_line_longer_than_is_read_is_reported_and_what_follows_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "LINE_BYTES", 1_000)
    path = tmp_path / "memories.jsonl"
    path.write_bytes(line("a") + b"\n" + b"x" * 5_000 + b"\n" + line("b") + b"\n" + b"y" * 1_001)
    loaded = read_memories_jsonl(path)
    assert [one.id for one in loaded.records] == ["a", "b"]
    assert ["longer than" in str(told) for told in loaded.problems] == [True, True]


def test_an_empty_file_holds_nothing_and_is_no_problem(tmp_path: Path) -> None:
    write_memories_jsonl([], tmp_path / "memories.jsonl")
    assert read_memories_jsonl(tmp_path / "memories.jsonl").records == ()
    write_memories_folder([], tmp_path / "folder")
    assert read_memories_folder(tmp_path / "folder").records == ()


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "memories.jsonl"
    write_memories_jsonl([record("a")], path)

    def broken() -> object:
        yield record("b")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_memories_jsonl(broken(), path)  # type: ignore[arg-type]  # a generator that fails
    assert [one.id for one in read_memories_jsonl(path).records] == ["a"]
    assert [one.name for one in tmp_path.iterdir()] == ["memories.jsonl"]


def test_a_markdown_file_reads_well(tmp_path: Path) -> None:
    (path,) = write_memories_folder([record("deploy/region", "# Deploys\n\nThey go to eu-west.")], tmp_path)
    assert path.name.startswith("deploy_region-")
    assert path.read_text() == (
        "---\nversion: 1\nid: deploy/region\nscope:\n  userId: ada\nrevision: 1\norigin: asserted\n"
        "sources:\n- kind: user\n  step: 1\nrecordedAt: 1\nwriter: host\nkind: semantic\n"
        "embeddingModelId: m\n---\n\n# Deploys\n\nThey go to eu-west.\n"
    )


def test_ids_that_sanitising_makes_alike_have_files_of_their_own() -> None:
    ids = ["a_b", "a/b", "A_b", "a:b", "a_b.", file_name("a/b").removesuffix(".md"), "con", "readme", "x" * 300]
    names = {file_name(one).lower() for one in ids}
    assert len(names) == len(ids)
    assert file_name("a_b") == "a_b.md"
    assert not {"con.md", "readme.md"} & names
    assert max(map(len, names)) < 100


def test_a_text_edited_by_hand_is_read_and_its_embedding_no_longer_counts(tmp_path: Path) -> None:
    (path,) = write_memories_folder([record("a", "one", "two")], tmp_path)
    path.write_text(path.read_text().replace("two", "two and a half"))
    (found,) = read_memories_folder(tmp_path).records
    assert [one.text for one in found.revisions] == ["one", "two and a half"]
    assert (found.latest.embedding, found.revisions[0].embedding) == (None, (1.0, 0.0))


def test_a_file_without_its_history_is_read_as_a_first_revision_and_says_so(tmp_path: Path) -> None:
    write_memories_folder([record("a", "one", "two"), record("b")], tmp_path)
    (tmp_path / HISTORY_FILE).unlink()
    loaded = read_memories_folder(tmp_path)
    assert [[one.text for one in found.revisions] for found in loaded.records] == [
        ["two"],
        ["Deploys go to eu-west."],
    ]
    (told,) = loaded.problems
    assert "a.md: the 1 revisions before it are not in history.jsonl" in str(told)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nsources: [*b, *b]\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"Just a note.", "does not begin with front matter"),
        (b"", "does not begin with front matter"),
        (b"---\nid: a\n", "does not begin with front matter"),
        (b"---\n---\ntext", "holds no fields"),
        (b"---\nid: a\n---\ntext", "its version is None"),
        (b"---\nversion: 1\nid: [\n---\ntext", "no YAML"),
        (b"---\nversion: 1\nid: a\nrevision: 1\nrecordedAt: 1\n---\n\n \n", "the text is blank"),
        (b"---\nversion: 1\nrevision: 1\nrecordedAt: 1\n---\ntext", "no id"),
        (b"---\nversion: 1\nid: a\nrevision: 1\nrecordedAt: 1\nsecret: 1\n---\ntext", "secret"),
        (b"---\nversion: 1\nid: a\nrevision: 1\nrecordedAt: soon\n---\ntext", "recordedAt"),
        (b"---\nversion: 1\nid: a\nrevision: 1\nrecordedAt: 1\nsources: x\n---\ntext", "sources"),
        (b"---\nversion: 1\n" + BOMB.encode() + b"---\ntext", "an alias stands in it"),
        (b"---\nversion: 1\nid: !!python/object/apply:os.system [x]\n---\ntext", "revision"),
        (b"---\nx: " + b"[" * 5_000 + b"\n---\ntext", "no YAML"),
        (b"---\nx: " + b"y" * 300_000 + b"\n---\ntext", "300,004 characters"),
        (b"---\nversion: 1\nid: \xff\n---\ntext", "not UTF-8"),
        (b"---\nversion: 1\nid: a\nrevision: 1\nrecordedAt: 1\n---\nnul \x00", "NUL"),
    ],
)
def test_a_malformed_file_is_reported_and_the_others_are_read(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    write_memories_folder([record("good")], tmp_path)
    (tmp_path / "bad.md").write_bytes(content)
    loaded = read_memories_folder(tmp_path)
    assert [one.id for one in loaded.records] == ["good"]
    (told,) = loaded.problems
    assert told.name == "bad.md"
    assert problem in str(told)


def test_links_and_folders_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (path,) = write_memories_folder([record("secret")], outside)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.md").symlink_to(path)
    (folder / "folder.md").mkdir()
    (folder / HISTORY_FILE).symlink_to(outside / HISTORY_FILE)
    loaded = read_memories_folder(folder)
    assert loaded.records == ()
    assert [told.name for told in loaded.problems] == ["folder.md", "link.md"]


def test_a_malformed_line_of_the_history_is_reported(tmp_path: Path) -> None:
    write_memories_folder([record("a", "one", "two")], tmp_path)
    history = tmp_path / HISTORY_FILE
    history.write_bytes(b"{}\n\n" + history.read_bytes())
    loaded = read_memories_folder(tmp_path)
    assert loaded.records == (record("a", "one", "two"),)
    assert ["history.jsonl: line 1: " in str(told) for told in loaded.problems] == [True]


def test_two_files_of_one_id_give_one_record_and_a_problem(tmp_path: Path) -> None:
    (path,) = write_memories_folder([record("a")], tmp_path)
    (tmp_path / "copy.md").write_bytes(path.read_bytes())
    loaded = read_memories_folder(tmp_path)
    assert loaded.records == (record("a"),)
    assert ["the id 'a' stands twice" in str(told) for told in loaded.problems] == [True]


def test_a_later_export_keeps_nothing_of_what_was_forgotten(tmp_path: Path) -> None:
    write_memories_folder([record("a/b", "of a/b", "more of a/b"), record("kept", "one", "two")], tmp_path)
    (tmp_path / "notes.md").write_text("My own notes.")
    write_memories_folder([record("kept", "one", "two")], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [HISTORY_FILE, "kept.md", "notes.md"]
    assert not any(b"of a/b" in path.read_bytes() for path in tmp_path.iterdir())


def test_an_export_that_cannot_be_whole_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    many = record("a").latest.model_copy(update={"sources": (MemorySourceRef(kind="user", id="x" * 300_000),)})
    for records in ([MemoryRecord(id="a", scope=ADA, revisions=(many,))], [record("a"), record("a")]):
        with pytest.raises(InvalidInputError, match=r"JSONL|twice"):
            write_memories_folder(records, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_what_was_read_is_added_to_a_session_once_and_only_in_its_scope() -> None:
    bob = record("bobs", scope=MemoryScope(user_id="bob"))
    chat = record("chat", scope=MemoryScope(user_id="ada", chat_id="c"))

    async def scenario() -> None:
        store = InMemoryMemoryStore()
        session = MemorySession(store, ADA)
        first = await add_memories(session, [record("a", "one", "two"), bob, chat])
        assert (first.added, first.unchanged) == (("a", "chat"), ())
        assert ["of another scope" in str(told) for told in first.problems] == [True]
        assert await store.get("a", scope=ADA) == record("a", "one", "two")
        again = await add_memories(session, [record("a", "one", "two")])
        assert again == AddedMemories(unchanged=("a",))
        await session.forget("a")
        (told,) = (await add_memories(session, [record("a", "one", "two")])).problems
        assert "was already kept" in str(told)
        assert await store.list(scope=MemoryScope(user_id="bob")) == []

    asyncio.run(scenario())


def test_the_recorded_formats_name_their_version(tmp_path: Path) -> None:
    """R246: recorded formats are versioned."""
    write_memories_jsonl([record("a")], tmp_path / "memories.jsonl")
    write_memories_folder([record("a")], tmp_path)
    for name in ("memories.jsonl", HISTORY_FILE):
        assert json.loads((tmp_path / name).read_text())["version"] == 1
    assert "version: 1\n" in (tmp_path / "a.md").read_text()
    assert not list(tmp_path.glob("*.part"))

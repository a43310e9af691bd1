"""``playground export`` and ``forget``: what leaves a project as files, and what leaves it for good."""

from __future__ import annotations

import io
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from playground.commands.projects import find_project
from playground.errors import InvalidInputError
from playground.memory.jsonl import read_memories_jsonl
from playground.memory.markdown_folder import read_memories_folder
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.user_cache import cache_path
from playground.scope import MemoryScope
from playground.workspace import Project, VectorTable, load_project, save_project
from playground.workspace.archive import pack_project
from playground.workspace.library import default_library
from playground.workspace.memories import remember_memory, revise_memory
from tests.command_line import run

SECRET, OLD_SECRET, KEPT = "Ada owes Bob 500 crowns.", "Ada owes Bob 40 crowns.", "Ada likes tea."
VECTORS = np.random.default_rng(1).normal(size=(3, 16)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def project() -> Project:
    """A project with a secret in two revisions, and a vector of each text in it and in the cache."""
    start = Project(name="mine", title="Mine", scope=MemoryScope(user_id="ada"))
    first = remember_memory(start, OLD_SECRET, now=1, id="debt")
    second = remember_memory(
        revise_memory(first, "debt", SECRET, expected_revision=1, now=2), KEPT, now=3, id="t"
    )
    texts = (OLD_SECRET, SECRET, KEPT)
    table = VectorTable.of(texts, VECTORS, model_id="m", weights_digest="sha256:0")
    with closing(EmbeddingCache(cache_path())) as cache:
        cache.put("m", "sha256:0", [(vector_key(text), row) for text, row in zip(texts, VECTORS, strict=True)])
    return second.with_parts(vectors=table)


def all_bytes(*folders: Path) -> bytes:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    data = [path.read_bytes() for path in files]
    for content in data[:]:
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                data += [archive.read(name) for name in archive.namelist()]
    return b"".join(data)


def test_a_project_is_exported_and_nothing_is_replaced_unasked(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    default_library().create("mine", project)
    code, out, err = run("export", "mine", capsys=capsys)
    data = Path("mine.zip").read_bytes()
    assert (code, out, err) == (0, f"mine.zip: the project, {len(data):,} bytes\n", "")
    assert data == pack_project(default_library().load("mine"))
    code, out, err = run("export", "mine", capsys=capsys)
    assert (code, out) == (2, "")
    assert "mine.zip is there already. Give --output mine.zip to replace it" in err
    assert run("export", "mine", "--output", "mine.zip", capsys=capsys)[0] == 0
    assert run("import", "copy", "mine.zip", capsys=capsys)[0] == 0
    assert default_library().load("copy").memories == project.memories


def test_a_sample_and_a_folder_are_exported_too(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "deploy-demo", capsys=capsys)[0] == 0
    save_project(project, "notes")
    assert run("export", "./notes", "--output", "n.zip", capsys=capsys)[0] == 0
    assert Path("deploy-demo.zip").is_file()
    assert zipfile.is_zipfile("n.zip")


def test_memories_are_exported_alone_in_both_forms(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    default_library().create("mine", project)
    code, out, _ = run("export", "mine", "--memories", "jsonl", capsys=capsys)
    assert (code, out) == (0, "mine-memories.jsonl: 2 memories, one a line\n")
    assert read_memories_jsonl("mine-memories.jsonl").records == project.memories
    code, out, _ = run("export", "mine", "--memories", "markdown", capsys=capsys)
    assert (code, out) == (0, "mine-memories: 2 memories, one a file\n")
    assert read_memories_folder("mine-memories").records == project.memories


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "no-such"], "There is no project 'no-such'. Choose one of mine, bank-support"),
        (["export", "mine", "--memories", "xml"], "--memories"),
        (["export", "mine", "--output", "no/where.zip"], "no/where.zip cannot be written: No such file"),
        (["export", "mine", "--output", "."], "cannot be written"),
        (["forget", "mine"], "Missing argument"),
        (["forget", "deploy-demo", "m1"], "deploy-demo is a sample and read-only."),
        (["forget", "no-such", "m1"], "There is no project 'no-such'."),
        (["forget", "mine", "nobody"], "mine has no memory nobody."),
        (["forget", "./nothing", "m1"], "There is no project folder 'nothing'"),
        (["forget", "a" * 5_000, "m1"], "is no path: "),
        (["forget", "mine", "\udcff"], "'\\udcff' holds a NUL or a lone surrogate. Replace it"),
        (["export", "a" * 5_000], "is no path: "),
        (["export", "mine", "--output", "a" * 5_000], " cannot be written: File name too long. Choose another"),
        (["embed", "mine", "--output", "a" * 5_000], "is no path: "),
        (["import", "a" * 5_000, "x"], "is no path: "),
        (["import", "new", "--store", "a" * 5_000], " cannot be opened: File name too long."),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(
    arguments: list[str], words: str, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    default_library().create("mine", project)
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("kind", ["own", "folder", "link to a folder", "own, in a linked library"])
def test_what_is_forgotten_is_in_no_byte_of_project_exports_and_cache(
    kind: str, project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind.startswith("own"):
        name, folder = "mine", default_library().root / "mine"
        if kind != "own":
            (tmp_path / "elsewhere").mkdir()
            folder.parent.parent.mkdir(parents=True)
            folder.parent.symlink_to(tmp_path / "elsewhere")
        default_library().create("mine", project)
    else:
        name, folder = "./mine", Path("mine")
        save_project(project, folder)
        if kind != "folder":
            Path("link").symlink_to("mine")
            name = "./link"
    (folder / "exports").mkdir()
    (folder / "exports" / "old.zip").write_bytes(pack_project(project))
    places = (folder, tmp_path / "cache")
    secrets = [SECRET.encode(), OLD_SECRET.encode(), *(row.tobytes() for row in VECTORS[:2])]
    assert all(secret in all_bytes(*places) for secret in secrets)
    code, out, err = run("forget", name, "debt", capsys=capsys)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{name}: debt is forgotten.",
        "Gone are all revisions, the vectors of 2 texts, and what files kept in the project held.",
        "Rewritten without it: exports/old.zip.",
    ]
    left = all_bytes(*places)
    assert not [secret for secret in secrets if secret in left]
    assert KEPT.encode() in left
    assert VECTORS[2].tobytes() in left
    assert run("export", name, "--output", "after.zip", capsys=capsys)[0] == 0
    assert SECRET.encode() not in all_bytes(Path())
    assert [record.id for record in load_project(folder).memories] == ["t"]
    assert Path("link").is_symlink() == (name == "./link")


def test_an_unknown_id_is_named_and_the_others_are_forgotten(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    default_library().create("mine", project)
    code, out, err = run("forget", "mine", "debt", "nobody", capsys=capsys)
    assert (code, err) == (1, "Error: mine has no memory nobody.\n")
    assert out.startswith("mine: debt is forgotten.")
    assert run("forget", "mine", "debt", capsys=capsys)[0] == 0


def test_a_text_that_something_else_has_is_said_to_stay(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    default_library().create("mine", project)
    (default_library().root / "mine" / "notes.bin").write_bytes(b"\xff" + SECRET.encode())
    code, _, err = run("forget", "mine", "debt", capsys=capsys)
    assert code == 0
    assert err == "Warning: the same text is still in notes.bin, for another reason.\n"


def test_a_vector_cache_that_is_held_is_said_and_emptied_with_the_next_use(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from playground.retrieval import vector_file

    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.1)
    save_project(project, "mine")
    with closing(EmbeddingCache(cache_path())) as reader:
        reader._connection.execute("BEGIN")
        reader._connection.execute("SELECT count(*) FROM vectors").fetchone()
        code, _, err = run("forget", "./mine", "debt", capsys=capsys)
    assert code == 0
    assert "another program holds the vector cache" in err
    assert run("export", "./mine", "--output", "a.zip", capsys=capsys)[0] == 0
    cached = all_bytes(tmp_path / "cache")
    assert VECTORS[0].tobytes() not in cached
    assert VECTORS[2].tobytes() in cached


def test_a_change_of_a_folder_never_loses_that_something_was_forgotten(tmp_path: Path) -> None:
    project = Project(name="demo", scope=MemoryScope(user_id="ada"))
    before = remember_memory(project, "Tea.", now=1, id="m1")
    folder = save_project(before, tmp_path / "demo")
    place = find_project(str(folder))
    place.forget(["m1"], now=2)
    with pytest.raises(InvalidInputError, match="were forgotten: 1 of them"):
        place.change(lambda _: before)
    assert [stone.id for stone in load_project(folder).forgotten] == ["m1"]
    assert load_project(folder).memories == ()

"""Forgetting everywhere in a project's folder: no byte is left, and no crash between the steps undoes it."""

from __future__ import annotations

import hashlib
import io
import json
import random
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from playground.concurrency import run_sync
from playground.digests import text_digest
from playground.errors import InvalidRequestError, ProjectError
from playground.memory import InMemoryMemoryStore, MemorySession
from playground.memory.jsonl import write_memories_jsonl
from playground.memory.markdown_folder import write_memories_folder
from playground.retrieval import vector_file
from playground.retrieval.documents import Document
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.workspace import (
    Project,
    VectorTable,
    compile_project,
    load_project,
    load_sample,
    project_sources,
)
from playground.workspace.additions import with_documents, with_memories, with_vectors
from playground.workspace.archive import pack_files, pack_project, unpack_project
from playground.workspace.forgetting import JOURNAL
from playground.workspace.library import ProjectLibrary
from playground.workspace.memories import remember_memory, revise_memory
from playground.workspace.texts import all_texts
from tests.dying import DyingProcesses

ROOT = Path(__file__).resolve().parents[2]
MODEL, WEIGHTS = "m", "sha256:0"
REVISIONS = (
    'Ada\'s "secret" <garden> & the fox\nlie behind the third gate.',
    "Таємний сад Ади — за третьою брамою 🦊, праворуч.",
    "アダの秘密の庭は三番目の門の裏にあります。合い言葉は「青い狐」。",
)
SHARED = "The deploy window opens on Tuesday at nine."
KEPT = "Likes green tea in the morning, without sugar."


def vector(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    row = np.random.default_rng(list(vector_key(text))).normal(size=16).astype(np.float32)
    return row / np.float32(np.linalg.norm(row))


def with_vectors_of_all(project: Project) -> Project:
    texts = list(dict.fromkeys(all_texts(project)))
    rows = np.stack([vector(text) for text in texts])
    return with_vectors(project, VectorTable.of(texts, rows, model_id=MODEL, weights_digest=WEIGHTS))


def made(revisions: tuple[str, ...] = REVISIONS) -> Project:
    project = remember_memory(load_sample("deploy-demo"), revisions[0], now=1, id="secret")
    for number, text in enumerate(revisions[1:], 1):
        project = revise_memory(project, "secret", text, expected_revision=number, now=number + 1)
    project = remember_memory(project, SHARED, now=1, id="shared-1")
    project = remember_memory(project, SHARED, now=2, id="shared-2")
    return with_vectors_of_all(remember_memory(project, KEPT, now=3, id="kept"))


def package(project: Project) -> bytes:
    """A stored package that recalls the secret in its blocks and its manifest."""
    asked = "Where is the secret garden of Ada, アダの秘密の庭, and which deploy window?"
    made = compile_project(project, question=asked)
    blocks = [{"placement": block.placement, "text": block.text} for block in made.blocks]
    assert REVISIONS[2] in made.xml
    return json.dumps({"blocks": blocks, "manifest": json.loads(made.manifest.to_json())}).encode()


def memory_lines(project: Project, folder: Path) -> bytes:
    write_memories_jsonl(project.memories, folder / "m.jsonl")
    return (folder / "m.jsonl").read_bytes()


def memory_folder(project: Project, folder: Path) -> bytes:
    paths = (*write_memories_folder(project.memories, folder / "md"), folder / "md" / "history.jsonl")
    return pack_files({path.name: path.read_bytes() for path in paths})


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[EmbeddingCache]:
    cache = EmbeddingCache(tmp_path / "cache" / "vectors.sqlite")
    yield cache
    cache.close()


def fill(cache: EmbeddingCache, project: Project) -> None:
    pairs = [(vector_key(text), vector(text)) for text in dict.fromkeys(all_texts(project))]
    for model in (MODEL, "other"):
        cache.put(model, WEIGHTS, pairs)


@pytest.fixture
def library(tmp_path: Path, cache: EmbeddingCache) -> ProjectLibrary:
    library = ProjectLibrary(tmp_path / "projects")
    project = library.create("own", made())
    fill(cache, project)
    keep_exports(library, project, tmp_path)
    return library


def keep_exports(library: ProjectLibrary, project: Project, tmp_path: Path) -> None:
    packed = pack_project(project)
    files = {
        "project.zip": packed,
        "nested.zip": pack_files({"inner.zip": packed, "readme.txt": b"An archive in an archive."}),
        "package.json": package(project),
        "package.jsonl": package(project) + b"\n" + b'{"untouched": 1.0}\n',
        "memories.jsonl": memory_lines(project, tmp_path),
        "memories.zip": memory_folder(project, tmp_path),
        "vectors.npz": project.vectors.to_bytes(),
        "utf16.txt": "\n".join(REVISIONS).encode("utf-16"),
        "notes.md": f"# Notes\n\n{REVISIONS[1]}\n\nMore.\n".encode(),
        "table.csv": ('id,text\nsecret,"' + REVISIONS[0].replace('"', '""') + '"\nkept,x\n').encode(),
        "short.csv": f"id,text\nsecret,{REVISIONS[1][:30]}…\n".encode(),
        "untouched.json": b'{"a":  1.0}',
    }
    for name, data in files.items():
        library.keep_export("own", name, data)


def needles(texts: tuple[str, ...]) -> list[bytes]:
    found = []
    for text in texts:
        digest = hashlib.sha256(text.encode())
        row = vector(text)
        assert text_digest(text) == f"sha256:{digest.hexdigest()}"
        found += [digest.digest(), digest.hexdigest().encode(), digest.hexdigest()[:12].encode(), row.tobytes()]
        found += [row[2:10].tobytes()]
        for line in text.split("\n"):
            found += [line.encode(), line.encode("utf-16-le"), json.dumps(line)[1:-1].encode()]
    return found


def contents(data: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    """Yield bytes and, where they are an archive, those of all its entries, at any depth."""
    yield where, data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield from contents(archive.read(name), f"{where}/{name}")


def places(folder: Path, texts: tuple[str, ...]) -> list[str]:
    wanted = needles(texts)
    return [
        where
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for where, data in contents(path.read_bytes(), path.relative_to(folder).as_posix())
        if any(needle in data for needle in wanted)
    ]


def test_the_scan_sees_what_is_to_be_erased(library: ProjectLibrary, tmp_path: Path) -> None:
    found = places(tmp_path, REVISIONS)
    assert {"projects/own/memories.jsonl", "projects/own/vectors.npz"} <= set(found)
    assert "cache/vectors.sqlite" in found or "cache/vectors.sqlite-wal" in found
    exports = {path.name for path in (library.root / "own" / "exports").iterdir()}
    seen = {place.split("/")[3] for place in found if place.startswith("projects/own/exports/")}
    assert exports - seen == {"untouched.json", "short.csv"}
    assert "projects/own/exports/nested.zip/inner.zip/memories.jsonl" in found


def test_after_a_forget_no_byte_of_text_digest_or_vector_is_left(
    library: ProjectLibrary, cache: EmbeddingCache, tmp_path: Path
) -> None:
    done = library.forget("own", ["secret"], now=50, cache=cache)
    for path in (tmp_path / "m.jsonl", *(tmp_path / "md").iterdir()):  # copies of this test's own
        path.unlink()
    assert places(tmp_path, REVISIONS) == []
    assert (done.ids, done.pending, done.left) == (("secret",), False, ())
    assert set(done.vector_keys) == {vector_key(text) for text in REVISIONS}
    assert done.deleted == ("exports/short.csv",)
    assert "exports/untouched.json" not in done.rewritten
    assert library.read_export("own", "untouched.json") == b'{"a":  1.0}'


def test_what_is_rewritten_stays_readable_and_keeps_everything_else(
    library: ProjectLibrary, cache: EmbeddingCache
) -> None:
    before = library.load("own")
    library.forget("own", ["secret"], now=50, cache=cache)
    back = unpack_project(library.read_export("own", "project.zip"), name="copy")
    assert [record.id for record in back.memories] == [
        record.id for record in before.memories if record.id != "secret"
    ]
    assert [stone.id for stone in back.forgotten] == ["secret"]
    assert (back.documents, back.chats, back.warnings) == (before.documents, before.chats, ())
    assert len(back.vectors) == len(before.vectors) - len(REVISIONS)
    stored = json.loads(library.read_export("own", "package.json"))
    ids = [entry["recordId"] for entry in stored["manifest"]["entries"]]
    assert "secret" in ids
    assert SHARED in stored["blocks"][0]["text"]
    assert "[forgotten]" in stored["blocks"][0]["text"]
    lines = library.read_export("own", "memories.jsonl").decode().splitlines()
    assert [json.loads(line)["memory"]["id"] for line in lines] == [record.id for record in back.memories]
    with zipfile.ZipFile(io.BytesIO(library.read_export("own", "memories.zip"))) as archive:
        assert "secret.md" not in archive.namelist()
        assert KEPT in archive.read("kept.md").decode()
    assert library.read_export("own", "notes.md").decode() == "# Notes\n\n[forgotten]\n\nMore.\n"
    assert library.read_export("own", "utf16.txt").decode("utf-16") == "\n".join(["[forgotten]"] * 3)


def test_no_read_at_any_time_finds_it(library: ProjectLibrary, cache: EmbeddingCache) -> None:
    library.forget("own", ["secret"], now=50, cache=cache)
    project = ProjectLibrary(library.root).load("own")
    session = MemorySession(InMemoryMemoryStore(project.memories, project.forgotten), project.scope)
    for moment in (None, 0, 1, 2, 3, 49, 50, 10**15):
        found = run_sync(session.recall("secret garden Ada", 50, recorded_as_of=moment))
        assert "secret" not in {memory.id for memory in found}
    assert run_sync(session.history("secret")) == ()
    assert project.label("memory", "secret").title == ""
    with pytest.raises(InvalidRequestError):
        library.change("own", lambda own: remember_memory(own, "Back.", now=60, id="secret"))
    again = with_memories(project, [{"id": "secret", "text": REVISIONS[0]}], now=60)
    assert (again.added, again.forgotten) == (0, ("secret",))


def test_the_same_text_in_another_memory_stays_searchable(
    library: ProjectLibrary, cache: EmbeddingCache
) -> None:
    done = library.forget("own", ["shared-1"], now=50, cache=cache)
    project = library.load("own")
    assert done.vector_keys == ()
    assert SHARED in project.vectors
    assert len(cache.get(MODEL, WEIGHTS, [vector_key(SHARED)])) == 1
    assert [record.id for record in project.memories if record.latest.text == SHARED] == ["shared-2"]
    packed = unpack_project(library.read_export("own", "project.zip"), name="copy")
    assert [record.id for record in packed.memories if record.latest.text == SHARED] == ["shared-2"]
    assert SHARED in packed.vectors
    sources = {source.id: source for source in project_sources(project)}
    assert set(sources) >= {"memory"}
    assert SHARED in compile_project(project, question="When does the deploy window open?").xml


def test_a_second_forget_changes_nothing_and_says_the_same_ids(
    library: ProjectLibrary, cache: EmbeddingCache
) -> None:
    library.forget("own", ["secret"], now=50, cache=cache)
    before = library.stamp("own")
    again = library.forget("own", ["secret", "nobody"], now=60, cache=cache)
    assert (again.ids, again.rewritten, again.deleted, again.pending) == (("secret",), (), (), False)
    assert library.stamp("own") == before
    assert library.load("own").forgotten[0].forgotten_at == 50


def test_an_export_made_before_and_kept_afterwards_lacks_it(
    library: ProjectLibrary, cache: EmbeddingCache, tmp_path: Path
) -> None:
    project = library.load("own")
    packed, lines, stored = pack_project(project), memory_lines(project, tmp_path), package(project)
    library.forget("own", ["secret"], now=50, cache=cache)
    library.keep_export("own", "late.zip", packed)
    library.keep_export("own", "late.jsonl", lines)
    library.keep_export("own", "late.json", stored)
    late = unpack_project(library.read_export("own", "late.zip"), name="copy")
    assert "secret" not in {record.id for record in late.memories}
    ids = [json.loads(line)["memory"]["id"] for line in library.read_export("own", "late.jsonl").splitlines()]
    assert ids == [record.id for record in late.memories]
    assert [place for place in places(library.root, REVISIONS) if "late.json" in place] == []
    assert SHARED in library.read_export("own", "late.json").decode()


def test_several_memories_go_at_once_and_many_revisions_too(tmp_path: Path) -> None:
    random.seed(7)
    library = ProjectLibrary(tmp_path / "projects")
    texts = tuple(f"Note {at} {random.randbytes(12).hex()}" for at in range(60))
    project = load_sample("deploy-demo")
    for at, text in enumerate(texts):
        project = remember_memory(project, text, now=at, id=f"n{at}")
    library.create("own", with_vectors_of_all(project))
    library.keep_export("own", "project.zip", pack_project(library.load("own")))
    library.keep_export("own", "cut.txt", f"{texts[5][:26]}… and {texts[6]}".encode())
    done = library.forget("own", [f"n{at}" for at in range(60)], now=99)
    assert len(done.ids) == 60
    assert places(library.root, texts) == []
    assert done.deleted == ("exports/cut.txt",)


def test_a_text_that_something_else_holds_is_told(library: ProjectLibrary, cache: EmbeddingCache) -> None:
    own = library.root / "own"
    (own / "README").write_text(f"Do not tell: {REVISIONS[1]}")
    (own / "blob").write_bytes(b"\xff\x00" + REVISIONS[1].encode())
    told = Document("d", "D", f"Somebody wrote down: {REVISIONS[2]} And so it is here, too.")
    library.change("own", lambda project: with_documents(project, [told]).project)
    done = library.forget("own", ["secret"], now=50, cache=cache)
    assert done.left == ("blob", "documents.jsonl")
    assert "README" in done.rewritten
    assert (own / "README").read_text() == "Do not tell: [forgotten]"
    assert (own / "blob").exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("damaged.zip", b"PK\3\4 and no more"),
        ("damaged.npz", b"PK\3\4 and no more"),
    ],
)
def test_an_export_that_nobody_can_look_into_is_deleted_and_told(
    library: ProjectLibrary, cache: EmbeddingCache, name: str, data: bytes
) -> None:
    (library.root / "own" / "exports" / name).write_bytes(data)
    done = library.forget("own", ["secret"], now=50, cache=cache)
    assert f"exports/{name}" in done.deleted
    assert name not in {export.name for export in library.exports("own")}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("deep.zip", pack_files({"a.zip": pack_files({"b.zip": pack_files({"c.zip": pack_files({})})})})),
        ("nest.json", b'{"a": "' + REVISIONS[1].encode() + b'", "b": ' + b"[" * 100_000),
    ],
)
def test_an_export_loses_only_what_nobody_can_look_into(
    library: ProjectLibrary, cache: EmbeddingCache, name: str, data: bytes
) -> None:
    (library.root / "own" / "exports" / name).write_bytes(data)
    done = library.forget("own", ["secret"], now=50, cache=cache)
    assert f"exports/{name}" in done.rewritten
    found = [where for where, _ in contents(library.read_export("own", name), name)]
    assert found[-1] == {"deep.zip": "deep.zip/a.zip/b.zip", "nest.json": "nest.json"}[name]


def test_a_short_text_is_erased_only_where_it_stands_alone(tmp_path: Path) -> None:
    library = ProjectLibrary(tmp_path / "projects")
    project = remember_memory(load_sample("deploy-demo"), "tea", now=1, id="x")
    library.create("own", project)
    library.keep_export("own", "a.json", b'{"drink": "tea", "all": "tea and steam", "block": "<m>tea</m>"}')
    library.forget("own", ["x"], now=2)
    kept = json.loads(library.read_export("own", "a.json"))
    assert kept == {"drink": "[forgotten]", "all": "tea and steam", "block": "[forgotten]"}


def test_without_a_cache_the_folder_is_erased_all_the_same(library: ProjectLibrary) -> None:
    done = library.forget("own", ["secret"], now=50)
    assert not done.pending
    assert places(library.root, REVISIONS) == []


def test_a_cache_that_is_held_is_erased_by_the_next_use(
    library: ProjectLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.2)  # nobody lets go of it here
    path = tmp_path / "cache" / "vectors.sqlite"
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM vectors").fetchone()
    cache = EmbeddingCache(path)
    done = library.forget("own", ["secret"], now=50, cache=cache)
    cache.close()
    assert done.pending
    assert [place for place in places(library.root, REVISIONS) if JOURNAL not in place] == []
    assert [record.id for record in library.load("own").memories if record.id == "secret"] == []
    assert (library.root / "own" / JOURNAL).exists()
    reader.close()
    knowing = ProjectLibrary(library.root, open_cache=lambda: EmbeddingCache(path))
    knowing.load("own")
    assert places(library.root, REVISIONS) == []
    assert places(tmp_path / "cache", REVISIONS) == []


def test_what_one_forget_leaves_to_erase_in_the_cache_is_not_lost_by_the_next(
    library: ProjectLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.2)
    path = tmp_path / "cache" / "vectors.sqlite"
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM vectors").fetchone()
    knowing = ProjectLibrary(library.root, open_cache=lambda: EmbeddingCache(path))
    assert knowing.forget("own", ["secret"], now=50).pending
    assert library.forget("own", ["kept"], now=51).pending  # by somebody without the cache
    before = library.stamp("own")
    assert library.forget("own", ["kept"], now=52).pending
    assert library.stamp("own") == before
    assert knowing.forget("own", ["kept"], now=53).pending
    reader.close()
    knowing.delete("own")
    assert places(tmp_path / "cache", REVISIONS) == []
    assert knowing.names() == ()


def test_a_damaged_list_of_what_is_to_be_erased_is_a_typed_error(library: ProjectLibrary) -> None:
    more = ("2", '1, "keys": ["zz"]', '1, "keys": 3', '1, "records": [{}]')
    for text in ("{", "[]", *(f'{{"version": {rest}}}' for rest in more)):
        (library.root / "own" / JOURNAL).write_text(text)
        with pytest.raises(ProjectError, match=JOURNAL.replace(".", r"\.")):
            library.load("own")
    library.delete("own")
    assert library.names() == ()


PREPARE = """
from playground.retrieval.embedding_cache import EmbeddingCache
from playground.workspace.library import ProjectLibrary
DOOMED = [(EmbeddingCache, "forget"), (EmbeddingCache, "_transacted")]
"""
FORGET = """
cache = EmbeddingCache(library.root.parent / "cache" / "vectors.sqlite")
library.forget("own", ["secret"], now=50, cache=cache)
"""


@pytest.mark.parametrize(
    ("how", "start"),
    [
        ("opened", 1),
        pytest.param("forgotten again", 2, marks=pytest.mark.slow),
        pytest.param("opened", 3, marks=pytest.mark.slow),
    ],
)
def test_a_forget_that_is_killed_anywhere_is_finished_by_the_next_use(
    tmp_path: Path, cache: EmbeddingCache, how: str, start: int
) -> None:
    """Killed before the first step is done it did not happen; after it nothing brings the memory back."""
    library = ProjectLibrary(tmp_path / "projects", open_cache=lambda: EmbeddingCache(cache.path))
    project = made()
    packed = pack_project(project)
    states = set()
    with DyingProcesses(PREPARE) as dying:
        library.create("own", project)
        for number, killed in dying.each(library.root, FORGET, start=start, step=3):
            before = load_project(library.root / "own")  # goes on with nothing
            hidden = "secret" not in {record.id for record in before.memories}
            states.add((hidden, (library.root / "own" / JOURNAL).exists()))
            if how == "opened" and hidden:
                library.load("own")
            elif how == "forgotten again":
                library.forget("own", ["secret"], now=60, cache=cache)
                hidden = True
            if hidden:
                assert places(tmp_path, REVISIONS) == []
                assert {path.name for path in library.root.iterdir()} <= {"own", ".own.lock"}
                assert not (library.root / "own" / JOURNAL).exists()
            assert killed or (hidden and number > 30)
            library.delete("own")
            library.create("own", project)
            library.keep_export("own", "project.zip", packed)
            fill(cache, project)
    assert states == {(False, False), (True, True), (True, False)}


def test_files_are_kept_listed_read_and_dropped(library: ProjectLibrary) -> None:
    library.create("other", load_sample("deploy-demo"))
    assert library.exports("other") == ()
    kept = library.keep_export("other", "a b.json", b"{}")
    library.keep_export("other", "a b.json", b"[]")
    assert [export.name for export in library.exports("other")] == ["a b.json"]
    assert (kept.name, kept.size, kept.kept_at > 10**12) == ("a b.json", 2, True)
    library.change("other", lambda project: replace(project, title="New"))
    assert library.read_export("other", "a b.json") == b"[]"
    library.drop_export("other", "a b.json")
    for use in (library.read_export, library.drop_export):
        with pytest.raises(ProjectError, match="keeps no file"):
            use("other", "a b.json")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("../a.json", b"{}", "cannot be the name"),
        ("a/b.json", b"{}", "cannot be the name"),
        (".hidden.json", b"{}", "cannot be the name"),
        ("", b"{}", "cannot be the name"),
        ("a\n.json", b"{}", "cannot be the name"),
        ("a" * 200 + ".json", b"{}", "cannot be the name"),
        ("a.parquet", b"PAR1", "cannot be kept"),
        ("a", b"x", "cannot be kept"),
        ("a.zip", b"PK", "damaged"),
    ],
)
def test_what_could_not_be_looked_into_is_not_kept(
    library: ProjectLibrary, name: str, data: bytes, says: str
) -> None:
    before = library.stamp("own")
    with pytest.raises(ProjectError, match=says):
        library.keep_export("own", name, data)
    assert library.stamp("own") == before


def test_a_link_among_the_exports_is_neither_listed_nor_followed(
    library: ProjectLibrary, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(REVISIONS[1])
    (library.root / "own" / "exports" / "link.txt").symlink_to(outside)
    assert "link.txt" not in {export.name for export in library.exports("own")}
    with pytest.raises(ProjectError, match="keeps no file"):
        library.read_export("own", "link.txt")
    library.forget("own", ["secret"], now=50)
    assert outside.read_text() == REVISIONS[1]


def test_a_folder_of_exports_that_is_a_link_is_as_good_as_none(library: ProjectLibrary, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (library.root / "own" / "exports").rename(outside)
    (library.root / "own" / "exports").symlink_to(outside)
    assert library.exports("own") == ()
    for use in (library.read_export, library.drop_export):
        with pytest.raises(ProjectError, match="keeps no file"):
            use("own", "package.json")
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    library.forget("own", ["secret"], now=50)
    library.keep_export("own", "new.json", b"{}")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert [export.name for export in library.exports("own")] == ["new.json"]


def test_a_forget_among_changes_of_other_processes_is_never_undone(
    library: ProjectLibrary, cache: EmbeddingCache, tmp_path: Path
) -> None:
    code = """
import sys
from playground.workspace.library import ProjectLibrary
from playground.workspace.memories import remember_memory
library = ProjectLibrary(sys.argv[1])
for at in range(15):
    library.change("own", lambda project: remember_memory(project, f"Told {at}.", now=at, id=f"told-{at}"))
"""
    writer = subprocess.Popen([sys.executable, "-c", code, str(library.root)], cwd=ROOT)
    while "told-3" not in {record.id for record in library.load("own").memories}:
        assert writer.poll() is None
    library.forget("own", ["secret"], now=50, cache=cache)
    assert writer.wait(timeout=120) == 0
    assert places(library.root, REVISIONS) == []
    assert places(tmp_path / "cache", REVISIONS) == []
    kept = {record.id for record in library.load("own").memories}
    assert {f"told-{at}" for at in range(15)} <= kept


FULL = """
import resource, signal, sys
from playground.errors import ProjectError
from playground.workspace.library import ProjectLibrary
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ProjectLibrary(sys.argv[1]).forget("own", ["secret"], now=50)
except ProjectError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX")
def test_a_disk_that_is_full_between_the_steps_is_told_and_the_next_use_goes_on(
    library: ProjectLibrary,
) -> None:
    large = json.dumps([REVISIONS[1], "x" * 200_000]).encode()
    library.keep_export("own", "large.json", large)
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(library.root)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "The project 'own' cannot be written: File too large." in run.stdout
    assert library.read_export("own", "large.json") == large
    hidden = load_project(library.root / "own")
    assert "secret" not in {record.id for record in hidden.memories}
    library.load("own")
    assert places(library.root, REVISIONS) == []
    assert len(library.read_export("own", "large.json")) > 200_000

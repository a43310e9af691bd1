"""What is forgotten is in no byte of the vector cache: file, log, and copies that were set aside.

The raw float32 bytes of the vectors are looked for, and the digests of their texts.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from playground.errors import PlaygroundError
from playground.retrieval import vector_file
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.index import Vectors

MODEL = ("model", "sha256:0")
HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1])
held.execute("PRAGMA locking_mode = EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""
Rows = dict[bytes, Vectors]


def rows(seed: int, count: int, dims: int = 64) -> Rows:
    vectors = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {vector_key(f"{seed}-{number}"): vector for number, vector in enumerate(vectors)}


def found(folder: Path, wanted: Rows) -> list[str]:
    """Which of these vectors or digests are in which file of a folder."""
    return [
        f"{what} in {path.name}"
        for path in sorted(folder.iterdir())
        for content in [path.read_bytes()]
        for key, vector in wanted.items()
        for what, data in (("vector", vector.tobytes()), ("digest", key))
        if data in content
    ]


def some(wanted: Rows, keys: Iterable[bytes]) -> Rows:
    return {key: wanted[key] for key in keys}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("reader", ["none", "idle", "reading"])
def test_no_byte_of_what_is_forgotten_is_left_in_file_and_log(tmp_path: Path, seed: int, reader: str) -> None:
    random, path = Random(seed), tmp_path / "vectors.db"
    everything: Rows = {}
    cache = EmbeddingCache(path)
    for step in range(random.randrange(1, 4)):
        fresh = rows(seed * 10 + step, random.choice([1, 40, 300]), random.choice([8, 64, 384, 1024]))
        cache.put(*MODEL, fresh.items())
        if random.random() < 0.5:  # written again, so that older copies of a page lie about
            cache.put(*MODEL, list(fresh.items())[: random.randrange(len(fresh) + 1)])
        everything |= fresh
    gone = some(everything, random.sample(sorted(everything), random.randrange(1, len(everything) + 1)))
    assert found(tmp_path, gone)
    other = EmbeddingCache(path) if reader != "none" else None
    if other is not None and reader == "reading":
        other._connection.execute("BEGIN")
        other._connection.execute("SELECT count(*) FROM vectors").fetchone()
        with pytest.raises(PlaygroundError, match="not erased yet"):
            cache.forget(gone)
        other._connection.execute("ROLLBACK")
        assert cache.forget(gone) == 0  # the rows went at once, the bytes go now
    else:
        assert cache.forget(gone) == len(gone)
    assert found(tmp_path, gone) == []
    kept = some(everything, everything.keys() - gone.keys())
    assert {key: vector.tobytes() for key, vector in cache.get(*MODEL, everything).items()} == {
        key: vector.tobytes() for key, vector in kept.items()
    }
    for opened in filter(None, (cache, other)):
        opened.close()


def test_what_a_reader_held_up_goes_when_the_file_is_next_opened(tmp_path: Path) -> None:
    everything = rows(1, 100)
    cache = EmbeddingCache(tmp_path / "vectors.db")
    cache.put(*MODEL, everything.items())
    gone = some(everything, sorted(everything)[:50])
    with closing(sqlite3.connect(cache.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM vectors").fetchone()
        with pytest.raises(PlaygroundError, match="not erased yet"):
            cache.forget(gone)
        assert found(tmp_path, gone)
        cache.close()
    EmbeddingCache(cache.path).close()
    assert found(tmp_path, gone) == []


def test_a_file_that_another_process_holds_is_never_said_to_be_erased(tmp_path: Path) -> None:
    everything = rows(2, 10)
    path = tmp_path / "vectors.db"
    with closing(EmbeddingCache(path)) as cache:
        cache.put(*MODEL, everything.items())
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        cache = EmbeddingCache(path)  # in memory only, because the file cannot be used
        with closing(cache), pytest.raises(PlaygroundError, match="not erased yet"):
            cache.forget(everything)
    finally:
        holder.kill()
        holder.communicate()
    with closing(EmbeddingCache(path)) as cache:
        assert cache.forget(everything) == 10
    assert found(tmp_path, everything) == []


def test_where_there_is_no_cache_of_ours_there_is_nothing_to_erase(tmp_path: Path) -> None:
    folder, foreign = tmp_path / "folder.db", tmp_path / "foreign.db"
    folder.mkdir()
    with closing(sqlite3.connect(foreign)) as connection, connection:
        connection.execute("CREATE TABLE letters (text TEXT)")
    for path in (folder, foreign):
        with closing(EmbeddingCache(path)) as cache:
            assert cache.forget(rows(3, 2)) == 0


@pytest.mark.parametrize("spoilt", [16, 4_096])
@pytest.mark.parametrize("when", ["before opening", "while open"])
def test_a_damaged_copy_goes_however_much_of_its_beginning_is_lost(
    tmp_path: Path, spoilt: int, when: str
) -> None:
    everything = rows(4, 300)
    path = tmp_path / "vectors.db"
    cache = EmbeddingCache(path)
    cache.put(*MODEL, everything.items())
    if when == "before opening":
        cache.close()
    else:
        cache._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with path.open("r+b") as file:
        file.write(b"\xff" * spoilt)
    if when == "before opening":
        cache = EmbeddingCache(path)
        assert found(tmp_path, everything)
    cache.forget(sorted(everything)[:3])
    cache.close()
    assert found(tmp_path, some(everything, sorted(everything)[:3])) == []


@pytest.mark.parametrize("name", [b"text_digest", b"weights_digest BLOB", b"vectors"])
def test_a_file_whose_names_are_damaged_is_ours_all_the_same(tmp_path: Path, name: bytes) -> None:
    everything = rows(6, 30)
    path = tmp_path / "vectors.db"
    with closing(EmbeddingCache(path)) as cache:
        cache.put(*MODEL, everything.items())
    data = path.read_bytes()
    path.write_bytes(data.replace(name[:6], b"\x93" + name[1:6]))
    with closing(EmbeddingCache(path)) as cache:
        cache.forget(everything)
    assert found(tmp_path, everything) == []


def test_a_foreign_file_in_the_place_of_a_damaged_copy_stays(tmp_path: Path) -> None:
    everything = rows(5, 3)
    thesis = tmp_path / "vectors.db.damaged"
    thesis.write_bytes(b"a thesis" * 1_000)
    with closing(EmbeddingCache(tmp_path / "vectors.db")) as cache:
        cache.put(*MODEL, everything.items())
        assert cache.forget(everything) == 3
    assert thesis.read_bytes() == b"a thesis" * 1_000

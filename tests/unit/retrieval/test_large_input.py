"""Large and hostile sizes: everything stays linear."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from playground.retrieval.chunking import Chunk, chunk_blocks, chunk_fixed, chunk_recursive
from playground.retrieval.corpus import chunk_documents
from playground.retrieval.documents import Document, load_documents
from playground.retrieval.lexical import LexicalIndex
from tests.unit.retrieval.made_files import pdf, text_page

pytestmark = pytest.mark.slow

LINE = 50_000_000


@pytest.mark.parametrize(
    "text", ["x" * LINE, "\u0301" * 2_000_000, "word " * 2_000_000], ids=["x", "marks", "words"]
)
def test_a_very_long_line_is_cut_into_chunks(text: str) -> None:
    for chunk in (chunk_fixed, chunk_recursive, chunk_blocks):
        chunks = chunk(text)
        assert chunks[-1].end_offset == len(text)
        assert max(len(piece.text) for piece in chunks) <= 2_048


def test_a_large_file_loads() -> None:
    (document,) = load_documents([("a.txt", b"y" * LINE)]).documents
    assert len(document.text) == LINE


def test_a_hundred_thousand_texts_are_searched() -> None:
    index = LexicalIndex(f"text {n} about topic {n % 997}" for n in range(100_000))
    hits = index.search("topic 5", 48)
    assert len(hits) == 48
    assert hits == sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.id))


def test_many_headings_cost_no_more_than_their_number() -> None:
    text = "# a\n\n## b\n\n" * 10_000
    started = time.process_time()
    chunks = chunk_documents([Document("a", "A", text)], chunk_blocks)
    assert time.process_time() - started < 3  # 12 s when every chunk walks over all headings
    assert len(chunks) == 20_000
    assert chunks[-1].meta["headings"] == ("a", "b")


@pytest.mark.parametrize("chunk", [chunk_recursive, chunk_blocks])
def test_long_chunks_of_short_pieces_take_no_longer_than_their_text(
    chunk: Callable[..., tuple[Chunk, ...]],
) -> None:
    started = time.process_time()
    chunk("a\n\n" * 400_000, size=250_000, overlap=0)
    assert time.process_time() - started < 3  # 12 s when each piece copies the chunk so far


def test_json_lines_of_fifty_megabytes_load() -> None:
    text = "A line of the log that says what was done, by whom and when. " * 8
    line = json.dumps({"text": text, "level": "info"})
    count = LINE // (len(line) + 1) + 1
    data = "\n".join([line] * count).encode()
    assert len(data) >= LINE
    result = load_documents([("log.jsonl", data)])
    assert result.errors == ()
    assert len(result.documents) == count
    assert result.documents[-1].text == text
    assert len({document.id for document in result.documents}) == count


def test_a_text_of_ten_thousand_pages_loads_and_is_cut() -> None:
    page = "\n".join(f"Line {number} of a page, with the words that such a line has." for number in range(40))
    data = "\n\f\n".join(f"Page {number}\n\n{page}" for number in range(10_000)).encode()
    (document,) = load_documents([("report.txt", data)]).documents
    assert document.text.encode() == data
    chunks = chunk_documents([document], chunk_recursive)
    assert chunks[-1].end_offset == len(document.text)


@pytest.mark.parametrize("name", ["line.html", "line.txt", "line.md"])
def test_a_line_of_a_hundred_megabytes_loads(name: str) -> None:
    result = load_documents([(name, b"word " * 20_000_000), ("good.txt", b"good")])
    assert result.errors == ()
    assert [document.source_name for document in result.documents] == [name, "good.txt"]


def test_a_table_of_a_hundred_thousand_rows_loads() -> None:
    data = "id,text,lang\n" + "".join(f'{n},"Row {n}, with ""quotes""",en\n' for n in range(100_000))
    result = load_documents([("rows.csv", data.encode())])
    assert result.documents[99_999].text == 'Row 99999, with "quotes"'
    assert result.documents[99_999].id == "99999"


def test_a_thousand_pages_of_pdf_load() -> None:
    pages = [text_page(f"Page {number} with a few words") for number in range(1_000)]
    (document,) = load_documents([("book.pdf", pdf(pages))]).documents
    starts = document.meta["pageStarts"]
    assert len(starts) == 1_000
    assert document.text[starts[-1] :] == "Page 999 with a few words"

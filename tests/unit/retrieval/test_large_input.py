"""Large and hostile sizes: everything stays linear."""

from __future__ import annotations

import io
import json
import random
import time
import zipfile
from collections.abc import Callable

import pytest

from playground.errors import InvalidInputError
from playground.retrieval.archives import RATIO_LIMIT, UNPACKED_LIMIT
from playground.retrieval.chunking import Chunk, chunk_blocks, chunk_fixed, chunk_recursive
from playground.retrieval.corpus import chunk_documents
from playground.retrieval.documents import Document, load_documents
from playground.retrieval.lexical import LexicalIndex
from playground.retrieval.parsing import TIME_LIMIT
from tests.unit.retrieval.made_files import raw_pdf

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


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("line.html", "", ""),
        ("line.txt", "", ""),
        ("line.md", "", ""),
        ("line.json", '{"text": "', '"}'),
        ("line.jsonl", '{"text": "', '"}'),
        ("line.csv", 'id,text\n1,"', '"'),
    ],
)
def test_a_line_of_a_hundred_megabytes_loads(name: str, before: str, after: str) -> None:
    data = before.encode() + b"word " * 20_000_000 + after.encode()
    result = load_documents([(name, data), ("good.txt", b"good")])
    assert result.errors == ()
    assert [document.source_name for document in result.documents] == [name, "good.txt"]
    text = result.documents[0].text.strip()
    assert text.count("word") == 20_000_000
    assert text.replace("word ", "") == "word"


def test_a_hundred_megabytes_of_what_takes_most_memory_are_refused_in_no_time() -> None:
    """Each took gigabytes, and minutes of the process that serves everybody."""
    size = 2 * LINE
    for name, data in (
        ("lists.json", b'{"text": "a", "x": [' + b"[]," * (size // 3) + b"[]]}"),
        ("records.jsonl", b'{"text": "a"}\n' * (size // 14)),
        ("headings.md", b"# a\n" * (size // 4)),
    ):
        started = time.process_time()
        result = load_documents([(name, data), ("good.txt", b"good")])
        if result.errors:
            assert [error.name for error in result.errors] == [name]
        else:
            with pytest.raises(InvalidInputError, match="headings"):
                chunk_documents(result.documents, chunk_blocks)
        assert time.process_time() - started < 20
        assert result.documents[-1].text == "good"


def test_an_archive_of_more_than_512_megabytes_is_refused_though_its_ratio_is_allowed() -> None:
    noise = random.Random(1).randbytes(20_000)
    block = (noise + bytes(1_000_000)) * 8
    with zipfile.ZipFile(target := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(68):
            archive.writestr(f"word/media/{number}.bin", block)
    packed, unpacked = len(target.getvalue()), 68 * len(block)
    assert UNPACKED_LIMIT < unpacked < RATIO_LIMIT * packed
    result = load_documents([("big.docx", target.getvalue()), ("good.txt", b"good")])
    assert "unpacks to far more than it is" in str(result.errors[0])
    assert [document.text for document in result.documents] == ["good"]


def test_a_table_of_a_hundred_thousand_rows_loads() -> None:
    data = "id,text,lang\n" + "".join(f'{n},"Row {n}, with ""quotes""",en\n' for n in range(100_000))
    result = load_documents([("rows.csv", data.encode())])
    assert result.documents[99_999].text == 'Row 99999, with "quotes"'
    assert result.documents[99_999].id == "99999"


def test_ten_thousand_pages_of_pdf_are_read_or_given_up_within_the_time() -> None:
    count = 10_000
    lines = b" ".join(b"(Line %d of a page, with words such as a line has) Tj 0 -12 Td" % n for n in range(20))
    kids = b" ".join(b"%d 0 R" % (4 + number) for number in range(count))
    pages = b"<</Type /Pages /Kids [%s] /Count %d>>" % (kids, count)
    font = b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>"
    objects = [b"<</Type /Catalog /Pages 2 0 R>>", pages, font]
    page = b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources %s>>"
    objects += (page % (4 + count + number, b"<</Font <</F1 3 0 R>>>>") for number in range(count))
    for number in range(count):
        text = b"BT /F1 9 Tf 20 700 Td (Page %d) Tj 0 -12 Td %s ET" % (number, lines)
        objects.append(b"<</Length %d>>\nstream\n%s\nendstream" % (len(text), text))
    started = time.monotonic()
    result = load_documents([("book.pdf", raw_pdf(objects)), ("good.html", b"<p>good")])
    assert time.monotonic() - started < TIME_LIMIT + 20
    assert result.documents[-1].text == "good"
    if result.errors:
        assert f"book.pdf was not read within {TIME_LIMIT:g} seconds" in str(result.errors[0])
        return
    starts = result.documents[0].meta["pageStarts"]
    assert len(starts) == count
    assert result.documents[0].text[starts[-1] :].startswith("Page 9999\nLine 0 of a page")

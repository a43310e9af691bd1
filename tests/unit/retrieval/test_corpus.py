"""Chunk numbers and the place of a chunk in its document."""

from __future__ import annotations

from functools import partial

import pytest

from playground.errors import InvalidInputError
from playground.retrieval.chunking import Chunk, chunk_blocks, chunk_fixed, chunk_recursive
from playground.retrieval.corpus import Corpus, chunk_documents, search_text
from playground.retrieval.documents import Document, load_documents
from playground.retrieval.headings import TITLE_LENGTH, HeadingPaths, headings_of


def document(identifier: str, text: str) -> Document:
    return Document(identifier, identifier.upper(), text)


def numbers(corpus: Corpus) -> dict[int, str]:
    return {chunk.index: chunk.text for chunk in corpus.chunks}


def test_numbers_are_given_once_and_never_again() -> None:
    corpus = Corpus().with_documents([document("a", "one"), document("b", "two")], chunk_fixed)
    assert numbers(corpus) == {0: "one", 1: "two"}
    corpus = corpus.without(["b"])
    assert numbers(corpus) == {0: "one"}
    corpus = corpus.with_documents([document("c", "three")], chunk_fixed)
    assert numbers(corpus) == {0: "one", 2: "three"}
    corpus = corpus.without(["a", "c"]).with_documents([document("a", "one")], chunk_fixed)
    assert numbers(corpus) == {3: "one"}


def test_the_same_document_again_changes_nothing_and_a_new_text_gets_new_numbers() -> None:
    corpus = Corpus().with_documents([document("a", "one"), document("b", "two")], chunk_fixed)
    assert corpus.with_documents([document("a", "one")], chunk_fixed) == corpus
    changed = corpus.with_documents([document("a", "uno")], chunk_fixed)
    assert numbers(changed) == {1: "two", 2: "uno"}


def test_a_comment_in_an_example_of_restructured_text_is_no_heading() -> None:
    text = "Timing\n======\n\nAn example::\n\n   # Start the clock\n   run()\n\nAfter it, more."
    (page,) = load_documents([("timing.rst", text.encode())]).documents
    assert (page.title, page.text, page.media_type) == ("timing", text, "text/x-rst")
    assert {
        chunk.meta["headings"] for chunk in chunk_documents([page], partial(chunk_recursive, size=8, overlap=0))
    } == {()}
    (notes,) = load_documents([("timing.txt", text.encode())]).documents
    assert chunk_documents([notes], partial(chunk_recursive, size=8, overlap=0))[-1].meta["headings"] == (
        "Start the clock",
    )


def test_a_chunk_knows_its_document_its_part_and_the_headings_above_it() -> None:
    text = "# Cards\n\nintro\n\n## Lost\n\ncall us\n\n# Fees\n\nnone"
    chunks = chunk_documents([document("a", text)], chunk_blocks, start=5)
    assert [chunk.index for chunk in chunks] == [5, 6, 7]
    assert chunks[1].meta == {
        "document": "a",
        "title": "A",
        "headings": ("Cards", "Lost"),
        "part": 2,
        "parts": 3,
    }
    assert chunks[2].meta["headings"] == ("Fees",)


def test_chunks_of_white_space_are_left_out() -> None:
    chunks = chunk_documents([document("a", " " * 5_000), document("b", "x")], chunk_fixed)
    assert [(chunk.index, chunk.text) for chunk in chunks] == [(0, "x")]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_piece_of_any_chunker_gets_no_number(blank: str) -> None:
    pieces = [Chunk(blank, 0), Chunk("text", 1), Chunk(blank, 2)]
    (chunk,) = chunk_documents([document("a", "text")], lambda _text: pieces)
    assert (chunk.index, chunk.text, chunk.meta["part"], chunk.meta["parts"]) == (0, "text", 1, 1)


def test_two_documents_with_one_id_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="'a'"):
        chunk_documents([document("a", "x"), document("a", "y")], chunk_fixed)


def test_search_text_names_what_the_chunk_does_not_show() -> None:
    text = "# Gold card\n\nintro\n\n## Fees\n\nnone"
    chunks = chunk_documents([Document("a", "Gold card", text)], chunk_blocks)
    assert search_text(chunks[0]) == chunks[0].text
    assert search_text(chunks[1]) == "Gold card\n## Fees\n\nnone"


def test_a_deeper_heading_ends_with_its_parent() -> None:
    text = "### C\n# A\n## B\n# D\n"
    headings = headings_of(text)
    paths = HeadingPaths(headings)
    assert [paths.at(heading.offset) for heading in headings] == [("C",), ("A",), ("A", "B"), ("D",)]
    assert paths.at(0) == ("C",)
    assert HeadingPaths(()).at(3) == ()


@pytest.mark.parametrize(
    ("line", "titles"),
    [
        ("## Fees ##\r", ["Fees"]),
        ("## Fees ## \t", ["Fees"]),
        ("# C#", ["C#"]),
        ("# a # b", ["a # b"]),
        ("### ###", [""]),
        ("#", [""]),
        ("#no", []),
        ("####### seven", []),
        ("    # code", []),
        ("#\rb", []),
    ],
)
def test_heading_lines_are_read_as_commonmark_says(line: str, titles: list[str]) -> None:
    assert [heading.title for heading in headings_of(line)] == titles


def test_marks_count_only_at_the_start_of_a_line_that_a_line_feed_ends() -> None:
    text = "# a\r\n  ~~~ x\n# code\n```\n~~~ no end\n~~~~ \n\u2028# no\n   ## b\u2028c\r## no"
    assert [(heading.level, heading.title) for heading in headings_of(text)] == [
        (1, "a"),
        (2, "b\u2028c\r## no"),
    ]


def test_a_document_of_more_headings_than_it_may_have_chunks_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("playground.retrieval.headings.HEADING_LIMIT", 100)
    assert len(headings_of("# a\n" * 100)) == 100
    with pytest.raises(InvalidInputError, match="more than 100 headings") as caught:
        chunk_documents([Document("a", "A", "# a\n" * 101)], chunk_recursive)
    assert caught.value.remedy
    (document,) = load_documents([("a.md", b"#\n" * 50 + b"# Title\n" + b"# a\n" * 100)]).documents
    assert document.title == "Title"


@pytest.mark.parametrize("line", ["# a" + " " * 200_000 + "b", "# " + "# " * 100_000 + "b", "#" * 200_000])
def test_a_hostile_heading_line_costs_no_more_than_its_length(line: str) -> None:
    """A pattern that backtracks takes ten minutes for these."""
    assert len(headings_of(line)) <= 1


def test_an_endless_title_is_not_repeated_in_every_chunk() -> None:
    text = "# " + "t" * 100_000 + "\n\n" + "word " * 20_000
    chunks = chunk_documents([Document("a", "x" * 100_000, text)], chunk_recursive)
    assert max(len(search_text(chunk)) - len(chunk.text) for chunk in chunks) <= 2 * (TITLE_LENGTH + 1)


def test_many_small_documents_may_not_repeat_their_text_without_end() -> None:
    documents = [document(str(number), "x" * 4_800) for number in range(100)]
    with pytest.raises(InvalidInputError, match="overlap"):
        chunk_documents(documents, partial(chunk_fixed, size=1_000, overlap=999))

"""PDF, DOCX, HTML and CSV through the whole load: what others' programs wrote, damaged and hostile files.

Every refusal is a typed error that names file and remedy; the rest of the upload loads (data.md, Bad input).
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

import pytest

from playground.errors import DocumentError
from playground.retrieval import parsing, pdf_text
from playground.retrieval.documents import Document, LoadResult, load_documents
from playground.retrieval.media_types import CSV, DOCX, HTML, PDF
from tests.unit.retrieval.made_files import PICTURE, docx, paragraph, pdf, raw_pdf, text_page

DATA = Path(__file__).parents[2] / "data"
COMMITTED = ("leave.docx", "leave.pdf", "tides.html", "orders-utf16.csv")


@pytest.fixture(scope="module")
def loaded() -> LoadResult:
    """Every committed file in one upload."""
    return load_documents([(name, (DATA / name).read_bytes()) for name in COMMITTED])


def of(result: LoadResult, name: str) -> list[Document]:
    return [document for document in result.documents if document.source_name == name]


def test_every_committed_file_loads_without_a_warning(loaded: LoadResult) -> None:
    assert [document.source_name for document in loaded.documents] == [*COMMITTED, COMMITTED[-1]]
    assert loaded.warnings == ()
    assert loaded.errors == ()


def test_a_word_document_of_an_office_suite_keeps_headings_lists_and_tables(loaded: LoadResult) -> None:
    (document,) = of(loaded, "leave.docx")
    assert (document.id, document.title, document.media_type) == ("leave.docx", "Leave policy", DOCX)
    assert document.text.startswith("# Leave policy\n\nThis policy")
    assert (
        "- Temporary staff, after three months\n  - Seasonal divers\n  - Crane drivers on call\n- Apprentices"
        in document.text
    )
    assert (
        "| Group | Days | Carried over |\n| --- | --- | --- |\n| Permanent staff | 28 | until 31 March |"
        in document.text
    )
    assert "2. Fill in the form – also for half days." in document.text


def test_a_pdf_of_an_office_suite_keeps_its_lines_and_says_where_pages_start(loaded: LoadResult) -> None:
    (document,) = of(loaded, "leave.pdf")
    assert (document.title, document.media_type) == ("Leave policy", PDF)
    assert "Temporary staff 24 none" in document.text
    first, second = document.meta["pageStarts"]
    assert first == 0
    assert document.text[second:].startswith("Questions go to the harbour office")
    assert "Größere Gruppen" in document.text[second:]


def test_a_page_saved_by_a_browser_keeps_what_it_shows_and_nothing_else(loaded: LoadResult) -> None:
    (document,) = of(loaded, "tides.html")
    assert (document.title, document.media_type) == ("Tide tables for pilots", HTML)
    assert "North quay\n\n| Day | High | Low |" in document.text
    assert "- Check the `DRAUGHT` board\n  - at the lock" in document.text
    for hidden in ("secret", "hidden", "createElement", "switch scripts on", "drawn", ".board"):
        assert hidden not in document.text


def test_a_utf16_table_is_read_row_by_row(loaded: LoadResult) -> None:
    ships, weather = of(loaded, "orders-utf16.csv")
    assert (ships.id, ships.title, ships.media_type) == ("7", "Größe", CSV)
    assert " ".join(ships.text.split()) == "Ships over 120 m need two tugs; ask early"
    assert weather.meta == {"Berth": 'Quay "B"'}


PROGRAM = Path(sys.executable).resolve().read_bytes()[:100_000]
WINDOWS_PROGRAM = b"MZ\x90\0\x03" + b"\0" * 200
PROTECTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
PICTURE_FILE = b"\x89PNG\r\n\x1a\n" + bytes(20)
TEXT_PDF = pdf([text_page("hello")])
PACKED = zlib.compress(b"x" * 90_000_000)
# Nobody's key: a reader without AES must tell that it is encrypted all the same.
AES = raw_pdf(
    [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [] /Count 0>>",
        b"<</Filter /Standard /V 5 /R 6 /Length 256 /P -4 /O <%s> /U <%s> /OE <%s> /UE <%s> /Perms <%s>"
        b" /CF <</StdCF <</CFM /AESV3 /AuthEvent /DocOpen /Length 32>>>> /StmF /StdCF /StrF /StdCF>>"
        % (b"ab" * 48, b"cd" * 48, b"ef" * 32, b"12" * 32, b"34" * 16),
    ],
    b"/Encrypt 3 0 R /ID [<0123> <0123>]",
)
HOSTILE = {
    "aes.pdf": (AES, "is encrypted"),
    "encrypted.pdf": (pdf([text_page("secret")], password="x"), "encrypted"),
    "scanned.pdf": (pdf([PICTURE, PICTURE]), "no text layer"),
    "damaged.pdf": (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj <</Type /Catalog>> garbage", "damaged"),
    "nothing.pdf": (b"", "empty"),
    "text.pdf": (b"just words", "not one"),
    "program.pdf": (PROGRAM, "program"),
    "program.txt": (WINDOWS_PROGRAM, "program"),
    "program.docx": (WINDOWS_PROGRAM, "program"),
    "paper.md": (TEXT_PDF, "a PDF although its name ends in .md."),
    "nothing.zip": (b"PK\x05\x06" + bytes(18), " is an empty ZIP archive, not text. Choose a file"),
    "photo.png": (PICTURE_FILE, " is a PNG picture, not text."),
    "photo.jpg": (PICTURE_FILE, " is a PNG picture, not text."),
    "photo.txt": (PICTURE_FILE, " is a PNG picture although its name ends in .txt."),
    "photo": (PICTURE_FILE, " is a PNG picture, not text."),
    "paper.docx": (TEXT_PDF, "a PDF although"),
    "word.pdf": (docx(paragraph("x")), "although its name ends in .pdf"),
    "word.txt": (docx(paragraph("x")), "although its name ends in .txt"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "legacy"),
    "protected.docx": (PROTECTED, "legacy Office document although"),
    "rich.rtf": (b"{\\rtf1 hello}", "Rich Text"),
    "table.xlsx": (docx("", more={"xl/workbook.xml": "<a/>"}), "not text"),
    "table.docx": (
        docx("", more={"xl/workbook.xml": "<a/>"}).replace(b"word/document", b"work/document"),
        "Excel",
    ),
    "archive.docx": (docx("").replace(b"word/document", b"work/document"), "ZIP archive, not a Word"),
    "empty.docx": (docx(paragraph(" ")), "no text"),
    "torn.docx": (docx(paragraph("x"))[:200], "damaged"),
    "broken.docx": (docx("<w:p><w:r>"), "damaged"),
    "bomb.docx": (docx(paragraph("x"), more={"word/media/a.bmp": b"\0" * 4_000_000}), "far more than it is"),
    "traversal.docx": (docx(paragraph("x"), more={"../../evil.sh": "x"}), "points outside"),
    "deep.docx": (docx("<w:tbl><w:tr><w:tc>" * 3_000 + "</w:tc></w:tr></w:tbl>" * 3_000), "nests too deep"),
    "deep.html": (b"<div>" * 100_000, "too deep"),
    "scripts.html": (b"<script>x()</script>", "shows no text"),
    "header.csv": (b"a,b\n", "no row"),
    "binary.csv": (b"a,b\0\0\0\0\0", "NUL"),
}


@pytest.fixture(scope="module")
def refused() -> LoadResult:
    """All hostile files and good ones between them, in one upload."""
    files = [(name, data) for name, (data, _) in HOSTILE.items()]
    return load_documents([("first.html", b"<p>first"), *files, ("last.pdf", TEXT_PDF)])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_is_refused_by_name_with_a_remedy(refused: LoadResult, name: str) -> None:
    (error,) = [error for error in refused.errors if error.name == name]
    assert name in str(error)
    assert HOSTILE[name][1] in str(error).replace(name, "")
    assert error.remedy


def test_the_rest_of_the_upload_loads(refused: LoadResult) -> None:
    assert [document.text for document in refused.documents] == ["first", "hello"]
    assert len(refused.errors) == len(HOSTILE)


def test_a_protected_office_document_asks_for_its_password_to_be_removed(refused: LoadResult) -> None:
    (error,) = [error for error in refused.errors if error.name == "protected.docx"]
    assert "password" in error.remedy


def only(name: str, data: bytes, **limits: float) -> DocumentError:
    result = load_documents(
        [("a.html", b"<p>a"), (name, data), ("b.html", b"<p>b")], time_limit=limits.get("s", 60)
    )
    assert [document.text for document in result.documents] == ["a", "b"]
    (error,) = result.errors
    assert name in str(error)
    assert error.remedy
    return error


def test_a_file_that_would_hang_its_parser_is_given_up_and_the_next_one_read() -> None:
    many = "".join(f" a{n}=1" for n in range(200_000))  # the parser compares each attribute with each
    error = only("slow.html", f"<p{many}>x".encode(), s=4)
    assert "not read within 4 seconds" in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to a limit of memory")
def test_a_file_that_takes_too_much_memory_is_given_up_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parsing, "MEMORY_LIMIT", 256 * 1024**2)
    assert "too much memory" in str(only("large.html", b"<p>x" * 1_000_000))


def test_a_parser_that_breaks_off_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_PROGRAM", "import this")  # answers with a poem, and ends
    result = load_documents([("a.html", b"<p>a"), ("b.txt", b"b")])
    assert [document.text for document in result.documents] == ["b"]
    assert "break off" in str(result.errors[0])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see the processes")
def test_no_process_outlives_a_load() -> None:
    def children() -> set[int]:
        own = str(os.getpid())
        stats = (path.read_text() for path in Path("/proc").glob("[0-9]*/stat"))
        return {int(s.split()[0]) for s in stats if s.rpartition(")")[2].split()[1] == own}

    before = children()
    load_documents([("a.html", b"<p>a"), ("b.pdf", b"%PDF-1.7")])
    assert children() <= before


def test_text_files_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    result = load_documents([("a.md", b"# a"), ("b.json", b'{"text": "b"}'), ("c.html", b"<p>c")])
    assert [document.text for document in result.documents] == ["# a", "b"]
    assert "cannot start" in str(result.errors[0])


def test_one_picture_among_pages_of_text_is_warned_of() -> None:
    pages = [text_page("one"), PICTURE, PICTURE, text_page("four"), PICTURE]
    result = load_documents([("a.pdf", pdf(pages, title="Mixed"))])
    assert result.documents[0].title == "Mixed"
    assert result.documents[0].meta["pageStarts"] == [0, 5, 7, 9, 15]
    assert result.warnings[0].message.startswith("There is no text on pages 2–3, 5 of 5")


def test_a_pdf_stream_that_unpacks_to_too_much_is_refused() -> None:
    packed = b"<</Length %d /Filter /FlateDecode>>\nstream\n%s\nendstream" % (len(PACKED), PACKED)
    objects = [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources <</Font <<>>>>>>",
        packed,
    ]
    assert "LimitReachedError" in str(only("bomb.pdf", raw_pdf(objects)))


def test_a_pdf_that_lists_one_page_without_end_is_refused() -> None:
    objects = [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [%s] /Count 30000>>" % (b"3 0 R " * 30_000),
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9]>>",
    ]
    assert "30,000 pages" in str(only("pages.pdf", raw_pdf(objects)))


def test_a_pdf_whose_pages_hold_too_much_text_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pdf_text.TEXT_LIMIT == 200_000_000
    monkeypatch.setattr(pdf_text, "TEXT_LIMIT", 9)
    assert pdf_text.read_pdf("a.pdf", pdf([text_page("four")] * 2), print)[0].text == "four\n\nfour"
    with pytest.raises(DocumentError, match="more than 9 characters") as caught:
        pdf_text.read_pdf("a.pdf", pdf([text_page("four")] * 3), print)
    assert caught.value.remedy


def test_a_file_without_an_extension_is_what_its_content_is() -> None:
    result = load_documents(
        [("paper", TEXT_PDF), ("letter", docx(paragraph("dear"))), ("page", b"<!DOCTYPE html><p>x")]
    )
    assert [document.media_type for document in result.documents] == [PDF, DOCX, HTML]
    assert [document.title for document in result.documents] == ["paper", "letter", "page"]


def test_a_word_title_is_the_first_heading_and_pictures_are_warned_of() -> None:
    style = '<w:p><w:pPr><w:pStyle w:val="T"/></w:pPr><w:r><w:t>Top</w:t></w:r></w:p>'
    styles = (
        '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>'
    )
    data = docx(style + paragraph("x"), more={"word/styles.xml": styles, "word/media/a.png": b"\x89PNG"})
    result = load_documents([("a.docx", data)])
    assert (result.documents[0].title, result.documents[0].text) == ("Top", "# Top\n\nx")
    assert "pictures" in result.warnings[0].message


@pytest.mark.parametrize(
    ("part", "said", "warned"),
    [
        ("header1.xml", "Confidential", True),
        ("footer2.xml", "Größe", True),
        ("comments.xml", "Really?", True),
        ("footer1.xml", "12", False),
        ("headers.xml", "no part of Word's", False),
    ],
)
def test_words_beside_the_text_of_a_word_document_are_not_lost_silently(
    part: str, said: str, warned: bool
) -> None:
    data = docx(paragraph("body"), more={f"word/{part}": f'<w:hdr xmlns:w="words">{paragraph(said)}</w:hdr>'})
    result = load_documents([("a.docx", data)])
    assert [document.text for document in result.documents] == ["body"]
    expected = ["Headers, footers and comments were left out."] if warned else []
    assert [warning.message for warning in result.warnings] == expected


def test_a_word_document_cannot_say_which_of_its_text_is_read() -> None:
    result = load_documents([("a.docx", docx(paragraph("body"), more={"mammoth/style-map": "p => !"}))])
    assert [document.text for document in result.documents] == ["body"]


FONTS = b"/Resources <</Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>"


def test_a_damaged_form_is_no_reason_to_refuse_the_pages() -> None:
    objects = [
        b"<</Type /Catalog /Pages 2 0 R /AcroForm <</Fields [<</T (a) /FT /Tx /Kids 3>>]>>>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R %s>>" % FONTS,
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(text_page("sound")), text_page("sound")),
    ]
    result = load_documents([("form.pdf", raw_pdf(objects))])
    assert [document.text for document in result.documents] == ["sound"]


def test_lines_that_a_mail_gateway_put_before_a_pdf_do_no_harm() -> None:
    result = load_documents(
        [("a.pdf", b"X-Scanned: yes\r\n" * 10 + TEXT_PDF), ("b.pdf", b" " * 2_000 + TEXT_PDF)]
    )
    assert [document.text for document in result.documents] == ["hello"]
    assert [error.name for error in result.errors] == ["b.pdf"]


@pytest.mark.parametrize("entered", ["Ada Lovelace", ""])
def test_what_was_entered_into_a_form_is_not_lost_silently(entered: str) -> None:
    page = text_page("Name of the applicant")
    objects = [
        b"<</Type /Catalog /Pages 2 0 R /AcroForm <</Fields [5 0 R]>>>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Annots [5 0 R] %s>>" % FONTS,
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(page), page),
        b"<</Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (%s) /Rect [0 0 50 9] /P 3 0 R>>"
        % entered.encode(),
    ]
    result = load_documents([("form.pdf", raw_pdf(objects))])
    assert [document.text for document in result.documents] == ["Name of the applicant"]
    expected = ["The file is a form; what was entered into its fields was left out."] if entered else []
    assert [warning.message for warning in result.warnings] == expected


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ("<meta http-equiv=content-type content='text/html; charset=iso-8859-1'>", "cp1252"),
        ('<?xml version="1.0" encoding="koi8-r"?>', "koi8-r"),
    ],
)
def test_a_page_is_read_in_the_code_page_that_it_names(head: str, encoding: str) -> None:
    word = "naïve" if encoding == "cp1252" else "Привет"
    result = load_documents([("a.html", f"{head}<p>{word}".encode(encoding))])
    assert [document.text for document in result.documents] == [word]
    assert result.warnings == ()


def test_a_page_that_names_a_codec_of_another_kind_is_not_read_with_it() -> None:
    result = load_documents([("a.html", '<meta charset="unicode_escape"><p>\\ud800 caf\xe9'.encode("cp1252"))])
    assert "\\ud800 café" in result.documents[0].text
    assert "not UTF-8" in result.warnings[0].message


def test_nul_characters_in_foreign_files_are_replaced_and_warned_of() -> None:
    page = b"<p>a\0b and more words that follow it"
    table = b"id,text\n1,c\0d and more words that follow it\n"
    result = load_documents([("a.html", page), ("b.csv", table)])
    assert [document.text[:3] for document in result.documents] == ["a\ufffdb", "c\ufffdd"]
    assert len(result.warnings) == 2


def test_what_was_replaced_in_the_records_that_a_parser_gives_is_counted_together() -> None:
    warnings: list[str] = []
    with parsing.Parser() as parser:
        records = parser.read("a.csv", CSV, b"id,text\n1,a\0b\n2,c\0d\n", warnings.append)
    assert [record.text for record in records] == ["a\ufffdb", "c\ufffdd"]
    assert [warning.split()[0] for warning in warnings] == ["2"]


def test_a_page_under_another_name_is_read_as_a_page_with_a_warning() -> None:
    result = load_documents([("a.txt", b"<!doctype html><title>T</title><p>x")])
    assert (result.documents[0].title, result.documents[0].text) == ("T", "x")
    assert "HTML page" in result.warnings[0].message

"""Loading files: content first, name second, and one bad file never stops the others."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path

import pytest

from playground.errors import DocumentError
from playground.retrieval import json_records
from playground.retrieval.documents import SIZE_LIMIT, load_documents

CONFIG = Path(__file__).parents[3] / ".streamlit" / "config.toml"


def only_error(name: str, data: bytes, **options: int) -> DocumentError:
    result = load_documents([(name, data), ("good.md", b"# Good\n\ntext")], **options)
    assert [document.id for document in result.documents] == ["good.md"]
    assert len(result.errors) == 1
    error = result.errors[0]
    assert error.name == name
    assert name in str(error)
    assert error.remedy
    return error


def test_markdown_takes_its_title_from_the_first_heading_outside_code() -> None:
    text = "```\n# not this\n```\n\n## Refunds ##\n\nText."
    (document,) = load_documents([("a/b.md", text.encode())]).documents
    assert (document.id, document.title, document.text) == ("a/b.md", "Refunds", text)
    assert document.media_type == "text/markdown"


def test_plain_text_takes_its_title_from_the_file_name() -> None:
    (document,) = load_documents([("notes.txt", b"hello")]).documents
    assert (document.title, document.media_type, document.source_name) == ("notes", "text/plain", "notes.txt")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("Größe".encode(), "Größe"),
        (b"\xef\xbb\xbfplain", "plain"),
        ("Größe".encode("utf-16"), "Größe"),
        (b"\xfe\xff" + "Größe".encode("utf-16-be"), "Größe"),
        ("Größe \U0001f4b3".encode("utf-32"), "Größe \U0001f4b3"),
        (b"\x00\x00\xfe\xff" + "Größe".encode("utf-32-be"), "Größe"),
    ],
)
def test_utf8_utf16_and_utf32_with_marks_are_read_without_a_warning(data: bytes, expected: str) -> None:
    result = load_documents([("a.txt", data)])
    assert result.documents[0].text == expected
    assert not result.warnings


def test_another_encoding_is_detected_and_warned_of() -> None:
    text = "Für die Änderung der Straße müssen Sie größere Gebühren bezahlen. " * 20
    result = load_documents([("a.txt", text.encode("cp1252"))])
    assert result.documents[0].text == text
    assert "not UTF-8" in result.warnings[0].message


MARKS = (
    "\u202eabc\u202c \u200f\u05e9\u05dc\u05d5\u05dd\u200e \u2066x\u2069 "
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 a\u0301 "
    "\x01\x0b\x1b \ufffe \u2028 \x85z"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", MARKS.encode()),
        ("a.txt", MARKS.encode("utf-16")),
        ("a.json", json.dumps({"text": MARKS}).encode()),
        ("a.jsonl", json.dumps({"text": MARKS}, ensure_ascii=False).encode()),
        ("a.csv", f'id,text\n1,"{MARKS}"\n'.encode()),
        ("a.html", f"<p>{MARKS}</p>".encode()),
    ],
)
def test_marks_of_direction_joined_emoji_and_controls_come_through_unchanged(name: str, content: bytes) -> None:
    """Right-to-left marks, zero-width joiners and what XML does not allow are the text's own."""
    result = load_documents([(name, content)])
    assert [document.text for document in result.documents] == [MARKS]
    assert result.warnings == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_of_the_byte_order_is_no_part_of_any_format(encoding: str) -> None:
    files = {
        "a.json": '{"text": "\u00e4"}',
        "b.jsonl": '{"text": "\u00e4"}\n{"text": "\u00e4"}',
        "c.csv": "id,text\n1,\u00e4\n",
        "d.html": "<p>\u00e4",
        "e.md": "# \u00e4",
    }
    result = load_documents((name, text.encode(encoding)) for name, text in files.items())
    assert (result.errors, result.warnings) == ((), ())
    assert [document.text for document in result.documents] == ["\u00e4"] * 5 + ["# \u00e4"]
    assert [result.documents[at].title for at in (3, 5)] == ["1", "\u00e4"]


def test_a_few_nul_characters_are_replaced_and_warned_of() -> None:
    data = b"some words\x00 and many more words that follow the one odd byte in this otherwise sound text " * 2
    result = load_documents([("a.txt", data)])
    assert result.documents[0].text.count("\ufffd") == 2
    assert "\0" not in result.documents[0].text
    assert "U+FFFD" in result.warnings[0].message


def test_lone_surrogates_from_json_are_replaced_everywhere_and_warned_of() -> None:
    data = rb'{"text": "a\ud800b\u0000c", "title": "t\udfff", "tags": ["\ud83d"]}'
    result = load_documents([("a.json", data)])
    (document,) = result.documents
    assert document.text == "a\ufffdb\ufffdc"
    assert document.title == "t\ufffd"
    assert document.meta == {"tags": ["\ufffd"]}
    assert [warning.message.split()[0] for warning in result.warnings] == ["4"]
    document.text.encode()


def test_what_was_replaced_in_the_records_of_a_file_is_counted_together() -> None:
    lines = b'{"text": "a\\u0000b"}\n{"text": "c\\ud800d"}\n{"text": "sound"}\n'
    result = load_documents([("a.jsonl", lines)])
    assert [document.text for document in result.documents] == ["a\ufffdb", "c\ufffdd", "sound"]
    assert [warning.message.split()[0] for warning in result.warnings] == ["2"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.md", b"", "empty"),
        ("blank.md", b" \n\t ", "empty"),
        ("mark8.md", b"\xef\xbb\xbf", "empty"),
        ("mark16.txt", b"\xff\xfe", "empty"),
        ("mark16b.json", b"\xfe\xff", "empty"),
        ("mark32.txt", b"\xff\xfe\x00\x00", "empty"),
        ("blank16.txt", " \n".encode("utf-16"), "empty"),
        ("space.txt", "\u00a0\u3000".encode(), "empty"),
        ("marks.txt", b"\xef\xbb\xbf\xef\xbb\xbf \n", "empty"),
        ("torn32.txt", b"\xff\xfe\x00\x00abc", "UTF-32"),
        ("paper.txt", b"%PDF-1.7 ...", "PDF"),
        ("renamed.md", b"PK\x03\x04rest", "ZIP"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "legacy"),
        ("utf16-without-mark.txt", "hello".encode("utf-16-le"), "NUL"),
        ("noise.txt", bytes(range(1, 256)) * 4 + b"\0", "encoding"),
        ("nul1252.txt", "Für die Größe ".encode("cp1252") * 50 + b"\0", "encoding"),
        ("torn.txt", b"\xef\xbb\xbfab\xff", "UTF-8"),
        ("half.txt", b"\xff\xfea", "UTF-16"),
        ("broken.json", b'{"text": "a"', "not valid JSON"),
        ("broken.jsonl", b'{"text": "a"}\n{"text"', "line 2"),
        ("prose.json", b"once upon a time", "not valid JSON"),
        ("nan.json", b'{"text": "a", "n": NaN}', "NaN"),
        ("inf.json", b'{"text": "a", "n": 1e999}', "1e999"),
        ("no-text.json", b'[{"text": "a"}, {"title": "b"}]', "record 2"),
        ("empty-text.jsonl", b'{"text": "a"}\n\n{"text": "  "}', "line 3"),
        ("number.json", b"7", "record 1"),
        ("nothing.json", b"[]", "no record"),
        ("deep.json", b'{"text": "a", "x": ' + b"[" * 70 + b"]" * 70 + b"}", "too deep"),
        ("abyss.json", b"[" * 200_000, "too deep"),
    ],
)
def test_an_unreadable_file_is_a_typed_error_and_the_others_load(name: str, data: bytes, words: str) -> None:
    error = only_error(name, data)
    assert words in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_file_over_the_limit_is_refused_with_both_sizes() -> None:
    error = only_error("big.txt", b"x" * 1_001, size_limit=1_000)
    assert "1,001" in str(error)
    assert "1,000" in str(error)


def test_a_file_may_have_two_hundred_megabytes_and_the_server_takes_as_much() -> None:
    assert SIZE_LIMIT == 200 * 1024**2
    error = only_error("big.txt", bytes(SIZE_LIMIT + 1))
    assert "209,715,201 bytes, the limit is 209,715,200" in str(error)
    server = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["server"]
    assert server["maxUploadSize"] * 1024**2 == SIZE_LIMIT


def test_json_of_more_values_than_memory_has_room_for_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_records, "VALUE_LIMIT", 1_000)
    for name, data in (
        ("lists.json", b'{"text": "a", "x": [' + b"[]," * 600 + b"[]]}"),
        ("objects.json", b"[" + b'{"text": "a"},' * 600 + b'{"text": "a"}]'),
        ("lines.jsonl", b'{"text": "a", "b": 1, "c": [1]}\n' * 300),
    ):
        error = only_error(name, data)
        assert "more than 1,000 values" in str(error)
    # What stands inside a string is no value, an escaped quotation mark included.
    prose = json.dumps([{"text": '"a", [b], {c}, \\' * 400}]).encode()
    assert len(load_documents([("prose.json", prose)]).documents) == 1
    assert load_documents([("list.txt", b'[{"text": "a"},' + b"[]," * 1_000 + b"1]")]).errors == ()


@pytest.mark.parametrize("name", ["many.json", "many.jsonl"])
def test_a_file_of_more_records_than_a_project_can_hold_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_records, "RECORD_LIMIT", 100)
    lines = ['{"text": "a"}'] * 101
    write = (lambda some: f"[{','.join(some)}]") if name.endswith(".json") else "\n".join
    assert len(load_documents([(name, write(lines[:100]).encode())]).documents) == 100
    assert "more than 100 records" in str(only_error(name, write(lines).encode()))


def test_json_records_give_id_title_text_and_keep_the_rest() -> None:
    data = json.dumps([{"id": 7, "title": "T", "content": "c", "lang": "en"}, {"text": "d"}]).encode()
    first, second = load_documents([("a.json", data)]).documents
    assert (first.id, first.title, first.text, first.meta) == ("7", "T", "c", {"lang": "en"})
    assert (second.id, second.title, second.text) == ("a.json#1", "a.json#1", "d")


def test_json_lines_may_hold_line_separators_inside_strings() -> None:
    data = '{"id": "a", "text": "one\u2028two"}\r\n\n{"id": "b", "text": "three"}\n'.encode()
    assert [d.text for d in load_documents([("a.jsonl", data)]).documents] == ["one\u2028two", "three"]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b'{"text": "a"}', "application/json"),
        (b'[{"text": "a"}]', "application/json"),
        (b'{"text": "a"}\n{"text": "b"}', "application/jsonl"),
    ],
)
def test_records_are_recognised_whatever_the_file_is_called(data: bytes, media_type: str) -> None:
    result = load_documents([("data.txt", data)])
    assert result.documents[0].media_type == media_type
    assert result.documents[0].text == "a"
    assert "JSON records" in result.warnings[0].message


@pytest.mark.parametrize(
    "text", ["[link](x) and more", "{curly} prose", '[1, 2]\n\nis a list, {"text": 1} not']
)
def test_prose_that_starts_like_json_stays_prose(text: str) -> None:
    (document,) = load_documents([("a.md", text.encode())]).documents
    assert document.text == text


def test_an_unknown_type_is_read_as_text_and_warned_of() -> None:
    result = load_documents([("page.xml", b"<p>hello</p>")])
    assert result.documents[0].text == "<p>hello</p>"
    assert ".xml" in result.warnings[0].message


def test_duplicate_ids_are_flagged_and_nothing_is_lost() -> None:
    data = json.dumps(
        [{"id": i, "text": t} for i, t in zip(["a", "a", "a~2", "a"], "1234", strict=True)]
    ).encode()
    result = load_documents([("x.json", data)])
    assert [(d.id, d.text) for d in result.documents] == [
        ("a", "1"),
        ("a~2", "2"),
        ("a~2~2", "3"),
        ("a~3", "4"),
    ]
    assert len(result.warnings) == 3


def test_of_a_hundred_thousand_repeated_ids_a_person_reads_the_first_and_how_many_more() -> None:
    result = load_documents([("a.jsonl", b'{"id": "a", "text": "x"}\n' * 100_000), ("b.txt", b"b")])
    assert [result.documents[at].id for at in (0, 1, 99_999, 100_000)] == ["a", "a~2", "a~100000", "b.txt"]
    assert len(result.warnings) == 21
    assert result.warnings[-1].message == "99,979 more of this kind."


def test_the_same_file_twice_keeps_both() -> None:
    result = load_documents([("a.txt", b"one"), ("a.txt", b"two")])
    assert [d.id for d in result.documents] == ["a.txt", "a.txt~2"]
    assert "more than once" in result.warnings[0].message


@pytest.mark.parametrize("word", ["häßlich", "Größe", "naïve café", "“quoted” – 5 €"])
def test_a_few_accented_letters_are_read_as_western_european(word: str) -> None:
    result = load_documents([("note.txt", word.encode("cp1252"))])
    assert [document.text for document in result.documents] == [word]
    assert "cp1252" in result.warnings[0].message

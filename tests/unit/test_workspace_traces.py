"""Recognising a forgotten text wherever it may stand, and taking it out of files."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import textwrap
import time
import zipfile
from collections.abc import Callable
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.escaping import escape_attribute, escape_text
from playground.memory import MemoryTombstone
from playground.retrieval.embedding_cache import vector_key
from playground.scope import MemoryScope
from playground.workspace.archive import pack_files
from playground.workspace.redacting import Redaction
from playground.workspace.traces import FORGOTTEN, Traces
from playground.workspace.vectors import VectorTable

TEXT = 'Ada\'s "secret" <garden> & the \\ fox\nlies behind gate 🦊 3.'
STONE = MemoryTombstone(
    id="m1", scope=MemoryScope(user_id="ada"), revisions=(1,), recorded_at=(1,), forgotten_at=2
)


def as_csv(text: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(["1", text])
    return buffer.getvalue()


WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON of every script": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "element": escape_text,
    "attribute": escape_attribute,
    "HTML": html.escape,
    "a block in a message": lambda text: json.dumps({"text": f"<m>{escape_text(text)}</m>"}),
    "CSV": as_csv,
    "indented": lambda text: textwrap.indent(text, "    "),
    "wrapped": lambda text: "\n".join(textwrap.wrap(text, 20, break_long_words=False, break_on_hyphens=False)),
    "digest": lambda text: "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
    "capital digest": lambda text: hashlib.sha256(text.encode()).hexdigest().upper(),
    "short digest": lambda text: hashlib.sha256(text.encode()).hexdigest()[:12],
    "cut": lambda text: text[:30] + "…",
    "cut with dots": lambda text: "Found: " + text[:40] + "... and so on",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_text_is_found_however_it_is_written(way: str) -> None:
    written = WAYS[way](TEXT)
    assert Traces([TEXT]).in_text(f"before {written} after")
    assert not Traces(["Another text, not this one."]).in_text(written)


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way not in {"indented", "wrapped", "cut", "cut with dots"}]
)
def test_what_is_written_in_a_known_way_is_replaced_and_all_else_stays(way: str) -> None:
    traces = Traces([TEXT])
    clean = traces.without(f"before {WAYS[way](TEXT)} after")
    assert not traces.in_text(clean)
    assert (clean[:7], clean[-6:]) == ("before ", " after")
    assert FORGOTTEN in clean or "0" * 12 in clean


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=20))
def test_any_text_is_found_in_json_and_xml(text: str) -> None:
    if len(" ".join(html.unescape(html.unescape(text)).replace("\\", "").replace('"', "").split())) < 20:
        return  # counts only where it stands alone
    traces = Traces([text])
    for written in (text, json.dumps(text), json.dumps(escape_text(text)), escape_attribute(text)):
        assert traces.in_text(f"<{written}>")


@given(
    st.lists(
        st.sampled_from(["alpha beta gamma delta", "one two three four five six seven", "Чай без цукру"]),
        unique=True,
    )
)
def test_many_texts_are_found_as_few_are(texts: list[str]) -> None:
    filler = [f"filler number {at} of many" for at in range(60)]
    sample = "x alpha beta gamma delta y, one two three four five six… Чай без цукру!"
    many, few = Traces([*texts, *filler]), Traces(texts)
    assert many.in_text(sample) == few.in_text(sample) == bool(texts)
    assert not many.in_text("alpha beta gamma, one two three four five six, Чай")


def test_many_texts_that_begin_alike_are_looked_for_as_quickly_as_others() -> None:
    """One by one, the half of these would take more than ten seconds."""
    alike = Traces(f"The customer of the bank in row {at} pays in euros." for at in range(20_000))
    lines = [f"The customer of the bank in row {at} pays in crowns." for at in range(2_000)]
    begun = time.process_time()
    assert not any(map(alike.in_text, lines))
    assert not any(alike.in_text(f"{line[:-3]}…") for line in lines)
    assert time.process_time() - begun < 2
    assert alike.in_text("- The customer of the bank in row 19999 pays in euros. Often.")
    assert alike.in_text("The customer of the bank in row 19999 pays in eu…")


def test_a_cut_text_counts_only_where_it_is_cut() -> None:
    traces = Traces(["The customer wants to be called in the morning, never at night."])
    assert traces.in_text("The customer wants to be called in the mor…")
    assert not traces.in_text("The customer wants to be called in the evening, never at night.")
    assert not traces.in_text("The customer wants to be called in the evening…")
    assert not traces.in_text("The customer…")


def test_a_short_text_counts_only_where_it_stands_alone() -> None:
    traces = Traces(["tea", "a+b"])
    for alone in ("tea", " tea ", "<m>tea</m>", "first\ntea\nlast", "a+b"):
        assert traces.in_text(alone), alone
    for inside in ("teapot", "tea and steam", "aab"):
        assert not traces.in_text(inside), inside


def test_a_text_of_nothing_but_escapes_matches_nothing_else() -> None:
    assert not Traces(["&nbsp;"]).in_text("anything at all")
    assert not Traces([]).in_text("anything at all")


def test_bytes_are_searched_for_text_and_digest() -> None:
    traces, key = Traces([TEXT]), vector_key(TEXT)
    for data in (TEXT.encode(), TEXT.encode("utf-16"), key, key.hex().encode()):
        assert traces.in_bytes(b"\xff\0" + data)
        many = Traces([TEXT, *(f"filler number {at} of many" for at in range(60))])
        for lead in range(5):
            assert many.in_bytes(b"\xff" * lead + data + b"\xfe" * lead)
            assert not many.in_bytes(b"\xff" * lead + data[:10] + b"\xfe" * lead)
    for data in (b"", b"\xff", b"\xff\0\1", b"\xff\0" + bytes(32)):
        assert not traces.in_bytes(data)
        assert not many.in_bytes(data)


def redaction() -> Redaction:
    return Redaction([STONE], Traces([TEXT]))


def cleaned(name: str, value: object) -> object:
    data = redaction().of(name, json.dumps(value).encode())
    assert data is not None
    return json.loads(data)


def test_records_are_dropped_by_their_id_and_other_things_of_that_id_are_not() -> None:
    record = {"id": "m1", "scope": {}, "revisions": [{"text": "x"}]}
    others = [
        {"id": "m1", "title": "A document", "text": "of the same id"},
        {"recordId": "m1", "kind": "rag", "digest": "sha256:1"},
        json.loads(STONE.to_json()),
        {"id": "m2", "recordedAt": 1, "text": "another"},
    ]
    flat = {"id": "m1", "text": "x", "recordedAt": 0}
    line = {"version": 1, "memory": record}
    assert cleaned("a.json", [record, flat, line, *others]) == others
    assert cleaned("a.json", {"deep": {"list": [flat], "one": record}}) == {"deep": {"list": []}}
    assert cleaned("a.json", [{"id": "m1", "text": "x"}]) == []


def test_a_package_keeps_its_form() -> None:
    package = {
        "xml": f'<record id="m1">{escape_text(TEXT)}</record>',
        "entries": [{"recordId": "m1", "digest": f"sha256:{vector_key(TEXT).hex()}", "score": 0.5}],
        TEXT: 1,
    }
    clean = cleaned("a.json", package)
    assert isinstance(clean, dict)
    assert ET.fromstring(clean["xml"]).text == FORGOTTEN
    assert clean["entries"] == [{"recordId": "m1", "digest": "sha256:" + "0" * 64, "score": 0.5}]
    assert list(clean) == ["xml", "entries"]


def test_a_package_loses_a_forgotten_record_whose_text_nobody_knows_any_more() -> None:
    def block(kind: str, name: str) -> str:
        return f'<record source="s" kind="{kind}" id="{name}" revision="1">\nOne\ntext.\n</record>\n'

    def entry(kind: str, name: str, digest: str) -> dict[str, str]:
        return {"source": "s", "kind": kind, "recordId": name, "digest": f"sha256:{digest * 64}"}

    others = [("memory", "m2"), ("rag", "m1")]
    kept = "".join(block(*other) for other in others)
    package = {
        "xml": block("memory", "m1") + kept,
        "entries": [entry("memory", "m1", "1"), *(entry(*other, "1") for other in others)],
    }
    redaction = Redaction([STONE], Traces())
    data = redaction.of("a.json", json.dumps(package).encode())
    assert data is not None
    assert json.loads(data) == {
        "xml": block("memory", "m1").replace("One\ntext.", FORGOTTEN) + kept,
        "entries": [entry("memory", "m1", "0"), *(entry(*other, "1") for other in others)],
    }
    assert redaction.of("a.json", data) is data
    assert (
        redaction.of("a.md", block("memory", "m1").encode()) == json.loads(data)["xml"][: -len(kept)].encode()
    )


def test_what_holds_nothing_comes_back_as_the_very_same_bytes() -> None:
    for name, data in {
        "a.json": b'{"a":  1.0}',
        "a.jsonl": b'{"b": 2}\r\n\n[1,  2]\nno json\n',
        "a.md": b"---\nid: m2\n---\n\nBody.\n",
        "a.zip": pack_files({"a.json": b"{ }"}),
        "a.txt": b"\xef\xbb\xbftext\r\n",
        "a.bin": bytes(range(256)),
    }.items():
        assert redaction().of(name, data) is data, name


@pytest.mark.parametrize("name", ["a.docx", "a.bak", "a.txt", "a.json", "a"])
def test_an_archive_is_looked_into_whatever_it_is_called(name: str) -> None:
    secret, kept = TEXT.encode(), b"The gate is open."
    inner = pack_files({"memories.txt": secret, "other.txt": kept})
    data = redaction().of(name, pack_files({"x": inner, "word/document.xml": kept}))
    assert data is not None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.read("word/document.xml") == kept
        with zipfile.ZipFile(io.BytesIO(archive.read("x"))) as unpacked:
            assert unpacked.read("memories.txt") == FORGOTTEN.encode()
            assert unpacked.read("other.txt") == kept
    assert redaction().found_in(name, pack_files({"x": inner}))
    assert not redaction().found_in(name, data)
    assert redaction().of(name, data) is data


def test_vectors_are_found_in_an_archive_whatever_they_are_called() -> None:
    table = VectorTable.of([TEXT], np.ones((1, 1), dtype=np.float32), model_id="m", weights_digest="sha256:0")
    data = redaction().of("a.zip", pack_files({"cache.bin": table.to_bytes(), "other.txt": b"x"}))
    assert data is not None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["other.txt"]


def test_an_archive_that_reads_like_text_is_searched_in_all_its_bytes() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("empty"), b"")
        archive.getinfo("empty").external_attr = 0
        archive.comment = TEXT.encode()
    data = target.getvalue()
    assert data.decode()
    assert redaction().of("a.zip", data) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1252"])
@pytest.mark.parametrize("text", ["The fox lies behind the gate.", "Le renard est caché derrière la porte."])
def test_a_text_is_found_in_encodings_that_a_file_does_not_name(text: str, encoding: str) -> None:
    data = f"- {text}\n".encode(encoding)
    clean = Redaction([STONE], Traces([text])).of("a.txt", data)
    assert clean == (f"- {FORGOTTEN}\n".encode() if data.isascii() and b"\0" not in data else None)
    assert Redaction([STONE], Traces([text])).found_in("a.txt", data)
    other = "Another sentence, naïve.".encode(encoding)
    assert Redaction([STONE], Traces([text])).of("a.txt", other) is other


def test_lines_that_are_no_json_lose_the_text_alone() -> None:
    data = redaction().of("a.jsonl", b'{"a": 1}\nbroken ' + json.dumps(TEXT).encode() + b"\n[2]\n")
    assert data == b'{"a": 1}\nbroken "' + FORGOTTEN.encode() + b'"\n[2]\n'


def test_an_archive_of_a_project_learns_what_was_forgotten() -> None:
    memories = b'{"id": "m1", "text": "x", "recordedAt": 0}\n{"id": "m2", "text": "y", "recordedAt": 0}\n'
    known = STONE.model_copy(update={"id": "m0"}).to_json().encode() + b"\n"
    for before, after in ((None, ["m1"]), (known, ["m0", "m1"])):
        files = {"p/project.json": b"{}", "p/memories.jsonl": memories}
        data = redaction().of("a.zip", pack_files(files | ({"p/forgotten.jsonl": before} if before else {})))
        assert data is not None
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            lines = archive.read("p/forgotten.jsonl").splitlines()
            assert [json.loads(line)["id"] for line in lines] == after
            assert archive.read("p/memories.jsonl") == memories.splitlines(keepends=True)[1]
        assert redaction().of("a.zip", data) is data

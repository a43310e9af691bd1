"""R67-R73, R77, R78, R84: whatever a record, an id or an item holds, a block parses and gives it back."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from playground import ContextCandidate, Provenance, TokenEstimator
from playground.compiler.rendering import record_piece
from playground.escaping import escape_attribute, escape_text, one_line, replace_forbidden
from playground.messages import Message
from playground.working_memory import WorkingMemorySnapshot
from tests.builders import compiled, offer, records_of, text_of_record
from tests.property.reference import allowed_in_xml
from tests.property.strategies import ANY_TEXT, HOSTILE_TEXT, examples

TEXT = st.one_of(ANY_TEXT, HOSTILE_TEXT)


def replaced(text: str) -> str:
    """The documented replacement, one character after the other."""
    return "".join(character if allowed_in_xml(character) else "\ufffd" for character in text)


@examples(400)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT, st.none() | st.integers(0, 9)), min_size=1, max_size=3), TEXT)
def test_r67_r84_every_record_comes_back_from_an_xml_parser(
    drawn: list[tuple[str, str, str, int | None]], source_id: str
) -> None:
    candidates = [
        ContextCandidate(
            record_id,
            f"{i}{text}",
            -float(i),
            revision=revision,
            provenance=Provenance(origin, (origin,)),
            mandatory=True,
        )
        for i, (record_id, text, origin, revision) in enumerate(drawn)
    ]
    if len({candidate.record_id for candidate in candidates}) < len(candidates):
        return
    package = compiled(offer(*candidates, source_id=source_id or "s"))
    (block,) = package.blocks
    block.text.encode("utf-8")
    records = records_of(block.text)
    assert [text_of_record(record) for record in records] == [replaced(c.text) for c in candidates]
    assert [record.attrib["id"] for record in records] == [replaced(c.record_id) for c in candidates]
    assert [record.attrib["origin"] for record in records] == [replaced(origin) for _, _, origin, _ in drawn]
    assert [record.attrib.get("revision") for record in records] == [
        None if revision is None else str(revision) for *_, revision in drawn
    ]
    assert {record.attrib["source"] for record in records} == {replaced(source_id or "s")}
    for span, candidate in zip(block.spans, candidates, strict=True):
        piece = block.text[span.start : span.end]
        assert text_of_record(ET.fromstring(piece)) == replaced(candidate.text)


@examples(300)
@given(TEXT, TEXT, st.none() | TEXT, st.none() | st.integers(0, 2**50))
def test_the_length_that_is_counted_is_the_length_that_is_rendered(
    record_id: str, text: str, origin: str | None, revision: int | None
) -> None:
    candidate = ContextCandidate(
        record_id, text, 1.0, revision=revision, provenance=Provenance(origin, ("a", "b"))
    )
    result = offer(candidate, source_id=f"s{record_id}")
    (entry,) = compiled(result).manifest.entries
    assert entry.tokens == TokenEstimator().piece_tokens(record_piece(result, candidate))
    block = record_piece(result, candidate)
    assert entry.tokens >= TokenEstimator().estimate([Message("user", block)]) - 5


@examples(300)
@given(st.lists(TEXT.filter(bool), min_size=1, max_size=5), TEXT.filter(bool))
def test_r77_r78_every_item_is_one_line_and_nothing_closes_a_section(texts: list[str], goal: str) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    goal = goal.encode("utf-8", "replace").decode()
    snapshot = WorkingMemorySnapshot.parse(
        {
            "scope": "s",
            "revision": 1,
            "goal": {"text": goal},
            "observations": [{"id": f"o{i}", "text": text[:1000]} for i, text in enumerate(texts)],
            "decisions": [{"id": "d0", "text": "real", "status": "proposed", "rationale": texts[0][:1000]}],
        }
    )
    (block,) = compiled(working_memory=snapshot).blocks
    root = ET.fromstring(block.text)
    assert [child.tag for child in root] == ["goal", "decisions", "observations"]
    assert [[inner.tag for inner in child] for child in root] == [[], ["rationale"], []]
    assert root[0].text == replaced(goal)
    lines = (root[2].text or "").split("\n")
    assert lines[0] == lines[-1] == ""
    assert [line.split("]")[0] for line in lines[1:-1]] == [f"- [o{i}" for i in range(len(texts))]
    # Readers that know more line ends than LF see no further line either.
    inner = block.text[block.text.index("<observations>\n") + 15 : block.text.index("</observations>")]
    assert len(inner.splitlines()) == len(texts)
    decision = "".join(root[1].itertext()).strip("\n")
    assert decision.startswith("- [d0] (proposed) real ")
    assert len(decision.splitlines()) == 1


@examples(300)
@given(TEXT)
def test_r69_r71_escaping_is_undone_by_a_parser(text: str) -> None:
    element = ET.fromstring(f'<a b="{escape_attribute(text)}">{escape_text(text)}</a>')
    assert (element.text or "") == element.attrib["b"] == replaced(text) == replace_forbidden(text)
    assert len(replace_forbidden(text)) == len(text)
    assert not re.search('[<>"\t\n\r]', escape_attribute(text))


@examples(300)
@given(TEXT)
def test_r78_one_line_leaves_one_line_and_everything_else_as_it_was(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "".join(line.split()) == "".join(text.split())
    if len(text.splitlines()) <= 1 and not text[-1:].isspace():
        assert line == text

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision, MemoryScope, MemorySourceRef
from playground.memory.jsonl import read_memories_jsonl, write_memories_jsonl
from playground.memory.markdown_file import file_name
from playground.memory.markdown_folder import read_memories_folder, write_memories_folder

EXAMPLES = 25  # each waits for the disk
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00")
HARD = st.sampled_from(
    [
        "---\n",
        "\n---\n",
        "# ",
        "'",
        '"',
        ": ",
        "\r\n",
        "\n\n",
        "\u2028",
        "\x85",
        "\ufeff",
        "\x7f",
        "- ",
        "&a *a",
    ]
)
STORABLE = st.lists(HARD | st.text(CHARACTERS, max_size=8), max_size=5).map("".join)
FILLED = STORABLE.filter(bool)
WHOLE = st.integers(-(2**53), 2**53)
SOURCES = st.builds(
    MemorySourceRef,
    kind=st.sampled_from(["host", "user", "tool", "document"]),
    id=st.none() | STORABLE,
    run_id=st.none() | STORABLE,
    step=st.none() | st.integers(0, 2**53),
    digest=st.none() | STORABLE,
)
SCOPES = st.builds(
    MemoryScope,
    **{name: st.none() | STORABLE for name in ("user_id", "agent_id", "run_id", "actor_id", "chat_id")},
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def revisions(draw: st.DrawFn, number: int) -> MemoryRevision:
    text = draw(FILLED.filter(lambda text: bool(text.strip())))
    return MemoryRevision(
        revision=number,
        text=text,
        digest=text_digest(text),
        origin=draw(st.sampled_from(["asserted", "observed", "extracted", "inferred", "imported"])),
        sources=tuple(draw(st.lists(SOURCES, max_size=3))),
        recorded_at=draw(WHOLE),
        writer=draw(STORABLE),
        kind=draw(st.sampled_from(["episodic", "semantic", "working", "procedural"])),
        importance=draw(st.none() | st.floats(0, 1)),
        expires_at=draw(st.none() | WHOLE),
        valid_from=draw(st.none() | st.integers(-(2**53), 0)),
        valid_to=draw(st.none() | st.integers(1, 2**53)),
        embedding=draw(st.none() | st.lists(FINITE, max_size=3).map(tuple)),
        embedding_model_id=draw(st.none() | st.text(max_size=4)),
    )


@st.composite
def memories(draw: st.DrawFn) -> list[MemoryRecord]:
    # Ids that differ in what file systems and sanitising make alike.
    alike = st.sampled_from(
        ["a/b", "a_b", "A_b", "a b", "../a_b", "a_b.md", "con", "readme", ".", "..", "é", "e\u0301"]
    )
    ids = draw(st.lists(alike | FILLED, max_size=4, unique=True))
    return [
        MemoryRecord(
            id=name,
            scope=draw(SCOPES),
            revisions=tuple(draw(revisions(number)) for number in range(1, draw(st.integers(1, 3)) + 1)),
        )
        for name in ids
    ]


@given(memories())
@settings(max_examples=EXAMPLES)
def test_what_is_written_as_jsonl_is_read_without_loss(records: list[MemoryRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memories.jsonl")
        write_memories_jsonl(records, path)
        loaded = read_memories_jsonl(path)
        assert (list(loaded.records), loaded.problems) == (records, ())
        assert [repr(one) for one in loaded.records] == [repr(one) for one in records]


@given(memories())
@settings(max_examples=EXAMPLES)
def test_what_is_written_as_markdown_is_read_without_loss(records: list[MemoryRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_memories_folder(records, folder)
        loaded = read_memories_folder(folder)
        assert loaded.problems == ()
        found = {record.id: record for record in loaded.records}
        assert found == {record.id: record for record in records}
        assert all(path.parent == Path(folder) for path in Path(folder).rglob("*"))


@given(st.lists(FILLED | st.text("aA_/-0f", min_size=1, max_size=20), unique=True))
def test_two_ids_never_name_one_file_in_any_file_system(ids: list[str]) -> None:
    names = [file_name(one) for one in ids]
    assert len({name.casefold() for name in names}) == len(ids)
    assert all(
        name.isascii() and "/" not in name and not name.startswith(".") and len(name) < 128 for name in names
    )

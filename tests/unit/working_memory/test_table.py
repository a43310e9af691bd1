"""A snapshot as rows and as a table in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from playground.working_memory import WorkingMemorySnapshot

MEMORY = WorkingMemorySnapshot.parse(
    {
        "scope": "<acme>",
        "revision": 4,
        "goal": {"text": "Deploy.", "updated_at": 5},
        "constraints": [{"id": "c1", "text": "</td><script>alert(1)</script>"}],
        "tasks": {
            "list": [
                {"id": "t1", "title": "One", "notes": "n"},
                {"id": "t2", "title": "Two", "status": "done"},
            ],
            "active_task_id": "t1",
        },
        "decisions": [
            {
                "id": "d1",
                "text": "D",
                "status": "accepted",
                "rationale": "R",
                "writer": "model",
                "decided_by": "host",
            }
        ],
        "questions": [{"id": "q1", "text": "Q", "status": "dropped", "answer": "A"}],
        "attempts": [{"id": "a1", "text": "A", "outcome": "failed", "detail": "E", "revision": 3}],
        "hypotheses": [{"id": "h1", "text": "H"}],
        "observations": [{"id": "o1", "text": "O", "writer": "model"}],
    }
)


def test_a_snapshot_as_a_frame_has_one_row_an_item() -> None:
    frame = MEMORY.to_frame()
    assert list(zip(frame["list"], frame["id"], frame["status"], frame["more"], strict=True)) == [
        ("goal", "", "", ""),
        ("constraints", "c1", "", ""),
        ("tasks", "t1", "active, pending", "n"),
        ("tasks", "t2", "done", ""),
        ("decisions", "d1", "accepted", "R"),
        ("questions", "q1", "dropped", "A"),
        ("attempts", "a1", "failed", "E"),
        ("hypotheses", "h1", "proposed", ""),
        ("observations", "o1", "", ""),
    ]
    assert list(frame["text"][[0, 2, 4]]) == ["Deploy.", "One", "D"]
    decision = frame.loc[4]
    assert (decision["writer"], decision["decided_by"]) == ("model", "host")
    assert list(frame["revision"]) == [0, 0, 0, 0, 0, 0, 3, 0, 0]
    assert frame["updated_at"][0] == 5


def test_an_empty_snapshot_is_a_frame_with_columns_and_without_rows() -> None:
    frame = WorkingMemorySnapshot(scope="s").to_frame()
    assert (len(frame), frame.columns[0]) == (0, "list")


def test_a_snapshot_shows_itself_as_a_table_with_everything_escaped() -> None:
    page = MEMORY._repr_html_()
    root = ET.fromstring(f"<div>{page}</div>")
    assert len(root.findall(".//tbody/tr")) == 9
    assert root.find(".//script") is None
    assert "<acme>" in "".join(root.itertext())


def test_half_of_a_character_is_replaced_where_a_browser_or_a_frame_would_fail() -> None:
    memory = WorkingMemorySnapshot.parse(
        {
            "scope": "s\ud83d",
            "goal": {"text": "g\ud83d"},
            "questions": [{"id": "q", "text": "?", "answer": "a\ud83d"}],
            "observations": [{"id": "o\udc00", "text": "half \ud83d"}],
        }
    )
    assert list(memory.to_frame()["text"]) == ["g\ufffd", "?", "half \ufffd"]
    assert list(memory.to_frame()["id"]) == ["", "q", "o\ufffd"]
    assert list(memory.to_frame()["more"]) == ["", "a\ufffd", ""]
    memory._repr_html_().encode()

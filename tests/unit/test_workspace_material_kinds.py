"""What a file holds is told by its content."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from playground.digests import text_digest
from playground.errors import DocumentError
from playground.memory import MemoryRecord, MemoryRevision
from playground.memory.jsonl import write_memories_jsonl
from playground.memory.markdown_file import to_markdown
from playground.scope import MemoryScope
from playground.workspace import load_project
from playground.workspace.archive import pack_files, pack_project
from playground.workspace.material_kinds import Told, tell_kind

TEXT = "Ada likes the aisle seat."
RECORD = MemoryRecord(
    id="seat",
    scope=MemoryScope(user_id="ada"),
    revisions=(MemoryRevision(revision=1, text=TEXT, digest=text_digest(TEXT), recorded_at=1),),
)


@pytest.mark.parametrize(
    ("text", "kind", "rule"),
    [
        ("Just words.", "documents", "no mark of another kind"),
        ("", "documents", "no mark of another kind"),
        ("# A page\n\nWords.", "documents", "no mark of another kind"),
        ("---\ntitle: A page\ndescription: Words\n---\nMore.", "documents", "no mark of another kind"),
        ('{"id": "a", "text": "One."}', "documents", "no mark of another kind"),
        ('[{"text": "One."}, {"role": "user", "content": "Hi"}]', "documents", "no mark of another kind"),
        ('{"text": "One.", "role": "manager"}', "documents", "no mark of another kind"),
        ('{"text": "One.", "kind": "letter"}', "documents", "no mark of another kind"),
        ("[]", "documents", "no mark of another kind"),
        ("[[]]", "documents", "no mark of another kind"),
        ("[1, 2]", "documents", "no mark of another kind"),
        ("{not JSON", "documents", "no mark of another kind"),
        ("[" * 100_000, "documents", "no mark of another kind"),
        ('[{"role": "user", "content": "Hi"}]', "chats", "messages with a role"),
        ('{"role": "user", "content": "Hi"}\n{"role": "assistant", "content": "Hi"}', "chats", "with a role"),
        ('{"messages": [{"role": "user", "content": "Hi"}]}', "chats", "objects with messages"),
        (' [ {"messages": []}, 7 ', "chats", "objects with messages"),
        ('[[{"role": "user", "content": "Hi"}]]', "chats", "messages with a role"),
        ('{"text": "One.", "importance": 0.5}', "memories", "only memories have"),
        ('[{"text": "One.", "recordedAt": 5}]', "memories", "only memories have"),
        ('{"text": "One.", "kind": "semantic"}\n{"text": "Two."}', "memories", "only memories have"),
        ('{"id": "m", "revisions": [{"text": "One."}]}', "memories", "revisions"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_first_record_or_the_front_matter_says_it(text: str, kind: str, rule: str, encoding: str) -> None:
    told = tell_kind("file.txt", text.encode(encoding))
    assert (told.kind, told.form) == (kind, "")
    assert rule in told.rule


def test_exported_memories_are_known_by_their_form(tmp_path: Path) -> None:
    write_memories_jsonl([RECORD], tmp_path / "m.jsonl")
    lines = tell_kind("m.txt", (tmp_path / "m.jsonl").read_bytes())
    assert (lines.kind, lines.form) == ("memories", "exported lines")
    page = tell_kind("m.txt", to_markdown(RECORD).encode())
    assert (page.kind, page.form) == ("memories", "exported file")


def test_an_archive_is_told_by_what_is_in_it() -> None:
    skill = b"---\nname: pay\ndescription: Pays.\n---\nPay."
    assert tell_kind("a.zip", pack_project(load_project("deploy-demo"))).form == "project"
    in_folder = pack_files({"mine/project.json": b"{}", "mine/documents.jsonl": b""})
    assert tell_kind("a.zip", in_folder).form == "project"
    assert tell_kind("a.zip", pack_files({"pay/SKILL.md": skill})).kind == "skills"
    nested = pack_files({"pay/SKILL.md": skill, "pay/examples/mine/project.json": b"{}"})
    assert tell_kind("a.zip", nested) == Told("skills", "a SKILL.md in it")
    assert tell_kind("a.docx", pack_files({"word/document.xml": b"<a/>"})).kind == "documents"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"project.json": b"{}", "../evil": b"x"}, "points outside"),
        ({"SKILL.md": b" " * 3_000_000}, "far more than it is"),
    ],
)
def test_an_archive_that_means_harm_says_why_it_is_refused(entries: dict[str, bytes], words: str) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(DocumentError, match=words):
        tell_kind("a.zip", target.getvalue())
    with pytest.raises(DocumentError, match="damaged"):
        tell_kind("a.zip", target.getvalue()[:-20])


def test_a_skill_file_is_told_by_its_name() -> None:
    assert tell_kind("pay/SKILL.md", b"").kind == "skills"
    assert tell_kind("MY-SKILL.md", b"").kind == "documents"


def test_bytes_and_json_that_are_nothing_known_are_left_to_the_loader() -> None:
    odd = json.dumps({"text": "\ud800"}), json.dumps([{"role": []}]), json.dumps({"role": {}, "kind": []})
    for data in (b"{\x00\x01", b"\xff\xfe{", *(text.encode() for text in odd)):
        assert tell_kind("x.json", data).kind == "documents"

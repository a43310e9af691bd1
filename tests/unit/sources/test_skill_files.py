from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import DocumentError, InvalidInputError
from playground.sources import Skill, SkillRegistry
from playground.sources.skill_files import SKILL_BYTES, read_skill
from playground.sources.skill_text import parse_skill

GOOD = """---
name: release-notes
description: Writes release notes from merged changes.
license: MIT
allowed-tools: Read, Bash(git log:*)
---
# Release notes

Collect the changes.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    (root / "release-notes" / "data").mkdir(parents=True)
    (root / "release-notes" / "SKILL.md").write_text(GOOD)
    (root / "release-notes" / "data" / "template.md").write_bytes(b"# template")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "readme.txt").write_text("not a skill")
    return root


def test_front_matter_and_body_are_read() -> None:
    skill = parse_skill(GOOD, id="release-notes")
    assert (skill.name, skill.license, skill.issues) == ("release-notes", "MIT", ())
    assert skill.description == "Writes release notes from merged changes."
    assert skill.allowed_tools == ("Read", "Bash(git log:*)")
    assert skill.body == "# Release notes\n\nCollect the changes.\n"


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_a_byte_order_mark_and_any_line_ends_are_fine(ends: str) -> None:
    skill = parse_skill("\ufeff" + GOOD.replace("\n", ends), id="x")
    assert (skill.name, skill.issues) == ("release-notes", ())


def test_yaml_that_is_none_is_read_line_by_line_and_listed() -> None:
    skill = parse_skill("---\nname: a\ndescription: Use this: it helps\n---\nbody", id="x")
    assert (skill.name, skill.description, skill.body) == ("a", "Use this: it helps", "body")
    assert any("YAML" in issue for issue in skill.issues)


def test_a_folded_description_is_one_text() -> None:
    skill = parse_skill("---\nname: a\ndescription: >\n  one\n  two\n---\n", id="x")
    assert (skill.description, skill.body) == ("one two", "")


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("no front matter", "no front matter"),
        ("", "no front matter"),
        ("---\n- a\n- b\n---\n", "no fields"),
        ("---\nname: Bad Name\ndescription: d\n---\n", "lower-case"),
        ("---\nname: my-claude-helper\ndescription: d\n---\n", "vendor"),
        ("---\nname: a\ndescription: <b>bold</b>\n---\n", "angle brackets"),
        ("---\nname: a\n---\n", "0 characters"),
        (f"---\nname: a\ndescription: {'d' * 1025}\n---\n", "1,025 characters"),
        ("---\nname: a\ndescription: d\n" + "x: " + "[" * 5_000 + "\n---\n", "YAML"),
    ],
)
def test_broken_rules_are_advice_and_the_skill_still_loads(text: str, issue: str) -> None:
    skill = parse_skill(text, id="fallback")
    assert any(issue in one for one in skill.issues)
    assert skill.id == "fallback"


def test_nested_yaml_aliases_do_not_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    skill = parse_skill("\n".join(["---", *lines, "name: a", "description: *a11", "---", ""]), id="x")
    assert skill.description == ""


def test_a_folder_gives_its_skills_by_id(folder: Path) -> None:
    registry = SkillRegistry.from_folder(folder)
    assert [skill.id for skill in registry.list()] == ["release-notes"]
    assert registry.problems == ()
    assert registry.trigger("release-notes").startswith("# Release notes")
    assert registry.get("unknown") is None
    with pytest.raises(InvalidInputError):
        registry.trigger("unknown")


def test_one_folder_gives_its_skill_or_says_what_is_wrong_with_it(folder: Path) -> None:
    (registered,) = SkillRegistry.from_folder(folder).list()
    assert read_skill(folder / "release-notes") == registered
    (folder / "large").mkdir()
    (folder / "large" / "SKILL.md").write_bytes(bytes(SKILL_BYTES + 1))
    with pytest.raises(DocumentError, match="has 1,000,001 bytes"):
        read_skill(folder / "large")
    with pytest.raises(DocumentError, match="is no regular file"):
        read_skill(folder / "missing")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no folder"):
        SkillRegistry.from_folder(tmp_path / "none")


def test_a_file_that_cannot_be_taken_is_listed_and_the_others_load(folder: Path, tmp_path: Path) -> None:
    (folder / "huge").mkdir()
    (folder / "huge" / "SKILL.md").write_bytes(b"x" * 1_000_001)
    (folder / "linked").mkdir()
    (folder / "linked" / "SKILL.md").symlink_to(tmp_path / "secret.txt")
    (folder / "folder" / "SKILL.md").mkdir(parents=True)
    registry = SkillRegistry.from_folder(folder)
    assert [skill.id for skill in registry.list()] == ["release-notes"]
    assert [error.name for error in registry.problems] == [
        "folder/SKILL.md",
        "huge/SKILL.md",
        "linked/SKILL.md",
    ]
    assert "secret" not in "".join(skill.body for skill in registry.list())


def test_bytes_that_are_no_text_are_replaced_and_listed(folder: Path) -> None:
    (folder / "binary").mkdir()
    (folder / "binary" / "SKILL.md").write_bytes(b"---\nname: binary\ndescription: d\n---\n\xff\x00")
    skill = SkillRegistry.from_folder(folder).get("binary")
    assert skill is not None
    assert skill.body == "\ufffd\ufffd"
    assert any("U+FFFD" in issue for issue in skill.issues)


def test_a_resource_of_the_folder_is_read(folder: Path) -> None:
    registry = SkillRegistry.from_folder(folder)
    assert registry.read_resource("release-notes", "data/template.md") == b"# template"
    assert registry.read_resource("release-notes", "data/../data/template.md") == b"# template"


@pytest.mark.parametrize(
    "path",
    ["", ".", "data", "none.md", "../../secret.txt", "/etc/passwd", "data/\x00", "link.txt", "x" * 5_000],
)
def test_a_path_that_is_no_file_of_the_folder_is_refused(folder: Path, tmp_path: Path, path: str) -> None:
    (folder / "release-notes" / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InvalidInputError, match="no resource"):
        SkillRegistry.from_folder(folder).read_resource("release-notes", path)


def test_a_resource_that_is_too_large_is_refused(folder: Path) -> None:
    with (folder / "release-notes" / "big").open("wb") as file:
        file.truncate(10_000_001)
    with pytest.raises(InvalidInputError, match="10,000,001 bytes"):
        SkillRegistry.from_folder(folder).read_resource("release-notes", "big")


def test_records_make_skills_without_resources() -> None:
    registry = SkillRegistry.from_records([{"name": "a", "description": "d", "body": "b", "licence": "MIT"}])
    assert [(skill.id, skill.license, skill.issues) for skill in registry.list()] == [("a", "MIT", ())]
    with pytest.raises(InvalidInputError):
        registry.read_resource("a", "x")


def test_a_taken_id_gets_a_number_and_an_issue() -> None:
    record = {"name": "a", "description": "d", "body": "b"}
    registry = SkillRegistry.from_records([record, record, record])
    assert [skill.id for skill in registry.list()] == ["a", "a-2", "a-3"]
    assert "is taken" in registry.list()[1].issues[0]


@pytest.mark.parametrize("field", ["name", "description", "body"])
@pytest.mark.parametrize("value", [None, 5])
def test_a_record_without_text_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=field):
        SkillRegistry.from_records([{"name": "a", "description": "d", "body": "b", field: value}])


@pytest.mark.parametrize("value", ["1:59:59", "0x10", "2026-11-30", "1_000", "yes", "null", "1e5", "~"])
def test_a_scalar_stays_the_text_it_is(value: str) -> None:
    skill = parse_skill(f"---\nname: a\ndescription: {value}\n---\n", id="x")
    assert skill.description == value


def test_front_matter_of_megabytes_is_not_read_and_the_skill_still_loads() -> None:
    skill = parse_skill(f"---\nname: a\ndescription: 1{':59' * 100_000}\n---\nbody", id="x")
    assert (skill.name, skill.description, skill.body) == ("x", "", "body")
    assert any("32,000" in issue for issue in skill.issues)


@pytest.mark.parametrize(
    "front",
    [
        'description: "\\ud800"',
        "name: 0x+5000f",
        "? [a, b]\n: c",
        "<<: 5",
        "a: !!python/object:os.system",
        "&a *a",
    ],
)
def test_no_front_matter_makes_the_reader_raise_or_give_unstorable_text(front: str) -> None:
    skill = parse_skill(f"---\n{front}\n---\nbody \ud800", id="x\udcff")
    for text in (skill.id, skill.name, skill.description, skill.body):
        text.encode()
    assert any("U+FFFD" in issue for issue in skill.issues)


@given(st.text(max_size=300))
def test_any_text_is_a_skill(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\n{text}"):
        skill = parse_skill(whole, id="x")
        assert skill.id == "x"
        skill.description.encode()


def test_a_list_of_tools_is_taken_as_it_stands() -> None:
    skill = parse_skill('---\nname: a\nallowed-tools: ["Bash(git add, git rm)", Read]\n---\n', id="x")
    assert skill.allowed_tools == ("Bash(git add, git rm)", "Read")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_opened(folder: Path) -> None:
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")
    registry = SkillRegistry.from_folder(folder)
    assert [error.name for error in registry.problems] == ["pipe/SKILL.md"]
    assert [skill.id for skill in registry.list()] == ["release-notes"]


def test_ten_thousand_skills_of_one_name_are_numbered_in_linear_time() -> None:
    # Counting instead of timing: each id is looked up a few times only.
    looked_up = 0

    class Id(str):
        __slots__ = ()

        def __hash__(self) -> int:
            nonlocal looked_up
            looked_up += 1
            return super().__hash__()

    skills = [Skill(id=Id("a"), name="a", description="d", body="b")] * 5_000
    assert len(SkillRegistry(skills).list()) == 5_000
    assert looked_up < 5_000 * 10

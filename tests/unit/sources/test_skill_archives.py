"""Skills as they are uploaded: single files and ZIP archives, hostile ones among them."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.sources import Skill, SkillRegistry
from playground.sources.skill_archives import SkillLoad, load_skills
from playground.sources.skill_files import RESOURCE_BYTES, SKILL_BYTES

NOTES = "---\nname: release-notes\ndescription: Writes release notes.\n---\nCollect the changes.\n"
PLAIN = "---\nname: plain\ndescription: Does little.\n---\nDo it.\n"


def zipped(*files: tuple[str | zipfile.ZipInfo, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return buffer.getvalue()


def load(*files: tuple[str, str | bytes]) -> SkillLoad:
    return load_skills((name, data.encode() if isinstance(data, str) else data) for name, data in files)


def only_skill(*files: tuple[str, str | bytes], warnings: int = 0) -> Skill:
    loaded = load(*files)
    assert not loaded.errors, loaded.errors
    assert len(loaded.warnings) == warnings, loaded.warnings
    (skill,) = loaded.skills
    return skill


def only_error(*files: tuple[str, str | bytes]) -> str:
    """What is wrong with the first file; a good one behind it must load all the same."""
    loaded = load(*files, ("good.md", PLAIN))
    assert [skill.id for skill in loaded.skills] == ["plain"]
    (error,) = loaded.errors
    assert error.remedy
    assert error.name.startswith(files[0][0])
    return str(error)


@pytest.mark.parametrize("name", ["SKILL.md", "release.md", "x.txt", "a/b/SKILL.md"])
def test_a_single_file_is_called_by_its_own_name(name: str) -> None:
    skill = only_skill((name, NOTES))
    assert (skill.id, skill.name, skill.description) == (
        "release-notes",
        "release-notes",
        "Writes release notes.",
    )
    assert (skill.body, skill.resources, skill.folder) == ("Collect the changes.\n", (), None)


def test_a_file_without_a_name_of_its_own_is_called_by_the_files_and_says_what_it_lacks() -> None:
    loaded = load(("Release Notes.md", "Collect."), ("", "Collect."), ("SKILL.md", "Collect."))
    ids = [skill.id for skill in loaded.skills]
    assert ids[0] == "Release-Notes"
    assert ids[1].startswith("skill-")
    assert ids[2] == f"{ids[1]}~2"
    assert any("no front matter" in warning.message for warning in loaded.warnings)


def test_an_archive_of_several_folders_gives_a_skill_each_with_its_resources() -> None:
    data = zipped(
        ("skills/release-notes/SKILL.md", NOTES),
        ("skills/release-notes/data/template.md", "# T"),
        ("skills/release-notes/empty.txt", ""),
        ("skills/plain/SKILL.md", PLAIN),
        ("skills/", ""),
        ("__MACOSX/skills/._plain", b"\0"),
    )
    notes, plain = sorted(load(("pack.zip", data)).skills, key=lambda skill: skill.id, reverse=True)
    assert (plain.id, plain.resources) == ("plain", ())
    assert notes.id == "release-notes"
    assert notes.resources == (("data/template.md", b"# T"), ("empty.txt", b""))
    assert not load(("pack.zip", data)).warnings


@pytest.mark.parametrize("name", ["pack.zip", "pack", "SKILL.md"])
def test_an_archive_is_recognised_by_its_content(name: str) -> None:
    assert only_skill((name, zipped(("SKILL.md", NOTES), ("a.txt", "A")))).resources == (("a.txt", b"A"),)


def test_an_archive_of_one_folders_content_is_called_by_the_skills_name_or_the_archives() -> None:
    assert only_skill(("pack.zip", zipped(("skill.md", NOTES)))).id == "release-notes"
    nameless = zipped(("SKILL.md", "---\ndescription: It does.\n---\nbody"))
    assert only_skill(("my pack.zip", nameless)).id == "my-pack"


def test_a_skill_inside_another_ones_folder_has_its_own_files() -> None:
    data = zipped(("SKILL.md", NOTES), ("a.txt", "A"), ("inner/SKILL.md", PLAIN), ("inner/b.txt", "B"))
    outer, inner = load(("pack.zip", data)).skills
    assert (outer.id, outer.resources) == ("release-notes", (("a.txt", b"A"),))
    assert (inner.id, inner.resources) == ("inner", (("b.txt", b"B"),))


def test_names_with_backslashes_are_folders_too() -> None:
    entry = zipfile.ZipInfo("x")
    entry.filename = "notes\\data\\a.txt"
    skill = only_skill(("pack.zip", zipped(("notes/SKILL.md", NOTES), (entry, "A"))))
    assert skill.resources == (("data/a.txt", b"A"),)


def test_what_belongs_to_no_skill_is_named() -> None:
    skill_load = load(("pack.zip", zipped(("a/SKILL.md", NOTES), *((f"{n}.txt", "x") for n in range(5)))))
    assert [warning.message for warning in skill_load.warnings] == [
        "Left out, because no SKILL.md stands above them: 0.txt, 1.txt, 2.txt and 2 more."
    ]


def test_a_link_is_left_out_and_named() -> None:
    entry = zipfile.ZipInfo("a/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    loaded = load(("pack.zip", zipped(("a/SKILL.md", NOTES), (entry, "/etc/passwd"))))
    assert loaded.skills[0].resources == ()
    assert loaded.warnings[0].message == "Left out, because they are links: a/link."


def test_a_resource_that_is_too_large_to_be_read_is_left_out_and_named() -> None:
    data = zipped(("a/SKILL.md", NOTES), ("a/big", bytes(RESOURCE_BYTES + 1)), method=zipfile.ZIP_STORED)
    loaded = load(("pack.zip", data))
    assert loaded.skills[0].resources == ()
    assert "a/big" in loaded.warnings[0].message


def test_one_bad_skill_of_an_archive_leaves_the_others() -> None:
    data = zipped(("bad/SKILL.md", b"\x89PNG\r\n\x1a\n"), ("empty/SKILL.md", b""), ("plain/SKILL.md", PLAIN))
    loaded = load(("pack.zip", data))
    assert [skill.id for skill in loaded.skills] == ["plain"]
    assert [error.name for error in loaded.errors] == ["pack.zip, bad/SKILL.md", "pack.zip, empty/SKILL.md"]


def _listed(name: str) -> bytes:
    """An archive whose entry has a name that zipfile would not write."""
    plain = "x" * len(name)
    return zipped(("a/SKILL.md", NOTES), (plain, "evil")).replace(plain.encode(), name.encode())


def _twice() -> bytes:
    return zipped(("a/SKILL.md", NOTES), ("a/x1", "1"), ("a/x2", "2")).replace(b"a/x2", b"a/x1")


def _large() -> bytes:
    return zipped(*((f"a/{number}", bytes(9_000_000)) for number in range(6)), method=zipfile.ZIP_STORED)


def _encrypted() -> bytes:
    data = bytearray(zipped(("a/SKILL.md", NOTES)))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(mark) + offset, 1)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (_listed("../evil.txt"), "points outside"),
        (_listed("/etc/passwd"), "points outside"),
        (_listed("a/../../evil"), "points outside"),
        (_listed("..\\evil.txt"), "points outside"),
        (_listed("C:\\evil.txt"), "points outside"),
        (_encrypted(), "encrypted"),
        (_twice(), "twice"),
        (zipped(("a/SKILL.md", NOTES), ("a/zeros", bytes(20_000_000))), "unpacks to far more"),
        (_large(), "more than 50,000,000"),
        (zipped(("a/SKILL.md", NOTES))[:-30], "damaged"),
        (zipped(), "holds no SKILL.md"),
        (zipped(("readme.md", "x")), "holds no SKILL.md"),
        (zipped(("a/SKILL.md", NOTES), ("a/skill.md", NOTES)), "twice, as some disks see it"),
        (zipped(("a/SKILL.md", NOTES), ("A/SKILL.md", NOTES)), "twice, as some disks see it"),
        (zipped(("a/SKILL.md", NOTES), ("a/R.txt", "1"), ("a/r.txt", "2")), "twice, as some disks see it"),
        (zipped(("a/SKILL.md", NOTES), ("a/\u00e9", "1"), ("a/e\u0301", "2")), "twice, as some disks see it"),
        (zipped(("a/SKILL.md", NOTES), (f"a/{'n' * 256}", "x")), "too long"),
        (zipped(("a/SKILL.md", NOTES), ("/".join(["a", *["n" * 200] * 6]), "x")), "too long"),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused_whole_and_other_files_load(data: bytes, words: str) -> None:
    assert words in only_error(("pack.zip", data))


def test_a_file_and_a_folder_of_one_name_refuse_their_skill_alone() -> None:
    data = zipped(("a/SKILL.md", NOTES), ("a/x", "1"), ("a/x/y", "2"), ("plain/SKILL.md", PLAIN))
    loaded = load(("pack.zip", data))
    assert [skill.id for skill in loaded.skills] == ["plain"]
    assert "a file and a folder of one name" in str(loaded.errors[0])


def test_a_skill_file_over_its_limit_is_refused_with_both_sizes() -> None:
    assert f"{SKILL_BYTES + 1:,}" in only_error(("SKILL.md", "x" * (SKILL_BYTES + 1)))
    (error,) = load_skills([("a.md", b"x" * 11)], size_limit=10).errors
    assert "11 bytes, the limit is 10" in str(error)


def test_xml_in_a_resource_may_declare_what_it_likes_because_nobody_parses_it() -> None:
    data = zipped(("a/SKILL.md", NOTES), ("a/page.xml", "<!DOCTYPE html><p/>"))
    assert only_skill(("pack.zip", data)).resources[0][0] == "page.xml"


def test_repeated_ids_get_a_number_and_a_warning() -> None:
    loaded = load(("a.md", NOTES), ("b.md", NOTES))
    assert [skill.id for skill in loaded.skills] == ["release-notes", "release-notes~2"]
    assert "more than once" in loaded.warnings[0].message
    several = load(*((f"{name}.zip", zipped((f"{name}/SKILL.md", NOTES))) for name in ("Pay", "pay", "PAY")))
    assert [skill.id for skill in several.skills] == ["Pay", "pay~2", "PAY~3"]


def test_resources_in_memory_are_read_by_their_path_and_lead_nowhere_else(tmp_path: Path) -> None:
    skill = only_skill(("pack.zip", zipped(("a/SKILL.md", NOTES), ("a/data/t.md", "# T"))))
    registry = SkillRegistry([skill])
    for path in ("data/t.md", "./data/t.md", "data/../data/t.md"):
        assert registry.read_resource("a", path) == b"# T"
    for path in ("../a/data/t.md", "/data/t.md", "data", "", "SKILL.md", "data/t.md\0"):
        with pytest.raises(InvalidInputError, match="no resource"):
            registry.read_resource("a", path)


NAMES = st.lists(
    st.sampled_from(["a", "b", "SKILL.md", "skill.md", "..", "", "c:", "\\", "é"]), min_size=1, max_size=4
)


@given(
    st.lists(
        st.tuples(NAMES.map("/".join).filter(bool), st.sampled_from([NOTES.encode(), b"", b"\0\xff", b"x"])),
        max_size=5,
        unique_by=lambda file: file[0].replace("\\", "/"),
    )
)
def test_any_archive_gives_skills_whose_files_a_folder_can_hold_or_typed_errors(
    files: Iterable[tuple[str, bytes]],
) -> None:
    loaded = load(("pack.zip", zipped(*files)))
    assert loaded.skills or loaded.errors
    for skill in loaded.skills:
        paths = [path.split("/") for path, _ in skill.resources]
        assert all(part not in {"", ".", ".."} for path in paths for part in path)
        assert not any(other[: len(path)] == path and other != path for path in paths for other in paths)
        assert skill.id.strip(".-")

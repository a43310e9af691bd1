"""Projects as archives: the same bytes each time, and nothing that a hostile one could do."""

from __future__ import annotations

import gc
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from playground.errors import InvalidRequestError, ProjectError
from playground.retrieval.documents import Document
from playground.sources import Skill
from playground.workspace import Project, load_project, load_sample, save_project
from playground.workspace import archive as archives
from playground.workspace.additions import with_documents, with_skills
from playground.workspace.archive import pack_files, pack_project, unpack_project
from playground.workspace.library import ProjectLibrary
from playground.workspace.memories import forget_memories, remember_memory

HEAD = b'{"version": 1, "title": "T"}'


@pytest.fixture(autouse=True)
def shelters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary folders are made, to see what is left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", ["deploy-demo", "bank-support"])
def test_a_packed_project_comes_back_whole(name: str) -> None:
    project = load_sample(name)
    back = unpack_project(pack_project(project), name="copy")
    assert back.name == "copy"
    same = "title documents chunks memories forgotten chats chat_titles working_memory messages tools scenarios"
    for field in (*same.split(), "budget", "scope", "chunking", "question", "model_id"):
        assert getattr(back, field) == getattr(project, field), field
    assert back.vectors.digests == project.vectors.digests
    assert (back.vectors.rows == project.vectors.rows).all()
    assert [skill.body for skill in back.skills] == [skill.body for skill in project.skills]
    assert pack_project(back) == pack_project(project)


def test_packing_depends_on_neither_time_nor_rights_of_the_files(tmp_path: Path) -> None:
    first = load_project(save_project(load_sample("deploy-demo"), tmp_path / "demo"))
    packed = pack_project(first)
    for path in (tmp_path / "demo").rglob("*"):
        os.utime(path, (1, 1))
    assert pack_project(load_project(tmp_path / "demo")) == packed


def with_resource(tmp_path: Path) -> Project:
    folder = tmp_path / "upload"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "form.txt").write_text("fill in")
    (folder / "SKILL.md").write_text("of another time")
    (folder / "out").symlink_to("/etc/passwd")
    skill = Skill("pdf", "pdf", "Reads.", "Do.", folder=folder)
    return with_skills(load_sample("deploy-demo"), [skill]).project


def test_resources_of_skills_travel_and_last_as_long_as_their_skill(tmp_path: Path, shelters: Path) -> None:
    packed = pack_project(with_resource(tmp_path))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert [name for name in archive.namelist() if "pdf" in name] == [
            "skills/pdf/SKILL.md",
            "skills/pdf/deep/form.txt",
        ]
    back = unpack_project(packed, name="copy")
    (skill,) = (skill for skill in back.skills if skill.id == "pdf")
    del back
    gc.collect()
    assert skill.folder is not None
    assert (skill.folder / "deep" / "form.txt").read_text() == "fill in"
    del skill
    gc.collect()
    assert list(shelters.iterdir()) == []


def test_an_unpacked_project_joins_a_library_with_its_resources(tmp_path: Path, shelters: Path) -> None:
    library = ProjectLibrary(tmp_path / "projects")
    library.create("copy", unpack_project(pack_project(with_resource(tmp_path)), name="copy"))
    gc.collect()
    assert (library.root / "copy/skills/pdf/deep/form.txt").read_text() == "fill in"
    assert list(shelters.iterdir()) == []


def test_what_was_forgotten_stays_forgotten() -> None:
    project = remember_memory(load_sample("deploy-demo"), "Likes tea.", now=1, id="x")
    packed = pack_project(forget_memories(project, ["x"], now=2).project)
    back = unpack_project(packed, name="copy")
    assert [stone.id for stone in back.forgotten] == ["x"]
    with pytest.raises(InvalidRequestError):
        remember_memory(back, "Likes tea.", now=3, id="x")


def test_what_packs_very_well_is_packed_so_that_it_can_be_unpacked() -> None:
    project = with_documents(load_sample("deploy-demo"), [Document("d", "D", "na " * 2_000_000)]).project
    assert unpack_project(pack_project(project), name="copy").documents == project.documents


def test_a_folder_packed_by_hand_is_read_and_what_is_no_part_of_it_is_told() -> None:
    files = {
        "mine/project.json": HEAD,
        "mine/LICENSE": b"x",
        "mine/exports/a.zip": b"x",
        "mine/forgetting.json": b"x",
    }
    back = unpack_project(pack_files(files), name="copy")
    assert (back.title, back.warnings) == (
        "T",
        ("Files of the archive that are no part of a project were left out: 3.",),
    )


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def made(*entries: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in ((entry("project.json"), HEAD), *entries):
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def encrypted() -> bytes:
    data = bytearray(made())
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    data[6] |= 1
    return bytes(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: b"", "damaged"),
        (lambda: b"no archive", "damaged"),
        (lambda: made()[:-30], "damaged"),
        (encrypted, "encrypted"),
        (lambda: made((entry("../evil.txt"), b"x")), "outside"),
        (lambda: made((entry("skills/../../evil.txt"), b"x")), "outside"),
        (lambda: made((entry("/tmp/evil.txt"), b"x")), "outside"),
        (lambda: made((entry("C:/evil.txt"), b"x")), "outside"),
        (lambda: made((entry("skills\\..\\..\\evil.txt"), b"x")), "outside"),
        (lambda: made((entry("skills\\a"), b"x")), "no project has"),
        (lambda: made((entry("skills/a/link", stat.S_IFLNK | 0o777), b"/etc/passwd")), "link"),
        (lambda: made((entry("skills/a/pipe", stat.S_IFIFO | 0o777), b"")), "link or a device"),
        (lambda: made((entry("project.json"), HEAD)), "twice"),
        (lambda: made((entry("Project.json"), HEAD)), "twice"),
        (lambda: made((entry("skills/a/\u00e9"), b""), (entry("skills/a/e\u0301"), b"")), "twice"),
        (lambda: made((entry("documents.jsonl"), b" " * 3_000_000)), "far more"),
        (lambda: made((entry("skills/a"), b"x"), (entry("skills/a/SKILL.md"), b"x")), "cannot be unpacked"),
        (lambda: made((entry(f"skills/{'a' * 300}/SKILL.md"), b"x")), "cannot be unpacked"),
        (lambda: made((entry("memories.jsonl"), b"{}\n")), "memories.jsonl, line 1"),
        (lambda: made((entry("vectors.npz"), b"PK")), "vectors.npz is damaged"),
        (lambda: pack_files({"LICENSE": b"x"}), "holds no project.json"),
        (lambda: pack_files({"a/project.json": HEAD, "b/project.json": HEAD}), "holds no project.json"),
        (lambda: pack_files({f"skills/s/{at}": b"" for at in range(10_001)}), "more than 10,000"),
    ],
)
def test_an_archive_that_is_none_or_means_harm_is_refused(
    make: Callable[[], bytes], says: str, tmp_path: Path, shelters: Path
) -> None:
    with pytest.raises(ProjectError, match=says) as error:
        unpack_project(make(), name="copy")
    assert error.value.project == "copy"
    del error
    gc.collect()
    assert list(shelters.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == [shelters.name]


def test_a_name_that_could_lead_anywhere_is_refused() -> None:
    with pytest.raises(ProjectError, match="cannot be the name"):
        unpack_project(made(), name="../copy")


def test_limits_are_those_that_unpacking_has(monkeypatch: pytest.MonkeyPatch) -> None:
    project = load_sample("deploy-demo")
    packed = pack_project(project)
    monkeypatch.setattr(archives, "UNPACKED_LIMIT", 1_000)
    with pytest.raises(ProjectError, match="too much for one archive"):
        pack_project(project)
    with pytest.raises(ProjectError, match="the limit is 1,000"):
        unpack_project(packed, name="copy")


@pytest.mark.parametrize("names", [("R.txt", "r.txt"), ("\u00e9", "e\u0301"), ("a\\b",)])
def test_resources_that_no_archive_is_read_with_cannot_be_packed(names: tuple[str, ...]) -> None:
    """Rather no archive than one that ``unpack_project`` refuses."""
    resources = tuple((name, b"x") for name in names)
    project = replace(load_sample("deploy-demo"), skills=(Skill("a", "a", "A.", "B.", resources=resources),))
    with pytest.raises(ProjectError, match="cannot be packed") as caught:
        pack_project(project)
    assert "Rename the resource" in caught.value.remedy


def test_a_skill_id_that_is_no_folder_name_cannot_be_packed() -> None:
    project = replace(load_sample("deploy-demo"), skills=(Skill("../a", "a", "A.", "B."),))
    with pytest.raises(ProjectError, match="cannot be a folder name"):
        pack_project(project)

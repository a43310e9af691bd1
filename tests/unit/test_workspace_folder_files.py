"""Files of a project's folder: what reaches the disk, and what is carried over without being copied."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from playground.sources import Skill
from playground.workspace import load_sample
from playground.workspace.additions import with_skills
from playground.workspace.folder_files import files_under, keep_all, write_file
from playground.workspace.library import ProjectLibrary


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The numbers of the files and folders that were flushed to the disk."""
    seen: set[int] = set()
    flush = os.fsync

    def noted(descriptor: int) -> None:
        flush(descriptor)
        seen.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    return seen


def numbers(folder: Path) -> dict[int, str]:
    paths = [folder, *folder.rglob("*")]
    return {path.stat().st_ino: path.relative_to(folder.parent).as_posix() for path in paths}


@pytest.fixture
def library(tmp_path: Path) -> ProjectLibrary:
    library = ProjectLibrary(tmp_path / "projects")
    library.create("own", load_sample("deploy-demo"))
    return library


def test_everything_new_is_flushed_before_a_change_returns(
    library: ProjectLibrary, flushed: set[int], tmp_path: Path
) -> None:
    upload = tmp_path / "upload"
    (upload / "deep").mkdir(parents=True)
    (upload / "deep" / "form.txt").write_text("fill in")
    before = numbers(library.root / "own")
    skill = Skill("pdf", "pdf", "Reads.", "Do.", folder=upload)
    library.change("own", lambda project: with_skills(project, [skill]).project)
    after = numbers(library.root / "own")
    assert {after[number] for number in after.keys() - before.keys() - flushed} == set()
    assert library.root.stat().st_ino in flushed
    library.keep_export("own", "a.json", b"{}")
    kept = numbers(library.root / "own")
    assert {kept[number] for number in kept.keys() - after.keys() - flushed} == set()


def test_what_a_change_leaves_as_it_is_is_not_written_again(library: ProjectLibrary) -> None:
    library.keep_export("own", "a.json", b"{}")
    before = numbers(library.root / "own")
    library.change("own", lambda project: replace(project, title="New"))
    after = numbers(library.root / "own")
    written = {after[number] for number in after.keys() - before.keys()}
    assert written >= {"own", "own/project.json"}
    assert "own/documents.jsonl" not in written
    assert "own/exports/a.json" not in written


def test_a_file_with_a_second_name_is_not_written_through(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_file(old / "deep" / "a.txt", b"old")
    new.mkdir()
    keep_all(old, new)
    write_file(new / "deep" / "a.txt", b"new")
    assert (old / "deep" / "a.txt").read_bytes() == b"old"
    assert (new / "deep" / "a.txt").read_bytes() == b"new"


def test_where_no_second_names_are_possible_files_are_copied_and_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushed: set[int]
) -> None:
    def refused(_self: Path, _target: Path) -> None:
        raise PermissionError

    write_file(tmp_path / "old" / "a.txt", b"old")
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(Path, "hardlink_to", refused)
    keep_all(tmp_path / "old", tmp_path / "new")
    copy = tmp_path / "new" / "a.txt"
    assert copy.read_bytes() == b"old"
    assert copy.stat().st_nlink == 1
    assert copy.stat().st_ino in flushed


def test_files_are_listed_without_following_links(tmp_path: Path) -> None:
    write_file(tmp_path / "top" / "b" / "c.txt", b"")
    write_file(tmp_path / "top" / "a.txt", b"")
    (tmp_path / "top" / "file").symlink_to("a.txt")
    (tmp_path / "top" / "folder").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path / "top").as_posix() for path in files_under(tmp_path / "top")]
    assert found == ["a.txt", "b/c.txt"]
    with pytest.raises(FileNotFoundError):
        list(files_under(tmp_path / "nowhere"))

"""Uploaded skills in a project: what they bring with them is saved, and read again."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from playground.errors import InvalidInputError
from playground.sources import SkillRegistry
from playground.sources.skill_archives import load_skills
from playground.workspace import Project, load_project, save_project
from playground.workspace.additions import with_skills

TEXT = "---\nname: notes\ndescription: Writes notes.\n---\nCollect.\n"


def packed(**resources: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("notes/SKILL.md", TEXT)
        for name, data in resources.items():
            archive.writestr(f"notes/data/{name}", data)
    return buffer.getvalue()


def project_with(project: Project, **resources: bytes) -> Project:
    return with_skills(project, load_skills([("pack.zip", packed(**resources))]).skills).project


def test_resources_of_an_uploaded_skill_are_read_after_a_save_and_after_the_next(tmp_path: Path) -> None:
    project = project_with(Project("p", digest="sha256:0"), first=b"1", blank=b"")
    save_project(project, tmp_path / "p")
    loaded = load_project(tmp_path / "p")
    save_project(loaded, tmp_path / "p")
    registry = SkillRegistry(load_project(tmp_path / "p").skills)
    assert registry.read_resource("notes", "data/first") == b"1"
    assert registry.read_resource("notes", "data/blank") == b""
    assert loaded.skills[0].body == project.skills[0].body


def test_a_skill_that_is_uploaded_again_brings_its_own_resources_alone(tmp_path: Path) -> None:
    save_project(project_with(Project("p", digest="sha256:0"), old=b"1"), tmp_path / "p")
    newer = project_with(load_project(tmp_path / "p"), fresh=b"2")
    save_project(newer, tmp_path / "p")
    registry = SkillRegistry(load_project(tmp_path / "p").skills)
    assert registry.read_resource("notes", "data/fresh") == b"2"
    with pytest.raises(InvalidInputError, match="no resource"):
        registry.read_resource("notes", "data/old")


def test_other_resources_give_the_project_another_digest() -> None:
    project = Project("p", digest="sha256:0")
    digests = {project_with(project, a=data).digest for data in (b"1", b"2")}
    assert len(digests | {project_with(project, b=b"1").digest}) == 3

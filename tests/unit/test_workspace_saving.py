"""Saves that meet other saves, readers and crashes; and text that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from playground.errors import ProjectError
from playground.messages import Message
from playground.retrieval.documents import Document
from playground.sources import SkillRegistry
from playground.workspace import Project, load_project, save_project
from playground.workspace.additions import with_documents
from playground.workspace.files import ProjectFolder

ROOT = Path(__file__).resolve().parents[2]
PREPARE = """
import os, sys
from dataclasses import replace
from pathlib import Path
from playground.retrieval.documents import Document
from playground.workspace import load_project, save_project
from playground.workspace.additions import with_documents
folder, mark = Path(sys.argv[1]), sys.argv[2]
def numbered(number):
    documents = [Document(f"d{at}", f"{mark} {number}", f"{mark} {number} text {at}") for at in range(60)]
    return replace(with_documents(start, documents).project, title=f"{mark} {number}")
start = load_project("deploy-demo")
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PREPARE + code, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> None:
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return save_project(load_project("deploy-demo"), tmp_path / "demo")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_of_one_save(project: Project) -> None:
    own = {document.title for document in project.documents if document.id.startswith("d")}
    assert own <= {project.title}
    assert project.warnings == ()


def test_a_project_loaded_during_saves_is_of_one_save(demo: Path) -> None:
    writers = [
        python("for number in range(8): save_project(numbered(number), folder)", str(demo), mark)
        for mark in ("one", "two")
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        project = load_project(demo)
        assert_of_one_save(project)
        seen.add(project.title)
    for writer in writers:
        ended(writer)
    assert len(seen) > 1
    assert names(demo.parent) == ["demo"]


def test_a_reader_is_never_starved_by_saves_that_follow_each_other(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, reads, text = load_project(demo), [], ProjectFolder.text

    def interrupted(self: ProjectFolder, name: str) -> str | None:
        if name == "documents.jsonl":
            reads.append(name)
            if not demo.with_name(".demo.lock").exists():
                save_project(replace(project, title=str(len(reads))), demo)
        return text(self, name)

    monkeypatch.setattr(ProjectFolder, "text", interrupted)
    assert load_project(demo).title == "5"
    assert len(reads) == 6


def test_threads_that_save_one_folder_take_turns(demo: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    project = load_project(demo)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: save_project(replace(project, title=str(at)), demo), range(12)))
    assert load_project(demo).title.isdecimal()
    assert names(demo.parent) == ["demo"]


CRASH = """
from playground.workspace import folder_exchange
rename = Path.rename
def crash(self, target):
    if self.name == "new":
        os._exit(9)
    return rename(self, target)
Path.rename = crash
save_project(numbered(1), folder)
"""


def test_a_crash_between_the_two_renames_brings_the_old_project_back(demo: Path) -> None:
    ended(python(CRASH, str(demo), "x"), 9)
    assert not demo.exists()
    assert load_project(demo).title == "Deploy demo"
    save_project(replace(load_project(demo), title="New"), demo)
    assert load_project(demo).title == "New"
    assert names(demo.parent) == ["demo"]


def test_what_a_killed_writer_leaves_is_removed_by_the_next_save(demo: Path) -> None:
    kill = (
        "import signal; os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL); save_project(start, folder)"
    )
    ended(python(kill, str(demo), "x"), -9)
    assert len(names(demo.parent)) > 1
    assert load_project(demo).title == "Deploy demo"
    save_project(load_project(demo), demo)
    assert names(demo.parent) == ["demo"]


@pytest.mark.parametrize("name", [".demo.previous", ".demo.0123abcd.saving", ".demo.1234.tmp"])
def test_neither_loading_nor_saving_touches_folders_that_are_not_its_own(demo: Path, name: str) -> None:
    mine = demo.with_name(name)
    (mine / "old").mkdir(parents=True)
    (mine / "thesis.txt").write_text("years of work")
    load_project(demo)
    save_project(load_project(demo), demo)
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert (mine / "old").is_dir()


def test_loading_deletes_nothing_even_of_a_dead_writer(demo: Path) -> None:
    work = demo.with_name(".demo.0123abcd.saving")
    (work / "new").mkdir(parents=True)
    (work / "playground-save").touch()
    load_project(demo)
    assert (work / "new").is_dir()
    save_project(load_project(demo), demo)
    assert not work.exists()


def loaded_again(project: Project, folder: Path) -> Project:
    return load_project(save_project(project, folder))


def test_ids_that_differ_in_a_lone_surrogate_are_refused_and_the_old_project_stays(demo: Path) -> None:
    documents = [Document("d\ud800", "t", "one"), Document("d\ud801", "t", "two")]
    hostile = with_documents(load_project(demo), documents).project
    with pytest.raises(ProjectError, match=r"documents\.jsonl, record 'd\\ud800'.*U\+D800"):
        save_project(hostile, demo)
    assert load_project(demo).title == "Deploy demo"


def test_a_lone_surrogate_anywhere_is_named_and_never_replaced(tmp_path: Path) -> None:
    project = load_project("deploy-demo")
    skill = SkillRegistry.from_records([{"name": "a", "description": "d\ud800", "body": "b"}]).list()
    for spoiled, words in (
        (replace(project, title="\ud800"), r"project\.json"),
        (replace(project, messages=(Message("user", "\ud800"),)), r"conversation\.json"),
        (replace(project, tools=({"name": "\ud800"},)), r"tools\.json"),
        (replace(project, skills=skill), "skills, 'a'"),
    ):
        with pytest.raises(ProjectError, match=words):
            save_project(spoiled, tmp_path / "p")
        assert not (tmp_path / "p").exists()


def test_a_number_that_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    project = with_documents(load_project("deploy-demo"), [Document("n", "n", "n", meta={"x": 1e999})]).project
    with pytest.raises(ProjectError, match=r"documents\.jsonl, record 'n'"):
        save_project(project, tmp_path / "p")


@pytest.mark.parametrize(
    "description",
    [
        "next\x85line",
        "a \u2028 b",
        "a\u2029 b",
        "\ufeffmark",
        "c1 \x9b del \x7f",
        "no\ufffebody",
        'quote " colon: #',
        "\U0001f469\u200d\U0001f680",
        "a\n\nb",
        "tab\tnbsp\xa0",
    ],
)
def test_a_skill_keeps_its_description_and_tools(tmp_path: Path, description: str) -> None:
    record = {"name": "a", "description": description, "body": "b\n"}
    (skill,) = SkillRegistry.from_records([record]).list()
    skill = replace(skill, allowed_tools=("Read", "Bash(git log:*, git add)", "x, y"), license=description)
    project = replace(load_project("deploy-demo"), skills=(skill,))
    (again,) = loaded_again(project, tmp_path / "p").skills
    assert (again.description, again.license, again.body) == (description, description, "b\n")
    assert again.allowed_tools == skill.allowed_tools


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_in_a_skills_folder_stops_neither_loading_nor_saving(tmp_path: Path) -> None:
    demo = save_project(load_project("deploy-demo"), tmp_path / "demo")
    (demo / "skills" / "a" / "data").mkdir(parents=True)
    (demo / "skills" / "a" / "SKILL.md").write_text("---\nname: a\ndescription: d\n---\nb")
    (demo / "skills" / "a" / "data" / "kept.txt").write_text("kept")
    os.mkfifo(demo / "skills" / "a" / "pipe")
    os.mkfifo(demo / "skills" / "a" / "data" / "pipe")
    copy = save_project(load_project(demo), tmp_path / "copy")
    assert (copy / "skills" / "a" / "data" / "kept.txt").read_text() == "kept"
    assert not (copy / "skills" / "a" / "pipe").exists()


def skills_of(folder: Path) -> tuple[Sequence[str], str]:
    project = load_project(folder)
    return [skill.id for skill in project.skills], " ".join(project.warnings)


BAD_SKILLS = {
    "a surrogate in YAML": b'---\nname: bad\ndescription: "x\\ud800"\n---\nb',
    "a number in base 16 with a sign": b"---\nname: 0x+5000f\ndescription: 0b+1\n---\nb",
    "a date that is none": b"---\nname: 2001-99-99\ndescription: 9999-12-31T25:61:61\n---\nb",
    "bytes that are no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", BAD_SKILLS)
def test_one_odd_skill_leaves_the_project_usable(demo: Path, tmp_path: Path, name: str) -> None:
    for folder, data in (("bad", BAD_SKILLS[name]), ("good", b"---\nname: good\ndescription: d\n---\nb")):
        (demo / "skills" / folder).mkdir(parents=True)
        (demo / "skills" / folder / "SKILL.md").write_bytes(data)
    assert skills_of(demo)[0] == ["bad", "good"]
    assert skills_of(save_project(load_project(demo), tmp_path / "again"))[0] == ["bad", "good"]


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="there every name is Unicode")
def test_a_skill_in_a_folder_whose_name_is_no_text_loads_and_is_saved(demo: Path, tmp_path: Path) -> None:
    folder = demo / "skills" / os.fsdecode(b"bad\xff")
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: bad\ndescription: d\n---\nb")
    assert skills_of(demo)[0] == ["bad\ufffd"]
    assert skills_of(save_project(load_project(demo), tmp_path / "again"))[0] == ["bad\ufffd"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_as_a_skill_is_a_warning_that_names_it(demo: Path) -> None:
    (demo / "skills" / "pipe").mkdir(parents=True)
    os.mkfifo(demo / "skills" / "pipe" / "SKILL.md")
    found, warnings = skills_of(demo)
    assert found == []
    assert "pipe/SKILL.md" in warnings

"""Own projects on disk: made, changed by several programs at once, removed; crashes and disks that refuse."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from playground.errors import InvalidInputError, ProjectError
from playground.messages import Message
from playground.retrieval.documents import Document
from playground.sources import Skill
from playground.workspace import Project, load_sample, sample_projects
from playground.workspace.additions import with_documents, with_skills
from playground.workspace.library import ProjectLibrary, default_library
from playground.workspace.memories import remember_memory
from tests.dying import DyingProcesses

ROOT = Path(__file__).resolve().parents[2]
PREPARE = """
import os, signal, sys
from playground.workspace.library import ProjectLibrary
from playground.workspace.memories import remember_memory
def remember(number, mark="m"):
    library.change("own", lambda p: remember_memory(p, f"{mark} {number}", now=number, id=f"{mark}-{number}"))
"""
OPEN = "library, mark = ProjectLibrary(sys.argv[1]), sys.argv[2]\n"


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PREPARE + OPEN + code, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return out


@pytest.fixture
def library(tmp_path: Path) -> ProjectLibrary:
    library = ProjectLibrary(tmp_path / "projects")
    library.create("own", load_sample("deploy-demo"))
    return library


def files(library: ProjectLibrary) -> list[str]:
    return sorted(path.name for path in library.root.iterdir())


def titled(title: str) -> Project:
    return replace(load_sample("deploy-demo"), title=title)


def test_a_created_project_is_loaded_under_its_name_with_all_it_holds(library: ProjectLibrary) -> None:
    sample, loaded = load_sample("deploy-demo"), library.load("own")
    assert loaded.name == "own"
    assert (loaded.title, loaded.documents, loaded.chunks) == (sample.title, sample.documents, sample.chunks)
    assert (loaded.memories, loaded.chats) == (sample.memories, sample.chats)
    assert library.names() == ("own",)
    assert files(library) == ["own"]


def test_a_library_without_a_folder_has_no_projects_and_makes_none(tmp_path: Path) -> None:
    library = ProjectLibrary(tmp_path / "none")
    assert (library.names(), library.summaries(), library.stamp("own")) == ((), (), None)
    for use in (library.load, library.delete, lambda name: library.change(name, lambda project: project)):
        with pytest.raises(ProjectError, match="There is no project 'own'"):
            use("own")
    assert not library.root.exists()


@pytest.mark.parametrize(
    "name", ["", "-a", "A", "a/b", "../a", "a.b", "a b", "ä", "a" * 65, "a\n", ".own.lock", "/etc", "a\0b"]
)
def test_a_name_that_could_lead_anywhere_is_refused_by_every_method(library: ProjectLibrary, name: str) -> None:
    for use in (
        library.load,
        library.stamp,
        library.delete,
        lambda name: library.create(name, titled("x")),
        lambda name: library.change(name, lambda project: project),
    ):
        with pytest.raises(ProjectError, match="cannot be the name"):
            use(name)
    assert files(library) == ["own"]


def test_a_sample_s_name_and_a_taken_one_are_refused(library: ProjectLibrary) -> None:
    with pytest.raises(ProjectError, match="sample"):
        library.create(sample_projects()[0], titled("x"))
    with pytest.raises(ProjectError, match="already"):
        library.create("own", titled("x"))
    assert library.load("own").title == "Deploy demo"


def test_a_change_is_on_disk_and_what_it_returns_is_what_is_loaded(library: ProjectLibrary) -> None:
    before = library.stamp("own")
    changed = library.change("own", lambda project: remember_memory(project, "Kept.", now=1, id="kept"))
    loaded = ProjectLibrary(library.root).load("own")
    assert (changed.memories, changed.digest, changed.name) == (loaded.memories, loaded.digest, "own")
    assert loaded.memories[-1].id == "kept"
    assert library.stamp("own") != before


def test_a_change_that_changes_nothing_writes_nothing(library: ProjectLibrary) -> None:
    before = library.stamp("own")
    library.change("own", lambda project: project)
    assert library.stamp("own") == before


def test_what_a_change_raises_is_raised_and_nothing_is_written(library: ProjectLibrary) -> None:
    before = library.stamp("own")
    with pytest.raises(InvalidInputError):
        library.change("own", lambda project: remember_memory(project, " ", now=1))
    with pytest.raises(ProjectError, match="lone surrogate"):
        library.change("own", lambda project: replace(project, messages=(Message("user", "\ud800"),)))
    assert library.stamp("own") == before
    assert files(library) == ["own"]


def test_a_project_that_would_not_open_again_is_not_written(library: ProjectLibrary) -> None:
    memory = library.load("own").memories[0]
    with pytest.raises(ProjectError, match="twice"):
        library.change("own", lambda project: replace(project, memories=(memory, memory)))
    assert library.load("own").memories[0] == memory


def test_indexes_that_were_built_are_taken_along_by_a_change(library: ProjectLibrary) -> None:
    built = []

    def change(project: Project) -> Project:
        built.append(project.chunk_words)
        return remember_memory(project, "Kept.", now=1)

    assert library.change("own", change).chunk_words is built[0]


def test_resources_of_skills_are_carried_along(library: ProjectLibrary, tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.mkdir()
    (upload / "form.txt").write_text("fill in")
    skill = Skill("pdf", "pdf", "Reads.", "Do.", folder=upload)
    changed = library.change("own", lambda project: with_skills(project, [skill]).project)
    (upload / "form.txt").unlink()
    again = library.change("own", lambda project: replace(project, title="Again"))
    assert changed.skills == again.skills == library.load("own").skills
    folder = library.load("own").skills[0].folder
    assert folder is not None
    assert (folder / "form.txt").read_text() == "fill in"


def test_files_that_are_no_part_of_the_project_stay(library: ProjectLibrary) -> None:
    own = library.root / "own"
    (own / "LICENSE").write_text("mine")
    (own / "notes").mkdir()
    (own / "notes" / "empty").mkdir()
    (own / "notes" / "a.txt").write_text("note")
    (own / "notes" / "link").symlink_to("a.txt")
    library.change("own", lambda project: replace(project, title="New"))
    assert (own / "LICENSE").read_text() == "mine"
    assert sorted(path.name for path in (own / "notes").iterdir()) == ["a.txt", "empty", "link"]
    assert (own / "LICENSE").stat().st_nlink == 1


def test_a_removed_project_is_gone_with_everything(library: ProjectLibrary) -> None:
    library.delete("own")
    assert (library.names(), files(library)) == ((), [])
    assert library.stamp("own") is None
    library.create("own", titled("Again"))
    assert library.load("own").title == "Again"


def test_summaries_name_every_project_the_damaged_ones_too(library: ProjectLibrary) -> None:
    library.create("another", titled("Zoo"))
    library.create("broken", titled("Broken"))
    (library.root / "broken" / "project.json").write_text("{")
    (library.root / "empty").mkdir()
    (library.root / "Not A Name").mkdir()
    (library.root / "link").symlink_to(library.root / "own")
    found = {summary.name: summary for summary in library.summaries()}
    assert list(found) == ["another", "broken", "own"]
    assert (found["another"].title, found["another"].problem) == ("Zoo", "")
    assert "not valid JSON" in found["broken"].problem
    with pytest.raises(ProjectError, match="There is no project"):
        library.load("link")


def test_the_stamp_tells_of_an_edit_by_hand(library: ProjectLibrary) -> None:
    before = library.stamp("own")
    with (library.root / "own" / "memories.jsonl").open("a") as file:
        file.write("\n")
    assert library.stamp("own") != before


def test_two_processes_that_change_one_project_lose_nothing(library: ProjectLibrary) -> None:
    writers = [
        python("for number in range(12): remember(number, mark)", str(library.root), mark)
        for mark in ("a", "b")
    ]
    for writer in writers:
        ended(writer)
    kept = {record.id for record in library.load("own").memories}
    assert {f"{mark}-{number}" for mark in "ab" for number in range(12)} <= kept
    assert files(library) == ["own"]


def test_a_project_that_is_being_exchanged_is_always_among_the_names(library: ProjectLibrary) -> None:
    writer = python("for number in range(40): remember(number, mark)", str(library.root), "a")
    while writer.poll() is None:
        assert library.names() == ("own",)
        assert [summary.problem for summary in library.summaries()] == [""]
        assert library.exports("own") == ()
        assert library.stamp("own") is not None
    ended(writer)


def test_a_change_made_of_a_project_that_was_loaded_before_cannot_bring_back_what_was_forgotten(
    library: ProjectLibrary,
) -> None:
    stale = library.change("own", lambda project: remember_memory(project, "Secret.", now=1, id="secret"))
    library.forget("own", ["secret"], now=2)
    with pytest.raises(InvalidInputError, match="were forgotten"):
        library.change("own", lambda _: stale)
    assert "secret" not in {record.id for record in library.load("own").memories}


def test_threads_that_change_one_project_lose_nothing(library: ProjectLibrary) -> None:
    def add(number: int) -> None:
        document = Document(f"d{number}", f"D{number}", f"text {number}")
        library.change("own", lambda project: with_documents(project, [document]).project)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(12)))
    loaded = library.load("own")
    assert {f"d{number}" for number in range(12)} <= {document.id for document in loaded.documents}
    assert len({chunk.index for chunk in loaded.chunks}) == len(loaded.chunks)


@pytest.fixture
def dying() -> Iterator[DyingProcesses]:
    with DyingProcesses(PREPARE) as processes:
        yield processes


def test_a_process_killed_anywhere_in_a_change_leaves_the_old_or_the_new_project(
    library: ProjectLibrary, dying: DyingProcesses
) -> None:
    seen = set()
    for number, killed in dying.each(library.root, "remember(number)"):
        kept = [record.id for record in library.load("own").memories]
        seen.add(f"m-{number}" in kept)
        library.change("own", lambda project: replace(project, title=f"After {number}"))  # noqa: B023
        assert [record.id for record in library.load("own").memories] == kept
        assert files(library) == ["own"]
        assert killed or number > 15
    assert seen == {True, False}


def test_a_process_killed_anywhere_in_a_removal_leaves_the_whole_project_or_none(
    library: ProjectLibrary, dying: DyingProcesses
) -> None:
    whole = load_sample("deploy-demo").documents
    for number, killed in dying.each(library.root, 'library.delete("own")'):
        if library.names():
            assert library.load("own").documents == whole
        else:
            assert set(files(library)) <= {".own.lock"}  # empty, and the next one who locks removes it
            library.create("own", load_sample("deploy-demo"))
        assert killed or number > 5


FULL = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from playground.errors import ProjectError
try:
    library.change("own", lambda p: remember_memory(p, "x" * 100_000, now=1))
except ProjectError as error:
    print(error.project, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX")
def test_a_disk_that_takes_no_more_is_a_typed_error_and_the_old_project_stays(library: ProjectLibrary) -> None:
    told = ended(python(FULL, str(library.root), "x"))
    assert "own The project 'own' cannot be written: File too large." in told
    assert files(library) == ["own"]
    assert library.load("own").memories == load_sample("deploy-demo").memories


@pytest.fixture
def everybody() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


RIGHTS = """
print(library.load("own").title)  # whoever drops its rights may not be able to import any more
if os.getuid() == 0:
    os.setuid(65534)
from playground.errors import ProjectError
for use in (
    lambda: print(library.load("left").title, library.names()),
    lambda: remember(1),
    lambda: library.create("new", library.load("own")),
    lambda: library.delete("own"),
    lambda: library.load("secret"),
    lambda: ProjectLibrary(library.root / "closed").names(),
):
    try:
        use()
    except ProjectError as error:
        print(error)
print([summary.problem for summary in library.summaries()])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights are POSIX")
def test_missing_rights_are_typed_errors(everybody: Path) -> None:
    library = ProjectLibrary(everybody / "projects")
    library.create("own", titled("Own"))
    library.create("secret", titled("Secret"))
    library.create("left", titled("Left"))
    (library.root / ".left.01234567.saving").mkdir()
    (library.root / ".left.01234567.saving" / "playground-save").touch()
    (library.root / "secret" / "project.json").chmod(0)
    (library.root / "closed").mkdir(mode=0)
    library.root.chmod(0o555)
    try:
        told = ended(python(RIGHTS, str(library.root), "x")).splitlines()
    finally:
        library.root.chmod(0o755)
    assert told[:2] == ["Own", "Left ('closed', 'left', 'own', 'secret')"]
    assert [line.split(":")[0] for line in told[2:5]] == [
        "The project 'own' cannot be written",
        "The project 'new' cannot be written",
        "The project 'own' cannot be removed",
    ]
    assert len(told) == 8
    assert "Check the path and the rights of its files" in told[5]
    assert "The folder of the projects cannot be read" in told[6]
    assert told[7].count("cannot be read") == 2


def test_a_file_in_the_library_s_place_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    library = ProjectLibrary(tmp_path / "file")
    with pytest.raises(ProjectError, match="cannot be read"):
        library.names()
    with pytest.raises(ProjectError, match="cannot be written"):
        library.create("own", titled("x"))


def test_a_user_without_a_home_is_told_where_projects_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(ProjectError, match="no home folder") as caught:
        default_library()
    assert "XDG_DATA_HOME" in caught.value.remedy


def test_the_default_library_is_in_the_user_s_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_library().root == tmp_path / "context-playground" / "projects"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", "data")  # would be another folder wherever the program is started
    assert default_library().root == tmp_path / "home/.local/share/context-playground/projects"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_library().root == tmp_path / "home/.local/share/context-playground/projects"

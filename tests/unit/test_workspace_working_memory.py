"""A project's working memory: started once, changed by patches, saved with the history of what they did."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError, ProjectError
from playground.scope import MemoryScope
from playground.working_memory import AppliedPatch, WorkingMemoryPatch
from playground.working_memory.handle import WorkingMemoryHandle
from playground.workspace import Project, compile_project, load_project, load_sample, save_project
from playground.workspace.folder_files import OWN_FILES
from playground.workspace.working_memory import (
    HISTORY_BYTES,
    HISTORY_FILE,
    HISTORY_LIMIT,
    ProjectMemory,
    patch_project,
    start_working_memory,
)


def patch(project: Project, *operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    assert project.working_memory is not None
    revision = project.working_memory.revision
    fields = {"operationId": f"o{revision}", "expectedRevision": revision, "writer": "host"}
    return {**fields, "operations": list(operations), **more}


def observed(project: Project, text: str = "Seen.") -> Project:
    changed, outcome = patch_project(project, patch(project, {"op": "add-observation", "text": text}), now=7)
    assert outcome.status == "applied"
    return changed


@pytest.fixture
def demo() -> Project:
    return load_sample("deploy-demo")


def test_an_applied_patch_gives_another_project_with_a_row_of_history(demo: Project) -> None:
    before = demo.working_memory
    wanted = patch(demo, {"op": "add-decision", "text": "Wait for CI."}, writer="model")
    changed, outcome = patch_project(demo, wanted, now=1_700)
    assert isinstance(outcome, AppliedPatch)
    assert changed.digest != demo.digest
    assert demo.working_memory is before
    assert changed.working_memory is outcome.snapshot
    (row,) = changed.working_memory_history
    assert (row.revision, row.writer, row.operation_id, row.changed_at) == (1, "model", "o0", 1_700)
    assert row.operations == ("add-decision",)
    assert [(change.list, change.id, change.kind) for change in row.changes] == [
        ("decisions", "decisions-1-0", "added")
    ]


def test_a_refused_or_repeated_patch_gives_the_very_project_that_came_in(demo: Project) -> None:
    refused, outcome = patch_project(
        demo, patch(demo, {"op": "set-goal", "text": "Mine."}, writer="model"), now=1
    )
    assert outcome.status == "rejected"
    assert refused is demo
    wanted = patch(demo, {"op": "add-question", "text": "When?"})
    once, _ = patch_project(demo, wanted, now=1)
    again, outcome = patch_project(once, wanted, now=2)
    assert outcome.status == "duplicate"
    assert again is once


def test_a_malformed_patch_and_a_project_without_a_memory_are_errors(demo: Project) -> None:
    with pytest.raises(InvalidInputError):
        patch_project(demo, {"operations": []}, now=1)
    with pytest.raises(InvalidRequestError, match="no working memory"):
        patch_project(replace(demo, working_memory=None), patch(demo, {"op": "set-goal", "text": None}), now=1)


def test_equal_changes_give_equal_digests_and_different_ones_different_digests(demo: Project) -> None:
    assert observed(demo).digest == observed(demo).digest
    assert observed(demo, "One.").digest != observed(demo, "Two.").digest


def test_the_history_keeps_the_newest_hundred_revisions(demo: Project) -> None:
    changed = demo
    for number in range(HISTORY_LIMIT + 3):
        status = ("accepted", "reverted")[number % 2]
        operation = {"op": "set-decision-status", "id": "decisions-1-0", "status": status}
        if number == 0:
            operation = {"op": "add-decision", "text": "Wait."}
        changed, outcome = patch_project(changed, patch(changed, operation), now=number)
        assert outcome.status == "applied"
    revisions = [row.revision for row in changed.working_memory_history]
    assert revisions == list(range(4, HISTORY_LIMIT + 4))


def test_the_history_keeps_the_newest_revisions_that_have_four_mebibytes_of_json(
    demo: Project, tmp_path: Path
) -> None:
    changed = demo
    for number in range(30):
        tasks = [{"title": f"{number} {'x' * 450}", "notes": "y" * 900} for _ in range(64)]
        operation = {"op": "set-tasks", "list": tasks}
        changed, outcome = patch_project(changed, patch(changed, operation), now=number)
        assert outcome.status == "applied"
    history = changed.working_memory_history
    sizes = [len(revision.to_json().encode()) for revision in history]
    assert 10 < len(history) < 30
    assert sum(sizes) <= HISTORY_BYTES < sum(sizes) + max(sizes)
    assert history[-1].revision == 30
    folder = save_project(changed, tmp_path / "saved")
    file = folder / HISTORY_FILE
    assert load_project(folder).working_memory_history == history
    older = history[0].to_json().replace(f'"revision":{history[0].revision}', '"revision":1', 1)
    file.write_text(f"{older}\n{file.read_text()}")
    assert load_project(folder).working_memory_history == history


def test_a_history_with_more_changes_than_a_patch_can_make_is_damaged(demo: Project, tmp_path: Path) -> None:
    folder = save_project(observed(demo), tmp_path / "saved")
    file = folder / HISTORY_FILE
    line = json.loads(file.read_text())
    file.write_text(json.dumps({**line, "changes": [{"list": "goal", "kind": "added"}] * 50_000}) + "\n")
    with pytest.raises(ProjectError, match=r"working_memory_history.jsonl, line 1: .*at most 256"):
        load_project(folder)
    file.write_text(json.dumps({**line, "operations": ["add-question"] * 17}) + "\n")
    with pytest.raises(ProjectError, match="at most 16"):
        load_project(folder)


def test_the_largest_patch_that_there_can_be_goes_into_the_history(demo: Project) -> None:
    tasks = [{"title": f"Task {number}."} for number in range(64)]
    full, _ = patch_project(demo, patch(demo, {"op": "set-tasks", "list": tasks}), now=1)
    added = [{"op": "add-observation", "text": "Seen."}] * 14
    goal = {"op": "set-goal", "text": "Other."}
    operations: list[dict[str, Any]] = [{"op": "set-tasks", "list": tasks}, goal, *added]
    changed, outcome = patch_project(full, patch(full, *operations), now=2)
    assert outcome.status == "applied"
    assert len(changed.working_memory_history[-1].changes) == 64 + 64 + 1 + 14


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \n"])
@pytest.mark.parametrize("name", sorted(OWN_FILES - {"skills"}))
def test_a_file_that_lost_its_content_is_damaged_and_not_a_part_that_is_not_there(
    demo: Project, tmp_path: Path, name: str, content: bytes
) -> None:
    folder = save_project(observed(demo), tmp_path / "saved")
    (folder / name).write_bytes(content)
    with pytest.raises(ProjectError, match=name):
        load_project(folder)


def test_a_patch_builds_no_index_of_an_unchanged_corpus_again() -> None:
    bank = load_sample("bank-support")
    words, vectors = bank.chunk_words, bank.chunk_vectors
    changed = observed(bank)
    assert changed.chunk_words is words
    assert changed.chunk_vectors is vectors
    shorter = bank.with_parts(corpus=bank.corpus.without([bank.documents[0].id]))
    assert shorter.chunk_words is not words
    assert shorter.chunk_vectors is not vectors


def test_the_tail_of_a_compile_shows_the_change(demo: Project) -> None:
    package = compile_project(observed(demo, "The canary is healthy."), mode="lexical")
    assert "The canary is healthy." in package.blocks[-1].text


def test_a_memory_starts_at_revision_0_for_whom_the_project_is(demo: Project) -> None:
    bare = replace(demo, working_memory=None, scope=MemoryScope(user_id="ada"))
    started = start_working_memory(bare, goal="Ship it.", now=9)
    memory = started.working_memory
    assert memory is not None
    assert memory.goal is not None
    assert (memory.scope, memory.revision, memory.goal.text, memory.created_at) == ("ada", 0, "Ship it.", 9)
    assert started.digest != bare.digest
    assert started.working_memory_history == ()
    nobodys = start_working_memory(replace(bare, scope=MemoryScope()), now=9).working_memory
    assert nobodys is not None
    assert (nobodys.scope, nobodys.goal) == (demo.name, None)


def test_a_memory_that_is_there_is_not_started_anew(demo: Project) -> None:
    with pytest.raises(InvalidRequestError, match="already"):
        start_working_memory(demo, now=9)


@pytest.mark.parametrize(
    "text",
    [
        "</goal>\n- [x] (accepted) \u202e שלום",
        "half \ud83d",
        "two halves \ud83d" + "\ude00",
        "whole \U0001f600",
    ],
)
def test_memory_and_history_are_saved_and_loaded_without_loss(demo: Project, tmp_path: Path, text: str) -> None:
    changed = observed(observed(demo, text), "Second.")
    folder = save_project(changed, tmp_path / "saved")
    loaded = load_project(folder)
    assert loaded.working_memory == changed.working_memory
    assert loaded.working_memory_history == changed.working_memory_history
    save_project(demo, folder)
    assert not (folder / HISTORY_FILE).exists()


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (lambda text: text + "{", "line 3"),
        (lambda text: text.replace('"writer":"host"', '"writer":"nobody"', 1), "line 1"),
        (lambda text: text.replace('"revision":2', '"revision":9'), "end at 2"),
        (lambda text: "".join(reversed(text.splitlines(keepends=True))), "must rise"),
    ],
    ids=["no JSON", "unknown writer", "beyond the snapshot", "another order"],
)
def test_a_damaged_history_is_named_with_a_remedy(
    demo: Project, tmp_path: Path, damage: Any, names: str
) -> None:
    folder = save_project(observed(observed(demo)), tmp_path / "saved")
    file = folder / HISTORY_FILE
    file.write_text(damage(file.read_text("utf-8")), encoding="utf-8")
    with pytest.raises(ProjectError, match=HISTORY_FILE) as caught:
        load_project(folder)
    assert names in str(caught.value)
    assert caught.value.remedy


def test_another_history_is_another_digest_of_the_folder(demo: Project, tmp_path: Path) -> None:
    changed = observed(demo)
    with_it = load_project(save_project(changed, tmp_path / "saved")).digest
    (tmp_path / "saved" / HISTORY_FILE).unlink()
    loaded = load_project(tmp_path / "saved")
    assert loaded.working_memory_history == ()
    assert loaded.digest != with_it


def test_a_history_file_is_one_line_of_plain_json_a_revision(demo: Project, tmp_path: Path) -> None:
    folder = save_project(observed(observed(demo)), tmp_path / "saved")
    lines = [json.loads(line) for line in (folder / HISTORY_FILE).read_text("utf-8").splitlines()]
    assert [line["revision"] for line in lines] == [1, 2]
    assert lines[0]["changes"][0]["after"]["text"] == "Seen."


def test_a_project_is_a_handle_for_the_models_tools(demo: Project) -> None:
    memory = ProjectMemory(demo, now=9)
    assert isinstance(memory, WorkingMemoryHandle)
    assert memory.current() is demo.working_memory
    wanted = WorkingMemoryPatch.parse(patch(demo, {"op": "add-question", "text": "When?"}, writer="model"))
    assert memory.apply(wanted).status == "applied"
    assert memory.current().revision == 1
    assert memory.project.working_memory_history[-1].changed_at == 9
    assert memory.apply(wanted).status == "duplicate"
    with pytest.raises(InvalidRequestError, match="no working memory"):
        ProjectMemory(replace(demo, working_memory=None), now=9).current()

"""The projects that come with the package: labels that hold, licences, what a first look takes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from playground.messages import ToolResultPart, ToolUsePart
from playground.retrieval.search import SearchMode
from playground.sources.chats import positions_of
from playground.workspace import (
    Project,
    ask_sources,
    compile_project,
    load_sample,
    sample_projects,
    search_plan,
)
from playground.workspace.embedding import embedded_texts
from playground.workspace.samples import sample_folder

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sample_projects()
USERS = {"customer": 30, "finance": 25, "healthcare": 25, "notetaker": 25, "student": 50}
# Prints which files of the samples are opened while the code behind it runs.
WATCH = """
import sys
from pathlib import Path
opened = set()
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str | Path) and "sample_data" in Path(arguments[0]).parts:
        path = Path(arguments[0])
        opened.add("/".join(path.parts[path.parts.index("sample_data") + 1 :]))
sys.addaudithook(note)
"""

sample = cache(load_sample)


def opened_files(code: str) -> set[str]:
    """Return the files of the samples that a new process opens, by their path below the samples' folder."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH + code + "\nprint(*sorted(opened), sep='\\n')"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def record_ids(project: Project, source: str) -> set[str]:
    """Return every record that a source of the project can offer, whatever the question."""
    match source:
        case "transcript":
            chats = [chat for chat in project.chats if chat.scope.matches(project.scope)]
            return {
                f"{chat.chat_id}#{place.index}"
                for chat in chats
                for place in positions_of(chat.messages)
                if place.text.strip()
            }
        case "skills":
            return {f"catalog/{skill.id}" for skill in project.skills}
        case "memory":
            return {record.id for record in project.memories if record.scope.matches(project.scope)}
        case "rag":
            return {str(chunk.index) for chunk in project.chunks}
    return set()


def test_the_samples_are_those_that_are_documented() -> None:
    assert SAMPLES == ("bank-support", "assistant-memory", "deploy-demo", "python-docs")
    readme = (sample_folder("bank-support").parent / "README.md").read_text(encoding="utf-8")
    assert all(f"- **{name}** — " in readme for name in SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_loads_without_a_warning_and_its_skills_keep_the_rules(name: str) -> None:
    assert sample(name).warnings == ()
    assert {skill.id: skill.issues for skill in sample(name).skills if skill.issues} == {}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_label_points_at_a_record_that_its_question_can_be_offered(name: str) -> None:
    project = sample(name)
    documents = {document.id for document in project.documents}
    for scenario in project.scenarios:
        asked = project.for_scenario(scenario)
        assert set(scenario.gold_documents) <= documents, scenario.id
        for record in scenario.gold:
            assert record.record_id in record_ids(asked, record.source), scenario.id


@pytest.mark.parametrize("name", SAMPLES)
def test_a_message_or_record_that_a_memory_rests_on_is_there_for_the_same_user(name: str) -> None:
    project = sample(name)
    for memory in project.memories:
        own = project.with_parts(scope=memory.scope)
        chats = [chat for chat in project.chats if chat.scope.matches(memory.scope)]
        said = {f"{chat.chat_id}#{at}" for chat in chats for at in range(len(chat.messages))}
        for source in (source for revision in memory.revisions for source in revision.sources):
            if source.kind == "message":
                assert source.id in said, memory.id
            elif source.kind == "record":
                assert source.id in record_ids(own, "memory"), memory.id


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_ships_the_vector_of_every_text_that_is_searched(name: str) -> None:
    project = sample(name)
    wanted = embedded_texts(project)
    assert [text for text in wanted if text not in project.vectors] == []
    assert len(project.vectors) == len(wanted)


@pytest.mark.parametrize("mode", get_args(SearchMode))
@pytest.mark.parametrize("name", SAMPLES)
def test_the_question_of_a_sample_compiles_in_each_mode_without_a_model(name: str, mode: SearchMode) -> None:
    project = sample(name)
    assert project.question
    plan = search_plan(project, project.query(), mode=mode)
    assert (plan.mode, plan.notice) == (mode, "")
    manifest = compile_project(project, mode=mode).manifest
    assert {source.status for source in manifest.sources} == {"ok"}
    assert sum(entry.selected for entry in manifest.entries) >= 3


@pytest.mark.parametrize("name", SAMPLES)
def test_a_labelled_question_is_searched_by_meaning_without_a_model(name: str) -> None:
    project = sample(name)
    for scenario in project.scenarios:
        asked = project.for_scenario(scenario)
        assert search_plan(asked, asked.query()).notice == "", scenario.id


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("bank-support", "LICENSE-tau2-bench.txt", "MIT License"),
        ("bank-support", "LICENSE-inspect-evals.txt", "MIT License"),
        ("bank-support", "skills/LICENSE-ai-labs.txt", "MIT License"),
        ("assistant-memory", "LICENSE-bfcl-eval.txt", "Apache License\n                           Version 2.0"),
        ("assistant-memory", "NOTICE.txt", "What was changed"),
        ("python-docs", "LICENSE.txt", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2"),
        ("python-docs", "NOTICE.txt", "What was changed"),
    ],
)
def test_the_licence_of_what_others_made_lies_beside_it(name: str, file: str, words: str) -> None:
    assert words in (sample_folder(name) / file).read_text(encoding="utf-8")
    readme = (sample_folder(name).parent / "README.md").read_text(encoding="utf-8")
    assert f"`{name}/{file}`" in readme


def test_the_list_of_samples_is_made_from_their_heads_alone() -> None:
    code = "from playground.workspace import sample_summaries; assert sample_summaries()"
    assert opened_files(code) == {f"{name}/project.json" for name in SAMPLES}


def test_the_app_opens_no_sample_but_the_one_it_shows() -> None:
    code = (
        "from streamlit.testing.v1 import AppTest; "
        "assert not AppTest.from_file('app.py', default_timeout=90).run().exception"
    )
    opened = opened_files(code)
    assert "bank-support/documents.jsonl" in opened
    assert {file for file in opened if not file.startswith("bank-support/")} <= {
        f"{name}/project.json" for name in SAMPLES
    }


def test_each_user_of_the_assistant_has_questions_a_scope_and_memories_of_their_own() -> None:
    project = sample("assistant-memory")
    assert Counter(s.group for s in project.scenarios) == {**USERS, "tools": 120}
    for scenario in project.scenarios:
        user = "operator" if scenario.group == "tools" else scenario.group
        assert scenario.scope is not None
        assert scenario.scope.fields() == {"user_id": user, "agent_id": "assistant"}
    for user in (*USERS, "operator"):
        asked = project.for_scenario(next(s for s in project.scenarios if s.scope and s.scope.user_id == user))
        results = {result.source_id: result for result in ask_sources(asked)}
        assert len(record_ids(asked, "memory")) >= 3
        assert {c.record_id for c in results["memory"].candidates} <= record_ids(asked, "memory")
        assert results["transcript"].candidates
        assert {c.record_id for c in results["transcript"].candidates} <= record_ids(asked, "transcript")


def test_a_question_of_the_benchmark_without_a_labelled_message_says_so() -> None:
    questions = [scenario for scenario in sample("assistant-memory").scenarios if scenario.group in USERS]
    without = [scenario for scenario in questions if not scenario.gold]
    assert (len(questions), len(without)) == (155, 12)
    assert all("No message is labelled" in scenario.instructions for scenario in without)
    assert not any("No message is labelled" in s.instructions for s in questions if s.gold)


def test_no_memory_of_the_assistant_repeats_what_was_said() -> None:
    project = sample("assistant-memory")
    said = " ".join(place.text for chat in project.chats for place in positions_of(chat.messages)).casefold()
    assert not [r.id for r in project.memories if r.latest.text.casefold().rstrip(".") in said]


def test_the_assistants_tool_calls_are_paired_with_their_results() -> None:
    chats = [chat for chat in sample("assistant-memory").chats if chat.scope.user_id == "operator"]
    for chat in chats:
        parts = [part for message in chat.messages for part in message.parts]
        calls = [part.id for part in parts if isinstance(part, ToolUsePart)]
        assert calls
        assert [part.tool_use_id for part in parts if isinstance(part, ToolResultPart)] == calls
        assert all(place.role != "tool" for place in positions_of(chat.messages))
    longest = max(len(place.text) for chat in chats for place in positions_of(chat.messages))
    assert longest > 30_000


def test_the_assistant_opens_in_the_middle_of_a_chat_with_a_loaded_tool() -> None:
    project = sample("assistant-memory")
    assert project.working_memory is not None
    assert project.working_memory.active_task is not None
    manifest = compile_project(project).manifest
    kinds = Counter(entry.kind for entry in manifest.entries if entry.selected)
    assert {"memory", "transcript", "skills", "working-memory"} <= set(kinds)
    assert "body/weather-1-get-weather" in {entry.record_id for entry in manifest.entries if entry.selected}


def test_each_question_of_the_python_faq_is_grouped_by_its_page_and_asked_in_a_new_chat() -> None:
    project = sample("python-docs")
    assert Counter(s.group for s in project.scenarios) == {
        "faq/design": 4,
        "faq/extending": 5,
        "faq/general": 3,
        "faq/gui": 2,
        "faq/library": 19,
        "faq/programming": 13,
        "faq/windows": 2,
    }
    for scenario in project.scenarios:
        assert scenario.gold_documents
        assert project.for_scenario(scenario).query() == scenario.question


def test_the_python_pages_are_as_they_came_and_no_comment_of_an_example_is_their_heading() -> None:
    project = sample("python-docs")
    assert {document.media_type for document in project.documents} == {"text/x-rst"}
    assert {chunk.meta["headings"] for chunk in project.chunks} == {()}
    assert not [document.title for document in project.documents if "`" in document.title]
    atexit = next(document for document in project.documents if document.id == "library/atexit")
    assert atexit.title == "atexit — Exit handlers"
    assert atexit.text.startswith(":mod:`atexit` --- Exit handlers\n====")


def test_the_python_project_opens_with_something_of_every_source() -> None:
    manifest = compile_project(sample("python-docs")).manifest
    kinds = Counter(entry.kind for entry in manifest.entries if entry.selected)
    assert set(kinds) == {"memory", "rag", "transcript", "skills", "working-memory"}
    labels = {
        sample("python-docs").label("rag", e.record_id).origin
        for e in manifest.entries
        if e.kind == "rag" and e.selected
    }
    assert "library/concurrent.futures" in labels

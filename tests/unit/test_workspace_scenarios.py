"""Labelled questions: whose they are, what answers them, and the project as each of them asks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidInputError, ProjectError
from playground.memory import MemoryRecord
from playground.messages import Message
from playground.scope import MemoryScope
from playground.sources import ChatRecord
from playground.workspace import GoldRecord, Project, Scenario, ask_sources, load_project, save_project
from playground.workspace.records import memory_from_json

ANN, BEN = MemoryScope(user_id="ann"), MemoryScope(user_id="ben")


def remembered(identifier: str, scope: MemoryScope) -> MemoryRecord:
    return memory_from_json({"id": identifier, "text": f"A harbour {identifier}."}, scope)


def said(chat_id: str, scope: MemoryScope) -> ChatRecord:
    return ChatRecord(chat_id, scope, (Message("user", f"I saw the harbour in {chat_id}."),))


@pytest.fixture
def shared() -> Project:
    """A project of two people, asked by Ann in the middle of a chat."""
    return replace(
        load_project("deploy-demo"),
        scope=ANN,
        chat_id="now",
        memories=(remembered("hers", ANN), remembered("his", BEN)),
        chats=(said("spring", ANN), said("autumn", BEN)),
        messages=(Message("system", "Be brief."), Message("user", "Hello."), Message("assistant", "Yes?")),
        scenarios=(
            Scenario(
                id="labelled",
                question="Which harbour did I see?",
                group="walks",
                scope=BEN,
                gold=(
                    GoldRecord(source="transcript", record_id="autumn#0"),
                    GoldRecord(source="memory", record_id="his", grade=2),
                ),
            ),
            Scenario(id="plain", question="Which harbour?", gold_documents=("rolling-back",)),
        ),
    )


def found(project: Project) -> dict[str, list[str]]:
    results = ask_sources(project, mode="lexical")
    return {result.source_id: [c.record_id for c in result.candidates] for result in results}


def test_labelled_questions_survive_saving_and_loading(shared: Project, tmp_path: Path) -> None:
    folder = save_project(shared, tmp_path / "shared")
    assert load_project(folder).scenarios == shared.scenarios
    first, second = (folder / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    assert '"scope": {"userId": "ben"}' in first
    assert '{"source": "transcript", "recordId": "autumn#0"}' in first
    assert second == '{"id": "plain", "question": "Which harbour?", "goldDocuments": ["rolling-back"]}'


def test_a_question_about_somebody_reads_their_memories_and_chats_and_nobody_elses(shared: Project) -> None:
    assert found(shared.with_parts(question="harbour"))["memory"] == ["hers"]
    asked = found(shared.for_scenario(shared.scenarios[0]))
    assert asked["memory"] == ["his"]
    assert asked["transcript"] == ["autumn#0"]


def test_a_question_about_somebody_is_asked_in_a_new_chat(shared: Project) -> None:
    asked = shared.for_scenario(shared.scenarios[0])
    assert [message.role for message in asked.request_messages()] == ["system", "user"]
    assert asked.working_memory is None
    assert asked.chat_id == ""
    assert asked.query() == "Which harbour did I see?"


def test_a_question_that_names_nobody_is_asked_in_the_conversation_at_hand(shared: Project) -> None:
    asked = shared.for_scenario(shared.scenarios[1])
    assert asked.question == "Which harbour?"
    assert (asked.scope, asked.messages, asked.chat_id) == (ANN, shared.messages, "now")
    assert asked.working_memory is shared.working_memory is not None


def test_each_labelled_question_gives_a_digest_of_its_own(shared: Project) -> None:
    first, second = shared.scenarios
    digests = {shared.digest, shared.for_scenario(first).digest, shared.for_scenario(second).digest}
    other = first.model_copy(update={"scope": ANN})
    assert len(digests | {shared.for_scenario(other).digest}) == 4
    assert shared.for_scenario(first).digest == shared.for_scenario(first).digest
    changed = replace(shared, digest="sha256:other")
    assert changed.for_scenario(first).digest != shared.for_scenario(first).digest


def test_indexes_are_not_built_again_for_a_labelled_question(shared: Project) -> None:
    words = shared.chunk_words
    assert shared.for_scenario(shared.scenarios[0]).chunk_words is words


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gold", [{"source": "", "recordId": "a"}]),
        ("gold", [{"source": "memory", "recordId": ""}]),
        ("gold", [{"source": "memory", "recordId": "a", "grade": 0}]),
        ("gold", [{"source": "memory", "recordId": "a", "grade": 1.5}]),
        ("gold", [{"source": "memory", "recordId": "a", "grade": True}]),
        ("gold", [{"source": "memory", "recordId": "a"}, {"source": "memory", "recordId": "a", "grade": 2}]),
        ("scope", {"team": "x"}),
        ("scope", {}),
        ("group", 7),
    ],
)
def test_a_malformed_label_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=field):
        Scenario.parse({"id": "a", "question": "b", field: value})


def test_a_malformed_label_in_a_file_names_the_line(tmp_path: Path) -> None:
    folder = save_project(load_project("deploy-demo"), tmp_path / "demo")
    (folder / "scenarios.jsonl").write_text('{"id": "a", "question": "b", "gold": [{"source": "memory"}]}\n')
    with pytest.raises(ProjectError, match=r"scenarios\.jsonl, line 1"):
        load_project(folder)

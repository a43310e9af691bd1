"""Evidence recall on projects so small that every figure is worked out by hand."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playground.errors import InvalidInputError, InvalidRequestError, PlaygroundError, ProjectError, SourceError
from playground.evaluation.recall import measure_recall
from playground.evaluation.recall_material import evidence_of, material_of
from playground.evaluation.recall_report import CAVEAT, LEFT_OUT, VALLEY, GroupRecall, RecallReport
from playground.memory import MemoryRecord
from playground.messages import Message
from playground.retrieval.chunking import Chunk
from playground.retrieval.corpus import Corpus, search_text
from playground.retrieval.documents import Document
from playground.retrieval.search import Fusion
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill
from playground.working_memory import create_working_memory
from playground.workspace import GoldRecord, Project, Scenario, VectorTable
from playground.workspace.records import memory_from_json
from playground.workspace.texts import skill_text
from tests.builders import heuristic_tokens, plain_piece

ROOT = Path(__file__).resolve().parents[2]
ANN, BEN = MemoryScope(user_id="ann"), MemoryScope(user_id="ben")
# Which document a chunk is of, its text, and the cosine that every question has with it. All texts are of one
# length, so that each record costs the same; dense search ranks them as they stand here.
CHUNKS = (
    ("a", "the quay is shut at night", 0.9),
    ("b", "the crane is out on trial", 0.8),
    ("c", "the depot is by the canal", 0.7),
    ("d", "the ferry is late in rain", 0.6),
    ("e", "the light is run by staff", 0.5),
    ("a", "the quays are in the west", 0.4),
)
ONE = heuristic_tokens(plain_piece("0", CHUNKS[0][1]))  # tokens of each of these records
DEPOT = Scenario(id="1", question="depot", gold_documents=("a", "c", "e"))
FERRY = Scenario(id="2", question="ferry", gold_documents=("d",))
UNLABELLED = Scenario(id="3", question="crane")
HELLO = ChatRecord("hi", BEN, (Message("user", "We met in May."), Message("assistant", "So we did.")))
MET = Scenario(
    id="4", question="May", group="ben", scope=BEN, gold=(GoldRecord(source="transcript", record_id="hi#0"),)
)


def towards(cosine: float) -> tuple[float, float]:
    return cosine, math.sqrt(1 - cosine**2)


def vectors(cosines: Mapping[str, float]) -> VectorTable:
    rows = np.asarray([towards(cosine) for cosine in cosines.values()], dtype=np.float32)
    return VectorTable.of(list(cosines), rows, model_id="arc", weights_digest="sha256:0")


def project_of(*scenarios: Scenario, cosines: Mapping[str, float] | None = None, **parts: Any) -> Project:
    """The six chunks, and these questions; every question that is named has a vector."""
    chunks = tuple(
        Chunk(text, index, 0, len(text), {"document": document, "title": "", "headings": ()})
        for index, (document, text, _) in enumerate(CHUNKS)
    )
    documents = tuple(Document(id=name, title="", text=".") for name in "abcde")
    known = {search_text(chunk): CHUNKS[chunk.index][2] for chunk in chunks}
    known |= {scenario.question: 1.0 for scenario in scenarios} | dict(cosines or {})
    whole: dict[str, Any] = {
        "name": "tiny",
        "digest": "sha256:0",
        "scope": ANN,
        "corpus": Corpus(documents, chunks, len(chunks)),
        "scenarios": scenarios,
        "vectors": vectors(known),
    }
    return Project(**{**whole, **parts})


def shares(report: RecallReport, mode: str, group: str = "") -> tuple[float | None, ...]:
    return row(report, mode, group).recall


def row(report: RecallReport, mode: str, group: str = "") -> GroupRecall:
    (found,) = (one for one in report.groups if (one.mode, one.group) == (mode, group))
    return found


def test_the_share_of_evidence_is_averaged_over_the_questions() -> None:
    report = measure_recall([project_of(DEPOT, FERRY)], token_limits=(ONE, 3 * ONE, 4 * ONE, 5 * ONE))
    # Dense: chunks 0, 1, 2 … are taken in turn. "depot" finds a, then c, then e; "ferry" finds d as the fourth.
    assert shares(report, "dense") == (
        round((1 / 3 + 0) / 2, 6),
        round((2 / 3 + 0) / 2, 6),
        round((2 / 3 + 1) / 2, 6),
        1.0,
    )
    # Lexical: each word stands in one chunk, nothing else is found however much room there is.
    assert shares(report, "lexical") == (round((1 / 3 + 1) / 2, 6),) * 4
    found = row(report, "dense")
    assert (found.questions, found.evidence, found.material_tokens, found.searched_by_words) == (
        2,
        4,
        6 * ONE,
        0,
    )


def test_the_records_have_exactly_the_tokens_named_and_not_one_less() -> None:
    report = measure_recall([project_of(FERRY)], modes=["dense"], token_limits=(4 * ONE - 1, 4 * ONE))
    assert shares(report, "dense") == (0.0, 1.0)


def test_a_document_counts_once_with_whichever_of_its_chunks_got_in() -> None:
    last = {search_text(chunk): 0.0 for chunk in project_of().chunks if chunk.index == 0}
    report = measure_recall([project_of(DEPOT, cosines=last)], modes=["dense"], token_limits=(4 * ONE, 5 * ONE))
    # b, c, d, e, then the second chunk of a; the first is the last of all.
    assert shares(report, "dense") == (round(2 / 3, 6), 1.0)


def test_hybrid_search_fuses_both_rankings_as_asked() -> None:
    """Chunk 5 is first by words, far ahead, and last by meaning; chunk 0 is second and first."""
    first = Scenario(id="q", question="quays west is", gold=(GoldRecord(source="rag", record_id="0"),))
    # By rank 1/61 + 1/62 against 1/61 + 1/66; by score (0.08 + 1) / 2 against (1 + 0.4 / 0.9) / 2.
    cases: tuple[tuple[Fusion, float], ...] = (("rrf", 1.0), ("convex", 0.0))
    for fusion, expected in cases:
        report = measure_recall([project_of(first)], modes=["hybrid"], token_limits=(ONE,), fusion=fusion)
        assert (report.fusion, shares(report, "hybrid")) == (fusion, (expected,))


def test_a_group_is_left_out_from_the_limit_on_that_holds_all_it_searches() -> None:
    report = measure_recall([project_of(DEPOT)], modes=["dense"], token_limits=(6 * ONE - 1, 6 * ONE, 7 * ONE))
    assert shares(report, "dense") == (1.0, None, None)
    assert LEFT_OUT in report.notes
    assert [cells[4:] for cells in report.lines()] == [("100.0%", "–", "–")]


def test_a_group_whose_material_always_fits_is_never_asked_and_has_no_part_in_the_mean() -> None:
    other = DEPOT.model_copy(update={"id": "5", "group": "other", "gold_documents": ("b",)})
    project = project_of(DEPOT, other, MET, chats=(HELLO,))
    report = measure_recall([project], modes=["dense"], token_limits=(3 * ONE,))
    assert material_of(project.for_scenario(MET), ["transcript"]).total < 3 * ONE
    assert shares(report, "dense", "ben") == (None,)
    assert report.lines() == (
        ("tiny", "all", "1", "dense", "66.7%"),
        ("tiny", "other", "1", "dense", "100.0%"),
        ("tiny", "ben", "1", "dense", "–"),
        ("tiny", "mean of 2 groups", "2", "dense", "83.3%"),
    )


def test_a_figure_that_falls_as_tokens_grow_is_explained() -> None:
    """With room for one short message both short ones are taken; with more, the long one that is first."""
    texts = ("It is nine.", "It is ten.", "code " + "and so on " * 20)
    chat = ChatRecord("c", ANN, tuple(Message("user", text) for text in texts))
    gold = tuple(GoldRecord(source="transcript", record_id=f"c#{at}") for at in (0, 1))
    needs = Scenario(id="q", question="code", gold=gold)
    cosines = dict(zip(texts, (0.6, 0.5, 0.9), strict=True))
    project = project_of(needs, chats=(chat,), cosines=cosines)
    short, brief, long = material_of(project, ["transcript"]).tokens.values()
    options: dict[str, Any] = {"modes": ["dense"], "neighbour_weight": 0}
    falling = measure_recall([project], token_limits=(short + brief, long), **options)
    assert shares(falling, "dense") == (1.0, 0.0)
    assert VALLEY in falling.notes
    rising = measure_recall([project], token_limits=(short, short + brief), **options)
    assert shares(rising, "dense") == (0.5, 1.0)
    assert VALLEY not in rising.notes
    flat = measure_recall([project_of(FERRY)], modes=["lexical"], token_limits=(ONE, 2 * ONE))
    assert VALLEY not in flat.notes


def test_one_group_has_no_mean() -> None:
    report = measure_recall([project_of(DEPOT, FERRY)], modes=["dense"], token_limits=(ONE,))
    assert len(report.lines()) == 1


def test_questions_without_evidence_are_counted_apart() -> None:
    report = measure_recall([project_of(DEPOT, UNLABELLED)], modes=["dense"], token_limits=(ONE,))
    assert row(report, "dense").questions == 1
    assert [(left.project, left.questions) for left in report.unlabelled] == [("tiny", 1)]
    assert "tiny: 1 more questions name no evidence and are not counted." in report.notes
    assert measure_recall([project_of(DEPOT)], modes=["dense"], token_limits=(ONE,)).unlabelled == ()


def test_a_question_without_a_vector_is_searched_by_words_and_that_is_said() -> None:
    project = project_of(DEPOT)
    lacking = replace(project, scenarios=(DEPOT, FERRY))
    report = measure_recall([lacking], token_limits=(3 * ONE,))
    assert [row(report, mode).searched_by_words for mode in ("lexical", "dense", "hybrid")] == [0, 1, 1]
    assert shares(report, "dense") == (round((2 / 3 + 1) / 2, 6),)
    said = [note for note in report.notes if "searched by words" in note]
    assert [note.partition(" questions")[0] for note in said] == ["tiny, dense: 1 of 2", "tiny, hybrid: 1 of 2"]


def test_records_without_vectors_are_searched_by_words_and_that_is_said() -> None:
    talk = [Message("user", f"Walk {at} in May.") for at in range(9)]
    project = project_of(MET, chats=(HELLO, ChatRecord("walks", BEN, tuple(talk))))
    report = measure_recall([project], token_limits=(20,))
    assert [row(report, mode, "ben").searched_by_words for mode in ("lexical", "dense")] == [0, 1]


def test_each_question_is_asked_in_its_own_scope() -> None:
    noise = tuple(Message("user", f"May {at} was fine, and so was every May before.") for at in range(9))
    chats = (HELLO, ChatRecord("hers", ANN, noise))
    report = measure_recall([project_of(MET, chats=chats)], modes=["lexical"], token_limits=(40,))
    assert (
        row(report, "lexical", "ben").material_tokens
        == material_of(project_of(chats=(HELLO,), scope=BEN), ["transcript"]).total
    )
    assert shares(report, "lexical", "ben") == (1.0,)


def test_questions_of_several_people_in_one_group_stay_apart() -> None:
    hers = ChatRecord("hers", ANN, (Message("user", "May came."), Message("user", "I went home.")))
    gold = (GoldRecord(source="transcript", record_id="hers#0"),)
    ann = Scenario(id="a", question="May", group="ben", gold=gold)
    report = measure_recall([project_of(MET, ann, chats=(HELLO, hers))], token_limits=(40,))
    assert shares(report, "lexical", "ben") == (1.0,)
    with pytest.raises(ProjectError):
        measure_recall([project_of(ann, ann.model_copy(update={"scope": BEN}), chats=(HELLO, hers))])


def test_kinds_that_both_hold_evidence_have_equal_shares() -> None:
    """Alone by score the two memories would fill the room."""
    memories = (remembered("m1", "The key is red."), remembered("m2", "The key is old."))
    chat = ChatRecord("c", ANN, (Message("user", "It hangs by the door."),))
    gold = (GoldRecord(source="memory", record_id="m1"), GoldRecord(source="transcript", record_id="c#0"))
    both = Scenario(id="key", question="Where is the key?", gold=gold)
    cosines = {"The key is red.": 0.9, "The key is old.": 0.8, "It hangs by the door.": 0.5}
    project = project_of(both, cosines=cosines, memories=memories, chats=(chat,))
    tokens = material_of(project, ["memory", "transcript"]).tokens
    limit = 2 * max(tokens.values())
    assert limit >= tokens["memory", "m1"] + tokens["memory", "m2"]
    assert shares(measure_recall([project], modes=["dense"], token_limits=(limit,)), "dense") == (1.0,)


def test_questions_of_one_person_that_need_other_sources_search_other_material() -> None:
    key = Scenario(id="m", question="key", group="memory", gold=(GoldRecord(source="memory", record_id="m1"),))
    memories = (remembered("m1", "The key is red."), remembered("m2", "The door is old."))
    report = measure_recall([project_of(DEPOT, key, memories=memories)], token_limits=(5,))
    materials = [row(report, "lexical", group).material_tokens for group in ("", "memory")]
    project = project_of(memories=memories)
    assert materials == [material_of(project, [source]).total for source in ("rag", "memory")]


def test_only_sources_that_hold_evidence_are_asked() -> None:
    """Else the memory, first by its score, would take the place of the chunk."""
    memory = remembered("m", "the depot key is with Ann")
    project = project_of(DEPOT, memories=(memory,), cosines={"the depot key is with Ann": 1.0})
    report = measure_recall([project], modes=["dense"], token_limits=(ONE,))
    assert shares(report, "dense") == (round(1 / 3, 6),)


def test_neither_conversation_nor_working_memory_is_part_of_it() -> None:
    """What stands in a request is not offered again, and the active task is part of what sources are asked."""
    said = (Message("user", "The code is nine."), Message("user", "The ferry ferry is late."))
    needs = Scenario(id="q", question="code", gold=(GoldRecord(source="transcript", record_id="c#0"),))
    tasks = {"list": [{"id": "t", "title": "ferry late", "status": "in_progress"}], "active_task_id": "t"}
    memory = create_working_memory(scope="ann", goal="Sail.", tasks=tasks, now=0)
    calm = project_of(needs, chats=(ChatRecord("c", ANN, said),))
    limit = max(material_of(calm, ["transcript"]).tokens.values())
    expected = measure_recall([calm], modes=["lexical"], token_limits=(limit,))
    assert shares(expected, "lexical") == (1.0,)
    for busy in (replace(calm, messages=said[:1]), replace(calm, working_memory=memory)):
        assert busy.query() != calm.query() or busy.messages
        assert measure_recall([busy], modes=["lexical"], token_limits=(limit,)) == expected


def test_evidence_whose_very_text_is_in_under_another_name_is_in_sight() -> None:
    texts = ("The code is nine.", "Thanks.", "The code is nine.")
    chat = ChatRecord("c", ANN, tuple(Message("user", text) for text in texts))
    late = Scenario(id="q", question="code", gold=(GoldRecord(source="transcript", record_id="c#2"),))
    project = project_of(late, chats=(chat,))
    tokens = material_of(project, ["transcript"]).tokens
    report = measure_recall([project], modes=["lexical"], token_limits=(tokens["transcript", "c#0"],))
    assert shares(report, "lexical") == (1.0,)


def test_the_weight_of_neighbours_is_the_one_given() -> None:
    texts = ("The code is code.", "It is nine.", "Fine, fine, fine.", "A code of honour is long.")
    chat = ChatRecord("c", ANN, tuple(Message("user", text) for text in texts))
    answer = Scenario(id="q", question="code", gold=(GoldRecord(source="transcript", record_id="c#1"),))
    project = project_of(answer, chats=(chat,))
    tokens = material_of(project, ["transcript"]).tokens
    limit = tokens["transcript", "c#0"] + tokens["transcript", "c#1"]
    found = {
        weight: shares(
            measure_recall([project], modes=["lexical"], token_limits=(limit,), neighbour_weight=weight),
            "lexical",
        )
        for weight in (0.0, 5.0)
    }
    assert found == {0.0: (0.0,), 5.0: (1.0,)}


def test_a_memory_is_judged_at_the_time_of_the_newest_and_not_by_the_clock() -> None:
    short = {"recordedAt": 1_000, "expiresAt": 2_000}
    memories = (remembered("m1", "The key is red.", **short), remembered("m2", "The key is old."))
    needs = Scenario(id="key", question="key red", gold=(GoldRecord(source="memory", record_id="m1"),))
    project = project_of(needs, memories=memories)
    limit = material_of(project, ["memory"]).tokens["memory", "m1"]
    assert shares(measure_recall([project], modes=["lexical"], token_limits=(limit,)), "lexical") == (1.0,)


def test_skills_are_evidence_too() -> None:
    skills = (Skill("knots", "knots", "Tie a knot.", ""), Skill("sails", "sails", "Set a sail.", ""))
    needs = Scenario(id="s", question="sail", gold=(GoldRecord(source="skills", record_id="catalog/sails"),))
    project = project_of(needs, skills=skills, cosines={skill_text(skill): 0.1 for skill in skills})
    limit = material_of(project, ["skills"]).tokens["skills", "catalog/sails"]
    assert shares(measure_recall([project], modes=["lexical"], token_limits=(limit,)), "lexical") == (1.0,)


def remembered(identifier: str, text: str, **fields: Any) -> MemoryRecord:
    return memory_from_json({"id": identifier, "text": text, **fields}, ANN)


def test_material_is_every_record_of_the_scope_with_the_tokens_of_its_piece() -> None:
    current = ChatRecord("now", ANN, (Message("user", "I am here."),))
    past = ChatRecord(
        "then", ANN, (Message("system", "Be kind."), Message("user", "Hm."), Message("user", " "))
    )
    project = project_of(
        chats=(current, past, HELLO),
        chat_id="now",
        memories=(remembered("m", "Tea."), memory_from_json({"id": "his", "text": "Rum."}, BEN)),
    )
    assert material_of(project, ["rag"]).tokens == {
        ("rag", str(index)): heuristic_tokens(plain_piece(str(index), text))
        for index, (_, text, _) in enumerate(CHUNKS)
    }
    assert set(material_of(project, ["memory", "transcript"]).tokens) == {
        ("memory", "m"),
        ("transcript", "then#1"),
    }


def test_evidence_is_a_set_of_records_for_each_thing_needed() -> None:
    project = project_of()
    assert evidence_of(project, DEPOT, material_of(project, ["rag"])) == (
        frozenset({("rag", "0"), ("rag", "5")}),
        frozenset({("rag", "2")}),
        frozenset({("rag", "4")}),
    )


def needing(source: str, record_id: str, **fields: Any) -> Scenario:
    return Scenario(id="q", question="May", gold=(GoldRecord(source=source, record_id=record_id),), **fields)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(id="q", question="depot", gold_documents=("a", "nowhere")),
        needing("rag", "6"),
        needing("transcript", "hi#0"),  # Ben's, asked as Ann
        needing("transcript", "now#0"),  # the current chat is never offered
        needing("transcript", "hi#7", scope=BEN),
        needing("memory", "gone"),
        needing("elsewhere", "0"),
    ],
)
def test_evidence_that_no_source_offers_is_an_error_and_not_a_miss(scenario: Scenario) -> None:
    now = ChatRecord("now", ANN, (Message("user", "May I?"),))
    with pytest.raises(ProjectError, match="no source offers") as caught:
        measure_recall([project_of(scenario, chats=(HELLO, now), chat_id="now")])
    assert caught.value.project == "tiny"


def test_a_source_that_fails_ends_the_measurement() -> None:
    project = project_of(MET, chats=(HELLO,))
    texts = [message.content for message in HELLO.messages]
    rows = np.full((3, 2), 7.0, dtype=np.float32)
    assert isinstance(texts[0], str)
    broken = VectorTable.of(["May", *map(str, texts)], rows, model_id="arc", weights_digest="sha256:0")
    with pytest.raises(SourceError, match="transcript"):
        measure_recall([replace(project, vectors=broken)], modes=["dense"], token_limits=(1,))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"token_limits": ()}, InvalidInputError),
        ({"token_limits": (0, 5)}, InvalidInputError),
        ({"token_limits": (5, 5)}, InvalidInputError),
        ({"token_limits": (1.5,)}, InvalidInputError),
        ({"modes": ()}, InvalidInputError),
        ({"modes": ("dense", "dense")}, InvalidInputError),
        ({"modes": ("sparse",)}, InvalidInputError),
        ({"fusion": "sum"}, InvalidInputError),
        ({"neighbour_weight": -1}, InvalidInputError),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], error: type[PlaygroundError]) -> None:
    with pytest.raises(error):
        measure_recall([project_of(MET, chats=(HELLO,))], **{"token_limits": (1,), **options})


@pytest.mark.parametrize(
    ("projects", "error"),
    [
        ([], InvalidInputError),
        ([project_of(UNLABELLED)], InvalidRequestError),
        ([project_of(DEPOT), project_of(FERRY)], InvalidInputError),
    ],
)
def test_projects_need_something_to_measure_and_a_name_of_their_own(
    projects: Sequence[Project], error: type[PlaygroundError]
) -> None:
    with pytest.raises(error):
        measure_recall(projects)


def test_the_report_survives_json_and_gives_a_frame() -> None:
    report = measure_recall([project_of(DEPOT, UNLABELLED)], token_limits=(6 * ONE, ONE))
    assert report.token_limits == (ONE, 6 * ONE)
    assert RecallReport.from_json(report.to_json()) == report
    assert report.notes[0] == report.caveat == CAVEAT
    frame = report.to_frame()
    assert list(frame["token_limit"]) == [ONE, 6 * ONE] * 3
    assert frame["recall"].isna().tolist() == [False, True] * 3
    assert report.heads() == ("project", "group", "questions", "search", f"{ONE}", f"{6 * ONE}")


def test_figures_do_not_depend_on_the_process() -> None:
    program = (
        "from playground.workspace import load_sample\n"
        "from playground.evaluation.recall import measure_recall\n"
        "bank = load_sample('bank-support')\n"
        "few = bank.with_parts(scenarios=bank.scenarios[:4])\n"
        "print(measure_recall([few], token_limits=(1000, 3000)).to_json())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1

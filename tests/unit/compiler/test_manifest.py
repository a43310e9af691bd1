from __future__ import annotations

import json
from typing import Any

import pytest

from playground import (
    ContextBudget,
    ContextCandidate,
    ContextManifest,
    ContextPackage,
    InvalidInputError,
    Provenance,
    SourceError,
    TokenEstimator,
    compile_context,
    context_warnings,
    create_working_memory,
)
from playground.compiler.manifest import EstimatorKind, ManifestEntries, ManifestEntry
from playground.compiler.values import KINDS
from tests.builders import ONLY_RAG, block_tokens, compiled, heuristic_tokens, offer, plain_piece

FAILED: dict[str, Any] = {"status": "failed", "error": RuntimeError("down")}


def mixed(**more: Any) -> ContextPackage:
    memory = create_working_memory(scope="s", goal="Goal.", constraints=["Rule."], now=0)
    many = [ContextCandidate(str(i), f"text {i} " * 30, i) for i in range(20)]
    return compiled(
        offer(*many, source_id="docs", query="how"),
        offer(source_id="empty", kind="skills", query="how"),
        offer(ContextCandidate("m", "short", 0.5, query="own"), source_id="mem", kind="memory", query="how"),
        **{"working_memory": memory, "context_tokens": 600, **more},
    )


def as_json(package: ContextPackage) -> dict[str, Any]:
    data = json.loads(package.manifest.to_json())
    assert isinstance(data, dict)
    return data


def test_r48_the_format_has_version_1() -> None:
    assert compiled().manifest.version == 1
    assert as_json(compiled())["version"] == 1


@pytest.mark.parametrize("context_tokens", [0, 200, 8192])
def test_r49_every_offered_candidate_is_listed_once(context_tokens: int) -> None:
    entries = mixed(context_tokens=context_tokens).manifest.entries
    listed = [(entry.source, entry.record_id) for entry in entries if entry.source != "working-memory"]
    offered = [("docs", str(i)) for i in range(20)] + [("mem", "m")]
    assert sorted(listed) == sorted(offered)


def test_r49_candidates_left_out_for_any_reason_are_listed_too() -> None:
    records = [ContextCandidate("a", "same", 0.9), ContextCandidate("b", "same", 0.8)]
    records += [ContextCandidate("c", "old", 0.7, revision=1), ContextCandidate("c", "new", 0.6, revision=2)]
    package = compiled(offer(*records, ContextCandidate("d", "late", 0.1), limit=4))
    assert len(package.manifest.entries) == 5


def test_the_selected_records_are_those_of_the_selected_entries() -> None:
    entries = mixed().manifest.entries
    selected = {(entry.source, entry.record_id) for entry in entries if entry.selected}
    assert entries.selected_records() == selected
    assert 0 < len(selected) < len(entries)
    assert ManifestEntries.of(()).selected_records() == frozenset()


def test_r50_an_entry_has_the_documented_fields() -> None:
    record = ContextCandidate("a", "text", 0.5, revision=2)
    (entry,) = as_json(compiled(offer(record, query="q")))["entries"]
    documented = {"source", "kind", "recordId", "revision", "digest", "query", "tokens", "selected", "reason"}
    assert set(entry) == documented | {"score"}
    assert entry["recordId"] == "a"
    assert entry["digest"] == record.digest
    assert entry["tokens"] == heuristic_tokens(
        plain_piece("a", "text").replace('id="a"', 'id="a" revision="2"')
    )


def test_r51_no_content_of_a_record_item_or_message_is_in_the_manifest() -> None:
    memory = create_working_memory(
        scope="s", goal="MARKER goal", constraints=["MARKER rule"], tasks={"list": ["MARKER task"]}, now=0
    )
    package = compiled(
        offer(ContextCandidate("a", "MARKER record", 0.5, match="MARKER match")),
        offer(ContextCandidate("b", "MARKER body", 0.5, mandatory=True), source_id="skills", kind="skills"),
        messages=[{"role": "user", "content": "MARKER message"}],
        working_memory=memory,
    )
    assert "MARKER" in package.xml
    assert "MARKER" not in package.manifest.to_json()


def test_r52_each_entry_carries_the_query_that_found_it() -> None:
    by_source = {entry.source: entry.query for entry in mixed().manifest.entries}
    assert by_source == {"working-memory": None, "docs": "how", "mem": "own"}


def test_r53_the_summary_of_a_source_adds_up_its_entries() -> None:
    manifest = mixed().manifest
    assert [summary.id for summary in manifest.sources] == ["docs", "empty", "mem"]
    for summary in manifest.sources:
        entries = [entry for entry in manifest.entries if entry.source == summary.id]
        assert summary.selected == sum(entry.selected for entry in entries)
        assert summary.excluded == sum(not entry.selected for entry in entries)
        assert summary.tokens == sum(entry.tokens for entry in entries if entry.selected)
        assert (summary.status, summary.error) == ("ok", None)
    assert manifest.sources[0].selected > 0
    assert manifest.sources[0].excluded > 0


def test_r53_the_summary_of_a_failed_source_says_why() -> None:
    (summary,) = compiled(offer(**FAILED)).manifest.sources
    assert summary.error is not None
    assert (summary.status, summary.error.name, summary.error.message) == ("failed", "RuntimeError", "down")
    assert summary.error.code is None


@pytest.mark.parametrize("status", ["ok", "skipped", "reused"])
def test_r53_the_status_of_a_source_is_recorded(status: Any) -> None:
    (summary,) = compiled(offer(status=status)).manifest.sources
    assert (summary.status, summary.selected, summary.excluded, summary.tokens) == (status, 0, 0, 0)


@pytest.mark.parametrize("context_tokens", [0, 100, 600, 8192])
def test_r54_selected_tokens_are_the_estimate_of_the_blocks(context_tokens: int) -> None:
    package = mixed(context_tokens=context_tokens)
    assert package.manifest.budget.selected_tokens == block_tokens(package)
    assert compiled().manifest.budget.selected_tokens == 0


def test_r55_counts_rest_on_the_uncalibrated_heuristic_unless_said_otherwise() -> None:
    assert as_json(compiled())["estimator"] == {"kind": "heuristic", "calibrated": False}
    tokenizer = TokenEstimator(lambda messages: 1.0)
    assert as_json(compiled(estimator=tokenizer))["estimator"]["kind"] == "tokenizer"
    stated = EstimatorKind(kind="provider", calibrated=True)
    assert as_json(compiled(estimator_kind=stated))["estimator"] == {"kind": "provider", "calibrated": True}
    assert as_json(compiled(estimator_kind="tokenizer"))["estimator"] == {
        "kind": "tokenizer",
        "calibrated": False,
    }


def test_r56_refresh_reason_and_pass_are_recorded() -> None:
    first = as_json(compiled())
    assert (first["refresh"], first["pass"], first["step"]) == ("initial", 1, 0)
    second = as_json(compiled(refresh="host-request", retrieval_pass=2, step=4, run_id="r"))
    assert (second["refresh"], second["pass"], second["step"], second["runId"]) == ("host-request", 2, 4, "r")


def test_r57_a_fallback_is_recorded_only_when_something_gave_way() -> None:
    assert "fallback" not in as_json(compiled(offer()))
    assert as_json(compiled(offer(), fallback="pass-limit"))["fallback"] == "pass-limit"
    assert as_json(compiled(offer(**FAILED)))["fallback"] == "source-failed"
    assert as_json(compiled(offer(**FAILED), fallback="pass-limit"))["fallback"] == "source-failed"


@pytest.mark.parametrize("with_record", [False, True])
@pytest.mark.parametrize("with_memory", [False, True])
def test_r58_the_placement_tells_which_blocks_there_are(with_record: bool, with_memory: bool) -> None:
    memory = create_working_memory(scope="s", goal="Goal.", now=0) if with_memory else None
    results = [offer(ContextCandidate("a", "b", 1.0))] if with_record else []
    package = compiled(*results, working_memory=memory)
    assert as_json(package)["placement"] == {"append": with_record, "ephemeralTail": with_memory}


def test_r93_r99_a_kept_tail_is_recorded_only_where_there_is_a_tail() -> None:
    memory = create_working_memory(scope="s", goal="Goal.", now=0)
    assert as_json(compiled(working_memory=memory, tail_kept=True))["placement"]["tailKept"] is True
    assert "tailKept" not in as_json(compiled(working_memory=memory))["placement"]
    assert "tailKept" not in as_json(compiled(tail_kept=True))["placement"]


def test_r59_redacted_is_recorded_only_when_the_step_asked() -> None:
    assert as_json(compiled(redacted=True, refresh="redacted"))["redacted"] is True
    assert "redacted" not in as_json(compiled())


def test_r60_a_plain_compile_refers_to_no_stored_package() -> None:
    assert "blob" not in as_json(compiled())
    assert compiled().manifest.blob is None


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_r61_r62_one_warning_per_failed_source_in_source_order(failures: int) -> None:
    results = [offer(source_id=f"s{i}", **(FAILED if i < failures else {})) for i in (2, 0, 1)]
    others = [offer(source_id="skipped", status="skipped"), offer(source_id="reused", status="reused")]
    manifest = compiled(*results, *others).manifest
    warnings = context_warnings(manifest)
    assert [warning["type"] for warning in warnings] == ["context-source-failed"] * failures
    assert [warning["setting"] for warning in warnings] == [f"s{i}" for i in (2, 0, 1) if i < failures]
    assert all("down" in warning["message"] for warning in warnings)
    assert context_warnings(manifest) == warnings


SECRETS = (
    "api_key=abcd1234efgh5678",
    "Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl",
    "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWX",
    "postgres://user:hunter2secret@db.example/x",
    'password: "hunter2secret"',
)


@pytest.mark.parametrize("secret", SECRETS)
def test_r63_an_error_text_is_redacted_and_short(secret: str) -> None:
    error = SourceError(f"refused with {secret} and then " + "x" * 10_000, source_id="rag")
    manifest = compiled(offer(status="failed", error=error)).manifest
    summary = manifest.sources[0].error
    assert summary is not None
    assert len(summary.message) <= 200
    assert summary.message.startswith("refused with ")
    assert summary.code == "source_failed"
    for part in ("abcd1234", "eyJhbGci", "ABCDEFGH", "hunter2secret"):
        assert part not in manifest.to_json()


def test_r63_a_secret_across_the_cut_is_gone_as_well() -> None:
    error = RuntimeError("y" * 190 + " token=supersecretvalue")
    assert "supersecret" not in compiled(offer(status="failed", error=error)).manifest.to_json()


@pytest.mark.parametrize("context_tokens", [0, 300, 8192])
def test_r64_a_manifest_round_trips_without_loss(context_tokens: int) -> None:
    manifest = mixed(context_tokens=context_tokens, refresh="overflow-retry", fallback="pass-limit").manifest
    read = ContextManifest.from_json(manifest.to_json())
    assert read == manifest
    assert read.to_json() == manifest.to_json()
    assert ContextManifest.from_json(manifest.to_json().encode()) == manifest


def test_r64_ids_with_any_character_round_trip() -> None:
    ids = ["\ud800", "\ud83d\ude00", "\x00", '"', "\U0001f600", "\u2028", "\\"]
    manifest = compiled(offer(*(ContextCandidate(i, i, 0.0) for i in ids), source_id="\udfff<")).manifest
    manifest.to_json().encode("utf-8")
    read = ContextManifest.from_json(manifest.to_json())
    assert [entry.record_id for entry in read.entries] == sorted(ids)
    assert read.sources[0].id == "\udfff<"


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5, True])
def test_r64_an_unknown_version_is_refused(version: object) -> None:
    data = json.loads(mixed().manifest.to_json())
    data["version"] = version
    with pytest.raises(InvalidInputError, match="version"):
        ContextManifest.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"version":1}', "\x00", "[" * 100_000])
def test_r64_text_that_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        ContextManifest.from_json(text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("entries", 0, "reason"), "because"),
        (("entries", 0, "kind"), "web"),
        (("entries", 0, "extra"), 1),
        (("entries", 0, "tokens"), "many"),
        (("entries",), {}),
        (("entries",), None),
        (("entries",), 5),
        (("sources", 0, "status"), "fine"),
        (("budget", "contextTokens"), None),
        (("refresh",), "sometime"),
        (("surprise",), 1),
    ],
)
def test_r64_a_malformed_field_is_refused(path: tuple[Any, ...], value: Any) -> None:
    data = json.loads(mixed().manifest.to_json())
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InvalidInputError):
        ContextManifest.from_json(json.dumps(data))


def test_r65_working_memory_comes_first_and_then_the_sources_in_their_order() -> None:
    memory = create_working_memory(scope="s", goal="Goal.", constraints=["Rule."], now=0)
    first = offer(ContextCandidate("a", "one", 0.1), source_id="one")
    second = offer(ContextCandidate("b", "two", 0.9), source_id="two", kind="memory")
    for results in ([first, second], [second, first]):
        entries = compiled(*results, working_memory=memory).manifest.entries
        ids = [result.source_id for result in results]
        assert [entry.source for entry in entries] == ["working-memory", "working-memory", *ids]
        assert [entry.record_id for entry in entries[:2]] == ["goal", "constraint/constraints-0-0"]
        assert entries[0].kind == "working-memory"


def test_r65_in_a_source_mandatory_records_come_first_then_the_higher_score_then_the_id() -> None:
    records = [
        ContextCandidate("d", "1", 0.1),
        ContextCandidate("c", "2", 0.9),
        ContextCandidate("b", "3", 0.9),
        ContextCandidate("a", "4", 0.0, mandatory=True),
    ]
    package = compiled(offer(*records))
    assert [entry.record_id for entry in package.manifest.entries] == ["a", "b", "c", "d"]
    ids = [part.split('"')[0] for part in package.xml.split(' id="')[1:]]
    assert ids == ["a", "b", "c", "d"]


def test_the_numbers_behind_the_selection_are_recorded() -> None:
    package = compiled(offer(ContextCandidate("a", "b", 1.0)), context_tokens=500, shares=ONLY_RAG)
    budget = package.manifest.budget
    assert (budget.ratio, budget.max_tokens, budget.working_memory_tokens) == (1.0, 500, 2048)
    assert budget.required_tokens == 0
    assert budget.rest_tokens == 500 - budget.frame_tokens
    assert dict(budget.shares) == {kind: budget.rest_tokens if kind == "rag" else 0 for kind in KINDS}


def test_the_budget_can_be_rebuilt_from_a_manifest_that_was_written_and_read() -> None:
    knobs = {
        "ratio": 0.04267,
        "max_tokens": 777,
        "working_memory_tokens": 55,
        "shares": {"memory": 0.1 / 3, "rag": 0.4, "transcript": 0.0, "skills": 0.5},
    }
    package = compile_context(results=[], messages=[], input_tokens=9_000, used_tokens=0, budget=knobs)
    recorded = ContextManifest.from_json(package.manifest.to_json())
    assert recorded.budget.knobs() == ContextBudget.parse(knobs)


def test_the_frame_has_a_row_an_entry_and_a_column_a_field() -> None:
    manifest = mixed().manifest
    frame = manifest.to_frame()
    assert list(frame.columns) == list(ManifestEntry._fields)
    assert len(frame) == len(manifest.entries)
    assert int(frame.tokens[frame.selected].sum()) == sum(e.tokens for e in manifest.entries if e.selected)


def test_entries_behave_as_a_sequence_of_rows() -> None:
    entries = mixed().manifest.entries
    rows = list(entries)
    assert entries == rows
    assert entries == ManifestEntries.of(rows)
    assert hash(entries) == hash(ManifestEntries.of(rows))
    assert entries[-1] == rows[-1]
    assert entries[2:5] == tuple(rows[2:5])
    assert entries.column("record_id")[0] == "goal"
    assert entries != rows[:-1]
    assert not ManifestEntries.of([])


def test_the_html_form_escapes_what_it_shows() -> None:
    package = compiled(offer(ContextCandidate("<script>alert(1)</script>", "b", 1.0), source_id="<b>"))
    assert "<script>" not in package._repr_html_()
    assert "&lt;script&gt;" in package._repr_html_()
    assert "&lt;b&gt;" in package._repr_html_()


def test_a_provenance_reaches_the_block_but_not_the_manifest() -> None:
    package = compiled(offer(ContextCandidate("a", "b", 1.0, provenance=Provenance("asserted", ("host",)))))
    assert "asserted" in package.xml
    assert "asserted" not in package.manifest.to_json()

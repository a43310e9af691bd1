"""A slow and obvious compile, written from the rules and not from the package.

It shares with the package only what the rules leave open: the wording of the two preambles and of a
working-memory line, the sections' order, and an estimator's base count of a message. Everything is done one
candidate at a time, on whole texts, with plain lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from playground import ContextBudget, ContextCandidate, Provenance, SourceResult, TokenEstimator
from playground.compiler import rendering
from playground.compiler.values import KINDS, PlacedEntry
from playground.digests import text_digest
from playground.messages import Message
from playground.working_memory import WorkingMemorySnapshot, memory_lines
from playground.working_memory import rendering as memory_rendering

SECTIONS = ["goal", "constraints", "tasks", "decisions", "questions", "attempts", "hypotheses", "observations"]


@dataclass(frozen=True)
class Case:
    """One input of a compile."""

    results: tuple[SourceResult, ...]
    messages: tuple[Message, ...]
    room: int
    budget: ContextBudget
    working_memory: WorkingMemorySnapshot | None
    estimator: TokenEstimator
    placed: tuple[PlacedEntry, ...] = ()
    step: int = 0
    retrieval_pass: int = 1


@dataclass(eq=False)
class Row:
    """One candidate and what became of it."""

    number: int
    source: SourceResult
    candidate: ContextCandidate
    tokens: int
    reason: str = ""


@dataclass(eq=False)
class Line:
    """One working-memory item and what became of it."""

    record_id: str
    section: str
    rendered: str
    mandatory: bool
    tokens: int = 0
    reason: str = ""


@dataclass(eq=False)
class Expected:
    """What the rules say must come out."""

    context_tokens: int
    required_tokens: int
    exceeded: bool = False
    lines: list[Line] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    shares: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    selected_tokens: int = 0


def compile_by_the_rules(case: Case) -> Expected:
    """Follow the documented steps one after the other."""
    context_tokens = max(0, math.floor(min(case.budget.ratio * case.room, case.budget.max_tokens)))
    rows = _listed(case)
    lines = _lines_in_fill_order(case.working_memory)
    mandatory = [row for row in rows if row.candidate.mandatory and not row.reason]
    for row in list(mandatory):
        earlier = mandatory[: mandatory.index(row)]
        if row.candidate.digest in {_standing.digest for _standing in _still_standing(case)} | {
            other.candidate.digest for other in earlier if not other.reason
        }:
            row.reason = "duplicate"
    mandatory = [row for row in mandatory if not row.reason]
    for row in mandatory:
        row.reason = "mandatory"
    critical = [line for line in lines if line.mandatory]
    for line in critical:
        line.reason = "mandatory"
    required = _estimate(case, _render(case, mandatory, critical))
    expected = Expected(context_tokens, required, lines=lines, rows=rows)
    if required > 0 and required > case.room:
        expected.exceeded = True
        return expected

    left = max(0, context_tokens - required)
    in_history = {entry.digest for entry in _still_standing(case)} | {row.candidate.digest for row in mandatory}
    for row in rows:
        if not row.reason and row.candidate.digest in in_history:
            row.reason = "duplicate"
    contenders = [row for row in rows if not row.reason]
    if contenders and not mandatory:
        left = max(0, left - _estimate(case, [_retrieval_block(case, [])]))
    left, chosen_lines = _fill_working_memory(case, lines, left, context_tokens)

    rest = left
    expected.shares = {kind: math.floor(case.budget.shares[kind] * rest) for kind in KINDS}
    ranking = sorted(contenders, key=lambda row: (-row.candidate.score, row.number, rows.index(row)))
    admitted: list[Row] = []
    for kind in dict.fromkeys(result.kind for result in case.results):
        share = expected.shares[kind]
        for row in ranking:
            if row.source.kind == kind and row.tokens <= share and not _has_twin(row, admitted):
                share -= row.tokens
                row.reason = "ranked"
                admitted.append(row)
    pool = rest - sum(row.tokens for row in admitted)
    for row in ranking:
        if not row.reason and row.tokens <= pool and not _has_twin(row, admitted):
            pool -= row.tokens
            row.reason = "reallocated"
            admitted.append(row)

    optional_lines = [line for line in chosen_lines if not line.mandatory]
    while True:
        texts = _render(case, [*mandatory, *admitted], [*critical, *optional_lines])
        expected.texts, expected.selected_tokens = texts, _estimate(case, texts)
        if expected.selected_tokens <= max(context_tokens, required) or not (admitted or optional_lines):
            break
        (admitted or optional_lines).pop().reason = ""
    for row in rows:
        if not row.reason:
            row.reason = "duplicate" if _has_twin(row, admitted) else "budget"
    for line in lines:
        line.reason = line.reason or "budget"
    return expected


def _listed(case: Case) -> list[Row]:
    """Step 4 and 5: candidates in manifest order, with the reasons that their identity alone settles."""
    rows = []
    for number, source in enumerate(case.results):
        ordered = sorted(source.candidates, key=_place_in_source)
        optional = 0
        own: list[Row] = []
        for candidate in ordered:
            row = Row(number, source, candidate, _piece_tokens(case, source, candidate))
            own.append(row)
            if not candidate.mandatory:
                optional += 1
                if source.limit is not None and optional > source.limit:
                    row.reason = "limit"
        for row in own:
            if not row.reason:
                row.reason = _identity_reason(case, row, own)
                if not row.reason:
                    for other in own[: own.index(row)]:
                        if other.candidate.record_id == row.candidate.record_id and other.reason in {
                            "",
                            "duplicate",
                        }:
                            row.reason = "duplicate"
        rows += own
    return rows


def _identity_reason(case: Case, row: Row, own: Sequence[Row]) -> str:
    candidate = row.candidate
    for entry in _still_standing(case):
        if (entry.source, entry.record_id, entry.digest) == (
            row.source.source_id, candidate.record_id, candidate.digest,
        ):  # fmt: skip
            return "already-placed"
    known = [other.candidate.revision for other in own if other.candidate.record_id == candidate.record_id]
    for entry in case.placed:
        if (entry.source, entry.record_id) == (row.source.source_id, candidate.record_id):
            known.append(entry.revision)
    if _age(candidate.revision) < max(_age(revision) for revision in known):
        return "superseded"
    return ""


def _place_in_source(candidate: ContextCandidate) -> tuple[object, ...]:
    provenance = candidate.provenance or Provenance()
    canonical = json.dumps(
        [provenance.origin, list(provenance.source_kinds), candidate.tokens, candidate.query, candidate.match]
    )
    points = [ord(character) for character in candidate.record_id]
    return (
        not candidate.mandatory, -candidate.score, points,
        -_age(candidate.revision), candidate.digest, canonical,
    )  # fmt: skip


def _age(revision: int | None) -> int:
    return -1 if revision is None else revision


def _still_standing(case: Case) -> list[PlacedEntry]:
    here = {text_digest(str(message.content)) for message in case.messages if message.role == "user"}
    return [entry for entry in case.placed if entry.block_digest in here]


def _has_twin(row: Row, admitted: Sequence[Row]) -> bool:
    return any(other.candidate.digest == row.candidate.digest for other in admitted)


def _lines_in_fill_order(snapshot: WorkingMemorySnapshot | None) -> list[Line]:
    if snapshot is None:
        return []
    rendered = {line.record_id: line.rendered for line in memory_lines(snapshot)}
    active = snapshot.tasks.active_task_id if snapshot.tasks else None
    tasks = list(snapshot.tasks.list) if snapshot.tasks else []
    order: list[tuple[str, str, bool]] = []
    if snapshot.goal:
        order.append(("goal", "goal", True))
    order += [(f"constraint/{item.id}", "constraints", True) for item in snapshot.constraints]
    order += [(f"task/{task.id}", "tasks", True) for task in tasks if task.id == active]
    order += [(f"task/{task.id}", "tasks", False) for task in tasks if task.id != active]

    def add(prefix: str, section: str, items: Sequence[tuple[int, str]]) -> None:
        newest_first = sorted(items, key=lambda item: (-item[0], item[1]))
        order.extend((f"{prefix}/{item_id}", section, False) for _, item_id in newest_first)

    for status in ("accepted", "proposed", "reverted"):
        add("decision", "decisions", [(d.revision, d.id) for d in snapshot.decisions if d.status == status])
    for status in ("open", "answered"):
        add("question", "questions", [(q.revision, q.id) for q in snapshot.questions if q.status == status])
    for outcome in ("in_progress", "failed", "abandoned", "succeeded"):
        add("attempt", "attempts", [(a.revision, a.id) for a in snapshot.attempts if a.outcome == outcome])
    for status in ("confirmed", "proposed", "rejected"):
        add("hypothesis", "hypotheses", [(h.revision, h.id) for h in snapshot.hypotheses if h.status == status])
    add("observation", "observations", [(o.revision, o.id) for o in snapshot.observations])
    return [Line(record_id, section, rendered[record_id], mandatory) for record_id, section, mandatory in order]


def _fill_working_memory(
    case: Case, lines: list[Line], left: int, context_tokens: int
) -> tuple[int, list[Line]]:
    """Step 8; a section's tags are charged with its first item, the frame with the first line of all."""
    snapshot = case.working_memory
    chosen: list[Line] = []
    if snapshot is None:
        return left, chosen
    frame_is_paid = snapshot.revision > 0 or any(line.mandatory for line in lines)
    mandatory_tokens = optional_tokens = 0
    for line in lines:
        tags = "" if any(other.section == line.section for other in chosen) else _tags(line.section)
        line.tokens = _count_piece(case, tags.replace("|", line.rendered) if tags else line.rendered)
        if line.mandatory:
            mandatory_tokens += line.tokens
            chosen.append(line)
            continue
        allowance = max(0, min(case.budget.working_memory_tokens, context_tokens) - mandatory_tokens)
        frame = 0 if frame_is_paid else _estimate(case, [_tail_block(snapshot, [])])
        if optional_tokens + line.tokens <= allowance and line.tokens + frame <= left:
            optional_tokens += line.tokens
            left -= line.tokens + frame
            frame_is_paid = True
            line.reason = "ranked"
            chosen.append(line)
    return left, chosen


def _tags(section: str) -> str:
    return "" if section == "goal" else f"<{section}>\n|</{section}>\n"


def _render(case: Case, rows: Sequence[Row], lines: Sequence[Line]) -> list[str]:
    texts = []
    if rows:
        in_order = sorted(rows, key=lambda row: (row.number, _place_in_source(row.candidate)))
        texts.append(_retrieval_block(case, in_order))
    if case.working_memory is not None and (lines or case.working_memory.revision > 0):
        texts.append(_tail_block(case.working_memory, lines))
    return texts


def _retrieval_block(case: Case, rows: Sequence[Row]) -> str:
    opening = f'<deuz_context pass="{case.retrieval_pass}" step="{case.step}">\n{rendering.PREAMBLE}\n'
    return opening + "".join(_piece(row.source, row.candidate) for row in rows) + "</deuz_context>"


def _tail_block(snapshot: WorkingMemorySnapshot, lines: Sequence[Line]) -> str:
    text = f'<deuz_working_memory revision="{snapshot.revision}">\n{memory_rendering.PREAMBLE}\n'
    for section in SECTIONS:
        inside = "".join(line.rendered for line in lines if line.section == section)
        if inside:
            text += _tags(section).replace("|", inside) if section != "goal" else inside
    return text + "</deuz_working_memory>"


def _piece(source: SourceResult, candidate: ContextCandidate) -> str:
    attributes: list[tuple[str, str]] = [
        ("source", source.source_id), ("kind", source.kind), ("id", candidate.record_id),
    ]  # fmt: skip
    if candidate.revision is not None:
        attributes.append(("revision", str(candidate.revision)))
    if candidate.provenance is not None and candidate.provenance.origin is not None:
        attributes.append(("origin", candidate.provenance.origin))
    if candidate.provenance is not None and candidate.provenance.source_kinds:
        attributes.append(("source_kinds", ",".join(candidate.provenance.source_kinds)))
    tag = "<record" + "".join(f' {name}="{escape(value, attribute=True)}"' for name, value in attributes) + ">"
    return f"{tag}\n{escape(candidate.text, attribute=False)}\n</record>\n"


def escape(text: str, *, attribute: bool) -> str:
    """Escape one character after the other."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
    if attribute:
        entities.update({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})
    return "".join(entities.get(c, c if allowed_in_xml(c) else "\ufffd") for c in text)


def allowed_in_xml(character: str) -> bool:
    """Production [2] of XML 1.0."""
    point = ord(character)
    return (
        point in {0x9, 0xA, 0xD}
        or 0x20 <= point <= 0xD7FF
        or 0xE000 <= point <= 0xFFFD
        or 0x10000 <= point <= 0x10FFFF
    )


def _piece_tokens(case: Case, source: SourceResult, candidate: ContextCandidate) -> int:
    counted = _count_piece(case, _piece(source, candidate))
    if candidate.tokens is None:
        return counted
    bare = ContextCandidate(
        candidate.record_id, "", 0, revision=candidate.revision, provenance=candidate.provenance
    )
    return max(counted, candidate.tokens + _count_piece(case, _piece(source, bare)))


def _count_piece(case: Case, piece: str) -> int:
    base = case.estimator.base
    added = base([Message("user", piece)]) - base([Message("user", "")])
    return max(0, math.ceil(added * case.estimator.factor))


def _estimate(case: Case, texts: Sequence[str]) -> int:
    return math.ceil(case.estimator.base([Message("user", text) for text in texts]) * case.estimator.factor)

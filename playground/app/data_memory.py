"""One memory on the Data page: its fields and history, a form to revise it, and a button to forget it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import streamlit as st

from playground.app import data_markup, data_memory_markup, markup
from playground.app.data_reports import record_report, report_record
from playground.app.data_views import text_tokens
from playground.app.forgetting import forget
from playground.app.material import change_project
from playground.app.projects import load_project
from playground.digests import text_digest
from playground.errors import PlaygroundError, StaleRevisionError
from playground.memory import MemoryKind, MemoryRecord, MemoryRevision
from playground.views.memory_notices import (
    forget_question,
    forgotten_notice,
    revised_notice,
    stale_notice,
    unchanged_notice,
)
from playground.views.memory_record import memory_view
from playground.views.notices import error_notice
from playground.views.words import plural
from playground.workspace import Project
from playground.workspace.memories import revise_memory
from playground.workspace.samples import is_sample

__all__ = ["MEMORIES", "memory_panel"]

MEMORIES = "Memories"
"""The name of their table."""
TEXT_LIMIT = 100_000  # characters that the box takes
KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
FIRST, LAST = datetime(1970, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001  # the control knows no zones; UTC is meant


def memory_panel(project: Project, record: MemoryRecord) -> None:
    """Show a memory's text and fields, what can be done to it, what came of that, and its history."""
    view = memory_view(record, now=_now())
    markup.head(view.id, f"{view.total} · {plural(text_tokens(record.latest.text), 'token')}")
    data_memory_markup.facts(view)
    with st.container():  # above the buttons: the form that opens below them would cover it
        record_report(project.name, MEMORIES)
    with st.container(key="record_actions", horizontal=True, gap="small"):
        _revise(project, record)
        _forget(project, record)
    data_memory_markup.history(view)


def _revise(project: Project, record: MemoryRecord) -> None:
    latest = record.latest
    name = _form_name(project.name, record.id, latest.revision)
    times = _times(latest)
    shown = {"kind": latest.kind, "importance": latest.importance, **times}
    # What is forgotten must not stay in a form that nobody sees. So the text is in the page only while the form
    # is open; it is assigned, because a default is kept beside the field; and the callback refers to no record.
    popover = st.popover("Revise", key=f"{name}_open", on_change="rerun")
    if not popover.open:
        return
    st.session_state.setdefault(f"{name}_text", latest.text)
    with popover, st.form(f"{name}_form", border=False):
        st.text_area("Text", key=f"{name}_text", height=120, max_chars=TEXT_LIMIT)
        left, right = st.columns(2, gap="small")
        left.selectbox("Kind", KINDS, index=KINDS.index(latest.kind), key=f"{name}_kind")
        right.number_input(
            "Importance",
            0.0,
            1.0,
            latest.importance,
            step=0.05,
            key=f"{name}_importance",
            placeholder="not said",
        )
        for column, (field, label) in zip((left, right, left), _TIMES.items(), strict=True):
            column.datetime_input(
                label, times[field], FIRST, LAST, key=f"{name}_{field}", step=60, format="YYYY-MM-DD"
            )
        st.form_submit_button(
            f"Save as revision {latest.revision + 1:,}",
            type="primary",
            on_click=_save,
            args=(project.name, record.id, latest.revision, shown),
        )


_TIMES = {"valid_from": "Valid from, UTC", "valid_to": "Valid until, UTC", "expires_at": "Expires, UTC"}


def _save(project: str, record_id: str, seen: int, shown: Mapping[str, Any]) -> None:
    """Make what the form says the next revision; a callback.

    Args:
        project: Name of the project.
        record_id: Which memory.
        seen: The revision that the form was drawn from.
        shown: What the form showed at first. A field that still says so stays as it is, and with it the
            seconds of a time, which the form does not show.
    """
    name = _form_name(project, record_id, seen)
    text = str(st.session_state[f"{name}_text"])
    entered = {field: st.session_state[f"{name}_{field}"] for field in shown}
    fields = {field: _stored(value) for field, value in entered.items() if value != shown[field]}

    def revised(now: Project) -> Project:
        return revise_memory(now, record_id, text, expected_revision=seen, now=_now(), **fields)

    try:
        before = _newest_text(project, record_id)
        if text == before and not fields:
            report_record(project, MEMORIES, unchanged_notice())
            return
        change_project(project, revised)
    except StaleRevisionError as error:
        newest = _form_name(project, record_id, error.actual_revision)
        st.session_state[f"{newest}_text"], st.session_state[f"{newest}_open"] = text, True
        report_record(project, MEMORIES, stale_notice(error))
    except PlaygroundError as error:
        report_record(project, MEMORIES, error_notice(error))
    else:
        report_record(project, MEMORIES, revised_notice(seen + 1))


def _newest_text(project: str, record_id: str) -> str:
    found = {record.id: record for record in load_project(project).memories}.get(record_id)
    return "" if found is None else found.latest.text


def _forget(project: Project, record: MemoryRecord) -> None:
    with st.popover("Forget", key=f"{_form_name(project.name, record.id, record.latest.revision)}_forget"):
        data_markup.question(forget_question(record, sample=is_sample(project.name)))
        st.button(
            "Forget it for good",
            key="forget_memory",
            type="primary",
            on_click=_forgotten,
            args=(project.name, record.id),
        )


def _forgotten(project: str, record_id: str) -> None:
    state, forms = st.session_state, _form_name(project, record_id, "")
    try:
        outcome = forget(project, [record_id])
    except PlaygroundError as error:
        report_record(project, MEMORIES, error_notice(error))
    else:
        for name in [str(name) for name in state if str(name).startswith(forms)]:
            del state[name]  # what was written into its forms
        report_record(project, MEMORIES, forgotten_notice(outcome, sample=is_sample(project)))


def _times(latest: MemoryRevision) -> dict[str, datetime | None]:
    """Return the times as the form shows them; one that no calendar holds is left out, and stays as it is."""
    return {field: _shown(getattr(latest, field)) for field in _TIMES}


def _shown(time_ms: int | None) -> datetime | None:
    if time_ms is None:
        return None
    try:
        shown = datetime.fromtimestamp(time_ms / 1000, UTC).replace(tzinfo=None)
    except (OverflowError, OSError, ValueError):
        return None
    return shown if FIRST <= shown <= LAST else None


def _stored(entered: Any) -> Any:
    """Return what a field of the form says as a revision records it: times in ms."""
    return round(entered.replace(tzinfo=UTC).timestamp() * 1000) if isinstance(entered, datetime) else entered


def _form_name(project: str, record_id: str, revision: int | str) -> str:
    return f"memory_{project}_{text_digest(record_id)[-12:]}_{revision}"


def _now() -> int:
    return time.time_ns() // 1_000_000

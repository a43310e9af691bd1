"""Changing a project's working memory: one patch a click, and what came of it.

Session state holds the notice of the last patch and, for who wants to send it again, the patch itself.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import streamlit as st

from playground.app.material import change_project
from playground.app.notices import show_notice
from playground.app.roles import role
from playground.app.state import pick
from playground.compiler.values import WORKING_MEMORY_SOURCE
from playground.errors import PlaygroundError
from playground.views.notices import Notice
from playground.views.record_key import record_key
from playground.views.working_memory_forms import ADDING
from playground.views.working_memory_outcome import OUTCOME, outcome_notice, refusal
from playground.working_memory import AppliedPatch, PatchOutcome, WorkingMemoryPatch
from playground.working_memory.rendering import record_id
from playground.workspace import Project
from playground.workspace.working_memory import patch_project, start_working_memory

__all__ = [
    "change",
    "changed",
    "last_patch",
    "now",
    "outcome",
    "said",
    "say",
    "send",
    "start",
]

OUTCOME_OF = "working_memory_outcome_of"
"""Session state: the project that the notice is about; another one's page does not show it."""
LAST_PATCH = "last_patch"
"""Session state: the JSON of the last patch that was well-formed."""
LAST_PATCH_OF = "last_patch_of"
"""Session state: the project that it was for; another one's page does not offer it."""


def change(name: str, revision: int, operation: Mapping[str, Any]) -> None:
    """Apply one operation as a patch of its own; a callback. Arguments as in ``changed``."""
    changed(name, revision, operation)


def changed(name: str, revision: int, operation: Mapping[str, Any]) -> bool:
    """Apply one operation as a patch of its own, and return whether it was done.

    Args:
        name: The project.
        revision: The one that the page was drawn from.
        operation: What to do.
    """
    return send(
        name,
        {
            "operationId": f"page-{uuid.uuid4().hex}",
            "expectedRevision": revision,
            "writer": role(),
            "operations": [operation],
        },
    )


def send(name: str, patch: Mapping[str, Any] | WorkingMemoryPatch) -> bool:
    """Apply a patch, remember what came of it, and return whether it was applied.

    A new item is marked everywhere.
    """
    outcomes: list[PatchOutcome] = []

    def applied(project: Project) -> Project:
        patched, found = patch_project(project, wanted, now=now())
        outcomes.append(found)
        return patched

    try:
        wanted = WorkingMemoryPatch.parse(patch)
        change_project(name, applied)
    except PlaygroundError as error:
        say(refusal(error))
        return False
    (found,) = outcomes
    st.session_state[LAST_PATCH], st.session_state[LAST_PATCH_OF] = wanted.to_json(), name
    say(outcome_notice(found, wanted))
    if isinstance(found, AppliedPatch) and found.ids:
        _mark(found.ids[-1], wanted)
    return isinstance(found, AppliedPatch)


def last_patch(name: str) -> str | None:
    """Return the JSON of the last well-formed patch if it was for this project."""
    patch: str | None = st.session_state.get(LAST_PATCH)
    return patch if st.session_state.get(LAST_PATCH_OF) == name else None


def start(name: str, goal: str) -> None:
    """Give a project a working memory; a callback."""
    try:
        change_project(
            name, lambda project: start_working_memory(project, goal=goal.strip() or None, now=now())
        )
    except PlaygroundError as error:
        say(refusal(error))
    else:
        say(None)


def say(notice: Notice | None) -> None:
    """Put a notice about the open project in the place of the last one."""
    st.session_state[OUTCOME] = notice
    st.session_state[OUTCOME_OF] = st.session_state["project"]


def said() -> Notice | None:
    """Return what came of the last patch, until somebody dismisses it."""
    notice: Notice | None = st.session_state.get(OUTCOME)
    return notice if st.session_state.get(OUTCOME_OF) == st.session_state["project"] else None


def outcome() -> None:
    """Show what came of the last patch."""
    notice = said()
    if notice is not None:
        show_notice(notice, key="memory")


def now() -> int:
    """Return the time, in ms."""
    return time.time_ns() // 1_000_000


def _mark(item_id: str, patch: WorkingMemoryPatch) -> None:
    lists = {operation: name for name, operation in ADDING.items()}
    made = [lists[operation.op] for operation in patch.operations if operation.op in lists]
    pick(record_key(WORKING_MEMORY_SOURCE, record_id(made[-1], item_id)))

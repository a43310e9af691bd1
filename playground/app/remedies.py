"""Which buttons of a notice lead to a page that compiles: each is tried before it is offered."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from playground.app.controls import settings
from playground.app.projects import load_project
from playground.app.services import compiled
from playground.errors import PlaygroundError
from playground.views.notices import Notice, NoticeAction

__all__ = ["with_working_actions"]

TRIED: Final = frozenset({"model", "window", "output"})
"""Controls whose buttons may lead from one error to the next."""


def with_working_actions(notice: Notice) -> Notice:
    """Return the notice without the buttons after which the present question would not compile either."""
    return replace(notice, actions=tuple(action for action in notice.actions if _compiles(action)))


def _compiles(action: NoticeAction) -> bool:
    if action.control not in TRIED:
        return True
    try:
        compiled(settings(load_project(st.session_state["project"]), **{action.control: action.value}))
    except PlaygroundError:
        return False
    return True

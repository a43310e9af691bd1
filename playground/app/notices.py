"""Showing notices: a box, a sentence, and buttons that mend it."""

from __future__ import annotations

import streamlit as st

from playground.app import markup
from playground.app.controls import apply_control
from playground.app.navigation import page_named
from playground.app.sidebar import open_project
from playground.views.notices import GO_TO, Notice, NoticeAction

__all__ = ["show_notice"]


def show_notice(notice: Notice, *, key: str) -> None:
    """Show one notice; its buttons set the control they name before the page runs again."""
    with st.container(key=f"notice_{notice.level}_{key}", gap="small"):
        markup.notice_text(notice)
        if notice.actions:
            with st.container(horizontal=True, gap="small"):
                for number, action in enumerate(notice.actions):
                    if action.control == GO_TO:
                        st.page_link(page_named(str(action.value)), label=action.label)
                        continue
                    st.button(
                        action.label,
                        key=f"act_{key}_{number}",
                        type="primary" if number == 0 and action.mends else "secondary",
                        on_click=_act,
                        args=(action, notice.clears),
                    )


def _act(action: NoticeAction, clears: str) -> None:
    if action.control == "project":
        open_project(str(action.value))  # its model and budget are its own
    else:
        apply_control(action.control, action.value)
    if clears:
        apply_control(clears, None)

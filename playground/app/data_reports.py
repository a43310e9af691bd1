"""What came of a change of one record on the Data page: shown where it was made, until it is dismissed."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from playground.app.notices import show_notice
from playground.views.notices import Notice, NoticeAction

__all__ = ["RECORD_REPORT", "record_report", "report_record"]

RECORD_REPORT = "record_report"
"""Session state: the notice; dismissing it empties it."""
REPORT_OF = "record_report_of"
"""Session state: the project and the kind of record that it is about; others do not show it."""


def report_record(project: str, kind: str, notice: Notice | None) -> None:
    """Put a notice in the place of the last one; a callback may do it."""
    if notice is not None:
        notice = replace(
            notice, actions=(*notice.actions, NoticeAction("Dismiss", RECORD_REPORT, None, mends=False))
        )
    st.session_state[RECORD_REPORT], st.session_state[REPORT_OF] = notice, (project, kind)


def record_report(project: str, kind: str) -> None:
    """Show what came of the last change of a record of this kind."""
    notice: Notice | None = st.session_state.get(RECORD_REPORT)
    if notice is not None and st.session_state.get(REPORT_OF) == (project, kind):
        show_notice(notice, key="record")

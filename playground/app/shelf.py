"""What a session changed in sample projects, which are never written to.

Session state says only whose projects are the session's. They lie on a shelf of the process, one for each
project a session changed, however often it does; the shelf is bounded, the least recently used first to go, and
a session whose project went sees the sample again.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict

import streamlit as st

from playground.workspace import Project

__all__ = ["changed_sample", "discard", "keep"]

OWNER = "material_owner"  # session state: whose projects on the shelf are this session's
SHELF_SIZE = 32  # projects; parts that were not changed are shared with the sample


class _Shelf:
    def __init__(self) -> None:
        self._projects: OrderedDict[tuple[str, str], Project] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, owner: str, project: Project) -> None:
        place = (owner, project.name)
        with self._lock:
            self._projects[place] = project
            self._projects.move_to_end(place)
            while len(self._projects) > SHELF_SIZE:
                self._projects.popitem(last=False)

    def get(self, owner: str, name: str) -> Project | None:
        with self._lock:
            if (owner, name) in self._projects:
                self._projects.move_to_end((owner, name))
            return self._projects.get((owner, name))

    def drop(self, owner: str, name: str) -> None:
        with self._lock:
            self._projects.pop((owner, name), None)


def changed_sample(name: str) -> Project | None:
    """Return what this session made of a sample; ``None`` when it changed nothing, or its version went."""
    return _shelf().get(_owner(), name)


def keep(project: Project) -> None:
    """Make this the session's version of the sample of that name."""
    _shelf().put(_owner(), project)


def discard(name: str) -> None:
    """Go back to the sample as it came."""
    _shelf().drop(_owner(), name)


def _owner() -> str:
    owner: str = st.session_state.setdefault(OWNER, uuid.uuid4().hex)
    return owner


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    return _Shelf()

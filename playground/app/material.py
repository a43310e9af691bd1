"""Projects as one session sees them: a sample, and what the session added to it.

Session state holds digests only. The projects lie on a shelf of the process, one for each project a session
changed, however often it does; the shelf is bounded, the least recently used first to go, and a session whose
project went sees the sample again.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict

import streamlit as st

from playground.workspace import Project

__all__ = ["discard", "keep", "own_project"]

MATERIAL = "material"  # session state: project name -> digest of what the session made of it
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


def own_project(name: str) -> Project | None:
    """Return what this session made of a project; ``None`` when it added nothing."""
    digest = st.session_state.get(MATERIAL, {}).get(name)
    project = _shelf().get(_owner(), name) if digest else None
    return project if project is not None and project.digest == digest else None


def keep(project: Project) -> None:
    """Make this the session's version of the project of that name."""
    _shelf().put(_owner(), project)
    st.session_state[MATERIAL] = {**st.session_state.get(MATERIAL, {}), project.name: project.digest}


def discard(name: str) -> None:
    """Go back to the project as it came."""
    st.session_state[MATERIAL] = {
        other: digest for other, digest in st.session_state.get(MATERIAL, {}).items() if other != name
    }


def _owner() -> str:
    owner: str = st.session_state.setdefault(OWNER, uuid.uuid4().hex)
    return owner


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    return _Shelf()

"""Projects as one session sees them: a sample, and what the session added to it.

Session state holds digests only. The projects lie on a shelf of the process, bounded, the least recently used
first to go; a session whose project went sees the sample again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import streamlit as st

from playground.workspace import Project

__all__ = ["discard", "keep", "own_project"]

MATERIAL = "material"  # session state: project name -> digest of what the session made of it
SHELF_SIZE = 32  # projects; parts that were not changed are shared with the sample


class _Shelf:
    def __init__(self) -> None:
        self._projects: OrderedDict[str, Project] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, project: Project) -> None:
        with self._lock:
            self._projects[project.digest] = project
            self._projects.move_to_end(project.digest)
            while len(self._projects) > SHELF_SIZE:
                self._projects.popitem(last=False)

    def get(self, digest: str) -> Project | None:
        with self._lock:
            if digest in self._projects:
                self._projects.move_to_end(digest)
            return self._projects.get(digest)


def own_project(name: str) -> Project | None:
    """Return what this session made of a project; ``None`` when it added nothing."""
    digest = st.session_state.get(MATERIAL, {}).get(name)
    return _shelf().get(digest) if digest else None


def keep(project: Project) -> None:
    """Make this the session's version of the project of that name."""
    _shelf().put(project)
    st.session_state[MATERIAL] = {**st.session_state.get(MATERIAL, {}), project.name: project.digest}


def discard(name: str) -> None:
    """Go back to the project as it came."""
    st.session_state[MATERIAL] = {
        other: digest for other, digest in st.session_state.get(MATERIAL, {}).items() if other != name
    }


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    return _Shelf()

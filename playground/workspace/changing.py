"""Changing parts of a project so that caches notice: the changed project has a digest of its own. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playground.digests import text_digest
from playground.workspace.project import Project

__all__ = ["changed"]


def changed(project: Project, **parts: Any) -> Project:
    """Return a project with other parts, under a digest made of the old one and of what these parts hold.

    The same change of the same project gives the same digest. O(bytes of the parts).

    Args:
        project: What is changed; it stays as it is.
        **parts: New values of ``corpus``, ``memories``, ``forgotten``, ``chats``, ``chat_titles``, ``skills``
            and ``vectors``, as many as are to change.
    """
    fresh = project.with_parts(**parts)
    state = hashlib.sha256(project.digest.encode())
    for name in sorted(parts):
        # Each piece is led by its length, so that no two contents run into the same bytes.
        for piece in (name, *_PIECES[name](fresh)):
            data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
            state.update(len(data).to_bytes(8) + data)
    return fresh.with_parts(digest=f"sha256:{state.hexdigest()}")


def _documents(project: Project) -> Iterator[str]:
    for document in project.documents:
        names = (document.id, document.title, document.source_name, document.media_type)
        yield repr((*names, text_digest(document.text), sorted(document.meta.items(), key=repr)))


def _vectors(project: Project) -> Iterator[str | bytes]:
    yield repr((project.vectors.model_id, project.vectors.weights_digest))
    yield from project.vectors.digests


_PIECES: Mapping[str, Callable[[Project], Iterator[str | bytes]]] = {
    "corpus": _documents,
    "memories": lambda project: (record.to_json() for record in project.memories),
    "forgotten": lambda project: (stone.to_json() for stone in project.forgotten),
    "chats": lambda project: (repr(chat.to_json()) for chat in project.chats),
    "chat_titles": lambda project: (repr(title) for title in sorted(project.chat_titles.items())),
    "skills": lambda project: (
        piece
        for skill in project.skills
        for piece in (
            repr((skill.id, skill.name, skill.description, skill.license, skill.allowed_tools, skill.body)),
            *(part for resource in skill.resources for part in resource),
        )
    ),
    "vectors": _vectors,
}

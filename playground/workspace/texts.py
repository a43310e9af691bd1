"""Which texts of a project are searched by meaning, chunks aside."""

from __future__ import annotations

from collections.abc import Iterator

from playground.retrieval.corpus import search_text
from playground.sources import Skill
from playground.sources.chats import positions_of
from playground.workspace.project import Project

__all__ = ["all_texts", "skill_text", "texts_searched_at_once"]


def skill_text(skill: Skill) -> str:
    """Return what is embedded of a skill: its name in words, and its description."""
    return f"{skill.name.replace('-', ' ')}: {skill.description}"


def texts_searched_at_once(project: Project) -> tuple[str, ...]:
    """Return what a search by meaning compares its query with at once; nothing blank, repeats as they come.

    These are memories as they stand now, past chats and skills. Chunks may be left to words until they have
    their vectors.
    """
    texts = [
        *(record.latest.text for record in project.memories),
        *(place.text for chat in project.chats for place in positions_of(chat.messages)),
        *(skill_text(skill) for skill in project.skills),
    ]
    return tuple(text for text in texts if text.strip())


def all_texts(project: Project) -> Iterator[str]:
    """Yield every text that a vector of the project may stand for, repeats as they come.

    These are chunks, memories in all their revisions, past chats, skills, and the project's questions: as they
    are, and as the query that a compile makes of them, which is another one for a labelled question that says
    whom it is about.
    """
    yield from (search_text(chunk) for chunk in project.chunks)
    yield from (revision.text for record in project.memories for revision in record.revisions)
    yield from (place.text for chat in project.chats for place in positions_of(chat.messages))
    yield from (skill_text(skill) for skill in project.skills)
    for question in (project.question, *(scenario.question for scenario in project.scenarios)):
        yield from (question, project.query(question))
    yield from (project.for_scenario(scenario).query() for scenario in project.scenarios)

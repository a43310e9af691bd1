"""Skill catalogue lines, and the bodies that the model itself has loaded, as candidates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from playground.compiler.values import ContextCandidate, ContextSourceRequest, Kind
from playground.concurrency import in_thread
from playground.errors import InvalidInputError
from playground.escaping import one_line
from playground.memory.arguments import checked_flag, checked_id
from playground.messages import Message, ToolResultPart, ToolUsePart
from playground.retrieval.hits import SCORE_DIGITS
from playground.retrieval.words import words
from playground.sources.skill_files import SkillRegistry
from playground.sources.skill_text import Skill

__all__ = ["Matcher", "Receipts", "SkillsSource", "catalogue_line", "lexical_overlap", "loaded_skills"]

Matcher = Callable[[str, Skill], float]
"""``matcher(query, skill)`` gives a score from 0 to 1; it ranks, it never loads."""

Receipts = Callable[[str], Iterable[str]]
"""``receipts(run_id)`` gives the ids of the skills that the run has loaded, in the order of loading."""


class SkillsSource:
    """Offers catalogue lines by score, and as mandatory the bodies loaded through the tool.

    A body is offered only when the request holds a call of the tool with the skill's id and a result of that
    call that is no error, or the host has a receipt of it; a match never loads a skill. A line's score is the
    matcher's, lines with 0 are left out; a body's is 1. Record ids are ``catalog/<id>`` and ``body/<id>``.

    Args:
        registry: The skills.
        tool_name: The tool by which the model loads a skill; its input is ``{"id": …}``.
        matcher: Scores a skill for a query; ``lexical_overlap`` by default. Runs in a thread.
        id: The source's id.
        required: Whether a failure must stop the call.
        skip_standing_bodies: Leave a body out while its whole text still stands in a tool result of the
            request. A compiler asks for it as soon as compaction has pruned that result.
        receipts: What a run has loaded where its messages do not show it any more, because compaction took the
            call; by default only the messages count. Runs in a thread.

    Raises:
        InvalidInputError: When an argument is malformed.
    """

    kind: Kind = "skills"
    offers_mandatory = True

    def __init__(
        self,
        registry: SkillRegistry,
        *,
        tool_name: str = "load_skill",
        matcher: Matcher | None = None,
        id: str = "skills",  # noqa: A002  # the protocol's word
        required: bool = False,
        skip_standing_bodies: bool = True,
        receipts: Receipts | None = None,
    ) -> None:
        if not isinstance(registry, SkillRegistry):
            raise InvalidInputError(
                f"registry is a {type(registry).__name__}.", remedy="Pass a SkillRegistry, or SkillRegistry()."
            )
        if matcher is not None and not callable(matcher):
            raise InvalidInputError(
                f"matcher is a {type(matcher).__name__}.", remedy="Pass a function of a query and a skill."
            )
        if receipts is not None and not callable(receipts):
            raise InvalidInputError(
                f"receipts is a {type(receipts).__name__}.", remedy="Pass a function of a run's id."
            )
        self.id = checked_id(id, "id")
        self.required = checked_flag(required, "required")
        self._registry = registry
        self._tool_name = checked_id(tool_name, "tool_name")
        self._matcher = matcher or lexical_overlap
        self._skip_standing_bodies = checked_flag(skip_standing_bodies, "skip_standing_bodies")
        self._receipts = receipts

    async def query(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        """Return all loaded bodies and the best ``request.limit`` lines, best first, ties by id.

        Raises:
            CallCancelledError: When the request was cancelled.
        """
        request.signal.raise_if_cancelled()
        return await in_thread(self._offered, request)

    def _offered(self, request: ContextSourceRequest) -> list[ContextCandidate]:
        loaded = loaded_skills(request.messages, tool_name=self._tool_name)
        for skill_id in () if self._receipts is None else self._receipts(request.run_id):
            loaded.setdefault(skill_id, [])
        for skill in self._registry.list():
            # A run that had the body before has loaded the skill, even if its messages no longer show it.
            if (self.id, f"body/{skill.id}") in request.wanted:
                loaded.setdefault(skill.id, [])
        return [*self._bodies(loaded), *self._lines(request.query)[: request.limit]]

    def _lines(self, query: str) -> list[ContextCandidate]:
        if not query.strip():
            return []
        scored = ((round(self._matcher(query, skill), SCORE_DIGITS), skill) for skill in self._registry.list())
        found = [(score, skill) for score, skill in scored if not score <= 0]  # NaN stays in and is refused
        found.sort(key=lambda pair: (-pair[0], pair[1].id))
        return [
            ContextCandidate(record_id=f"catalog/{skill.id}", text=catalogue_line(skill), score=score)
            for score, skill in found
        ]

    def _bodies(self, loaded: Mapping[str, Sequence[Any]]) -> Iterator[ContextCandidate]:
        for skill_id, results in loaded.items():
            skill = self._registry.get(skill_id)
            if skill is None or not skill.body.strip():
                continue
            if self._skip_standing_bodies and any(_holds(result, skill.body) for result in results):
                continue
            yield ContextCandidate(record_id=f"body/{skill.id}", text=skill.body, score=1.0, mandatory=True)


def catalogue_line(skill: Skill) -> str:
    """Return ``- <name> (<id>): <description>`` on one line."""
    return one_line(f"- {skill.name} ({skill.id}): {skill.description}")


def lexical_overlap(query: str, skill: Skill) -> float:
    """Return which part of the query's different words the skill's name and description hold, 0 to 1."""
    wanted = set(words(query))
    return len(wanted & set(words(f"{skill.name} {skill.description}"))) / len(wanted) if wanted else 0.0


def loaded_skills(messages: Sequence[Message], *, tool_name: str = "load_skill") -> dict[str, list[Any]]:
    """Return the results of successful loads by skill id, in the order of the first load.

    A result belongs to the last call of its id; ids may come again later, for another tool.
    """
    calls: dict[str, str | None] = {}
    loaded: dict[str, list[Any]] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolUsePart):
                calls[part.id] = _skill_id(part.input) if part.name == tool_name else None
            elif isinstance(part, ToolResultPart):
                skill_id = calls.pop(part.tool_use_id, None)
                if skill_id is not None and not part.is_error:
                    loaded.setdefault(skill_id, []).append(part.result)
    return loaded


def _skill_id(arguments: Any) -> str | None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    found = arguments.get("id") if isinstance(arguments, Mapping) else None
    return found if isinstance(found, str) else None


def _holds(result: Any, body: str) -> bool:
    """Whether the body stands whole somewhere in a result; outer blank space does not count."""
    pending, wanted = [result], body.strip()
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if wanted in value:
                return True
        elif isinstance(value, Mapping):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
    return False

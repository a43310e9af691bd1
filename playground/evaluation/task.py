"""The scripted long task: what is known, what happens at each step, and what each step needs.

Pure but for reading the script, which is part of the package. All of it is made up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.sources.skill_text import Skill
from playground.sources.skills import catalogue_line

__all__ = ["Commitment", "LongTask", "Record", "Step", "Subtask", "load_task"]

RecordKind = Literal["memory", "document", "chat", "skill"]
CommitmentKind = Literal["goal", "constraint", "decision", "attempt"]
SCRIPT = "long_task.toml"


@dataclass(frozen=True, slots=True)
class Record:
    """Something that a source can offer.

    Attributes:
        id: ``<kind>/<name>``; of a chat's message ``chat/<chat>#<index>``.
        kind: What it is.
        texts: Each text it ever has and the step from which on, oldest first.
        forgotten: The step from which on none of them may be shown, if there is one.
    """

    id: str
    kind: RecordKind
    texts: tuple[tuple[int, str], ...]
    forgotten: int | None = None

    def current(self, step: int) -> str | None:
        """Return the text that counts at a step; nothing once it was forgotten."""
        if self.forgotten is not None and step >= self.forgotten:
            return None
        return [text for since, text in self.texts if since <= step][-1]

    def outdated(self, step: int) -> tuple[str, ...]:
        """Return the texts that no longer count at a step."""
        known = tuple(text for since, text in self.texts if since <= step)
        return known if self.current(step) is None else known[:-1]


@dataclass(frozen=True, slots=True)
class Commitment:
    """Something the work must not lose: the goal, a rule, a decision, or what was tried in vain.

    Attributes:
        kind: Which of them.
        text: Its words, the same wherever it is said.
        since: The step at which it is said first.
        reverted: The step at which a decision is taken back, if it is.
    """

    kind: CommitmentKind
    text: str
    since: int
    reverted: int | None = None

    def in_force(self, step: int) -> bool:
        """Whether it counts at a step."""
        return self.since <= step and not self.taken_back(step)

    def taken_back(self, step: int) -> bool:
        """Whether it no longer counts at a step, because it was taken back there or before."""
        return self.reverted is not None and self.reverted <= step


@dataclass(frozen=True, slots=True)
class Step:
    """One model step and what happens just before it.

    Attributes:
        index: From 0.
        subtask: Index of the part of the work it belongs to.
        user: What the user writes before it, or nothing.
        say: What the model says.
        tool: The tool that it calls.
        lines: Lines of the tool's answer.
        needs: Ids of the records that it needs.
        revised: Ids of the memories that are revised before it.
        forgotten: Ids of the memories that are forgotten before it.
    """

    index: int
    subtask: int
    user: str
    say: str
    tool: str
    lines: int
    needs: tuple[str, ...]
    revised: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtask:
    """One part of the work."""

    id: str
    title: str
    first: int
    """Its first step."""
    last: int
    """Its last step."""


@dataclass(frozen=True, slots=True)
class LongTask:
    """The whole script.

    Attributes:
        system: The system message.
        opening: The first user message, with the goal and the first constraints.
        subtasks: In order.
        steps: In order.
        records: By id.
        commitments: In the order in which they are made.
        skills: In the order of the script.
    """

    system: str
    opening: str
    subtasks: tuple[Subtask, ...]
    steps: tuple[Step, ...]
    records: Mapping[str, Record]
    commitments: tuple[Commitment, ...]
    skills: tuple[Skill, ...]

    def of_kind(self, kind: RecordKind) -> Iterator[Record]:
        """Yield the records of one kind in the order of the script."""
        return (record for record in self.records.values() if record.kind == kind)


@lru_cache(maxsize=1)
def load_task() -> LongTask:
    """Return the script."""
    script = tomllib.loads(files("playground.evaluation").joinpath(SCRIPT).read_text("utf-8"))
    steps, subtasks = _steps(script)
    raw = [step for subtask in script["subtasks"] for step in subtask["steps"]]
    commitments = tuple(_commitments(script, raw))
    skills = tuple(Skill(name, title, text, body=text) for name, (title, text) in script["skills"].items())
    records = {record.id: record for record in _records(script, raw, skills)}
    unknown = {need for step in steps for need in step.needs} - records.keys()
    if unknown:
        raise InvalidInputError(f"The script needs records that it does not have: {sorted(unknown)}.")
    rules = "\n".join(f"- {text}" for text in script["constraints"])
    opening = f"{script['opening']} {script['goal']}\nWhat always holds:\n{rules}"
    return LongTask(script["system"], opening, subtasks, steps, records, commitments, skills)


def _steps(script: Mapping[str, Any]) -> tuple[tuple[Step, ...], tuple[Subtask, ...]]:
    steps: list[Step] = []
    subtasks = []
    for number, subtask in enumerate(script["subtasks"]):
        needs = list(subtask["needs"])
        first = len(steps)
        for raw in subtask["steps"]:
            needs += [need for need in raw.get("needs", ()) if need not in needs]
            steps.append(_step(raw, len(steps), number, tuple(needs)))
        subtasks.append(Subtask(subtask["id"], subtask["title"], first, len(steps) - 1))
    return tuple(steps), tuple(subtasks)


def _step(raw: Mapping[str, Any], index: int, subtask: int, needs: tuple[str, ...]) -> Step:
    said = [raw["say"]]
    if "revert" in raw:
        said.append(f"Reverted: {raw['revert']}")
    if "decision" in raw:
        said.append(f"Decision: {raw['decision']}")
    if "attempt" in raw:
        said.append(f"Failed attempt: {raw['attempt']}")
    asked = [raw[name] for name in ("user", "constraint") if name in raw]
    return Step(
        index=index,
        subtask=subtask,
        user="\n".join(asked),
        say="\n".join(said),
        tool=raw["tool"],
        lines=raw["lines"],
        needs=needs,
        revised=(f"memory/{raw['revise'][0]}",) if "revise" in raw else (),
        forgotten=(f"memory/{raw['forget']}",) if "forget" in raw else (),
    )


def _commitments(script: Mapping[str, Any], raw: list[dict[str, Any]]) -> Iterator[Commitment]:
    reverted = {step["revert"]: index for index, step in enumerate(raw) if "revert" in step}
    yield Commitment("goal", script["goal"], 0)
    for text in script["constraints"]:
        yield Commitment("constraint", text, 0)
    for index, step in enumerate(raw):
        if "constraint" in step:
            yield Commitment("constraint", step["constraint"], index)
        # What the model says at a step can be kept from the next one on.
        if "decision" in step:
            gone = reverted.get(step["decision"])
            yield Commitment("decision", step["decision"], index + 1, None if gone is None else gone + 1)
        if "attempt" in step:
            yield Commitment("attempt", step["attempt"], index + 1)


def _records(
    script: Mapping[str, Any], raw: list[dict[str, Any]], skills: tuple[Skill, ...]
) -> Iterator[Record]:
    forgotten = {step["forget"]: index for index, step in enumerate(raw) if "forget" in step}
    for name, text in script["memories"].items():
        later = [(at, step["revise"][1]) for at, step in enumerate(raw) if step.get("revise", [""])[0] == name]
        yield Record(f"memory/{name}", "memory", ((0, text), *later), forgotten.get(name))
    for name, text in script["documents"].items():
        yield Record(f"document/{name}", "document", ((0, text),))
    for chat in script["chats"]:
        for index, text in enumerate(chat["messages"]):
            yield Record(f"chat/{chat['id']}#{index}", "chat", ((0, text),))
    for skill in skills:
        yield Record(f"skill/{skill.id}", "skill", ((0, catalogue_line(skill)),))

"""The forms of working memory: what is asked of an item that is added or changed, and the operation it makes.

Pure. A form that the role may not send says so and still sends, so that its refusal can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from playground.views.working_memory import NOUNS, ItemRow
from playground.views.working_memory_actions import Operation, labelled, with_task
from playground.working_memory.items import (
    DecisionStatus,
    Outcome,
    Section,
    TaskList,
    TaskStatus,
    Writer,
)

__all__ = [
    "ADDING",
    "Choice",
    "ItemForm",
    "TextBox",
    "adding_form",
    "adding_operation",
    "changing_form",
    "changing_operation",
]


@dataclass(frozen=True, slots=True)
class TextBox:
    """A text that is asked for."""

    name: str
    """The field that it becomes: ``rationale``."""
    label: str
    placeholder: str = ""
    """What stands in the box while it is empty."""
    text: str = ""
    """What stands in it at first."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A status that is asked for."""

    name: str
    """The field that it becomes: ``outcome``."""
    label: str
    options: tuple[str, ...]
    chosen: str
    """What is chosen at first."""


@dataclass(frozen=True, slots=True)
class ItemForm:
    """A form that makes one operation."""

    boxes: tuple[TextBox, ...]
    button: str
    """The button's label; ends in why the role may not press it, where that is so."""
    choice: Choice | None = None
    needed: str = ""
    """What the text of the first box is; empty where it may be left blank."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that are asked for."""
        return (*(box.name for box in self.boxes), *((self.choice.name,) if self.choice else ()))

    def lacking(self, said: Mapping[str, str]) -> str:
        """Return what was left blank and is needed; empty when nothing is."""
        return "" if said[self.boxes[0].name].strip() else self.needed


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is asked of a new item of one list."""

    operation: str
    placeholder: str
    more: str = ""
    """The field that can be said beside its text."""
    choice: str = ""
    """The field that holds its status."""
    options: tuple[str, ...] = ()


_KINDS: dict[Section, _Kind] = {
    "goal": _Kind("set-goal", "What the task is for"),
    "constraints": _Kind("add-constraint", "A rule that must be kept"),
    "tasks": _Kind("set-tasks", "What is to be done", "notes", "status", get_args(TaskStatus)),
    "decisions": _Kind("add-decision", "What is decided", "rationale", "status", get_args(DecisionStatus)),
    "questions": _Kind("add-question", "What has to be found out"),
    "attempts": _Kind("record-attempt", "What is or was tried", "detail", "outcome", get_args(Outcome)),
    "hypotheses": _Kind("add-hypothesis", "What is assumed"),
    "observations": _Kind("add-observation", "What was seen"),
}
ADDING: dict[Section, str] = {
    name: kind.operation for name, kind in _KINDS.items() if name not in ("goal", "tasks")
}
"""The operation that adds one item to a list; the goal and the tasks are set as a whole."""


def adding_form(section: Section, *, role: Writer) -> ItemForm:
    """Return what is asked of a new item of a list, or of the goal.

    Args:
        section: The list.
        role: Who is asked; what it says of a decision unless it chooses stands first.
    """
    kind, noun = _KINDS[section], NOUNS[section][0]
    boxes = [TextBox("text", noun.capitalize(), kind.placeholder)]
    choice = None
    if kind.more:
        boxes.append(TextBox(kind.more, kind.more.capitalize(), kind.more.capitalize()))
    if kind.options:
        usual = "accepted" if section == "decisions" and role == "host" else kind.options[0]
        options = sorted(kind.options, key=lambda option: option != usual)
        choice = Choice(kind.choice, kind.choice.capitalize(), tuple(options), usual)
    verb = "Set the goal" if section == "goal" else f"Add {noun}"
    return ItemForm(tuple(boxes), labelled(verb, role, kind.operation), choice, needed=noun)


def adding_operation(section: Section, said: Mapping[str, str], tasks: TaskList | None) -> Operation:
    """Return the operation that adds an item to a list, or sets the goal.

    Args:
        section: The list.
        said: What was entered, by the names of the form's boxes and choice.
        tasks: The task list, which is set as a whole.
    """
    kind = _KINDS[section]
    if section == "tasks":
        return with_task(tasks, title=said["text"], status=said["status"], notes=said["notes"])
    operation: dict[str, Any] = {"op": kind.operation, "text": said["text"]}
    if kind.more and said[kind.more]:
        operation[kind.more] = said[kind.more]
    if kind.choice:
        operation[kind.choice] = said[kind.choice]
    return operation


def changing_form(row: ItemRow, *, role: Writer) -> ItemForm | None:
    """Return what can be said of an item in words of one's own; ``None`` where nothing can.

    Args:
        row: The item.
        role: Who is asked.
    """
    more = dict(row.more)
    match row.list:
        case "questions":
            answer = TextBox("answer", "Answer", "The answer", more.get("Answer", ""))
            return ItemForm((answer,), labelled("Answer", role, "answer-question", row), needed="answer")
        case "attempts":
            detail = TextBox("detail", "Detail", "Detail", more.get("Detail", ""))
            outcome = Choice("outcome", "Outcome", get_args(Outcome), row.status)
            return ItemForm((detail,), labelled("Say how it went", role, "update-attempt", row), outcome)
        case "tasks":
            title = TextBox("title", "Title", text=row.text)
            notes = TextBox("notes", "Notes", "Notes", more.get("Notes", ""))
            status = Choice("status", "Status", get_args(TaskStatus), row.status)
            return ItemForm(
                (title, notes), labelled("Save the task", role, "set-tasks"), status, needed="title"
            )
    return None


def changing_operation(row: ItemRow, said: Mapping[str, str], tasks: TaskList | None) -> Operation:
    """Return the operation that changes an item by what was said of it.

    Args:
        row: The item; one that has a form.
        said: What was entered, by the names of the form's boxes and choice.
        tasks: The task list, which is set as a whole.
    """
    if row.list == "tasks":
        return with_task(tasks, task_id=row.id, **said)
    if row.list == "questions":
        return {"op": "answer-question", "id": row.id, "answer": said["answer"]}
    detail = {"detail": said["detail"]} if said["detail"] else {}
    return {"op": "update-attempt", "id": row.id, "outcome": said["outcome"], **detail}

"""Working memory as the lines a model reads at the end of a request.

Pure. Text is escaped, a line break or a run of blanks inside a listed item becomes one space, a bracket that
begins its text stands as a reference, and what is said about an item stands in an element of its own, so that
nothing a model wrote can pass for another item, another section, a status or an accepted decision. Controls
that turn the direction of text stand as references too: whoever looks at the request reads it in its own order.

References:
    Unicode Standard Annex 9, Bidirectional Algorithm, 2.1 to 2.5: explicit formatting characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playground.escaping import escape_text, one_line
from playground.working_memory.items import ItemList, MemoryItem, Section
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["MemoryLine", "memory_lines", "record_id", "tail_close", "tail_open"]

_PREFIXES: dict[Section, str] = {
    "goal": "goal",
    "constraints": "constraint",
    "tasks": "task",
    "decisions": "decision",
    "questions": "question",
    "attempts": "attempt",
    "hypotheses": "hypothesis",
    "observations": "observation",
}
PREAMBLE = (
    "This is your working memory as it stands now; it supersedes all copies above. Goal and constraints come "
    "from the host. Anything marked proposed has not been verified."
)
# What leads within a section; an item in another state is not shown.
_ORDERS: dict[ItemList, tuple[str, ...]] = {
    "decisions": ("accepted", "proposed", "reverted"),
    "questions": ("open", "answered"),
    "attempts": ("in_progress", "failed", "abandoned", "succeeded"),
    "hypotheses": ("confirmed", "proposed", "rejected"),
    "observations": ("",),
}
# What shows as nothing: white space, fillers, joiners, marks, tags. A run of it would push what follows to the
# beginning of a wrapped line, or hide a text of its own.
_BLANK = (
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\U000e0000-\U000e0fff]"
)
_BLANKS = re.compile(f"{_BLANK}{{2,}}")
_BRACKET = re.compile(rf"\A({_BLANK}?)\(")  # opens what would pass for a status
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # embeddings, overrides, isolates and their ends


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One item as it will be rendered.

    Attributes:
        record_id: ``goal``, ``constraint/<id>``, ``task/<id>``, …
        section: The section it stands in.
        text: The item's own text, unescaped.
        rendered: The escaped line with its line end.
        revision: The snapshot revision that last changed it.
        mandatory: Goal, constraints and the active task must always be shown.
        status: Its state as it is shown; empty where it has none.
        remark: The field that says more than its text, and what it says, unescaped; each may be empty.
    """

    record_id: str
    section: Section
    text: str
    rendered: str
    revision: int
    mandatory: bool
    status: str = ""
    remark: tuple[str, str] = ("", "")

    @property
    def opening(self) -> str:
        """What opens the section before its first line; the goal is its own section."""
        return "" if self.section == "goal" else f"<{self.section}>\n"

    @property
    def closing(self) -> str:
        """What closes the section after its last line."""
        return "" if self.section == "goal" else f"</{self.section}>\n"


def record_id(section: Section, item_id: str = "") -> str:
    """Return the record id of an item: ``decision/<id>``; ``goal`` for the goal, which has no id.

    Args:
        section: The section it stands in.
        item_id: The item's own id.
    """
    return f"{_PREFIXES[section]}/{item_id}" if item_id else _PREFIXES[section]


def tail_open(snapshot: WorkingMemorySnapshot) -> str:
    """Return the opening tag and the preamble, with their line ends."""
    return f'<deuz_working_memory revision="{snapshot.revision}">\n{PREAMBLE}\n'


def tail_close() -> str:
    """Return the closing tag; nothing follows it."""
    return "</deuz_working_memory>"


def memory_lines(snapshot: WorkingMemorySnapshot) -> tuple[MemoryLine, ...]:
    """Return every item that can be shown, in the order in which a budget is filled.

    First what is mandatory: goal, constraints, active task. The remaining tasks follow in the host's order,
    then the other sections as in ``SECTIONS``. Inside a section the items that matter most to the next step
    lead (see ``_ORDERS``; a dropped question is not listed at all); among equals leads the item that changed
    last, then the smaller id.
    """
    return tuple(_lines(snapshot))


def _lines(snapshot: WorkingMemorySnapshot) -> Iterator[MemoryLine]:
    if snapshot.goal is not None:
        text = snapshot.goal.text
        rendered = f"<goal>{_escaped(text)}</goal>\n"
        yield MemoryLine(record_id("goal"), "goal", text, rendered, snapshot.goal.revision, True)
    for item in snapshot.constraints:
        yield _line("constraints", item, mandatory=True)
    active = snapshot.active_task
    tasks = snapshot.tasks.list if snapshot.tasks else ()
    for task in sorted(tasks, key=lambda task: task is not active):
        status = f"active, {task.status}" if task is active else task.status
        remark = ("notes", task.notes or "")
        rendered = _rendered(task.id, task.title, status=status, remark=remark)
        name = record_id("tasks", task.id)
        yield MemoryLine(name, "tasks", task.title, rendered, task.revision, task is active, status, remark)
    for section, order in _ORDERS.items():
        for item in _ordered(getattr(snapshot, section), order):
            yield _line(section, item)


def _ordered(items: Sequence[MemoryItem], order: Sequence[str]) -> list[MemoryItem]:
    shown = [item for item in items if item.state in order]
    return sorted(shown, key=lambda item: (order.index(item.state), -item.revision, item.id))


def _line(section: Section, item: MemoryItem, *, mandatory: bool = False) -> MemoryLine:
    rendered = _rendered(item.id, item.text, status=item.state, remark=item.remark)
    name = record_id(section, item.id)
    return MemoryLine(name, section, item.text, rendered, item.revision, mandatory, item.state, item.remark)


def _rendered(item_id: str, text: str, *, status: str, remark: tuple[str, str]) -> str:
    # The status stands before anything a model wrote; what is said about the text follows as elements.
    name = _flat(item_id).replace("[", "&#91;").replace("]", "&#93;")
    state = f"({status}) " if status else ""
    field, said = remark
    extra = f" <{field}>{_flat(said)}</{field}>" if said else ""
    shown = _BRACKET.sub(r"\1&#40;", _flat(text))
    return f"- [{name}] {state}{shown}{extra}\n"


def _flat(text: str) -> str:
    """Escape for one line in which nothing is hidden far to the right."""
    return _escaped(_BLANKS.sub(" ", one_line(text)))


def _escaped(text: str) -> str:
    return _DIRECTION.sub(lambda found: f"&#{ord(found.group())};", escape_text(text))

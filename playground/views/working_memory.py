"""Working memory as sections of rows: what each item says, how it stands, and who wrote it.

Pure. Every text may come from a model and stays untrusted plain text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from playground.compiler.values import WORKING_MEMORY_SOURCE
from playground.escaping import replace_surrogates
from playground.scope import MemorySourceRef
from playground.views.direction import isolated
from playground.views.record_key import record_key
from playground.views.words import count, plural, shortened
from playground.working_memory import WorkingMemorySnapshot
from playground.working_memory.items import (
    MOST,
    WRITTEN_LISTS,
    Goal,
    MemoryItem,
    Section,
    Task,
    Writer,
)
from playground.working_memory.rendering import record_id

__all__ = [
    "DECIDED",
    "NOUNS",
    "ItemRow",
    "MemorySection",
    "WorkingMemoryView",
    "cited",
    "moment",
    "source_name",
    "spaced",
    "working_memory_view",
]

NOUNS: dict[Section, tuple[str, str]] = {
    "goal": ("goal", "goals"),
    "constraints": ("constraint", "constraints"),
    "tasks": ("task", "tasks"),
    "decisions": ("decision", "decisions"),
    "questions": ("question", "questions"),
    "attempts": ("attempt", "attempts"),
    "hypotheses": ("hypothesis", "hypotheses"),
    "observations": ("observation", "observations"),
}
DECIDED = "decided by the host"
LINE_LENGTH = 160  # code points of an item in a list
LINE_READ = 4 * LINE_LENGTH  # code points that it is made of: runs of blanks fall away


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item."""

    key: str
    """The record's key, as charts and panes of other pages know it."""
    list: Section
    id: str
    """Empty for the goal; as it is, for patches, so that it may hold half a character."""
    status: str
    """``proposed``, ``in_progress``; empty where an item has none."""
    active: bool
    """Whether it is the task being worked on."""
    text: str
    """All of it; half a character is replaced, here as in all other fields that are shown."""
    line: str
    """Its beginning in one line, for lists."""
    more: tuple[tuple[str, str], ...]
    """Rationale, answer, detail or notes, each with its name."""
    writer: Writer
    decided: bool
    """Whether the host has changed what a model wrote; then only the host may change it."""
    open_to_model: bool
    """Whether a model may change it."""
    revision: str
    """``revision 3``."""
    sources: str
    """``tool toolu_1, message chat#8``; empty without any."""
    changed: str
    """``2026-11-30 20:15 UTC``."""

    @property
    def name(self) -> str:
        """What the item is: ``decision decisions-5-0``."""
        return f"{NOUNS[self.list][0]} {isolated(self.id)}".strip()

    @property
    def badge(self) -> str:
        """The status in a row; of the active task also that it is: ``active, in progress``."""
        status = spaced(self.status)
        return f"active, {status}" if self.active else status

    @property
    def facts(self) -> str:
        """Status, writer, revision, time and sources in one line."""
        by = f"written by the {self.writer}" + (f", {DECIDED}" if self.decided else "")
        state = ("active" if self.active else "", spaced(self.status))
        parts = (*state, by, self.revision, self.changed, self.sources and f"from {self.sources}")
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class MemorySection:
    """The items of one list."""

    list: Section
    title: str
    total: str
    """``2 of 64``: how many there are, and how many there may be."""
    rows: tuple[ItemRow, ...]
    empty: str
    """What stands in place of rows."""


@dataclass(frozen=True, slots=True)
class WorkingMemoryView:
    """A whole snapshot."""

    revision: int
    total: str
    """``revision 4 · 18 items · scope maya``."""
    sections: tuple[MemorySection, ...]

    def row(self, key: str | None) -> ItemRow | None:
        """Return the item of a record key; ``None`` when the key is another record's."""
        return next((row for section in self.sections for row in section.rows if row.key == key), None)


def working_memory_view(snapshot: WorkingMemorySnapshot) -> WorkingMemoryView:
    """Return the sections of a snapshot, items in the order in which they stand in it. O(items)."""
    sections = (
        _section("goal", _goal(snapshot)),
        _section("constraints", _items("constraints", snapshot.constraints)),
        _section("tasks", _tasks(snapshot)),
        *(_section(name, _items(name, getattr(snapshot, name))) for name in WRITTEN_LISTS),
    )
    items = sum(len(section.rows) for section in sections)
    total = f"revision {count(snapshot.revision)} · {plural(items, 'item')} · scope {isolated(snapshot.scope)}"
    return WorkingMemoryView(snapshot.revision, total, sections)


def moment(time_ms: int) -> str:
    """Write a time to the second: ``2026-11-30 20:15:04 UTC``; empty where none is known."""
    try:
        known = datetime.fromtimestamp(time_ms / 1000, tz=UTC) if time_ms > 0 else None
    except (OverflowError, OSError, ValueError):
        known = None
    return "" if known is None else f"{known:%Y-%m-%d %H:%M:%S} UTC"


def spaced(word: str) -> str:
    """Write a status as people do: ``in progress``."""
    return word.replace("_", " ")


def source_name(kind: object, *ids: object) -> str:
    """Return what a reference names: ``tool toolu_1``, by the first id that there is, or its kind alone."""
    known = next(filter(None, ids), None)
    return f"{kind} {known}" if known else str(kind)


def cited(source: MemorySourceRef) -> str:
    """Return what a reference names, for a sentence of ours; ids are untrusted text."""
    return isolated(source_name(source.kind, source.id, source.tool_call_id, source.run_id))


def _section(name: Section, found: Iterable[ItemRow]) -> MemorySection:
    rows = tuple(found)
    title = "Goal" if name == "goal" else NOUNS[name][1].capitalize()
    total = "" if name == "goal" else f"{count(len(rows))} of {count(MOST[name])}"
    return MemorySection(name, title, total, rows, f"No {NOUNS[name][0]} yet.")


def _goal(snapshot: WorkingMemorySnapshot) -> Iterable[ItemRow]:
    if snapshot.goal is not None:
        yield _made("goal", "", snapshot.goal, snapshot.goal.text, more=("Reference", snapshot.goal_ref))


def _tasks(snapshot: WorkingMemorySnapshot) -> Iterable[ItemRow]:
    active = snapshot.active_task
    for task in snapshot.tasks.list if snapshot.tasks else ():
        yield _made(
            "tasks", task.id, task, task.title, task.status, ("Notes", task.notes), active=task is active
        )


def _items(name: Section, items: Iterable[MemoryItem]) -> Iterable[ItemRow]:
    for item in items:
        field, said = item.remark
        yield _made(name, item.id, item, item.text, item.state, (field.capitalize(), said))


def _made(
    name: Section,
    item_id: str,
    item: Goal | MemoryItem | Task,
    text: str,
    status: str = "",
    more: tuple[str, str | None] = ("", None),
    *,
    active: bool = False,
) -> ItemRow:
    text, said = replace_surrogates(text), replace_surrogates(more[1] or "")
    return ItemRow(
        key=record_key(WORKING_MEMORY_SOURCE, record_id(name, item_id)),
        list=name,
        id=item_id,
        status=status,
        active=active,
        text=text,
        line=shortened(" ".join(text[:LINE_READ].split()), LINE_LENGTH, more=len(text) > LINE_READ),
        more=((more[0], said),) if said else (),
        writer=item.writer,
        decided=item.decided_by is not None,
        open_to_model=item.open_to_model,
        revision=f"revision {count(item.revision)}",
        sources=", ".join(map(cited, item.sources)),
        changed=moment(item.updated_at),
    )

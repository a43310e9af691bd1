"""A snapshot as rows: one for each item, whatever its list, dropped questions included. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import NamedTuple

from playground.escaping import replace_surrogates
from playground.working_memory.items import WRITTEN_LISTS, Goal, MemoryItem, Section, Task, Writer
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["MemoryRow", "memory_rows", "table_html"]


class MemoryRow(NamedTuple):
    """One item.

    Attributes:
        list: The section it stands in.
        id: Its id; empty for the goal.
        status: Status or outcome; empty where there is none. ``active`` for the active task.
        text: Its text, a task's title.
        more: Rationale, answer, detail or notes.
        writer: Who wrote it.
        decided_by: ``host`` when the host changed what the model wrote; else empty.
        revision: The one that changed it last.
        updated_at: When, in ms since the epoch.
    """

    list: Section
    id: str
    status: str
    text: str
    more: str
    writer: Writer
    decided_by: str
    revision: int
    updated_at: int


def memory_rows(snapshot: WorkingMemorySnapshot) -> tuple[MemoryRow, ...]:
    """Return every item, section by section as they are rendered, each list in its own order.

    Halves of characters are replaced by U+FFFD; data frames and browsers refuse them.
    """
    return tuple(
        row._replace(
            id=replace_surrogates(row.id), text=replace_surrogates(row.text), more=replace_surrogates(row.more)
        )
        for row in _rows(snapshot)
    )


def table_html(snapshot: WorkingMemorySnapshot) -> str:
    """Return the rows as an HTML table, everything escaped."""
    head = f"Working memory of {replace_surrogates(snapshot.scope)}, revision {snapshot.revision}"
    columns = ("list", "id", "status", "text", "more", "writer", "revision")
    heads = "".join(f"<th>{name}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(str(getattr(row, name)))}</td>' for name in columns)}</tr>"
        for row in memory_rows(snapshot)
    )
    return (
        f"<p><b>{html.escape(head)}</b></p><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def _rows(snapshot: WorkingMemorySnapshot) -> Iterator[MemoryRow]:
    if snapshot.goal is not None:
        yield _row("goal", snapshot.goal, text=snapshot.goal.text)
    for item in snapshot.constraints:
        yield _row("constraints", item, text=item.text)
    active = snapshot.active_task
    for task in snapshot.tasks.list if snapshot.tasks else ():
        status = f"active, {task.status}" if task is active else task.status
        yield _row("tasks", task, status=status, text=task.title, more=task.notes)
    for section in WRITTEN_LISTS:
        for item in getattr(snapshot, section):
            yield _row(section, item, status=item.state, text=item.text, more=item.remark[1])


def _row(
    section: Section,
    item: Goal | MemoryItem | Task,
    *,
    status: str = "",
    text: str,
    more: str | None = None,
) -> MemoryRow:
    return MemoryRow(
        list=section,
        id="" if isinstance(item, Goal) else item.id,
        status=status,
        text=text,
        more=more or "",
        writer=item.writer,
        decided_by=item.decided_by or "",
        revision=item.revision,
        updated_at=item.updated_at,
    )

"""The index of a memory store: what the model sees of its entries, one line each and never a value.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from playground.preparation.listing import listed
from playground.preparation.memory_entries import MemoryEntry, priority_order, size_text

__all__ = ["index_text"]

MOST_SHOWN = 30  # entries
FULL_SHARE = 0.8  # of the bytes; above it the model is warned

FOOTER = 'To read a value: store_get with store "notes" and its exact key.'
WARNING = "Warning: nearly full. Delete what is no longer needed."


def index_text(
    entries: Iterable[MemoryEntry], used: int, limit: int, max_shown: int = MOST_SHOWN
) -> str | None:
    """Return the index, None without entries.

    Pinned entries come first, then critical, high, normal and low ones, in each group what was used last.

    Args:
        entries: In any order.
        used: Bytes of their values together.
        limit: Bytes that the store holds at most.
        max_shown: Lines of entries at most; the last in order are left out, and counted.
    """
    order = sorted(entries, key=lambda entry: (*_group(entry), -entry.access_order, entry.key))
    if not order:
        return None
    percent = f"{used / limit:.0%}" if limit else "100%"
    many = "1 entry" if len(order) == 1 else f"{len(order)} entries"
    lines = [f"{many}, {size_text(used)} of {size_text(limit)} ({percent})"]
    for group, members in groupby(order[:max_shown], key=_group):
        lines += [f"{_title(group)}:", *map(_line, members)]
    omitted = len(order) - max_shown
    if omitted > 0:
        lines.append(f"{omitted} more not shown: store_list has all.")
    if used > FULL_SHARE * limit:
        lines.append(WARNING)
    return "\n".join([*lines, FOOTER])


def _group(entry: MemoryEntry) -> tuple[bool, int, str]:
    return (not entry.pinned, priority_order(entry.priority), entry.priority)


def _title(group: tuple[bool, int, str]) -> str:
    unpinned, _order, priority = group
    return priority.capitalize() if unpinned else "Pinned"


def _line(entry: MemoryEntry) -> str:
    flags = ", ".join(_flags(entry))
    size = size_text(entry.size_bytes)
    return f"- {listed(entry.key)} ({size}): {listed(entry.description)} [{flags}]"


def _flags(entry: MemoryEntry) -> Sequence[str]:
    scope = entry.scope if isinstance(entry.scope, str) else "task"
    if entry.pinned:
        return ("pinned", scope)
    return (scope,) if entry.priority == "normal" else (entry.priority, scope)

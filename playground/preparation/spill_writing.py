"""Writing results into a store, and reading all of them back before anything may be removed.

Nothing here waits, so that no other task comes between a write and its check. What a store evicts to make room
is told; so is each group that has to stay because one of its results is not safe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playground.preparation.compaction_log import result_name
from playground.preparation.memory_entries import size_text
from playground.preparation.memory_store import MemoryStore
from playground.preparation.protocol import Group
from playground.preparation.spill import TIER, Found, Spilled

__all__ = ["write_spills"]


def write_spills(
    spills: Sequence[Spilled], store: MemoryStore, note: Callable[[str], None]
) -> frozenset[Group]:
    """Write all results, read all of them back without counting that as a use, and say which groups are safe.

    Args:
        spills: The whole inventory of some groups.
        store: Takes them.
        note: Takes one line for each result that moved, entry that was evicted and result that is not safe.

    Returns:
        The groups of which every result was found in the store as it was meant. Of the others some results may
        be there too.
    """
    failed: set[Group] = set()
    for spill in spills:
        if spill.found.group in failed:
            continue
        try:
            evicted = store.set(spill.key, spill.description, spill.found.value, tier=TIER).evicted
        except Exception as error:  # noqa: BLE001  # a backend may raise anything; the group stays in the history
            failed.add(spill.found.group)
            note(f"kept {_name(spill.found)}: writing {spill.key} raised {type(error).__name__}")
            continue
        for key in evicted:
            note(f"evicted {key} from notes to make room")
    for spill in spills:
        problem = None if spill.found.group in failed else _problem(spill, store)
        if problem is not None:
            failed.add(spill.found.group)
            note(f"kept {_name(spill.found)}: {problem}")
    for spill in spills:
        if spill.found.group not in failed:
            note(f"moved {_name(spill.found)} ({size_text(spill.found.size_bytes)}) to {spill.key}")
    return frozenset(spill.found.group for spill in spills) - failed


def _problem(spill: Spilled, store: MemoryStore) -> str | None:
    """Say what is wrong with a result in the store; None where it is as it was meant."""
    try:
        entry = store.peek(spill.key)
    except Exception as error:  # noqa: BLE001  # as above
        return f"reading {spill.key} raised {type(error).__name__}"
    if entry is None:
        return f"{spill.key} is not in notes"
    return None if entry.json == spill.found.json else f"{spill.key} holds something else"


def _name(found: Found) -> str:
    return result_name(found.tool, found.call_id)

"""Notes on a file that was read: as many as a person reads."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["few_notes"]

NOTES_A_FILE = 20  # what a person reads; the rest is counted


def few_notes(notes: Sequence[str]) -> list[str]:
    """Return the first notes, and how many more there are."""
    if len(notes) <= NOTES_A_FILE:
        return list(notes)
    return [*notes[:NOTES_A_FILE], f"{len(notes) - NOTES_A_FILE:,} more of this kind."]

"""What became of a patch. Pure values; every one holds the snapshot that stands afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["AppliedPatch", "DuplicatePatch", "PatchOutcome", "RejectedPatch", "RejectionReason"]

RejectionReason = Literal[
    "forbidden", "stale-revision", "not-found", "limit", "invalid-state", "operation-conflict"
]


@dataclass(frozen=True, slots=True)
class AppliedPatch:
    """Every operation was carried out.

    Attributes:
        snapshot: The new one, one revision later.
        ids: One id for each operation that added an item, in the order of the operations.
    """

    snapshot: WorkingMemorySnapshot
    ids: tuple[str, ...] = ()
    status: Literal["applied"] = "applied"


@dataclass(frozen=True, slots=True)
class DuplicatePatch:
    """The same patch was applied before; nothing was done.

    Attributes:
        snapshot: The very one that was given.
        revision: The one that the patch made when it was applied.
    """

    snapshot: WorkingMemorySnapshot
    revision: int
    status: Literal["duplicate"] = "duplicate"


@dataclass(frozen=True, slots=True)
class RejectedPatch:
    """Nothing was done.

    Attributes:
        snapshot: The very one that was given.
        reason: ``forbidden``: not for this writer; ``stale-revision``: written for another revision;
            ``not-found``: no such item; ``limit``: too long or too many; ``invalid-state``: the item cannot do
            this now; ``operation-conflict``: the operation id stands for another patch.
        message: The reason in one sentence, with ids and numbers, without the text of any item.
        operation: Position of the operation that failed; ``None`` when the patch as a whole did.
    """

    snapshot: WorkingMemorySnapshot
    reason: RejectionReason
    message: str
    operation: int | None = None
    status: Literal["rejected"] = "rejected"


PatchOutcome = AppliedPatch | DuplicatePatch | RejectedPatch

"""Working memory: what a long task must not lose, changed only through checked patches."""

from playground.working_memory.applying import apply_working_memory_patch
from playground.working_memory.difference import ItemChange, WorkingMemoryRevision, snapshot_changes
from playground.working_memory.handle import InMemoryWorkingMemory, WorkingMemoryHandle
from playground.working_memory.outcome import AppliedPatch, DuplicatePatch, PatchOutcome, RejectedPatch
from playground.working_memory.patch import WorkingMemoryPatch
from playground.working_memory.rendering import MemoryLine, memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot, create_working_memory
from playground.working_memory.tools import working_memory_tools

__all__ = [
    "AppliedPatch",
    "DuplicatePatch",
    "InMemoryWorkingMemory",
    "ItemChange",
    "MemoryLine",
    "PatchOutcome",
    "RejectedPatch",
    "WorkingMemoryHandle",
    "WorkingMemoryPatch",
    "WorkingMemoryRevision",
    "WorkingMemorySnapshot",
    "apply_working_memory_patch",
    "create_working_memory",
    "memory_lines",
    "snapshot_changes",
    "working_memory_tools",
]

"""Working memory: what a long task must not lose, as a snapshot and as lines of a request."""

from playground.working_memory.rendering import MemoryLine, memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot, create_working_memory

__all__ = ["MemoryLine", "WorkingMemorySnapshot", "create_working_memory", "memory_lines"]

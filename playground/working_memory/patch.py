"""Patches: operations that are applied together or not at all.

Pure. A patch is checked for its shape here; what a snapshot makes of it is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.fields import TextLength
from playground.values import RecordedValue, shown
from playground.working_memory.items import ID_LENGTH, Count, Writer
from playground.working_memory.operations import OPERATIONS, NamedOperation, Operation

__all__ = ["MOST_OPERATIONS", "WorkingMemoryPatch"]

MOST_OPERATIONS = 16  # of one patch


class WorkingMemoryPatch(RecordedValue):
    """A list of operations that are applied together or not at all.

    Raises:
        InvalidInputError: When it is malformed: an unknown operation or field, a wrong type, an empty text.
    """

    operation_id: Annotated[str, TextLength(1, ID_LENGTH)]
    """Recognises a repetition, 1 to 256 characters."""
    expected_revision: Count
    """The snapshot revision that the writer has read."""
    writer: Writer
    """Who asks for the change: ``host`` or ``model``."""
    operations: tuple[Annotated[Operation, Field(discriminator="op")], ...]
    """1 to 16 operations, in their order."""

    @field_validator("operations", mode="before")
    @classmethod
    def _check_operations(cls, value: Any) -> Any:
        # Before the fields are looked at: the message must not hold a foreign value whole, nor list all ops.
        if not isinstance(value, list | tuple):
            raise InvalidInputError("the operations are not a list")
        value = [*value]  # a subclass may say what it likes of its length
        if not 1 <= len(value) <= MOST_OPERATIONS:
            raise InvalidInputError(f"{len(value)} operations, not 1 to {MOST_OPERATIONS}")
        for number, operation in enumerate(value):
            if isinstance(operation, NamedOperation):
                continue
            name = operation.get("op") if isinstance(operation, Mapping) else None
            if not isinstance(name, str) or name not in OPERATIONS:
                raise InvalidInputError(f"operation {number} has the unknown op {shown(name)}")
        return value

    @property
    def digest(self) -> str:
        """``sha256:<hex>`` of the writer and the operations.

        Operation id and revision are left out, and digests of sources: they say what could be read of a source
        at the time, and the same patch may be sent again when less can be read.
        """
        operations = tuple(map(_without_source_digests, self.operations))
        same = {"operation_id": "", "expected_revision": 0, "operations": operations}
        return text_digest(self.model_copy(update=same).to_json())


def _without_source_digests(operation: Operation) -> Operation:
    sources = getattr(operation, "sources", None)
    if not sources:
        return operation
    return operation.model_copy(
        update={"sources": tuple(source.model_copy(update={"digest": None}) for source in sources)}
    )

"""Patches: operations that are applied together or not at all.

Pure. A patch is checked for its shape here; what a snapshot makes of it is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.fields import LISTED, TextLength
from playground.values import RecordedValue, shown
from playground.working_memory.items import ID_LENGTH, Count, Writer
from playground.working_memory.operations import OPERATIONS, NamedOperation, Operation

__all__ = ["MOST_OPERATIONS", "WorkingMemoryPatch"]

MOST_OPERATIONS = 16  # of one patch


def _few_and_known(operations: list[Any]) -> list[Any]:
    # Before the fields are looked at: the message must not hold a foreign value whole, nor list all ops.
    if not 1 <= len(operations) <= MOST_OPERATIONS:
        raise InvalidInputError(f"{len(operations)} operations, not 1 to {MOST_OPERATIONS}")
    for number, operation in enumerate(operations):
        if isinstance(operation, NamedOperation):
            continue
        name = operation.get("op") if isinstance(operation, Mapping) else None
        if not isinstance(name, str) or name not in OPERATIONS:
            raise InvalidInputError(f"operation {number} has the unknown op {shown(name)}")
    return operations


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
    operations: Annotated[
        tuple[Annotated[Operation, Field(discriminator="op")], ...], BeforeValidator(_few_and_known), LISTED
    ]
    """1 to 16 operations, in their order."""

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

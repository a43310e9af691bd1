"""What only a working memory in this process does; what every handle does, its contract holds."""

from __future__ import annotations

from typing import Any, cast

import pytest

from playground import InvalidInputError
from playground.working_memory.handle import InMemoryWorkingMemory
from tests.unit.working_memory.helpers import noted, started


@pytest.mark.parametrize("missing", [None, "acme"])
def test_a_handle_in_this_process_needs_a_snapshot(missing: Any) -> None:
    with pytest.raises(InvalidInputError):
        InMemoryWorkingMemory(missing)


def test_whoever_reads_the_history_cannot_change_it() -> None:
    found = InMemoryWorkingMemory(started())
    found.apply(noted("a", 0))
    change = found.history()[0].changes[0]
    assert change.after is not None
    cast("dict[str, Any]", change.after)["text"] = "FAKE"
    assert "FAKE" not in found.history()[0].to_json()

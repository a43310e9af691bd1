"""Evidence: the earlier tool calls that a model cites for what it writes into working memory.

Pure. A reference names the call and, where its result can still be read, that result's digest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from playground.digests import text_digest
from playground.errors import ToolExecutionError
from playground.messages import ToolResultPart, ToolUsePart, is_summary
from playground.scope import MemorySourceRef
from playground.tokens import compact_json
from playground.tools import ToolContext
from playground.values import shown

__all__ = ["Evidence"]

_PRUNED = re.compile(r"\[pruned [\d,]+ chars\]")  # what compaction leaves of a result


class Evidence:
    """What a history holds of the calls that may be cited. O(parts).

    An id may come again later, for another call; a result belongs to the last call of its id.

    Args:
        context: The call that cites, with the history that its model saw.
        tool: The name of its tool, for errors.
    """

    def __init__(self, context: ToolContext, *, tool: str) -> None:
        self._own, self._tool = context.tool_call_id, tool
        self._results: dict[str, ToolResultPart | None] = {}
        # Whoever cannot see all calls cannot say that there was none.
        self._complete = bool(context.messages) and not any(map(is_summary, context.messages))
        for message in context.messages:
            for part in message.parts:
                if isinstance(part, ToolUsePart):
                    self._results[part.id] = None
                elif isinstance(part, ToolResultPart) and part.tool_use_id in self._results:
                    self._results[part.tool_use_id] = part

    def sources(self, ids: Sequence[str]) -> tuple[MemorySourceRef, ...]:
        """Return a reference for each different id, in order."""
        return tuple(map(self._source, dict.fromkeys(ids)))

    def check(self, ids: Sequence[str]) -> None:
        """Check that every id may be cited.

        Raises:
            ToolExecutionError: For the citing call itself, and for an id that no call has; ``evidence``.
        """
        for call_id in ids:
            if call_id == self._own:
                message = f"The evidence {shown(call_id)} is this very call."
            elif self._complete and call_id not in self._results:
                message = f"The evidence {shown(call_id)} is no tool call of this conversation."
            else:
                continue
            raise ToolExecutionError(
                message, remedy="Cite ids of earlier tool calls, or none.", tool=self._tool, reason="evidence"
            )

    def _source(self, call_id: str) -> MemorySourceRef:
        part = self._results.get(call_id)
        result = None if part is None else part.result
        text = "" if result is None else result if isinstance(result, str) else compact_json(result)
        digest = text_digest(text) if text and not _PRUNED.fullmatch(text) else None
        return MemorySourceRef(kind="tool", tool_call_id=call_id, digest=digest)

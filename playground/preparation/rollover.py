"""A rollover: the older part of a history becomes one summary that the host's callback writes.

Recent turns stay as they are, and so do, in their places among what goes, items that only a provider can read,
calls that are still open, and results whose evidence is not stored yet. No group is split.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from playground.errors import InvalidInputError, InvalidRequestError
from playground.messages import COMPACTION_SUMMARY
from playground.preparation.context_state import ContextState
from playground.preparation.events import RolledOver
from playground.preparation.items import Item, Json, text_message
from playground.preparation.protocol import ProtocolMap, protocol_map
from playground.preparation.pruning import pruned_tokens
from playground.preparation.results import RolloverResult
from playground.preparation.stale_guard import Guard
from playground.values import shown, whole_number

__all__ = ["RECENT_TURNS", "Summarize", "roll_over"]

RECENT_TURNS = 8  # turns that stay exact; a turn begins with a message that is not only results

Summarize = Callable[[list[Json]], Awaitable[str] | str]


async def roll_over(
    state: ContextState,
    *,
    summarize: Summarize,
    preserve_recent_turns: int = RECENT_TURNS,
    reason: str | None = None,
) -> RolloverResult:
    """Put a summary in the place of all but the recent turns.

    Args:
        state: The context.
        summarize: Gets copies of the items that go, in order; returns their summary, at once or later.
        preserve_recent_turns: So many of the newest turns stay exact.
        reason: Goes to the listeners.

    Returns:
        What was done. Where nothing older is left to summarise, the callback is not called.

    Raises:
        InvalidRequestError: When an input waits for its answer.
        ContextBusyError: When another operation holds the context.
        ContextChangedError: When the context changed while the summary was written; it stays as it is.
        InvalidInputError: When an argument is malformed, or the summary is empty or no text; likewise.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
    """
    kept_turns = whole_number(preserve_recent_turns, "The number of recent turns")
    if not callable(summarize):
        raise InvalidInputError(f"summarize is {shown(summarize)}.", remedy="Pass a function.")
    if reason is not None and not isinstance(reason, str):
        raise InvalidInputError(f"The reason is {shown(reason)}.", remedy="Give a text or None.")
    with state.exclusive("rollover"):
        if state.conversation.current_input:
            raise InvalidRequestError(
                "A rollover cannot run while an input waits for its answer.",
                remedy="Add the answer first, or clear the conversation.",
            )
        guard = Guard(state)
        history = guard.history
        groups = protocol_map(history, ())
        tokens = pruned_tokens(history, groups.dropped)
        older = _older(history, groups, _cut(history, groups, kept_turns))
        if not older or (len(older) == 1 and _is_summary(history[older[0]])):
            return RolloverResult(
                performed=False,
                messages_summarized=0,
                messages_retained=len(history),
                tokens_before=tokens,
                tokens_after=tokens,
            )
        answer: Any = summarize([history[place].out() for place in older])
        text = _checked(await answer if inspect.isawaitable(answer) else answer)
        result = _apply(state, guard, older, tokens, text)
        state.last_budget = None
        state.events.emit("context:rolled_over", RolledOver(result, reason))
        return result


def _apply(
    state: ContextState, guard: Guard, older: Sequence[int], tokens_before: int, text: str
) -> RolloverResult:
    """Replace the older items; the summary stands where the first of them stood."""
    state.ensure_alive()
    going = set(older)
    retained = [item for place, item in enumerate(guard.history) if place not in going]
    data = text_message("user", f"{COMPACTION_SUMMARY}\n{text}", _summary_id(guard.history, going))
    summary = state.conversation.read([data])
    first = older[0]  # everything before it stays
    after = (*retained[:first], *summary, *retained[first:])
    guard.replace_history(after, host=True)
    return RolloverResult(
        performed=True,
        messages_summarized=len(older),
        messages_retained=len(retained),
        tokens_before=tokens_before,
        tokens_after=pruned_tokens(after, protocol_map(after, ()).dropped),
        summary=text,
    )


def _cut(history: Sequence[Item], groups: ProtocolMap, turns: int) -> int:
    """Return where the recent turns begin, moved left until no group reaches over it."""
    cut = len(history)
    if turns:
        starts = [place for place, item in enumerate(history) if _begins_turn(item)]
        cut = starts[-turns] if len(starts) >= turns else 0
    for group in reversed(groups.groups):  # by first member: one that reaches over a cut moves it, once
        if group.members[0] < cut <= group.members[-1]:
            cut = group.members[0]
    return cut


def _older(history: Sequence[Item], groups: ProtocolMap, cut: int) -> list[int]:
    """Return what goes: everything before the cut that is not protected."""
    return [place for place in range(min(cut, len(history))) if groups.group_of[place].protection is None]


def _begins_turn(item: Item) -> bool:
    only_results = bool(item.results) and len(item.results) == len(item.block_tokens)
    return item.role == "user" and not only_results and not _is_summary(item)


def _is_summary(item: Item) -> bool:
    blocks = item.data["content"] if item.role == "user" else ()
    text = blocks[0].get("text") if blocks else None
    return isinstance(text, str) and text.partition("\n")[0] == COMPACTION_SUMMARY


def _summary_id(history: Sequence[Item], going: set[int]) -> str:
    """Return the id of the summary: that of the last message it stands for, marked as its summary."""
    ids = [item.id for place, item in enumerate(history) if place in going and item.id]
    last = ids[-1].removesuffix("_summary") if ids else "history"
    return f"{last}_summary"


def _checked(summary: Any) -> str:
    if not isinstance(summary, str) or not summary.strip():
        raise InvalidInputError(
            f"The summary is {shown(summary)}; nothing was changed.",
            remedy="Return a text that says something.",
        )
    return summary.strip()

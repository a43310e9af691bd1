"""A history that grows too large: one summary for its oldest part, or its last messages only. Pure.

The summary is cut, not written: what user and model said, newest first. A real model would choose better, and
differently each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.compiler.placement import without_blocks
from playground.compiler.refresh import COMPACTION_SUMMARY
from playground.messages import Message, text_of
from playground.tokens import TokenEstimator

__all__ = ["KEPT_STEPS", "SUMMARY_CHARACTERS", "THRESHOLD", "compacted", "last_messages"]

THRESHOLD = 0.75  # part of the window that a history may fill
KEPT_STEPS = 4  # model steps at the end that stay as they are
SUMMARY_CHARACTERS = 1_440  # about 400 tokens


def compacted(
    messages: Sequence[Message], *, context_window: int, estimator: TokenEstimator
) -> tuple[Message, ...]:
    """Return the history, its oldest unprotected run replaced by one summary when it fills the window too far.

    System messages, the first user message, the last ``KEPT_STEPS`` model steps and the last message stay. The
    compiler's blocks leave with the run and are not part of the summary; an earlier summary is folded in.
    """
    if estimator.estimate(messages) <= THRESHOLD * context_window:
        return tuple(messages)
    start, end = _unprotected(messages)
    if end - start < 2:
        return tuple(messages)
    summary = Message("user", _summary(without_blocks(messages[start:end])))
    return (*messages[:start], summary, *messages[end:])


def last_messages(
    messages: Sequence[Message], *, context_window: int, estimator: TokenEstimator
) -> tuple[Message, ...]:
    """Return the system messages and as many last messages as the threshold allows; a call keeps its result."""
    system = [message for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    room = THRESHOLD * context_window - estimator.base(system)
    start = len(others)
    while start and (room := room - estimator.base([others[start - 1]])) >= 0:
        start -= 1
    while start < len(others) and others[start].role == "tool":
        start += 1
    return (*system, *others[start:])


def _unprotected(messages: Sequence[Message]) -> tuple[int, int]:
    first_user = next((at for at, message in enumerate(messages) if message.role == "user"), 0)
    answers = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return first_user + 1, min([*answers[-KEPT_STEPS:][:1], len(messages) - 1])


def _summary(messages: Sequence[Message]) -> str:
    kept: list[str] = []
    room = SUMMARY_CHARACTERS
    for line in reversed(list(_lines(messages))):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([COMPACTION_SUMMARY, *reversed(kept)])


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message.role in {"user", "assistant"}:
            for line in text_of(message).splitlines():
                if line != COMPACTION_SUMMARY:
                    yield line

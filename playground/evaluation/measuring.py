"""What stands in the requests of a play, and what of them a provider's cache could reuse. Pure.

Texts are looked for as they are, and escaped as blocks hold them. What stands later in a request counts as the
newer word on a thing.
"""

from __future__ import annotations

from collections.abc import Sequence

from playground.escaping import escape_text
from playground.evaluation.playing import PlayedStep
from playground.evaluation.report import StepFigures, StrategyFigures
from playground.evaluation.strategies import DESCRIPTIONS, LABELS, StrategyName
from playground.evaluation.task import Commitment, LongTask, Record
from playground.messages import Message, ReasoningPart, text_of
from playground.tokens import TokenEstimator

__all__ = ["measure"]

# How a decision's state is said: by the model in the history, and by working memory.
IN_FORCE = ("Decision: ", "(accepted) ")
TAKEN_BACK = ("Reverted: ", "(reverted) ")


def measure(
    task: LongTask, name: StrategyName, played: Sequence[PlayedStep]
) -> tuple[StrategyFigures, tuple[StepFigures, ...]]:
    """Return the figures of one play, and those of each of its steps."""
    estimator = TokenEstimator()
    steps = []
    before: PlayedStep | None = None
    for item in played:
        steps.append(_step(task, name, item, before, estimator))
        before = item
    return _total(name, steps), tuple(steps)


def _step(
    task: LongTask, name: StrategyName, item: PlayedStep, before: PlayedStep | None, estimator: TokenEstimator
) -> StepFigures:
    index = item.step.index
    request = item.sent.request
    text = "\n".join(map(text_of, request))
    needed = [task.records[need] for need in item.step.needs]
    needed = [record for record in needed if record.current(index) is not None]
    changed = [record for record in task.records.values() if record.outdated(index)]
    kept = [commitment for commitment in task.commitments if commitment.in_force(index)]
    reverted = [commitment for commitment in task.commitments if commitment.taken_back(index)]
    same = _same_messages(before, request)
    return StepFigures(
        strategy=name,
        step=index,
        subtask=task.subtasks[item.step.subtask].id,
        request_tokens=estimator.estimate(request),
        added_tokens=item.sent.added_tokens,
        unchanged_tokens=estimator.estimate(request[:same]),
        retrieved=item.sent.retrieved,
        shortened=item.shortened,
        needed=len(needed),
        needed_visible=sum(_stands(record.current(index), text) >= 0 for record in needed),
        outdated=len(changed),
        outdated_visible=sum(_is_outdated(record, index, text) for record in changed),
        forgotten_visible=any(
            _stands(old, text) >= 0
            for record in changed
            if record.current(index) is None
            for old in record.outdated(index)
        ),
        kept=len(kept),
        kept_visible=sum(_is_kept(commitment, text) for commitment in kept),
        reverted=len(reverted),
        reverted_as_current=sum(_shown_in_force(commitment, text) for commitment in reverted),
        cache_prefix_changed=before is not None and same < before.sent.lasting,
        reasoning_prefix_changed=before is not None and _reasoning_moved(before.sent.request, request, same),
    )


def _stands(text: str | None, request: str) -> int:
    """Return where a text stands last in a request, -1 for nowhere."""
    return -1 if text is None else max(request.rfind(text), request.rfind(escape_text(text)))


def _is_outdated(record: Record, step: int, request: str) -> bool:
    newest = _stands(record.current(step), request)
    return any(_stands(text, request) > newest for text in record.outdated(step))


def _is_kept(commitment: Commitment, request: str) -> bool:
    if commitment.kind == "decision":
        return _shown_in_force(commitment, request)
    return _stands(commitment.text, request) >= 0


def _shown_in_force(decision: Commitment, request: str) -> bool:
    said, taken_back = (
        max(_stands(f"{state}{decision.text}", request) for state in states)
        for states in (IN_FORCE, TAKEN_BACK)
    )
    return said > taken_back


def _same_messages(before: PlayedStep | None, request: Sequence[Message]) -> int:
    """Return how many first messages are the same as in the request before."""
    if before is None:
        return 0
    pairs = zip(before.sent.request, request, strict=False)
    return next(
        (at for at, (old, new) in enumerate(pairs) if old != new), min(len(before.sent.request), len(request))
    )


def _reasoning_moved(before: Sequence[Message], request: Sequence[Message], same: int) -> bool:
    """Whether a replayed thinking part no longer stands behind the bytes it was made after."""
    thoughts = [at for at, message in enumerate(request) if _thinks(message)]
    if not thoughts:
        return False
    *older, newest = thoughts  # the newest was made after the whole request before
    return any(at > same for at in older) or not newest == same == len(before)


def _thinks(message: Message) -> bool:
    return any(isinstance(part, ReasoningPart) for part in message.parts)


def _total(name: StrategyName, steps: Sequence[StepFigures]) -> StrategyFigures:
    requested = sum(step.request_tokens for step in steps)

    def share(part: str, whole: str) -> float | None:
        parts, all_of_it = (sum(getattr(step, field) for step in steps) for field in (part, whole))
        return parts / all_of_it if all_of_it else None

    return StrategyFigures(
        strategy=name,
        label=LABELS[name],
        description=DESCRIPTIONS[name],
        retrieval_preserved=share("needed_visible", "needed"),
        outdated_shown=share("outdated_visible", "outdated"),
        forgotten_steps=sum(step.forgotten_visible for step in steps),
        decisions_preserved=share("kept_visible", "kept"),
        reverted_shown=share("reverted_as_current", "reverted"),
        mean_request_tokens=requested / len(steps),
        mean_added_tokens=sum(step.added_tokens for step in steps) / len(steps),
        unchanged_share=sum(step.unchanged_tokens for step in steps) / requested,
        passes=sum(step.retrieved for step in steps),
        shortened_steps=sum(step.shortened for step in steps),
        cache_prefix_changes=sum(step.cache_prefix_changed for step in steps),
        reasoning_prefix_changes=sum(step.reasoning_prefix_changed for step in steps),
    )

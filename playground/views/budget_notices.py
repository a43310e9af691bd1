"""Notices of numbers that do not go together: answer and window, mandatory content and limit."""

from __future__ import annotations

import math

from playground.compiler.manifest import ContextManifest
from playground.views.knobs import KNOBS
from playground.views.notices import MIN_OUTPUT, OUTPUT_STEP, Notice, NoticeAction
from playground.views.words import count

__all__ = ["mandatory_notice", "output_notice"]

ANSWER_PART = 4  # an answer gets a quarter of a window that is too small for the usual reserve


def output_notice(output: int, window: int, *, own_window: int | None = None) -> Notice | None:
    """Return the notice of an output reserve that the window cannot hold; ``None`` when it can.

    Args:
        output: The reserve, in tokens.
        window: The window, in tokens.
        own_window: The model's own window, where a smaller one was entered.
    """
    if output <= window:
        return None
    lower = window // ANSWER_PART // OUTPUT_STEP * OUTPUT_STEP
    actions = [NoticeAction(f"Lower output to {count(lower)}", "output", lower)] if lower >= MIN_OUTPUT else []
    if own_window is not None and own_window >= output:
        actions.append(NoticeAction(f"Use the window of {count(own_window)}", "window", None))
    sentence = (
        ("Output reserves ", False),
        (count(output), True),
        (" tokens for the answer, Window holds ", False),
        (count(window), True),
        (" for prompt and answer together.", False),
    )
    return Notice("error", "The answer does not fit the window", sentence, tuple(actions))


def mandatory_notice(manifest: ContextManifest) -> Notice | None:
    """Return the warning that mandatory content goes in above the limit; ``None`` when it stays below."""
    budget = manifest.budget
    if budget.required_tokens <= budget.context_tokens:
        return None
    sentence = (
        ("Mandatory content takes ", False),
        (count(budget.required_tokens), True),
        (" tokens, the limit is ", False),
        (count(budget.context_tokens), True),
        (". It goes in all the same, and nothing else does.", False),
    )
    return Notice("warning", "Mandatory content is above the limit", sentence, _raised(manifest))


def _raised(manifest: ContextManifest) -> tuple[NoticeAction, ...]:
    """A button for the one control that stops below the mandatory content; none where both do."""
    budget = manifest.budget
    room = max(0, budget.input_tokens - budget.used_tokens)
    low = [
        knob
        for knob, allows in (("ratio", int(budget.ratio * room)), ("max_tokens", budget.max_tokens))
        if allows < budget.required_tokens
    ]
    if low == ["max_tokens"]:
        spec = KNOBS["max_tokens"]
        tokens = math.ceil(budget.required_tokens / spec.step) * round(spec.step)
        if tokens > spec.most:
            return ()
        return (NoticeAction(f"Set max tokens to {count(tokens)}", "max_tokens", tokens),)
    if low == ["ratio"] and budget.required_tokens < room:
        spec = KNOBS["ratio"]
        part = round(math.ceil(budget.required_tokens / room / spec.step) * spec.step, 6)
        return (NoticeAction(f"Set ratio to {spec.written(part)}", "ratio", part),)
    return ()

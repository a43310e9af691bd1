"""Errors and warnings in words: what is wrong, what to do, and the one click that does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from playground.compiler.manifest import ContextManifest
from playground.errors import (
    ContextBudgetExceededError,
    DocumentError,
    EmbeddingUnavailableError,
    InvalidInputError,
    InvalidRequestError,
    PlaygroundError,
    ProjectError,
    SourceError,
    UnknownModelError,
)
from playground.escaping import replace_surrogates
from playground.views.links import LinkProblem
from playground.views.words import Sentence, count, joined

__all__ = [
    "GO_TO",
    "Notice",
    "NoticeAction",
    "error_notice",
    "failed_sources",
    "link_notice",
    "no_projects_notice",
    "search_notice",
    "unexpected_notice",
]

Level = Literal["error", "warning", "info"]
OUTPUT_STEP = 100  # tokens; a reserve is lowered to whole hundreds
GO_TO = "go_to"
"""In place of a control: the action opens the page that its value names."""
MIN_OUTPUT = 500  # tokens; a smaller answer is of little use


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """A button: which control it sets, and to what."""

    label: str
    control: str
    value: str | float | None
    mends: bool = True
    """Whether it mends what is wrong; a button that only takes the notice away does not."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice; texts may hold what a user wrote and are untrusted."""

    level: Level
    title: str
    sentence: Sentence
    """Text and whether it is bold."""
    actions: tuple[NoticeAction, ...] = ()
    clears: str = ""
    """What each of its buttons sets to ``None`` besides, so that the notice goes."""


def error_notice(
    error: PlaygroundError,
    *,
    output_tokens: int = 0,
    default_project: str = "",
    own_window: int | None = None,
    larger_model: str | None = None,
) -> Notice:
    """Return the notice of a typed error.

    Args:
        error: What went wrong.
        output_tokens: The output reserve now, in tokens; lowering it is one way to make room.
        default_project: The sample to fall back to.
        own_window: The model's own window in tokens, where a smaller one was entered.
        larger_model: Id of a model with more room, if there is one.
    """
    actions: list[NoticeAction] = []
    match error:
        case ContextBudgetExceededError():
            actions = _overflow_actions(error, output_tokens, own_window, larger_model)
            numbers = (("Mandatory content needs ", False), (count(error.required_tokens), True))
            rest = ((" tokens, the request leaves ", False), (count(error.available_tokens), True))
            tail = ((f". {error.remedy}", False),)
            return Notice("error", "Mandatory content does not fit", (*numbers, *rest, *tail), tuple(actions))
        case UnknownModelError():
            actions = [NoticeAction(f"Use {name}", "model", name) for name in error.suggestions]
            return _plain("error", "Unknown model", error, actions)
        case EmbeddingUnavailableError():
            actions = [NoticeAction("Use lexical search", "search", "lexical")]
            return _plain("warning", "Search by meaning is not available", error, actions)
        case ProjectError():
            if default_project:
                actions = [NoticeAction(f"Open {default_project}", "project", default_project)]
            return _plain("error", "The project cannot be used", error, actions)
        case SourceError():
            return _plain("error", "A required source failed", error)
        case DocumentError():
            return _plain("error", "A document cannot be read", error)
        case InvalidRequestError():
            return _plain("error", "The request cannot be served", error)
        case InvalidInputError():
            return _plain("error", "Something was entered that cannot be used", error)
    return _plain("error", "That did not work", error)


def unexpected_notice() -> Notice:
    """Return the notice of an error nobody raised on purpose; the log has it in full."""
    text = "An unexpected error stopped this compile. The log of the app has the details."
    return Notice("error", "Something went wrong", ((text, False),))


def no_projects_notice() -> Notice:
    """Return the notice of a package without its sample projects."""
    text = "No sample project came with this package. Install it again, with its data."
    return Notice("error", "There is nothing to open", ((text, False),))


def failed_sources(manifest: ContextManifest) -> tuple[Notice, ...]:
    """Return one warning per optional source that failed; the compile goes on without it."""
    notices = []
    for source in manifest.sources:
        if source.status == "failed":
            reason = source.error.message if source.error else "no reason given"
            others = joined(other.id for other in manifest.sources if other.status == "ok")
            rest = f"The result below rests on {others}." if others else "No other source answered."
            sentence = ((replace_surrogates(reason.rstrip(".")) + ". ", False), (rest, False))
            notices.append(Notice("warning", f"Source {source.id} failed", sentence))
    return tuple(notices)


def search_notice(note: str) -> Notice | None:
    """Return the notice that says why records were not searched as asked for; ``None`` when they were."""
    if not note:
        return None
    action = NoticeAction("Embed on the Data page", GO_TO, "data")
    return Notice("info", "Search by words", ((note, False),), (action,))


def link_notice(problems: Sequence[LinkProblem], *, models: Sequence[str] = ()) -> Notice | None:
    """Return the notice that names what a link said and was not used; ``None`` when all was.

    Args:
        problems: What was not used.
        models: Known models whose names are near the one in the link.
    """
    if not problems:
        return None
    sentence: list[tuple[str, bool]] = []
    for problem in problems:
        start = f"{problem.name} = "
        sentence += [
            (start, False),
            (problem.value or "(empty)", True),
            (f", allowed: {problem.allowed}. ", False),
        ]
    sentence.append(("The defaults are used instead.", False))
    title = "A value in the link was not used" if len(problems) == 1 else "Values in the link were not used"
    near = [NoticeAction(f"Use {name}", "model", name) for name in models]
    actions = (*near, NoticeAction("Dismiss", "link_problems", None, mends=False))
    return Notice("warning", title, tuple(sentence), actions, clears="link_problems")


def _overflow_actions(
    error: ContextBudgetExceededError, output_tokens: int, own_window: int | None, larger_model: str | None
) -> list[NoticeAction]:
    actions = []
    if own_window is not None:
        actions.append(NoticeAction(f"Use the window of {count(own_window)}", "window", None))
    # What is available is clamped at 0 when the request alone is too large: then the sum is unknown.
    lower = (output_tokens - (error.required_tokens - error.available_tokens)) // OUTPUT_STEP * OUTPUT_STEP
    if lower >= MIN_OUTPUT and error.available_tokens:
        actions.append(NoticeAction(f"Lower the output reserve to {count(lower)}", "output", lower))
    if larger_model is not None:
        actions.append(NoticeAction(f"Use {larger_model}", "model", larger_model))
    return actions


def _plain(level: Level, title: str, error: PlaygroundError, actions: Sequence[NoticeAction] = ()) -> Notice:
    return Notice(level, title, ((replace_surrogates(str(error)), False),), tuple(actions))

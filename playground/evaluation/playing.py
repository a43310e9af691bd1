"""The host's loop: it plays the long task under one strategy and keeps what was sent. No model is called."""

from __future__ import annotations

from dataclasses import dataclass

from playground.evaluation.moments import Moment, Sent, Strategy
from playground.evaluation.notes import first_notes, next_notes
from playground.evaluation.task import LongTask, Step
from playground.evaluation.world import World
from playground.messages import Message, ReasoningPart, TextPart, ToolResultPart, ToolUsePart

__all__ = ["PlayedStep", "play"]

STATES = ("fine", "fine", "slow", "fine", "retried")


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step as it was played.

    Attributes:
        step: The step of the script.
        sent: What was sent and what stays.
        shortened: Whether the history had been shortened just before.
        forgotten: Whether a memory had been forgotten just before.
    """

    step: Step
    sent: Sent
    shortened: bool
    forgotten: bool


def play(
    task: LongTask, strategy: Strategy, world: World, *, steps: int | None = None
) -> tuple[PlayedStep, ...]:
    """Play the first ``steps`` steps of the task, all by default; equal arguments give equal bytes.

    Args:
        task: The script.
        strategy: At its start; it reads the sources of ``world``.
        world: At its start.
        steps: How many model steps.
    """
    history: tuple[Message, ...] = (Message("system", task.system), Message("user", task.opening))
    notes = first_notes(task)
    played = []
    for step in task.steps[:steps]:
        forgotten = world.advance(step)
        if forgotten:
            history = strategy.forget(history, forgotten)
        if step.user:
            history = (*history, Message("user", step.user))
        notes = next_notes(task, notes, step.index) if step.index else notes
        shorter = strategy.shorten(history)
        moment = Moment(
            step=step,
            history=shorter,
            notes=notes,
            changed=bool(step.user or step.revised or forgotten),
            forgotten=bool(forgotten),
        )
        sent = strategy.prepare(moment)
        played.append(PlayedStep(step, sent, shorter != history, bool(forgotten)))
        history = (*sent.history, *_answer(task, step))
    return tuple(played)


def _answer(task: LongTask, step: Step) -> tuple[Message, ...]:
    """Return what the model says, the tool it calls, and the tool's long answer."""
    call = f"call-{step.index}"
    title = task.subtasks[step.subtask].title.lower()
    thinking = ReasoningPart(f"Still to do: {title}. Next: {step.tool}.", signature=f"signature-{step.index}")
    said = Message(
        "assistant",
        (
            thinking,
            TextPart(step.say),
            ToolUsePart(call, step.tool, {"part": step.subtask, "step": step.index}),
        ),
    )
    return said, Message("tool", (ToolResultPart(call, _output(step)),))


def _output(step: Step) -> str:
    lines = []
    for line in range(step.lines):
        count = (step.index * 7919 + line * 104_729) % 10_007
        state = STATES[count % len(STATES)]
        lines.append(
            f"{step.tool} {step.index:03d}-{line:03d}  count {count:5d}  took {count % 911:3d} ms  {state}"
        )
    return "\n".join(lines)

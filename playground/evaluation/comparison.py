"""The evaluation: the same long task played under each strategy, and what each kept in sight."""

from __future__ import annotations

from collections.abc import Sequence

from playground.compiler.budget import ContextBudget
from playground.errors import InvalidInputError
from playground.evaluation.measuring import measure
from playground.evaluation.moments import Setting
from playground.evaluation.playing import play
from playground.evaluation.report import EvaluationReport, StepFigures, StrategyFigures
from playground.evaluation.strategies import STRATEGIES, StrategyName, make_strategy
from playground.evaluation.task import load_task
from playground.evaluation.world import World
from playground.models import DEFAULT_MODEL_ID, ModelSpec, keeps_tail
from playground.values import shown, whole_number

__all__ = ["CONTEXT_WINDOW", "MAX_TOKENS", "evaluate", "setting_of"]

CONTEXT_WINDOW = 32_000  # tokens; small, so that a history of seventy steps has to be shortened several times
SMALLEST_WINDOW = 16_000  # tokens; the last four steps, which compaction leaves alone, need most of it
OUTPUT_TOKENS = 2_000  # tokens reserved for the answer
MAX_TOKENS = 1_600  # tokens added at once; about a third of what the sources hold in all
WORKING_MEMORY_TOKENS = 900  # tokens of them for optional working memory
RATIO = 0.5  # of the free room; so that a filled window does not bind before MAX_TOKENS does
CANDIDATES = 6  # of each source a retrieval
MAX_PASSES = 64  # retrievals; more than the task asks for


def evaluate(
    *,
    strategies: Sequence[StrategyName] = STRATEGIES,
    steps: int | None = None,
    model_id: str = DEFAULT_MODEL_ID,
    context_window: int = CONTEXT_WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> EvaluationReport:
    """Play the scripted task under each strategy and measure it. No model, key, clock or network.

    Args:
        strategies: Which to play.
        steps: How many model steps, at least 1; the whole script by default.
        model_id: Whose rules of placement hold: whether a request's tail stays in the history.
        context_window: The window, in tokens, at least 16,000.
        max_tokens: What a strategy may add at once, in tokens.

    Returns:
        The figures; equal arguments give equal values, in any process.

    Raises:
        InvalidInputError: For an unknown strategy or a number out of range.
    """
    task = load_task()
    count = len(task.steps) if steps is None else whole_number(steps, "steps")
    if not 1 <= count <= len(task.steps):
        raise InvalidInputError(
            f"The task has {len(task.steps)} steps, {count} were asked for.",
            remedy="Give 1 or more, up to that.",
        )
    for name in strategies:
        if name not in STRATEGIES:
            raise InvalidInputError(f"There is no strategy {shown(name)}.", remedy=f"Use one of {STRATEGIES}.")
    setting = setting_of(model_id=model_id, context_window=context_window, max_tokens=max_tokens)
    totals: list[StrategyFigures] = []
    rows: list[StepFigures] = []
    for name in strategies:
        world = World(task)
        total, each = measure(task, name, play(task, make_strategy(name, setting, world), world, steps=count))
        if not keeps_tail(model_id):
            total = total.model_copy(update={"reasoning_prefix_changes": None})
        totals.append(total)
        rows += each
    return EvaluationReport(
        model_id=model_id,
        context_window=setting.model.context_window,
        max_tokens=setting.budget.max_tokens,
        played_steps=count,
        strategies=totals,
        steps=rows,
    )


def setting_of(
    *,
    model_id: str = DEFAULT_MODEL_ID,
    context_window: int = CONTEXT_WINDOW,
    max_tokens: int = MAX_TOKENS,
) -> Setting:
    """Return what is the same for all strategies; see ``evaluate`` for the arguments.

    Raises:
        InvalidInputError: For a number out of range.
    """
    window = whole_number(context_window, "context_window")
    if window < SMALLEST_WINDOW:
        raise InvalidInputError(
            f"A window of {window:,} tokens does not hold the task's last steps.",
            remedy=f"Give {SMALLEST_WINDOW:,} or more.",
        )
    limit = whole_number(max_tokens, "max_tokens")
    return Setting(
        model=ModelSpec(
            provider="none", model_id=model_id, context_window=window, max_output_tokens=OUTPUT_TOKENS
        ),
        budget=ContextBudget(
            ratio=RATIO, max_tokens=limit, working_memory_tokens=min(WORKING_MEMORY_TOKENS, limit)
        ),
        candidates_per_source=CANDIDATES,
        max_passes=MAX_PASSES,
    )

"""One block in full: why it is in or out, and what would let it in. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from playground.blocks.side_by_side import BudgetNeeded, SideBySide
from playground.blocks.turns import BlockTurn
from playground.compiler.values import ContextPackage
from playground.errors import BlockBudgetError
from playground.views.blocks import LARGEST_BUDGET, forced_blocks, kind_label
from playground.views.blocks_comparison import ComparedBlock
from playground.views.direction import without_overrides
from playground.views.explanation import Fact
from playground.views.palette import Slot
from playground.views.words import Sentence, count, marked, plural

__all__ = ["BlockDetail", "block_detail"]


@dataclass(frozen=True, slots=True)
class BlockDetail:
    """The panel of one block; its texts are untrusted."""

    title: str
    slot: Slot
    about: str
    """``Memory, priority 40, budget``: kind, priority and outcome."""
    facts: tuple[Fact, ...]
    sentence: Sentence
    context: Sentence
    """What the context compiler did with it."""
    text: str
    more: tuple[tuple[str, str], ...]
    """Its other fields by name."""
    raise_to: int | None
    """A budget that includes it, in tokens, where it is left out and the field takes so much."""
    raise_label: str
    """What the click says that sets it; empty without one."""
    pin: str
    """``Pin`` or ``Unpin``; empty for a required block."""


def block_detail(
    one: ComparedBlock, side: SideBySide, *, turn: BlockTurn | None, smallest: BudgetNeeded | None
) -> BlockDetail:
    """Return the panel of one block.

    Args:
        one: The block and its outcomes.
        side: The two results.
        turn: Its turn in the walk, if it had one.
        smallest: What ``smallest_budget`` says from the present budget on.
    """
    block = one.block
    needed = smallest if smallest and not one.included and smallest.tokens <= LARGEST_BUDGET else None
    reason = [("Retention reason", without_overrides(block.retention_reason))] if block.retention_reason else []
    source = [("Source", without_overrides(block.source))] if block.source else []
    return BlockDetail(
        title=one.title,
        slot=one.slot,
        about=f"{kind_label(block.kind)}, priority {_number(block.priority)}, {one.outcome}",
        facts=_facts(one, turn),
        sentence=marked(_sentence(one, side, turn)),
        context=_context(one, side),
        text=block.content,
        more=(("Id", without_overrides(block.id)), *source, ("Role", block.role), *reason),
        raise_to=needed.tokens if needed else None,
        raise_label=_raise_label(needed),
        pin="" if block.required else "Unpin" if block.id in side.forced else "Pin",
    )


def _raise_label(needed: BudgetNeeded | None) -> str:
    if needed is None:
        return ""
    label = f"Raise the budget to {count(needed.tokens)}"
    return label if needed.exact else f"{label}, which surely suffices"


def _facts(one: ComparedBlock, turn: BlockTurn | None) -> tuple[Fact, ...]:
    if turn is None:
        place, left, short = Fact("Rank", "–", "not ranked"), "–", "–"
    else:
        place = Fact("Rank", count(turn.rank), f"of {count(turn.ranked)}")
        left, short = count(turn.left), count(turn.short_by) if turn.short_by else "fits"
    return (
        place,
        Fact("Tokens", count(one.block.estimated_tokens), ""),
        Fact("Left at its turn", left, "tokens" if turn else ""),
        Fact("Short by", short, "tokens" if turn and turn.short_by else ""),
    )


def _sentence(one: ComparedBlock, side: SideBySide, turn: BlockTurn | None) -> str:
    """Numbers between double stars."""
    takes = plural(one.block.estimated_tokens, "token")
    if isinstance(side.blocks, BlockBudgetError):
        must = "It is one of them. " if one.id in side.forced else ""
        return f"{forced_blocks(side)} alone do not fit, so nothing was chosen. {must}It takes **{takes}**."
    if turn is None:
        what = "required" if one.block.required else "pinned"
        return f"It is in because it is {what}, whatever its priority; it takes **{takes}**."
    if turn.short_by:
        left = count(turn.left)
        were = "was" if turn.left == 1 else "were"
        return f"It takes **{takes}**; **{left}** {were} left at its turn: **{count(turn.short_by)}** short."
    return f"It got in: **{plural(turn.left, 'token')}** left at its turn, it takes **{takes}**."


def _context(one: ComparedBlock, side: SideBySide) -> Sentence:
    if not isinstance(side.context, ContextPackage):
        error = side.context
        return marked(
            "The context compiler made nothing of it: what must be in needs "
            f"**{count(error.required_tokens)}**, the budget is **{count(error.available_tokens)}**."
        )
    tagged = f" It costs **{count(one.tagged)}** there, tags and all." if one.tagged is not None else ""
    verb = "keeps it" if one.selected else "leaves it out"
    return marked(f"The context compiler {verb}: {one.reason}.{tagged}")


def _number(value: float) -> str:
    return f"{value:,.12g}".replace("-", "−")

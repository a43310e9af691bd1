"""The budget of one request: where its tokens go, and what is left.

Pure. The parts add up to the total exactly; what the developer message holds beside its parts, headings, rules
and the date line, stands as ``system_overhead``.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from pydantic import Field

from playground.errors import ContextOverflowError, OverflowBudget
from playground.escaping import replace_surrogates
from playground.values import RecordedValue

__all__ = ["BudgetBreakdown", "PreparationBudget", "make_budget", "overflow"]


class BudgetBreakdown(RecordedValue):
    """Tokens by part; every part is there, 0 unless something counts in it."""

    system_prompt: int = 0
    """The system prompt alone."""
    persistent_instructions: int = 0
    """What the persistent instructions hold."""
    plugin_instructions: int = 0
    """The overview of the stores and the instructions of all plugins."""
    plugin_contents: Mapping[str, int] = Field(default_factory=dict)
    """The content of each plugin by name, but for the persistent instructions."""
    system_overhead: int = 0
    """What the developer message costs beyond its parts: headings, rules, the date line. A tokenizer that
    joins across borders can make it negative."""
    instructions: int = 0
    """Instructions that the adapter sends beside the input."""
    tools: int = 0
    """Function tools."""
    native_tools: int = 0
    """Tools that the provider runs."""
    response_format: int = 0
    """The response format."""
    conversation: int = 0
    """The history, as the request has it."""
    current_input: int = 0
    """The current input, as the request has it."""

    def system(self) -> int:
        """Return the tokens of the developer message's parts, without its overhead."""
        parts = self.system_prompt + self.persistent_instructions + self.plugin_instructions
        return parts + sum(self.plugin_contents.values())

    def total(self) -> int:
        """Return the tokens of all parts."""
        fixed = self.tools + self.native_tools + self.response_format
        items = self.conversation + self.current_input
        return self.system() + self.system_overhead + self.instructions + fixed + items

    def flat(self) -> dict[str, int]:
        """Return tokens by recorded name of the part; a plugin's content stands as ``plugin:<name>``."""
        flat: dict[str, int] = {}
        for name, field in type(self).model_fields.items():
            if name == "plugin_contents":
                flat.update({f"plugin:{plugin}": tokens for plugin, tokens in self.plugin_contents.items()})
            else:
                flat[field.alias or name] = getattr(self, name)
        return flat


class PreparationBudget(RecordedValue):
    """What one request holds, in tokens: estimates, not a provider's count."""

    max_tokens: int
    """The window that counts for this request."""
    response_reserve: int
    """What is kept free for the answer."""
    system_message_tokens: int
    """The whole developer message."""
    tools_tokens: int
    """Function tools, native tools and response format: fixed, never compacted."""
    conversation_tokens: int
    """The history, as the request has it."""
    current_input_tokens: int
    """The current input, as the request has it."""
    total_used: int
    """Everything that counts."""
    available: int
    """What is left below the limit; negative only in an estimate that does not compact, or in an error."""
    utilization_percent: float
    """``total_used`` of the limit, in percent. Not what the compaction's gate looks at."""
    breakdown: BudgetBreakdown
    """The same by part; adds up to ``total_used``."""
    provider_counted_input_tokens: int | None = None
    """The provider's own count of the request where one was taken; provenance, not usage."""

    @property
    def limit(self) -> int:
        """The most that fits, in tokens: the window without the reserve."""
        return self.max_tokens - self.response_reserve

    @property
    def content_capacity(self) -> int:
        """What tools leave of the limit, in tokens."""
        return self.limit - self.tools_tokens

    @property
    def content_used(self) -> int:
        """What counts against the content capacity, in tokens: system, separate instructions and all items."""
        return self.total_used - self.tools_tokens

    def _repr_html_(self) -> str:
        parts = {name: tokens for name, tokens in self.breakdown.flat().items() if tokens}
        rows = "".join(
            f"<tr><td>{html.escape(replace_surrogates(name))}</td>"
            f"<td style='text-align:right'>{tokens:,}</td></tr>"
            for name, tokens in parts.items()
        )
        head = f"{self.total_used:,} of {self.limit:,} tokens, {self.utilization_percent:.0f} %"
        return (
            f"<p><b>{head}</b></p><table><thead><tr><th>part</th><th>tokens</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def make_budget(
    *, max_tokens: int, response_reserve: int, system_tokens: int, breakdown: BudgetBreakdown
) -> PreparationBudget:
    """Return the budget of a request.

    Args:
        max_tokens: The window, in tokens.
        response_reserve: Kept free for the answer, in tokens.
        system_tokens: The whole developer message, in tokens.
        breakdown: The parts; its ``system_overhead`` is worked out here.
    """
    parts = breakdown.model_copy(update={"system_overhead": system_tokens - breakdown.system()})
    total, limit = parts.total(), max_tokens - response_reserve
    # Without any room even nothing is full.
    used = total / limit * 100 if limit > 0 else 100.0
    return PreparationBudget(
        max_tokens=max_tokens,
        response_reserve=response_reserve,
        system_message_tokens=system_tokens,
        tools_tokens=parts.tools + parts.native_tools + parts.response_format,
        conversation_tokens=parts.conversation,
        current_input_tokens=parts.current_input,
        total_used=total,
        available=limit - total,
        utilization_percent=used,
        breakdown=parts,
    )


def overflow(
    budget: PreparationBudget, message: str = "", log: Sequence[str] = (), *, remedy: str = ""
) -> ContextOverflowError:
    """Return the error for a request that does not fit.

    Args:
        budget: The request's.
        message: What is too large; the sizes are added.
        log: What was moved, dropped or cut before.
        remedy: What the reader can do.
    """
    numbers = OverflowBudget(
        actual_tokens=budget.total_used,
        max_tokens=budget.limit,
        overage_tokens=budget.total_used - budget.limit,
        breakdown=budget.breakdown.flat(),
        degradation_log=tuple(log),
    )
    advice = remedy or "Shorten what the request must hold, or choose a model with a larger window."
    return ContextOverflowError(message, remedy=advice, budget=numbers)

"""What a compiler is made with, checked once and the same in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_context
from playground.compiler.manifest import EstimatorKind, EstimatorName, estimator_kind_of
from playground.compiler.querying import budget_hints, check_sources
from playground.compiler.refresh import ContextRefresh
from playground.compiler.values import ContextSource, Kind
from playground.errors import InvalidInputError
from playground.scope import MemoryScope
from playground.tokens import TokenEstimator
from playground.values import shown
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["CompilerSettings"]

UNBOUNDED = 2**53  # tokens; room in which any working memory is rendered whole


@dataclass(frozen=True, slots=True)
class CompilerSettings:
    """The settings of one compiler; see ``ContextCompiler`` for the fields."""

    sources: tuple[ContextSource, ...]
    scope: MemoryScope
    budget: ContextBudget
    refresh: ContextRefresh
    estimator: TokenEstimator
    estimator_kind: EstimatorKind | None
    time_limit: float

    @classmethod
    def checked(
        cls,
        *,
        sources: Sequence[ContextSource],
        scope: MemoryScope | Mapping[str, Any] | None,
        budget: ContextBudget | Mapping[str, Any],
        refresh: ContextRefresh | Mapping[str, Any],
        estimator: TokenEstimator | None,
        estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None,
        time_limit: float,
    ) -> CompilerSettings:
        """Return the values of what a host passed.

        Raises:
            InvalidInputError: When an argument is malformed, two sources share an id, or the scope contradicts
                what a source is pinned to.
        """
        reach = MemoryScope.parse({} if scope is None else scope)
        if estimator is not None and not isinstance(estimator, TokenEstimator):
            raise InvalidInputError("The estimator is not a TokenEstimator.", remedy="Wrap it in one.")
        if isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not time_limit > 0:
            raise InvalidInputError(f"The time limit is {shown(time_limit)}.", remedy="Give seconds above 0.")
        return cls(
            sources=check_sources(sources, reach),
            scope=reach,
            budget=ContextBudget.parse(budget),
            refresh=ContextRefresh.parse(refresh),
            estimator=TokenEstimator() if estimator is None else estimator,
            estimator_kind=estimator_kind_of(estimator_kind),
            time_limit=time_limit,
        )

    def share_hints(self, room: int, working_memory: WorkingMemorySnapshot | None) -> dict[Kind, int]:
        """Return the tokens of each kind's share when a request leaves ``room`` tokens."""
        return budget_hints(
            self.budget,
            context_tokens=self.budget.context_tokens(room),
            tail_tokens=self._tail_tokens(working_memory),
        )

    def _tail_tokens(self, working_memory: WorkingMemorySnapshot | None) -> int:
        if working_memory is None:
            return 0
        tail = compile_context(
            results=(),
            messages=(),
            input_tokens=UNBOUNDED,
            used_tokens=0,
            budget=self.budget,
            working_memory=working_memory,
            estimator=self.estimator,
        )
        return tail.manifest.budget.selected_tokens

"""Decide what goes into a model call: a context compiler, its sources and its explanation."""

from playground.cancel import CancelToken
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.compile import compile_context
from playground.compiler.manifest import ContextManifest, context_warnings
from playground.compiler.values import ContextCandidate, ContextPackage, Provenance, SourceResult
from playground.errors import (
    ContextBudgetExceededError,
    InvalidInputError,
    InvalidRequestError,
    PlaygroundError,
    SourceError,
)
from playground.scope import MemoryScope
from playground.tokens import ANTHROPIC_TOOL_FRAMING_TOKENS, TokenEstimator
from playground.working_memory import create_working_memory

__all__ = [
    "ANTHROPIC_TOOL_FRAMING_TOKENS",
    "DEFAULT_CONTEXT_BUDGET",
    "CancelToken",
    "ContextBudget",
    "ContextBudgetExceededError",
    "ContextCandidate",
    "ContextManifest",
    "ContextPackage",
    "InvalidInputError",
    "InvalidRequestError",
    "MemoryScope",
    "PlaygroundError",
    "Provenance",
    "SourceError",
    "SourceResult",
    "TokenEstimator",
    "compile_context",
    "context_warnings",
    "create_working_memory",
]

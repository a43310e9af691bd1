"""Decide what goes into a model call: a context compiler, its sources and its explanation.

The names here are the public API. Importing it loads neither Streamlit nor pandas, Altair or torch.
"""

from playground.cancel import CancelToken
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget, ContextShares
from playground.compiler.compile import compile_context, compile_offers
from playground.compiler.compiler import ContextCompiler, ContextCompilerState
from playground.compiler.explain import binding_constraint, explain
from playground.compiler.manifest import ContextManifest, ManifestEntry, context_warnings
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.placement import (
    history_messages,
    request_messages,
    without_blocks,
    without_records,
)
from playground.compiler.refresh import COMPACTION_SUMMARY, DEFAULT_CONTEXT_REFRESH, ContextRefresh
from playground.compiler.reporting import CompileReport
from playground.compiler.values import (
    ContextBlock,
    ContextCandidate,
    ContextPackage,
    ContextSource,
    ContextSourceRequest,
    MandatorySource,
    Provenance,
    SourceResult,
)
from playground.errors import (
    CallCancelledError,
    ContextBudgetExceededError,
    InvalidInputError,
    InvalidRequestError,
    PlaygroundError,
    SourceError,
    ToolExecutionError,
)
from playground.memory import InMemoryMemoryStore, MemorySession
from playground.messages import Message, ToolResultPart, ToolUsePart
from playground.models import ModelSpec
from playground.scope import MemoryScope, MemorySourceRef
from playground.sources import (
    ChatRecord,
    InMemoryChatStore,
    MemorySource,
    RagSource,
    Skill,
    SkillRegistry,
    SkillsSource,
    TranscriptSource,
)
from playground.tokens import ANTHROPIC_TOOL_FRAMING_TOKENS, TokenEstimator
from playground.tools import Tool, ToolContext
from playground.working_memory import (
    InMemoryWorkingMemory,
    WorkingMemoryHandle,
    WorkingMemoryPatch,
    WorkingMemorySnapshot,
    apply_working_memory_patch,
    create_working_memory,
    working_memory_tools,
)

__all__ = [
    "ANTHROPIC_TOOL_FRAMING_TOKENS",
    "COMPACTION_SUMMARY",
    "DEFAULT_CONTEXT_BUDGET",
    "DEFAULT_CONTEXT_REFRESH",
    "CallCancelledError",
    "CancelToken",
    "ChatRecord",
    "CompileInputs",
    "CompileReport",
    "ContextBlock",
    "ContextBudget",
    "ContextBudgetExceededError",
    "ContextCandidate",
    "ContextCompiler",
    "ContextCompilerState",
    "ContextManifest",
    "ContextPackage",
    "ContextRefresh",
    "ContextShares",
    "ContextSource",
    "ContextSourceRequest",
    "InMemoryChatStore",
    "InMemoryMemoryStore",
    "InMemoryWorkingMemory",
    "InvalidInputError",
    "InvalidRequestError",
    "MandatorySource",
    "ManifestEntry",
    "MemoryScope",
    "MemorySession",
    "MemorySource",
    "MemorySourceRef",
    "Message",
    "ModelSpec",
    "PlaygroundError",
    "Provenance",
    "RagSource",
    "Skill",
    "SkillRegistry",
    "SkillsSource",
    "SourceError",
    "SourceResult",
    "TokenEstimator",
    "Tool",
    "ToolContext",
    "ToolExecutionError",
    "ToolResultPart",
    "ToolUsePart",
    "TranscriptSource",
    "WorkingMemoryHandle",
    "WorkingMemoryPatch",
    "WorkingMemorySnapshot",
    "apply_working_memory_patch",
    "binding_constraint",
    "compile_context",
    "compile_offers",
    "context_warnings",
    "create_working_memory",
    "explain",
    "history_messages",
    "prepare",
    "request_messages",
    "without_blocks",
    "without_records",
    "working_memory_tools",
]

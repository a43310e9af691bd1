"""Context preparation: select a request that fits right before a model call, and lose nothing unsaid.

The second system: a context keeps a conversation with its tools and plugins; ``prepare`` renders and counts
it, compacts it at most once when it is over its critical line, and returns a request that fits or raises.
Everything that is moved, dropped or cut is told.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from playground.errors import (
    AIError,
    ContextBusyError,
    ContextChangedError,
    ContextOverflowError,
    InvalidToolProtocolError,
    OverflowBudget,
)
from playground.preparation.algorithmic import AlgorithmicStrategy
from playground.preparation.budget import BudgetBreakdown, PreparationBudget
from playground.preparation.chat_export import export_anthropic, export_openai
from playground.preparation.chat_import import ImportedConversation, import_conversation, import_conversations
from playground.preparation.compaction_context import CompactionContext
from playground.preparation.compactors import (
    ContextComponent,
    MemoryEvictionCompactor,
    SummarizeCompactor,
    TruncateCompactor,
)
from playground.preparation.context import AgentContext
from playground.preparation.default_strategy import DefaultStrategy
from playground.preparation.direct_guard import trim_direct_request
from playground.preparation.estimation import ApproximateEstimator, PreparationEstimator
from playground.preparation.events import (
    EVENTS,
    BudgetEvent,
    CompactionStarting,
    ContextCleared,
    ContextCompacted,
    ContextPrepared,
    InputReplaced,
    OversizedEvent,
    RolledOver,
)
from playground.preparation.file_storage import FileContextStorage
from playground.preparation.in_context_memory import InContextMemoryPlugin
from playground.preparation.inspection import ContextInspection, ContextView
from playground.preparation.journal import JournalEntry, read_journal
from playground.preparation.memory_entries import MemoryEntry
from playground.preparation.memory_scopes import task_priority
from playground.preparation.memory_storage import InMemoryContextStorage
from playground.preparation.memory_store import MemoryStore
from playground.preparation.persistent_instructions import PersistentInstructionsPlugin
from playground.preparation.ports import (
    BasePlugin,
    CompactionStrategy,
    ContextPlugin,
    ContextStorage,
    StoreAction,
    StoreHandler,
    StoreSchema,
)
from playground.preparation.protocol import Group
from playground.preparation.results import (
    CompactionResult,
    ConsolidationResult,
    ContextPreparation,
    ContextPrepareOptions,
    ContextSnapshot,
    OversizedInput,
    PreparedContext,
    RequestOptions,
    RolloverResult,
    SessionSummary,
)
from playground.preparation.strategies import StrategyInfo, StrategyRegistry, strategy_registry
from playground.preparation.tool_catalog import ToolCatalogPlugin, ToolGroup
from playground.preparation.tool_manager import ContextTool, ToolManager
from playground.preparation.working_memory_plugin import WorkingMemoryPlugin

if TYPE_CHECKING:
    from playground.preparation.sql_storage import SqlContextStorage

__all__ = [
    "EVENTS",
    "AIError",
    "AgentContext",
    "AlgorithmicStrategy",
    "ApproximateEstimator",
    "BasePlugin",
    "BudgetBreakdown",
    "BudgetEvent",
    "CompactionContext",
    "CompactionResult",
    "CompactionStarting",
    "CompactionStrategy",
    "ConsolidationResult",
    "ContextBusyError",
    "ContextChangedError",
    "ContextCleared",
    "ContextCompacted",
    "ContextComponent",
    "ContextInspection",
    "ContextOverflowError",
    "ContextPlugin",
    "ContextPreparation",
    "ContextPrepareOptions",
    "ContextPrepared",
    "ContextSnapshot",
    "ContextStorage",
    "ContextTool",
    "ContextView",
    "DefaultStrategy",
    "FileContextStorage",
    "Group",
    "ImportedConversation",
    "InContextMemoryPlugin",
    "InMemoryContextStorage",
    "InputReplaced",
    "InvalidToolProtocolError",
    "JournalEntry",
    "MemoryEntry",
    "MemoryEvictionCompactor",
    "MemoryStore",
    "OverflowBudget",
    "OversizedEvent",
    "OversizedInput",
    "PersistentInstructionsPlugin",
    "PreparationBudget",
    "PreparationEstimator",
    "PreparedContext",
    "RequestOptions",
    "RolledOver",
    "RolloverResult",
    "SessionSummary",
    "SqlContextStorage",
    "StoreAction",
    "StoreHandler",
    "StoreSchema",
    "StrategyInfo",
    "StrategyRegistry",
    "SummarizeCompactor",
    "ToolCatalogPlugin",
    "ToolGroup",
    "ToolManager",
    "TruncateCompactor",
    "WorkingMemoryPlugin",
    "export_anthropic",
    "export_openai",
    "import_conversation",
    "import_conversations",
    "read_journal",
    "strategy_registry",
    "task_priority",
    "trim_direct_request",
]

_LATER = {"SqlContextStorage": "playground.preparation.sql_storage"}  # SQLAlchemy takes its time


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)

"""The project value: what a compile draws on, and what it is searched by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.refresh import build_query
from playground.memory import MemoryRecord, MemoryTombstone
from playground.messages import Message
from playground.models import ModelSpec, find_model
from playground.retrieval.chunking import (
    DEFAULT_OVERLAP,
    DEFAULT_SIZE,
    Chunk,
    Chunker,
    chunk_blocks,
    chunk_fixed,
    chunk_recursive,
    chunk_semantic,
)
from playground.retrieval.corpus import Corpus, search_text
from playground.retrieval.documents import Document
from playground.scope import MemoryScope
from playground.sources import ChatRecord, Skill
from playground.values import RecordedValue
from playground.workspace.labels import RecordLabel, chat_label, chunk_label, memory_label, skill_label
from playground.workspace.scenario import Scenario
from playground.workspace.vectors import VectorTable

if TYPE_CHECKING:
    from playground.retrieval.index import ExactIndex
    from playground.retrieval.lexical import LexicalIndex
    from playground.working_memory import WorkingMemorySnapshot
    from playground.working_memory.difference import WorkingMemoryRevision

__all__ = ["CANDIDATES_PER_SOURCE", "DEFAULT_RESERVE", "FORMAT_VERSION", "ChunkSettings", "Project"]

FORMAT_VERSION = 1  # of a project folder
CANDIDATES_PER_SOURCE = 16  # records each source offers unless a project says otherwise
DEFAULT_RESERVE = (
    8_000  # tokens of an answer where a project does not say; a model's limit can be half a window
)
CHUNK_TOKENS = 1_000_000  # more fit no model; far below what a float can hold
_CHUNKERS = {
    "fixed": chunk_fixed,
    "recursive": chunk_recursive,
    "blocks": chunk_blocks,
    "semantic": chunk_semantic,
}
# What is built once a project, and the parts that it is built from.
_BUILT = {
    "chunk_words": ("corpus",),
    "chunk_vectors": ("corpus", "vectors"),
    "_chunks_by_id": ("corpus",),
    "_memories_by_id": ("memories",),
    "_chats_by_id": ("chats",),
    "_skills_by_id": ("skills",),
}


class ChunkSettings(RecordedValue):
    """How documents are cut."""

    method: Literal["fixed", "recursive", "blocks", "semantic"] = "recursive"
    """Windows; separators; Markdown blocks; or sections split by meaning."""
    size: int = Field(default=DEFAULT_SIZE, ge=1, le=CHUNK_TOKENS)
    """Tokens a chunk, four characters each."""
    overlap: int = Field(default=DEFAULT_OVERLAP, ge=0, le=CHUNK_TOKENS)
    """Tokens that neighbours share."""

    @property
    def chunker(self) -> Chunker:
        """The function that cuts one text."""
        return partial(_CHUNKERS[self.method], size=self.size, overlap=self.overlap)


@dataclass(frozen=True, eq=False)
class Project:
    """Everything one compile draws on. Frozen; compared by identity, recognised by ``digest``.

    The budget, the scope and the chunking may be given as mappings; fields left out keep their default.

    Attributes:
        name: Folder name.
        title: What people see.
        description: One or two sentences.
        question: What is asked at first.
        corpus: Documents and chunks.
        memories: Records with their revisions, in file order.
        forgotten: What is left of forgotten memories; their ids are not given out again.
        chats: Past chats.
        chat_titles: What people see of a chat, by chat id.
        skills: Catalogue lines and bodies, by id.
        working_memory: Goal, rules and tasks of the task at hand.
        working_memory_history: What the newest patches of the working memory changed, the newest last.
        messages: The conversation so far, without the question.
        tools: Schemas that every request carries.
        scenarios: Labelled questions.
        model_id: The model that is asked.
        context_window: Its window in tokens; ``None`` for the catalogue's figure.
        max_output_tokens: What is reserved for the answer, in tokens; ``None`` for ``DEFAULT_RESERVE``.
        budget: Recommended budget.
        candidates_per_source: Records each source offers at most.
        scope: Whose memories and chats are read.
        chat_id: The conversation at hand; it is left out of the past chats.
        chunking: How new documents are cut.
        vectors: Vectors that came with the project.
        digest: ``sha256:<hex>`` of the files it was loaded from; a key for caches.
        warnings: What was odd about the files, for people.

    Raises:
        InvalidInputError: When the budget, the scope or the chunking is malformed.
    """

    name: str
    title: str = ""
    description: str = ""
    question: str = ""
    corpus: Corpus = field(default_factory=Corpus)
    memories: tuple[MemoryRecord, ...] = ()
    forgotten: tuple[MemoryTombstone, ...] = ()
    chats: tuple[ChatRecord, ...] = ()
    chat_titles: Mapping[str, str] = field(default_factory=dict)
    skills: tuple[Skill, ...] = ()
    working_memory: WorkingMemorySnapshot | None = None
    working_memory_history: tuple[WorkingMemoryRevision, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    model_id: str = "claude-opus-5-5"
    context_window: int | None = None
    max_output_tokens: int | None = None
    budget: ContextBudget = DEFAULT_CONTEXT_BUDGET
    candidates_per_source: int = CANDIDATES_PER_SOURCE
    scope: MemoryScope = field(default_factory=MemoryScope)
    chat_id: str = ""
    chunking: ChunkSettings = field(default_factory=ChunkSettings)
    vectors: VectorTable = field(default_factory=VectorTable)
    digest: str = ""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("budget", ContextBudget), ("scope", MemoryScope), ("chunking", ChunkSettings)):
            object.__setattr__(self, name, kind.parse(getattr(self, name)))

    def with_parts(self, **parts: Any) -> Project:
        """Return a project with other parts; indexes of parts that stay are taken along, not built again.

        Args:
            **parts: Fields with their new values; a changed project needs a ``digest`` of its own.
        """
        changed = replace(self, **parts)
        for name, sources in _BUILT.items():
            if name in self.__dict__ and all(getattr(self, part) is getattr(changed, part) for part in sources):
                changed.__dict__[name] = self.__dict__[name]
        return changed

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents."""
        return self.corpus.documents

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks, by ascending index."""
        return self.corpus.chunks

    @property
    def model(self) -> ModelSpec:
        """The project's own model; see ``model_for``."""
        return self.model_for()

    def model_for(self, model_id: str | None = None) -> ModelSpec:
        """Return a model with the window and the reserve that this project gives it.

        The project's own window holds for its own model alone; the reserve goes with the task and holds for
        every model, as far as its output limit and the window allow.

        Args:
            model_id: Any spelling; the project's own model by default.

        Raises:
            UnknownModelError: When no catalogue entry has the id.
        """
        entry = find_model(self.model_id if model_id is None else model_id)
        own = model_id is None or self.model_id in (model_id, entry.model_id)
        window = self.context_window if own and self.context_window is not None else entry.context_window
        reserve = DEFAULT_RESERVE if self.max_output_tokens is None else self.max_output_tokens
        return ModelSpec(
            provider=entry.provider,
            model_id=self.model_id if own else entry.model_id,
            context_window=window,
            max_output_tokens=min(reserve, entry.max_output_tokens, window),
        )

    def request_messages(self, question: str | None = None) -> tuple[Message, ...]:
        """Return the conversation with the question as its last message; a blank question adds none."""
        asked = self.question if question is None else question
        return (*self.messages, Message("user", asked)) if asked.strip() else self.messages

    def query(self, question: str | None = None) -> str:
        """Return what the sources are asked for a question: the active task's title, then the question."""
        return build_query(self.request_messages(question), self.working_memory)

    def for_scenario(self, scenario: Scenario) -> Project:
        """Return the project as a labelled question asks it.

        One that says whose memories and chats it is about is asked in a new chat of theirs: of the conversation
        only the system messages stay, and the working memory goes, for both belong to the task at hand.

        Args:
            scenario: Any; it need not be one of the project's own.
        """
        state = hashlib.sha256(f"{self.digest}\0scenario\0{scenario.to_json()}".encode())
        parts: dict[str, Any] = {"question": scenario.question, "digest": f"sha256:{state.hexdigest()}"}
        if scenario.scope is not None:
            parts |= {
                "scope": scenario.scope,
                "messages": tuple(message for message in self.messages if message.role == "system"),
                "working_memory": None,
                "working_memory_history": (),
                "chat_id": "",
            }
        return self.with_parts(**parts)

    def label(self, source_id: str, record_id: str) -> RecordLabel:
        """Say in words what a record is; an unknown one gives an empty label."""
        match source_id:
            case "rag":
                chunk = self._chunks_by_id.get(record_id)
                return chunk_label(chunk) if chunk else RecordLabel()
            case "memory":
                record = self._memories_by_id.get(record_id)
                return memory_label(record) if record else RecordLabel()
            case "transcript":
                return chat_label(record_id, self._chats_by_id, self.chat_titles)
            case "skills":
                return skill_label(record_id, self._skills_by_id)
            case "working-memory":
                return RecordLabel(origin=record_id.partition("/")[0])
        return RecordLabel()

    @cached_property
    def chunk_words(self) -> LexicalIndex:
        """The lexical index of the chunks, built once."""
        from playground.retrieval.lexical import LexicalIndex  # noqa: PLC0415  # brings bm25s

        return LexicalIndex((search_text(chunk) for chunk in self.chunks), list(self._chunks_by_id))

    @cached_property
    def chunk_vectors(self) -> ExactIndex:
        """The index of the chunks that came with vectors, built once."""
        from playground.retrieval.index import ExactIndex  # noqa: PLC0415  # brings NumPy

        known, rows = self.vectors.known([search_text(chunk) for chunk in self.chunks])
        return ExactIndex([str(self.chunks[at].index) for at in known], rows)

    @cached_property
    def _chunks_by_id(self) -> dict[str, Chunk]:
        return {str(chunk.index): chunk for chunk in self.chunks}

    @cached_property
    def _memories_by_id(self) -> dict[str, MemoryRecord]:
        return {record.id: record for record in self.memories}

    @cached_property
    def _chats_by_id(self) -> dict[str, ChatRecord]:
        return {chat.chat_id: chat for chat in self.chats}

    @cached_property
    def _skills_by_id(self) -> dict[str, Skill]:
        return {skill.id: skill for skill in self.skills}

"""A host around a compiler, as the tests need one: sources that keep what they were asked, and a loop.

The loop does what a host must do: it sends the request, and only after the call succeeded does it let the
blocks join the history, followed by the model's answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from playground import (
    ContextCandidate,
    ContextCompiler,
    ContextPackage,
    ContextSourceRequest,
    Skill,
    SkillRegistry,
    SkillsSource,
    WorkingMemorySnapshot,
    create_working_memory,
    history_messages,
    request_messages,
)
from playground.compiler.refresh import COMPACTION_SUMMARY
from playground.compiler.values import Kind
from playground.messages import Message, ReasoningPart, TextPart, ToolResultPart, ToolUsePart, as_messages

MODEL = {"provider": "openai", "model_id": "gpt-5", "context_window": 20_000, "max_output_tokens": 4_000}
# A model that binds its thinking to the bytes before it.
TAIL_KEPT_MODEL = {**MODEL, "provider": "anthropic", "model_id": "claude-opus-5-5"}
QUESTION = {"role": "user", "content": "How do I deploy?"}
RECORD = ContextCandidate("r1", "Deploys need a green CI run.", 0.9)

AnySkills = TypeVar("AnySkills", bound=SkillsSource)

# A model has loaded a skill; compaction prunes the result later.
LOAD = Message("assistant", (ToolUsePart("t1", "load_skill", {"id": "x"}),))
RESULT = Message("tool", (ToolResultPart("t1", "Step one: breathe."),))
PRUNED = Message("tool", (ToolResultPart("t1", "[pruned 18 chars]"),))


@dataclass
class Spy:
    """A source that answers ``found`` and keeps what it was asked."""

    found: Sequence[ContextCandidate] = (RECORD,)
    id: str = "rag"
    kind: Kind = "rag"
    required: bool = False
    fails: BaseException | None = None
    seconds: float = 0.0
    asked: list[ContextSourceRequest] = field(default_factory=list)

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        self.asked.append(request)
        await asyncio.sleep(self.seconds)
        if self.fails is not None:
            raise self.fails
        return self.found


def step(compiler: ContextCompiler, number: int = 0, **changed: Any) -> ContextPackage:
    """One call of the compiler, by default of a history that is one question."""
    return compiler.before_model_call_sync(**call(number, **changed))


def call(number: int = 0, **changed: Any) -> dict[str, Any]:
    """The arguments of a step."""
    return {"run_id": "run", "step": number, "messages": [QUESTION], "model": MODEL, **changed}


def fails_to_rewrite(rewrite: Any, **options: Any) -> None:
    """Check that a failing ``rewrite`` leaves the query alone, and that one warning without content says so."""
    warnings: list[Mapping[str, Any]] = []
    spy = Spy()
    compiler = ContextCompiler(
        sources=[spy], refresh={"rewrite_query": rewrite}, on_warning=warnings.append, **options
    )
    assert step(compiler).manifest.fallback is None
    assert spy.asked[0].query == QUESTION["content"]
    (warning,) = warnings
    assert warning["type"] == "context-query-rewrite-failed"
    assert "secret reason" not in str(warning)
    assert QUESTION["content"] not in str(warning)


def retry_of(compiler: ContextCompiler, number: int, input_tokens: int, **changed: Any) -> ContextPackage:
    """The step once more, after the provider refused its request."""
    return compiler.on_overflow_sync(input_tokens=input_tokens, **call(number, **changed))


def chosen(package: ContextPackage) -> set[str]:
    """Ids of the selected entries."""
    return {entry.record_id for entry in package.manifest.entries if entry.selected}


def one_skill(kind: type[AnySkills] = SkillsSource) -> AnySkills:  # type: ignore[assignment]  # the base
    """A source of one skill, the one that ``LOAD`` loads."""
    return kind(SkillRegistry([Skill("x", "x", "Breathes.", "Step one: breathe.")]))


def pruned(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history after a compaction that prunes the skill's result."""
    return tuple(PRUNED if message == RESULT else message for message in history)


def appended(history: Sequence[Any], package: ContextPackage) -> list[Any]:
    """The history with the retrieval block, everything else as it came."""
    blocks = [block for block in package.blocks if block.placement == "append"]
    return [*history, *(message for block in blocks for message in block.messages)]


def tasks(active: str | None, revision: int = 0) -> WorkingMemorySnapshot:
    """A working memory with two tasks."""
    memory = create_working_memory(
        scope="t",
        tasks={
            "list": [{"id": "a", "title": "Ship it"}, {"id": "b", "title": "Test it"}],
            "active_task_id": active,
        },
        now=0,
    )
    return memory.model_copy(update={"revision": revision})


def goal(text: str, revision: int = 0) -> WorkingMemorySnapshot:
    """A working memory with a goal and nothing else."""
    return create_working_memory(scope="t", goal=text, now=0).model_copy(update={"revision": revision})


@dataclass
class Host:
    """A loop that drives a compiler and keeps every request it sent."""

    compiler: ContextCompiler
    history: tuple[Message, ...] = as_messages([QUESTION])
    model: Mapping[str, Any] = field(default_factory=lambda: MODEL)
    next_step: int = 0
    requests: list[tuple[Message, ...]] = field(default_factory=list)
    packages: list[ContextPackage] = field(default_factory=list)

    def turn(self, *, succeeds: bool = True, **changed: Any) -> ContextPackage:
        """Compile, send, and where the model call succeeds let history grow."""
        package = self.compiler.before_model_call_sync(
            **{**call(self.next_step, messages=self.history, model=self.model), **changed}
        )
        return self.sent(package, succeeds=succeeds)

    def sent(self, package: ContextPackage, *, succeeds: bool = True) -> ContextPackage:
        """Send a package's request; the answer thinks first, as models do."""
        self.requests.append(request_messages(self.history, package))
        self.packages.append(package)
        if succeeds:
            number = self.next_step
            answer = (ReasoningPart(f"thought {number}", signature=f"s{number}"), TextPart(f"answer {number}"))
            self.history = (*history_messages(self.history, package), Message("assistant", answer))
            self.next_step += 1
        return package

    def says(self, text: str) -> None:
        """The user says something."""
        self.history = (*self.history, Message("user", text))

    def compacts(self, keep: int, summary: str = "They talked.") -> None:
        """Compaction: everything between the first user message and the last ``keep`` becomes a summary."""
        head, tail = self.history[:1], self.history[max(1, len(self.history) - keep) :]
        self.history = (*head, Message("user", f"{COMPACTION_SUMMARY}\n{summary}"), *tail)

    def edits(self, change: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> None:
        """The host changes its history."""
        self.history = change(self.history)


def texts_of(messages: Sequence[Message]) -> str:
    """Everything that is said in messages, one after the other."""
    return "\n".join(part.text for message in messages for part in message.parts if hasattr(part, "text"))


def blocks_in(messages: Sequence[Message]) -> list[str]:
    """The retrieval blocks among messages."""
    return [
        m.content for m in messages if isinstance(m.content, str) and m.content.startswith("<deuz_context ")
    ]

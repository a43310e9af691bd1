"""The model's tools for its working memory: what they cost, how a call is written, what came of one.

Pure. What a person typed and what an item says is untrusted text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError, PlaygroundError, ToolExecutionError
from playground.escaping import replace_surrogates
from playground.tokens import TokenEstimator
from playground.tools import Tool
from playground.views.words import plural
from playground.working_memory import WorkingMemoryPatch, WorkingMemorySnapshot
from playground.working_memory.items import Writer

__all__ = [
    "Answer",
    "ToolView",
    "answered",
    "failed",
    "parsed_input",
    "patch_view",
    "pretty",
    "sample_input",
    "sample_patch",
    "tools_total",
    "tools_view",
]

NO_ID = "the id of an item that the model wrote"
"""What stands in an update to start from while there is none."""
_SHOWN = 60_000  # characters of an answer or a schema


@dataclass(frozen=True, slots=True)
class ToolView:
    """One tool as a model is shown it."""

    name: str
    description: str
    schema: str
    """JSON of its input's schema, for people."""
    total: str
    """``would add 308 tokens to every request``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: a receipt, or an error that the model may read."""

    title: str
    body: str
    failed: bool


def tools_view(tools: Sequence[Tool], estimator: TokenEstimator) -> tuple[ToolView, ...]:
    """Return the tools in words.

    Args:
        tools: As ``working_memory_tools`` makes them.
        estimator: Counts what their schemas take of every request.
    """
    return tuple(
        ToolView(
            name=tool.name,
            description=tool.description,
            schema=_shown(tool.parameters),
            total=_added(estimator.overhead([tool.schema()])),
        )
        for tool in tools
    )


def patch_view() -> ToolView:
    """Return what stands for a patch among the tools: it is what they all come to."""
    return ToolView(
        name="patch",
        description=(
            "A patch as JSON, for any writer, revision and operation id: what every button and every tool "
            "comes to. Send one twice, for an old revision, or with an unknown item, and read the refusal."
        ),
        schema=_shown(WorkingMemoryPatch.model_json_schema(by_alias=True)),
        total="no tool of the model",
    )


def tools_total(tools: Sequence[Tool], estimator: TokenEstimator) -> str:
    """Return what all their schemas would cost together.

    ``3 tools · would add 1,024 tokens to every request; not counted above``: the compile that the page shows is
    one without them.
    """
    tokens = estimator.overhead([tool.schema() for tool in tools])
    return f"{plural(len(tools), 'tool')} · {_added(tokens)}; not counted above"


def sample_input(verb: str, snapshot: WorkingMemorySnapshot) -> str:
    """Return an input to start from, as JSON for people.

    Args:
        verb: How the tool's name ends: ``read``, ``add`` or ``update``.
        snapshot: The newest question or item that a model may change is what an update changes.
    """
    match verb:
        case "read":
            return pretty({"sections": ["decisions", "questions"]})
        case "add":
            item = {
                "kind": "decision",
                "text": "Ask before anything that cannot be undone.",
                "rationale": "It is quicker than to mend it.",
            }
            return pretty({"items": [item]})
    for question in reversed(snapshot.questions):
        if question.open_to_model and question.status != "dropped":
            answer = {"action": "answer", "id": question.id, "answer": "Still to be found out."}
            return pretty({"changes": [answer]})
    items = (*snapshot.decisions, *snapshot.attempts, *snapshot.hypotheses, *snapshot.observations)
    known = next((item.id for item in reversed(items) if item.open_to_model), NO_ID)
    return pretty({"changes": [{"action": "remove", "id": known}]})


def sample_patch(snapshot: WorkingMemorySnapshot, writer: Writer) -> str:
    """Return a patch to start from, for the present revision, as JSON for people."""
    operation = {"op": "add-observation", "text": "Written as a patch by hand."}
    return pretty(
        {
            "operationId": f"by-hand-{snapshot.revision + 1}",
            "expectedRevision": snapshot.revision,
            "writer": writer,
            "operations": [operation],
        }
    )


def parsed_input(text: str) -> Any:
    """Return the JSON value that somebody typed.

    Raises:
        InvalidInputError: When it is none; says where.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise InvalidInputError(
            f"This is no JSON: {reason}.", remedy="Check quotes, commas and brackets."
        ) from None


def answered(tool: str, receipt: Mapping[str, Any]) -> Answer:
    """Return what a call gave."""
    status = receipt.get("status")
    title = f"{tool} answered" + (f": {status}" if isinstance(status, str) else "")
    return Answer(title, _shown(receipt), failed=False)


def failed(tool: str, error: PlaygroundError, *, sent: str = "called") -> Answer:
    """Return the error that the model would read, or why there was no call.

    Args:
        tool: Name of what failed.
        error: Why.
        sent: What was not done with it when its input was no input at all.
    """
    body = replace_surrogates(str(error))
    if isinstance(error, ToolExecutionError):
        return Answer(f"{tool} failed: {error.reason or 'refused'}", body, failed=True)
    return Answer(f"{tool} was not {sent}", body, failed=True)


def pretty(value: Any) -> str:
    """Write a value as JSON for people.

    Half a character becomes the escape that JSON has for it, so that an id that is sent back is still the id.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    """Write a value as JSON that is only looked at, cut where it is very long."""
    text = pretty(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n…"


def _added(tokens: int) -> str:
    return f"would add {plural(tokens, 'token')} to every request"

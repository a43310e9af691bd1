"""JSON Schemas of the requests that two providers take, made from the types of their own packages.

The packages' types are dictionaries that Python checks lazily or not at all; as a schema they check everything.
Fields that a type does not name are refused here, or a stray one would pass.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import TypeAdapter

__all__ = ["anthropic_faults", "openai_faults"]


def anthropic_faults(body: Any) -> list[str]:
    """What is wrong with the body of a Messages request; empty where nothing is."""
    return _faults(_anthropic(), body)


def openai_faults(body: Any) -> list[str]:
    """What is wrong with the body of a Chat Completions request; empty where nothing is."""
    return _faults(_openai(), body)


@cache
def _anthropic() -> Draft202012Validator:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return _validator(MessageCreateParamsNonStreaming)


@cache
def _openai() -> Draft202012Validator:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return _validator(CompletionCreateParamsNonStreaming)


def _validator(kind: Any) -> Draft202012Validator:
    schema = TypeAdapter(kind).json_schema()
    Draft202012Validator.check_schema(schema)
    _close(schema)
    return Draft202012Validator(schema)


def _close(schema: Any) -> None:
    """Refuse what an object with named fields does not name; objects of free data stay open."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema["additionalProperties"] = False
        for part in schema.values():
            _close(part)
    elif isinstance(schema, list):
        for part in schema:
            _close(part)


def _faults(validator: Draft202012Validator, body: Any) -> list[str]:
    return [f"{fault.json_path}: {fault.message[:200]}" for fault in validator.iter_errors(body)]

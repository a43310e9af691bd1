"""What context preparation must come to, by slow and obvious code that shares nothing with the package.

Items are plain dictionaries. Pairs are found by looking through everything, groups by joining sets until no two
touch, counts by the table of the requirements.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

Json = dict[str, Any]
NATIVE = ("function_call_output", "custom_tool_call_output")


def calls_of(item: Json) -> list[tuple[str, str, bool]]:
    """Namespace, id and whether the provider answers later, of each call in an item."""
    found: list[tuple[str, str, bool]] = []
    for block in item["content"] if item["type"] == "message" else ():
        if block["type"] in {"tool_use", "custom_tool_use"}:
            namespace = "custom" if block["type"].startswith("custom") else "function"
            found.append((namespace, block["id"], block.get("async") is True))
    return found


def results_of(item: Json) -> list[tuple[str, str]]:
    """Namespace and id of each final result in an item."""
    namespace = "custom" if item["type"].startswith("custom") else "function"
    if item["type"] in NATIVE:
        return [(namespace, item["call_id"])]
    found = []
    for block in item["content"] if item["type"] == "message" else ():
        if block["type"] in {"tool_result", "custom_tool_result"}:
            namespace = "custom" if block["type"].startswith("custom") else "function"
            found.append((namespace, block["tool_use_id"]))
    return found


def has_duplicates(items: Sequence[Json]) -> bool:
    calls = [call[:2] for item in items for call in calls_of(item)]
    results = [result for item in items for result in results_of(item)]
    return len(calls) != len(set(calls)) or len(results) != len(set(results))


def groups(items: Sequence[Json]) -> list[set[int]]:
    """Positions that stay or go together, by first member."""
    found: list[set[int]] = [{position} for position in range(len(items))]
    for here, item in enumerate(items):
        for namespace, call_id, _ in calls_of(item):
            for there, other in enumerate(items):
                if (namespace, call_id) in results_of(other):
                    found.append({here, there})
    while True:
        touching = [(one, other) for one in found for other in found if one is not other and one & other]
        if not touching:
            return sorted(found, key=min)
        left, right = touching[0]
        found = [group for group in found if group is not left and group is not right] + [left | right]


def protection(items: Sequence[Json], members: Iterable[int], history_length: int) -> str | None:
    """The first reason for which a group may not go."""
    members = sorted(members)
    all_results = [result for item in items for result in results_of(item)]
    all_calls = [call[:2] for item in items for call in calls_of(item)]
    waiting = [
        (position, call) for position in members for call in calls_of(items[position])
        if call[:2] not in all_results
    ]  # fmt: skip
    if members[-1] >= history_length:
        return "input"
    newest = max((place for place, item in enumerate(items) if item.get("role") == "assistant"), default=-1)
    behind = [item for item in items[newest + 1 :] if item["type"] == "message"]
    gathering = all(results_of(item) and len(results_of(item)) == len(item["content"]) for item in behind)
    if gathering and any(position == newest and not call[2] for position, call in waiting):
        return "pending"
    if any(call[2] for _, call in waiting):
        return "async"
    inside = [items[position] for position in members]
    if any(is_evidence(part) for item in inside for part in [item, *item.get("content", [])]):
        return "evidence"
    if any(item["type"] in NATIVE and results_of(item)[0] not in all_calls for item in inside):
        return "continuation"
    return "opaque" if any(item["type"] not in {"message", *NATIVE} for item in inside) else None


def is_evidence(part: Json) -> bool:
    return bool(part.get("persistence", {}).get("status") == "unacknowledged")


def pruned(items: Sequence[Json]) -> list[Json | None]:
    """Each item as a request holds it; None for one that is not in it."""
    all_results = [result for item in items for result in results_of(item)]
    all_calls = [call[:2] for item in items for call in calls_of(item)]
    shown: list[Json | None] = []
    for item in items:
        if item["type"] != "message":
            shown.append(item)
            continue
        kept = []
        for block in item["content"]:
            alone = {"type": "message", "content": [block]}
            orphan = any(result not in all_calls for result in results_of(alone)) or any(
                not call[2] and call[:2] not in all_results for call in calls_of(alone)
            )
            if not orphan:
                kept.append(block)
        shown.append(None if item["content"] and not kept else {**item, "content": kept})
    return shown


def text_tokens(text: str | None) -> int:
    return math.ceil(len(text or "") * 2 / 7)


def data_tokens(value: Any) -> int:
    if isinstance(value, str):
        return text_tokens(value)
    try:
        return text_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError):
        return 100


def block_tokens(block: Json) -> int:
    kind = block["type"]
    if kind in {"input_text", "output_text"}:
        return text_tokens(block["text"])
    if kind in {"tool_use", "custom_tool_use"}:
        sent = block.get("arguments", block.get("input"))
        return text_tokens(block["name"]) + data_tokens(sent) + text_tokens(block.get("thoughtSignature"))
    if kind in {"tool_result", "custom_tool_result"}:
        images = 1000 * len(block.get("__images", ()))
        return data_tokens(block["content"]) + text_tokens(block.get("error")) + images
    if kind == "thinking":
        return text_tokens(block["thinking"]) + text_tokens(block.get("signature"))
    if kind == "input_image_url":
        return 85 if block["image_url"].get("detail") == "low" else 1000
    return data_tokens(block)


def item_tokens(item: Json | None) -> int:
    if item is None:
        return 0
    if item["type"] == "message":
        return 4 + sum(map(block_tokens, item["content"]))
    if item["type"] in NATIVE:
        output = item["output"]
        if isinstance(output, str):
            return 4 + text_tokens(output)
        return 4 + sum(1000 if part["type"] == "input_image" else text_tokens(part["text"]) for part in output)
    if item["type"] in {"compaction", "reasoning"}:
        return 4 + text_tokens(item.get("summary")) + text_tokens(item.get("encrypted_content"))
    return max(50, data_tokens(item))


def unpaired(items: Sequence[Json]) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str]]]:
    """Calls without result and results of messages without call, in one request."""
    calls = [call for item in items for call in calls_of(item)]
    results = [found for item in items for found in results_of(item)]
    inside = [found for item in items if item["type"] == "message" for found in results_of(item)]
    return (
        [call for call in calls if call[:2] not in results],
        [found for found in inside if found not in [call[:2] for call in calls]],
    )


def tools_tokens(tools: Sequence[Json]) -> int:
    counts = [
        text_tokens(tool["name"]) + text_tokens(tool["description"]) + data_tokens(tool["parameters"]) + 10
        for tool in tools
    ]
    return sum(counts) + 20 if counts else 0


def kept_values(item: Json) -> list[tuple[str, Any]]:
    """Id and value of each result in an item, as a store must keep it."""
    if item["type"] in NATIVE:
        return [(item["call_id"], item["output"])]
    found = []
    for block in item["content"] if item["type"] == "message" else ():
        if block["type"] in {"tool_result", "custom_tool_result"}:
            more = {name: block[name] for name in ("__images", "error") if block.get(name)}
            found.append(
                (block["tool_use_id"], {"content": block["content"], **more} if more else block["content"])
            )
    return found


def smallest_request(items: Sequence[Json], history_length: int, *, room: int, notice: int) -> int:
    """Tokens of the items when all that may go is gone.

    Texts of results are cut to a notice where the current input alone is more than there is room for.
    """
    shown, total = pruned(items), 0
    current_input = sum(map(item_tokens, shown[history_length:]))
    cuttable = current_input > room and any(map(results_of, items[history_length : history_length + 1]))
    for group in groups(items):
        if protection(items, group, history_length) is None:
            continue
        evidence = any(
            is_evidence(part) for place in group for part in [items[place], *items[place].get("content", [])]
        )
        for place in group:
            item = shown[place]
            total += item_tokens(item)
            if item is not None and place >= history_length and cuttable and not evidence:
                parts = [item] if item["type"] in NATIVE else item.get("content", [])
                texts = [part.get("output", part.get("content")) for part in parts]
                cut = [max(0, text_tokens(text) - notice) for text in texts if isinstance(text, str)]
                total -= sum(cut)
    return total

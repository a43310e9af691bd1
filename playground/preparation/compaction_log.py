"""The words of a compaction's log: what went and how to find it, never what it said.

Names and ids come from models and hosts; each is shortened and stays in its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from playground.preparation.items import Item
from playground.preparation.listing import shortened
from playground.preparation.ports import ContextPlugin
from playground.preparation.protocol import Group

__all__ = [
    "NAME_LENGTH",
    "companion_lines",
    "counted_items",
    "group_line",
    "item_name",
    "plugin_keys",
    "result_name",
    "store_name",
]

NAME_LENGTH = 64  # code points of a name or an id
NAMES_SHOWN = 8  # tools of one group


def group_line(verb: str, group: Group, history: Sequence[Item]) -> str:
    """Return the log's line for a group: what it is and how to find it, never what it says."""
    if not group.is_tool:
        return f"{verb} {item_name(history[group.members[0]], group.members[0])} ({group.tokens:,} tokens)"
    names = list(dict.fromkeys(call.name for _, call in group.calls)) or ["unknown"]
    ids = dict.fromkeys([call.id for _, call in group.calls] + [result.id for _, result in group.results])
    tools = ", ".join(shortened(name, NAME_LENGTH) for name in names[:NAMES_SHOWN])
    if len(names) > NAMES_SHOWN:
        tools += f" and {len(names) - NAMES_SHOWN} more"
    calls = ", ".join(shortened(call_id, NAME_LENGTH) for call_id in ids)
    size = f"{counted_items(len(group.members))}, {group.tokens:,} tokens"
    return f"{verb} {tools} group of {size} (calls {calls})"


def companion_lines(group: Group, history: Sequence[Item]) -> Iterator[str]:
    """Return a line for all that leaves with a group whose results were moved, and is kept nowhere."""
    answered = {(result.namespace, result.id) for _, result in group.results}
    for position, call in group.calls:
        if (call.namespace, call.id) not in answered:
            named = f"{shortened(call.name, NAME_LENGTH)} {shortened(call.id, NAME_LENGTH)}"
            yield f"dropped call {named} of {item_name(history[position], position)}, which has no result"
    for position in group.members:
        item = history[position]
        if not item.is_message:
            continue
        protocol = {call.block for call in item.calls} | {result.block for result in item.results}
        others = len(item.block_tokens) - len(protocol)
        if others:
            blocks = "1 other block" if others == 1 else f"{others:,} other blocks"
            yield f"dropped {blocks} of {item_name(item, position)}, beside what was moved"


def result_name(tool: str, call_id: str) -> str:
    """Name a result of a tool."""
    return f"{shortened(tool, NAME_LENGTH)} result {shortened(call_id, NAME_LENGTH)}"


def item_name(item: Item, place: int) -> str:
    """Return what an item is called in the log: its kind, and its id or its position."""
    kind = f"{item.role} message" if item.is_message else shortened(item.data["type"], NAME_LENGTH)
    return f"{kind} {shortened(item.id, NAME_LENGTH) if item.id else f'at position {place}'}"


def counted_items(count: int) -> str:
    """Return a number of items in words."""
    return "1 item" if count == 1 else f"{count:,} items"


def plugin_keys(plugin: ContextPlugin) -> list[str]:
    """Return the keys of what a plugin holds, where it tells them."""
    try:
        contents = plugin.get_contents()
    except Exception:  # noqa: BLE001  # only inspection; what a plugin does not tell cannot be compared
        return []
    if isinstance(contents, Mapping):
        return [key for key in contents if isinstance(key, str)]
    if not isinstance(contents, list | tuple):
        return []
    keys = [entry.get("key") for entry in contents if isinstance(entry, Mapping)]
    return [key for key in keys if isinstance(key, str)]


def store_name(plugin: ContextPlugin) -> str:
    """Return what a plugin's store is called, else the plugin."""
    schema = getattr(plugin, "get_store_schema", None)
    return shortened(schema().store_id if callable(schema) else plugin.name, NAME_LENGTH)

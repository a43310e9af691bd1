"""The five tools through which a model uses all stores of a context.

A call names its store; the rest goes to the store's own methods. Descriptions name the stores there are when a
request is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ConfigDict

from playground.errors import ToolExecutionError
from playground.preparation.listing import listed
from playground.preparation.memory_entries import DESCRIPTION_LENGTH, PRIORITIES, TIERS
from playground.preparation.ports import StoreAction, StoreHandler
from playground.preparation.tool_manager import ContextTool
from playground.tools import ToolInput
from playground.values import shown

__all__ = ["store_tools"]

Stores = Callable[[], Mapping[str, StoreHandler]]

GET = "Read an entry of a store by its exact key."
SET = "Write an entry of a store, or replace it."
DELETE = "Delete an entry of a store."
LIST = "List all entries of a store, without values."
ACTION = "Do what a store offers beyond that."


class _OpenInput(ToolInput):
    """Input whose further fields are the store's."""

    model_config = ConfigDict(extra="allow")

    store: str
    """Its id."""

    def fields(self, together: Any) -> dict[str, Any]:
        """Return the store's own fields: those of an object and the flat ones, of which a value wins."""
        flat = dict(self.model_extra or {})
        inner = dict(together) if isinstance(together, Mapping) else {}
        return {
            **inner,
            **{name: value for name, value in flat.items() if value is not None or name not in inner},
        }


class GetInput(ToolInput):
    """Which entry to read."""

    store: str
    """Its id."""
    key: str | None = None
    """Exact, with prefix and suffix."""


class SetInput(_OpenInput):
    """What to write."""

    key: str
    data: dict[str, Any] | None = None
    """All fields in one object instead; a flat field wins."""


class DeleteInput(ToolInput):
    """Which entry to delete."""

    store: str
    """Its id."""
    key: str
    """Exact, with prefix and suffix."""


class ListInput(_OpenInput):
    """Which entries to list."""

    filter: dict[str, Any] | None = None
    """All filters in one object instead."""


class ActionInput(_OpenInput):
    """What to do."""

    action: str
    params: dict[str, Any] | None = None
    """All fields in one object instead."""


# Shown to the model, and checked by the store that takes them: another store may mean something else by them.
SET_FIELDS: Mapping[str, Any] = {
    "description": {"type": "string", "maxLength": DESCRIPTION_LENGTH},
    "value": {"description": "Any JSON."},
    "tier": {"type": "string", "enum": list(TIERS)},
    "scope": {"type": "string", "description": "session (default), plan or persistent."},
    "priority": {"type": "string", "enum": list(PRIORITIES)},
    "pinned": {"type": "boolean"},
}
LIST_FIELDS: Mapping[str, Any] = {
    "pattern": {"type": "string", "description": "A key, * is any run."},
    "tier": {"type": "string", "enum": list(TIERS)},
}
ACTION_FIELDS: Mapping[str, Any] = {"confirm": {"type": "boolean"}}


def store_tools(stores: Stores) -> tuple[ContextTool, ...]:
    """Return ``store_get``, ``store_set``, ``store_delete``, ``store_list`` and ``store_action``.

    Each answers what the store's method answers. They refuse a call with ``ToolExecutionError``; its reason is
    ``malformed`` or ``unknown-store``.

    Args:
        stores: Returns the stores by id, as they are now.
    """

    async def get(arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = GetInput.read(arguments, tool="store_get")
        return dict(await _store(stores, asked.store, "store_get").store_get(asked.key or None))

    async def put(arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = SetInput.read(arguments, tool="store_set")
        store = _store(stores, asked.store, "store_set")
        return dict(await store.store_set(asked.key, asked.fields(asked.data)))

    async def delete(arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = DeleteInput.read(arguments, tool="store_delete")
        return dict(await _store(stores, asked.store, "store_delete").store_delete(asked.key))

    async def entries(arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = ListInput.read(arguments, tool="store_list")
        return dict(await _store(stores, asked.store, "store_list").store_list(asked.fields(asked.filter)))

    async def action(arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = ActionInput.read(arguments, tool="store_action")
        store = _store(stores, asked.store, "store_action")
        return await _acted(store, asked.action, asked.fields(asked.params))

    return (
        ContextTool("store_get", _named(GET, stores), GetInput.parameters(), get, _about),
        ContextTool("store_set", _named(SET, stores), _schema(SetInput, SET_FIELDS), put, _about),
        ContextTool("store_delete", _named(DELETE, stores), DeleteInput.parameters(), delete, _about),
        ContextTool("store_list", _named(LIST, stores), _schema(ListInput, LIST_FIELDS), entries, _about),
        ContextTool("store_action", _with_actions(stores), _schema(ActionInput, ACTION_FIELDS), action, _about),
    )


async def _acted(store: StoreHandler, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    act = getattr(store, "store_action", None)
    if act is None:
        return {"success": False, "action": action, "message": "This store has no actions."}
    known = {found.name: found for found in store.get_store_schema().actions}
    if action in known and known[action].destructive and fields.get("confirm") is not True:
        return {"success": False, "action": action, "message": "This cannot be undone: add confirm: true."}
    if known and action not in known:
        names = ", ".join(map(listed, known))
        return {"success": False, "action": action, "message": f"There is no such action. There are: {names}."}
    return dict(await act(action, fields))


def _store(stores: Stores, store_id: str, tool: str) -> StoreHandler:
    known = stores()
    if store_id not in known:
        names = ", ".join(map(listed, known)) or "none"
        raise ToolExecutionError(
            f"There is no store called {shown(store_id)}. Available: {names}.",
            tool=tool,
            reason="unknown-store",
        )
    return known[store_id]


def _schema(asked: type[ToolInput], fields: Mapping[str, Any]) -> dict[str, Any]:
    schema = asked.parameters()
    together = ("data", "filter", "params")
    own = schema["properties"]
    plain = {name: own[name] for name in own if name not in together}
    # What stands for all flat fields comes after them.
    rest = {name: {**own[name], "type": "object"} for name in own if name in together}
    for field in rest.values():
        field.pop("additionalProperties", None)
    return {"type": "object", "properties": {**plain, **fields, **rest}, "required": schema["required"]}


def _named(text: str, stores: Stores) -> Callable[[], str]:
    return lambda: f"{text} Stores: {', '.join(map(listed, stores())) or 'none'}."


def _with_actions(stores: Stores) -> Callable[[], str]:
    def described() -> str:
        told = [f"{listed(name)}: {_actions(store)}" for name, store in stores().items()]
        return "\n".join([ACTION, *(told or ["No stores."])])

    return described


def _actions(store: StoreHandler) -> str:
    return " ".join(map(_action, store.get_store_schema().actions)) or "none"


def _action(action: StoreAction) -> str:
    needs = [*map(listed, action.parameters), *(["confirm: true"] if action.destructive else [])]
    return f"{listed(action.name)}({', '.join(needs)}): {listed(action.description)}"


def _about(arguments: Mapping[str, Any]) -> str:
    return " ".join(str(arguments[name]) for name in ("store", "action", "key") if arguments.get(name))

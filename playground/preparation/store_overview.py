"""What the model is told of all stores together, before what each of them says.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from playground.preparation.listing import listed
from playground.preparation.ports import StoreSchema

__all__ = ["STORE_TOOLS", "store_overview"]

STORE_TOOLS = {
    "store_get": "(store, key?): one entry; what comes without key depends on the store",
    "store_set": "(store, key, fields): write or replace an entry",
    "store_delete": "(store, key): delete an entry",
    "store_list": "(store, filters?): list all entries",
    "store_action": "(store, action, fields?): what else a store can do",
}
"""The five tools, each with its arguments and its line."""


def store_overview(schemas: Sequence[StoreSchema]) -> str:
    """Return the overview of the stores, in their order; nothing without stores."""
    if not schemas:
        return ""
    many = "1 store" if len(schemas) == 1 else f"{len(schemas)} stores"
    head = f"You have {many} and five tools for {'it' if len(schemas) == 1 else 'them'}."
    rule = "Every call needs `store`; all other fields stand flat beside it."
    tools = [f"- {name}{line}" for name, line in STORE_TOOLS.items()]
    return "\n".join([f"{head} {rule}", *map(_line, schemas), "Tools:", *tools])


def _line(schema: StoreSchema) -> str:
    said = " ".join(filter(None, (listed(schema.description), listed(schema.usage_hint))))
    return f"- {listed(schema.store_id)} ({listed(schema.display_name)}): {said}"

"""The five store tools, and the notes behind them (15.1 and 15.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from playground.errors import ToolExecutionError
from playground.preparation import BasePlugin, PreparationEstimator, StoreAction, StoreHandler, StoreSchema
from playground.preparation.in_context_memory import InContextMemoryPlugin
from playground.preparation.store_overview import STORE_TOOLS
from playground.preparation.store_tools import store_tools
from playground.preparation.tool_manager import ToolManager
from playground.preparation.working_memory_plugin import KEY_LENGTH, WorkingMemoryPlugin
from tests.preparation import bare

ESTIMATOR = PreparationEstimator()
TABLE = "raw.tool_result.read_source.12345678.function.1"


class Shelf(BasePlugin):
    """A store of another kind, which answers with what it was asked."""

    name = "shelf"
    schema = StoreSchema(
        "books", "Books", "Holds books.", actions=(StoreAction("burn", "Burns.", destructive=True),)
    )

    def get_store_schema(self) -> StoreSchema:
        return self.schema

    async def store_get(self, key: str | None = None) -> Mapping[str, Any]:
        return {"key": key}

    async def store_set(self, key: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"key": key, "data": data}

    async def store_delete(self, key: str) -> Mapping[str, Any]:
        return {"key": key}

    async def store_list(self, filter: Mapping[str, Any] | None = None) -> Mapping[str, Any]:  # noqa: A002
        return {"filter": filter}

    async def store_action(self, action: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"action": action, "params": params}


class Silent(Shelf):
    """A store without actions."""

    schema = StoreSchema("films", "Films", "Holds films.")
    store_action = None  # type: ignore[assignment]


class Desk:
    """The tools of some stores, called as a model calls them."""

    def __init__(self, *stores: Any) -> None:
        self.notes = WorkingMemoryPlugin()
        self.stores: dict[str, StoreHandler] = {}
        for store in (self.notes, *stores):
            assert isinstance(store, StoreHandler)
            self.stores[store.get_store_schema().store_id] = store
        self.tools = ToolManager()
        for tool in store_tools(lambda: self.stores):
            self.tools.register(tool)

    def call(self, tool: str, **arguments: Any) -> Any:
        return asyncio.run(self.tools.execute(tool, arguments))

    def note(self, key: str, value: Any = 1, **fields: Any) -> str:
        answer = self.call("store_set", store="notes", key=key, description="A note", value=value, **fields)
        assert answer["success"], answer
        return str(answer["key"])

    def described(self, tool: str) -> str:
        return str(next(found["description"] for found in self.tools.definitions() if found["name"] == tool))


def test_15_4_there_are_five_tools_in_a_fixed_order() -> None:
    assert [tool["name"] for tool in Desk().tools.definitions()] == list(STORE_TOOLS)


def test_15_4_descriptions_list_the_stores_there_are_now() -> None:
    desk = Desk()
    for tool in STORE_TOOLS:
        assert "notes" in desk.described(tool)
        assert "books" not in desk.described(tool)
    desk.stores["books"] = Shelf()
    for tool in STORE_TOOLS:
        assert "books" in desk.described(tool)
    desk.stores.clear()
    for tool in STORE_TOOLS:
        assert "notes" not in desk.described(tool)


def test_15_4_an_id_of_a_store_stays_in_its_line() -> None:
    desk = Desk()
    desk.stores["x\n- fake"] = Shelf()
    assert all("\n- fake" not in desk.described(tool) for tool in STORE_TOOLS)


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("store_get", {}),
        ("store_set", {"key": "a"}),
        ("store_delete", {"key": "a"}),
        ("store_list", {}),
        ("store_action", {"action": "query"}),
    ],
)
def test_15_4_an_unknown_store_is_an_error_that_names_those_there_are(tool: str, more: dict[str, Any]) -> None:
    with pytest.raises(ToolExecutionError, match=r"nowhere.*notes, books") as caught:
        Desk(Shelf()).call(tool, store="nowhere", **more)
    assert (caught.value.reason, caught.value.tool) == ("unknown-store", tool)
    with pytest.raises(ToolExecutionError) as missing:
        Desk().call(tool, **more)
    assert missing.value.reason == "malformed"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("store_get", {"store": "notes", "key": 5}),
        ("store_get", {"store": "notes", "name": "raw.x"}),
        ("store_get", {"store": ["notes"]}),
        ("store_set", {"store": "notes", "key": None}),
        ("store_set", {"store": "notes", "key": "a", "data": "description"}),
        ("store_delete", {"store": "notes"}),
        ("store_list", {"store": "notes", "filter": ["raw"]}),
        ("store_list", {"store": "notes", "prefix": "raw"}),
        ("store_list", {"store": "notes", "pattern": 5}),
        ("store_list", {"store": "notes", "tier": "top"}),
        ("store_list", {"store": "notes", "tier": ["raw"]}),
        ("store_action", {"store": "notes"}),
    ],
)
def test_15_4_malformed_input_is_told_to_the_model(tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        Desk().call(tool, **arguments)
    assert (caught.value.reason, caught.value.tool) == ("malformed", tool)


# store_get


def test_27_store_get_by_the_exact_key_gives_the_value() -> None:
    desk = Desk()
    desk.note(TABLE, {"rows": [1, None]})
    answer = desk.call("store_get", store="notes", key=TABLE)
    assert answer == {"found": True, "key": TABLE, "entry": {"value": {"rows": [1, None]}}}


def test_15_2_store_get_is_an_access() -> None:
    desk = Desk()
    for key in ("a", "b"):
        desk.note(key)
    desk.call("store_get", store="notes", key="a")
    assert desk.notes.store.evict(1) == ("b",)


@pytest.mark.parametrize("key", ["tool_result.read_source.12345678.function.1", TABLE[:-11], "RAW", "raw.*"])
def test_27_store_get_needs_prefix_and_suffix(key: str) -> None:
    desk = Desk()
    desk.note(TABLE)
    assert desk.call("store_get", store="notes", key=key) == {"found": False, "key": key}


@pytest.mark.parametrize("arguments", [{}, {"key": ""}, {"key": None}])
def test_27_store_get_without_a_key_gives_metadata_and_never_a_value(arguments: dict[str, Any]) -> None:
    desk = Desk()
    desk.note("data", "the secret value", tier="findings")
    desk.note("plain", "the secret value")
    answer = desk.call("store_get", store="notes", **arguments)
    assert answer == {
        "found": True,
        "entries": [
            {"key": "findings.data", "description": "A note", "tier": "findings"},
            {"key": "plain", "description": "A note", "tier": None},
        ],
    }
    assert desk.notes.get_contents()[1]["accessCount"] == 0


def test_15_4_store_get_without_a_key_answers_the_same_for_an_empty_memory() -> None:
    assert Desk().call("store_get", store="notes") == {"found": True, "entries": []}


# store_set


def test_15_4_store_set_answers_with_the_final_key_and_the_size() -> None:
    answer = Desk().call("store_set", store="notes", key="raw.a", description="A", value="é", tier="findings")
    assert {name: answer[name] for name in ("success", "key", "sizeBytes")} == {
        "success": True, "key": "findings.a", "sizeBytes": 4,
    }  # fmt: skip
    assert list(answer) == ["success", "key", "message", "sizeBytes"]


def test_15_4_store_set_takes_flat_fields_or_one_object() -> None:
    desk = Desk()
    fields = {"description": "A note", "value": [1], "scope": "plan", "priority": "low", "pinned": True}
    desk.call("store_set", store="notes", key="flat", **fields)
    desk.call("store_set", store="notes", key="one", data=fields)
    told = [{name: entry[name] for name in entry if name != "key"} for entry in desk.notes.get_contents()]
    assert told[0] == told[1]
    assert (told[0]["scope"], told[0]["priority"], told[0]["pinned"]) == ("plan", "critical", True)


def test_15_4_a_flat_field_wins_over_the_object_unless_it_is_absent() -> None:
    desk = Desk(Shelf())
    data = {"value": 1, "tier": "raw", "title": "inner"}
    answer = desk.call("store_set", store="books", key="a", data=data, value=2, tier=None, other=None)
    assert answer["data"] == {"value": 2, "tier": "raw", "title": "inner", "other": None}


def test_15_4_null_is_a_value() -> None:
    desk = Desk()
    desk.note("a", None)
    assert desk.call("store_get", store="notes", key="a")["entry"] == {"value": None}


@pytest.mark.parametrize(
    "fields",
    [
        {"value": 1},
        {"description": "A note"},
        {"description": "", "value": 1},
        {"description": None, "value": 1},
        {"description": 5, "value": 1},
        {"description": "x" * 151, "value": 1},
        {"description": "A note", "value": 1, "tier": "top"},
        {"description": "A note", "value": 1, "scope": "all"},
        {"description": "A note", "value": 1, "priority": "urgent"},
        {"description": "A note", "value": 1, "pinned": "yes"},
        {"description": "A note", "value": 1, "content": "x"},
        {"description": "A note", "value": float("nan")},
        {},
    ],
)
def test_15_4_what_store_set_refuses_it_says_and_changes_nothing(fields: dict[str, Any]) -> None:
    desk = Desk()
    answer = desk.call("store_set", store="notes", key="a", **fields)
    assert list(answer) == ["success", "key", "message"]
    assert (answer["success"], answer["key"]) == (False, "a")
    assert answer["message"]
    assert len(desk.notes.store) == 0


@pytest.mark.parametrize("key", ["", "a b", "a..b", "../x", "x" * (KEY_LENGTH + 1)])
def test_15_4_store_set_refuses_a_key_that_there_cannot_be(key: str) -> None:
    answer = Desk().call("store_set", store="notes", key=key, description="A note", value=1)
    assert (answer["success"], answer["key"]) == (False, key)


def test_15_3_store_set_tells_what_made_room() -> None:
    desk = Desk()
    desk.notes.store.max_entries = 2
    for key in ("a", "b"):
        desk.note(key)
    answer = desk.call("store_set", store="notes", key="c", description="A note", value=1)
    assert answer["message"] == "Saved as c. Evicted to make room: a."


def test_15_4_an_absent_optional_field_may_be_null() -> None:
    desk = Desk()
    assert desk.note("a", tier=None, scope=None, priority=None, pinned=None) == "a"
    assert desk.notes.get_contents()[0]["priority"] == "normal"


# store_list


def test_27_store_list_gives_all_30_also_those_that_the_index_leaves_out() -> None:
    desk = Desk()
    for number in range(30):
        desk.note(f"k{number}", tier="raw" if number % 2 else None)
    answer = desk.call("store_list", store="notes")
    assert (answer["total"], len(answer["entries"]), list(answer)) == (30, 30, ["entries", "total"])
    assert answer["entries"][0] == {"key": "k28", "description": "A note", "tier": None}
    desk.notes.store.max_entries = 40
    for number in range(30, 40):
        desk.note(f"k{number}", tier="raw" if number % 2 else None)
    assert desk.call("store_list", store="notes")["total"] == 40


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ({"pattern": "raw.*"}, {"raw.a", "raw.b"}),
        ({"tier": "raw"}, {"raw.a", "raw.b"}),
        ({"filter": {"pattern": "*a", "tier": "raw"}}, {"raw.a"}),
        ({"filter": {"tier": "raw"}, "tier": "findings"}, {"findings.c"}),
        ({"pattern": "raw"}, set()),
        ({"pattern": None, "tier": None}, {"raw.a", "raw.b", "findings.c", "d"}),
    ],
)
def test_27_store_list_filters_by_pattern_and_tier(filters: dict[str, Any], keys: set[str]) -> None:
    desk = Desk()
    for key, tier in (("a", "raw"), ("b", "raw"), ("c", "findings"), ("d", None)):
        desk.note(key, tier=tier)
    answer = desk.call("store_list", store="notes", **filters)
    assert ({entry["key"] for entry in answer["entries"]}, answer["total"]) == (keys, len(keys))


# store_delete


def test_15_4_store_delete_says_whether_there_was_an_entry() -> None:
    desk = Desk()
    desk.note("a")
    assert desk.call("store_delete", store="notes", key="a") == {"deleted": True, "key": "a"}
    assert desk.call("store_delete", store="notes", key="a") == {"deleted": False, "key": "a"}


# store_action


def test_27_cleanup_raw_deletes_raw_only() -> None:
    desk = Desk()
    for key, tier in (("a", "raw"), ("b", "findings"), ("rawest", None), ("raw", None)):
        desk.note(key, tier=tier)
    answer = desk.call("store_action", store="notes", action="cleanup_raw")
    assert answer == {"success": True, "action": "cleanup_raw", "deleted": 1, "keys": ["raw.a"]}
    assert set(desk.notes.store.keys()) == {"findings.b", "rawest", "raw"}


def test_15_4_query_gives_metadata_and_values_only_if_asked() -> None:
    desk = Desk()
    desk.note("a", [1], tier="raw")
    desk.note("b", [2])
    answer = desk.call("store_action", store="notes", action="query", pattern="raw.*")
    assert answer == {
        "success": True, "action": "query", "total": 1,
        "entries": [{"key": "raw.a", "description": "A note", "tier": "raw"}],
    }  # fmt: skip
    full = desk.call(
        "store_action", store="notes", action="query", params={"includeValues": True, "includeStats": True}
    )
    assert [entry["value"] for entry in full["entries"]] == [[2], [1]]
    assert full["stats"] == {
        "entries": 2, "maxEntries": 30, "bytes": 6, "maxBytes": 26_214_400, "tiers": {"raw": 1, "none": 1},
    }  # fmt: skip
    assert {entry["accessCount"] for entry in desk.notes.get_contents()} == {1}


def test_15_4_a_malformed_query_is_refused() -> None:
    answer = Desk().call("store_action", store="notes", action="query", tier="top")
    assert (answer["success"], answer["action"]) == (False, "query")


@pytest.mark.parametrize("action", ["explode", "", "cleanup"])
def test_27_an_unknown_action_has_no_success(action: str) -> None:
    desk = Desk()
    answer = desk.call("store_action", store="notes", action=action)
    assert (answer["success"], answer["action"]) == (False, action)
    assert "cleanup_raw" in answer["message"]
    direct = asyncio.run(desk.notes.store_action(action, {}))
    assert direct["success"] is False


def test_15_4_a_store_without_actions_has_no_success() -> None:
    answer = Desk(Silent()).call("store_action", store="films", action="query")
    assert (answer["success"], answer["action"]) == (False, "query")


@pytest.mark.parametrize(
    "confirm", [{}, {"confirm": False}, {"confirm": "true"}, {"confirm": 1}, {"params": {}}]
)
def test_27_a_destructive_action_is_refused_without_confirmation(confirm: dict[str, Any]) -> None:
    answer = Desk(Shelf()).call("store_action", store="books", action="burn", **confirm)
    assert (answer["success"], answer["action"]) == (False, "burn")


@pytest.mark.parametrize("fields", [{"confirm": True, "page": 3}, {"params": {"confirm": True, "page": 3}}])
def test_15_4_a_confirmed_action_gets_its_fields(fields: dict[str, Any]) -> None:
    answer = Desk(Shelf()).call("store_action", store="books", action="burn", **fields)
    assert answer == {"action": "burn", "params": {"confirm": True, "page": 3}}


def test_15_4_other_stores_get_their_own_fields_and_filters() -> None:
    desk = Desk(Shelf())
    assert desk.call("store_list", store="books", shelf=4) == {"filter": {"shelf": 4}}
    assert desk.call("store_list", store="books", filter={"shelf": 4}) == {"filter": {"shelf": 4}}
    assert desk.call("store_get", store="books") == {"key": None}
    assert desk.call("store_delete", store="books", key="a") == {"key": "a"}


def test_14_a_call_of_a_store_tool_describes_itself() -> None:
    desk = Desk()
    assert desk.tools.describe_call("store_get", {"store": "notes", "key": "raw.a"}) == "notes raw.a"
    assert desk.tools.describe_call("store_action", '{"store": "notes", "action": "query"}') == "notes query"


# The plugin


def test_15_1_the_plugin_shows_an_index_and_no_values() -> None:
    desk = Desk()
    assert desk.notes.name == "working_memory"
    assert asyncio.run(desk.notes.get_content()) is None
    desk.note("a", "the secret value")
    content = asyncio.run(desk.notes.get_content())
    assert content is not None
    assert "- a (18B): A note [session]" in content
    assert "secret" not in content
    assert desk.notes.get_token_size() == ESTIMATOR.text(content)


def test_15_1_the_instructions_say_that_an_index_is_not_a_source() -> None:
    said = WorkingMemoryPlugin().get_instructions()
    for needed in ("keys and descriptions, never values", "exact key", "before you answer", "store_list"):
        assert needed in said
    assert "memory_" not in said  # the tools are those of all stores


def test_15_3_compacting_evicts_three_and_frees_what_the_index_shrinks() -> None:
    desk = Desk()
    for key in "abcde":
        desk.note(key)
    before = desk.notes.get_token_size()
    freed = asyncio.run(desk.notes.compact(10_000))
    assert desk.notes.store.keys() == ("d", "e")
    assert freed == before - desk.notes.get_token_size() > 0


def test_15_3_compacting_frees_nothing_where_everything_is_pinned() -> None:
    desk = Desk()
    desk.note("a", pinned=True)
    assert desk.notes.is_compactable()
    assert asyncio.run(desk.notes.compact(100)) == 0


def test_15_3_compacting_never_reports_less_than_nothing() -> None:
    desk = Desk()
    desk.notes.store.max_entries = 60
    for number in range(30):
        desk.notes.store.set(f"long{number}", "x" * 150, 1, priority="low")
    for number in range(4):  # left out of the index until others go
        desk.notes.store.set(f"k{number}", "x", 1, priority="low")
    for number in range(30):
        desk.notes.store.get(f"long{number}")
    assert asyncio.run(desk.notes.compact(100)) >= 0


def test_23_the_state_of_the_notes_comes_back() -> None:
    desk, again = Desk(), Desk()
    desk.note("a", {"x": 1}, tier="raw")
    again.notes.restore_state(desk.notes.get_state())
    assert again.call("store_get", store="notes", key="raw.a")["entry"] == {"value": {"x": 1}}
    desk.notes.destroy()
    assert len(desk.notes.store) == 0
    assert len(again.notes.store) == 1


def test_the_default_features_cost_little() -> None:
    # A joined log at a window of 4,096 overflows above about 900 tokens of tools and 900 of system text.
    context = bare(features=None, max_context_tokens=4096)
    context.add_user_message("Hello")
    budget = asyncio.run(context.prepare()).budget
    assert budget.tools_tokens <= 680
    assert budget.system_message_tokens <= 410


def test_3_4_the_tools_of_a_context_write_what_its_next_request_shows() -> None:
    context = bare(features=None, max_context_tokens=4096)
    context.add_user_message("Hello")
    for store, key in (("notes", "raw.a"), ("whiteboard", "plan")):
        fields = {"store": store, "key": key, "description": "Text", "value": "the value"}
        assert asyncio.run(context.tools.execute("store_set", fields))["success"]
    prepared = asyncio.run(context.prepare())
    text = prepared.input[0]["content"][0]["text"]
    assert "# Notes\n\n1 entry, 11B of 25MB (0%)\nNormal:\n- raw.a (11B): Text [session]\n" in text
    assert '# Whiteboard\n\n- plan (Text): "the value"' in text
    assert text.count("the value") == 1
    assert [tool["name"] for tool in prepared.tools] == list(STORE_TOOLS)


def test_15_4_descriptions_of_the_default_stores_are_those() -> None:
    desk = Desk(InContextMemoryPlugin())
    assert [desk.described(tool) for tool in STORE_TOOLS] == [
        "Read an entry of a store by its exact key. Stores: notes, whiteboard.",
        "Write an entry of a store, or replace it. Stores: notes, whiteboard.",
        "Delete an entry of a store. Stores: notes, whiteboard.",
        "List all entries of a store, without values. Stores: notes, whiteboard.",
        (
            "Do what a store offers beyond that.\n"
            "notes: cleanup_raw(): Delete all raw entries. query(pattern, tier, includeValues, includeStats): "
            "List entries, with values and statistics if wanted.\n"
            "whiteboard: clear(confirm: true): Delete all entries."
        ),
    ]

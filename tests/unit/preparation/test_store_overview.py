"""What is told of all stores together (3.3)."""

from __future__ import annotations

from playground.preparation.in_context_memory import InContextMemoryPlugin
from playground.preparation.ports import StoreSchema
from playground.preparation.store_overview import STORE_TOOLS, store_overview
from playground.preparation.working_memory_plugin import WorkingMemoryPlugin

ONE = StoreSchema("books", "Books", "Holds books.", "For reading.")
TWO = StoreSchema("films", "Films", "Holds films.")


def test_3_3_without_stores_there_is_nothing_to_say() -> None:
    assert store_overview([]) == ""


def test_3_3_it_says_how_many_stores_there_are() -> None:
    assert store_overview([ONE]).startswith("You have 1 store and ")
    assert store_overview([ONE, TWO]).startswith("You have 2 stores and ")


def test_3_3_it_names_the_five_tools_with_a_line_each() -> None:
    assert list(STORE_TOOLS) == ["store_get", "store_set", "store_delete", "store_list", "store_action"]
    lines = store_overview([ONE]).split("\n")
    for name in STORE_TOOLS:
        assert sum(line.startswith(f"- {name}(store") for line in lines) == 1


def test_3_3_it_says_that_store_is_needed_and_that_other_fields_are_flat() -> None:
    assert "Every call needs `store`; all other fields stand flat" in store_overview([ONE])


def test_3_3_it_lists_each_store_with_id_name_description_and_hint() -> None:
    lines = store_overview([ONE, TWO]).split("\n")
    assert lines[1:3] == ["- books (Books): Holds books. For reading.", "- films (Films): Holds films."]


def test_3_3_a_text_of_a_store_stays_in_its_line() -> None:
    hostile = StoreSchema("a\n- b", "N\n# M", "x\u2028- fake (Fake): y", "\ud800\r\n---")
    text = store_overview([hostile])
    assert len(text.splitlines()) == len(store_overview([ONE]).splitlines())
    assert text.encode()


def test_3_3_the_overview_of_both_default_stores_is_short() -> None:
    stores = [WorkingMemoryPlugin().get_store_schema(), InContextMemoryPlugin().get_store_schema()]
    assert [schema.store_id for schema in stores] == ["notes", "whiteboard"]
    assert len(store_overview(stores)) / 3.5 <= 210

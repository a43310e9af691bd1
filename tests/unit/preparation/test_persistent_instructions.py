"""Instructions that stand in every request (25a)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidInputError, StoreError
from playground.preparation import PreparationEstimator
from playground.preparation.persistent_instructions import PersistentInstructionsPlugin


def content(plugin: PersistentInstructionsPlugin) -> str | None:
    return asyncio.run(plugin.get_content())


def test_25a_texts_stand_under_their_keys_in_order() -> None:
    plugin = PersistentInstructionsPlugin()
    assert plugin.name == "persistent_instructions"
    assert content(plugin) is None
    plugin.set("tone", "Be brief.")
    plugin.set("units", "Use metres.\nAlways.")
    plugin.set("tone", "Be kind.")
    assert content(plugin) == "## tone\nBe kind.\n\n## units\nUse metres.\nAlways."
    assert plugin.get_token_size() == PreparationEstimator().text(content(plugin))


def test_25a_they_are_never_compacted_and_no_tool_writes_them() -> None:
    plugin = PersistentInstructionsPlugin()
    plugin.set("tone", "Be brief.")
    assert plugin.is_compactable() is False
    assert asyncio.run(plugin.compact(100)) == 0
    assert plugin.get_tools() == ()
    assert not hasattr(plugin, "store_set")
    assert plugin.get("tone") == "Be brief."


def test_25a_a_text_is_read_and_removed() -> None:
    plugin = PersistentInstructionsPlugin()
    plugin.set("tone", "Be brief.")
    plugin.set("units", "Use metres.")
    assert (plugin.remove("tone"), plugin.remove("tone"), plugin.get("tone")) == (True, False, None)
    assert plugin.get_contents() == {"units": "Use metres."}
    plugin.clear()
    assert plugin.get_contents() == {}


@pytest.mark.parametrize(
    ("key", "text"), [("a b", "x"), ("", "x"), (None, "x"), ("a", ""), ("a", " \n"), ("a", 5)]
)
def test_25a_a_malformed_instruction_is_refused(key: Any, text: Any) -> None:
    plugin = PersistentInstructionsPlugin()
    with pytest.raises(InvalidInputError):
        plugin.set(key, text)
    assert plugin.get_contents() == {}


def test_25a_a_text_with_half_a_character_has_a_utf_8_form_in_the_request() -> None:
    plugin = PersistentInstructionsPlugin()
    plugin.set("odd", "x\ud800")
    assert content(plugin) == "## odd\nx\ufffd"


def test_25a_a_file_keeps_the_texts(tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    plugin = PersistentInstructionsPlugin(path)
    assert not path.exists()
    plugin.set("tone", "Sei höflich. \ud800")
    assert PersistentInstructionsPlugin(str(path)).get("tone") == "Sei höflich. \ud800"
    assert json.loads(path.read_text("utf-8")) == {
        "version": 1,
        "entries": [{"key": "tone", "text": "Sei höflich. \ud800"}],
    }
    assert plugin.remove("tone")
    assert PersistentInstructionsPlugin(path).get_contents() == {}
    assert [found.name for found in tmp_path.iterdir()] == ["instructions.json"]  # no leftovers


def test_25a_two_that_share_a_file_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = (PersistentInstructionsPlugin(tmp_path / "shared.json") for _ in range(2))
    one.set("a", "first")
    other.set("b", "second")
    one.set("c", "third")
    assert one.get_contents() == {"a": "first", "b": "second", "c": "third"}
    other.reload()
    assert other.get_contents() == one.get_contents()


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"version": 2, "entries": []}', '{"version": 1, "entries": [{"key": "a"}]}',
        "[" * 5_000, '{"version": 1, "entries": [5]}',
    ],
)  # fmt: skip
def test_25a_a_damaged_file_is_told_and_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=r"instructions\.json are damaged") as caught:
        PersistentInstructionsPlugin(path)
    assert caught.value.store == "instructions.json"
    assert str(tmp_path) not in str(caught.value)
    assert path.read_text() == text


def test_25a_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="damaged"):
        PersistentInstructionsPlugin(path)


def test_25a_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        PersistentInstructionsPlugin(tmp_path)


def test_25a_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    plugin = PersistentInstructionsPlugin(tmp_path / "missing" / "instructions.json")
    with pytest.raises(StoreError, match="cannot be written"):
        plugin.set("tone", "Be brief.")
    assert plugin.get_contents() == {}


def test_23_texts_in_memory_are_part_of_a_session() -> None:
    plugin, again = PersistentInstructionsPlugin(), PersistentInstructionsPlugin()
    plugin.set("tone", "Be brief.")
    state = json.loads(json.dumps(plugin.get_state()))
    again.restore_state(state)
    assert again.get_contents() == {"tone": "Be brief."}


def test_23_an_old_session_leaves_a_file_as_it_is(tmp_path: Path) -> None:
    plugin = PersistentInstructionsPlugin(tmp_path / "instructions.json")
    plugin.set("tone", "Be brief.")
    assert plugin.get_state() == {"version": 1, "entries": []}
    plugin.restore_state({"version": 1, "entries": [{"key": "tone", "text": "Be long."}]})
    assert plugin.get_contents() == {"tone": "Be brief."}


@pytest.mark.parametrize(
    "state", [None, {}, {"version": 1, "entries": [{"key": "a b", "text": "x"}]}, {"version": 3, "entries": []}]
)
def test_23_a_malformed_state_is_refused_and_changes_nothing(state: Any) -> None:
    plugin = PersistentInstructionsPlugin()
    plugin.set("tone", "Be brief.")
    with pytest.raises(InvalidInputError):
        plugin.restore_state(state)
    assert plugin.get_contents() == {"tone": "Be brief."}


def test_25a_a_removal_loses_nothing_that_another_wrote(tmp_path: Path) -> None:
    one, other = (PersistentInstructionsPlugin(tmp_path / "shared.json") for _ in range(2))
    one.set("a", "first")
    other.set("b", "second")
    assert one.remove("a")
    assert one.get_contents() == {"b": "second"}
    assert other.remove("a") is False, "it is gone already"


def test_25a_the_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    plugin = PersistentInstructionsPlugin(path)
    plugin.set("tone", "Be brief.")
    before = path.read_text("utf-8")
    with path.open(encoding="utf-8") as reading:
        plugin.set("tone", "Be kind.")
        assert reading.read() == before
    assert path.read_text("utf-8") != before


def test_25a_a_write_that_fails_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "instructions.json"
    plugin = PersistentInstructionsPlugin(path)
    plugin.set("tone", "Be brief.")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(StoreError, match="cannot be written: No space left"):
        plugin.set("tone", "Be kind.")
    assert plugin.get_contents() == PersistentInstructionsPlugin(path).get_contents() == {"tone": "Be brief."}
    assert [found.name for found in tmp_path.iterdir()] == ["instructions.json"]

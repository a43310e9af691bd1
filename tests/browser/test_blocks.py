"""What a user does on the Blocks page, in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import choose, open_page, overlaps, settle, wait_selected

HEAD, ROW = 34, 28  # px of the editor's parts
COLUMNS = {"id": 60, "content": 520}  # px from the editor's left edge to inside a column


def _open(page: Page, server: str, material: str = "example") -> None:
    open_page(page, server, query="?search=lexical")
    choose(page, "Blocks")
    if material != "this question":
        page.get_by_label("Material", exact=True).click()
        page.get_by_role("option", name=material).click()
        settle(page)
        assert f"blocks_material={material}" in page.url
    expect(page.locator(".st-key-panel_blocks_table canvas").first).to_be_attached()


def _included(page: Page) -> Locator:
    return page.locator(".st-key-panel_blocks_result .cp-head b").first


def _rows(page: Page) -> Locator:
    return page.locator(".pane.table .row")


def _outcome(page: Page, block: str) -> Locator:
    return _rows(page).filter(has_text=block).locator(".chip")


def _set_budget(page: Page, tokens: int) -> None:
    field = page.get_by_label("Tokens", exact=True)
    field.fill(str(tokens))
    field.press("Enter")
    settle(page)


def _title(page: Page) -> Locator:
    return page.locator(".st-key-panel_block .cp-record b")


def _cell(page: Page, column: str, row: int) -> None:
    """Click a cell of the editor, which is a canvas."""
    box = page.locator(".st-key-panel_blocks_table canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + COLUMNS[column], box["y"] + HEAD + ROW * row + ROW / 2)


def _write(page: Page, column: str, row: int, text: str) -> None:
    _cell(page, column, row)
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    box = page.locator("textarea.gdg-input")
    expect(box).to_be_focused()
    box.fill(text)
    page.keyboard.press("Enter")
    settle(page)


def _says(page: Page, *texts: str) -> None:
    """Wait until the editor's cells, as screen readers are told of them, are these among others."""
    cells = page.locator(".st-key-panel_blocks_table td")
    for text in texts:
        expect(cells.filter(has_text=re.compile(f"^{re.escape(text)}$"))).to_have_count(1)


def test_a_raised_budget_lets_a_block_in_a_pin_keeps_it_and_what_must_be_in_can_be_too_large(
    page: Page, server: str
) -> None:
    _open(page, server)
    expect(_included(page)).to_have_text("Included 3 of 4 · 221 of 250 tokens")
    expect(_title(page)).to_have_text("memory:calls")
    _set_budget(page, 281)
    expect(_outcome(page, "memory:calls")).to_have_text("budget")
    page.get_by_role("button", name="Raise the budget to 282").click()
    settle(page)
    expect(_outcome(page, "memory:calls")).to_have_text("ranked")
    expect(page.get_by_label("Tokens", exact=True)).to_have_value("282")
    assert "blocks_budget=282" in page.url
    expect(_title(page)).to_have_text("memory:calls")  # not the next one that is left out
    page.get_by_role("button", name="Pin", exact=True).click()
    settle(page)
    expect(page.locator(".st-key-blocks_pinned")).to_contain_text("memory:calls")
    _set_budget(page, 250)
    expect(_outcome(page, "memory:calls")).to_have_text("pinned")
    expect(_outcome(page, "turn:last")).to_have_text("budget")
    _set_budget(page, 100)
    note = page.locator(".cp-note")
    expect(note).to_contain_text("They need 127 tokens, the budget is 100.")
    assert note.locator("b").all_text_contents() == ["127", "100"]
    page.get_by_role("button", name="Unpin all").click()
    settle(page)
    expect(_included(page)).to_have_text("Included 1 of 4 · 66 of 100 tokens")
    _set_budget(page, 40)
    expect(note).to_contain_text("Required blocks do not fit")
    page.get_by_role("button", name="Raise the budget to 66").click()
    settle(page)
    expect(note).to_have_count(0)
    expect(_included(page)).to_have_text("Included 1 of 4 · 66 of 66 tokens")


def test_the_same_on_the_blocks_of_this_questions_compile(page: Page, server: str) -> None:
    _open(page, server, "this question")
    page.locator(".pane.table .row.excluded").first.click()
    settle(page)
    title = _title(page).inner_text()
    button = page.locator(".st-key-block_raise button")
    wanted = button.inner_text().removeprefix("Raise the budget to ")
    button.click()
    settle(page)
    expect(_included(page)).to_contain_text(f"of {wanted} tokens")
    expect(_title(page)).to_have_text(title)
    expect(page.locator(".st-key-panel_block .cp-prose").first).to_contain_text("It got in")
    page.get_by_role("button", name="Pin", exact=True).click()
    settle(page)
    _set_budget(page, 2_000)
    expect(page.locator(".st-key-panel_block .cp-prose").first).to_contain_text("It is in because it is pinned")
    _set_budget(page, 100)
    note = page.locator(".cp-note")
    expect(note).to_contain_text("Required and pinned blocks do not fit")
    assert len(note.locator("b").all_text_contents()) == 2


def test_the_slider_moves_the_same_budget(page: Page, server: str) -> None:
    _open(page, server)
    slider = page.locator(".st-key-blocks_slider input")
    slider.focus()
    page.keyboard.press("End")
    settle(page)
    expect(page.get_by_label("Tokens", exact=True)).to_have_value("282")
    expect(_included(page)).to_have_text("Included 4 of 4 · 282 of 282 tokens")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    expect(_outcome(page, "memory:calls")).to_have_text("budget")


def test_a_cell_is_edited_and_a_row_added_and_both_outlive_another_page(page: Page, server: str) -> None:
    _open(page, server)
    _write(page, "content", 3, "Call after one.")
    expect(_included(page)).to_have_text("Included 4 of 4 · 225 of 250 tokens")
    expect(page.locator(".st-key-blocks_table_head")).to_contain_text("4 blocks, edited")
    _write(page, "content", 3, "Call in the afternoon, please.")
    expect(_included(page)).to_have_text("Included 4 of 4 · 229 of 250 tokens")
    _cell(page, "id", 4)  # the row that is added
    settle(page)
    expect(page.locator(".cp-note")).to_contain_text("Row 5 has no id")
    expect(_included(page)).to_have_text("Included 4 of 4 · 229 of 250 tokens")
    box = page.locator("textarea.gdg-input")
    expect(box).to_be_focused()
    box.fill("mine")
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(".cp-note")).to_have_count(0)
    expect(_included(page)).to_have_text("Included 5 of 5 · 230 of 250 tokens")
    _write(page, "content", 4, "Twenty ASCII letters")
    expect(_included(page)).to_have_text("Included 5 of 5 · 234 of 250 tokens")
    choose(page, "Explain")
    choose(page, "Blocks")
    expect(_included(page)).to_have_text("Included 5 of 5 · 234 of 250 tokens")
    _says(page, "mine", "Twenty ASCII letters", "Call in the afternoon, please.")
    _write(page, "content", 0, "Never promise a refund.")
    expect(_included(page)).to_have_text("Included 5 of 5 · 174 of 250 tokens")
    _says(page, "mine", "Never promise a refund.")
    page.get_by_role("button", name="Reset").click()
    settle(page)
    expect(_included(page)).to_have_text("Included 3 of 4 · 221 of 250 tokens")
    _says(page, "rule:refunds", "memory:calls")
    expect(page.locator(".st-key-panel_blocks_table td").filter(has_text="mine")).to_have_count(0)


def test_a_row_is_taken_out_by_the_keyboard(page: Page, server: str) -> None:
    _open(page, server)
    box = page.locator(".st-key-panel_blocks_table canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 15, box["y"] + HEAD + ROW * 2 + ROW / 2)
    page.keyboard.press("Delete")
    settle(page)
    expect(_included(page)).to_have_text("Included 3 of 3 · 179 of 250 tokens")
    _says(page, "rule:refunds", "memory:calls")
    expect(page.locator(".st-key-panel_blocks_table td").filter(has_text="turn:last")).to_have_count(0)


def test_a_block_that_is_marked_here_is_marked_on_the_compile_page_and_the_other_way(
    page: Page, server: str
) -> None:
    _open(page, server, "this question")
    row = _rows(page).nth(20)
    name = row.locator(".name").first.text_content() or ""
    row.click()
    settle(page)
    expect(_title(page)).to_have_text(name)
    choose(page, "Compile")
    marked = page.locator(".pane.manifest .active")
    expect(marked).to_contain_text(name[:30])
    other = page.locator(".pane.manifest .row").nth(60)
    key = other.get_attribute("data-key") or ""
    other.dispatch_event("click")
    wait_selected(page, key, ("manifest",))
    title = other.locator(".name, .title").first.text_content() or ""
    choose(page, "Blocks")
    expect(_title(page)).to_have_text(re.compile(re.escape(title[:30])))
    expect(page.locator(".pane.table .active")).to_contain_text(title[:30])


def test_messages_are_shown_and_the_result_is_downloaded(page: Page, server: str) -> None:
    _open(page, server)
    page.locator(".st-key-blocks_messages label").click()
    settle(page)
    expect(page.locator(".st-key-raw_blocks code")).to_contain_text("1 system")
    assert overlaps(page) == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as JSON").click()
    data = json.loads(download.value.path().read_text("utf-8"))
    assert download.value.suggested_filename == "blocks.json"
    assert [block["id"] for block in data["omitted"]] == ["memory:calls"]
    assert (data["estimatedTokens"], data["budgetTokens"]) == (221, 250)


@pytest.mark.parametrize("width", [1440, 1100, 900])
def test_states_are_laid_out_without_overlaps(page: Page, server: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    _open(page, server)
    assert overlaps(page) == []
    _set_budget(page, 40)
    expect(page.locator(".cp-note")).to_be_visible()
    assert overlaps(page) == []
    # No number of the heads and totals is cut.
    cut = page.locator(".cp-totals :is(span, strong, em), .cp-facts :is(span, strong, em)").evaluate_all(
        "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.outerHTML)"
    )
    assert cut == []


def test_ones_own_blocks_come_from_a_file_with_their_budget_and_pins(
    page: Page, server: str, tmp_path: Path
) -> None:
    rows = [
        {"id": f"block {number}", "kind": "memory", "content": "x" * 40, "priority": number}
        for number in range(6)
    ]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"blocks": rows, "budgetTokens": 30, "pinnedOptionalIds": ["block 0"]}), "utf-8")
    _open(page, server, "own")
    expect(page.locator(".st-key-blocks_results")).to_have_count(0)
    page.locator("[class*=st-key-blocks_file] input[type=file]").set_input_files(path)
    settle(page)
    page.get_by_role("button", name="Use these blocks").click()
    settle(page)
    expect(page.locator(".cp-note")).to_contain_text("The table holds 6 blocks now.")
    expect(_included(page)).to_have_text("Included 3 of 6 · 30 of 30 tokens")
    expect(_outcome(page, "block 0")).to_have_text("pinned")
    expect(_outcome(page, "block 1")).to_have_text("budget")
    assert overlaps(page) == []
    choose(page, "Compile")
    choose(page, "Blocks")
    expect(_included(page)).to_have_text("Included 3 of 6 · 30 of 30 tokens")
    assert "block 0" not in page.url


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_pinned_block_can_be_read_in_either_theme(
    page: Page, server: str, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    _open(page, server)
    page.get_by_role("button", name="Pin", exact=True).click()
    settle(page)
    chip = page.locator(".st-key-blocks_pinned [data-tag]")
    text, ground = chip.evaluate(
        "node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]"
    )
    assert _brightness(text) != pytest.approx(_brightness(ground), abs=100)
    page.emulate_media(color_scheme=None)


def _brightness(colour: str) -> float:
    found = [float(part) for part in re.findall(r"[\d.]+", colour)]
    return sum(found[:3]) / 3


def test_a_text_that_was_refused_stays_to_be_mended(page: Page, server: str) -> None:
    _open(page, server, "own")
    field = page.locator("[class*=st-key-blocks_text] textarea")
    field.fill('[{"id": "a", "kind": "memory"')
    page.get_by_role("button", name="Use these blocks").click()
    settle(page)
    expect(page.locator(".cp-note").filter(has_text="cannot be read")).to_have_count(1)
    expect(field).to_have_value('[{"id": "a", "kind": "memory"')
    field.fill('[{"id": "a", "kind": "memory", "content": "x"}]')
    page.get_by_role("button", name="Use these blocks").click()
    settle(page)
    expect(_included(page)).to_have_text(re.compile("Included 1 of 1"))
    expect(field).to_have_value("")

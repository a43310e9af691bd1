"""What a user does on the Compile page, in a real browser on the real sample."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.driver import (
    choose,
    move_slider,
    open_page,
    scroll_of,
    segments,
    selected_keys,
    settle,
    strip,
    wait_selected,
)

PANES = ("cards", "xml", "manifest")


@pytest.fixture
def app(page: Page, server: str) -> Page:
    open_page(page, server)
    return page


def _key(item: Locator) -> str:
    key = item.get_attribute("data-key")
    assert key
    return key


def test_it_opens_on_bank_support_with_a_finished_compile(app: Page) -> None:
    expect(app.get_by_label("Project", exact=True)).to_have_value("bank-support")
    assert app.get_by_label("Question", exact=True).input_value().startswith("My wallet was stolen")
    assert "8,192" in strip(app)
    assert app.locator(".pane.cards .card").count() > 20
    assert app.locator(".pane.manifest .row").count() > 100
    assert segments(app).count() == app.locator(".pane.cards .card").count()


def test_a_click_on_a_chart_segment_marks_the_record_everywhere(app: Page) -> None:
    segment = segments(app).nth(30)
    title = (segment.get_attribute("aria-label") or "").rsplit(":", 1)[0]
    segment.click()
    expect(app.locator(".pane.manifest .active")).to_have_count(1)
    key = _key(app.locator(".pane.manifest .active"))
    wait_selected(app, key)
    assert title[:40] in app.locator(".pane.manifest .active .name").inner_text()


def test_a_click_on_a_card_marks_the_record_everywhere(app: Page) -> None:
    card = app.locator(".pane.cards .card").nth(25)
    key = _key(card)
    card.click()
    wait_selected(app, key)


def test_a_click_on_a_manifest_row_marks_the_record_everywhere(app: Page) -> None:
    row = app.locator(".pane.manifest .row.in").nth(40)
    key = _key(row)
    row.click()
    wait_selected(app, key)
    for pane in PANES:
        box = app.locator(f".pane.{pane} .active").bounding_box()
        frame = app.locator(f".pane.{pane}").bounding_box()
        assert box is not None
        assert frame is not None
        assert frame["y"] <= box["y"] < frame["y"] + frame["height"], f"{pane} did not scroll to the record"


def test_the_same_record_can_be_picked_again_from_the_chart_after_another_was_picked(app: Page) -> None:
    segments(app).nth(10).click()
    settle(app)
    first = selected_keys(app)[2]
    app.locator(".pane.manifest .row.in").nth(50).click()
    settle(app)
    assert selected_keys(app)[2] != first
    segments(app).nth(10).click()
    wait_selected(app, first)


def test_picking_a_record_scrolls_the_panes_and_never_the_page(app: Page) -> None:
    app.locator('[data-testid="stMain"]').evaluate("node => { node.scrollTop = 300 }")
    row = app.locator(".pane.manifest .row.in").nth(4)
    row.click()
    wait_selected(app, _key(row))
    assert app.locator('[data-testid="stMain"]').evaluate("node => node.scrollTop") == 300


def test_the_arrow_keys_step_through_the_manifest(app: Page) -> None:
    rows = app.locator(".pane.manifest .row")
    rows.nth(7).click()
    wait_selected(app, _key(rows.nth(7)))
    for _ in range(3):
        app.keyboard.press("ArrowDown")
    wait_selected(app, _key(rows.nth(10)), ("manifest",))
    wait_selected(app, _key(rows.nth(10)))
    app.keyboard.press("ArrowUp")
    wait_selected(app, _key(rows.nth(9)))
    expect(app.locator(".pane.manifest")).to_have_attribute(
        "aria-activedescendant", rows.nth(9).get_attribute("id") or ""
    )


def test_an_excluded_record_unfolds_its_list_and_the_xml_says_why_it_is_missing(app: Page) -> None:
    row = app.locator(".pane.manifest .row.out").filter(has_text="budget").first
    title = row.locator(".name").inner_text()
    row.click()
    note = app.locator(".pane.xml .note")
    expect(note).to_be_visible()
    assert note.inner_text().startswith(f"Not in the request (budget): {title[:30]}")
    expect(app.locator(f'.pane.cards details[open] .active[data-key="{_key(row)}"]')).to_have_count(1)


@pytest.mark.parametrize(("shown", "hidden"), [("Selected", "out"), ("Excluded", "in")])
def test_the_manifest_filter_hides_the_other_rows(app: Page, shown: str, hidden: str) -> None:
    app.locator(".st-key-manifest_show").get_by_text(shown, exact=True).click()
    expect(app.locator(f".pane.manifest .row.{hidden}").first).to_be_hidden()
    other = "in" if hidden == "out" else "out"
    expect(app.locator(f".pane.manifest .row.{other}").first).to_be_visible()


def test_a_slider_move_redraws_without_asking_the_sources_again(app: Page) -> None:
    timing, before = app.locator(".cp-timing").inner_text(), strip(app)
    move_slider(app, "Max tokens", "ArrowRight", times=6)
    expect(app.locator(".cp-strip").first).not_to_have_text(before)
    assert app.locator(".cp-timing").inner_text() == timing


def test_a_slider_move_keeps_the_marked_record_and_where_the_panes_stand(app: Page) -> None:
    row = app.locator(".pane.manifest .row.in").nth(40)
    key = _key(row)
    row.click()
    wait_selected(app, key)
    settle(app)
    places = {
        pane: app.locator(f".pane.{pane} .active").evaluate("node => node.getBoundingClientRect().top")
        for pane in PANES
    }
    move_slider(app, "Max tokens", "ArrowRight", times=12)
    wait_selected(app, key)
    for pane in PANES:
        now = app.locator(f".pane.{pane} .active").evaluate("node => node.getBoundingClientRect().top")
        assert abs(now - places[pane]) < 60, f"{pane} jumped"


def test_a_pick_after_a_slider_move_still_works(app: Page) -> None:
    move_slider(app, "Max tokens", "ArrowLeft", times=8)
    card = app.locator(".pane.cards .card").nth(20)
    key = _key(card)
    card.click()
    wait_selected(app, key)
    segments(app).nth(5).click()
    expect(app.locator(f'.pane.manifest .active[data-key="{key}"]')).to_have_count(0)


def test_copied_xml_is_the_rendered_xml(app: Page, context: BrowserContext) -> None:
    app.locator(".pane.xml").hover()
    app.get_by_role("button", name="Copy XML").click()
    expect(app.get_by_role("button", name="Copied")).to_be_visible()
    copied = app.evaluate("() => navigator.clipboard.readText()")
    shown = app.locator(".pane.xml").evaluate(
        "node => [...node.querySelectorAll('.record, .frame')].map((part) => part.textContent).join('')"
    )
    assert copied == shown
    blocks = copied.replace("</deuz_context>\n<", "</deuz_context>\0<").split("\0")
    tags = [ET.fromstring(block).tag for block in blocks]
    assert tags == ["deuz_context", "deuz_working_memory"]


def test_marking_text_in_the_xml_picks_no_record(app: Page) -> None:
    box = app.locator(".pane.xml .record").nth(2).bounding_box()
    assert box is not None
    app.mouse.move(box["x"] + 30, box["y"] + 26)
    app.mouse.down()
    app.mouse.move(box["x"] + 160, box["y"] + 26, steps=5)
    app.mouse.up()
    settle(app)
    assert selected_keys(app) == ["", "", ""]
    app.locator(".pane.xml .record").nth(1).click()
    expect(app.locator(".pane.manifest .active")).to_have_count(1)


def test_another_question_asks_the_sources_again(page: Page, server: str) -> None:
    open_page(page, server, query="?search=lexical")  # by words, so that no model needs to be loaded
    before = strip(page)
    box = page.get_by_label("Question", exact=True)
    box.fill("How do I close a savings account?")
    box.press("Enter")
    expect(page.locator(".cp-strip").first).not_to_have_text(before)
    settle(page)
    assert page.locator(".pane.cards .card").count() > 10


def test_the_raw_request_can_be_shown_in_both_shapes(app: Page) -> None:
    for shape, word in (("Anthropic", '"max_tokens"'), ("OpenAI", '"messages"')):
        app.locator(".st-key-shape").get_by_text(shape, exact=True).click()
        settle(app)
        expect(app.locator(".st-key-raw_request")).to_contain_text(word)


def test_going_to_another_page_and_back_keeps_the_settings(app: Page) -> None:
    move_slider(app, "Max tokens", "ArrowLeft", times=10)
    before = strip(app)
    choose(app, "Data")
    expect(app.locator(".pane.preview")).to_be_visible()
    choose(app, "Compile")
    expect(app.locator(".pane.cards")).to_be_visible()
    assert strip(app) == before


def test_narrow_panes_become_tabs_that_open_on_the_marked_record(app: Page) -> None:
    row = app.locator(".pane.manifest .row.in").nth(40)
    key = _key(row)
    row.click()
    wait_selected(app, key)
    app.set_viewport_size({"width": 900, "height": 1000})
    tabs = app.locator(".st-key-pane_tabs")
    for tab, pane in (("Rendered XML", "xml"), ("Manifest", "manifest"), ("Selected blocks", "cards")):
        tabs.get_by_text(tab, exact=True).click()
        settle(app)
        expect(app.locator(f".pane.{pane}")).to_be_visible()
        others = [other for other in PANES if other != pane]
        for other in others:
            expect(app.locator(f".pane.{other}")).to_be_hidden()
        assert scroll_of(app, pane) > 0
        expect(app.locator(f".pane.{pane} .active")).to_be_in_viewport()

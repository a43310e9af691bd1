"""What a user does on the Compile page, in a real browser on the real sample."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.driver import (
    choose,
    move_slider,
    open_page,
    outlined,
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
    expect(outlined(app)).to_have_attribute("aria-label", re.compile("^Selected: " + re.escape(title[:40])))
    assert title[:40] in app.locator(".pane.manifest .active .name").inner_text()


def test_a_click_on_a_card_marks_the_record_everywhere(app: Page) -> None:
    card = app.locator(".pane.cards .card").nth(25)
    key = _key(card)
    expect(outlined(app)).to_have_count(0)
    card.click()
    wait_selected(app, key)
    expect(outlined(app)).to_have_count(1)


def test_a_click_on_a_manifest_row_marks_the_record_everywhere(app: Page) -> None:
    row = app.locator(".pane.manifest .row.in").nth(40)
    key = _key(row)
    expect(outlined(app)).to_have_count(0)
    row.click()
    wait_selected(app, key)
    expect(outlined(app)).to_have_count(1)
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
    expect(outlined(app)).to_have_count(0)
    row.click()
    wait_selected(app, key)
    expect(outlined(app)).to_have_count(1)
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
    expect(outlined(app)).to_have_count(0)
    row.click()
    wait_selected(app, key)
    expect(outlined(app)).to_have_count(1)
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


def test_page_and_end_keys_move_in_the_manifest_and_escape_takes_the_mark_away(app: Page) -> None:
    rows = app.locator(".pane.manifest .row")
    rows.first.click()
    wait_selected(app, _key(rows.first))
    app.keyboard.press("PageDown")
    app.keyboard.press("PageDown")
    expect(rows.first).not_to_have_class("row in active")
    at = rows.evaluate_all("nodes => nodes.findIndex((node) => node.classList.contains('active'))")
    assert 20 < at < 60
    app.keyboard.press("PageUp")
    half = rows.evaluate_all("nodes => nodes.findIndex((node) => node.classList.contains('active'))")
    assert half == at / 2
    app.keyboard.press("End")
    wait_selected(app, _key(rows.last), ("manifest",))
    box, frame = rows.last.bounding_box(), app.locator(".pane.manifest").bounding_box()
    assert box is not None
    assert frame is not None
    assert frame["y"] < box["y"] <= frame["y"] + frame["height"] - box["height"]
    app.keyboard.press("Home")
    wait_selected(app, _key(rows.first))
    app.keyboard.press("Escape")
    for pane in PANES:
        expect(app.locator(f".pane.{pane} .active")).to_have_count(0)
    settle(app)
    assert selected_keys(app) == ["", "", ""]


def test_the_head_of_the_manifest_follows_its_filter(app: Page) -> None:
    head = app.locator(".st-key-pane_head_manifest .cp-head")
    selected, excluded = (part.strip() for part in re.findall(r"(\d+) /\s*(\d+)\s*\n45", strip(app))[0])
    for shown, number in (("Selected", selected), ("Excluded", excluded)):
        app.locator(".st-key-manifest_show").get_by_text(shown, exact=True).click()
        expect(head).to_contain_text(f"{number} entries")


def test_a_button_that_sets_a_slider_writes_nothing_into_the_log(app: Page, server_log: Path) -> None:
    before = strip(app)
    app.locator(".st-key-apply_change button").click()
    expect(app.locator(".cp-strip").first).not_to_have_text(before)
    settle(app)
    assert "Session State API" not in server_log.read_text("utf-8")


def test_other_changes_unfold_below_the_first_ones(app: Page) -> None:
    folded = app.locator(".cp-changes details tr")
    expect(folded.first).to_be_hidden()
    app.locator(".cp-changes summary").click()
    expect(folded.first).to_be_visible()


def test_a_slider_is_announced_without_markdown(app: Page) -> None:
    names = app.locator('[data-testid="stSlider"] input').evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    assert "Ratio" in names
    assert not [name for name in names if "*" in name]


@pytest.mark.parametrize("value", ["-5", "0", "999999999999"])
def test_a_window_out_of_range_is_told_the_range(app: Page, value: str) -> None:
    field = app.get_by_role("spinbutton", name="Window")
    field.fill(value)
    field.press("Enter")
    expect(app.locator('.st-key-window:has([aria-invalid="true"])')).to_have_count(1)
    said = app.locator(".st-key-window").evaluate("node => getComputedStyle(node, '::after').content")
    assert said == '"1 to 10,000,000"'


@pytest.mark.parametrize(
    ("address", "value"), [("", "window=1e400"), ("", "output=1.5"), ("blocks", "blocks_budget=Infinity")]
)
def test_a_number_in_the_link_that_no_field_can_take_is_refused_at_any_address(
    browser: Browser, server: str, address: str, value: str
) -> None:
    # A page of its own: at another address than the first Streamlit asks for two files in vain.
    page = browser.new_page()
    page.goto(f"{server}/{address}?search=lexical&{value}")
    settle(page)
    name, _, number = value.partition("=")
    expect(page.locator(".cp-note").filter(has_text=f"{name} = {number}, allowed")).to_have_count(1)
    expect(page.get_by_text("encountered an error")).to_have_count(0)
    expect(page.locator(".cp-strip").first).to_contain_text("8,192")
    assert value not in page.url
    page.close()


def test_a_sample_question_is_in_the_link_by_its_id(page: Page, server: str) -> None:
    open_page(page, server, query="?search=lexical")
    box = page.get_by_role("combobox", name="Sample question")
    box.click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value(re.compile("^(Which|I want)"))
    settle(page)
    link = page.url
    sample = re.search(r"sample=(task_\d+)", link)
    assert sample
    shown = page.get_by_label("Question", exact=True).input_value()
    page.goto(link)
    settle(page)
    expect(page.get_by_label("Question", exact=True)).to_have_value(shown)


def test_back_and_forward_undo_and_redo_the_choice_of_a_sample_question(page: Page, server: str) -> None:
    def choose_sample(number: int) -> str:
        page.get_by_role("combobox", name="Sample question").click()
        page.get_by_role("option").nth(number).click()
        settle(page)
        return question.input_value()

    open_page(page, server, query="?search=lexical")
    question = page.get_by_label("Question", exact=True)
    expect(question).not_to_have_value("")
    own = question.input_value()
    first, second = choose_sample(1), choose_sample(2)
    assert len({own, first, second}) == 3
    choose(page, "Explain")
    expect(question).to_have_value(second)
    for expected in (second, first, own):
        page.go_back()
        settle(page)
        expect(question).to_have_value(expected)
    assert "sample=" not in page.url
    expect(page.get_by_role("combobox", name="Sample question")).to_have_value("")
    page.go_forward()
    settle(page)
    expect(question).to_have_value(first)


def test_at_twice_the_size_pages_are_reached_from_the_header_and_settings_stay(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 720, "height": 900})
    open_page(page, server, query="?ratio=0.1")
    before = strip(page)
    pages = page.locator(".st-key-narrow_nav")
    pages.get_by_text("Data").click()
    expect(page.locator(".pane.preview")).to_be_visible()
    pages.get_by_text("Compile").click()
    expect(page.locator(".pane.cards")).to_be_visible()
    settle(page)
    assert strip(page) == before
    assert "ratio=0.1" in page.url
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(pages).to_be_hidden()
    entry = page.get_by_test_id("stSidebarNavLink").last.bounding_box()
    brand = page.locator(".cp-brand").bounding_box()
    assert entry is not None
    assert brand is not None
    assert entry["y"] + entry["height"] <= brand["y"]

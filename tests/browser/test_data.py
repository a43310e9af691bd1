"""The Data page in a real browser: files, rows, embedding."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import choose, open_page, settle, strip


@pytest.fixture
def app(page: Page, server: str) -> Page:
    open_page(page, server, query="?project=deploy-demo&search=lexical")
    choose(page, "Data")
    expect(page.locator(".pane.preview")).to_be_visible()
    return page


def test_uploaded_files_are_read_one_by_one_and_join_the_next_compile(app: Page, tmp_path: Path) -> None:
    good, bad = tmp_path / "billing.md", tmp_path / "scan.txt"
    good.write_text("# Billing\n\nShip the billing service from the release branch.", encoding="utf-8")
    bad.write_bytes(b"%PDF-1.7 binary")
    before = strip(app)
    app.locator('.st-key-add_files input[type="file"]').set_input_files([good, bad])
    expect(app.locator('[data-testid="stFileChip"]')).to_have_count(2)
    app.get_by_role("button", name="Add documents").click()
    settle(app)
    notes = app.locator(".cp-note")
    expect(notes.filter(has_text="1 document read")).to_be_visible()
    expect(notes.filter(has_text="scan.txt is a PDF although its name ends in .txt. Rename it")).to_be_visible()
    expect(app.locator(".pane.preview")).to_contain_text("Ship the billing service from the release branch.")
    expect(app.locator(".cp-strip").first).not_to_have_text(before)
    choose(app, "Compile")
    expect(app.locator(".pane.cards .card").filter(has_text="Ship the billing service")).to_have_count(1)


def test_a_click_on_a_row_shows_its_text(app: Page) -> None:
    row = app.locator(".pane.table .row").nth(1)
    row.click()
    expect(app.locator(".pane.preview")).to_contain_text("To undo a release")
    row.dblclick()
    app.keyboard.press("ArrowUp")
    expect(app.locator(".pane.preview")).not_to_contain_text("To undo a release")


def test_opening_another_sample_switches_the_whole_app(app: Page) -> None:
    app.locator(".st-key-open_bank-support button").click()
    expect(app.get_by_label("Project", exact=True)).to_have_value("bank-support")
    expect(app.locator(".cp-tiles")).to_contain_text("698")
    expect(app.locator(".pane.preview")).to_contain_text("Opening Personal Checking Accounts")


def test_a_model_that_cannot_be_fetched_is_a_notice_and_search_by_words_goes_on(app: Page) -> None:
    box = app.locator(".st-key-embedding_model input")
    box.fill("no-such-owner/no-such-model")
    box.press("Enter")
    settle(app)
    app.locator(".st-key-embed button").click()
    note = app.locator(".cp-note").filter(has_text="no-such-owner/no-such-model")
    expect(note).to_be_visible(timeout=40_000)
    expect(app.locator(".st-key-embed button")).to_be_enabled()
    choose(app, "Compile")
    assert app.locator(".pane.cards .card").count() > 0


def test_embedding_shows_its_phases_and_stops_within_seconds_with_what_it_has(app: Page) -> None:
    notes = "\n".join(
        json.dumps({"id": f"n{at}", "text": f"Note {at}. " + "rollback " * 180}) for at in range(200)
    )
    app.locator(".st-key-add_text textarea").fill(notes)
    app.get_by_role("button", name="Add documents").click()
    expect(app.locator(".cp-note").filter(has_text="200 documents read")).to_be_visible()
    panel = app.locator(".st-key-panel_embedding")
    panel.get_by_role("button", name="Embed 200 texts").click()
    expect(panel).to_contain_text("Loading the model")
    expect(panel).to_contain_text(re.compile(r"Embedding: [1-9]\d* of 200 texts"), timeout=60_000)
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).to_contain_text("Stopping after this batch", timeout=2_000)
    expect(app.locator(".cp-note").filter(has_text="of 200 texts have a vector now")).to_be_visible(
        timeout=6_000
    )
    expect(panel.get_by_role("button", name=re.compile(r"Embed 1?\d\d? texts"))).to_be_visible()


def test_the_notice_of_a_new_text_leads_to_where_it_is_embedded(page: Page, server: str) -> None:
    open_page(page, server, query="?project=deploy-demo&candidates=20")
    choose(page, "Data")
    page.locator(".st-key-add_text textarea").fill("# Shipping billing\n\nShip the billing service at night.")
    page.get_by_role("button", name="Add documents").click()
    expect(page.locator(".cp-note").filter(has_text="1 document read")).to_be_visible()
    choose(page, "Compile")
    card = page.locator(".pane.cards .card").filter(has_text="Ship the billing service at night")
    expect(card).to_have_count(1)
    page.get_by_role("link", name="Embed on the Data page").click()
    settle(page)
    panel = page.locator(".st-key-panel_embedding")
    expect(panel).to_contain_text("still needs a vector of all-MiniLM-L6-v2, which concerns 1 of 3 chunks.")
    expect(page.get_by_label("Project", exact=True)).to_have_value("deploy-demo")
    expect(page.locator(".cp-tiles")).to_contain_text("3 chunks")


def test_a_project_of_ones_own_outlives_a_reload_and_what_is_forgotten_is_in_no_export(
    app: Page, server: str, tmp_path: Path
) -> None:
    told, revised = "The window for billing is on Friday.", "The window for billing is on Monday."
    app.locator(".st-key-add_kind").get_by_text("Memories", exact=True).click()
    settle(app)
    app.locator(".st-key-add_text textarea").fill(told)
    app.get_by_role("button", name="Add memories").click()
    expect(app.locator(".cp-note").filter(has_text="1 memory read")).to_be_visible()

    app.get_by_role("button", name="Save as", exact=True).click()
    app.get_by_label("Name", exact=True).fill("journey")
    app.get_by_role("button", name="Save as a project").click()
    expect(app.locator(".cp-note").filter(has_text="Saved as a project of yours")).to_be_visible()
    _expect_project(app, "journey")

    expect(app).to_have_url(re.compile("project=journey"))
    _open_again(app, server)
    row = _memory(app, told)
    row.click()
    settle(app)
    app.get_by_role("button", name="Revise", exact=True).click()
    app.get_by_label("Text", exact=True).fill(revised)
    app.get_by_role("button", name="Save as revision 2").click()
    expect(app.locator(".cp-note").filter(has_text="The memory was revised")).to_be_visible()
    expect(app.locator(".cp-words del")).to_have_text("Friday.")
    expect(app.locator(".cp-words ins")).to_have_text("Monday.")

    _open_again(app, server)
    _memory(app, revised).click()
    expect(app.locator(".cp-revisions summary")).to_have_count(2)
    app.get_by_role("button", name="Forget", exact=True).click()
    app.get_by_role("button", name="Forget it for good").click()
    expect(app.locator(".cp-note").filter(has_text="Forgotten")).to_be_visible()
    expect(app.locator(".pane.table .row").filter(has_text="billing")).to_have_count(0)
    assert "billing is on" not in app.locator("body").inner_text()

    app.get_by_role("button", name="Export", exact=True).click()
    with app.expect_download() as waiting:
        app.get_by_role("button", name="The project, ").click()
    archive = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(archive)
    assert archive.name == "journey.zip"
    with zipfile.ZipFile(archive) as packed:
        assert "memories.jsonl" in packed.namelist()
        assert not any(b"billing is on" in packed.read(name) for name in packed.namelist())

    app.keyboard.press("Escape")
    app.get_by_role("button", name="Import", exact=True).click()
    app.locator('[class*="st-key-import_file_"] input[type="file"]').set_input_files(archive)
    expect(app.locator('[data-testid="stPopoverBody"] [data-testid="stFileChip"]')).to_have_count(1)
    app.get_by_role("button", name="Import as a project").click()
    _expect_project(app, "journey-2")
    expect(app.locator(".cp-note").filter(has_text="was imported")).to_be_visible()

    for name, following in (("journey-2", "bank-support"), ("journey", "bank-support")):
        if name == "journey":
            app.locator(".st-key-open_journey button").click()
            _expect_project(app, name)
        app.get_by_role("button", name="Delete", exact=True).click()
        app.get_by_role("button", name="Delete the project").click()
        expect(app.locator(".cp-note").filter(has_text="The project was deleted")).to_be_visible()
        _expect_project(app, following)
        expect(app.locator(f".st-key-open_{name}")).to_have_count(0)


def _open_again(page: Page, server: str) -> None:
    """Begin a new session by the link, as a reload does."""
    open_page(page, server, query="?project=journey&search=lexical")
    choose(page, "Data")
    _expect_project(page, "journey")


def _expect_project(page: Page, name: str) -> None:
    expect(page.get_by_label("Project", exact=True)).to_have_value(name)
    settle(page)


def _memory(page: Page, text: str) -> Locator:
    page.locator(".st-key-data_kind").get_by_text("Memories", exact=True).click()
    settle(page)
    row = page.locator(".pane.table .row").filter(has_text=text)
    expect(row).to_have_count(1)
    return row

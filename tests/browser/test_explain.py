"""What a user does on the Explain page, in a real browser on the real sample."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import choose, open_page, settle, strip


def _rows(page: Page) -> Locator:
    return page.locator(".pane.table .row")


def test_a_record_left_out_is_found_explained_let_in_and_marked_on_the_compile_page(
    page: Page, server: str
) -> None:
    open_page(page, server, query="?search=lexical")
    page.get_by_role("link", name="Explain what is left out").click()
    settle(page)
    head = page.locator(".cp-record b")
    first = head.inner_text()
    _rows(page).nth(5).click()
    expect(head).not_to_have_text(first)
    title = head.inner_text()
    expect(page.locator(".cp-prose")).to_contain_text("left at its turn")
    before = strip(page)
    button = page.locator(".st-key-explain_actions button").first
    wanted = button.inner_text().removeprefix("Set max tokens to ")
    assert re.fullmatch(r"[\d,]+", wanted)
    button.click()
    settle(page)
    expect(page.locator(".cp-prose")).to_contain_text("It got in")
    assert strip(page) != before
    assert f"/ {wanted}" in strip(page).replace("\n", " ")
    assert "search=lexical" in page.url
    choose(page, "Compile")
    expect(page.locator(".pane.cards .card.active")).to_contain_text(title[:40])


def test_a_second_click_on_the_explained_record_leaves_the_keys_with_the_table(page: Page, server: str) -> None:
    open_page(page, server, query="?search=lexical")
    choose(page, "Explain")
    head = page.locator(".cp-record b")
    titles = []
    for number in (5, 6):
        _rows(page).nth(number).click()
        settle(page)
        titles.append(head.inner_text())
    _rows(page).nth(5).click()
    expect(head).to_have_text(titles[0])
    _rows(page).nth(5).click()
    _rows(page).nth(5).dblclick()
    page.keyboard.press("Escape")
    settle(page)
    expect(head).to_have_text(titles[0])
    expect(page.locator(".pane.table .active")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(head).to_have_text(titles[1])
    page.keyboard.press("ArrowUp")
    expect(head).to_have_text(titles[0])


def test_a_click_on_a_column_sorts_the_table_and_the_keys_follow(page: Page, server: str) -> None:
    def tokens() -> list[int]:
        return [int(text.replace(",", "")) for text in _rows(page).locator(".number").all_inner_texts()[1::2]]

    open_page(page, server, query="?search=lexical")
    choose(page, "Explain")
    first = tokens()
    button = page.get_by_role("button", name="Sort by Tokens")
    button.click()
    assert tokens() == sorted(first, reverse=True)
    button.click()
    assert tokens() == sorted(first)
    _rows(page).first.click()
    page.keyboard.press("ArrowDown")
    expect(_rows(page).nth(1)).to_have_class(re.compile("active"))
    button.click()
    assert tokens() == first
    page.get_by_role("button", name="Sort by Record").click()
    found: list[str] = _rows(page).evaluate_all(
        "rows => rows.map((row) => row.querySelector('.name').textContent)"
    )
    titles = [title.lower() for title in found]
    assert len(titles) == len(first)
    assert titles == sorted(titles) != titles[::-1]


def test_the_table_filters_by_word_and_keeps_the_explained_record(page: Page, server: str) -> None:
    open_page(page, server, query="?search=lexical")
    choose(page, "Explain")
    title = page.locator(".cp-record b").inner_text()
    words = page.get_by_label("Filter by words")
    words.fill("wallet")
    words.press("Enter")
    settle(page)
    expect(page.locator(".cp-head").filter(has_text="Manifest")).to_contain_text(
        re.compile(r"\d+ of \d+ entries")
    )
    expect(page.locator(".cp-record b")).to_have_text(title)


def test_a_question_typed_on_the_compile_page_stands_on_this_page_too_and_stays(
    page: Page, server: str
) -> None:
    open_page(page, server, query="?search=lexical")
    question = page.get_by_label("Question", exact=True)
    question.fill("gold card")
    question.press("Enter")
    settle(page)
    choose(page, "Explain")
    expect(question).to_have_value("gold card")
    head = page.locator(".cp-record b").inner_text()
    page.locator(".st-key-explain_actions button").first.click()
    settle(page)
    expect(question).to_have_value("gold card")
    expect(page.locator(".cp-record b")).to_have_text(head)
    expect(page.locator(".cp-prose")).to_contain_text("It got in")
    choose(page, "Compile")
    expect(question).to_have_value("gold card")

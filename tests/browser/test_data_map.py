"""The map in a real browser: opened, picked from, and narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from playground.views.record_key import record_key
from tests.browser.driver import choose, open_page, overlaps, settle, wait_selected


@pytest.fixture
def data_map(page: Page, server: str) -> Page:
    open_page(page, server, query="?project=deploy-demo&search=hybrid")
    choose(page, "Data")
    page.get_by_role("button", name="Show the map").click()
    settle(page)
    expect(page.locator(".st-key-chart_map svg path[aria-label^='The question: ']")).to_have_count(1)
    return page


def test_a_click_on_a_point_marks_its_record_on_every_page(data_map: Page) -> None:
    points = data_map.locator(".st-key-chart_map svg path[aria-label*='number 1 of its source']")
    points.and_(data_map.locator("[aria-label^='Documents: ']")).click()
    settle(data_map)
    marked = data_map.locator(".cp-nearest .cp-here")
    expect(marked).to_have_count(1)
    expect(data_map.locator(".st-key-chart_map svg path[aria-label^='Selected: Documents: ']")).to_have_count(1)
    number = "0" if "Release checklist" in marked.inner_text() else "1"
    choose(data_map, "Compile")
    wait_selected(data_map, record_key("rag", number))


@pytest.mark.parametrize("width", [1440, 900])
def test_nothing_overlaps_with_the_map_open(data_map: Page, width: int) -> None:
    data_map.set_viewport_size({"width": width, "height": 900})
    data_map.locator('[data-testid="stMain"]').evaluate(
        "node => node.scrollTo(0, 0)"
    )  # navigation and strip stick
    settle(data_map)
    assert overlaps(data_map) == []
    box = data_map.locator(".st-key-chart_map svg.marks").bounding_box()
    assert box is not None
    assert box["width"] > 300

"""Nothing overlaps, is cut off or scrolls sideways; pictures of every page stay in the temporary folder.

The checklist for looking at those pictures, light and dark, at every width of ``SIZES``:

1. Nothing is cut off but titles that end in an ellipsis and show the rest on hover; no number is cut at all.
2. Nothing overlaps, nothing scrolls sideways, panes of one row start and end at one height.
3. Every bar, column, control and number is labelled; units stand once, in the head or after the number.
4. Parts add up to a total that is shown: window to pool, sources to used, selected and excluded to entries.
5. Every colour is the palette's; a kind has one colour everywhere; half tone means reallocated, with the word.
6. The marked record is tinted and outlined in cards, XML and manifest and outlined in the chart.
7. Contrast holds for small text; no default red, green or blue of the frameworks shows.

1, 2, 5 (tests of the palette), 6 and the sums of 4 are held by tests too; 3 and 7 are for eyes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import choose, open_page, overlaps, segments, settle, wait_selected

Scheme = Literal["light", "dark"]
SIZES = [
    # The default run looks at each theme once, at the two widths that people use most; the rest is for CI.
    pytest.param(
        width, scheme, marks=() if (width, scheme) in {(1440, "light"), (900, "dark")} else pytest.mark.slow
    )
    for width in (1440, 1280, 1152, 900, 720)
    for scheme in ("light", "dark")
]


def _open(page: Page, server: str, width: int, scheme: Scheme) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    open_page(page, server)


def _picture(page: Page, path: Path) -> None:
    # The main area scrolls by itself: a window as high as its content shows all of it.
    width = page.viewport_size["width"] if page.viewport_size else 1440
    height = page.locator('[data-testid="stMain"]').evaluate("node => node.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(height + 20, 3000)})
    settle(page)
    page.screenshot(path=path)


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_pages_are_laid_out_without_overlaps(
    page: Page, server: str, pictures: Path, width: int, scheme: Scheme
) -> None:
    _open(page, server, width, scheme)
    expect(segments(page).first).to_be_attached()
    assert overlaps(page) == []
    row = page.locator(".pane.manifest .row.in").nth(40)
    key = row.get_attribute("data-key") or ""
    row.dispatch_event("click")
    wait_selected(page, key)
    _picture(page, pictures / f"compile-{scheme}-{width}.png")
    assert overlaps(page) == []
    choose(page, "Data")
    expect(page.locator(".pane.preview")).to_be_attached()
    _picture(page, pictures / f"data-{scheme}-{width}.png")
    assert overlaps(page) == []
    choose(page, "Explain")
    expect(page.locator(".st-key-panel_explanation")).to_be_attached()
    _picture(page, pictures / f"explain-{scheme}-{width}.png")
    assert overlaps(page) == []
    choose(page, "Working memory")
    expect(page.locator(".pane.fill")).to_be_attached()
    _picture(page, pictures / f"working-memory-{scheme}-{width}.png")
    assert overlaps(page) == []
    choose(page, "Blocks")
    expect(page.locator(".st-key-panel_block")).to_be_attached()
    _picture(page, pictures / f"blocks-{scheme}-{width}.png")
    assert overlaps(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_marked_record_is_tinted_and_outlined_in_all_panes(page: Page, server: str, scheme: Scheme) -> None:
    _open(page, server, 1440, scheme)
    row = page.locator(".pane.manifest .row.in").nth(30)
    key = row.get_attribute("data-key") or ""
    row.click()
    wait_selected(page, key)
    tint, ink = {
        "light": ("rgb(255, 248, 225)", "rgb(27, 31, 39)"),
        "dark": ("rgb(44, 40, 22)", "rgb(231, 234, 239)"),
    }[scheme]
    page.mouse.move(5, 5)
    for pane in ("cards", "xml", "manifest"):
        marked = page.locator(f".pane.{pane} .active")
        expect(marked).to_have_css("background-color", tint)
        outline = "border-top-color" if pane == "cards" else "outline-color"
        expect(marked).to_have_css(outline, ink)


def test_the_theme_follows_the_browser_live_in_every_pane(page: Page, server: str) -> None:
    _open(page, server, 1440, "light")
    expect(page.locator(".pane.cards")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.emulate_media(color_scheme="dark")
    for pane in ("cards", "xml", "manifest"):
        expect(page.locator(f".pane.{pane}")).to_have_css("background-color", "rgb(16, 19, 25)")


def test_a_planted_overlap_is_seen(page: Page, server: str) -> None:
    """The check of this file can fail."""
    _open(page, server, 1440, "light")
    page.add_style_tag(content=".st-key-panel_waterfall { margin-top: -40px; }")
    assert overlaps(page) != []
    page.add_style_tag(content=".cp-strip { width: 2000px; }")
    assert any("cut off" in fault for fault in overlaps(page))


# The least text a number, a change or a heading needs must be there in full.
_CUT = """() => [...document.querySelectorAll(
  '.cp-strip :is(span, strong, em), .cp-head b, .cp-knobs td:not(:nth-child(3)), .cp-knobs th'
)].filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
  .map((node) => node.textContent)"""


@pytest.mark.parametrize("width", [1440, 1400, 1280, 1240, 1152, 900, 720])
def test_no_number_of_the_strip_or_of_what_binds_is_cut_and_panes_start_at_one_height(
    page: Page, server: str, width: int
) -> None:
    _open(page, server, width, "light")
    expect(segments(page).first).to_be_attached()
    assert page.evaluate(_CUT) == []
    # All at one moment: a chart that grows meanwhile moves them together.
    tops = page.locator(".pane").evaluate_all(
        "panes => panes.map(pane => pane.getBoundingClientRect())"
        ".filter(box => box.height > 0).map(box => Math.round(box.top))"
    )
    assert tops
    assert len(set(tops)) == 1
    heads = {round(box["height"]) for head in page.locator(".cp-head").all() if (box := head.bounding_box())}
    assert len(heads) == 1


@pytest.mark.parametrize(("width", "sidebar"), [(1440, 262), (1152, 216), (900, 216)])
def test_the_sidebar_leaves_narrow_pages_more_room(page: Page, server: str, width: int, sidebar: int) -> None:
    _open(page, server, width, "light")
    box = page.get_by_test_id("stSidebar").bounding_box()
    assert box is not None
    assert abs(box["width"] - sidebar) <= 1

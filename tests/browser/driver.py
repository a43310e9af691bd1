"""Finding things on the app's pages; panes live in shadow roots, which Playwright's selectors pierce."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

__all__ = [
    "choose",
    "move_slider",
    "open_page",
    "outlined",
    "overlaps",
    "scroll_of",
    "segments",
    "selected_keys",
    "settle",
    "strip",
    "wait_selected",
]

IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'

# Blocks that must not lie over each other, and how far anything reaches beyond the window.
_OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll(
    '.cp-strip, [class*="st-key-panel_"], [data-testid="stButtonGroup"],' +
    ' [data-testid="stTextInput"], .cp-head, .cp-brand,' +
    ' [data-testid="stTopNavLink"], .st-key-narrow_nav, [data-testid="stIFrame"], [class*="st-key-notice_"]'
  )].filter((node) => node.checkVisibility() && node.getBoundingClientRect().right > 0) // folded sidebar: < 0
    // Below 768 px an unfolded sidebar lies over the page on purpose.
    .filter((node) => innerWidth >= 768 || !node.closest('[data-testid="stSidebar"]'));
  for (const host of document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')) {
    const pane = host.shadowRoot && host.shadowRoot.querySelector('.pane');
    if (pane && pane.checkVisibility()) boxes.push(pane);
  }
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways');
  const main = document.querySelector('[data-testid="stMain"]');
  if (main.scrollWidth > main.clientWidth) faults.push('the main area scrolls sideways');
  const name = (node) => {
    const known = node.className.toString().match(/st-key-[\\w-]+|cp-[\\w-]+|pane \\w+/) || [node.tagName];
    return `${known[0]} ${node.textContent.slice(0, 20)}`;
  };
  const contains = (a, b) => {
    for (let node = b; node; node = node.parentNode || node.host) if (node === a) return true;
    return false;
  };
  for (let i = 0; i < boxes.length; i++) {
    const a = boxes[i].getBoundingClientRect();
    if (a.width && (a.left < -1 || a.right > innerWidth + 1)) faults.push(`${name(boxes[i])} is cut off`);
    for (let j = i + 1; j < boxes.length; j++) {
      if (contains(boxes[i], boxes[j]) || contains(boxes[j], boxes[i])) continue;
      const b = boxes[j].getBoundingClientRect();
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 1) faults.push(`${name(boxes[i])} | ${name(boxes[j])}`);
    }
  }
  return faults;
}"""


def open_page(page: Page, address: str, *, query: str = "") -> None:
    """Open the app on its landing page and wait for its panes."""
    page.goto(f"{address}/{query}")
    settle(page)
    expect(page.locator(".pane.cards")).to_be_attached()


def choose(page: Page, name: str) -> None:
    """Go to another page by the navigation."""
    wide = page.get_by_test_id("stTopNavLink").filter(has_text=name)
    narrow = page.locator(".st-key-narrow_nav a").filter(has_text=name)
    wide.or_(narrow).filter(visible=True).click()
    settle(page)


def settle(page: Page) -> None:
    """Wait until a run has begun, if one is due, and has ended."""
    page.wait_for_timeout(150)
    page.wait_for_selector(IDLE)
    page.wait_for_timeout(100)


def strip(page: Page) -> str:
    """Return the header strip's text."""
    return page.locator(".cp-strip").first.inner_text()


def selected_keys(page: Page) -> list[str]:
    """Return the keys that are marked in cards, XML and manifest; empty text where none is."""
    marked = [page.locator(f".pane.{pane} .active") for pane in ("cards", "xml", "manifest")]
    return [(found.first.get_attribute("data-key") or "") if found.count() else "" for found in marked]


def scroll_of(page: Page, pane: str) -> float:
    """Return how far a pane is scrolled, in px."""
    return float(page.locator(f".pane.{pane}").evaluate("node => node.scrollTop"))


def wait_selected(page: Page, key: str, panes: tuple[str, ...] = ("cards", "xml", "manifest")) -> None:
    """Wait until a record is marked in the panes."""
    for pane in panes:
        expect(page.locator(f'.pane.{pane} .active[data-key="{key}"]')).to_have_count(1)


def outlined(page: Page) -> Locator:
    """Return the outline that the sources chart draws round the marked record."""
    return page.locator('.st-key-chart_sources svg path[aria-label^="Selected: "]')


def segments(page: Page) -> Locator:
    """Return the record segments of the sources chart: bars whose label ends in a reason."""
    return page.locator('.st-key-chart_sources svg path[aria-roledescription="bar"][aria-label*=" tokens, "]')


def move_slider(page: Page, label: str, key: str, times: int = 1) -> None:
    """Move a sidebar slider with the keyboard."""
    slider = page.locator('[data-testid="stSlider"]').filter(has_text=label).locator("input").first
    slider.focus()
    for _ in range(times):
        page.keyboard.press(key)
    settle(page)


def overlaps(page: Page) -> list[str]:
    """Return what overlaps, is cut off or makes the page scroll sideways."""
    found: list[str] = page.evaluate(_OVERLAPS)
    return found

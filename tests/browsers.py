"""The browser of the tests: one that is installed, found by name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

__all__ = ["ARGUMENTS", "browser_path"]

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
REMEDY = "Install Chromium, name one in PLAYGROUND_CHROMIUM, or run: python -m playwright install chromium"


def browser_path(playwright: Playwright) -> str:
    """Return the browser that ``PLAYGROUND_CHROMIUM`` names, else an installed one, else Playwright's own.

    Where there is none the test is skipped and says what to do; with ``CI=true`` that is a failure.
    """
    named = os.environ.get("PLAYGROUND_CHROMIUM")
    found = named or next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    browser = Path(found or playwright.chromium.executable_path)
    if not browser.is_file():
        reason = f"No browser at {browser}. {REMEDY}"
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(reason)
        pytest.skip(reason)
    return str(browser)

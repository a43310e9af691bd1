"""A real server and a real browser, shared by all tests in this folder and ended after the last of them.

``tests.browsers`` finds the browser. Where there is none the tests skip and say what to do; with ``CI=true``
that is a failure.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Request, expect, sync_playwright

from tests.browsers import ARGUMENTS, browser_path

ROOT = Path(__file__).parents[2]
START_TIMEOUT = 60  # s until the server must answer

expect.set_options(timeout=10_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Replace the plugin's, which lasts as long as the session: while its loop runs, no other can."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> str:
    """Path of the browser."""
    return browser_path(playwright)


@pytest.fixture(scope="package")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    """Replace the plugin's browser, which is downloaded, by the installed one."""
    started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
    yield started
    started.close()


@pytest.fixture(scope="package")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File that holds what the server wrote."""
    return tmp_path_factory.mktemp("home") / "server.log"


@pytest.fixture(scope="package")
def server(chromium: str, server_log: Path) -> Iterator[str]:
    """Address of the app, started in a fresh home on a free port."""
    home = server_log.parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = server_log
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "HF_HUB_OFFLINE": "1",
    }
    # No watcher, as when installed: a file saved during the run would load its module a second time.
    options = ["--server.port", str(port), "--server.fileWatcherType", "none"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=20)


@pytest.fixture(scope="package")
def context(browser: Browser, server: str) -> Iterator[BrowserContext]:
    """One browser profile, so that the app's files are fetched once; each page is a session of its own."""
    made = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    made.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    """A page that must not log an error, raise one or ask another host for anything."""
    faults: list[str] = []
    made = context.new_page()
    watch(made, server, faults)
    yield made
    made.close()
    assert faults == []


@pytest.fixture(scope="package")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for screenshots; it stays in the temporary folder after the run."""
    return tmp_path_factory.mktemp("pictures")


def watch(page: Page, server: str, faults: list[str]) -> None:
    """Write down console errors, uncaught exceptions and requests to other hosts."""
    own = urlsplit(server).netloc

    def requested(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.netloc != own:
            faults.append(f"request to {address.netloc}")

    page.on("request", requested)
    page.on("websocket", lambda socket: faults.append(socket.url) if own not in socket.url else None)
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))


def _wait_for(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"The app did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")

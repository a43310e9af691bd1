"""The README's first command, from a clean clone, with an empty home folder and an empty environment."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browsers import ARGUMENTS, browser_path

ROOT = Path(__file__).parents[2]
INSTALL_SECONDS = 600
START_SECONDS = 60
# Where the package index is, and how to reach it, is the machine's business; nothing else is passed on.
KEPT = re.compile(r"PIP_\w+|SSL_CERT_\w+|(https?|no)_proxy|REQUESTS_CA_BUNDLE", re.IGNORECASE)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is tracked, and of nothing else."""
    folder = tmp_path_factory.mktemp("clone") / "playground"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in tracked.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path_factory.mktemp("home")), **kept}


@pytest.fixture(scope="module")
def installed(clone: Path, environment: dict[str, str]) -> Path:
    # The first command up to its last part; the last part is the server and is started by each test.
    command = (ROOT / "README.md").read_text(encoding="utf-8").split("```bash\n", 1)[1].split("\n", 1)[0]
    install, start = command.rsplit(" && ", 1)
    assert start == ".venv/bin/playground"
    done = subprocess.run(
        ["bash", "-c", install],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return clone


@pytest.fixture
def address(installed: Path, environment: dict[str, str]) -> Iterator[str]:
    """The address that the started app prints."""
    log = installed.parent / "log.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [".venv/bin/playground"],
            cwd=installed,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        found = None
        while found is None and time.monotonic() < deadline and server.poll() is None:
            time.sleep(0.2)
            found = re.search(r"http://127\.0\.0\.1:\d+\S*", log.read_text(encoding="utf-8", errors="replace"))
        assert found is not None, log.read_text(encoding="utf-8", errors="replace")
        yield found.group()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=20)


def test_the_first_command_installs_and_serves_the_app(address: str) -> None:
    base = address.split("?", 1)[0].rstrip("/")
    deadline = time.monotonic() + START_SECONDS
    answer = b""
    while answer != b"ok" and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{base}/_stcore/health", timeout=5) as response:
                answer = response.read()
        except OSError:
            time.sleep(0.2)
    assert answer == b"ok"
    with urllib.request.urlopen(base, timeout=5) as response:
        assert b"<title>" in response.read()


@pytest.mark.parametrize("page", ["compile", "data", "explain", "working_memory", "blocks"])
def test_a_page_opens_when_its_own_address_is_the_first_that_is_asked_for(address: str, page: str) -> None:
    base = address.split("?", 1)[0].rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(playwright), args=ARGUMENTS)
        try:
            shown = browser.new_page()
            shown.goto(f"{base}/{page}")
            expect(shown.get_by_text("Context playground").first).to_be_visible(timeout=60_000)
            expect(shown.locator(".st-key-strip")).to_contain_text("tokens", timeout=60_000)
            expect(shown.get_by_test_id("stException")).to_have_count(0)
        finally:
            browser.close()


def test_the_installed_package_compiles_the_bank_without_the_checkout(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    command = [str(installed / ".venv/bin/playground"), "compile", "--project", "bank-support", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"version":1,')
    assert '"contextTokens":8192' in done.stdout


def test_the_installed_theme_lies_where_streamlit_reads_it(installed: Path) -> None:
    (package,) = (installed / ".venv/lib").glob("python3*/site-packages/playground")
    shipped = (package / "app/start/.streamlit/config.toml").read_text(encoding="utf-8")
    assert shipped == (ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")


def test_the_wheel_stays_below_ten_megabytes(clone: Path, environment: dict[str, str], tmp_path: Path) -> None:
    subprocess.run(
        ["python3", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), "."],
        cwd=clone,
        env=environment,
        check=True,
        timeout=INSTALL_SECONDS,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 10_000_000

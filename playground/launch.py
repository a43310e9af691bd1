"""Starting the app: Streamlit in this process, bound to this machine, without questions and telemetry.

The settings that keep the app local and quiet are given as flags, which win over files and environment
variables of the user. Colours come from ``.streamlit/config.toml`` beside the script.
"""

from __future__ import annotations

import http.client
import os
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path
from urllib.parse import urlencode

from playground.errors import InvalidRequestError

__all__ = ["ADDRESS", "app_script", "app_url", "can_open_browser", "choose_port", "launch", "streamlit_flags"]

ADDRESS = "127.0.0.1"
FIRST_PORT = 8_501  # Streamlit's own
PORTS_TRIED = 100
START_SECONDS = 60.0  # how long the browser waits for the server


def launch(*, port: int | None = None, project: str | None = None, open_browser: bool = True) -> None:
    """Start the app and serve it until it is interrupted.

    Args:
        port: Where to listen; the first free port from 8501 when left out.
        project: The project to open.
        open_browser: Open the page in a browser where there is a display.

    Raises:
        InvalidRequestError: When the port is taken, or the app is not installed.
    """
    script, installed = app_script()
    chosen = choose_port(port)
    url = app_url(chosen, project=project)
    print(f"The playground is at {url} (Ctrl+C ends it).", flush=True)  # noqa: T201  # what the user waits for
    if open_browser and can_open_browser():
        threading.Thread(target=_open_when_ready, args=(chosen, url), daemon=True).start()
    # Brings Streamlit, half a second; no other command needs it.
    from streamlit.web.cli import main as streamlit  # noqa: PLC0415

    streamlit(
        ["run", str(script), *streamlit_flags(port=chosen, installed=installed)],
        prog_name="streamlit",
        standalone_mode=False,
    )


def app_script() -> tuple[Path, bool]:
    """Return the script of the app, and whether it is the installed one.

    Raises:
        InvalidRequestError: When there is neither an installed script nor a checkout.
    """
    package = Path(__file__).resolve().parent
    # In a folder of its own: of a folder "pages" beside its script Streamlit makes pages without the frame.
    entry = package / "app" / "start" / "entry.py"
    if entry.is_file():
        return entry, True
    checkout = package.parent / "app.py"
    if checkout.is_file() and (package.parent / "pyproject.toml").is_file():
        return checkout, False
    raise InvalidRequestError("The app's script is missing.", remedy="Install the package again.")


def app_url(port: int, *, project: str | None = None) -> str:
    """Return the address of the app, opened on a project."""
    query = f"?{urlencode({'project': project})}" if project else ""
    return f"http://{ADDRESS}:{port}/{query}"


def streamlit_flags(*, port: int, installed: bool) -> list[str]:
    """Return the flags of ``streamlit run``: local only, no telemetry, no prompt, no advertisement."""
    flags = {
        "server.address": ADDRESS,
        "server.port": str(port),
        "browser.serverAddress": ADDRESS,
        "server.headless": "true",  # the browser is opened here, where the project is known
        "server.showEmailPrompt": "false",
        "server.enableXsrfProtection": "true",
        "server.enableCORS": "true",
        "server.fileWatcherType": "none" if installed else "auto",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "logger.hideWelcomeMessage": "true",
    }
    return [f"--{name}={value}" for name, value in flags.items()]


def choose_port(wanted: int | None = None) -> int:
    """Return the port to listen on.

    Args:
        wanted: This one and no other; the first free one from 8501 when left out.

    Raises:
        InvalidRequestError: When the wanted port, or every port tried, is taken or not allowed.
    """
    if wanted is not None:
        if wanted > 0 and _is_free(wanted):  # 0 would be another one that nobody knows
            return wanted
        raise InvalidRequestError(
            f"Port {wanted} is taken or not allowed.", remedy="Choose another one with --port."
        )
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(port):
            return port
    raise InvalidRequestError(
        f"Ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are taken.", remedy="Choose one with --port."
    )


def can_open_browser() -> bool:
    """Whether a graphical browser can be expected; a text browser would take the terminal over."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            # A port whose last connection has just ended is free; on Windows the flag would steal a used one.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except (OSError, OverflowError):
            return False
    return True


def _open_when_ready(port: int, url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(ADDRESS, port, timeout=2)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == http.client.OK:
                webbrowser.open(url)
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()

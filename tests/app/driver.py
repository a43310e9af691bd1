"""Driving the app from its entry point without a browser, and reading what its pages show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from playground.app.shelf import _shelf
from playground.workspace import Project

__all__ = ["ROOT", "body", "go_to", "opened", "opened_by", "panes", "press", "project_of", "whole_body"]

ROOT = Path(__file__).parents[2]
OPENED = 60  # s; the first run of a process imports everything


def opened(page: str | None = None, /, **link: str) -> AppTest:
    """Open the app, and one of its pages.

    Args:
        page: Its name, as in the navigation; the first page unless given.
        **link: What the link says.
    """
    return _opened(AppTest.from_file(str(ROOT / "app.py"), default_timeout=OPENED), page, link)


def opened_by(script: Callable[[], None], page: str | None = None, /, **link: str) -> AppTest:
    """Do the same by a script in place of the app's entry point; it imports what it needs."""
    return _opened(AppTest.from_function(script, default_timeout=OPENED), page, link)


def go_to(app: AppTest, page: str) -> AppTest:
    """Switch to another page and return the app."""
    app.switch_page(str(ROOT / "playground" / "app" / "pages" / f"{page}.py")).run()
    assert not app.exception
    return app


def body(app: AppTest) -> str:
    """Return the HTML of the page, without the sidebar's."""
    assert not app.exception
    return "\n".join(element.proto.body for element in app.main if element.type == "html")


def whole_body(app: AppTest) -> str:
    """Return all HTML."""
    assert not app.exception
    return "\n".join(element.proto.body for element in app.get("html"))


def panes(app: AppTest) -> list[dict[str, Any]]:
    """Return what each pane is drawn of."""
    assert not app.exception
    return [json.loads(element.proto.json) for element in app.main if element.type == "bidi_component"]


def press(app: AppTest, label: str) -> None:
    """Click the button of a label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def project_of(app: AppTest) -> Project:
    """Return the open sample as the session changed it, which it must have done."""
    project = _shelf().get(app.session_state["material_owner"], str(app.session_state["project"]))
    assert project is not None
    return project


def _opened(app: AppTest, page: str | None, link: Mapping[str, str]) -> AppTest:
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    return app if page is None else go_to(app, page)

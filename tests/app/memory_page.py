"""Driving the Working memory page, and reading what it shows."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from streamlit.testing.v1 import AppTest

from playground.views.record_key import record_key
from playground.working_memory import WorkingMemorySnapshot
from tests.app import driver
from tests.app.driver import body, panes, project_of

__all__ = [
    "PAGE",
    "act_as",
    "call",
    "choose",
    "items",
    "labels",
    "mark",
    "notice",
    "opened",
    "pane",
    "snapshot_of",
    "write",
]

PAGE = "working_memory"


def opened(**link: str) -> AppTest:
    """Open the page; questions are answered by words, which needs no model."""
    return driver.opened(PAGE, **{"search": "lexical", **link})


def notice(app: AppTest) -> str:
    """Return title and sentence of what came of the last patch; empty without any."""
    found = re.findall(r'<p class="cp-note"><strong>(.*?)</strong>(.*?)</p>', body(app))
    return html.unescape(re.sub("<.*?>", "", ": ".join(found[-1]))) if found else ""


def pane(app: AppTest, name: str) -> dict[str, Any]:
    """Return what the items pane ("groups") or the fill order ("rows") is drawn of."""
    return next(data for data in panes(app) if name in data)


def items(app: AppTest, section: str) -> list[dict[str, str]]:
    """Return the rows of one section."""
    rows: list[dict[str, str]] = next(
        group["rows"] for group in pane(app, "groups")["groups"] if group["title"] == section
    )
    return rows


def snapshot_of(app: AppTest) -> WorkingMemorySnapshot:
    """Return the working memory as the session changed it."""
    snapshot = project_of(app).working_memory
    assert snapshot is not None
    return snapshot


def act_as(app: AppTest, role: str) -> None:
    """Write as the host or as the model from now on."""
    app.segmented_control(key="role").set_value(role).run()


def labels(app: AppTest) -> list[str]:
    """Return what the buttons say."""
    return [button.label for button in app.button]


def mark(app: AppTest, record_id: str) -> None:
    """Mark an item on every page."""
    app.session_state["selected_record"] = record_key("working-memory", record_id)
    app.run()


def choose(app: AppTest, kind: str) -> None:
    """Choose what is added."""
    app.segmented_control(key="add_item_kind").set_value(kind).run()


def write(app: AppTest, kind: str, text: str, **more: str) -> None:
    """Fill in the form of a kind and send it."""
    choose(app, kind)
    area = next(area for area in app.text_area if str(area.key).startswith("add_text_"))
    area.input(text)
    for field, value in more.items():
        boxes = (*app.selectbox, *app.text_input)
        next(box for box in boxes if str(box.key).startswith(f"add_{field}_")).set_value(value)
    verb = "Set the goal" if kind == "Goal" else f"Add {kind.lower()}"
    next(button for button in app.button if button.label.startswith(verb)).click().run()
    assert not app.exception


def call(app: AppTest, verb: str, data: object, **more: str) -> str:
    """Call a tool, or apply a patch by hand, and return what the page says of it."""
    name = "a patch by hand" if verb == "patch" else f"working_memory_{verb}"
    app.segmented_control(key="tool_chosen").set_value(name).run()
    app.text_area(key=f"tool_input_{verb}").input(data if isinstance(data, str) else json.dumps(data))
    if "call_id" in more:
        app.text_input(key="tool_call_id").input(more["call_id"])
    if "caller" in more:
        app.selectbox(key="tool_caller").set_value(more["caller"])
    app.button(key=f"tool_run_{verb}").click().run()
    assert not app.exception
    return str(app.code[-1].value)

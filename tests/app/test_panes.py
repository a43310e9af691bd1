"""The panes as Streamlit mounts them: what data they send, and that no markup can be made of it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|eval"
)


def _script() -> None:
    import streamlit as st

    from playground.app.components import block_cards, manifest_table, rendered_xml
    from playground.compiler.compile import compile_context
    from playground.compiler.values import ContextCandidate, SourceResult
    from playground.views.panes import cards_view, manifest_view
    from playground.views.record_text import record_texts
    from playground.views.xml_pane import xml_view
    from playground.workspace import RecordLabel

    texts = ["</record><script>alert(1)</script>", *(f"note {i}" for i in range(120))]
    candidates = tuple(ContextCandidate(str(i), text, 1 - i / 200) for i, text in enumerate(texts))
    results = (SourceResult("notes", "memory", candidates=candidates, limit=st.session_state.get("limit", 10)),)
    package = compile_context(results=results, messages=[], input_tokens=9_000, used_tokens=0)
    words = record_texts(results, None, lambda source, record: RecordLabel())
    manifest = manifest_view(package, words)
    selected = st.session_state.get("picked")

    def pick(key: str) -> None:
        st.session_state["picked"] = key

    block_cards(cards_view(package, words), manifest=manifest, selected=selected, on_pick=pick)
    rendered_xml(xml_view(package), manifest=manifest, selected=selected, on_pick=pick)
    manifest_table(manifest, selected=selected, on_pick=pick, show=st.session_state.get("show", "all"))


def _sent(app: AppTest) -> list[dict[str, Any]]:
    assert not app.exception
    return [json.loads(element.proto.json) for element in app.main if element.type == "bidi_component"]


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(_script, default_timeout=20).run()


def test_hostile_text_is_sent_as_data_and_never_as_html(app: AppTest) -> None:
    cards, xml, manifest = _sent(app)
    hostile = "</record><script>alert(1)</script>"
    assert cards["groups"][0]["cards"][0]["body"] == hostile
    assert manifest["rows"][0]["title"] == hostile
    assert "&lt;/record&gt;&lt;script&gt;" in "".join(p[1] for r in xml["records"] for p in r["pieces"])
    protos = [element.proto for element in app.main if element.type == "bidi_component"]
    assert {proto.html_content for proto in protos} == {""}
    assert all(proto.isolate_styles for proto in protos)


@pytest.mark.parametrize("name", ["shared", "cards", "xml", "manifest", "preview"])
def test_scripts_build_text_nodes_only(name: str) -> None:
    source = (files("playground.app.components") / f"{name}.js").read_text("utf-8")
    assert not MARKUP.search(source)


def test_selecting_a_record_leaves_the_content_digest_alone(app: AppTest) -> None:
    before = [data["digest"] for data in _sent(app)]
    app.session_state["picked"] = _sent(app)[2]["rows"][3]["key"]
    after = _sent(app.run())
    assert [data["digest"] for data in after] == before
    assert {data["selected"] for data in after} == {app.session_state["picked"]}


def test_filtering_the_manifest_leaves_its_content_digest_alone(app: AppTest) -> None:
    before = _sent(app)[2]["digest"]
    app.session_state["show"] = "excluded"
    after = _sent(app.run())[2]
    assert (after["digest"], after["show"]) == (before, "excluded")


def test_a_change_of_content_changes_every_digest(app: AppTest) -> None:
    before = [data["digest"] for data in _sent(app)]
    app.session_state["limit"] = 12
    after = [data["digest"] for data in _sent(app.run())]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_an_excluded_record_is_explained_and_found_past_the_cut_list(app: AppTest) -> None:
    app.session_state["picked"] = _sent(app)[2]["rows"][-1]["key"]
    cards, xml, _ = _sent(app.run())
    assert cards["beyond"]["title"] == "note 119"
    assert xml["note"] == ["Not in the request (limit): ", "note 119", f", {cards['beyond']['tokens']} tokens"]
    app.session_state["picked"] = _sent(app)[2]["rows"][20]["key"]
    assert _sent(app.run())[0]["beyond"] is None

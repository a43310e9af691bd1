"""The map on the Data page: only once it is opened, and never by loading a model."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from playground.app import data_map, services
from playground.charts import map as map_chart
from playground.views.record_key import record_key
from playground.workspace import load_sample
from tests.app.driver import body, go_to, opened, press
from tests.unit.test_partial_vectors import SampleModel


def charts(app: AppTest) -> list[Any]:
    return [element for element in app.main if element.type == "vega_lite_chart"]


def page(project: str = "deploy-demo", search: str = "lexical") -> AppTest:
    app = opened("data", project=project, search=search)
    assert not app.exception
    return app


def test_nothing_of_it_is_computed_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the map was computed")

    monkeypatch.setattr(data_map, "_view_now", refuse)
    app = page()
    assert "what lies near the question" in body(app)
    assert charts(app) == []


def test_it_shows_records_and_the_question_with_numbers_a_kind() -> None:
    app = page()
    press(app, "Show the map")
    (chart,) = charts(app)
    assert map_chart.SELECTION in chart.proto.spec
    shown = body(app)
    assert "3 records and the question" in shown
    assert "What lies close together is alike." in shown
    assert '<u class="cp-dot cp-rag"></u>Chunks of documents</td><td>2</td>' in shown


def test_it_closes_again_and_stays_as_it_was_on_the_way_back() -> None:
    app = page()
    press(app, "Show the map")
    go_to(go_to(app, "compile"), "data")
    assert len(charts(app)) == 1
    press(app, "Hide the map")
    assert charts(app) == []


def test_a_question_without_a_vector_is_missing_with_the_reason_and_no_model_is_loaded() -> None:
    before = "torch" in sys.modules
    app = go_to(page(), "compile")
    app.text_input(key="question").set_value("Something that nobody asked before?").run()
    go_to(app, "data")
    press(app, "Show the map")
    shown = body(app)
    assert "3 records<" in shown
    assert "it has no vector yet, and the map loads no model" in shown
    assert ("torch" in sys.modules) == before


def test_what_was_added_has_no_vector_and_is_counted() -> None:
    app = page()
    app.segmented_control(key="add_kind").set_value("Memories").run()
    app.text_area(key="add_text").input("First.\nSecond.")
    press(app, "Add memories")
    press(app, "Show the map")
    assert "2 memories have no vector and so no place on it." in body(app)


def test_the_marked_record_is_marked_in_the_list_beside_it() -> None:
    app = page()
    app.session_state["selected_record"] = record_key("rag", "0")
    press(app, "Show the map")
    assert body(app).count('class="cp-here"') == 1


def test_a_compile_that_fails_leaves_the_records_on_the_map() -> None:
    app = page()
    app.number_input(key="window").set_value(5_000)
    app.number_input(key="output").set_value(7_000).run()
    press(app, "Show the map")
    assert len(charts(app)) == 1
    assert "Chunks of documents</td><td>2</td><td>0</td><td>0</td>" in body(app)


def test_a_question_that_was_searched_by_meaning_is_on_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()
    model = SampleModel(load_sample("deploy-demo"))
    monkeypatch.setattr(services, "shared_embedder", lambda _: model)
    monkeypatch.setattr(data_map, "model_ready", lambda: True)
    app = go_to(page(search="hybrid"), "compile")
    app.text_input(key="question").set_value("Who may approve the zeppelin?").run()
    go_to(app, "data")
    press(app, "Show the map")
    assert "3 records and the question" in body(app)
    model.weights_digest = "sha256:other"
    st.cache_resource.clear()
    assert "3 records<" in body(app.run())

"""New questions and failed compiles, through the real entry point."""

from __future__ import annotations

import logging

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from playground.app import services
from playground.workspace import load_sample
from tests.app.driver import go_to, opened, opened_by, panes, press, whole_body
from tests.unit.test_partial_vectors import QUESTION, SampleModel


@pytest.fixture(autouse=True)
def _no_answers_of_other_tests() -> None:
    st.cache_resource.clear()


def test_one_new_document_does_not_turn_search_by_meaning_off(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SampleModel(load_sample("deploy-demo"))
    monkeypatch.setattr(services, "shared_embedder", lambda _: model)
    app = opened(project="deploy-demo")
    go_to(app, "data")
    app.text_area(key="add_text").input("The zeppelin is approved by Ada.")
    press(app, "Add documents")
    go_to(app, "compile")
    app.text_input(key="question").set_value(QUESTION).run()
    shown = whole_body(app)
    assert "1 text still needs a vector: 1 of 3 chunks is found by words only until then." in shown
    assert "has no vector yet" not in shown
    assert any(QUESTION in text for text in model.asked)
    assert not any("approved by Ada" in text for text in model.asked)
    link = next(link for link in app.get("page_link") if link.proto.label == "Embed on the Data page")
    assert link.proto.page == "data"


def test_a_failed_compile_is_logged_once_in_one_readable_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="playground"):
        app = opened(project="bank-support", window="3000", output="1000")
        app.run()
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("playground")]
    assert len(lines) == 1
    assert lines[0].startswith("The compile failed (context_budget_exceeded): ")
    assert "{" not in lines[0]
    assert "\n" not in lines[0]


def _with_two_customers() -> None:
    from dataclasses import replace

    import streamlit as st

    from playground.app.shelf import keep
    from playground.app.shell import main
    from playground.scope import MemoryScope
    from playground.workspace import Scenario, load_sample
    from playground.workspace.memories import remember_memory

    if "two_customers" not in st.session_state:
        st.session_state["two_customers"] = True
        theirs = MemoryScope(user_id="bo")
        project = remember_memory(load_sample("deploy-demo"), "Bo deploys on Fridays.", now=1, scope=theirs)
        asked = Scenario(id="of-bo", question="When does Bo deploy?", scope=theirs)
        keep(replace(project, scenarios=(asked,)))
    main()


def _offered(app: AppTest) -> set[str]:
    return {row["title"] for pane in panes(app) for row in pane.get("rows", ()) if "title" in row}


def test_a_sample_question_is_asked_in_its_own_scope_and_a_typed_one_in_the_projects() -> None:
    app = opened_by(_with_two_customers, project="deploy-demo", search="lexical", candidates="30")
    assert not any("Bo deploys" in title for title in _offered(app))
    app.selectbox(key="sample_question").set_value("of-bo").run()
    assert app.text_input(key="question").value == "When does Bo deploy?"
    assert any("Bo deploys" in title for title in _offered(app))
    app.text_input(key="question").set_value("When does Bo deploy, and where?").run()
    assert not any("Bo deploys" in title for title in _offered(app))


def test_the_working_memory_page_says_that_such_a_question_is_asked_without_it() -> None:
    app = opened_by(_with_two_customers, project="deploy-demo", search="lexical")
    app.selectbox(key="sample_question").set_value("of-bo").run()
    go_to(app, "working_memory")
    assert "is asked without this working memory" in whole_body(app)
    assert "the working memory is empty" not in whole_body(app)

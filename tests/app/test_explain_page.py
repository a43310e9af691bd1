"""The Explain page, driven from the app's entry point without a browser."""

from __future__ import annotations

import html
import re
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from playground.app.explain_panels import SHOWN
from playground.workspace import Project
from playground.workspace.library import default_library
from tests.app import driver
from tests.app.driver import body, go_to, panes
from tests.app.tables import table_of, tables_of

PAGE = "explain"
opened = partial(driver.opened, PAGE, search="lexical")


@pytest.fixture
def app() -> AppTest:
    return opened(project="deploy-demo", max_tokens="256")


def title(app: AppTest) -> str:
    found = re.search(r'class="cp-record">.*?<b.*?>(.*?)</b>', body(app))
    assert found
    return html.unescape(found.group(1))


def sentence(app: AppTest) -> str:
    found = re.search(r'class="cp-prose">(.*?)</p>', body(app))
    assert found
    return re.sub("<.*?>", "", found.group(1))


def test_it_opens_on_the_best_record_that_the_budget_left_out(app: AppTest) -> None:
    frame = table_of(app)
    assert set(frame["Reason"]) <= {"budget", "limit", "duplicate"}
    best = frame[frame["Reason"] == "budget"].sort_values("Score", ascending=False, kind="stable").iloc[0]
    assert title(app) == best["Record"]
    assert sentence(app).startswith("It takes ")
    assert "Nearest change" in body(app)


def test_a_record_marked_on_another_page_is_explained(app: AppTest) -> None:
    go_to(app, "compile")
    row = next(row for row in panes(app)[2]["rows"] if row["selected"] and row["reason"] != "mandatory")
    app.session_state["selected_record"] = row["key"]
    go_to(app, PAGE)
    assert title(app) == row["title"]
    assert sentence(app).startswith("It got in")
    assert "Nearest change" not in body(app)


def test_the_button_puts_the_control_where_the_record_gets_in(app: AppTest) -> None:
    button = next(button for button in app.button if button.label.startswith("Set max tokens to "))
    wanted = int(button.label.rsplit(" ", 1)[1].replace(",", ""))
    name = title(app)
    button.click().run()
    assert app.slider(key="max_tokens").value == wanted
    assert title(app) == name
    assert sentence(app).startswith("It got in")
    assert name in set(table_of(app)["Record"])


def test_a_filter_that_hides_the_explained_entry_is_named(app: AppTest) -> None:
    app.segmented_control(key="entries_show").set_value("Selected").run()
    assert title(app) not in set(table_of(app)["Record"])
    assert head(app).endswith("; the filter hides the explained one")
    app.segmented_control(key="entries_show").set_value("All").run()
    assert title(app) in set(table_of(app)["Record"])
    assert "the filter hides the explained one" not in body(app)


@pytest.mark.parametrize("shown", SHOWN)
def test_the_table_shows_all_selected_or_excluded_entries(app: AppTest, shown: str) -> None:
    app.segmented_control(key="entries_show").set_value(shown).run()
    reasons = set(table_of(app)["Reason"])
    inside = reasons & {"mandatory", "ranked", "reallocated"}
    outside = reasons - inside
    assert bool(inside) == (shown != "Excluded")
    assert bool(outside) == (shown != "Selected")


def test_words_and_reason_filter_the_table_and_nothing_left_is_said(app: AppTest) -> None:
    app.selectbox(key="entries_reason").set_value("budget").run()
    assert set(table_of(app)["Reason"]) == {"budget"}
    app.text_input(key="entries_words").set_value("no record has these words").run()
    assert not tables_of(app)
    assert "No entry passes this filter." in body(app)


def head(app: AppTest) -> str:
    found = re.search(r"<b>Manifest</b><span>(.*?)</span>", body(app))
    assert found
    return found.group(1)


def test_where_nothing_is_left_out_all_entries_are_shown_until_somebody_chooses() -> None:
    app = opened(project="deploy-demo", max_tokens="8192")
    assert app.segmented_control(key="entries_show").value == "All"
    assert (len(table_of(app)), head(app)) == (5, "5 entries")
    assert title(app) in set(table_of(app)["Record"])
    app.slider(key="max_tokens").set_value(256).run()
    assert app.segmented_control(key="entries_show").value == "Excluded"
    app.segmented_control(key="entries_show").set_value("Selected").run()
    app.slider(key="max_tokens").set_value(8_192).run()
    assert app.segmented_control(key="entries_show").value == "Selected"


def test_where_nothing_is_left_out_the_excluded_ones_are_said_to_have_got_in() -> None:
    app = opened(project="deploy-demo", max_tokens="8192")
    app.segmented_control(key="entries_show").set_value("Excluded").run()
    assert not tables_of(app)
    assert "Everything got in: nothing is left out." in body(app)
    assert head(app) == "5 entries; all selected"
    app.segmented_control(key="entries_show").set_value("All").run()
    app.text_input(key="entries_words").set_value("no record has these words").run()
    assert "No entry passes this filter." in body(app)


def test_the_question_typed_on_the_compile_page_stands_here_and_can_be_changed(app: AppTest) -> None:
    go_to(app, "compile")
    app.text_input(key="question").set_value("rollback").run()
    go_to(app, PAGE)
    assert app.text_input(key="question").value == "rollback"
    assert "search " in body(app)
    app.text_input(key="question").set_value("").run()
    assert "No question: " in body(app)
    go_to(app, "compile")
    assert app.text_input(key="question").value == ""


def test_an_empty_project_offers_a_sample_with_one_click() -> None:
    default_library().create("mine", Project("mine"))
    app = opened(project="mine")
    assert "Nothing to compile yet" in body(app)
    assert not tables_of(app)
    app.button(key="open_sample").click().run()
    assert app.selectbox(key="project").value == "bank-support"
    assert tables_of(app)


def test_a_compile_that_cannot_be_made_says_why_and_explains_nothing(app: AppTest) -> None:
    app.number_input(key="window").set_value(10).run()
    assert not app.exception
    assert not tables_of(app)
    assert "cp-note" in body(app)


def test_the_compile_page_leads_here_where_something_was_left_out(app: AppTest) -> None:
    go_to(app, "compile")
    links = {one.proto.label: one.proto.page for one in app.main if one.type == "page_link"}
    assert links["Explain what is left out"] == links["Explain"]
    app.slider(key="max_tokens").set_value(8_192).run()
    assert "Explain what is left out" not in {one.proto.label for one in app.main if one.type == "page_link"}


def test_an_entry_without_a_score_has_an_empty_cell_not_the_word_none(app: AppTest) -> None:
    app.segmented_control(key="entries_show").set_value("All").run()
    rows = next(pane["rows"] for pane in panes(app) if "columns" in pane)
    lines = [row["cells"] for row in rows if row["cells"][1] == "Working memory"]
    assert {cells[2] for cells in lines} == {""}

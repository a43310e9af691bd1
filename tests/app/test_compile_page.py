"""The Compile page and the frame around it, through the real entry point."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from playground.app import projects, services, shell
from playground.compiler.values import SourceResult
from playground.errors import ProjectError
from playground.retrieval.embedding import SentenceTransformerEmbedder
from playground.views.knobs import KNOBS
from playground.views.record_key import record_key
from playground.workspace import Project, load_sample
from playground.workspace.additions import with_memories
from playground.workspace.compiling import ask_sources
from playground.workspace.library import default_library
from tests.app.driver import ROOT, go_to, opened, opened_by, panes, whole_body

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ :red[y]"


@pytest.fixture
def app() -> AppTest:
    return opened(project="deploy-demo")


def strip(app: AppTest) -> dict[str, str]:
    """Label and value of every cell of the header strip."""
    found = re.search(r'<div class="cp-strip">.*', whole_body(app))
    assert found
    cells = re.findall(r'<span class="cp-long">(.*?)</span>.*?<strong.*?>(.*?)</strong>', found.group())
    return {label: re.sub("<.*?>", "", value) for label, value in cells}


def slider_values(app: AppTest, *keys: str) -> list[str]:
    """What stands at the end of sliders' labels."""
    shown = dict(re.findall(r'\.st-key-(\w+) label p::after\{content:"(.*?)"\}', whole_body(app)))
    return [shown[key] for key in keys]


def charts(app: AppTest) -> list[Any]:
    return [element for element in app.main if element.type == "vega_lite_chart"]


def controls(app: AppTest) -> dict[str | None, Any]:
    return {widget.key: widget.value for widget in (*app.slider, *app.selectbox, *app.number_input)}


# Opening


def test_the_app_opens_on_the_bank_with_charts_panes_and_a_full_strip() -> None:
    app = opened()
    assert app.selectbox(key="project").value == "bank-support"
    assert list(strip(app)) == [
        "Used / budget",
        "What binds",
        "Selected / excluded",
        "Estimator",
        "Cost per call",
    ]
    assert "–" not in strip(app).values()
    assert [chart.proto.alt.partition(":")[0] for chart in charts(app)][:2] == ["Window", "Pool"]
    assert len(panes(app)) == 3
    assert str(app.text_input(key="question").value).startswith("My wallet was stolen")


def test_the_first_page_needs_neither_torch_nor_altair() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from streamlit.testing.v1 import AppTest;"
        f"app = AppTest.from_file({str(ROOT / 'app.py')!r}, default_timeout=60).run();"
        "sys.exit(bool(app.exception) or bool({'torch', 'altair', 'sentence_transformers'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True).returncode == 0
    )


def test_the_strip_is_on_the_data_page_too(app: AppTest) -> None:
    before = strip(app)
    go_to(app, "data")
    assert strip(app) == before


# Knobs


def test_a_slider_move_compiles_again_and_asks_no_source(app: AppTest) -> None:
    before, asked = strip(app), app.session_state["retrieval"]
    app.slider(key="max_tokens").set_value(256).run()
    assert strip(app)["Used / budget"] != before["Used / budget"]
    assert app.session_state["retrieval"] == asked


def test_a_slider_move_sends_rows_alone_so_that_charts_are_updated_in_place(app: AppTest) -> None:
    def frame(chart: Any) -> tuple[str, str, str]:
        return chart.proto.id, chart.proto.spec, chart.proto.alt

    before = [(frame(chart), chart.proto.data.data) for chart in charts(app)]
    app.slider(key="max_tokens").set_value(256).run()
    after = [(frame(chart), chart.proto.data.data) for chart in charts(app)]
    assert [same for same, _ in before] == [same for same, _ in after]
    assert all(old != new for (_, old), (_, new) in zip(before, after, strict=True))


@pytest.mark.parametrize("knob", [*KNOBS])
def test_no_knob_of_the_budget_asks_a_source(app: AppTest, knob: str) -> None:
    asked = app.session_state["retrieval"]
    app.slider(key=knob).set_value(KNOBS[knob].least).run()  # type: ignore[index]  # the ids are the knobs
    assert not app.exception
    assert app.session_state["retrieval"] == asked


def test_another_question_asks_the_sources_again(app: AppTest) -> None:
    asked = app.session_state["retrieval"]
    app.selectbox(key="search").set_value("lexical").run()
    app.text_input(key="question").set_value("Who approves a release?").run()
    assert app.session_state["retrieval"] > asked


def test_shares_above_one_are_divided_by_their_sum_and_the_effective_part_stands_beside_each(
    app: AppTest,
) -> None:
    app.slider(key="memory_share").set_value(1.0).run()
    assert not app.exception
    assert slider_values(app, "memory_share", "rag_share", "transcript_share", "skills_share") == [
        "60.6%",
        "21.2%",
        "9.1%",
        "9.1%",
    ]


def test_a_slider_is_called_by_its_label_alone(app: AppTest) -> None:
    assert app.slider(key="ratio").label == "Ratio"
    assert slider_values(app, "ratio") == [f"{app.slider(key='ratio').value:.1%}"]


def test_the_button_of_the_limits_panel_lets_the_next_record_in() -> None:
    app = opened()
    before = int(strip(app)["Selected / excluded"].partition(" / ")[0])
    button = app.button(key="apply_change")
    wanted = int(re.sub(r"\D", "", button.label))
    button.click().run()
    assert app.slider(key="max_tokens").value == wanted
    assert int(strip(app)["Selected / excluded"].partition(" / ")[0]) >= before


def test_another_project_brings_its_own_question_and_knobs() -> None:
    app = opened(max_tokens="1024")
    app.selectbox(key="project").set_value("deploy-demo").run()
    demo = load_sample("deploy-demo")
    assert app.text_input(key="question").value == demo.question
    assert app.slider(key="max_tokens").value == demo.budget.max_tokens
    assert app.slider(key="candidates").value == demo.candidates_per_source


def test_a_sample_question_is_chosen_by_its_id_and_the_link_holds_no_content() -> None:
    scenario = load_sample("bank-support").scenarios[4]
    app = opened(sample=scenario.id, search="lexical")
    assert app.text_input(key="question").value == scenario.question
    app.text_input(key="question").set_value("my secret words").run()
    assert "secret" not in json.dumps(dict(app.query_params))
    assert app.query_params["sample"] in (scenario.id, [scenario.id])
    assert "not a typed question" in whole_body(app)


def test_sample_questions_are_listed_by_what_they_ask() -> None:
    app, sample = opened(), load_sample("bank-support")
    shown = app.selectbox(key="sample_question").options
    assert len(set(shown)) == len(sample.scenarios)
    assert shown[0].startswith("Which of your cards gives the highest cash back")
    assert not [text for text in shown if text.startswith("task_")]
    app.selectbox(key="sample_question").set_value(sample.scenarios[2].id).run()
    assert app.query_params["sample"] in (sample.scenarios[2].id, [sample.scenarios[2].id])
    assert app.text_input(key="question").value == sample.scenarios[2].question
    app.selectbox(key="sample_question").set_value(None).run()
    assert "sample" not in app.query_params


def test_the_tokenizer_counts_when_it_is_chosen(app: AppTest) -> None:
    assert strip(app)["Estimator"] == "heuristic"
    app.selectbox(key="estimator").set_value("tokenizer").run()
    assert strip(app)["Estimator"].endswith("_base")


# Links


def test_a_link_brings_back_every_knob() -> None:
    app = opened(
        project="deploy-demo", ratio="0.1", max_tokens="640", memory_share="0.2", estimator="tokenizer"
    )
    assert (app.slider(key="ratio").value, app.slider(key="max_tokens").value) == (0.1, 640)
    assert app.slider(key="memory_share").value == 0.2
    assert app.selectbox(key="estimator").value == "tokenizer"
    assert "link" not in whole_body(app)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ratio", "0"),
        ("ratio", "1.5"),
        ("ratio", "nan"),
        ("max_tokens", "-64"),
        ("max_tokens", "999999999"),
        ("working_memory_tokens", "many"),
        ("rag_share", "2"),
        ("candidates", "1e9"),
        ("estimator", "guess"),
        ("search", "google"),
        ("output", "-5"),
        ("project", "../../etc"),
        ("model", "gpt-99"),
        ("sample", "task_999"),
    ],
)
def test_a_bad_value_in_a_link_is_named_and_replaced_by_the_default(name: str, value: str) -> None:
    default = opened()
    app = opened(**{name: value})
    shown = whole_body(app)
    assert "A value in the link was not used" in shown
    assert html.escape(f"{name} = ") in shown
    assert f"<b>{html.escape(value)}</b>" in shown
    assert controls(app)[name] == controls(default)[name]
    assert strip(app) == strip(default)


def test_the_link_notice_stays_until_it_is_dismissed() -> None:
    app = opened(ratio="7")
    app.slider(key="max_tokens").set_value(1_024).run()
    assert "was not used" in whole_body(app)
    next(button for button in app.button if button.label == "Dismiss").click().run()
    assert "was not used" not in whole_body(app)


def test_a_model_may_be_linked_in_any_spelling_that_is_known() -> None:
    app = opened(model="anthropic/claude-opus-5.5")
    assert app.selectbox(key="model").value == "claude-opus-5-5"
    assert "was not used" not in whole_body(app)


def test_an_unknown_model_in_a_link_offers_the_near_names() -> None:
    app = opened(model="claude-opus-5-55")
    assert "one of" in whole_body(app)
    button = next(button for button in app.button if button.label.startswith("Use claude"))
    button.click().run()
    assert app.selectbox(key="model").value == button.label.removeprefix("Use ")
    assert "was not used" not in whole_body(app)


def test_an_output_reserve_beyond_the_linked_model_is_named() -> None:
    app = opened(model="gpt-4", output="100000")
    assert "a whole number from 0 to 4,096" in whole_body(app)


def test_a_reserve_that_the_next_model_cannot_answer_is_taken_back(app: AppTest) -> None:
    app.number_input(key="output").set_value(9_000).run()
    app.selectbox(key="model").set_value("gpt-4").run()
    assert not app.exception
    assert app.number_input(key="output").value is None


def test_a_hostile_value_in_a_link_is_shown_as_text() -> None:
    shown = whole_body(opened(ratio=HOSTILE[:30]))
    assert "<img" not in shown
    assert html.escape(HOSTILE[:30]) in shown


# Selection


def test_one_picked_record_is_marked_in_the_chart_and_in_all_three_panes() -> None:
    app = opened()
    rows = panes(app)[2]["rows"]
    key = next(row["key"] for row in rows if row["selected"] and row["slot"] == "rag")
    app.session_state["selected_record"] = key
    app.run()
    assert [pane["selected"] for pane in panes(app)] == [key, key, key]
    outlined = charts(app)[2].proto.data.data
    assert b"outline" in outlined


def test_a_record_that_was_left_out_is_marked_too(app: AppTest) -> None:
    app.session_state["selected_record"] = record_key("rag", "no such chunk")
    app.run()
    assert not app.exception


def test_the_request_is_shown_in_both_shapes_with_the_tokens_of_the_whole(app: AppTest) -> None:
    for shape, marker in (("Anthropic", '"max_tokens"'), ("OpenAI", '"messages"')):
        app.segmented_control(key="shape").set_value(shape).run()
        assert marker in app.code[0].value
        json.loads(app.code[0].value)
        assert re.search(r"Raw request</b><span>[\d,]+ tokens", whole_body(app))


# What goes wrong


def test_mandatory_overflow_shows_both_numbers_and_one_click_mends_it() -> None:
    app = opened(window="3000", output="1000")
    shown = whole_body(app)
    assert "Mandatory content does not fit" in shown
    required, available = (int(text.replace(",", "")) for text in re.findall(r"<b>([\d,]+)</b>", shown)[:2])
    assert required > available
    assert set(strip(app).values()) == {"–"}
    assert not charts(app)
    next(button for button in app.button if button.label.startswith("Use the window")).click().run()
    assert "does not fit" not in whole_body(app)
    assert len(charts(app)) == 3


@pytest.mark.parametrize(
    "link", [{"window": "3500", "output": "9000"}, {"model": "gemini-pro", "window": "4000"}]
)
def test_an_output_reserve_above_the_window_is_said_in_the_fields_words_and_mended_by_one_click(
    link: dict[str, str],
) -> None:
    app = opened(**link)
    shown = whole_body(app)
    assert "The answer does not fit the window" in shown
    assert "Output reserves <b>" in shown
    assert not re.search("max_output_tokens|ModelSpec", shown)
    next(button for button in app.button if button.label.startswith("Lower output to ")).click().run()
    assert "The answer does not fit" not in whole_body(app)
    assert len(charts(app)) == 3


@pytest.mark.parametrize(
    "link",
    [
        {"window": "1"},
        {"window": "1", "output": "0"},
        {"window": "1500", "output": "4000", "model": "gpt-4"},
        {"window": "2400", "output": "8000"},
        {"window": "3000", "output": "1000"},
        {"window": "9000", "output": "8600"},
    ],
    ids=str,
)
def test_every_button_that_an_error_offers_leads_to_a_page_that_compiles(link: dict[str, str]) -> None:
    def offered(app: AppTest) -> list[str]:
        return [str(button.key) for button in app.button if str(button.key).startswith("act_")]

    app = opened(**link)
    assert not charts(app)
    keys = offered(app)
    assert keys
    for key in keys:
        app = opened(**link)
        app.button(key=key).click().run()
        assert len(charts(app)) == 3, key


def test_a_link_to_a_damaged_project_says_so_and_one_click_opens_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def damaged(name: str) -> Project:
        if name == "deploy-demo":
            raise ProjectError("It is damaged.", project=name)
        return load_sample(name)

    st.cache_resource.clear()
    monkeypatch.setattr(projects, "load_sample", damaged)
    app = opened(project="deploy-demo")
    assert "The project cannot be used" in whole_body(app)
    next(button for button in app.button if button.label == "Open bank-support").click().run()
    assert app.selectbox(key="project").value == "bank-support"
    assert len(charts(app)) == 3
    st.cache_resource.clear()


def test_mandatory_content_above_the_limit_is_a_warning_and_a_mark_beside_the_numbers() -> None:
    app = opened(max_tokens="0")
    shown = whole_body(app)
    assert "Mandatory content is above the limit" in shown
    assert strip(app)["Used / budget"].endswith("/ 0over")
    next(button for button in app.button if button.label.startswith("Set max tokens to ")).click().run()
    assert "above the limit" not in whole_body(app)
    assert not strip(app)["Used / budget"].endswith("over")


def test_with_both_limits_at_their_minimum_one_click_raises_both() -> None:
    app = opened(max_tokens="0", ratio="0.005")
    before = int(strip(app)["Selected / excluded"].partition(" / ")[0])
    assert "Ratio and max tokens together" in whole_body(app)
    app.button(key="apply_change").click().run()
    assert controls(app)["max_tokens"] > 0
    assert controls(app)["ratio"] > 0.005
    assert int(strip(app)["Selected / excluded"].partition(" / ")[0]) > before


def test_an_empty_question_skips_the_sources_and_says_so(app: AppTest) -> None:
    app.text_input(key="question").set_value("  ").run()
    assert "No question: 4 sources skipped" in whole_body(app)
    assert "Nothing" in strip(app).values()


def test_knobs_that_help_only_at_a_loss_are_not_said_to_have_no_effect() -> None:
    page = whole_body(opened(project="bank-support", search="lexical"))
    assert "<td>no gain without a loss</td>" in page
    assert "no effect" not in page


def test_without_the_embedding_model_lexical_search_goes_on_and_is_offered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    st.cache_resource.clear()
    missing = SentenceTransformerEmbedder(tmp_path / "no-model-here")
    monkeypatch.setattr(services, "shared_embedder", lambda _: missing)
    app = opened(project="deploy-demo")
    app.text_input(key="question").set_value("a question nobody embedded before").run()
    assert "Search by meaning is not available" in whole_body(app)
    assert len(charts(app)) == 3
    next(button for button in app.button if button.label == "Use lexical search").click().run()
    assert app.selectbox(key="search").value == "lexical"
    assert "not available" not in whole_body(app)
    st.cache_resource.clear()


def failing(original: Callable[..., tuple[SourceResult, ...]], *, required: bool) -> Any:
    def ask(*args: Any, **kwargs: Any) -> tuple[SourceResult, ...]:
        first, *others = original(*args, **kwargs)
        error = OSError(f"disk gone {HOSTILE}")
        broken = replace(first, status="failed", candidates=(), error=error, required=required)
        return (broken, *others)

    return ask


@pytest.mark.parametrize("required", [False, True])
def test_a_failed_source_is_a_warning_with_the_partial_result_and_an_error_when_it_is_required(
    monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    st.cache_resource.clear()
    monkeypatch.setattr(services, "ask_sources", failing(ask_sources, required=required))
    app = opened(project="deploy-demo")
    shown = whole_body(app)
    assert "<img" not in shown
    if required:
        assert "The request cannot be served" in shown
        assert not charts(app)
    else:
        assert "Source memory failed" in shown
        assert "disk gone" in shown
        assert len(charts(app)) == 3
    st.cache_resource.clear()


def test_an_unexpected_error_shows_no_traceback_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    st.cache_resource.clear()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("inner secret")

    monkeypatch.setattr(services, "ask_sources", broken)
    app = opened(project="deploy-demo")
    shown = whole_body(app)
    assert "Something went wrong" in shown
    assert "inner secret" not in shown
    assert "inner secret" in caplog.text
    st.cache_resource.clear()


def test_grey_blocks_stand_for_the_first_compile_alone_and_a_later_one_leaves_the_charts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A script that ends amid a compile has sent what a page shows meanwhile."""

    def ends(*_: Any, **__: Any) -> None:
        raise StopException

    st.cache_resource.clear()
    with monkeypatch.context() as amid:
        amid.setattr(services, "ask_sources", ends)
        app = opened(project="deploy-demo")
        assert len(app.get("skeleton")) == len(shell.SKELETON)
    app.run()
    assert len(charts(app)) == 3
    assert not app.get("skeleton")
    with monkeypatch.context() as amid:
        amid.setattr(services, "ask_sources", ends)
        app.text_input(key="question").set_value("Who is on call?").run()
        assert [element.type for element in app.main] == ["main", "empty"]  # nothing in the place of the charts
    st.cache_resource.clear()


def _with_hostile_material() -> None:
    from playground.app.shelf import keep
    from playground.app.shell import main
    from tests.app.test_compile_page import hostile_project

    keep(hostile_project())
    main()


def hostile_project() -> Project:
    demo = load_sample("deploy-demo")
    added = with_memories(demo, [{"id": "h1", "text": f"How to ship billing {HOSTILE}"}], now=0)
    return replace(added.project, question=f"How do I ship the billing service? {HOSTILE}")


def test_hostile_material_is_never_markup_on_the_page() -> None:
    app = opened_by(_with_hostile_material, project="deploy-demo", search="lexical")
    assert "<img" not in whole_body(app)
    assert not [element for element in app.markdown if "img" in element.value]
    assert any(HOSTILE[:28] in json.dumps(pane, ensure_ascii=False) for pane in panes(app))


def test_an_empty_project_offers_a_sample_with_one_click() -> None:
    default_library().create("mine", Project("mine"))
    app = opened(project="mine")
    assert "Nothing to compile yet" in whole_body(app)
    assert not charts(app)
    app.button(key="open_sample").click().run()
    assert app.selectbox(key="project").value == "bank-support"
    assert len(charts(app)) == 3

"""The Blocks page, driven from the app's entry point without a browser.

What is typed into the table is the browser's; here tables come as one's own blocks, or as what the editor left.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from playground.app import blocks_material
from playground.app.caches import drop_material
from playground.blocks import ContextBlock
from playground.views.blocks_table import rows_of
from playground.views.record_key import split_key
from playground.workspace import Project, load_sample
from playground.workspace.library import default_library
from playground.workspace.memories import remember_memory
from tests.app import driver
from tests.app.driver import body, go_to, panes, press
from tests.app.tables import table_of, tables_of
from tests.app.test_memory_editing import holders, picked, secret

PAGE = "blocks"
opened = partial(driver.opened, PAGE, search="lexical")
HOSTILE = "</div></p><script>alert(1)</script> **bold** \u202ecod.exe"


def own(
    block_id: str, tokens: int = 5, priority: float = 1.0, kind: str = "memory", **more: Any
) -> ContextBlock:
    text = f"{block_id} ".ljust(4 * tokens, "x")
    return ContextBlock(block_id, kind, "caller", "user", text, priority, **more)  # type: ignore[arg-type]


def with_own(app: AppTest, blocks: Sequence[ContextBlock], budget: int | None = None) -> AppTest:
    """Show blocks as if they had been loaded."""
    rows = rows_of(blocks)
    draft = {"given": rows, "rows": rows, "good": None, "mounted": 0}
    number = app.session_state["blocks_own"]["number"] + 1 if "blocks_own" in app.session_state else 1
    app.session_state["blocks_own"] = {
        "number": number,
        "rows": rows,
        "draft": draft,
        "budget": budget or 2_000,
    }
    app.selectbox(key="blocks_material").set_value("own").run()
    assert not app.exception
    return app


def edit(app: AppTest, at: int, **fields: Any) -> AppTest:
    """Leave a table edited, as it is when the page is opened again."""
    draft = app.session_state["blocks_own"]["draft"]
    rows = [dict(row) for row in draft["rows"]]
    rows[at].update(fields)
    draft["rows"] = tuple(rows)
    go_to(app, "explain")
    return go_to(app, PAGE)


@pytest.fixture
def app() -> AppTest:
    return opened(project="bank-support")


@pytest.fixture
def example() -> AppTest:
    return opened(blocks_material="example")


def words(app: AppTest) -> str:
    return html.unescape(re.sub("<.*?>", "", body(app)))


def included(app: AppTest) -> str:
    found = re.search(r"Included [\d,]+ of [\d,]+ · [\d,]+ of [\d,]+ tokens?", words(app))
    assert found
    return found.group()


def outcomes(app: AppTest) -> dict[str, str]:
    frame = table_of(app)
    return dict(zip(frame["Block"], frame["Block compiler"], strict=True))


def notes(app: AppTest) -> list[str]:
    """Return each notice as one line, title first."""
    found = re.findall(r'class="cp-note">(.*?)</p>', body(app))
    return [html.unescape(re.sub("<.*?>", "", note.replace("</strong>", ": "))) for note in found]


def title(app: AppTest) -> str:
    found = re.findall(r'class="cp-record">.*?<b.*?>(.*?)</b>', body(app))
    return html.unescape(found[-1])


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def set_budget(app: AppTest, tokens: int) -> AppTest:
    app.number_input(key="blocks_budget").set_value(tokens).run()
    assert not app.exception
    return app


# Material


def test_it_opens_on_this_questions_compile_with_that_compiles_budget(app: AppTest) -> None:
    assert app.number_input(key="blocks_budget").value == 8_192
    assert included(app) == "Included 64 of 146 · 8,190 of 8,192 tokens"
    assert len(table_of(app)) == 146
    assert "Context compiler" in body(app)


def test_the_budget_follows_the_sidebar_until_somebody_chooses_one(app: AppTest) -> None:
    app.slider(key="max_tokens").set_value(4_096).run()
    assert app.number_input(key="blocks_budget").value == app.slider(key="blocks_slider").value == 4_096
    set_budget(app, 5_000)
    app.slider(key="max_tokens").set_value(8_192).run()
    assert app.number_input(key="blocks_budget").value == 5_000


def test_field_and_slider_are_one_value(example: AppTest) -> None:
    assert example.slider(key="blocks_slider").value == 250
    set_budget(example, 270)
    assert example.slider(key="blocks_slider").value == 270
    example.slider(key="blocks_slider").set_value(282).run()
    assert example.number_input(key="blocks_budget").value == 282
    assert included(example) == "Included 4 of 4 · 282 of 282 tokens"
    set_budget(example, 9_999)
    assert example.slider(key="blocks_slider").max == 9_999


def test_each_material_has_its_own_budget_and_pins(example: AppTest) -> None:
    example.multiselect(key="blocks_pinned").set_value(["memory:calls"]).run()
    set_budget(example, 260)
    example.selectbox(key="blocks_material").set_value("this question").run()
    assert example.number_input(key="blocks_budget").value == 8_192
    assert example.multiselect(key="blocks_pinned").value == []
    example.selectbox(key="blocks_material").set_value("example").run()
    assert example.number_input(key="blocks_budget").value == 260
    assert example.multiselect(key="blocks_pinned").value == ["memory:calls"]


def test_another_project_has_its_own_budget_and_the_example_keeps_its_own(app: AppTest) -> None:
    set_budget(app, 5_000)
    app.selectbox(key="project").set_value("deploy-demo").run()
    assert app.number_input(key="blocks_budget").value == 8_192
    app.selectbox(key="blocks_material").set_value("example").run()
    set_budget(app, 260)
    app.selectbox(key="project").set_value("bank-support").run()
    assert app.number_input(key="blocks_budget").value == 260
    app.selectbox(key="blocks_material").set_value("this question").run()
    assert app.number_input(key="blocks_budget").value == 5_000


def test_a_link_reproduces_material_budget_and_what_counts() -> None:
    app = opened(blocks_material="example", blocks_budget="290", blocks_counted="as in the sidebar")
    assert app.number_input(key="blocks_budget").value == 290
    assert " of 290 tokens" in included(app)
    assert app.selectbox(key="blocks_counted").value == "as in the sidebar"
    assert included(app) != included(opened(blocks_material="example", blocks_budget="290"))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("blocks_budget", "0", "a whole number from 1 to 10,000,000"),
        ("blocks_budget", "many", "a whole number from 1 to 10,000,000"),
        ("blocks_material", "nothing", "example, own, this question"),
        ("blocks_counted", "me", "approximate, as in the sidebar"),
    ],
)
def test_a_bad_value_in_the_link_is_named_and_the_default_is_used(name: str, value: str, allowed: str) -> None:
    app = opened(**{name: value})
    assert f"{name} = {value}, allowed: {allowed}." in notes(app)[0]
    assert app.number_input(key="blocks_budget").value == 8_192


def test_both_compilers_count_by_what_the_control_says(app: AppTest) -> None:
    frame = table_of(app)
    app.selectbox(key="blocks_counted").set_value("as in the sidebar").run()
    by_heuristic = table_of(app)
    app.selectbox(key="estimator").set_value("tokenizer").run()
    by_tokenizer = table_of(app)
    for column in ("Tokens", "Tagged"):
        sums = {frame[column].sum(), by_heuristic[column].sum(), by_tokenizer[column].sum()}
        assert len(sums) == 3


# The journey


def test_an_omitted_block_enters_at_the_named_budget_and_stays_when_it_is_pinned(example: AppTest) -> None:
    assert outcomes(example)["memory:calls"] == "budget"
    assert title(example) == "memory:calls"
    press(example, "Raise the budget to 282")
    assert outcomes(example)["memory:calls"] == "ranked"
    example.multiselect(key="blocks_pinned").set_value(["memory:calls"]).run()
    set_budget(example, 250)
    assert outcomes(example) == {
        "rule:refunds": "mandatory", "goal": "ranked", "turn:last": "budget", "memory:calls": "pinned",
    }  # fmt: skip
    set_budget(example, 100)
    (note,) = notes(example)
    assert note.startswith("Required and pinned blocks do not fit: They need 127 tokens, the budget is 100.")
    assert list(table_of(example)["Block compiler"]) == ["mandatory", "–", "–", "pinned"]
    press(example, "Raise the budget to 127")
    assert included(example) == "Included 2 of 4 · 127 of 127 tokens"
    set_budget(example, 100)
    press(example, "Unpin all")
    assert example.multiselect(key="blocks_pinned").value == []
    assert included(example) == "Included 1 of 4 · 66 of 100 tokens"
    assert not notes(example)


def test_a_budget_that_is_one_smaller_does_not_let_the_block_in(example: AppTest) -> None:
    set_budget(example, 281)
    assert outcomes(example)["memory:calls"] == "budget"
    assert "Raise the budget to 282" in labels(example)


def test_pin_and_unpin_stand_beside_the_block_and_not_beside_a_required_one(example: AppTest) -> None:
    press(example, "Pin")
    assert example.multiselect(key="blocks_pinned").value == ["memory:calls"]
    pick(example, "memory:calls")
    press(example, "Unpin")
    assert example.multiselect(key="blocks_pinned").value == []
    pick(example, "rule:refunds")
    assert not {"Pin", "Unpin"} & set(labels(example))


def test_required_blocks_cannot_be_pinned_and_the_context_compiler_tells_its_own_need(example: AppTest) -> None:
    assert "rule:refunds" not in example.multiselect(key="blocks_pinned").options
    set_budget(example, 70)
    assert outcomes(example)["goal"] == "budget"
    text = words(example)
    assert re.search(r"Context compilerdoes not fitwhat must be in needs \d+, the budget is 70", text)
    assert "Unpin all" not in labels(example)


def pick(app: AppTest, block_id: str) -> None:
    """Mark a block that is no record of the compile, as a click does."""
    picks = app.session_state["picks"] if "picks" in app.session_state else 0  # noqa: SIM401  # it has no get
    app.session_state["blocks_marked"] = (block_id, picks)
    app.run()
    assert not app.exception


# Marking


def test_a_record_that_is_marked_on_another_page_is_marked_here_and_shown_in_full(app: AppTest) -> None:
    go_to(app, "compile")
    row = next(row for row in panes(app)[2]["rows"] if row["selected"] and row["reason"] != "mandatory")
    app.session_state["selected_record"] = row["key"]
    go_to(app, PAGE)
    assert title(app) == row["title"]
    assert f"<dd>{html.escape(':'.join(split_key(row['key'])))}</dd>" in body(app)
    pane = next(pane for pane in panes(app) if "columns" in pane)
    assert pane["rows"][int(pane["selected"])]["cells"][0] == row["title"]


def test_the_filter_shows_where_the_two_differ_and_says_when_it_hides_the_marked_one(app: AppTest) -> None:
    everything = table_of(app)
    sizes = {}
    for shown in ("Differ", "In both", "In neither"):
        app.segmented_control(key="blocks_show").set_value(shown).run()
        sizes[shown] = len(table_of(app))
        assert f"{sizes[shown]} of 146 blocks" in body(app)
    assert sum(sizes.values()) == len(everything) == 146
    assert "the filter hides the marked one" in body(app)
    assert all(sizes.values())


# The table


def test_what_the_editor_left_outlives_other_pages_and_reset_brings_the_material_back(app: AppTest) -> None:
    with_own(app, [own("a", 5), own("b", 5)])
    assert "<b>Blocks</b><span>2 blocks</span>" in body(app)
    assert app.button(key="blocks_reset").disabled
    edit(app, 1, id="c", content="x" * 400)
    assert set(outcomes(app)) == {"a", "c"}
    assert included(app) == "Included 2 of 2 · 105 of 2,000 tokens"
    assert "<b>Blocks</b><span>2 blocks, edited</span>" in body(app)
    app.button(key="blocks_reset").click().run()
    assert set(outcomes(app)) == {"a", "b"}
    go_to(app, "compile")
    go_to(app, PAGE)
    assert included(app) == "Included 2 of 2 · 10 of 2,000 tokens"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": ""}, "Row 2 has no id"),
        ({"id": "a"}, "Row 2 has the id of row 1: a"),
        ({"kind": ""}, "Block b has no kind"),
        ({"priority": None}, "Block b has no priority"),
    ],
)
def test_a_fault_is_named_and_the_last_good_result_stays(
    app: AppTest, fields: dict[str, Any], said: str
) -> None:
    with_own(app, [own("a", 5), own("b", 5)])
    edit(app, 1, **fields)
    assert notes(app)[0].startswith(said)
    assert included(app) == "Included 2 of 2 · 10 of 2,000 tokens"
    assert set(outcomes(app)) == {"a", "b"}
    app.button(key="blocks_reset").click().run()
    assert not notes(app)


def test_a_table_that_was_faulty_from_the_start_shows_the_notice_alone(app: AppTest) -> None:
    with_own(app, [own("a", kind="unknown")])
    assert notes(app)[0].startswith("Block a has the unknown kind unknown")
    assert not notes(app)[0].endswith("could be made.")
    assert "Included" not in body(app)
    assert not tables_of(app)


def compile_draft(app: AppTest) -> dict[str, Any]:
    """Return the table of the present compile, which lies in the process."""
    editors = [str(element.proto.id) for element in app.main if element.type == "dataframe"]
    name = editors[0].partition("blocks_table_")[2].split("_")[0]
    return blocks_material._compile_draft(app.session_state["blocks_owner"], name, ())


def edit_compile(app: AppTest, block_id: str, **fields: Any) -> None:
    draft = compile_draft(app)
    draft["rows"] = tuple({**row, **fields} if row["id"] == block_id else row for row in draft["rows"])
    go_to(app, "explain")
    go_to(app, PAGE)


def test_a_changed_block_of_the_compile_reaches_both_compilers(app: AppTest) -> None:
    before = table_of(app)
    edit_compile(app, "memory:credit-card-gold", content="Gold. " * 100, priority=0.99)
    after = table_of(app)
    at = next(iter(before.index[before["Tokens"] != after["Tokens"]]))
    assert after["Tokens"][at] == 150
    assert after["Tagged"][at] > 150 > before["Tagged"][at]
    assert "146 blocks, edited" in body(app)
    app.button(key="blocks_reset").click().run()
    assert table_of(app).equals(before)


# States


def test_an_empty_project_offers_the_example(app: AppTest) -> None:
    default_library().create("mine", Project("mine"))
    app = opened(project="mine")
    assert "Nothing was offered" in body(app)
    press(app, "Show the example")
    assert included(app) == "Included 3 of 4 · 221 of 250 tokens"
    assert app.selectbox(key="blocks_material").value == "example"


def test_where_the_compile_fails_the_example_still_works(app: AppTest) -> None:
    app.number_input(key="window").set_value(10).run()
    assert "No compile to take blocks from" in body(app)
    assert not tables_of(app)
    press(app, "Show the example")
    assert included(app) == "Included 3 of 4 · 221 of 250 tokens"
    set_budget(app, 300)
    assert included(app) == "Included 4 of 4 · 282 of 300 tokens"


def test_hostile_blocks_are_shown_as_texts(app: AppTest) -> None:
    hostile = ContextBlock(HOSTILE, "memory", HOSTILE, "user", HOSTILE, 1.0, retention_reason=HOSTILE)
    with_own(app, [hostile, own("a", 500)], 100)
    assert "<script>" not in body(app)
    pick(app, HOSTILE)
    page = body(app)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert table_of(app)["Block"][0] == HOSTILE.replace("\u202e", "\ufffd")
    assert "\u202e" not in app.multiselect(key="blocks_pinned").options[0]


def test_blocks_with_one_id_beginning_and_very_long_ones_stay_apart(app: AppTest) -> None:
    with_own(app, [own("x" * 5_000 + end, 5) for end in "ab"], 5)
    assert len(table_of(app)) == 2
    assert len(set(app.multiselect(key="blocks_pinned").options)) == 2


def test_the_result_can_be_downloaded_and_its_messages_read(example: AppTest) -> None:
    assert any(one.proto.label == "Download as JSON" for one in example.get("download_button"))
    assert not example.code
    example.toggle(key="blocks_messages").set_value(True).run()
    (code,) = example.code
    assert code.value.startswith("1 system\n    Never promise a refund.")
    assert "\n\n2 user\n    Find out why" in code.value
    assert "mobile number" not in code.value


def test_nothing_typed_or_loaded_reaches_the_link(app: AppTest) -> None:
    with_own(app, [own("secret-id", 5)], 77)
    said = json.dumps(app.query_params, default=str)
    assert "secret" not in said


def test_forgetting_lets_go_of_the_tables_of_compiles_and_keeps_ones_own(app: AppTest) -> None:
    edit_compile(app, "memory:credit-card-gold", content="Gold. " * 100)
    assert "146 blocks, edited" in body(app)
    with_own(app, [own("a", 5), own("b", 5)])
    edit(app, 1, id="c")
    drop_material()
    app.selectbox(key="blocks_material").set_value("this question").run()
    assert "<b>Blocks</b><span>146 blocks</span>" in body(app)
    app.selectbox(key="blocks_material").set_value("own").run()
    assert set(outcomes(app)) == {"a", "c"}


# One's own blocks


def paste(app: AppTest, text: str) -> AppTest:
    if app.selectbox(key="blocks_material").value != "own":
        app.selectbox(key="blocks_material").set_value("own").run()
    (field,) = [one for one in app.text_area if str(one.key).startswith("blocks_text")]
    field.set_value(text)
    press(app, "Use these blocks")
    return app


ROWS: list[dict[str, Any]] = [
    {"id": "rule", "kind": "constitution", "content": "x" * 40, "priority": 1, "required": True},
    {"id": "note", "kind": "memory", "content": "x" * 80, "priority": 5},
    {"id": "fact", "kind": "memory", "content": "x" * 40, "priority": 2},
]


def test_before_anything_is_loaded_the_own_table_is_empty_and_says_what_to_do(app: AppTest) -> None:
    app.selectbox(key="blocks_material").set_value("own").run()
    assert "No result yet: add a row to the table." in body(app)
    assert app.number_input(key="blocks_budget").value == 2_000
    assert not tables_of(app)


def test_a_request_brings_its_blocks_its_budget_and_its_pins(app: AppTest) -> None:
    paste(app, json.dumps({"blocks": ROWS, "budgetTokens": 25, "pinnedOptionalIds": ["fact"]}))
    assert notes(app) == ["Your blocks were read: The table holds 3 blocks now."]
    assert app.number_input(key="blocks_budget").value == 25
    assert outcomes(app) == {"rule": "mandatory", "note": "budget", "fact": "pinned"}
    press(app, "Dismiss")
    assert not notes(app)
    assert outcomes(app)["fact"] == "pinned"


def test_lines_and_csv_are_read_too_and_come_in_place_of_what_was_there(app: AppTest) -> None:
    paste(app, "\n".join(map(json.dumps, ROWS)))
    assert set(outcomes(app)) == {"rule", "note", "fact"}
    paste(app, "id,kind,content,priority\na,memory,some text,2\nb,goal,more,1")
    assert set(outcomes(app)) == {"a", "b"}
    assert included(app) == "Included 2 of 2 · 4 of 2,000 tokens"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Choose a file or paste blocks first."),
        ("no blocks at all", "as CSV its first row names no column id"),
        ('{"blocks": 5}', "5 is no list of blocks"),
        ('[{"id": "a", "colour": 1}]', "colour"),
        (HOSTILE, "names no column id"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_table_stays(app: AppTest, text: str, said: str) -> None:
    paste(app, json.dumps(ROWS))
    paste(app, text)
    assert notes(app)[0].startswith("Your blocks cannot be read: ")
    assert said in notes(app)[0]
    assert notes(app)[0].endswith("The table stays as it was.")
    assert set(outcomes(app)) == {"rule", "note", "fact"}


def test_a_faulty_block_of_a_file_stands_in_the_table_to_be_mended(app: AppTest) -> None:
    paste(app, json.dumps([*ROWS, {"id": "odd", "content": "text"}]))
    assert any(note.startswith("Block odd has no kind") for note in notes(app))
    edit(app, 3, kind="goal")
    assert set(outcomes(app)) == {"rule", "note", "fact", "odd"}


@pytest.mark.parametrize(
    ("fault", "said", "mended"),
    [
        ({"required": 1}, "Block odd is neither required nor optional", {"required": True}),
        ({"required": "perhaps"}, "Block odd is neither required nor optional", {"required": False}),
        ({"content": None}, "Block odd has no content that can be read", {"content": ""}),
        ({"content": 5}, "Block odd has no content that can be read", {"content": "5"}),
    ],
)
def test_what_the_command_refuses_is_never_made_optional_or_empty(
    app: AppTest, fault: dict[str, Any], said: str, mended: dict[str, Any]
) -> None:
    paste(app, json.dumps([{"id": "odd", "kind": "goal", "content": "text", **fault}]))
    assert any(note.startswith(said) for note in notes(app))
    assert "Included" not in body(app)
    edit(app, 0, **mended)
    assert set(outcomes(app)) == {"odd"}


def test_more_blocks_than_a_page_shows_are_refused(app: AppTest) -> None:
    rows = ["id,kind,content", *(f"b{number},memory,text" for number in range(5_001))]
    paste(app, "\n".join(rows))
    assert "They are 5,001 blocks, and a page shows at most 5,000." in notes(app)[0]


def test_a_thousand_blocks_are_compiled_and_listed(app: AppTest) -> None:
    with_own(app, [own(f"b{number}", 10, float(number % 7)) for number in range(1_000)], 5_000)
    assert included(app) == "Included 500 of 1,000 · 5,000 of 5,000 tokens"
    assert len(table_of(app)) == 1_000
    set_budget(app, 5_010)
    assert included(app) == "Included 501 of 1,000 · 5,010 of 5,010 tokens"


def test_a_forgotten_memory_leaves_no_trace_of_its_block_in_the_process() -> None:
    library = default_library()
    now = time.time_ns() // 1_000_000
    library.create("mine", remember_memory(load_sample("deploy-demo"), f"{secret()}.", id="secret", now=now))
    app = opened(project="mine")
    app.text_input(key="question").set_value("What is the passphrase?").run()
    edit_compile(app, "memory:secret", content=f"{secret()}, or so.")
    app.toggle(key="blocks_messages").set_value(True).run()
    set_budget(app, 4_000)
    assert secret() in "".join(code.value for code in app.code)
    go_to(app, "data")
    picked(app, "secret")
    assert holders()
    press(app, "Forget it for good")
    for page in ("compile", "explain", "data"):  # Streamlit remembers the controls of a page that is not shown
        go_to(app, page)
    assert holders() == []
    go_to(app, PAGE)
    assert secret() not in body(app)
    assert secret() not in repr(app.session_state)
    assert holders() == []


def _agrees_with_the_strip(app: AppTest) -> tuple[str, str]:
    said, strip = words(app), body(app)
    counts = re.search(r"Selected / excluded.*?<strong[^>]*>(\d+)<small>\D*(\d+)", strip, re.DOTALL)
    used = re.search(r"Used / budget.*?<strong[^>]*>([\d,]+)<", strip, re.DOTALL)
    assert counts
    assert used
    panel = said[said.index("Context compiler") :]
    assert f"{counts[1]} in / {counts[2]} out" in panel
    assert f"{used[1]} of 8,192 tokens" in panel
    return f"{counts[1]} {counts[2]}", used[1]


def test_counted_as_in_the_sidebar_the_context_compiler_says_what_the_strip_says(app: AppTest) -> None:
    app.selectbox(key="blocks_counted").set_value("as in the sidebar").run()
    first = _agrees_with_the_strip(app)
    app.slider(key="rag_share").set_value(1.0).run()
    second = _agrees_with_the_strip(app)
    app.slider(key="working_memory_tokens").set_value(0).run()
    assert len({first, second, _agrees_with_the_strip(app)}) == 3

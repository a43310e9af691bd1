"""HTML pages as Markdown."""

from __future__ import annotations

import html
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import DocumentError
from playground.retrieval.headings import headings_of
from playground.retrieval.html_markdown import DEPTH_LIMIT, html_markdown, read_html
from playground.retrieval.html_tables import CELL_LIMIT


def markdown(body: str) -> str:
    return html_markdown(f"<!doctype html><body>{body}")[1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h1>A <b>b</b></h1><p>one\n  two<p>three", "# A b\n\none two\n\nthree"),
        ("<p>one<br>two<br><br>three</p>", "one\ntwo\nthree"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol start=9><li>a<li>b<p>more</ol>", "9. a\n10. b\n\n    more"),
        ("<ol start=99999999999><li>a</ol>", "1. a"),
        ("<ul><li>a</ul><p>x</p><ul><li>b</ul>", "- a\n\nx\n\n- b"),
        ("<li>a<li>b", "- a\n\n- b"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc"),
        ("<dl><dt>Berth<dd>A place</dl>", "Berth\n\n- A place"),
        ("<pre>a\n  b &lt;c&gt;</pre>", "```\na\n  b <c>\n```"),
        ("<pre>has ``` in it</pre>", "````\nhas ``` in it\n````"),
        ("see <code>x = 1</code> and <a href='/far'>there</a>", "see `x = 1` and there"),
        ("<img src='data:x' alt='A map'>", "A map"),
        ("<ul><li><h2>Card</h2>text</ul>", "## Card\n\n  text"),
    ],
)
def test_structure_becomes_markdown(body: str, expected: str) -> None:
    assert markdown(body) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret</script>",
        "<style>secret</style>",
        "<noscript>secret</noscript>",
        "<template><p>secret</template>",
        "<!-- secret -->",
        "<p hidden>secret</p>",
        "<p style='color: red; DISPLAY : none'>secret</p>",
        "<p style='visibility:hidden'>secret</p>",
        "<p style='font-size:0px'>secret</p>",
        "<p style='opacity:0'>secret</p>",
        "<div style='display:none'><ul><li>secret</ul></div>",
        "<p aria-hidden=true>secret</p>",
        "<input value=secret><select><option>secret</select><textarea>secret</textarea>",
        "<svg><text>secret</text></svg>",
        "<h2>seen<span hidden>secret</span></h2>",
        "<pre>seen<span hidden>secret</span></pre>",
        "<table><tr><td>seen<td hidden>secret<td>x<tr hidden><td>secret</table>",
    ],
)
def test_what_a_page_hides_is_left_out(hidden: str) -> None:
    text = markdown(f"{hidden}<p>after</p>")
    assert "secret" not in text
    assert text.endswith("after")


@pytest.mark.parametrize(
    "shown", ["<p style='opacity:0.5'>shown</p>", "<p hidden=until-found>shown</p>", "<button>shown</button>"]
)
def test_what_a_reader_can_see_stays(shown: str) -> None:
    assert markdown(shown) == "shown"


def test_a_table_has_a_header_and_repeats_a_cell_in_each_row_that_it_covers() -> None:
    text = markdown(
        "<table><caption>Tides</caption><thead><tr><th>Day<th>A|B<th colspan=2>Low</thead>"
        "<tr><td rowspan=2>Monday<td>1<td>2<td>3<tr><td>4<td><ul><li>5<li>6</ul><td></table>"
    )
    assert text == (
        "Tides\n\n| Day | A\\|B | Low |  |\n| --- | --- | --- | --- |\n"
        "| Monday | 1 | 2 | 3 |\n| Monday | 4 | 5 6 |  |"
    )


def test_tables_that_only_arrange_a_page_become_its_blocks() -> None:
    inner = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    page = f"<table><tr><td><h1>T</h1>{inner}<td>beside</table><table><tr><td><p>x<p>y</table>"
    assert markdown(page) == "# T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nbeside\n\nx\n\ny"


def test_spans_cannot_multiply_a_table_without_bound() -> None:
    row = "<tr>" + "<td rowspan=65534 colspan=1000>x" * 300
    start = time.process_time()
    with pytest.raises(DocumentError, match=f"more than {CELL_LIMIT:,} cells"):
        markdown(f"<table>{row}{'<tr><td>y' * 1_000}</table>")
    assert time.process_time() - start < 20


def test_plain_lines_do_not_turn_into_headings_or_code() -> None:
    text = markdown("<p># no<br>``` no<br>~~~</p><h2>C # #</h2>")
    assert [heading.level for heading in headings_of(text)] == [2]
    assert "\\# no" in text


def test_the_title_is_that_of_the_head() -> None:
    (record,) = read_html("a.html", "<title> Tide\n tables </title><h1>x</h1>")
    assert (record.title, record.text, record.id) == ("Tide tables", "# x", "a.html")


@pytest.mark.parametrize("page", ["<script>document.write('x')</script>", "<html></html>", "<p> </p>"])
def test_a_page_that_shows_nothing_is_refused(page: str) -> None:
    with pytest.raises(DocumentError, match=r"a\.html shows no text") as caught:
        read_html("a.html", page)
    assert "PDF" in caught.value.remedy


@pytest.mark.parametrize("tag", ["div", "b", "table><tr><td", "ul><li"])
def test_a_page_that_nests_too_deep_is_refused_before_it_is_parsed(tag: str) -> None:
    start = time.process_time()
    with pytest.raises(DocumentError, match="too deep"):
        read_html("a.html", f"<{tag}>x" * 200_000)
    assert time.process_time() - start < 5  # the parser itself takes minutes


def test_a_page_nearly_as_deep_as_allowed_is_read_without_recursion() -> None:
    (record,) = read_html("a.html", "<div>" * (DEPTH_LIMIT - 1) + "deep")
    assert record.text == "deep"


def test_end_tags_that_html_leaves_out_are_no_depth() -> None:
    rows = "<tr><td>a<td>b" * 6_000
    (record,) = read_html(
        "a.html", f"<p>x{'<p>y<br><img src=a>' * 6_000}<table>{rows}</table><svg><path/></svg>"
    )
    assert record.text.count("| a | b |") == 6_000


pieces = st.text("ab #`~|*-\\\n\u00e9", min_size=1, max_size=12)
blocks = st.tuples(st.sampled_from(["h1", "h2", "h6", "p", "pre", "li", "td", "div"]), pieces)


@given(parts=st.lists(blocks, max_size=8), nested=st.booleans())
def test_headings_of_the_markdown_are_those_of_the_page(parts: list[tuple[str, str]], nested: bool) -> None:
    body = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for tag, text in parts)
    text = markdown(f"<ul><li>{body}</ul>" if nested else body)
    expected = [
        (int(tag[1]), " ".join(content.split()))
        for tag, content in parts
        if tag in {"h1", "h2", "h6"} and content.strip()
    ]
    found = [(heading.level, heading.title) for heading in headings_of(text)]
    assert [level for level, _ in found] == [level for level, _ in expected]
    for (_, title), (_, wanted) in zip(found, expected, strict=True):
        assert title.replace("\\", "") == wanted.replace("\\", "")


@given(body=st.text("<>/=ab'\" ptlihrdo\n!-&;", max_size=80))
def test_any_tag_soup_gives_text(body: str) -> None:
    assert isinstance(markdown(body), str)

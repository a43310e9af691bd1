"""``playground blocks``: files of every form, the outcome as a table and as JSON, and each mistake in one."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playground import TokenEstimator
from playground.blocks import blocks_from_table, compile_blocks
from playground.commands import one_file
from playground.commands.blocks import ROW_LIMIT
from playground.retrieval import json_records
from playground.retrieval.documents import SIZE_LIMIT
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.workspace import block_files as workspace_block_files
from tests import command_line

ROOT = Path(__file__).resolve().parents[2]
Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]
run = partial(command_line.run, "blocks")


def row(block_id: str, tokens: int, priority: float, kind: str = "memory", **more: Any) -> Row:
    """A row that costs ``tokens`` by the default estimate."""
    fields = {"source": "caller", "role": "user", "content": "x" * (4 * tokens), "priority": priority}
    return {"id": block_id, "kind": kind, **fields, **more}


CONSTITUTION = row("constitution", 4, 100, "constitution", required=True)
FIRST = [CONSTITUTION, row("recent-low", 4, 10, "recent"), row("goal-high", 5, 90, "goal")]
SECOND = [CONSTITUTION, row("memory:context", 5, 50), row("skills:index", 3, 40, "tool-catalog")]


def written(folder: Path, data: Any, name: str = "blocks.json") -> str:
    """A file with text or bytes as they are, or with anything else as JSON."""
    if not isinstance(data, str | bytes):
        data = json.dumps(data)
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def as_lines(rows: Sequence[Row]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in rows)


def as_csv(rows: Sequence[Row], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    columns = list(dict.fromkeys(column for one in rows for column in one))
    writer = csv.DictWriter(out, columns, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def expected(rows: Sequence[Row], budget: int, **options: Any) -> str:
    return compile_blocks(blocks_from_table(rows), budget_tokens=budget, **options).to_json() + "\n"


def printed(*arguments: str, capsys: Capture) -> str:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, err) == (0, "")
    return out


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def refused(*arguments: str, capsys: Capture) -> str:
    """The one line that a mistake gives."""
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


# What is printed.


def test_the_first_worked_case_is_printed_with_a_reason_for_each_block_and_its_kinds(
    tmp_path: Path, capsys: Capture
) -> None:
    out = printed(written(tmp_path, FIRST), "--budget", "9", capsys=capsys)
    heading, heads, *lines = out.splitlines()
    assert heading == "2 of 3 blocks · 9 of 9 tokens · counted by approximate"
    assert cells(heads) == ["id", "kind", "priority", "tokens", "reason"]
    assert [cells(line) for line in lines] == [
        ["✓", "constitution", "constitution", "100", "4", "mandatory"],
        ["·", "recent-low", "recent", "10", "4", "budget"],
        ["✓", "goal-high", "goal", "90", "5", "ranked"],
        [""],
        ["kind", "included", "tokens", "omitted", "tokens"],
        ["constitution", "1", "4", "0", "0"],
        ["recent", "0", "0", "1", "4"],
        ["goal", "1", "5", "0", "0"],
    ]


def test_json_is_the_compiled_blocks_byte_for_byte(tmp_path: Path, capsys: Capture) -> None:
    out = printed(written(tmp_path, FIRST), "--budget", "9", "--json", capsys=capsys)
    assert out == expected(FIRST, 9)


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(12, ["constitution", "memory:context", "skills:index"]), (9, ["constitution", "memory:context"])],
)
def test_a_pinned_block_stays_when_the_budget_shrinks(
    budget: int, kept: list[str], tmp_path: Path, capsys: Capture
) -> None:
    options = ("--budget", str(budget), "--pin", "memory:context")
    path = written(tmp_path, SECOND)
    out = printed(path, *options, "--json", capsys=capsys)
    assert [block["id"] for block in json.loads(out)["included"]] == kept
    table = printed(path, *options, capsys=capsys)
    assert re.search(r"✓ +memory:context .* pinned *\n", table)


def test_pins_go_before_what_ranks_higher(tmp_path: Path, capsys: Capture) -> None:
    rows = [row("low", 4, 1), row("high", 4, 9)]
    out = printed(written(tmp_path, rows), "--budget", "4", "--pin", "low", "--json", capsys=capsys)
    assert out == expected(rows, 4, pinned_optional_ids=["low"])


def test_what_is_both_required_and_pinned_is_mandatory(tmp_path: Path, capsys: Capture) -> None:
    out = printed(written(tmp_path, FIRST), "--budget", "9", "--pin", "constitution", capsys=capsys)
    assert re.search(r"constitution .* mandatory *\n", out)


def test_forced_blocks_that_do_not_fit_are_one_line_with_both_numbers(tmp_path: Path, capsys: Capture) -> None:
    pins = ("--pin", "memory:context", "--pin", "skills:index")
    err = refused(written(tmp_path, SECOND), "--budget", "9", *pins, capsys=capsys)
    assert "need 12 tokens, the budget is 9. Raise the budget" in err


def test_a_required_block_above_the_budget_is_refused_and_never_cut(tmp_path: Path, capsys: Capture) -> None:
    only = [row("only", 2, 1, "goal", required=True)]
    err = refused(written(tmp_path, only), "--budget", "1", "--json", capsys=capsys)
    assert "need 2 tokens, the budget is 1." in err


def test_every_estimator_counts_and_says_its_name(tmp_path: Path, capsys: Capture) -> None:
    rows = [row("a", 1, 1, content="Würde 日本 and plain words, again and again"), row("b", 9, 2)]
    path = written(tmp_path, rows)
    tokenizer = tokenizer_estimator(load_tokenizer())
    counters = {"approximate": None, "heuristic": TokenEstimator(), "tokenizer": tokenizer}
    outs = set()
    for name, counter in counters.items():
        options = (path, "--budget", "99", "--estimator", name)
        out = printed(*options, "--json", capsys=capsys)
        assert out == expected(rows, 99, estimator=counter)
        outs.add(out)
        said = counter.name if counter else "approximate"
        assert printed(*options, capsys=capsys).splitlines()[0].endswith(f"counted by {said}")
    assert len(outs) == len(counters)


def test_priorities_are_written_as_people_do(tmp_path: Path, capsys: Capture) -> None:
    numbers = [100.0, -0.5, 1234567, 1e300]
    rows = [row(f"b{place}", 1, number) for place, number in enumerate(numbers)]
    out = printed(written(tmp_path, rows), "--budget", "9", capsys=capsys)
    assert [cells(line)[3] for line in out.splitlines()[2:6]] == ["100", "-0.5", "1234567", "1e+300"]


def test_a_long_table_ends_with_how_many_more_there_are(tmp_path: Path, capsys: Capture) -> None:
    rows = [row(f"b{place}", 1, 1) for place in range(ROW_LIMIT + 2)]
    path = written(tmp_path, as_lines(rows))
    lines = printed(path, "--budget", "1", capsys=capsys).splitlines()
    assert [cells(line)[1] for line in lines[2 : ROW_LIMIT + 2]] == [f"b{n}" for n in range(ROW_LIMIT)]
    assert lines[ROW_LIMIT + 2] == "… and 2 more; --json has them all."
    assert cells(lines[-1]) == ["memory", "1", "1", "1,001", "1,001"]
    assert "more" not in printed(written(tmp_path, rows[:ROW_LIMIT]), "--budget", "1", capsys=capsys)


# The forms of a file.

FORMS = {
    "a list": ("blocks.json", json.dumps(FIRST)),
    "a list over many lines": ("blocks.json", json.dumps(FIRST, indent=2)),
    "a list under another name": ("blocks.csv", json.dumps(FIRST)),
    "a list without a name for its kind": ("blocks", "\n  " + json.dumps(FIRST)),
    "an object": ("blocks.json", json.dumps({"blocks": FIRST})),
    "lines": ("blocks.jsonl", as_lines(FIRST)),
    "lines under another name": ("blocks.json", "\n" + as_lines(FIRST).replace("\n", "\r\n\n")),
    "a table": ("blocks.csv", as_csv(FIRST)),
    "a table without a name for its kind": ("blocks", "\n" + as_csv(FIRST)),
    "a table with semicolons": ("blocks.csv", "\r\n" + as_csv(FIRST, ";")),
    "a table with tabs": ("blocks.tsv", as_csv(FIRST, "\t")),
    "a table with other line ends": ("blocks.csv", as_csv(FIRST).replace("\r\n", "\r")),
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 2], ids=["plain", "mark", "marks"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_file_gives_the_same_result(
    form: str, mark: bytes, tmp_path: Path, capsys: Capture
) -> None:
    name, text = FORMS[form]
    out = printed(written(tmp_path, mark + text.encode(), name), "--budget", "9", "--json", capsys=capsys)
    found = json.loads(out)
    assert [block["id"] for block in found["included"]] == ["constitution", "goal-high"]
    assert found == json.loads(expected(FIRST, 9))


@pytest.mark.parametrize("form", FORMS)
def test_the_standard_input_takes_every_form(
    form: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FORMS[form][1].encode())))
    out = printed("-", "--budget", "9", "--json", capsys=capsys)
    assert json.loads(out) == json.loads(expected(FIRST, 9))


def test_utf_16_with_its_mark_is_read_and_what_is_no_utf_8_with_a_warning(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = [row("a", 1, 1, content="Gebühr")]
    out = printed(
        written(tmp_path, as_csv(rows).encode("utf-16"), "blocks.csv"), "--budget", "9", "--json", capsys=capsys
    )
    assert json.loads(out)["messages"][0]["content"][0]["text"] == "Gebühr"
    path = written(tmp_path, as_csv(rows).encode("cp1252"), "old.csv")
    code, out, err = run(path, "--budget", "9", "--json", capsys=capsys)
    assert code == 0
    assert err.startswith("Warning: old.csv: The file is not UTF-8; it was read as cp1252.")
    assert json.loads(out)["messages"][0]["content"][0]["text"] == "Gebühr"


@pytest.mark.parametrize(
    ("budget", "pins"), [("budgetTokens", "pinnedOptionalIds"), ("budget_tokens", "pinned_optional_ids")]
)
def test_an_object_brings_its_budget_and_its_pins(
    budget: str, pins: str, tmp_path: Path, capsys: Capture
) -> None:
    rows = [*SECOND, row("other", 1, 99)]
    path = written(tmp_path, {"blocks": rows, budget: 9, pins: ["memory:context"]})
    pinned = ["memory:context"]
    out = printed(path, "--json", capsys=capsys)
    assert out == expected(rows, 9, pinned_optional_ids=pinned)
    assert '"id":"other"' in out.partition('"included"')[2].partition('"omitted"')[2]
    wider = printed(path, "--json", "--budget", "12", "--pin", "skills:index", capsys=capsys)
    assert wider == expected(rows, 12, pinned_optional_ids=[*pinned, "skills:index"])
    assert json.loads(wider)["budgetTokens"] == 12


def test_the_option_wins_even_over_a_budget_that_is_none(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, {"blocks": FIRST, "budgetTokens": "many"})
    assert printed(path, "--budget", "9", "--json", capsys=capsys) == expected(FIRST, 9)
    assert "budgetTokens is 'many'. Give a whole number" in refused(path, capsys=capsys)


def test_an_earlier_result_is_compiled_again_with_its_own_budget(tmp_path: Path, capsys: Capture) -> None:
    kept = [FIRST[0], FIRST[2], FIRST[1]]
    earlier = written(tmp_path, expected(FIRST, 9))
    code, out, err = run(earlier, "--json", capsys=capsys)
    assert (code, out) == (0, expected(kept, 9))
    assert err == (
        "Warning: blocks.json: An earlier result does not say where its omitted blocks stood; "
        "they follow the included ones.\n"
    )
    _, out, _ = run(earlier, "--json", "--budget", "13", capsys=capsys)
    assert out == expected(kept, 13)


def test_an_earlier_result_that_omits_nothing_comes_out_again_without_a_warning(
    tmp_path: Path, capsys: Capture
) -> None:
    whole = expected(FIRST, 13)
    assert printed(written(tmp_path, whole), "--json", capsys=capsys) == whole


def test_one_object_is_one_block(tmp_path: Path, capsys: Capture) -> None:
    for text in (json.dumps(CONSTITUTION), json.dumps(CONSTITUTION, indent=1), as_lines([CONSTITUTION])):
        out = printed(written(tmp_path, text), "--budget", "9", "--json", capsys=capsys)
        assert out == expected([CONSTITUTION], 9)


@pytest.mark.parametrize("data", ["[]", '{"blocks": []}', "id,kind,content\n"])
def test_no_blocks_are_a_result_too(data: str, tmp_path: Path, capsys: Capture) -> None:
    out = printed(written(tmp_path, data, "none"), "--budget", "9", capsys=capsys)
    assert out.startswith("0 of 0 blocks · 0 of 9 tokens")


def test_cells_of_a_table_keep_line_breaks_quotes_and_delimiters_and_may_be_missing_or_long(
    tmp_path: Path, capsys: Capture
) -> None:
    content = 'He said "yes",\r\nthen; nothing.\n\n  Indented.' + "y" * 200_000
    text = as_csv([{"id": "a", "kind": "goal", "content": content}]) + '\r\n,,\r\n"b",memory,""\r\n'
    limit = csv.field_size_limit()
    out = printed(written(tmp_path, text, "blocks.csv"), "--budget", "99999", "--json", capsys=capsys)
    a, b = json.loads(out)["included"]
    assert (a["content"], b["content"]) == (content, "")
    assert (b["role"], b["priority"], b["required"]) == ("user", 0, False)
    assert csv.field_size_limit() == limit


def test_spaces_behind_delimiters_are_none_of_the_cells_where_the_header_has_them(
    tmp_path: Path, capsys: Capture
) -> None:
    spaced = 'id, kind, content, required ,\na, goal, "x, y", yes,,\n'
    out = printed(written(tmp_path, spaced, "blocks.csv"), "--budget", "9", "--json", capsys=capsys)
    (block,) = json.loads(out)["included"]
    assert (block["kind"], block["content"], block["required"]) == ("goal", "x, y", True)
    tight = "id,kind,content\na,goal, x\n"
    out = printed(written(tmp_path, tight, "blocks.csv"), "--budget", "9", "--json", capsys=capsys)
    assert json.loads(out)["included"][0]["content"] == " x"


def test_a_null_in_an_object_is_as_good_as_nothing(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, {"blocks": FIRST, "budgetTokens": None, "pinnedOptionalIds": None})
    assert printed(path, "--budget", "9", "--json", capsys=capsys) == expected(FIRST, 9)
    assert "No budget was given" in refused(path, capsys=capsys)


def test_only_line_feeds_end_a_line_of_json(tmp_path: Path, capsys: Capture) -> None:
    content = "one\u2028two\x85three\u2029four"
    text = "".join(
        f"{json.dumps(row(name, 1, 1, content=content), ensure_ascii=False)}\n" for name in ("a", "b")
    )
    out = printed(written(tmp_path, text), "--budget", "99", "--json", capsys=capsys)
    assert [block["content"] for block in json.loads(out)["included"]] == [content] * 2


def test_of_a_key_that_stands_twice_the_last_one_counts(tmp_path: Path, capsys: Capture) -> None:
    data = '[{"id": "a", "kind": "goal", "content": "first", "content": "last"}]'
    out = printed(written(tmp_path, data), "--budget", "9", "--json", capsys=capsys)
    assert json.loads(out)["included"][0]["content"] == "last"


# Mistakes.


def test_a_mistyped_pin_is_told_once_and_changes_nothing(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, {"blocks": FIRST, "pinnedOptionalIds": ["unknown in the file"]})
    pins = ("--pin", "goal-hihg", "--pin", "goal-hihg", "--pin", "\x1b[2J\u202e")
    code, out, err = run(path, "--budget", "9", "--json", *pins, capsys=capsys)
    assert (code, out) == (0, expected(FIRST, 9))
    typed, hostile = err.splitlines()
    assert typed == "Warning: No block has the id 'goal-hihg'; --pin changes nothing there."
    assert hostile.startswith("Warning: ")
    assert not re.search("[\x1b\u202e]", hostile)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "blocks.json is empty. Choose a file that has text"),
        ("\ufeff \n", "is empty"),
        ('[{"id": "a"', "blocks.json is not valid JSON: Expecting ',' delimiter: line 1"),
        ("no JSON", "blocks.json is not valid JSON"),
        ("7", "7 is no list of blocks. Give a list of blocks"),
        ("null", "None is no list of blocks"),
        ('[{"id": "a", "priority": NaN}]', "NaN is not a finite number"),
        ('[{"id": "a", "priority": -Infinity}]', "-Infinity is not a finite number"),
        ('[{"id": "a", "priority": 1e999}]', "1e999 is not a finite number"),
        ('{"id": "a"}\n{"id": Infinity}\n', "line 2: Infinity is not a finite number"),
        ('{"id": "a"}\n\n{"id": \n', "line 3: Expecting value"),
        ("[" * 100_000, "nests too deep: more than 64 levels"),
        ('[{"id": ' + "[" * 70 + "]" * 70 + "}]", "nests too deep: more than 64 levels"),
        ('{"id": "a"}\n{"id": ' + "[" * 70 + "]" * 70 + "}\n", "nests too deep: line 2: more than 64"),
        ('{"id": "a", "x": ' + "[" * 100_000 + "\n{}", "nests too deep"),
        ('[{"id": "a\x00"}]', "Invalid control character"),
        ("[1]", "Row 1 is a int"),
        ([{"id": "a", "text": "b"}], "Row 1 has the unknown column 'text'. Use id, kind, source"),
        ([row("", 1, 1)], "Block 1 has the id ''. Give a non-empty string."),
        ([row("a", 1, 1), row("a", 1, 1)], "Block 2 has the duplicate id 'a'"),
        ([row("a", 1, 1, "rag")], "The kind of block 'a' is 'rag'. Use one of constitution, control, goal"),
        ([row("a", 1, 1, role="developer")], "The role of block 'a' is 'developer'"),
        ([row("a", 1, 1, content=["x"])], "The content of block 'a' is ['x']"),
        ([{**row("a", 1, 1), "priority": "high"}], "The priority of block 'a' is 'high'"),
        ([row("a", 1, 10**400)], "The priority of block 'a' is"),
        ([row("a", 1, 1, required="perhaps")], "The required flag of block 'a' is 'perhaps'"),
        ({"blocks": {}}, "{} is no list of blocks"),
        ({"blocks": None}, "None is no list of blocks"),
        ({"blocks": [], "budget": 9}, "has the unknown key 'budget'. Use blocks, budgetTokens, pinnedOptional"),
        ({"blocks": [], "pinnedOptionalIds": "a"}, "'a' is no list of pinned optional ids"),
        ({"blocks": [], "pinnedOptionalIds": [7]}, "A pinned id is 7"),
        ({"included": [], "omitted": 7}, "7 is no list of omitted"),
        ({"included": [], "omitted": [], "x": 1}, "has the unknown key 'x'"),
        ({"included": []}, "Block 1 has the id ''"),
        (b"%PDF-1.7 and so on", "is a PDF, not text"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b"[\x00\x00\x00]", "full of NUL bytes"),
    ],
)
def test_what_is_wrong_with_json_is_said_in_one_line(
    data: Any, words: str, tmp_path: Path, capsys: Capture
) -> None:
    assert words in refused(written(tmp_path, data), "--budget", "9", capsys=capsys)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Once upon a time.\nThe end.\n", "is no JSON, and as CSV its first row names no column id"),
        ('"id": "a"', "is not valid CSV: line 1: "),
        ("id,kind,colour\na,goal,red\n", "unknown column 'colour'"),
        ("id,kind,id\na,goal,b\n", "has the column 'id' more than once"),
        ("id,kind,content\na,goal,x,y\n", "Row 1 of blocks.csv has more cells than the header"),
        ('id,kind,content\na,goal,"x" y\n', "is not valid CSV: line 2: "),
        ('id,kind,content\n\na,goal,"x\n', "is not valid CSV: line 3: unexpected end of data"),
        ("id,kind,content,priority\na,goal,x,nan\n", "The priority of block 'a' is nan"),
        ("id,kind,content,priority\na,goal,x,-inf\n", "The priority of block 'a' is -inf"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: Capture
) -> None:
    assert words in refused(written(tmp_path, text, "blocks.csv"), "--budget", "9", capsys=capsys)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "No budget was given, and blocks.json has none. Add --budget"),
        (("--budget", "0"), "--budget is 0. Give a whole number of 1 or more."),
        (("--budget", "-1"), "--budget is -1."),
        (("--budget", "9" * 40), "--budget is 999"),
        (("--budget", "1.5"), "See playground blocks --help"),
        (("--budget", "nan"), "--budget"),
        (("--budget", "9", "--estimator", "guess"), "--estimator"),
        (("--budget", "9", "another.json"), "another.json"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_in_one_line(
    options: tuple[str, ...], words: str, tmp_path: Path, capsys: Capture
) -> None:
    assert words in refused(written(tmp_path, FIRST), *options, capsys=capsys)


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, "9", [9], 10**400, 2**53 + 1])
def test_a_budget_of_the_file_that_is_none_is_refused(budget: object, tmp_path: Path, capsys: Capture) -> None:
    err = refused(written(tmp_path, {"blocks": FIRST, "budgetTokens": budget}), capsys=capsys)
    assert "blocks.json: budgetTokens is " in err


def test_a_missing_file_a_folder_and_what_is_no_file_are_told_by_name(tmp_path: Path, capsys: Capture) -> None:
    def told(path: str) -> str:
        return refused(path, "--budget", "9", capsys=capsys)

    assert "FILE" in refused(capsys=capsys)
    assert "gone.json cannot be read: No such file or directory" in told(str(tmp_path / "gone.json"))
    assert "is a folder. Give a file, or - for the standard input." in told(str(tmp_path))
    assert "is a folder" in told("")
    assert "cannot be read: embedded null byte" in told("a\0b")
    assert len(told("x" * 50_000)) < 300
    assert "\x1b" not in told("\x1b[2J.json")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "pipe is no regular file" in told(str(tmp_path / "pipe"))


def test_an_empty_or_closed_standard_input_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "The standard input is empty." in refused("-", "--budget", "9", capsys=capsys)
    monkeypatch.setattr(sys, "stdin", None)
    assert "The standard input is closed." in refused("-", "--budget", "9", capsys=capsys)


def test_what_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    assert "huge.json has 209,715,201 bytes" in refused(str(huge), "--budget", "9", capsys=capsys)
    monkeypatch.setattr(one_file, "SIZE_LIMIT", 100)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" " * 101)))
    assert "has more than 100 bytes" in refused("-", "--budget", "9", capsys=capsys)


@pytest.mark.parametrize("form", ["a list", "lines", "a table"])
def test_too_many_blocks_are_refused(
    form: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text = FORMS[form]
    path = written(tmp_path, text, name)
    monkeypatch.setattr(workspace_block_files, "RECORD_LIMIT", 3)
    printed(path, "--budget", "9", capsys=capsys)
    monkeypatch.setattr(workspace_block_files, "RECORD_LIMIT", 2)
    assert "has more than 2 blocks" in refused(path, "--budget", "9", capsys=capsys)


@pytest.mark.parametrize("form", ["a list", "an object", "lines"])
def test_json_of_more_values_than_memory_has_room_for_is_refused(
    form: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text = FORMS[form]
    path = written(tmp_path, text, name)
    monkeypatch.setattr(json_records, "VALUE_LIMIT", 15)  # a line alone has less
    assert "holds more than 15 values" in refused(path, "--budget", "9", capsys=capsys)


# Hostile texts, and what surrounds the program.

EVIL = "\x1b[2J\x9b31m\u202e\u2066 [bold]x[/bold]\r\n\x00 e\u0301\u200d\U0001f468 \ud800 \udfff\u2028"


def test_texts_of_a_file_cannot_steer_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    rows = [row(EVIL, 1, 1), row("العربية", 1, 1)]
    out = printed(written(tmp_path, rows), "--budget", "9", "--pin", EVIL, capsys=capsys)
    assert not re.search("[\x00\x1b\x7f-\x9f\u202a-\u202e\u2028\r]", out)
    _, _, evil, arabic, *rest = out.splitlines()
    assert "[bold]x[/bold]" in evil
    assert evil.split()[-1] == "pinned"
    assert "\u2068العربية\u2069" in arabic
    assert len(rest) == 3


@pytest.mark.parametrize("long", ["long" * 50_000, "long and " * 20_000, "العربية" * 100, "日本" * 100])
def test_a_long_id_is_cut_and_leaves_the_other_columns_whole(
    long: str, tmp_path: Path, capsys: Capture
) -> None:
    rows = [row(long, 1_000_000, 1, "constitution")]
    out = printed(written(tmp_path, rows), "--budget", "1000000", capsys=capsys)
    _, heads, line, *_ = out.splitlines()
    assert cells(heads) == ["id", "kind", "priority", "tokens", "reason"]
    assert line.count("…") == 1
    assert line.rpartition("…")[2].strip("\u2069 ").split() == ["constitution", "1", "1,000,000", "ranked"]
    assert len(line) <= 162


@pytest.mark.parametrize("lines", [True, False])
def test_odd_texts_survive_as_json(lines: bool, tmp_path: Path, capsys: Capture) -> None:
    rows = [row(EVIL, 1, 1, content=EVIL, source=EVIL, retentionReason=EVIL)]
    path = written(tmp_path, as_lines(rows) + "\n\n" if lines else rows)
    out = printed(path, "--budget", "999", "--json", capsys=capsys)
    assert not re.search("[\x1b\x7f-\x9f\u202a-\u202e\u2066]", out)
    (block,) = json.loads(out)["included"]
    assert [block[key] for key in ("id", "content", "source", "retentionReason")] == [EVIL] * 4
    again = printed(written(tmp_path, out, "again.json"), "--json", capsys=capsys)
    assert again == out


@pytest.mark.parametrize("estimator", ["approximate", "heuristic", "tokenizer"])
def test_every_estimator_takes_odd_texts(estimator: str, tmp_path: Path, capsys: Capture) -> None:
    rows = [row("a", 1, 1, content=EVIL), row("b", 1, 1, content="")]
    path = written(tmp_path, rows)
    out = printed(path, "--budget", "999", "--estimator", estimator, "--json", capsys=capsys)
    assert len(json.loads(out)["included"]) == 2


def test_a_nul_in_a_cell_of_a_table_survives(tmp_path: Path, capsys: Capture) -> None:
    text = "id,kind,content\na,goal,nothing\x00 much in between here\n"
    out = printed(written(tmp_path, text, "blocks.csv"), "--budget", "99", "--json", capsys=capsys)
    assert json.loads(out)["included"][0]["content"] == "nothing\x00 much in between here"


def test_messages_quote_hostile_texts_harmlessly(tmp_path: Path, capsys: Capture) -> None:
    err = refused(written(tmp_path, [row(EVIL, 1, 1, EVIL)]), "--budget", "9", capsys=capsys)
    assert not re.search("[\x1b\x9b\u202e\r]", err)


def in_process(*arguments: str, seed: str = "0", **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "playground", "blocks", *arguments]
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize("shape", [(), ("--json",)])
def test_equal_files_give_equal_bytes_under_any_hash_seed(shape: tuple[str, ...], tmp_path: Path) -> None:
    kinds = ("memory", "goal", "recent", "skill", "control")
    rows = [row(f"block {n}", n % 7 + 1, n % 3, kinds[n % 5]) for n in range(60)]
    pins = [f"block {n}" for n in range(0, 60, 9)]
    path = written(tmp_path, {"blocks": rows, "budgetTokens": 99, "pinnedOptionalIds": pins})
    outs = set()
    for seed in ("0", "0", "4711"):
        process = in_process(path, *shape, seed=seed, stdout=subprocess.PIPE)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
        outs.add(out)
    assert len(outs) == 1


@pytest.mark.parametrize("shape", [(), ("--json",)])
def test_a_reader_that_has_gone_is_no_error(shape: tuple[str, ...], tmp_path: Path) -> None:
    path = written(tmp_path, [row(f"b{n}", 100, 1) for n in range(2_000)])
    process = in_process(path, "--budget", "99999", *shape, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    assert (process.wait(60), err) == (0, b"")


def test_a_piped_file_is_read_from_the_standard_input(tmp_path: Path) -> None:
    path = Path(written(tmp_path, as_csv(FIRST), "blocks.csv"))
    with path.open("rb") as file:
        process = in_process("-", "--budget", "9", "--json", stdin=file, stdout=subprocess.PIPE)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out) == json.loads(expected(FIRST, 9))


def test_the_help_says_what_a_file_and_an_option_are(capsys: Capture) -> None:
    out = printed("--help", capsys=capsys)
    for word in ("FILE", "JSON Lines", "--budget", "--pin", "--estimator", "approximate", "--json"):
        assert word in out

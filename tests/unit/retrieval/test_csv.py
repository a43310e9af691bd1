"""CSV rows as records."""

from __future__ import annotations

import contextlib
import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import DocumentError
from playground.retrieval import csv_records
from playground.retrieval.csv_records import read_csv
from playground.retrieval.json_records import JsonRecord


def read(text: str, name: str = "a.csv") -> tuple[tuple[JsonRecord, ...], list[str]]:
    warnings: list[str] = []
    return read_csv(name, text, warnings.append), warnings


def test_rows_without_a_text_column_say_their_column_names() -> None:
    records, warnings = read("Card,Fee,Year\nGold,12,2020\nBasic,,2021\n")
    assert [record.text for record in records] == ["Card: Gold\nFee: 12\nYear: 2020", "Card: Basic\nYear: 2021"]
    assert [(record.id, record.position, record.meta) for record in records] == [(None, 0, {}), (None, 1, {})]
    assert warnings == []


@pytest.mark.parametrize("column", ["text", "content", "Text", "CONTENT"])
def test_a_text_column_is_the_text_as_in_json_records(column: str) -> None:
    records, _ = read(f'ID,Title,{column},lang\n7,T,"one, ""two""",en\n')
    assert records == (JsonRecord(0, 'one, "two"', id="7", title="T", meta={"lang": "en"}),)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    lines = [["name", "note"], ["Ada", "a b, c"], ["Bo", 'says "hi"; twice']]
    quoted = ["\t".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in line) for line in lines]
    records, _ = read("\r\n".join(quoted).replace('"\t"', f'"{delimiter}"'))
    assert records[1].text == 'name: Bo\nnote: says "hi"; twice'


def test_a_single_column_and_a_tab_file_are_read_too() -> None:
    assert [r.text for r in read("word\nalpha\nbeta\n")[0]] == ["word: alpha", "word: beta"]
    assert read("a\tb\nx\ty\n", "a.tsv")[0][0].text == "a: x\nb: y"


def test_a_first_row_with_numbers_is_data_and_warned_of() -> None:
    records, warnings = read("Gold,12.50\nBasic,3\n")
    assert records[0].text == "column 1: Gold\ncolumn 2: 12.50"
    assert "read as data" in warnings[0]


def test_years_head_columns() -> None:
    assert read("Country,2019,2020\nPeru,1,2\n")[0][0].text == "Country: Peru\n2019: 1\n2020: 2"


def test_no_cell_is_lost_for_want_of_a_column() -> None:
    records, warnings = read("a,a,\n1,2,3,4\n\n5\n")
    assert records[0].text == "a: 1\na~2: 2\ncolumn 3: 3\ncolumn 4: 4"
    assert records[1].text == "a: 5"
    assert any("more cells than the header" in warning for warning in warnings)
    assert any("more than once" in warning for warning in warnings)


def test_columns_of_one_name_are_told_apart_in_linear_time() -> None:
    started = time.process_time()
    (record,), warnings = read(f"{'a,' * 50_000}a~3\n" + "1," * 50_000 + "2\n")
    assert time.process_time() - started < 10  # two minutes when each column counts from the beginning
    assert record.text.startswith("a: 1\na~2: 1\na~3: 1\na~4: 1\n")
    assert record.text.endswith("\na~50000: 1\na~3~2: 2")
    assert len(warnings) == 50_000


def test_rows_without_text_are_left_out_with_a_warning() -> None:
    records, warnings = read("id,text\n1,a\n2, \n3,c\n")
    assert [(record.id, record.position) for record in records] == [("1", 0), ("3", 1)]
    assert warnings == ["1 row has no text, the first is row 3; left out."]


def test_quotation_marks_that_do_not_match_up_are_warned_of() -> None:
    records, warnings = read('a,b\n1,"x" y\n2,"open\n')
    assert records[0].text == "a: 1\nb: x y"
    assert "open" in records[1].text
    assert "Quotation marks" in warnings[0]


def test_a_cell_may_be_longer_than_the_library_allows_by_itself() -> None:
    assert len(read(f"id,text\n1,{'x' * 1_000_000}\n")[0][0].text) == 1_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "no row"),
        (",,\n;\n", "no text|no row"),
        ("text,b\n ,x\n", "no text"),
    ],
    ids=["header", "blank", "textless"],
)
def test_a_table_without_rows_is_refused(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        read(text)
    assert caught.value.name == "a.csv"
    assert caught.value.remedy


def test_a_table_with_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "ROW_LIMIT", 100)
    assert len(read("a,b\n" + "1,2\n" * 100)[0]) == 100
    with pytest.raises(DocumentError, match="more than 100 rows"):
        read("a,b\n" + "1,2\n" * 101)


cells = st.text("ab1 ,;'\"\n\u00e9", max_size=8)


@given(rows=st.lists(st.lists(cells, min_size=1, max_size=4), min_size=2, max_size=5), text=st.booleans())
def test_no_filled_cell_of_a_table_is_lost(rows: list[list[str]], text: bool) -> None:
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(["text" if text else "first", "second", "third"])
    writer.writerows([["x", *row] for row in rows])
    records, _ = read(target.getvalue())
    assert len(records) == len(rows)
    for record, row in zip(records, rows, strict=True):
        held = [record.text, *record.meta.values()]
        assert all(any(cell.strip() in value for value in held) for cell in row)


@given(text=st.text("ab1,;|\t\"'\n ", min_size=1, max_size=60))
def test_any_text_gives_records_or_a_typed_error(text: str) -> None:
    with contextlib.suppress(DocumentError):
        assert all(record.text.strip() for record in read(text)[0])

"""``playground prepare``: the report as tables and as JSON, both exports, and each mistake in one line."""

from __future__ import annotations

import io
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playground.commands.preparing import ROW_LIMIT
from playground.preparation.item_counting import definition_tokens
from tests import command_line
from tests.preparation import ESTIMATOR
from tests.unit.preparation.vendor_schemas import anthropic_faults, openai_faults

Capture = pytest.CaptureFixture[str]
BFCL = Path(__file__).parents[1] / "data" / "bfcl" / "transcripts.jsonl"
LONG = 119  # line, from 0, with a result of 31 KB
run = partial(command_line.run, "prepare")
HI = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello."}


def written(folder: Path, data: Any, name: str = "log.json") -> str:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return str(path)


def printed(*arguments: str, capsys: Capture) -> str:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, err) == (0, "")
    return out


def refused(*arguments: str, capsys: Capture) -> str:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    return err


def numbers(out: str, *, first: str, last: str) -> dict[str, int]:
    """The rows of the budget between two of them, by name."""
    lines = out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    end = next(n for n, line in enumerate(lines) if line.startswith(last))
    rows = [line.rsplit(None, 1) for line in lines[start : end + 1]]
    return {name.strip(): int(tokens.replace(",", "")) for name, tokens in rows}


@pytest.fixture
def long_log() -> str:
    return BFCL.read_text().splitlines()[LONG]


def test_a_compacted_request_is_told_with_its_budget_its_groups_and_where_things_went(
    tmp_path: Path, capsys: Capture, long_log: str
) -> None:
    path = written(tmp_path, long_log.encode())
    code, out, err = run(path, "--window", "4096", "--reserve", "512", capsys=capsys)
    assert code == 0
    assert (
        err
        == (
            "Warning: Fields that are no part of a conversation were left out: involved_classes, split, "
            "transcript_id.\n"
        )
        or not err
    )
    assert re.match(r"revision 1 · [\d,]+ of 3,584 tokens \(estimate by heuristic\) · compacted\n", out)
    assert re.search(
        r"The tokenizer cl100k_base counts [\d,]+ tokens; the estimate is \d+\.\d% above that\.", out
    )
    parts = numbers(out, first="Instructions of plugins", last="Function tools")
    sums = numbers(out, first="Total", last="Window")
    assert sum(parts.values()) == sums["Total"]
    assert sums["Total"] + sums["Free below the limit"] == 3_584
    assert parts["Content of working_memory"] > 0
    moved = re.search(
        r"^(\S+)  +1 call: (\w+) +([\d,]+)  moved +to (raw\.tool_result\.\S+) *$", out, re.MULTILINE
    )
    assert moved is not None
    assert "the current input needs it" in out
    _, _, went = out.partition("Where it went\n")
    assert re.search(rf"^- moved {moved[2]} result \S+ \(.*\) to {re.escape(moved[4])} *$", went, re.MULTILINE)
    assert re.search(r"^- removed \d+ items from the history *$", went, re.MULTILINE)


def test_a_request_that_fits_is_left_as_it_is(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, [{"role": "system", "content": "Be brief."}, HI, ANSWER, HI])
    out = printed(path, "--window", "9000", capsys=capsys)
    assert " · not compacted\n" in out
    assert out.endswith("\nNothing was moved, dropped or cut.\n")
    assert re.findall(r"^(\S+) +(user|answer) ", out, re.MULTILINE) == [
        ("0", "user"),
        ("1", "answer"),
        ("2", "user"),
    ]
    assert numbers(out, first="System prompt", last="System prompt") == {"System prompt": 3}


def test_the_report_is_printed_as_json(tmp_path: Path, capsys: Capture, long_log: str) -> None:
    path = written(tmp_path, json.dumps(json.loads(long_log)["messages"]).encode())
    told = json.loads(printed(path, "--window", "4096", "--reserve", "512", "--json", capsys=capsys))
    breakdown = told["budget"]["breakdown"]
    contents = sum(breakdown.pop("pluginContents").values())
    assert sum(breakdown.values()) + contents == told["budget"]["totalUsed"] <= 4_096 - 512
    assert told["revision"] == 1
    assert told["compacted"] is True
    keys = [key for group in told["groups"] for key in group["keys"]]
    assert keys
    assert all(any(line.endswith(f" to {key}") for line in told["compactionLog"]) for key in keys)
    assert told["tokenizer"]["totalUsed"] < told["budget"]["totalUsed"]


def test_a_tokenizer_may_count(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, [HI])
    out = printed(path, "--window", "9000", "--estimator", "tokenizer", capsys=capsys)
    assert "(estimate by cl100k_base)" in out
    assert "The tokenizer" not in out
    told = json.loads(printed(path, "--window", "9000", "--estimator", "tokenizer", "--json", capsys=capsys))
    assert told["tokenizer"] is None


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_what_is_prepared_is_printed_as_a_provider_takes_it_25a(
    shape: str, tmp_path: Path, capsys: Capture, long_log: str
) -> None:
    path = written(tmp_path, json.dumps(json.loads(long_log)["messages"]).encode())
    more = ("--model", "some-model", "--export", shape)
    body = json.loads(printed(path, "--window", "4096", "--reserve", "512", *more, capsys=capsys))
    assert (openai_faults if shape == "openai" else anthropic_faults)(body) == []
    assert body["model"] == "some-model"
    assert {body.get("max_tokens"), body.get("max_completion_tokens")} == {None, 512}
    assert "store_get" in json.dumps(body["tools"])


def test_further_tools_are_counted_and_sent(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, [HI])
    tool: dict[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    tools = written(tmp_path, [tool, {"type": "function", "function": {**tool, "name": "seen"}}], "tools.json")
    plain = json.loads(printed(path, "--window", "9000", "--json", capsys=capsys))["budget"]["toolsTokens"]
    more = ("--window", "9000", "--tools", tools)
    counted = json.loads(printed(path, *more, "--json", capsys=capsys))["budget"]["toolsTokens"]
    assert counted - plain == 2 * definition_tokens(tool, ESTIMATOR)
    body = json.loads(printed(path, *more, "--export", "openai", capsys=capsys))
    assert [one["function"]["name"] for one in body["tools"]][-2:] == ["look", "seen"]


def test_another_strategy_may_compact(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, [{"role": "user", "content": "x" * 9_000}, ANSWER, HI])
    out = printed(path, "--window", "2500", "--reserve", "100", "--strategy", "default", capsys=capsys)
    assert "default: " in out
    assert re.search(r"^0 +user +[\d,]+  removed +see below *$", out, re.MULTILINE)
    error = refused(path, "--window", "2500", "--strategy", "best", capsys=capsys)
    assert "'best'" in error
    assert "algorithmic" in error


def test_one_chat_of_several_is_chosen_by_its_id_or_its_number(tmp_path: Path, capsys: Capture) -> None:
    lines = [
        {"id": "first", "messages": [HI]},
        {"id": 7, "messages": [HI, ANSWER]},
        {"messages": [HI, ANSWER, HI]},
    ]
    path = written(tmp_path, "\n".join(map(json.dumps, lines)).encode(), "chats.jsonl")

    def groups(chat: str) -> int:
        told = json.loads(printed(path, "--window", "9000", "--json", "--chat", chat, capsys=capsys))
        return len(told["groups"])

    assert [groups(chat) for chat in ("first", "7", "2", "3")] == [1, 2, 2, 3]
    error = refused(path, "--window", "9000", capsys=capsys)
    assert "chats.jsonl holds 3 chats. Choose one by --chat and its number or its id: 'first', '7' …." in error
    for wrong in ("4", "0", "other", "²"):
        assert f"has no chat '{wrong}'" in refused(path, "--window", "9000", "--chat", wrong, capsys=capsys)


def test_the_standard_input_and_anthropics_shape_are_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = {"system": "Be brief.", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(log).encode())))
    assert numbers(
        printed("-", "--window", "9000", capsys=capsys), first="System prompt", last="System prompt"
    ) == {"System prompt": 3}


def test_joined_logs_need_their_ids_kept_apart(tmp_path: Path, capsys: Capture) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    log: list[dict[str, Any]] = [
        HI,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
    path = written(tmp_path, log * 2)
    error = refused(path, "--window", "9000", capsys=capsys)
    assert "message 2 and message 5" in error
    assert "--prefix-ids" in error
    assert "1 call: look" in printed(path, "--window", "9000", "--prefix-ids", capsys=capsys)
    again = written(tmp_path, [{**log[1], "tool_calls": [call, call]}])
    assert "INVALID" not in refused(again, "--window", "9000", "--prefix-ids", capsys=capsys)


def test_what_does_not_fit_is_one_line_with_sizes_and_the_largest_parts(
    tmp_path: Path, capsys: Capture
) -> None:
    path = written(tmp_path, [{"role": "user", "content": "x" * 50_000}])
    error = refused(path, "--window", "4096", "--reserve", "512", capsys=capsys)
    assert error.startswith("Error: Context overflow: ")
    assert "too large" in error
    assert re.search(
        r"The largest parts: currentInput 14,\d{3}, tools \d+, pluginInstructions \d+\.$", error.strip()
    )
    error = refused(written(tmp_path, [HI]), "--window", "4096", capsys=capsys)
    assert "reserve" in error


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--window", "0"), "--window is 0"),
        (("--window", "x"), "'--window'"),
        ((), "Missing option '--window'"),
        (("--window", "9000", "--reserve", "-1"), "--reserve is -1"),
        (("--window", "9000", "--json", "--export", "openai"), "--json and --export were both given"),
        (("--window", "9000", "--export", "other"), "'other'"),
        (("--window", "9000", "--tools", "nowhere.json"), "nowhere.json"),
        (("--window", "9000", "--chat", "2"), "has no chat '2'"),
    ],
)
def test_wrong_options_are_told(arguments: tuple[str, ...], told: str, tmp_path: Path, capsys: Capture) -> None:
    assert told in refused(written(tmp_path, [HI]), *arguments, capsys=capsys)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no json", "log.json is not valid JSON"),
        ([], "log.json holds no chat"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "log.json, message 1: a part 'input_audio'"),
        ([{"role": "user", "content": [[[]]] * 2}], "has no place"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "the role 'nobody'"),
    ],
)
def test_a_file_that_is_no_conversation_is_told(data: Any, told: str, tmp_path: Path, capsys: Capture) -> None:
    assert told in refused(written(tmp_path, data), "--window", "9000", capsys=capsys)


@pytest.mark.parametrize("data", [{"name": "look"}, [5], "x"])
def test_a_file_that_is_no_list_of_tools_is_told(data: Any, tmp_path: Path, capsys: Capture) -> None:
    tools = written(tmp_path, data, "tools.json")
    error = refused(written(tmp_path, [HI]), "--window", "9000", "--tools", tools, capsys=capsys)
    assert "tools.json is no list of tools" in error


def test_nothing_in_a_conversation_steers_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    call = {"id": "c\x1b[2J", "type": "function", "function": {"name": "look\x1b[31m\n", "arguments": "{}"}}
    log: list[dict[str, Any]] = [
        HI,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c\x1b[2J", "content": "x" * 6_000},
        ANSWER,
        HI,
    ]
    path = written(tmp_path, log)
    for more in ((), ("--json",)):
        out = printed(path, "--window", "3000", "--reserve", "100", *more, capsys=capsys)
        assert "\x1b" not in out
    assert "moved" in out


def test_long_tables_are_cut_and_say_so(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, [HI, ANSWER] * (ROW_LIMIT // 2 + 3))
    out = printed(path, "--window", "90000", capsys=capsys)
    assert "… and 6 more; --json has them all." in out

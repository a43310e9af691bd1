from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from playground import ContextManifest
from playground.cli import main
from playground.errors import InvalidRequestError
from playground.launch import app_script, app_url, can_open_browser, choose_port, streamlit_flags

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def demo(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    return run("compile", "--project", "deploy-demo", *arguments, capsys=capsys)


def manifest(*arguments: str, capsys: pytest.CaptureFixture[str]) -> ContextManifest:
    code, out, _ = demo("--json", *arguments, capsys=capsys)
    assert code == 0
    return ContextManifest.from_json(out)


def test_the_manifest_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = manifest(capsys=capsys)
    assert [entry.source for entry in found.entries][:2] == ["working-memory", "working-memory"]
    assert {source.id for source in found.sources} == {"memory", "rag", "transcript", "skills"}
    assert found.placement.tail_kept is True


def test_the_blocks_are_printed_as_xml_that_parses(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = demo("--xml", capsys=capsys)
    assert (code, err) == (0, "")
    blocks = ET.fromstring(f"<all>{out}</all>")
    assert [block.tag for block in blocks] == ["deuz_context", "deuz_working_memory"]


def test_a_table_for_people_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = demo("--question", "How do I roll back?", "--mode", "lexical", capsys=capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].strip() == "How do I roll back?"
    assert re.search(
        r"[\d,]+ of 8,192 tokens · \d+ selected, \d+ not · counted by heuristic · \$0\.\d{4}", lines[1]
    )
    assert any("Rolling back" in line and "ranked" in line for line in lines)


def test_every_knob_reaches_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    knobs = ("--ratio", "0.5", "--max-tokens", "1000", "--working-memory-tokens", "64")
    shares = ("--share", "rag=0.5", "--share", "memory=0.1", "--share", "transcript=0", "--share", "skills=0")
    found = manifest(*knobs, *shares, capsys=capsys)
    assert (found.budget.ratio, found.budget.max_tokens, found.budget.working_memory_tokens) == (0.5, 1000, 64)
    tokens = dict(found.budget.shares)
    assert tokens["rag"] > tokens["memory"] > tokens["transcript"] == tokens["skills"] == 0


def test_fewer_candidates_and_another_question_change_what_is_offered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = manifest("--candidates", "1", "--question", "pipeline", "--mode", "lexical", capsys=capsys)
    assert [entry.record_id for entry in found.entries if entry.source == "rag"] == ["0"]
    assert {entry.query for entry in found.entries if entry.source == "rag"} == {"pipeline"}


def test_another_model_brings_its_window_and_its_tail_rule(capsys: pytest.CaptureFixture[str]) -> None:
    found = manifest("--model", "openai/gpt-4o", "--estimator", "tokenizer", capsys=capsys)
    assert 128_000 > found.budget.input_tokens >= 128_000 - 16_384
    assert found.placement.tail_kept is None
    assert found.estimator.kind == "tokenizer"


def test_a_project_is_also_taken_from_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "project.json").write_text(json.dumps({"version": 1, "question": "What now?"}))
    code, out, _ = run("compile", "--project", str(tmp_path), "--json", capsys=capsys)
    assert code == 0
    assert json.loads(out)["entries"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "--ratio", "0"], "greater than 0"),
        (["compile", "--ratio", "1.5"], "ratio"),
        (["compile", "--ratio", "nan"], "finite"),
        (["compile", "--ratio", "abc"], "--ratio"),
        (["compile", "--max-tokens", "-1"], "whole number"),
        (["compile", "--share", "rag=0.9"], "sum to"),
        (["compile", "--share", "rag"], "rag=0.5"),
        (["compile", "--share", "web=0.1"], "unknown kind"),
        (["compile", "--model", "claude-opus-55"], "Did you mean claude-opus-5"),
        (["compile", "--question", "  "], "The question is empty"),
        (["compile", "--candidates", "0"], "at least 1"),
        (["compile", "--project", "no-such"], "no-such"),
        (["compile", "--mode", "vague"], "--mode"),
        (["compile", "--json", "--xml"], "Choose one"),
        (["compile", "--bogus"], "--bogus"),
        (["bogus"], "bogus"),
        (["--project", "no-such"], "bank-support"),
        (["--port", "70000"], "--port"),
        (["--port", "abc"], "--port"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy_and_exit_code_two(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert "Traceback" not in err


def test_mandatory_content_that_does_not_fit_shows_required_and_available_tokens(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    head = {"version": 1, "question": "Well?", "contextWindow": 1_000, "maxOutputTokens": 990}
    (tmp_path / "project.json").write_text(json.dumps(head))
    sample = ROOT / "sample_data" / "deploy-demo" / "working_memory.json"
    (tmp_path / "working_memory.json").write_text(sample.read_text())
    code, _, err = run("compile", "--project", str(tmp_path), capsys=capsys)
    assert code == 2
    assert re.search(r"needs \d+ tokens, the request has \d+", err)


def test_text_of_a_project_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evil = "\x1b[2J\x9b31m deploy [bold]x[/bold]"
    (tmp_path / "project.json").write_text(
        json.dumps({"version": 1, "question": evil, "scope": {"userId": "a"}})
    )
    memory = {"id": "e\x1b[0m", "text": evil}
    (tmp_path / "memories.jsonl").write_text(json.dumps(memory) + "\n")
    code, out, _ = run("compile", "--project", str(tmp_path), capsys=capsys)
    assert code == 0
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "[bold]x[/bold]" in out


def test_help_names_the_commands_and_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("--help", capsys=capsys)
    assert code == 0
    assert "compile" in out


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m playground.cli compile --project deploy-demo --json | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr == ""


def test_the_flags_keep_the_app_local_and_quiet() -> None:
    flags = dict(flag.removeprefix("--").split("=") for flag in streamlit_flags(port=9_000, installed=True))
    assert flags["server.address"] == "127.0.0.1"
    assert flags["server.port"] == "9000"
    assert flags["server.fileWatcherType"] == "none"
    for name in ("server.showEmailPrompt", "browser.gatherUsageStats"):
        assert flags[name] == "false"
    for name in ("server.enableXsrfProtection", "server.enableCORS"):
        assert flags[name] == "true"
    assert flags["client.toolbarMode"] == "minimal"


def test_the_address_names_the_project_safely() -> None:
    assert app_url(8_501) == "http://127.0.0.1:8501/"
    assert app_url(8_501, project="a&b=c d") == "http://127.0.0.1:8501/?project=a%26b%3Dc+d"


def test_a_taken_port_is_refused_and_skipped_when_none_was_asked_for() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidRequestError, match="--port"):
            choose_port(port)
        assert choose_port() != port


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="there a browser is always to be had")
def test_a_browser_is_opened_only_where_there_is_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not can_open_browser()
    monkeypatch.setenv("DISPLAY", ":0")
    assert can_open_browser()


@contextmanager
def served(home: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    # An empty environment, an empty home, and nothing to read on the standard input.
    process = subprocess.Popen(
        [sys.executable, "-m", "playground.cli", "--port", str(port), "--project", "deploy-demo"],
        cwd=ROOT,
        env={"HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_app_starts_with_an_empty_home_and_environment_and_asks_nothing(tmp_path: Path) -> None:
    assert app_script()[0].name in {"app.py", "entry.py"}
    port = choose_port()
    with served(tmp_path, port) as process:
        assert _healthy(port)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    assert f"http://127.0.0.1:{port}/?project=deploy-demo" in out
    assert "mail" not in out.lower()
    assert "Traceback" not in out
    assert list(tmp_path.iterdir()) == []


def _healthy(port: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/_stcore/health")
            return connection.getresponse().status == http.client.OK
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    return False


def test_the_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = "altair bm25s genai_prices numpy pandas scipy streamlit tiktoken torch"
    code = f"import playground.cli, sys; print([name for name in {heavy.split()} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"

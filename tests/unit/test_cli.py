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
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from playground import ContextManifest
from playground.commands.projects import find_project
from playground.errors import InvalidRequestError
from playground.launch import app_script, app_url, can_open_browser, choose_port, streamlit_flags
from playground.workspace import Project
from playground.workspace.library import default_library
from playground.workspace.samples import sample_folder
from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]


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


def test_an_own_project_is_found_by_its_name_and_wins_over_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "project.json").write_text(json.dumps({"version": 1, "question": "In the folder?"}))
    asked = {}
    for name in ("mine", "./mine"):
        if name == "mine":
            default_library().create("mine", Project(name="mine", question="In the library?"))
        _, out, _ = run("compile", "--project", name, capsys=capsys)
        asked[name] = out.splitlines()[0].strip()
    assert asked == {"mine": "In the library?", "./mine": "In the folder?"}
    assert find_project("mine").kind == "own"
    code, _, err = run("compile", "--project", "other", capsys=capsys)
    assert code == 2
    assert "There is no project 'other'. Choose one of mine, bank-support, " in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "--ratio", "0"], "greater than 0"),
        (["compile", "--ratio", "1.5"], "ratio"),
        (["compile", "--ratio", "nan"], "finite"),
        (["compile", "--ratio", "abc"], "--ratio"),
        (["compile", "--max-tokens", "-1"], "--max-tokens is -1. Give a whole number"),
        (["compile", "--max-tokens", "9" * 40], "--max-tokens is 9"),
        (["compile", "--working-memory-tokens", "9" * 40], "--working-memory-tokens is 9"),
        (["compile", "--candidates", "9" * 40], "--candidates is 9"),
        (["compile", "--model", ""], "No model is called ''"),
        (["compile", "--model", "@" * 50_000], "50,000 characters"),
        (["--port", "0"], "--port"),
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
        (["--project", str(sample_folder("deploy-demo"))], "The app opens projects by name"),
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


def project_of(folder: Path, *memories: str, **head: object) -> str:
    whole = {"version": 1, "question": "deploy", "scope": {"userId": "a"}, **head}
    (folder / "project.json").write_text(json.dumps(whole))
    lines = [json.dumps({"id": f"m{at}", "text": text}) + "\n" for at, text in enumerate(memories)]
    if lines:
        (folder / "memories.jsonl").write_text("".join(lines))
    return str(folder)


def test_a_field_of_the_project_is_not_blamed_on_an_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run("compile", "--project", project_of(tmp_path, candidatesPerSource=0), capsys=capsys)
    assert code == 2
    assert "project.json: candidatesPerSource is 0" in err
    assert "--candidates" not in err


def test_what_is_odd_about_a_project_is_told_on_the_error_stream(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    project = project_of(tmp_path, "deploy")
    (tmp_path / "skills" / "bad").mkdir(parents=True)
    (tmp_path / "skills" / "bad" / "SKILL.md").mkdir()
    code, out, err = run("compile", "--project", project, "--json", capsys=capsys)
    assert code == 0
    assert json.loads(out)
    assert err.startswith("Warning: ")
    assert "bad/SKILL.md" in err


def test_json_escapes_what_steers_a_terminal_and_means_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    question = "deploy \x9b31m \x85 \x7f \u202e \x1b[2J"
    project = project_of(tmp_path, "deploy", question=question)
    code, out, _ = run("compile", "--project", project, "--json", capsys=capsys)
    assert code == 0
    assert not re.search("[\x1b\x7f-\x9f\u202e]", out)
    assert question in {entry["query"] for entry in json.loads(out)["entries"]}


def test_piped_xml_is_exact(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    project = project_of(tmp_path, "deploy \x9b31m")
    _, out, _ = run("compile", "--project", project, "--xml", capsys=capsys)
    assert "deploy \x9b31m" in out


def in_process(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "playground", "compile", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, **options)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
def test_xml_on_a_terminal_is_written_with_references_that_mean_the_same(tmp_path: Path) -> None:
    screen, terminal = os.openpty()
    try:
        project = project_of(tmp_path, "deploy \x9b31m \x85\x7f \u202e")
        process = in_process("--project", project, "--xml", stdout=terminal)
        # Far less than a terminal holds, so that the program ends before it is read.
        assert process.wait(60) == 0
        out = os.read(screen, 65_536).decode()
        _, _ = process.communicate()
    finally:
        os.close(screen)
        os.close(terminal)
    assert "deploy &#x9B;31m &#x85;&#x7F; &#x202E;" in out
    assert not re.search("[\x7f-\x9f\u202e]", out)


def test_a_title_that_runs_from_right_to_left_is_isolated_and_overrides_are_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hebrew = "\u05d0\u05d1\u05d2"
    project = project_of(tmp_path, f"deploy {hebrew}", "deploy \u202egnp.exe\u2069", f"deploy {hebrew * 40}")
    _, out, _ = run("compile", "--project", project, capsys=capsys)
    assert f"\u2068deploy {hebrew}\u2069" in out
    assert "\u202e" not in out
    assert all(line.count("\u2068") == line.count("\u2069") for line in out.splitlines())


@pytest.mark.parametrize(
    "environment",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}],
)
def test_the_table_is_printed_where_the_encoding_knows_ascii_alone(
    environment: dict[str, str], tmp_path: Path
) -> None:
    project = project_of(tmp_path, "deploy \u00e9 \U0001f680 \u05d0")
    process = in_process(
        "--project", project, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "", **environment}
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"\\xe9 \\U0001f680" in out
    assert out.isascii()
    assert re.search(rb"^\+ +memory", out, re.MULTILINE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("shape", ["", "--json", "--xml"])
def test_an_output_that_takes_nothing_is_one_line(shape: str) -> None:
    with Path("/dev/full").open("wb") as full:
        process = in_process(*filter(None, ["--project", "deploy-demo", shape]), stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.fullmatch(rb"Error: The output cannot be written: [^\n]+\n", err)


@pytest.mark.parametrize("shape", ["", "--json", "--xml"])
def test_a_reader_that_has_gone_is_no_error_in_any_shape(shape: str) -> None:
    process = in_process(*filter(None, ["--project", "deploy-demo", shape]), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    assert (process.wait(60), err) == (0, b"")


def test_help_names_the_commands_and_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("--help", capsys=capsys)
    assert code == 0
    assert "compile" in out


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m playground compile --project deploy-demo --json | true"
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
        [sys.executable, "-m", "playground", "--port", str(port), "--project", "deploy-demo"],
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


@pytest.mark.parametrize(
    ("arguments", "help_command"),
    [
        (("forget", "mine"), "playground forget --help"),
        (("import", "mine", "--as", "memories"), "playground import --help"),
        (("compile", "--max-tokens", "many"), "playground compile --help"),
        (("complie",), "playground --help"),
        (("--prot", "1"), "playground --help"),
    ],
)
def test_a_mistake_in_a_command_leads_to_the_help_that_lists_its_options(
    arguments: tuple[str, ...], help_command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.endswith(f". See {help_command}.\n")


def test_streamlit_finds_no_pages_of_its_own_beside_the_script_of_the_app() -> None:
    # Else an address such as /data, opened first on a fresh server, runs that file without its frame and fails.
    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    shipped = built["wheel"]["force-include"]
    entry = ROOT / shipped["app.py"]
    assert shipped[".streamlit/config.toml"] == str(entry.parent.relative_to(ROOT) / ".streamlit/config.toml")
    assert [script for script in (ROOT / "app.py", entry) if (script.parent / "pages").exists()] == []


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

"""Every code block of the README does what it says.

A block's language decides how it is held: ``python`` runs and prints the ``text`` block that follows it,
``console`` commands run and succeed, ``mermaid`` names modules that exist, ``bash`` holds the two set-up
commands: the first is run from a clean clone by ``test_installation``, the second is what CI calls.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from playground.evaluation import evaluate
from playground.views.palette import colours

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RECALL = "playground recall"
RECALL_COLUMNS = 8
FEW = 5  # commands of a block
HOMES = {"XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}  # both are below HOME then
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks() -> list[Block]:
    return [Block(language, text) for language, text in FENCE.findall(README.read_text(encoding="utf-8"))]


def pythons() -> list[tuple[str, str]]:
    found = blocks()
    return [
        (block.text, following.text)
        for block, following in zip(found, [*found[1:], Block("", "")], strict=True)
        if block.language == "python"
    ]


def consoles() -> list[list[str]]:
    """The commands of each console block."""
    return [
        [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
        for block in blocks()
        if block.language == "console"
    ]


def notes(folder: Path) -> None:
    """What the reader is taken to have: a page, two memories, a chat, and the blocks of the own example."""
    (folder / "notes").mkdir()
    (folder / "notes" / "seats.md").write_text("# Seats\n\nThe quiet coach has window seats.\n")
    lines = (
        {"id": "seat", "kind": "semantic", "text": "Ada likes the window seat."},
        {"id": "old-phone", "kind": "semantic", "text": "Ada's phone ends in 0932."},
    )
    (folder / "notes" / "memories.jsonl").write_text("\n".join(map(json.dumps, lines)))
    shown = (
        {"id": "rule", "kind": "constitution", "content": "Never promise a refund.", "required": True},
        {"id": "news", "kind": "recent", "content": "The new card has arrived.", "priority": 10},
        {"id": "goal", "kind": "goal", "content": "Explain the fee of a rushed card.", "priority": 90},
    )
    (folder / "blocks.json").write_text(json.dumps(shown))
    asked = ({"role": "user", "content": "What does a rushed card cost?"},)
    (folder / "chat.json").write_text(json.dumps(asked))


def test_every_block_is_of_a_language_that_a_test_here_holds() -> None:
    languages = [block.language for block in blocks()]
    assert set(languages) == {"bash", "python", "text", "console", "mermaid"}
    for position, language in enumerate(languages):
        if language == "text":
            assert languages[position - 1] == "python", "an output block follows no program"


def test_the_two_set_up_commands_stand_on_the_first_screen_and_are_what_ci_and_the_installation_test_run() -> (
    None
):
    first_screen = README.read_text(encoding="utf-8").splitlines()[:40]
    shown = "\n".join(first_screen)
    app, tests = (block.text.strip() for block in blocks() if block.language == "bash")
    assert app == "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/playground"
    assert app in shown
    assert tests in shown
    assert tests == 'python3 -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/python -m pytest'
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert tests in ci.replace("pip install --quiet", "pip install")


@pytest.mark.parametrize(("program", "printed"), pythons())
def test_the_python_example_prints_what_stands_below_it(program: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


@pytest.mark.parametrize(
    "block",
    # Benches have no place in the default run; there the command is only started with -m bench. What measures
    # recall is run where its table is compared. Many commands, one of them a whole evaluation, are for CI.
    [
        pytest.param(
            block,
            marks=[
                *([pytest.mark.bench] if "-m bench" in block[0] else []),
                *([pytest.mark.slow] if len(block) > FEW else []),
            ],
        )
        for block in consoles()
        if RECALL not in block[0]
    ],
)
def test_the_commands_of_a_block_run_one_after_the_other(block: list[str], tmp_path: Path) -> None:
    notes(tmp_path)
    printed = {command: printed_by(command, tmp_path) for command in block}
    assert not [command for command, text in printed.items() if not text.strip()]


def printed_by(command: str, tmp_path: Path) -> str:
    program, *arguments = shlex.split(command, comments=True)
    start = {"playground": [sys.executable, "-m", "playground"], "python": [sys.executable]}[program]
    inside = ROOT if arguments[:2] == ["-m", "pytest"] else tmp_path
    done = subprocess.run(
        [*start, *arguments],
        cwd=inside,
        env={
            **os.environ,
            **HOMES,
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_boxes_of_the_diagram_are_modules() -> None:
    (diagram,) = (block.text for block in blocks() if block.language == "mermaid")
    names = re.findall(r"\[([\w.]+)\]", diagram)
    assert len(names) >= 8
    for name in names:
        assert importlib.util.find_spec(f"playground.{name}") is not None, name


def test_the_numbers_are_those_that_the_benches_recorded() -> None:
    figures: dict[str, float] = {}
    for path in (ROOT / "tests" / "bench").glob("*_results.json"):
        figures |= json.loads(path.read_text(encoding="utf-8"))["figures"]
    rows = re.findall(r"^\| ([^|]+?) \| ([\d.,]+) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 5
    for name, shown in rows:
        digits = len(shown.partition(".")[2])
        assert shown == f"{figures[name]:,.{digits}f}", name


def test_the_picture_shows_the_palette_and_not_an_approximation_of_it() -> None:
    with Image.open(ROOT / ".readme" / "compile.png") as picture:
        counted = picture.convert("RGB").getcolors(maxcolors=1 << 24)
    assert counted is not None
    shown = {f"#{bytes(colour).hex()}".upper() for _, colour in counted if isinstance(colour, tuple)}
    palette = colours("light")
    kinds = ("memory", "rag", "transcript", "skills", "working-memory", "mandatory")
    assert not [kind for kind in kinds if palette[kind] not in shown]


def test_the_picture_and_the_linked_files_exist() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_table_of_strategies_is_what_the_command_prints() -> None:
    columns = [
        "Needed records in sight", "Outdated records in sight", "Goal, rules, decisions in sight",
        "Tokens of a request", "Tokens of an unchanged prefix", "Steps that ask the sources",
    ]  # fmt: skip
    report = evaluate()
    figures = dict(report.lines())
    expected = [
        [row.label, *(figures[name][number] for name in columns)]
        for number, row in enumerate(report.strategies)
    ]
    assert rows_of(len(columns) + 1)[1:] == expected


def rows_of(count: int) -> list[list[str]]:
    """The README's tables with that many columns, heads included."""
    rows = [line.strip("|").split("|") for line in README.read_text(encoding="utf-8").splitlines()]
    shown = [[cell.strip() for cell in row] for row in rows if len(row) == count]
    return [row for row in shown if row[0] != "---"]


def recall_printed(command: str, tmp_path: Path) -> list[list[str]]:
    rows = [re.split(r" {2,}", line.strip()) for line in printed_by(command, tmp_path).splitlines()]
    return [row for row in rows if len(row) == RECALL_COLUMNS]


@pytest.mark.slow
def test_the_table_of_evidence_is_what_the_command_under_it_prints(tmp_path: Path) -> None:
    (command,) = (command for block in consoles() for command in block if RECALL in command)
    printed = recall_printed(command, tmp_path)
    assert {row[0] for row in printed[1:]} == {"assistant-memory", "bank-support"}
    assert rows_of(RECALL_COLUMNS) == printed


@pytest.mark.slow
def test_the_figures_of_other_settings_are_what_their_options_print(tmp_path: Path) -> None:
    (command,) = (command for block in consoles() for command in block if RECALL in command)
    _, *rows = rows_of(RECALL_COLUMNS + 1)
    assert len(rows) == 4
    for option, *row in rows:
        assert row in recall_printed(f"{command} --mode hybrid {option.strip('`')}", tmp_path)

"""``playground embed``, in processes that are killed and interrupted as people and machines do it."""

from __future__ import annotations

import json
import os
import re
import signal as signals
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import typer

from playground.cancel import CancelToken
from playground.commands.embedding import embed
from playground.retrieval.embedding import MINILM_ID, Progress
from playground.retrieval.embedding_cache import vector_key
from playground.retrieval.index import Vectors
from playground.retrieval.user_cache import cache_path
from playground.workspace import load_project
from playground.workspace.embedding import BATCH, embedded_texts
from playground.workspace.samples import sample_folder
from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 120
# A program of its own, because it is killed: it writes down each text that the model is asked for.
PROGRAM = """
import sys
from pathlib import Path
from playground.commands.embedding import embed
from tests.unit.test_embed_command import SlowModel
import typer

try:
    embed(sys.argv[1], model=None, output=None, load=lambda name: SlowModel(Path(sys.argv[2])))
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


class SlowModel:
    """Unit vectors made of the text's digest, a batch in a twentieth of a second; logs what it is asked."""

    model_id = "slow"
    weights_digest = "sha256:slow"
    dims = 4

    def __init__(self, log: Path, seconds: float = 0.05) -> None:
        self._log = log
        self._seconds = seconds

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        time.sleep(self._seconds)
        with self._log.open("a", encoding="utf-8") as file:
            file.writelines(f"{vector_key(text).hex()}\n" for text in texts)
        rows = np.array([list(vector_key(text)[: self.dims]) for text in texts], dtype=np.float32) + 1
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of many texts and no vector."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "project.json").write_text(json.dumps({"version": 1, "question": "What now?"}))
    lines = (json.dumps({"id": f"d{at}", "text": f"Note {at}. {'word ' * at}"}) for at in range(DOCUMENTS))
    (folder / "documents.jsonl").write_text("\n".join(lines))
    return folder


def start(folder: Path, log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(log)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def asked(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def wait_for(log: Path, texts: int) -> None:
    deadline = time.monotonic() + 60
    while len(asked(log)) < texts:
        assert time.monotonic() < deadline, "the model was not asked in time"
        time.sleep(0.005)


def cached() -> int:
    with closing(sqlite3.connect(cache_path())) as connection:
        (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    return int(count)


def test_after_kill_9_in_the_middle_only_the_rest_is_embedded(folder: Path, tmp_path: Path) -> None:
    total = len(embedded_texts(load_project(folder)))
    first, second, third = (tmp_path / f"{number}.log" for number in range(3))
    killed = start(folder, first)
    wait_for(first, 3 * BATCH)
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signals.SIGKILL
    kept = cached()
    # What was asked of the model is kept, but for the batch at hand.
    assert 0 < len(asked(first)) - BATCH <= kept < total
    assert len(load_project(folder).vectors) == 0
    resumed = start(folder, second)
    out, err = resumed.communicate(timeout=60)
    assert (resumed.returncode, err) == (0, "")
    assert len(asked(second)) == total - kept
    assert f"called for {total - kept:,}, {kept:,} came from the cache" in out
    assert all(text in load_project(folder).vectors for text in embedded_texts(load_project(folder)))
    again = start(folder, third)
    out, _ = again.communicate(timeout=60)
    assert asked(third) == []
    assert f"All {total:,} texts of {folder} have a vector of slow already; the model was not called." in out


def test_ctrl_c_keeps_what_was_made_and_says_how_to_go_on(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.log"
    process = start(folder, log)
    wait_for(log, 3 * BATCH)
    process.send_signal(signals.SIGINT)
    out, err = process.communicate(timeout=60)
    made = len(load_project(folder).vectors)
    assert (process.returncode, out) == (130, "")
    total = len(embedded_texts(load_project(folder)))
    assert err == (
        f"Stopped. {made} of {total} texts have a vector now and keep it. "
        f"Go on with: playground embed {folder}\n"
    )
    assert made == len(asked(log)) - 1
    rest = tmp_path / "rest.log"
    _, err = start(folder, rest).communicate(timeout=60)
    # The shortest text was embedded first, to see whether the model is there.
    assert (len(asked(rest)), err) == (total - made - 1, "")


def test_a_sample_is_written_elsewhere_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run("embed", "deploy-demo", "--model", "some/model", capsys=capsys)
    assert (code, out) == (2, "")
    assert re.fullmatch(
        r"Error: deploy-demo is a sample and read-only; \d+ of its texts have no vector of some/model\. "
        r"Give --output FOLDER to write it there with its vectors\.\n",
        err,
    )
    code, out, err = run("embed", "deploy-demo", capsys=capsys)
    assert (code, err) == (0, "")
    assert f"texts of deploy-demo have a vector of {MINILM_ID} already; the model was not called." in out
    code, out, err = run("embed", "deploy-demo", "--output", str(tmp_path / "copy"), capsys=capsys)
    assert (code, err) == (0, "")
    assert load_project(tmp_path / "copy").vectors.to_bytes() == load_project("deploy-demo").vectors.to_bytes()


def test_the_licences_of_a_sample_go_with_its_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("embed", "bank-support", "--output", str(tmp_path / "copy"), capsys=capsys)[0] == 0
    licences = {path.name: path.read_bytes() for path in sample_folder("bank-support").glob("LICENSE*")}
    assert licences
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy").glob("LICENSE*")} == licences
    assert all(path.stat().st_nlink == 1 for path in (tmp_path / "copy").glob("LICENSE*"))


class StoppedModel(SlowModel):
    """Presses Ctrl+C as soon as the run is under way."""

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        if len(texts) > 1:
            os.kill(os.getpid(), signals.SIGINT)
        return super().embed(texts)


def test_a_copy_that_was_stopped_goes_on_where_it_was_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "my copy"
    with pytest.raises(typer.Exit) as end:
        embed(str(folder), model="slow", output=copy, load=lambda _: StoppedModel(tmp_path / "log"))
    assert end.value.exit_code == 130
    _, err = capsys.readouterr()
    assert err.endswith(f"Go on with: playground embed '{copy}' --model slow\n")
    assert (len(load_project(copy).vectors), len(load_project(folder).vectors)) == (BATCH, 0)


def test_a_part_of_another_models_vectors_pushes_out_no_whole_set_and_is_kept_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    with pytest.raises(typer.Exit):
        embed("bank-support", model="slow", output=copy, load=lambda _: StoppedModel(tmp_path / "log"))
    _, err = capsys.readouterr()
    assert err.endswith(f"Go on with: playground embed bank-support --model slow --output {copy}\n")
    assert not copy.exists()
    assert cached() == BATCH + 1


def test_nothing_is_written_over_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("Dear Bob")
    code, out, err = run("embed", "deploy-demo", "--output", str(tmp_path / "letters"), capsys=capsys)
    assert (code, out) == (2, "")
    assert "'letters' is there already" in err
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["embed"], "Missing argument 'project'"),
        (["embed", "no-such"], "no-such"),
        (["embed", "a\0b"], "is no path"),
        (["embed", " "], "is no path"),
        (["embed", "FOLDER", "--model", "no/such-model"], "no/such-model"),
        (["embed", "FOLDER", "--model", "not a model"], "neither a folder nor a model name"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder) if argument == "FOLDER" else argument for argument in arguments]
    code, out, err = run(*given, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err


def test_the_real_model_embeds_a_folder_and_the_second_run_does_not_load_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "project.json").write_text(json.dumps({"version": 1, "question": "Who pays?"}))
    (folder / "documents.jsonl").write_text(json.dumps({"id": "d", "text": "The bank pays."}))
    code, out, _ = run("embed", str(folder), capsys=capsys)
    assert (code, out) == (
        0,
        f"All 2 texts of {folder} have a vector of {MINILM_ID} now: the model was called for 2.\n",
    )
    program = (
        "import sys; from playground.cli import main\n"
        "try: main(['embed', sys.argv[1]])\n"
        "except SystemExit as end: assert end.code == 0 and 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "the model was not called" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
def test_a_bar_with_the_time_left_is_shown_on_a_terminal(folder: Path, tmp_path: Path) -> None:
    screen, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(tmp_path / "asked.log")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.DEVNULL,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(screen, 65_536):
            shown += block
    except OSError:  # how a terminal says that nobody writes any more
        pass
    finally:
        os.close(screen)
    assert process.wait(60) == 0
    text = shown.decode()
    assert re.search(r"Embedding: \d+ of 1\d\d texts", text)
    assert re.search(r"0:00:0\d", text)

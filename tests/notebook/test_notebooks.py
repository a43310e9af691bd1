"""Each notebook runs from top to bottom and is the same as its paired script."""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


LONG = {"02_long_task", "04_own_material"}  # many compiles, and the model


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in LONG else (), id=path.stem)
        for path in NOTEBOOKS
    ],
)
def test_the_notebook_runs_and_draws(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in kinds
    assert "text/html" in kinds
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_and_its_script_are_the_same(path: Path) -> None:
    notebook = jupytext.read(path)
    script = jupytext.read(path.with_suffix(".py"))

    def cells(book: nbformat.NotebookNode) -> list[tuple[str, str]]:
        return [(cell.cell_type, cell.source) for cell in book.cells]

    assert cells(notebook) == cells(script)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_committed_outputs_name_no_folder_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "site-packages" not in text
    for folder in {str(Path.home()), str(Path.cwd())} - {"/"}:
        assert folder not in text

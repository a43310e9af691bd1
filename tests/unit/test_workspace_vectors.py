"""The vectors that come with the samples are those of the default model, and the build is reproducible."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from playground.retrieval.embedding import MINILM_ID, MINILM_WEIGHTS_DIGEST, MiniLmEmbedder
from playground.workspace import (
    Project,
    load_project,
    project_embedder,
    sample_projects,
    save_project,
    search_plan,
)
from playground.workspace.build_samples import build
from playground.workspace.embedding import embedded_texts

TOLERANCE = 1e-5


def largest_difference(project: Project, texts: list[str]) -> float:
    known, rows = project.vectors.known(texts)
    assert len(known) == len(texts)
    return float(np.abs(rows - MiniLmEmbedder().embed(texts)).max())


@pytest.mark.parametrize("name", sample_projects())
def test_every_text_of_a_sample_has_its_vector_and_no_other_is_shipped(name: str) -> None:
    project = load_project(name)
    texts = embedded_texts(project)
    assert len(project.vectors.known(texts)[0]) == len(texts) == len(project.vectors)
    assert (project.vectors.model_id, project.vectors.weights_digest) == (MINILM_ID, MINILM_WEIGHTS_DIGEST)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "deploy-demo" else pytest.mark.slow) for name in sample_projects()],
)
def test_shipped_vectors_are_close_to_freshly_computed_ones(name: str) -> None:
    project = load_project(name)
    texts = list(embedded_texts(project))
    assert largest_difference(project, texts[:: max(1, len(texts) // 40)]) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", sample_projects())
def test_all_shipped_vectors_are_close_to_freshly_computed_ones(name: str) -> None:
    project = load_project(name)
    assert largest_difference(project, list(embedded_texts(project))) < TOLERANCE


def test_building_a_sample_again_gives_the_same_files_but_for_rounding(tmp_path: Path) -> None:
    folder = save_project(load_project("deploy-demo"), tmp_path / "demo")
    before = load_project(folder)
    again = build(folder, MiniLmEmbedder())
    assert again.chunks == before.chunks
    assert again.vectors.digests == before.vectors.digests
    assert np.allclose(again.vectors.rows, before.vectors.rows, atol=TOLERANCE)


def test_with_a_model_any_question_is_searched_by_meaning() -> None:
    project = load_project("deploy-demo")
    model = MiniLmEmbedder()
    assert search_plan(project, "undo a release", embedder=model).mode == "hybrid"
    embedder = project_embedder(project, model)
    assert embedder is not None
    texts = ["undo a release", embedded_texts(project)[0], "something else"]
    assert np.allclose(embedder.embed(texts), model.embed(texts), atol=TOLERANCE)


def test_the_first_paint_loads_neither_torch_nor_frames() -> None:
    code = (
        "import sys\n"
        "from playground.workspace import load_project, project_sources\n"
        "project = load_project('bank-support')\n"
        "project_sources(project)\n"
        "print([name for name in ('torch', 'pandas', 'streamlit') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

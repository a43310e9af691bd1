"""Make the derived files of the sample projects: chunk numbers and vectors.

Run ``python -m playground.workspace.build_samples`` after editing a sample. Everything else in the folders is
written by hand or imported and is left alone. Only texts without a vector are embedded, so that running it
twice changes nothing; delete ``vectors.npz`` to compute every vector anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from playground.retrieval.embedding import Embedder, MiniLmEmbedder
from playground.workspace.embedding import embedded_texts
from playground.workspace.loading import load_project
from playground.workspace.project import Project
from playground.workspace.samples import sample_folder, sample_projects
from playground.workspace.saving import project_files
from playground.workspace.searching import ProjectEmbedder
from playground.workspace.vectors import VectorTable

__all__ = ["build", "main"]

DERIVED = ("chunks.jsonl", "vectors.npz")


def build(folder: Path, embedder: Embedder) -> Project:
    """Write a project folder's derived files and return the project.

    Args:
        folder: Holds a project.
        embedder: Makes the vectors.
    """
    project = load_project(folder)
    texts = embedded_texts(project)
    table = VectorTable.of(
        texts,
        ProjectEmbedder(project, embedder).embed(texts),
        model_id=embedder.model_id,
        weights_digest=embedder.weights_digest,
    )
    if project.documents:
        (folder / "chunks.jsonl").write_bytes(project_files(project)["chunks.jsonl"])
    (folder / "vectors.npz").write_bytes(table.to_bytes())
    head = folder / "project.json"
    written = json.loads(head.read_text(encoding="utf-8"))
    written["nextChunkIndex"] = project.corpus.next_index
    head.write_text(json.dumps(written, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return load_project(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the named samples, or all of them; report what was made."""
    chosen: Iterable[str] = sys.argv[1:] if arguments is None else arguments
    embedder = MiniLmEmbedder()
    for name in chosen or sample_projects():
        project = build(sample_folder(name), embedder)
        sys.stdout.write(f"{name}: {len(project.chunks):,} chunks, {len(project.vectors):,} vectors\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

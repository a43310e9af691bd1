"""``playground embed``: gives every text of a project a vector, and goes on where it was stopped."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from playground.cancel import CancelToken
from playground.commands import exits
from playground.commands.progress import progress_bar, stopping_on_interrupt
from playground.commands.projects import Place, find_project, new_folder
from playground.errors import CallCancelledError, InvalidRequestError
from playground.terminal import print_error, print_line

if TYPE_CHECKING:
    from playground.retrieval.embedding import Embedder
    from playground.workspace import Project
    from playground.workspace.embedding import EmbeddingProgress, EmbeddingRun

__all__ = ["embed", "embed_command"]


def embed_command(
    project: Annotated[str, typer.Argument(help="Name of a project, or its folder; a sample needs --output.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="A sentence-transformers name or a local folder; by default the project's, else MiniLM."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="New folder to write the project to, in place of its own.")
    ] = None,
) -> None:
    """Give every text of a project a vector, so that it is found by meaning. Ctrl+C keeps what was made."""
    from playground.retrieval.embedding import load_embedder  # noqa: PLC0415  # torch follows with the first text

    embed(project, model=model, output=output, load=load_embedder)


def embed(name: str, *, model: str | None, output: Path | None, load: Callable[[str], Embedder]) -> None:
    """Run ``playground embed`` with the model that ``load`` finds by its name or folder.

    Raises:
        PlaygroundError: When the project cannot be read or written, or the model cannot be loaded.
        typer.Exit: With 130 when it was stopped; what was made is kept.
    """
    from playground.retrieval.embedding import MINILM_ID  # noqa: PLC0415  # brings NumPy

    place = find_project(name)
    target = None if output is None else new_folder(output)
    project = place.load()
    embedder = load(model or project.vectors.model_id or MINILM_ID)
    if place.read_only and target is None:
        _check_nothing_to_write(project, embedder.model_id)
    run = _run(project, embedder)
    written = run is not None and _write(place, target, project, run)
    if run is None or run.stopped:
        # What was written to another folder goes on there; it is no new one any more.
        again = (str(output), model, None) if written and output is not None else (name, model, output)
        print_error(f"{_stopped(run)} Go on with: {_command(*again)}")
        raise typer.Exit(exits.INTERRUPTED)
    print_line(_summary(place, embedder.model_id, run))


def _check_nothing_to_write(project: Project, model_id: str) -> None:
    from playground.workspace.embedding import embedded_texts  # noqa: PLC0415  # brings NumPy

    same = project.vectors.model_id == model_id
    missing = sum(1 for text in embedded_texts(project) if not (same and text in project.vectors))
    if missing:
        raise InvalidRequestError(
            f"{project.name} is a sample and read-only; {missing:,} of its texts have no vector of {model_id}.",
            remedy="Give --output FOLDER to write it there with its vectors.",
        )


def _run(project: Project, embedder: Embedder) -> EmbeddingRun | None:
    """Embed below a bar; nothing is returned when it was stopped at once, or before the first batch."""
    from playground.retrieval.embedding_cache import EmbeddingCache  # noqa: PLC0415  # brings NumPy
    from playground.retrieval.user_cache import cache_path  # noqa: PLC0415
    from playground.views.embedding import progress_text  # noqa: PLC0415
    from playground.workspace.embedding import embed_project  # noqa: PLC0415

    token, loading = CancelToken(), True
    with closing(EmbeddingCache(cache_path())) as cache, progress_bar() as show:

        def heard(progress: EmbeddingProgress) -> None:
            nonlocal loading
            loading = progress.state == "loading"
            show(
                progress_text("stopping" if token.cancelled else progress.state, progress.done, progress.total),
                None if loading else progress.part,
            )

        try:
            # A model that is being loaded gives nothing to keep, and takes its time.
            with stopping_on_interrupt(token, at_once=lambda: loading):
                return embed_project(project, embedder, cache, on_progress=heard, signal=token)
        except (CallCancelledError, KeyboardInterrupt):
            return None


def _write(place: Place, target: Path | None, project: Project, run: EmbeddingRun) -> bool:
    """Write what was made, where there is anything, and say whether there was."""
    from playground.retrieval.user_cache import forget_cached  # noqa: PLC0415  # brings NumPy
    from playground.workspace import save_project  # noqa: PLC0415
    from playground.workspace.embedding import unheld_keys, with_embedding  # noqa: PLC0415
    from playground.workspace.folder_files import OWN_FILES  # noqa: PLC0415

    vectors = run.vectors
    if vectors is None:
        return False
    if target is not None:
        save_project(with_embedding(project, vectors), target)
        licences = [path for path in place.folder.iterdir() if place.read_only and path.name not in OWN_FILES]
        for path in licences:
            shutil.copy2(path, target)
    elif run.total:
        after = place.change(lambda now: with_embedding(now, vectors))
        forget_cached(unheld_keys(after, vectors))
    return True


def _summary(place: Place, model_id: str, run: EmbeddingRun) -> str:
    texts = 0 if run.vectors is None else len(run.vectors)
    if not texts:
        return f"{place.given} has no text to embed."
    have = f"All {texts:,} texts of {place.given} have a vector of {model_id}"
    if not run.total:
        return f"{have} already; the model was not called."
    if not run.computed:
        return f"{have} now, {run.total:,} of them from the cache; the model was not called."
    cached = run.total - run.computed
    return f"{have} now: the model was called for {run.computed:,}" + (
        f", {cached:,} came from the cache." if cached > 0 else "."
    )


def _stopped(run: EmbeddingRun | None) -> str:
    if run is None:
        return "Stopped. Each batch that was made is kept."
    return f"Stopped. {run.done:,} of {run.total:,} texts have a vector now and keep it."


def _command(name: str, model: str | None, output: Path | None) -> str:
    words = ["playground", "embed", name]
    words += ["--model", model] if model else []
    words += ["--output", str(output)] if output is not None else []
    return shlex.join(words)

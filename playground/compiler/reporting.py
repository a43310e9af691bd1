"""What one compile reports to an observer: identifiers and counts, never a query or the content of a record.

Pure: the report is made from the manifest; its times come from whoever compiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from playground.compiler.manifest import ContextManifest, EstimatorKind

__all__ = [
    "COMPILE_OPERATION",
    "CONTEXT_SUBSYSTEM",
    "Attribute",
    "CompileObserver",
    "CompileReport",
    "compile_attributes",
]

COMPILE_OPERATION = "deuz.context.compile"
CONTEXT_SUBSYSTEM = "context"

Attribute = str | int | bool

_NOT_IN_A_NAME = re.compile("[^a-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileReport:
    """One compile, for whoever watches.

    Attributes:
        operation: Name of the span.
        subsystem: Which part of the program reports.
        run_id: The run; like the step it is for the observer's own use and no attribute.
        step: The model step, from 0.
        started_ns: When the compile began, in ns on the compiler's clock.
        ended_ns: When it ended.
        attributes: See ``compile_attributes``; empty when the compile failed.
        error: Class name of what the compile raised, without its message.
    """

    operation: str = COMPILE_OPERATION
    subsystem: str = CONTEXT_SUBSYSTEM
    run_id: str
    step: int
    started_ns: int
    ended_ns: int
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    error: str | None = None


CompileObserver = Callable[[CompileReport], None]
"""Hears of each compile, in the thread and context that compiled; what it raises is ignored."""


def compile_attributes(manifest: ContextManifest) -> dict[str, Attribute]:
    """Return the attributes of a compile's span, all under ``deuz.context.``.

    ``selected`` and ``excluded`` count the manifest's entries, working memory included; ``tokens`` is the
    estimate of the rendered blocks. ``source.<name>.selected``, ``.excluded`` and ``.tokens`` are those of the
    source's row, ``name`` being its id in lower case with ``_`` for every character outside ``a-z0-9_-``; where
    two ids make one name their numbers are added. ``fallback`` is absent when nothing had to give way.
    O(entries).
    """
    selected = sum(manifest.entries.column("selected"))
    attributes: dict[str, Attribute] = {
        "deuz.context.selected": selected,
        "deuz.context.excluded": len(manifest.entries) - selected,
        "deuz.context.tokens": manifest.budget.selected_tokens,
        "deuz.context.estimator": _estimator_name(manifest.estimator),
        "deuz.context.refresh_reason": manifest.refresh,
        "deuz.context.cache_prefix_changed": manifest.cache_prefix_changed,
        "deuz.context.manifest_digest": manifest.digest,
    }
    if manifest.fallback is not None:
        attributes["deuz.context.fallback"] = manifest.fallback
    return attributes | _source_counts(manifest)


def _estimator_name(estimator: EstimatorKind) -> str:
    return f"{estimator.kind}+calibrated" if estimator.calibrated else estimator.kind


def _source_counts(manifest: ContextManifest) -> dict[str, int]:
    counts: dict[str, int] = {}
    for source in manifest.sources:
        name = _NOT_IN_A_NAME.sub("_", source.id.lower())
        for field_name in ("selected", "excluded", "tokens"):
            key = f"deuz.context.source.{name}.{field_name}"
            counts[key] = counts.get(key, 0) + getattr(source, field_name)
    return counts

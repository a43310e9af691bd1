from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import playground

ROOT = Path(__file__).parents[2]
PROMISED = (
    "compile_context",
    "ContextCompiler",
    "ContextBudget",
    "DEFAULT_CONTEXT_BUDGET",
    "ContextCandidate",
    "SourceResult",
    "ContextPackage",
    "ContextManifest",
    "context_warnings",
    "MemorySource",
    "RagSource",
    "TranscriptSource",
    "SkillsSource",
    "MemorySession",
    "InMemoryMemoryStore",
    "MemoryScope",
    "create_working_memory",
    "apply_working_memory_patch",
    "working_memory_tools",
    "InMemoryWorkingMemory",
    "TokenEstimator",
    "ANTHROPIC_TOOL_FRAMING_TOKENS",
    "ModelSpec",
    "InvalidInputError",
    "InvalidRequestError",
    "ContextBudgetExceededError",
    "PlaygroundError",
    "SourceError",
    "Provenance",
    "CancelToken",
)


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_name_can_be_imported_from_the_top(name: str) -> None:
    assert getattr(playground, name) is not None
    assert name in playground.__all__


def test_the_list_of_public_names_is_true_and_sorted() -> None:
    assert all(hasattr(playground, name) for name in playground.__all__)
    assert len(set(playground.__all__)) == len(playground.__all__)


def test_the_package_is_typed() -> None:
    assert (Path(playground.__file__).parent / "py.typed").exists()


_MODULES = """
import json, sys
import playground, playground.blocks
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_importing_the_package_loads_no_heavy_library() -> None:
    """A script that only compiles must not wait for the app's or the models' libraries."""
    done = subprocess.run(
        [sys.executable, "-c", _MODULES], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(json.loads(done.stdout))
    assert "playground" in loaded
    heavy = {
        "streamlit",
        "pandas",
        "altair",
        "torch",
        "numpy",
        "sentence_transformers",
        "tiktoken",
        "sqlalchemy",
    }
    assert not loaded & heavy

from __future__ import annotations

import subprocess
import sys


def test_importing_sources_loads_nothing_heavy() -> None:
    heavy = "altair bm25s genai_prices numpy pandas scipy streamlit tiktoken torch yaml"
    code = (
        "import playground.sources, playground.memory, playground.models, playground.tokenizers, sys\n"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

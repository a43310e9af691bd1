"""The stored specifications."""

from __future__ import annotations

import subprocess
import sys

import pytest

from playground.charts.build_specs import BUILDERS
from playground.charts.frame import stored_spec


@pytest.mark.parametrize("name", BUILDERS)
def test_the_stored_specification_is_what_altair_builds(name: str) -> None:
    assert stored_spec(name) == BUILDERS[name](), "run python -m playground.charts.build_specs"


def test_a_page_reads_specifications_and_makes_rows_without_importing_altair() -> None:
    code = (
        "import sys; from playground.charts import sources, waterfall; sources.spec(); waterfall.spec();"
        "sys.exit('altair' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

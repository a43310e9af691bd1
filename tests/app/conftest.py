"""What every test of the app runs under: folders of its own for projects and vectors."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an empty library and an empty vector cache."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data_home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache_home"))

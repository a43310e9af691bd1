"""Reading the tables of the app's pages."""

from __future__ import annotations

import pandas as pd
from streamlit.testing.v1 import AppTest

from tests.app.driver import panes

__all__ = ["table_of", "tables_of"]


def tables_of(app: AppTest) -> list[pd.DataFrame]:
    """Return each table that a page shows; numbers are numbers, and missing where a cell is empty."""
    return [_frame(data) for data in panes(app) if "columns" in data]


def table_of(app: AppTest) -> pd.DataFrame:
    """Return a page's only table."""
    (frame,) = tables_of(app)
    return frame


def _frame(data: dict[str, object]) -> pd.DataFrame:
    columns, rows = data["columns"], data["rows"]
    assert isinstance(columns, list)
    assert isinstance(rows, list)
    return pd.DataFrame(
        {
            column["name"]: [row["values" if column["numeric"] else "cells"][at] for row in rows]
            for at, column in enumerate(columns)
        }
    )

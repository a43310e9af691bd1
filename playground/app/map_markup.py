"""Small pieces of HTML of the map; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from playground.views.map import MapKind, MapPoint

__all__ = ["legend", "nearest"]

_GLYPHS = (
    '<u class="cp-spot cp-spot-faint"></u>',
    '<u class="cp-spot cp-spot-ring"></u>',
    '<u class="cp-spot"></u>',
)
_HERE = ' class="cp-here"'
_HEADS = ("on the map", "offered", "in the request")


def legend(kinds: Sequence[MapKind]) -> None:
    """Say what the points are: a line a kind, with how many of them are drawn, offered and in the request."""
    heads = "".join(f"<th>{glyph}{head}</th>" for glyph, head in zip(_GLYPHS, _HEADS, strict=True))
    rows = "".join(
        f'<tr><td><u class="cp-dot cp-{kind.slot}"></u>{html.escape(kind.label)}</td>'
        f"<td>{html.escape(kind.drawn)}</td><td>{html.escape(kind.offered)}</td>"
        f"<td>{html.escape(kind.selected)}</td></tr>"
        for kind in kinds
    )
    st.html(f'<table class="cp-map"><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>')


def nearest(points: Sequence[MapPoint], *, marked: str | None) -> None:
    """Name the records whose rank stands in the picture, and the marked one."""
    rows = (
        f'<div{_HERE if point.key == marked else ""} title="{html.escape(point.description)}">'
        f'<u class="cp-dot cp-{point.slot}"></u><em>{point.rank or "–"}</em>'
        f"<span>{html.escape(point.title)}</span></div>"
        for point in points
    )
    st.html(f'<div class="cp-nearest">{"".join(rows)}</div>')

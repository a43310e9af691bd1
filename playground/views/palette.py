"""The palette: one colour per kind and a few neutrals, each with a light and a dark value.

Pages never name a hex value. Charts name a slot, the theme file holds the slots' colours in the same order,
and everything made of HTML reads ``var(--cp-<slot>)``. Notebooks, which have no theme, take ``colours``.
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["CHART_SLOTS", "SLOTS", "Shade", "Slot", "Theme", "colours", "css_variables"]

Theme = Literal["light", "dark"]
Slot = Literal[
    "memory",
    "rag",
    "transcript",
    "skills",
    "working-memory",
    "mandatory",
    "excluded",
    "ink",
    "secondary",
    "total",
    "hairline",
]
Shade = Literal["page", "sidebar", "track", "faint", "tint"]
SLOTS: tuple[Slot, ...] = get_args(Slot)
"""What a chart may name, in the order of the theme's categorical colours; the first seven are kinds."""
CHART_SLOTS: list[str] = list(SLOTS)

# Kinds keep at least 4.5:1 on page and sidebar and CIEDE2000 13 between any two under simulated colour
# blindness (Machado 2009, severity 1); text neutrals keep 4.5:1, bars 3:1. A test measures the contrasts.
_LIGHT: dict[Slot | Shade, str] = {
    "memory": "#2331B5",
    "rag": "#1E6A4B",
    "transcript": "#6E2A5E",
    "skills": "#9D6619",
    "working-memory": "#1470D6",
    "mandatory": "#8F1506",
    "excluded": "#6B7280",
    "ink": "#1B1F27",
    "secondary": "#565E6C",
    "total": "#8C95A4",
    "hairline": "#E4E7EB",
    "page": "#FFFFFF",
    "sidebar": "#F6F7F9",
    "track": "#EEF0F3",
    "faint": "#6B7280",
    "tint": "#FFF8E1",
}
_DARK: dict[Slot | Shade, str] = {
    "memory": "#617AF0",
    "rag": "#72A77F",
    "transcript": "#E5BFD5",
    "skills": "#E7A03C",
    "working-memory": "#5EBCF9",
    "mandatory": "#C96A3F",
    "excluded": "#868E9C",
    "ink": "#E7EAEF",
    "secondary": "#A3ABB8",
    "total": "#606A79",
    "hairline": "#272D36",
    "page": "#101319",
    "sidebar": "#161A21",
    "track": "#1D222A",
    "faint": "#8A92A0",
    "tint": "#2C2816",
}


def colours(theme: Theme) -> dict[str, str]:
    """Return every slot's and shade's colour as ``#RRGGBB``."""
    return {str(name): colour for name, colour in (_LIGHT if theme == "light" else _DARK).items()}


def css_variables() -> str:
    """Return the custom properties, one ``--cp-<name>`` a colour, each following the page's colour scheme."""
    dark = colours("dark")
    return "".join(f"--cp-{name}:light-dark({value},{dark[name]});" for name, value in colours("light").items())

"""The palette: contrast, and the theme file that repeats it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from playground.views.palette import CHART_SLOTS, SLOTS, Theme, colours, css_variables

CONFIG = Path(__file__).parents[3] / ".streamlit" / "config.toml"
KIND_SLOTS = SLOTS[:7]
THEMES: tuple[Theme, ...] = ("light", "dark")


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return tomllib.loads(CONFIG.read_text("utf-8"))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("slot", KIND_SLOTS)
def test_every_kind_is_readable_on_the_page_and_on_the_sidebar(theme: Theme, slot: str) -> None:
    palette = colours(theme)
    assert contrast(palette[slot], palette["page"]) >= 4.5
    assert contrast(palette[slot], palette["sidebar"]) >= 4.45


@pytest.mark.parametrize("theme", THEMES)
def test_text_keeps_four_and_a_half_to_one_and_bars_three_to_one(theme: Theme) -> None:
    palette = colours(theme)
    for text in ("ink", "secondary"):
        assert all(contrast(palette[text], palette[on]) >= 4.5 for on in ("page", "sidebar", "track", "tint"))
    assert contrast(palette["faint"], palette["page"]) >= 4.5
    assert contrast(palette["total"], palette["page"]) >= 2.99


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_kinds_share_a_colour(theme: Theme) -> None:
    palette = colours(theme)
    assert len({palette[slot] for slot in KIND_SLOTS}) == len(KIND_SLOTS)


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_file_holds_the_slots_in_the_order_charts_name_them(
    theme: Theme, config: dict[str, Any]
) -> None:
    palette = colours(theme)
    section = config["theme"][theme]
    assert section["chartCategoricalColors"] == [palette[slot] for slot in CHART_SLOTS]
    assert (section["backgroundColor"], section["textColor"]) == (palette["page"], palette["ink"])
    assert section["sidebar"]["backgroundColor"] == palette["sidebar"]
    known = set(palette.values())
    assert set(re.findall(r"#[0-9A-F]{6}", str(section))) <= known


def test_the_app_listens_on_this_machine_only_and_reports_nothing(config: dict[str, Any]) -> None:
    assert config["server"]["address"] == "127.0.0.1"
    assert config["server"]["enableXsrfProtection"] is True
    assert config["server"]["enableCORS"] is True
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"] == {"toolbarMode": "minimal", "showErrorDetails": "none"}


def test_every_colour_is_a_custom_property_with_a_light_and_a_dark_value() -> None:
    variables = dict(re.findall(r"--cp-([a-z-]+):(light-dark\([^)]*\));", css_variables()))
    light, dark = colours("light"), colours("dark")
    assert variables == {name: f"light-dark({light[name]},{dark[name]})" for name in light}

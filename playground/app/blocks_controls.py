"""The controls of the Blocks page: material, budget, what counts, and what is pinned.

Budget and pins belong to the material that they were chosen for; another one has its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, get_args

import streamlit as st

from playground.app import markup
from playground.app.controls import field_binding
from playground.views.blocks import BUDGET, LARGEST_BUDGET, PINS
from playground.views.words import count

__all__ = [
    "COUNTED",
    "COUNTERS",
    "MATERIAL",
    "MATERIALS",
    "MaterialName",
    "budget_control",
    "choose_material",
    "counted_control",
    "material_control",
    "pinned",
    "pins_control",
    "settle",
    "start",
    "toggle_pin",
]

MaterialName = Literal["this question", "example", "own"]
MATERIALS: tuple[MaterialName, ...] = get_args(MaterialName)
COUNTERS: Final = ("approximate", "as in the sidebar")
MATERIAL: Final = "blocks_material"
"""The control, and its name in the link; so are the next one and the budget."""
COUNTED: Final = "blocks_counted"
SLIDER: Final = "blocks_slider"
DEFAULT: Final = "blocks_default"
"""Session state: the budget that holds until one is chosen, in tokens."""
PINNED: Final = "blocks_pinned"
PLACE: Final = "blocks_place"
"""Session state: material, and project of a compile, that budget and pins belong to."""
KEPT: Final = "blocks_kept"
"""Session state: budget and pins of the places that were left."""


def material_control() -> MaterialName:
    """Choose where blocks come from."""
    return st.selectbox("Material", MATERIALS, key=MATERIAL, bind="query-params", persist_state="session")


def choose_material(name: MaterialName) -> None:
    """Take blocks from elsewhere; a callback."""
    st.session_state[MATERIAL] = name


def counted_control() -> bool:
    """Choose what counts for both compilers; return whether it is the sidebar's estimator."""
    chosen = st.selectbox(
        "Counted by",
        COUNTERS,
        key=COUNTED,
        bind="query-params",
        persist_state="session",
        help=f"Both compilers count by it; the sidebar's is {st.session_state['estimator']} now.",
    )
    return chosen == COUNTERS[1]


def settle(material: MaterialName) -> None:
    """Bring back the budget and the pins of this material where another's were shown before."""
    place = (str(st.session_state["project"]) if material == MATERIALS[0] else "", material)
    before = st.session_state.get(PLACE)
    if before is not None and before != place:
        kept = st.session_state.setdefault(KEPT, {})
        chosen = st.session_state.get(BUDGET)
        kept[before] = (None if chosen == st.session_state.get(DEFAULT) else chosen, st.session_state.get(PINS))
        start(*kept.get(place, (None, None)))
    st.session_state[PLACE] = place


def start(budget: int | None, pins: Sequence[str] | None) -> None:
    """Start with this budget, or the material's own, and these pins; before the controls are drawn."""
    st.session_state[BUDGET] = st.session_state.get(DEFAULT) if budget is None else budget
    st.session_state[PINS] = tuple(pins or ()) or None


def budget_control(default: int, total: int) -> int:
    """Set the budget by a field or a slider, both of one value, and return it, in tokens.

    Args:
        default: What holds until somebody chooses; the material's own.
        total: What all blocks cost, in tokens; a larger budget changes nothing.
    """
    state = st.session_state
    if BUDGET in state:
        # It follows the default until it is chosen. Assigning it also fills the field again, which the browser
        # empties on another page.
        untouched = state[BUDGET] is None or state[BUDGET] == state.get(DEFAULT)
        state[BUDGET] = default if untouched else state[BUDGET]
    state[DEFAULT] = default
    slider, field = st.columns((2, 1), gap="small", vertical_alignment="bottom")
    with field:
        budget = st.number_input(
            "Tokens",
            min_value=1,
            max_value=LARGEST_BUDGET,
            value=default,
            step=1,
            key=BUDGET,
            bind=field_binding(BUDGET),
            persist_state="session",
            label_visibility="collapsed",
        )
    state[SLIDER] = budget
    most = max(2, budget, default, min(total, LARGEST_BUDGET))
    with slider:
        st.slider("Budget", 1, most, step=1, key=SLIDER, on_change=_follow)
    markup.slider_values({SLIDER: count(budget)})
    markup.field_ranges({BUDGET: (1, LARGEST_BUDGET)})
    return budget


def pins_control(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Pin blocks, and return the ids of those that are.

    Args:
        labels: What each block that can be pinned is called, by id; none of its text, since the control is
            remembered while other pages are shown.
    """
    st.session_state[PINNED] = list(pinned(labels))
    st.multiselect(
        "Pinned",
        list(labels),
        format_func=lambda block_id: labels.get(block_id, block_id),
        key=PINNED,
        on_change=_pin,
        placeholder="none" if labels else "no optional block",
        disabled=not labels,
    )
    return pinned(labels)


def pinned(optional: Collection[str]) -> tuple[str, ...]:
    """Return the ids that are pinned, of those that can be."""
    return tuple(one for one in st.session_state.get(PINS) or () if one in optional)


def toggle_pin(block_id: str) -> None:
    """Pin a block, or unpin it; a callback."""
    pins = list(st.session_state.get(PINS) or ())
    if block_id in pins:
        pins.remove(block_id)
    else:
        pins.append(block_id)
    st.session_state[PINS] = tuple(pins) or None


def _follow() -> None:
    st.session_state[BUDGET] = st.session_state[SLIDER]


def _pin() -> None:
    st.session_state[PINS] = tuple(st.session_state[PINNED]) or None

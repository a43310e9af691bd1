"""The panels of the Compile page: waterfall, sources, what binds, and the three panes."""

from __future__ import annotations

import streamlit as st

from playground.app import markup
from playground.app.components import PANE_HEIGHT, Shown, block_cards, manifest_table, rendered_xml
from playground.app.controls import Settings, apply_controls
from playground.app.navigation import page_named
from playground.app.projects import first_sample
from playground.app.services import Compiled
from playground.app.sidebar import open_project
from playground.app.state import pick, picks, selected
from playground.charts import sources as sources_chart
from playground.charts import waterfall as waterfall_chart
from playground.views.binding import BindingView
from playground.views.request import request_view
from playground.views.sources import SourcesView
from playground.views.waterfall import WaterfallView
from playground.workspace import Project

__all__ = ["binding_panel", "empty_panel", "is_empty", "panes", "sources_panel", "waterfall_panel"]

LEGEND = (
    '<i><u class="cp-glyph cp-glyph-demand"></u>demand</i>'
    '<i><u class="cp-glyph cp-glyph-granted"></u>granted</i>'
    '<i><u class="cp-glyph cp-glyph-used"></u>used</i>'
    '<i><u class="cp-glyph cp-glyph-moved"></u>used, reallocated</i>'
)
SHAPES = ("XML", "Anthropic", "OpenAI")
SHOWN: dict[str, Shown] = {"All": "all", "Selected": "selected", "Excluded": "excluded"}
TABS = ("Selected blocks", "Rendered XML", "Manifest")


def is_empty(project: Project) -> bool:
    """Whether a project has nothing that could get into a call."""
    parts = (project.chunks, project.memories, project.chats, project.skills)
    return not any(parts) and project.working_memory is None


def empty_panel() -> None:
    """Offer a sample where there is nothing to compile."""
    with st.container(key="empty", horizontal_alignment="center"):
        markup.empty(
            "Nothing to compile yet", "Add documents or memories on the Data page, or start with a sample."
        )
        st.button(
            f"Open {first_sample()}",
            key="open_sample",
            type="primary",
            on_click=open_project,
            args=(first_sample(),),
        )


def waterfall_panel(view: WaterfallView) -> None:
    """Show how the window shrinks to the budget and the budget to the pool."""
    with st.container(key="panel_waterfall"):
        for column, panel, key in zip(
            st.columns(2, gap="medium"), (view.window, view.pool), ("window", "pool"), strict=True
        ):
            with column:
                markup.head(panel.title, f"{panel.caption}, in tokens")
                st.vega_lite_chart(
                    waterfall_chart.rows(panel),
                    waterfall_chart.spec(),
                    key=f"chart_{key}",
                    # A name that changes would draw the chart anew; each bar says its own number.
                    alt=f"{panel.title}: {panel.caption}, in tokens",
                )


def sources_panel(view: SourcesView) -> None:
    """Show demand, granted and used tokens by kind; a click on a segment marks its record."""
    with st.container(key="panel_sources", height="stretch"):
        markup.head("Sources", "tokens by kind", LEGEND)
        st.vega_lite_chart(
            sources_chart.rows(view, selected=selected(), nonce=picks()),
            sources_chart.spec(),
            key="chart_sources",
            on_select=_pick_segment,
            selection_mode=sources_chart.SELECTION,
            alt="Tokens wanted, granted and used by each kind of source; a click on a segment marks its record",
        )
        if view.rest:
            markup.caption(view.rest)


def binding_panel(view: BindingView) -> None:
    """Show what binds, what would relax it, and a button for the first of these."""
    with st.container(key="panel_binding", height="stretch"):
        markup.head(view.title)
        markup.prose(view.sentence)
        markup.knob_table(view)
        if view.action is not None:
            st.button(
                view.action.label,
                key="apply_change",
                on_click=apply_controls,
                args=(view.action.positions,),
            )
            if view.action.note:
                markup.caption(view.action.note)


def panes(now: Compiled, settings: Settings) -> None:
    """Show cards, XML and manifest side by side; on narrow pages one of them."""
    with st.container(key="panes", gap="small"):
        shown = st.segmented_control(
            "Pane", TABS, default=TABS[0], key="pane_tabs", required=True, label_visibility="collapsed"
        )
        # The server cannot know the width: the narrow layout is CSS that shows the chosen column alone.
        st.html(
            "<style>@media (max-width: 1240px) {"
            f".st-key-pane_columns [data-testid=stColumn]:not(:nth-child({TABS.index(shown) + 1}))"
            "{ display: none; } }</style>"
        )
        with st.container(key="pane_columns"):
            cards, xml, manifest = st.columns(3, gap="small")
        with cards:
            _cards(now)
        with xml:
            _xml(now, settings)
        with manifest:
            _manifest(now)


def _cards(now: Compiled) -> None:
    with st.container(key="pane_head_cards", horizontal=True, vertical_alignment="center"):
        markup.head("Selected blocks", now.cards.total)
    block_cards(now.cards, manifest=now.manifest, selected=selected(), on_pick=pick)
    if now.cards.excluded_total:
        st.page_link(page_named("explain"), label="Explain what is left out")


def _xml(now: Compiled, settings: Settings) -> None:
    with st.container(key="pane_head_xml", horizontal=True, vertical_alignment="center"):
        heading = st.empty()
        shape = st.segmented_control(
            "Shape", SHAPES, default=SHAPES[0], key="shape", required=True, label_visibility="collapsed"
        )
    if shape == "XML":
        with heading:
            markup.head("Rendered XML", now.xml.total)
        rendered_xml(now.xml, manifest=now.manifest, selected=selected(), on_pick=pick)
        return
    request = request_view(
        "anthropic" if shape == "Anthropic" else "openai",
        now.messages,
        now.package,
        model_id=settings.model.model_id,
        max_tokens=settings.model.max_output_tokens,
        tools=settings.project.tools,
    )
    with heading:
        markup.head("Raw request", request.total)
    with st.container(key="raw_request"):
        st.code(request.body, language="json", wrap_lines=True, height=PANE_HEIGHT)


def _manifest(now: Compiled) -> None:
    with st.container(key="pane_head_manifest", horizontal=True, vertical_alignment="center"):
        heading = st.empty()
        show = SHOWN[
            st.segmented_control(
                "Show",
                list(SHOWN),
                default="All",
                key="manifest_show",
                required=True,
                label_visibility="collapsed",
            )
        ]
    with heading:
        markup.head("Manifest", now.manifest.totals[show])
    manifest_table(now.manifest, selected=selected(), on_pick=pick, show=show)


def _pick_segment() -> None:
    points = st.session_state["chart_sources"].selection.get(sources_chart.SELECTION) or []
    if points and points[0].get("key"):
        pick(str(points[0]["key"]))

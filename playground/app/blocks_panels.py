"""The panels of the Blocks page: what came of the table, what each compiler keeps, and one block in full."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import streamlit as st

from playground.app import blocks_markup, explain_markup, markup
from playground.app.blocks_controls import choose_material, toggle_pin
from playground.app.components import PANE_HEIGHT, record_table
from playground.app.controls import apply_control
from playground.blocks.compile import CompiledBlocks
from playground.blocks.side_by_side import SideBySide
from playground.charts import blocks as blocks_chart
from playground.views.blocks import BUDGET, blocks_view, context_overflow_action
from playground.views.blocks_comparison import (
    SHOWN,
    ComparedBlock,
    comparison_sentence,
    comparison_table,
    compiler_totals,
)
from playground.views.blocks_detail import BlockDetail
from playground.views.blocks_messages import messages_text
from playground.views.words import plural

__all__ = [
    "comparison_panel",
    "compilers_panel",
    "detail_panel",
    "messages_panel",
    "no_compile_panel",
    "result_panel",
]

WIDTHS = {
    "Block": 148,
    "Kind": 84,
    "Priority": 52,
    "Tokens": 48,
    "Tagged": 50,
    "Block compiler": 92,
    "Context compiler": 100,
}  # px
MESSAGES = "blocks_messages"
MESSAGES_HEIGHT = 400  # px
GONE = '{"gone":"What this was made of has changed or was forgotten. Open the page again."}'
LEGEND = (
    '<i><u class="cp-glyph cp-glyph-included"></u>included, in the kind\'s colour</i>'
    '<i><u class="cp-glyph cp-glyph-omitted"></u>omitted</i>'
    '<i><u class="cp-glyph cp-glyph-forced"></u>required and pinned, in the bar above</i>'
)


def no_compile_panel(title: str, sentence: str) -> None:
    """Offer the example where the question's compile has no blocks."""
    with st.container(key="empty", horizontal_alignment="center"):
        markup.empty(title, sentence)
        st.button(
            "Show the example",
            key="blocks_show_example",
            type="primary",
            on_click=choose_material,
            args=("example",),
        )


def result_panel(compiled: CompiledBlocks, forced: frozenset[str]) -> None:
    """Show how many blocks got in, what they take of the budget, and both by kind."""
    view = blocks_view(compiled, forced=forced)
    with st.container(key="panel_blocks_result", height="stretch"):
        markup.head(view.head)
        blocks_markup.result_bar(view)
        markup.head("By kind", "tokens", LEGEND)
        with st.container(key="chart_blocks_place"):
            st.vega_lite_chart(
                blocks_chart.rows(view),
                blocks_chart.spec(len(view.rows)),
                key="chart_blocks",
                alt="Tokens of included and omitted blocks by kind",
            )


def compilers_panel(side: SideBySide, compared: Sequence[ComparedBlock]) -> None:
    """Show what each compiler keeps in numbers, and offer what the block compiler made."""
    with st.container(key="panel_blocks_compilers", height="stretch"):
        markup.head("What each compiler keeps", "same blocks, budget and estimator")
        blocks_markup.totals(compiler_totals(side, compared))
        if (action := context_overflow_action(side)) is not None:
            st.button(
                action.label,
                key="blocks_make_room",
                help="The context compiler needs so much for what must be in, tags and all.",
                on_click=apply_control,
                args=(BUDGET, action.value),
            )
        if sentence := comparison_sentence(side, compared):
            markup.prose(sentence)
        markup.caption(
            "The context compiler wraps records in tags and divides the budget among kinds, by the sidebar's "
            "shares. Tagged is what a block costs there. The strip at the top is of the question's own "
            "compile, counted by the sidebar's estimator."
        )
        if isinstance(side.blocks, CompiledBlocks):
            _output(side)


def comparison_panel(
    compared: Sequence[ComparedBlock],
    *,
    marked: str | None,
    on_pick: Callable[[str], None],
    height: int = PANE_HEIGHT,
) -> None:
    """Show every block with what became of it in both compilers; a click marks one."""
    with st.container(key="pane_head_blocks", horizontal=True, vertical_alignment="center"):
        heading = st.empty()
        chosen = st.segmented_control(
            "Show",
            SHOWN,
            default=SHOWN[0],
            key="blocks_show",
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )
    table = comparison_table(compared, chosen)
    hidden = marked is not None and marked not in table.ids
    with heading:
        note = "; the filter hides the marked one" if hidden else ""
        markup.head("Outcomes", f"{table.total}{note}")
    if not table.ids:
        markup.caption("No block passes this filter.")
        return
    numbers = {str(number): block_id for number, block_id in enumerate(table.ids)}

    def picked(key: str) -> None:
        if key in numbers:
            on_pick(numbers[key])

    record_table(
        table.frame,
        keys=list(numbers),
        widths=WIDTHS,
        grows="Block",
        label="Blocks",
        selected=str(table.ids.index(marked)) if marked is not None and not hidden else None,
        on_pick=picked,
        key="blocks_compared",
        slots=table.slots,
        chip="Block compiler",
        height=height,
    )


def detail_panel(view: BlockDetail, block_id: str, *, on_pick: Callable[[str], None]) -> None:
    """Show one block in full, why it is in or out, and the clicks that change that; they mark it as well."""

    def raised(tokens: int) -> None:
        on_pick(block_id)  # it must not give way to the next one that is left out
        apply_control(BUDGET, tokens)

    def toggled() -> None:
        on_pick(block_id)
        toggle_pin(block_id)

    with st.container(key="panel_block"):
        markup.record_head(view.slot, view.title, view.about)
        explain_markup.facts(view.facts)
        markup.prose(view.sentence)
        markup.prose(view.context)
        with st.container(key="block_actions", horizontal=True, gap="small"):
            if view.raise_to is not None:
                st.button(
                    view.raise_label,
                    key="block_raise",
                    on_click=raised,
                    args=(view.raise_to,),
                )
            if view.pin:
                st.button(view.pin, key="block_pin", on_click=toggled)
        blocks_markup.detail_text(view)


def messages_panel(compiled: CompiledBlocks) -> None:
    """Show the messages that the result stands for, once somebody asks for them."""
    if not st.session_state.get(MESSAGES):
        return
    with st.container(key="raw_blocks"):
        markup.head("Messages", plural(len(compiled.included), "message"))
        st.code(messages_text(compiled), language=None, wrap_lines=True, height=MESSAGES_HEIGHT)


def _output(side: SideBySide) -> None:
    with st.container(key="blocks_output", horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "Download as JSON",
            _made_on_click(side),
            "blocks.json",
            mime="application/json",
            key="blocks_download",
            on_click="ignore",
        )
        st.toggle("Show messages", key=MESSAGES, persist_state="session")


def _made_on_click(side: SideBySide) -> Callable[[], bytes]:
    """Return what makes the file of a result. It must not keep texts alive that somebody wants forgotten."""
    held = weakref.ref(side)  # the cache holds it

    def made() -> bytes:
        now = held()
        text = now.blocks.to_json() if now and isinstance(now.blocks, CompiledBlocks) else GONE
        return text.encode("utf-8")

    return made

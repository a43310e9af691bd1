"""Where the blocks of the Blocks page come from, and what the session's table made of them.

The table of a compile lies beside the process's other copies of projects' texts, so that forgetting empties
it in every session. The other tables are in session state: their texts are no project's.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from playground.app.blocks_controls import MaterialName
from playground.app.caches import material_cache
from playground.app.controls import Settings
from playground.app.services import Compiled
from playground.app.shell import Current
from playground.app.state import pick, picks, selected
from playground.blocks.package import package_records
from playground.blocks.side_by_side import Origin
from playground.digests import text_digest
from playground.views.blocks_example import EXAMPLE, EXAMPLE_BUDGET
from playground.views.blocks_table import TableRow, rows_of
from playground.views.direction import without_overrides
from playground.views.record_key import record_key
from playground.views.words import shortened

__all__ = ["Draft", "Material", "Rows", "chosen_material", "keep_own", "marked_block", "rows_digest"]

Rows = tuple[TableRow, ...]
Draft = dict[str, Any]
"""The editor's input ``given``, edited ``rows``, the last ``good`` ones, and how often it was ``mounted``."""
OWNER: Final = "blocks_owner"
"""Session state: whose tables of compiles are this session's."""
OWN: Final = "blocks_own"
"""Session state: the table of one's own blocks, and the budget that came with them."""
EXAMPLE_DRAFT: Final = "blocks_example"
"""Session state: the table of the example."""
MARKED: Final = "blocks_marked"
"""Session state: a block that is no record of the compile, and how often something was picked before it."""
OWN_BUDGET: Final = 2_000  # tokens, until a budget comes with the blocks
NAME_LENGTH: Final = 16  # hexadecimal digits
TITLE_LENGTH: Final = 160  # code points of an id that stands in for a title


@dataclass(frozen=True, slots=True)
class Material:
    """What the table starts from, and what is known of it."""

    name: str
    """Tells the table's state apart from others'."""
    rows: Rows
    draft: Draft
    budget: int
    """The budget until one is chosen, in tokens."""
    titles: Mapping[str, str]
    """Of blocks that are records of the compile."""
    keys: Mapping[str, str]
    """The same blocks' keys, by which they are marked on every page."""
    origin: Origin | None = None
    origin_key: str = ""
    """What the origin follows from."""

    def title(self, block_id: str) -> str:
        """Return what people call a block."""
        known = self.titles.get(block_id)
        return known if known is not None else shortened(without_overrides(block_id), TITLE_LENGTH)

    def picker(self) -> Callable[[str], None]:
        """Return what marks a block, everywhere if it is a record of the compile; a callback.

        It holds ids alone: a callback is remembered while other pages are shown, and must keep no text alive.
        """
        keys = self.keys

        def picked(block_id: str) -> None:
            pick(keys.get(block_id, selected() or ""))
            st.session_state[MARKED] = None if block_id in keys else (block_id, picks())

        return picked


def chosen_material(name: MaterialName, now: Current) -> Material | None:
    """Return the chosen material; ``None`` where there is no compile to take it from."""
    if name == "example":
        rows = rows_of(EXAMPLE)
        draft = st.session_state.setdefault(EXAMPLE_DRAFT, _draft(rows))
        return Material(name, rows, draft, EXAMPLE_BUDGET, {}, {})
    if name == "own":
        own = st.session_state.setdefault(
            OWN, {"number": 0, "rows": (), "draft": _draft(()), "budget": OWN_BUDGET}
        )
        return Material(f"own_{own['number']}", own["rows"], own["draft"], own["budget"], {}, {})
    if now.compiled is None or now.settings is None:
        return None
    return _of_compile(now.compiled, now.settings)


def keep_own(rows: Sequence[TableRow], budget: int | None) -> None:
    """Make these the session's own blocks, in place of earlier ones."""
    number = st.session_state.get(OWN, {"number": 0})["number"] + 1
    rows = tuple(rows)
    st.session_state[OWN] = {
        "number": number, "rows": rows, "draft": _draft(rows), "budget": budget or OWN_BUDGET
    }  # fmt: skip


def marked_block(material: Material, ids: Sequence[str]) -> str | None:
    """Return the id of the block that is marked, if any of these is."""
    own = st.session_state.get(MARKED)
    if own is not None and own[1] == picks() and own[0] in ids:
        return str(own[0])
    key = selected()
    return next((block_id for block_id in ids if key and material.keys.get(block_id) == key), None)


def rows_digest(rows: Sequence[TableRow]) -> str:
    """Return what rows are told apart by."""
    return text_digest(json.dumps(rows, separators=(",", ":")))


def _of_compile(found: Compiled, settings: Settings) -> Material:
    model = settings.model
    key = (
        found.retrieval.number, model.provider, model.model_id, model.context_window, model.max_output_tokens,
        settings.estimator, *settings.positions.items(),
    )  # fmt: skip
    rows, name, titles, keys, origin = _taken(repr(key), found, settings)
    owner = st.session_state.setdefault(OWNER, uuid.uuid4().hex)
    return Material(
        name=name,
        rows=rows,
        draft=_compile_draft(owner, name, rows),
        budget=max(1, found.package.manifest.budget.context_tokens),
        titles=titles,
        keys=keys,
        origin=origin,
        origin_key=repr(key),
    )


@material_cache(8)
def _taken(
    key: str,  # noqa: ARG001  # what the rest follows from
    _found: Compiled,
    _settings: Settings,
) -> tuple[Rows, str, dict[str, str], dict[str, str], Origin]:
    origin = Origin(_found.package, _found.retrieval.results, _settings.project.working_memory)
    records = package_records(origin.package, results=origin.results, working_memory=origin.working_memory)
    rows = rows_of(record.block for record in records.values())
    pairs = {block_id: (record.source, record.record_id) for block_id, record in records.items()}
    # An id goes through the table, which cannot hold half a character.
    shown = dict(zip(records, (str(row["id"]) for row in rows), strict=True))
    titles = {shown[block_id]: _found.retrieval.texts[pair].title for block_id, pair in pairs.items()}
    keys = {shown[block_id]: record_key(*pair) for block_id, pair in pairs.items()}
    return rows, rows_digest(rows)[-NAME_LENGTH:], titles, keys, origin


@material_cache(32)
def _compile_draft(
    owner: str,  # noqa: ARG001  # part of the key
    name: str,  # noqa: ARG001  # the same
    _rows: Rows,
) -> Draft:
    return _draft(_rows)


def _draft(rows: Rows) -> Draft:
    return {"given": rows, "rows": rows, "good": None, "mounted": 0}

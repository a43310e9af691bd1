"""Sessions: what of a context is kept, as a value and as JSON text, and how it comes back.

What is saved is copied before anything is awaited, so that no later change gets into it. The current input,
revisions and diagnostics are not kept.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from playground.errors import InvalidInputError, InvalidRequestError, StoreError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item, read_item
from playground.preparation.plain_json import plain_json
from playground.preparation.ports import ContextPlugin, ContextStorage
from playground.preparation.stored_session import SessionState, StoredSession, checked_session_id
from playground.values import of_type, shown

__all__ = [
    "SessionState",
    "StoredSession",
    "load_session",
    "new_session_id",
    "required_storage",
    "restore_plugins",
    "restored_items",
    "save_session",
    "session_state",
]


def session_state(
    items: Iterable[Item],
    plugins: Iterable[ContextPlugin],
    *,
    system_prompt: str | None,
    saved_at: int,
    model: str,
    agent_id: str | None = None,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    agent_state: Any = None,
) -> SessionState:
    """Copy what is to be saved; call it before the first await of a save. O(its size).

    Args:
        items: The history.
        plugins: Whose states are kept; one that has none, ``{}`` or None, is left out.
        system_prompt: As it was set.
        saved_at: The time in ms.
        model: The context's own model.
        agent_id: Whose context it is.
        user_id: For whom it works.
        metadata: What the host adds; its names win over those here.
        agent_state: What an agent keeps beside it.

    Raises:
        InvalidInputError: When something has no JSON form; names the item or the plugin.
    """
    own = {"savedAt": _iso(saved_at), "agentId": agent_id, "userId": user_id, "model": model}
    states = {plugin.name: plugin.get_state() for plugin in plugins}
    return SessionState(
        conversation=tuple(
            [plain_json(item.data, f"Item {place} of the conversation") for place, item in enumerate(items)]
        ),
        plugin_states={
            name: plain_json(state, f"The state of the plugin {shown(name)}")
            for name, state in states.items()
            if state is not None and state != {}
        },
        system_prompt=system_prompt,
        metadata=plain_json({**own, **_fields(metadata)}, "The session's metadata"),
        agent_state=plain_json(agent_state, "The agent's state"),
    )


async def save_session(
    storage: ContextStorage, session_id: str, state: SessionState, *, saved_at: int
) -> StoredSession:
    """Write a session; it is on disk when this returns. One that is there already keeps its ``createdAt``.

    Args:
        storage: Where to.
        session_id: Its id.
        state: Made by ``session_state`` before anything was awaited.
        saved_at: The time in ms.

    Raises:
        InvalidInputError: When the id is none.
        StoreError: When the storage fails, or what is there is damaged or of another version; nothing is
            written over it then.
    """
    checked_session_id(session_id)
    before = await load_session(storage, session_id)
    now = _iso(saved_at)
    session = StoredSession(
        session_id=session_id,
        created_at=now if before is None else before.created_at,
        last_saved_at=now,
        state=state,
        metadata={} if before is None else before.metadata,
    )
    await storage.save(session_id, session.to_json())
    return session


async def load_session(storage: ContextStorage, session_id: str) -> StoredSession | None:
    """Return a session, None where there is none.

    Raises:
        InvalidInputError: When the id is none.
        StoreError: When the storage fails, or the session is damaged or of another version.
    """
    checked_session_id(session_id)
    text = await storage.load(session_id)
    if text is None:
        return None
    try:
        return StoredSession.from_json(text)
    except InvalidInputError as error:
        raise StoreError(
            f"The session {shown(session_id)} cannot be read: {error.problem.rstrip('.')}.",
            remedy="Go back to a copy, or delete it.",
            store=session_id,
        ) from error


def restored_items(session: StoredSession, estimator: PreparationEstimator) -> tuple[Item, ...]:
    """Return a session's history, counted anew.

    Raises:
        StoreError: When an item is malformed; names it.
    """
    items: list[Item] = []
    for place, data in enumerate(session.state.conversation):
        try:
            items.append(read_item(data, estimator))
        except InvalidInputError as error:
            raise StoreError(
                f"Item {place} of the session {shown(session.session_id)} is damaged: {error.problem}",
                remedy="Go back to a copy, or delete the session.",
                store=session.session_id,
            ) from error
    return tuple(items)


def restore_plugins(session: StoredSession, plugins: Iterable[ContextPlugin]) -> None:
    """Give each plugin its state; states of plugins that are not there are ignored.

    A plugin that refuses its state leaves every plugin as it was: those before it get their own state back.

    Raises:
        Exception: Whatever a plugin raises.
    """
    done: list[tuple[ContextPlugin, Any]] = []
    for plugin in plugins:
        if plugin.name not in session.state.plugin_states:
            continue
        before = plugin.get_state()
        try:
            plugin.restore_state(plain_json(session.state.plugin_states[plugin.name], "A state"))
        except BaseException:
            for restored, state in [*done, (plugin, before)]:
                restored.restore_state(state)
            raise
        done.append((plugin, before))


def required_storage(storage: ContextStorage | None) -> ContextStorage:
    """Return the storage.

    Raises:
        InvalidRequestError: When there is none.
    """
    if storage is None:
        raise InvalidRequestError(
            "No storage is configured.", remedy="Pass a storage to the context before saving or loading."
        )
    return storage


def new_session_id() -> str:
    """Return an id that no other session has."""
    return f"session_{uuid.uuid4().hex}"


def _fields(metadata: object) -> Mapping[str, Any]:
    if metadata is None:
        return {}
    return of_type(metadata, Mapping, "The session's metadata")  # type: ignore[type-abstract]


def _iso(ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"The clock says {shown(ms)}.", remedy="Return milliseconds since 1970."
        ) from error
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

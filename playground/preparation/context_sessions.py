"""Saving a context and taking it up again: the third part of ``AgentContext``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.preparation.context_state import ContextState
from playground.preparation.journal import last_turn, read_journal
from playground.preparation.sessions import (
    load_session,
    new_session_id,
    required_storage,
    restore_plugins,
    restored_items,
    save_session,
    session_state,
)

__all__ = ["SessionMethods"]


class SessionMethods:
    """Sessions of a context that has a storage. The current input, revisions and diagnostics are not kept."""

    _state: ContextState

    @property
    def session_id(self) -> str | None:
        """The session that was last saved or loaded."""
        return self._state.session_id

    @property
    def agent_state(self) -> Any:
        """What an agent keeps beside the context, as it was last saved or loaded."""
        return self._state.agent_state

    async def save(
        self,
        session_id: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        agent_state: Any = None,
    ) -> str:
        """Write the context as it is now, and then the journal of what came in since the last time.

        Args:
            session_id: Where to; None goes on with the current session, or begins one.
            metadata: What the host adds.
            agent_state: What an agent keeps beside it; None keeps what there is.

        Returns:
            The session's id. The session is durable then; the last writer wins.

        Raises:
            InvalidInputError: When something has no JSON form, or the id is none; nothing was written.
            InvalidRequestError: When no storage is configured, or the context was destroyed.
            StoreError: When the storage fails.
        """
        state = self._state
        state.ensure_alive()
        storage, now = required_storage(state.settings.storage), state.now()
        target = state.session_id or new_session_id() if session_id is None else session_id
        saved = session_state(
            state.conversation.history,
            state.plugins.values(),
            system_prompt=state.system_prompt,
            saved_at=now,
            model=state.model,
            agent_id=state.settings.agent_id,
            user_id=state.settings.user_id,
            metadata=metadata,
            agent_state=state.agent_state if agent_state is None else agent_state,
        )
        await save_session(storage, target, saved, saved_at=now)
        state.session_id, state.agent_state = target, saved.agent_state
        await state.journal.flush(storage, target)
        return target

    async def load(self, session_id: str) -> bool:
        """Become what a session holds; counts as a change of the host's, and forgets diagnostics.

        Returns:
            False, and nothing has changed, where there is no such session.

        Raises:
            InvalidInputError: When the id is none, or a plugin refuses its state; nothing has changed then.
            InvalidRequestError: When no storage is configured, or the context was destroyed.
            StoreError: When the storage fails or the session is damaged; nothing has changed then.
        """
        state = self._state
        state.ensure_alive()
        storage = required_storage(state.settings.storage)
        session = await load_session(storage, session_id)
        if session is None:
            return False
        turn = last_turn(await read_journal(storage, session_id))
        items = restored_items(session, state.estimator)
        state.ensure_alive()
        # Nothing is awaited from here, and what may be refused comes first.
        restore_plugins(session, state.plugins.values())
        state.change(system_prompt=session.state.system_prompt)
        state.take_up(items, turn=turn)
        state.session_id, state.agent_state = session_id, session.state.agent_state
        return True

"""Programs that write sessions and journals, for tests that kill them or run several at once.

``python -m tests.unit.preparation.session_writers save|append PLACE WORKER TURNS``; a line is printed when a
write is acknowledged.
"""

from __future__ import annotations

import asyncio
import sys

from playground.preparation.file_storage import FileContextStorage
from playground.preparation.ports import ContextStorage
from playground.preparation.sql_storage import SqlContextStorage
from playground.preparation.stored_session import SessionState, StoredSession

SIZE = 50_000  # characters of a session, more than is written at once


def storage_at(place: str) -> ContextStorage:
    return FileContextStorage(place) if place.endswith("sessions") else SqlContextStorage(place)


def session_text(mark: str, session_id: str = "s") -> str:
    state = SessionState(conversation=({"type": "note", "mark": mark, "text": mark[:1] * SIZE},))
    return StoredSession(session_id=session_id, created_at="", last_saved_at=mark, state=state).to_json()


async def write(what: str, place: str, worker: str, turns: int) -> None:
    storage = storage_at(place)
    for turn in range(turns):
        mark = f"{worker}/{turn}"
        if what == "save":
            await storage.save("s", session_text(mark))
        else:
            await storage.append_journal("s", [f'"{mark}/{line} {worker * 3_000}"' for line in range(2)])
        print(mark, flush=True)


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))

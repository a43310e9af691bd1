"""The ids that calls and results of imported logs share: paired, told apart, and never used twice.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from playground.errors import InvalidToolProtocolError
from playground.preparation.items import Namespace
from playground.values import shown

__all__ = ["CallIds", "Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an id stands.

    Attributes:
        position: Of its item in the conversation and then the current input, from 0.
        name: Of its message in the log, for people: ``message 3``.
    """

    position: int
    name: str


@dataclass(slots=True)
class _Called:
    namespace: Namespace
    id: str
    answered: bool = False


@dataclass(slots=True)
class CallIds:
    """Names the calls and results of a log in the order in which they come.

    Attributes:
        prefix: Whether each id gets the number of its part before it, ``2_call_7``.
    """

    prefix: bool = False
    _part: int = 0
    _in_part: set[str] = field(default_factory=set)
    _calls: dict[str, list[_Called]] = field(default_factory=dict)  # by the id that stands in the log
    _seen: dict[tuple[str, Namespace, str], Place] = field(default_factory=dict)

    def next_part(self) -> None:
        """Begin another part: ids mean other calls from here on, where they get a prefix."""
        self._part += 1
        self._in_part.clear()

    def begin_message(self, call_ids: Iterable[str]) -> None:
        """Begin another part where a message calls under an id that this part has used."""
        ids = {*call_ids}
        if not ids.isdisjoint(self._in_part):
            self.next_part()
        self._in_part |= ids

    def call(self, namespace: Namespace, given: str, place: Place, *, numbered: bool = False) -> str:
        """Return the id of a call.

        Args:
            namespace: The call's.
            given: The id as it stands in the log.
            place: Where it stands.
            numbered: Whether the log has no ids, and the given one only says what was called.

        Raises:
            InvalidToolProtocolError: When the id is used already.
        """
        calls = self._calls.setdefault(given, [])
        own = f"{given.replace(':', '_')}_{len(calls) + 1}" if numbered else given
        own = f"{self._part}_{own}" if self.prefix else own
        self._take("call", namespace, own, place)
        calls.append(_Called(namespace, own))
        return own

    def result(self, given: str, place: Place) -> tuple[Namespace, str]:
        """Return namespace and id of a result: those of the newest call of that id that waits for one.

        Raises:
            InvalidToolProtocolError: When the call has a result already.
        """
        calls = self._calls.get(given, ())
        found = next((call for call in reversed(calls) if not call.answered), calls[-1] if calls else None)
        if found is None:
            # Nobody called it; preparation leaves it out of a request.
            found = _Called("function", f"{self._part}_{given}" if self.prefix else given)
        self._take("result", found.namespace, found.id, place)
        found.answered = True
        return found.namespace, found.id

    def _take(self, what: str, namespace: Namespace, call_id: str, place: Place) -> None:
        key = (what, namespace, call_id)
        if key not in self._seen:
            self._seen[key] = place
            return
        first = self._seen[key]
        said = (
            f"Two {namespace} calls have the id"
            if what == "call"
            else f"Two results answer the {namespace} call"
        )
        raise InvalidToolProtocolError(
            f"{said} {shown(call_id)}: items {first.position} and {place.position}, "
            f"{first.name} and {place.name} of the log.",
            remedy="Give each call an id of its own; prefix_ids does so for logs that were joined.",
            namespace=namespace,
            call_id=call_id,
            positions=(first.position, place.position),
        )

"""A run's ledger in memory, as far as searches know one."""

from __future__ import annotations

from playground.accounting import ReservationState


class Ledger:
    """Keeps holds and what became of them; refuses what contradicts itself, as a real one does."""

    def __init__(self) -> None:
        self.states: dict[str, ReservationState] = {}
        self.held: dict[str, int] = {}
        self.spent: dict[str, int] = {}
        self.calls: list[str] = []

    def reserve(self, request_id: str, *, tokens: int) -> ReservationState:
        self.calls.append("reserve")
        if request_id not in self.states:
            self.states[request_id], self.held[request_id] = "reserved", tokens
        elif self.held.get(request_id, tokens) != tokens:
            raise RuntimeError("reservation_conflict")
        return self.states[request_id]

    def settle(self, request_id: str, *, tokens: int) -> None:
        self.calls.append("settle")
        if self.states[request_id] == "reserved":
            self.states[request_id] = "settled"
            self.spent[request_id] = tokens

    def mark_unknown(self, request_id: str) -> None:
        self.calls.append("mark_unknown")
        if self.states[request_id] == "reserved":
            self.states[request_id] = "unknown"

    def release(self, request_id: str) -> None:
        raise AssertionError("nothing that was sent to an embedder may be released")

    @property
    def committed(self) -> int:
        """Tokens spent, and held without an end."""
        return sum(self.spent.values()) + sum(
            tokens for name, tokens in self.held.items() if self.states[name] != "settled"
        )

"""Four blocks to start with: a rule that is required, a goal, a recent message and a memory."""

from __future__ import annotations

from playground.blocks.compile import ContextBlock

__all__ = ["EXAMPLE", "EXAMPLE_BUDGET"]

EXAMPLE_BUDGET = 250  # tokens by the approximate estimator; the memory is too large for what the others leave
EXAMPLE = (
    ContextBlock(
        "rule:refunds",
        "constitution",
        "host",
        "system",
        "Never promise a refund. Say that a colleague decides within two working days, and that the "
        "customer will get a mail either way. Offer the spare part first where the shop still has it. "
        "Do not ask for the number of the order twice, and do not name another customer.",
        100.0,
        True,
        "rule of the shop",
    ),
    ContextBlock(
        "goal",
        "goal",
        "caller",
        "user",
        "Find out why order 7312 came without its charger, what the customer wants to be done about "
        "it, and whether the stock in Graz can send one so that it arrives before Friday. Write the "
        "answer in one paragraph.",
        90.0,
        False,
        "what the answer is for",
    ),
    ContextBlock(
        "turn:last",
        "recent",
        "chat",
        "user",
        "The parcel came this morning. The box was sealed and the camera is fine, but there is no "
        "charger in it, only the cable. I looked through all of the paper twice. I leave on Friday at "
        "noon and cannot charge it on the way, so a charger that comes next week is of no use to me. "
        "If you cannot send one in time I would rather buy one here and have you pay for that. Please "
        "tell me today which of the two it will be.",
        60.0,
        False,
        "last message",
    ),
    ContextBlock(
        "memory:calls",
        "memory",
        "memory store",
        "user",
        "Wants to be called in the afternoon, never before one o'clock, and on the mobile number "
        "alone. Was promised a call in March that never came, and has said twice since that a mail is "
        "better than a call which is late. Speaks German and English.",
        40.0,
        False,
        "how to reach the customer",
    ),
)

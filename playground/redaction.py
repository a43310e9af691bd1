"""Making error messages fit to be recorded: short, and without credentials. Pure."""

from __future__ import annotations

import re

__all__ = ["MESSAGE_LENGTH", "redact"]

MESSAGE_LENGTH = 200  # code points of an error's message that a record keeps
SEARCHED_LENGTH = 20_000  # code points searched for credentials; far more than can be shown
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Credentials in their usual shapes: labelled values, bearer tokens, vendor-prefixed keys, passwords in URLs.
_SECRETS = re.compile(
    r"""(?ix)
    (?:api[-_ ]?key|secret|token|passw(?:or)?d|authorization)\b["']?\s*[:=]\s*["']?(?:bearer\s+)?[^\s"',;]+
    | \bbearer\s+[a-z0-9._~+/=-]{8,}
    | \b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat|akia)[-_]?[a-z0-9_-]{12,}
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)
    | \beyJ[\w-]{8,}\.[\w-]+\.?[\w-]*
    """
)


def redact(text: str) -> str:
    """Return ``text`` with credentials replaced, cut to ``MESSAGE_LENGTH`` code points."""
    clean = _SECRETS.sub("[redacted]", text[:SEARCHED_LENGTH])
    clean = _LONE_SURROGATE.sub("\ufffd", clean)
    return clean if len(clean) <= MESSAGE_LENGTH else clean[: MESSAGE_LENGTH - 1] + "…"

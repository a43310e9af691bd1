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
    # a header's or a cookie's whole value
    \b(?:proxy-)?authorization\b["']?\s*[:=].* | \b(?:set-)?cookie\b["']?\s*[:=].*
    # a labelled value: api_key=…, AWS_SECRET_ACCESS_KEY: "…", pwd=…
    | [\w-]{0,40}(?:(?:api|access|private)[-_ ]?key|secret|token|passw(?:or)?d|passphrase|pwd)[\w-]{0,40}["']?
      \s*[:=]\s*(?:"[^"]*"|'[^']*'|(?:bearer\s+)?[^\s"',;]+)
    | \bbearer\s+[a-z0-9._~+/=-]{8,}
    # vendors' prefixes, JSON web tokens
    | \b(?:[spr]k[-_]|gh[opsur]_|github_pat_|xox[abeprs]-|glpat-|akia|asia|aiza|hf_|npm_)[a-z0-9_-]{12,}
    | \beyJ[\w-]{8,}\.[\w-]+\.?[\w-]*
    # user and password of a URL; the password may hold an @
    | (?<=://)[^/\s]*:[^/\s]*(?=@)
    """
)


def redact(text: str) -> str:
    """Return ``text`` with credentials replaced, cut to ``MESSAGE_LENGTH`` code points."""
    clean = _SECRETS.sub("[redacted]", text[:SEARCHED_LENGTH])
    clean = _LONE_SURROGATE.sub("\ufffd", clean)
    return clean if len(clean) <= MESSAGE_LENGTH else clean[: MESSAGE_LENGTH - 1] + "…"

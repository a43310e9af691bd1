"""Making any Unicode text safe inside the rendered blocks.

Pure functions. A block must parse as XML whatever a record holds, and nothing in a record may close it: the
three markup characters become entities, and what XML 1.0 cannot carry becomes U+FFFD.

References:
    XML 1.0 (fifth edition), productions [2] Char and [10] AttValue, and 2.11 on line ends.
"""

from __future__ import annotations

import re

__all__ = ["escape_attribute", "escape_text", "one_line", "replace_forbidden", "replace_surrogates"]

REPLACEMENT = "\ufffd"
# Everything outside XML's Char production: C0 controls except tab, LF and CR, surrogates, U+FFFE and U+FFFF.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# Every character that some reader takes for the end of a line (Unicode 5.8 and str.splitlines).
_LINE_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def replace_forbidden(text: str) -> str:
    """Replace each character that XML does not allow by U+FFFD; the length in code points stays the same."""
    if text.isascii() and text.isprintable():
        return text
    return _FORBIDDEN.sub(REPLACEMENT, text)


def replace_surrogates(text: str) -> str:
    """Replace each half of a character by U+FFFD: what is left has a UTF-8 form and the same length."""
    return text if text.isascii() else _SURROGATES.sub(REPLACEMENT, text)


def escape_text(text: str) -> str:
    """Escape for element content. A parser gives back ``replace_forbidden(text)`` exactly."""
    clean = replace_forbidden(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace("\r", "&#13;")


def escape_attribute(text: str) -> str:
    """Escape for an attribute value in double quotes. Tab, LF and CR survive as numeric references."""
    return escape_text(text).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")


def one_line(text: str) -> str:
    """Turn every line break into one space, so that listed text cannot begin a line of its own."""
    return _LINE_BREAKS.sub(" ", text)

"""Digests of texts: how a text is recognised where the text itself must not stand."""

from __future__ import annotations

import hashlib

__all__ = ["text_digest"]


def text_digest(text: str) -> str:
    """Return ``sha256:<hex>`` of the UTF-8 text; lone surrogates are encoded as they are."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

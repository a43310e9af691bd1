"""One string per record, for everything that selects a record: charts, cards, XML, manifest rows.

A key is opaque to a page (safe in HTML attributes, query strings and selections) and reversible here.
Deterministic: it depends on source and record id alone.
"""

from __future__ import annotations

import base64
import binascii
import json

from playground.errors import InvalidInputError

__all__ = ["record_key", "split_key"]


def record_key(source: str, record_id: str) -> str:
    """Return the key of one record: unpadded URL-safe base64 of ``[source, record_id]`` as ASCII JSON.

    Any Unicode text is allowed in both, lone surrogates too; different pairs give different keys.
    """
    text = json.dumps([source, record_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def split_key(key: str) -> tuple[str, str]:
    """Return source and record id of a key; the inverse of ``record_key``.

    Raises:
        InvalidInputError: When the text is no key.
    """
    try:
        raw = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
        source, record_id = json.loads(raw.decode("ascii"))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        source = record_id = None
    if not isinstance(source, str) or not isinstance(record_id, str) or record_key(source, record_id) != key:
        raise InvalidInputError("This is not a record key.", remedy="Pass what record_key returned.")
    return source, record_id

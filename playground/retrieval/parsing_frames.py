"""Frames between a process and the one that parses for it: eight bytes of length, then the body."""

from __future__ import annotations

import struct
from typing import IO

__all__ = ["read_frame", "write_frame"]

FRAME_LIMIT = 4 * 1024**3  # bytes; a length above it is no length but noise
_LENGTH = struct.Struct(">Q")


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next frame, ``None`` when the stream ends before it is complete or holds none."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    body = stream.read(size) if size <= FRAME_LIMIT else b""
    return body if len(body) == size else None


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """Write one frame."""
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()

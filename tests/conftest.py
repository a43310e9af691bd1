"""What every test runs under: no network but loopback, a fixed environment, repeatable Hypothesis runs.

``HYPOTHESIS_PROFILE=explore`` draws new examples, and many more; the default draws the same ones each time.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TZ="UTC", NO_COLOR="1")

_SLOW_DRAWS = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.register_profile("explore", deadline=None, suppress_health_check=_SLOW_DRAWS, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: from the first one on, Playwright keeps an event loop running in this thread."""
    browser = Path(__file__).parent / "browser"
    items.sort(key=lambda item: browser in item.path.parents)


class BlockedNetworkError(OSError):
    """A test tried to reach another host; as an ``OSError`` it looks to the code like a missing network."""


_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_sendto = socket.socket.sendto
_getaddrinfo = socket.getaddrinfo


def _is_loopback(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in {None, "", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback or str(name) in {"0.0.0.0", "::"}
    except ValueError:
        return False


def _check(address: Any) -> None:
    if isinstance(address, tuple) and not _is_loopback(address[0]):
        raise BlockedNetworkError(f"tests reach loopback only, not {address[0]!r}")


def _guarded_connect(self: socket.socket, address: Any) -> None:
    _check(address)
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> int:
    _check(address)
    return _connect_ex(self, address)


def _guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
    _check(rest[-1])
    return _sendto(self, data, *rest)


def _guarded_getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
    _check((host,))
    return _getaddrinfo(host, *rest, **named)


# Patched once per process and never undone, so that threads and plugins are held to it as well.
for _name, _guard in (
    ("connect", _guarded_connect),
    ("connect_ex", _guarded_connect_ex),
    ("sendto", _guarded_sendto),
):
    setattr(socket.socket, _name, _guard)
socket.getaddrinfo = _guarded_getaddrinfo

"""What every test runs under: no network but loopback, a fixed environment, repeatable Hypothesis runs.

``HYPOTHESIS_PROFILE=explore`` draws new examples, and many more; the default draws the same ones each time.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TZ="UTC", NO_COLOR="1")

_SLOW_DRAWS = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.register_profile("explore", deadline=None, suppress_health_check=_SLOW_DRAWS, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


BROWSER = "tests/browser"
WORKERS = 2  # as many cores as the documented time of a run is for; each worker loads the embedding model


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's own projects out of all tests, those in other processes too."""
    with pytest.MonkeyPatch.context() as patched:
        home = tmp_path_factory.mktemp("data_home")
        patched.setenv("XDG_DATA_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server with pgvector, started by the first test that asks for it."""
    from tests.postgres import running_server

    with running_server() as server:
        yield server


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run all tests on two cores; a selection, a bench and a debugger have one process to themselves."""
    option = config.option
    selected = config.args_source is pytest.Config.ArgsSource.ARGS or option.keyword or option.collectonly
    if "PYTEST_XDIST_WORKER" in os.environ or selected or option.usepdb or "not bench" not in option.markexpr:
        return  # a worker runs this hook too
    if getattr(option, "numprocesses", 0) is None and (os.cpu_count() or 1) >= WORKERS:
        option.numprocesses = WORKERS
        option.loadscopereorder = False
        # Each worker has a core; threads of the model that wait for one another there take it from the other.
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one worker, for their fixtures, and those with a browser, for the browser."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _work_unit
    return scheduler


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last, when they need not share the cores: a page that gets none misses its time."""
    items.sort(key=lambda item: item.nodeid.startswith(f"{BROWSER}/"))


def _work_unit(nodeid: str) -> str:
    return BROWSER if nodeid.startswith(f"{BROWSER}/") else nodeid.partition("::")[0]


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

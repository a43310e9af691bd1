"""The guard in ``tests/conftest.py`` really holds the tests to loopback."""

from __future__ import annotations

import os
import socket

import pytest


def test_no_test_can_connect_to_another_host() -> None:
    with socket.socket() as client, pytest.raises(OSError, match="loopback only"):
        client.connect(("192.0.2.1", 80))
    with socket.socket() as client, pytest.raises(OSError, match="loopback only"):
        client.connect_ex(("192.0.2.1", 80))


def test_no_test_can_send_a_datagram_to_another_host_or_resolve_its_name() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(OSError, match="loopback only"):
        client.sendto(b"x", ("192.0.2.1", 53))
    with pytest.raises(OSError, match="loopback only"):
        socket.create_connection(("host.invalid", 80))


def test_loopback_stays_open_to_tests() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"ok")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(2) == b"ok"


def test_models_are_never_fetched_from_a_hub() -> None:
    assert os.environ["HF_HUB_OFFLINE"] == "1"

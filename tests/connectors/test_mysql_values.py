"""Values of MariaDB: a snapshot and the binlog give the same, of every type, at its edges."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.base import TableColumn
from bergsql.engine.connectors.mysql.binlog import Binlog
from bergsql.engine.connectors.mysql.events import Change
from bergsql.engine.connectors.mysql.position import Position
from bergsql.engine.connectors.mysql.shape import COLUMNS_SQL, KEY_SQL, TableShape, shape_of
from bergsql.engine.connectors.mysql.values import Columns, texts_only
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import CreateTable
from bergsql.engine.sql.types import DataType
from tests.support.mysql_types import CASES, Case
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

DATABASE = "mysql_values"


def declared(text: str) -> DataType:
    made = parse(f"CREATE TABLE t (v {text}) WITH ('connector'='print')", Flavour.FLINK)
    assert isinstance(made, CreateTable)
    return made.columns[0].type


def shape(mariadb: MariaDB, table: str) -> TableShape:
    with mariadb.connect() as connection, connection.cursor() as cursor:
        cursor.execute(COLUMNS_SQL, (DATABASE, table))
        columns = cursor.fetchall()
        cursor.execute(KEY_SQL, (DATABASE, table))
        return shape_of(DATABASE, table, columns, cursor.fetchall())


def position(mariadb: MariaDB) -> Position:
    file, pos, *_ = mariadb.run("SHOW MASTER STATUS")[0]
    return Position(str(file), int(pos))


def settings(mariadb: MariaDB) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": mariadb.port, "user": USER, "password": PASSWORD, "charset": "utf8mb4"}


def followed(mariadb: MariaDB, start: Position, table: str, **more: Any) -> Binlog:
    def translate(error: Exception) -> BergError:
        return BergError(ErrorCode.CONNECTION, str(error))

    return Binlog(
        settings(mariadb),
        start,
        lambda schema, name: (schema, name) == (DATABASE, table),
        server_id=4_000_000,
        is_mariadb=True,
        translate=translate,
        **more,
    )


def changes(binlog: Binlog, rows: int) -> list[Change]:
    found: list[Change] = []
    deadline = time.monotonic() + 30
    while sum(c.rows for c in found) < rows:
        assert time.monotonic() < deadline, found
        found += [e for e in binlog.read(1000, 0.1) if isinstance(e, Change)]
    return found


def texts(columns: Columns, table: Any) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("r", table)
        items = ", ".join(f"CAST(c{n} AS VARCHAR)" for n in range(len(columns.names)))
        return connection.execute(f"SELECT {items} FROM (SELECT {', '.join(columns.items())} FROM r)").fetchall()


@pytest.fixture(scope="module")
def database(mariadb: MariaDB) -> MariaDB:
    mariadb.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    return mariadb


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.type} as {case.declared}")
def test_a_snapshot_and_the_binlog_give_the_same(database: MariaDB, case: Case) -> None:
    database.run(f"DROP TABLE IF EXISTS {DATABASE}.v", f"CREATE TABLE {DATABASE}.v (id INT PRIMARY KEY, v {case.type})")
    start = position(database)
    with (
        database.connect(init_command="SET sql_mode = '', time_zone = '+00:00'") as connection,
        connection.cursor() as cursor,
    ):
        for n, value in enumerate(case.values):
            cursor.execute(f"INSERT INTO {DATABASE}.v VALUES ({n}, {value})")
    columns = Columns("t", shape(database, "v"), [TableColumn("v", declared(case.declared))], zone="Europe/Berlin")
    with (
        database.connect(conv=texts_only(), init_command="SET time_zone = '+00:00'") as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"SELECT {', '.join(columns.select())} FROM {DATABASE}.v ORDER BY id")
        selected = columns.from_select(cursor.fetchall())
    with closing(followed(database, start, "v")) as binlog:
        logged = columns.from_binlog([row for c in changes(binlog, len(case.values)) for row in c.after])
    assert logged.schema == selected.schema
    assert texts(columns, selected) == [(t,) for t in case.texts]
    assert texts(columns, logged) == [(t,) for t in case.texts]


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("BIGINT UNSIGNED", "BIGINT"),
        ("INT UNSIGNED", "INT"),
        ("DECIMAL(10,3)", "DECIMAL(10, 2)"),
        ("DECIMAL(10,3)", "DOUBLE"),
        ("DATETIME(6)", "TIMESTAMP(3)"),
        ("VARCHAR(10)", "BYTES"),
        ("DOUBLE", "FLOAT"),
        ("BIT(2)", "BOOLEAN"),
        ("TIMESTAMP", "DATE"),
    ],
)
def test_a_type_that_would_lose_values_is_refused(database: MariaDB, kind: str, type_: str) -> None:
    database.run(f"DROP TABLE IF EXISTS {DATABASE}.r", f"CREATE TABLE {DATABASE}.r (id INT PRIMARY KEY, v {kind})")
    with pytest.raises(BergError) as refused:
        Columns("t", shape(database, "r"), [TableColumn("v", declared(type_))])
    assert refused.value.code is ErrorCode.TYPE
    assert refused.value.hint


def test_a_value_that_is_too_large_is_told(database: MariaDB) -> None:
    database.run(f"DROP TABLE IF EXISTS {DATABASE}.w", f"CREATE TABLE {DATABASE}.w (a DECIMAL(65,0), b TIME)")
    columns = Columns(
        "t", shape(database, "w"), [TableColumn(n, declared(t)) for n, t in (("a", "DECIMAL(38, 0)"), ("b", "TIME"))]
    )
    for row, told in (
        (("9" * 39, "00:00:00"), "Column a holds a number"),
        (("1", "24:00:00"), "Column b holds 24:00:00"),
    ):
        with pytest.raises(duckdb.Error, match=told):
            texts(columns, columns.from_select([row]))


def test_a_date_of_zeros_is_no_value_of_a_column_without_nulls(database: MariaDB) -> None:
    database.run(f"DROP TABLE IF EXISTS {DATABASE}.z", f"CREATE TABLE {DATABASE}.z (d DATE NOT NULL)")
    start = position(database)
    with database.connect(init_command="SET sql_mode = ''") as connection, connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {DATABASE}.z VALUES ('0000-00-00')")
    columns = Columns("t", shape(database, "z"), [TableColumn("d", declared("DATE"), nullable=False)])
    with pytest.raises(BergError, match="holds a date of zeros"):
        columns.from_select([("0000-00-00",)])
    with closing(followed(database, start, "z")) as binlog:
        (change,) = changes(binlog, 1)
    with pytest.raises(BergError, match="holds a date of zeros"):
        columns.from_binlog(change.after)

"""Values of MariaDB: a snapshot and the binlog give the same, of every type, at its edges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.base import TableColumn
from bergsql.engine.connectors.mysql.binlog import Binlog, Change
from bergsql.engine.connectors.mysql.position import Position
from bergsql.engine.connectors.mysql.shape import COLUMNS_SQL, KEY_SQL, TableShape, shape_of
from bergsql.engine.connectors.mysql.values import Columns, texts_only
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import CreateTable
from bergsql.engine.sql.types import DataType
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

DATABASE = "mysql_values"


class Case(NamedTuple):
    """A type of MySQL, what it is declared as, SQL of values, and what they are as texts."""

    type: str
    declared: str
    values: Sequence[str]
    texts: Sequence[str | None]


CASES = (
    Case("TINYINT", "TINYINT", ["-128", "127", "-1", "NULL"], ["-128", "127", "-1", None]),
    Case("TINYINT UNSIGNED", "SMALLINT", ["0", "255"], ["0", "255"]),
    Case("TINYINT(1)", "TINYINT", ["0", "1", "2", "-1"], ["0", "1", "2", "-1"]),
    Case("TINYINT(1)", "BOOLEAN", ["0", "1", "2"], ["false", "true", "true"]),
    Case("SMALLINT UNSIGNED", "INT", ["65535"], ["65535"]),
    Case("MEDIUMINT", "INT", ["-8388608", "8388607"], ["-8388608", "8388607"]),
    Case("MEDIUMINT UNSIGNED", "INT", ["16777215"], ["16777215"]),
    Case("INT UNSIGNED", "BIGINT", ["4294967295"], ["4294967295"]),
    Case(
        "BIGINT",
        "BIGINT",
        ["-9223372036854775808", "9223372036854775807"],
        ["-9223372036854775808", "9223372036854775807"],
    ),
    Case("BIGINT UNSIGNED", "DECIMAL(20, 0)", ["18446744073709551615", "0"], ["18446744073709551615", "0"]),
    Case("BIGINT UNSIGNED", "STRING", ["18446744073709551615"], ["18446744073709551615"]),
    Case("FLOAT", "FLOAT", ["0.1", "16777216", "-1.5e-30", "3.4e38"], ["0.1", "16777216.0", "-1.5e-30", "3.4e+38"]),
    Case(
        "DOUBLE", "DOUBLE", ["0.1", "1.7976931348623157e308", "-1e-300"], ["0.1", "1.7976931348623157e+308", "-1e-300"]
    ),
    Case("DECIMAL(10,3)", "DECIMAL(10, 3)", ["-1234567.891", "0.001", "0"], ["-1234567.891", "0.001", "0.000"]),
    Case(
        "DECIMAL(65,30)",
        "STRING",
        ["12345678901234567890123456789012345.123456789012345678901234567890"],
        ["12345678901234567890123456789012345.123456789012345678901234567890"],
    ),
    Case("DECIMAL(65,10)", "DECIMAL(38, 10)", ["-1.5"], ["-1.5000000000"]),
    Case("BIT(1)", "BOOLEAN", ["b'1'", "b'0'", "NULL"], ["true", "false", None]),
    Case("BIT(12)", "BYTES", ["b'100000000001'"], ["\\x08\\x01"]),
    Case(
        "DATE",
        "DATE",
        ["'1000-01-01'", "'9999-12-31'", "'0000-00-00'", "'2024-00-10'"],
        ["1000-01-01", "9999-12-31", None, None],
    ),
    Case(
        "DATETIME(6)",
        "TIMESTAMP(6)",
        ["'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'", "'0000-00-00 00:00:00'"],
        ["1000-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", None],
    ),
    Case("DATETIME", "TIMESTAMP(3)", ["'2024-02-29 12:34:56'"], ["2024-02-29 12:34:56"]),
    Case(
        "TIMESTAMP(3) NULL",
        "TIMESTAMP_LTZ(3)",
        ["'1970-01-01 00:00:01.5'", "'2038-01-19 03:14:07.999'", "'0000-00-00 00:00:00'"],
        ["1970-01-01 00:00:01.5+00", "2038-01-19 03:14:07.999+00", None],
    ),
    Case("TIMESTAMP(3) NULL", "TIMESTAMP(3)", ["'2024-07-01 00:00:00.25'"], ["2024-07-01 02:00:00.25"]),
    Case(
        "TIME(3)",
        "STRING",
        ["'-838:59:59.000'", "'838:59:59'", "'00:00:00.123'", "'-00:00:01.5'"],
        ["-838:59:59.000", "838:59:59.000", "00:00:00.123", "-00:00:01.500"],
    ),
    Case("TIME", "TIME(0)", ["'23:59:59'"], ["23:59:59"]),
    Case("YEAR", "SMALLINT", ["1901", "2155", "0"], ["1901", "2155", "0"]),
    Case("CHAR(100)", "STRING", ["'星星之火'", "''", "'a  '", "'😀'"], ["星星之火", "", "a", "😀"]),
    Case("VARCHAR(20) CHARACTER SET gbk", "STRING", ["'中文'"], ["中文"]),
    Case("VARCHAR(20) CHARACTER SET latin1", "STRING", ["'é€'"], ["é€"]),
    Case("VARCHAR(20) CHARACTER SET utf16", "STRING", ["'é中'"], ["é中"]),
    Case("LONGTEXT", "STRING", ["repeat('中', 30000)"], ["中" * 30000]),
    Case("BINARY(4)", "BYTES", ["x'00ff'", "x'61620000'"], ["\\x00\\xFF\\x00\\x00", "ab\\x00\\x00"]),
    Case("VARBINARY(9)", "BYTES", ["x'00ff00'", "''"], ["\\x00\\xFF\\x00", ""]),
    Case("BLOB", "BYTES", ["x'80c3'"], ["\\x80\\xC3"]),
    Case("ENUM('a','b''c','中')", "STRING", ["'a'", "2", "'中'", "NULL"], ["a", "b'c", "中", None]),
    Case("SET('x','y','z')", "STRING", ["'z,x'", "''", "NULL"], ["x,z", "", None]),
    Case("JSON", "STRING", ["""'{"b": 1, "a": [1, "中"]}'"""], ['{"b": 1, "a": [1, "中"]}']),
    Case(
        "UUID",
        "STRING",
        ["'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"],
        ["123e4567-e89b-12d3-a456-426655440000", "00000000-0000-0000-0000-000000000000"],
    ),
    Case("INET4", "STRING", ["'192.0.2.0'"], ["192.0.2.0"]),
    Case(
        "INET6",
        "STRING",
        ["'2001:db8::ff00:42:8329'", "'::ffff:192.0.2.128'", "'::'"],
        ["2001:db8::ff00:42:8329", "::ffff:192.0.2.128", "::"],
    ),
    Case(
        "POINT",
        "BYTES",
        ["ST_GeomFromText('POINT(1 2)')"],
        [
            "\\x00\\x00\\x00\\x00\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xF0?\\x00\\x00\\x00\\x00\\x00\\x00\\x00@"
        ],
    ),
)


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
    columns = Columns("t", shape(database, "z"), [TableColumn("d", declared("DATE"), nullable=False)])
    with pytest.raises(BergError, match="holds a date of zeros"):
        columns.from_select([("0000-00-00",)])

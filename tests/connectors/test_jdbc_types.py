"""Types of databases: their values here and there, and what has no value or does not go together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, DataType, Kind
from tests.support.databases import KINDS, Place, place_in, rows, run, source_of

TYPES = {
    "mariadb": [
        ("id", "INT NOT NULL PRIMARY KEY", "INT NOT NULL", 1),
        ("t", "TINYINT", "TINYINT", -128),
        ("tu", "TINYINT UNSIGNED", "SMALLINT", 255),
        ("s", "SMALLINT", "SMALLINT", -32768),
        ("su", "SMALLINT UNSIGNED", "INT", 65535),
        ("m", "MEDIUMINT", "INT", -8388608),
        ("iu", "INT UNSIGNED", "BIGINT", 4294967295),
        ("b", "BIGINT", "BIGINT", -(2**63)),
        ("bu", "BIGINT UNSIGNED", "DECIMAL(20, 0)", Decimal(2**64 - 1)),
        ("bo", "BOOLEAN", "BOOLEAN", True),
        ("b1", "BIT(1)", "BOOLEAN", True),
        ("b9", "BIT(9)", "BYTES", b"\x01\xff"),
        ("f", "FLOAT", "FLOAT", 0.10000000149011612),
        ("d", "DOUBLE", "DOUBLE", 0.1),
        ("de", "DECIMAL(38, 10)", "DECIMAL(38, 10)", Decimal("-9999999999999999999999999999.0123456789")),
        ("c", "CHAR(100)", "CHAR(100)", "中文 😀"),
        ("g", "VARCHAR(20) CHARACTER SET gbk", "STRING", "汉字"),
        ("tx", "LONGTEXT", "STRING", "x" * 70_000),
        ("e", "ENUM('a', '乙')", "STRING", "乙"),
        ("se", "SET('a', 'b')", "STRING", "a,b"),
        ("j", "JSON", "STRING", '{"a": [1, "中"]}'),
        ("bi", "BINARY(4)", "BYTES", b"a\0\0\0"),
        ("vb", "VARBINARY(10)", "BYTES", b"\0\xff'%s"),
        ("bl", "BLOB", "BYTES", b""),
        ("dt", "DATE", "DATE", dt.date(9999, 12, 31)),
        ("ti", "TIME(6)", "TIME(6)", dt.time(23, 59, 59, 999_999)),
        ("ts", "DATETIME(6)", "TIMESTAMP(6)", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
        ("t0", "DATETIME", "TIMESTAMP(0)", dt.datetime(1000, 1, 1)),
        ("l", "TIMESTAMP(6) NULL", "TIMESTAMP_LTZ(6)", dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.UTC)),
        ("y", "YEAR", "SMALLINT", 2155),
    ],
    "postgres": [
        ("id", "INT NOT NULL PRIMARY KEY", "INT NOT NULL", 1),
        ("s", "SMALLINT", "SMALLINT", -32768),
        ("b", "BIGINT", "BIGINT", -(2**63)),
        ("bo", "BOOLEAN", "BOOLEAN", False),
        ("f", "REAL", "FLOAT", 0.10000000149011612),
        ("d", "DOUBLE PRECISION", "DOUBLE", float("inf")),
        ("de", "NUMERIC(38, 10)", "DECIMAL(38, 10)", Decimal("-9999999999999999999999999999.0123456789")),
        ("n", "NUMERIC", "DECIMAL(38, 2)", Decimal("1.50")),
        ("c", "CHAR(5)", "CHAR(5)", "中文   "),
        ("v", "VARCHAR(20)", "VARCHAR(20)", "😀'%s\\"),
        ("tx", "TEXT", "STRING", "x" * 70_000),
        ("j", "JSONB", "STRING", '{"a": [1, "中"]}'),
        ("u", "UUID", "STRING", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("ip", "INET", "STRING", "10.0.0.1/32"),
        ("iv", "INTERVAL", "STRING", "1 day 02:00:00"),
        ("by", "BYTEA", "BYTES", b"\0\xff'%s"),
        ("dt", "DATE", "DATE", dt.date(9999, 12, 31)),
        ("ti", "TIME(6)", "TIME(6)", dt.time(23, 59, 59, 999_999)),
        ("ts", "TIMESTAMP(6)", "TIMESTAMP(6)", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
        ("l", "TIMESTAMPTZ", "TIMESTAMP_LTZ(6)", dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.UTC)),
        ("ai", "INT[]", "ARRAY<INT>", [1, None, 3]),
        ("at", "TEXT[]", "ARRAY<STRING>", ["中", "b'"]),
        ("ad", "NUMERIC(5, 1)[]", "ARRAY<DECIMAL(5, 1)>", []),
    ],
    "sqlite": [
        ("id", "INTEGER NOT NULL PRIMARY KEY", "INT NOT NULL", 1),
        ("b", "BIGINT", "BIGINT", -(2**63)),
        ("bo", "BOOLEAN", "BOOLEAN", True),
        ("d", "REAL", "DOUBLE", 0.1),
        ("de", "DECIMAL(10, 2)", "DECIMAL(10, 2)", Decimal("-1.50")),
        ("dx", "TEXT", "DECIMAL(38, 10)", Decimal("-9999999999999999999999999999.0123456789")),
        ("tx", "TEXT", "STRING", "中文"),
        ("bl", "BLOB", "BYTES", b"\0\xff"),
        ("dt", "DATE", "DATE", dt.date(9999, 12, 31)),
        ("ti", "TIME", "TIME(6)", dt.time(23, 59, 59, 999_999)),
        ("ts", "DATETIME", "TIMESTAMP(6)", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
        ("l", "TIMESTAMP", "TIMESTAMP_LTZ(6)", dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.UTC)),
    ],
}
"""By database: name, type there, type here, a value."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    run(made, "SET 'table.local-time-zone' = 'UTC'")
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_in(request.param, request, tmp_path)


def test_values_of_all_types_go_there_and_back(place: Place, session: Session) -> None:
    """What is read of one table is written to another, and the database finds both the same."""
    types = TYPES[place.kind]
    there = ", ".join(f"{name} {type_}" for name, type_, _, _ in types)
    here = ", ".join(f"`{name}` {type_}" for name, _, type_, _ in types)
    place.run(f"CREATE TABLE {{t}} ({there})", f"CREATE TABLE {{u}} ({there})")
    run(session, f"CREATE TABLE u ({here}, PRIMARY KEY (id) NOT ENFORCED) {place.clause('u')}")
    run(session, f"CREATE TABLE t ({here}) {place.clause('t')}")
    _fill(place, types)
    run(session, "INSERT INTO u SELECT * FROM t")
    wanted = [_plain(tuple(value for *_, value in types)), (2, *[None] * (len(types) - 1))]
    for table in ("t", "u"):
        found = rows(session, f"SELECT * FROM {table} ORDER BY id")
        assert [_plain(row) for row in found] == wanted
    listed = ", ".join(f"CAST({name} AS {'CHAR' if place.kind == 'mariadb' else 'TEXT'})" for name, *_ in types)
    if place.kind != "sqlite":
        assert place.run(f"SELECT {listed} FROM {{t}} ORDER BY id") == place.run(
            f"SELECT {listed} FROM {{u}} ORDER BY id"
        )


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v for v in row)


def _fill(place: Place, types: list[tuple[str, str, str, Any]]) -> None:
    """One row of the values and one of NULLs, by SQLAlchemy's own means."""
    import sqlalchemy as sa

    values = {name: value for name, _, _, value in types}
    for name, _, _, value in types:
        if place.kind == "mariadb" and name == "b9":
            values[name] = int.from_bytes(value, "big")
        if isinstance(value, dt.datetime) and value.tzinfo is not None and place.kind != "postgres":
            values[name] = value.replace(tzinfo=None)
        if place.kind == "sqlite" and isinstance(values[name], Decimal | dt.date | dt.time | dt.datetime):
            values[name] = str(values[name])
    source = source_of(place, (("id", INT),))
    schema = place.prefix.rstrip(".") or None
    table = sa.table("t", *(sa.column(name) for name in values), schema=schema)
    with source.database.connected() as connection:
        connection.execute(table.insert(), [values, {**dict.fromkeys(values), "id": 2}])
        connection.commit()
    source.database.close()


def test_a_domain_is_the_type_that_it_is_of(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    place = place_in("postgres", request, tmp_path)
    place.run(
        "CREATE DOMAIN {positive} AS NUMERIC(5, 1) CHECK (VALUE > 0)",
        "CREATE TABLE {t} (n {positive})",
        "INSERT INTO {t} VALUES (1.5), (2)",
    )
    run(session, f"CREATE TABLE t (n DECIMAL(5, 1)) {place.clause('t')}")
    assert rows(session, "SELECT n FROM t WHERE n > 1.7") == [(Decimal("2.0"),)]
    run(session, "INSERT INTO t VALUES (3.5)")
    with pytest.raises(BergError, match="A row does not fit"):
        run(session, "INSERT INTO t VALUES (-1.0)")


def test_dates_of_zeros(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (id INT, d DATE)")
    place.run("SET sql_mode = ''", "INSERT INTO {t} VALUES (1, '0000-00-00')")
    for name, behaviour in (
        ("e", ""),
        ("n", "?zeroDateTimeBehavior=convertToNull"),
        ("r", "?zeroDateTimeBehavior=ROUND"),
    ):
        url = {"url": f"{place.url}{behaviour}"}
        run(session, f"CREATE TABLE {name} (id INT, d DATE) {place.clause('t', url)}")
    with pytest.raises(BergError, match="a value is '0000-00-00'") as told:
        rows(session, "SELECT * FROM e")
    assert "zeroDateTimeBehavior" in (told.value.hint or "")
    assert rows(session, "SELECT d FROM n WHERE d IS NULL") == [(None,)]
    assert rows(session, "SELECT d FROM r") == [(dt.date(1, 1, 1),)]


def test_what_python_has_no_value_for(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    place = place_in("postgres", request, tmp_path)
    place.run("CREATE TABLE {t} (d DATE, n NUMERIC)", "INSERT INTO {t} VALUES ('0044-03-15 BC', 'NaN')")
    run(session, f"CREATE TABLE d (d DATE) {place.clause('t')}")
    with pytest.raises(BergError, match=r"A value of .*\.d cannot be read: date too small \(before year 1\)"):
        rows(session, "SELECT * FROM d")
    place.run("UPDATE {t} SET d = 'infinity'")
    with pytest.raises(BergError, match=r"cannot be read: date too large \(after year 10K\): 'infinity'"):
        rows(session, "SELECT * FROM d")
    run(session, f"CREATE TABLE n (n DECIMAL(10, 2)) {place.clause('t')}")
    with pytest.raises(BergError, match=r"declared as DECIMAL\(10, 2\), and a value is 'NaN'"):
        rows(session, "SELECT * FROM n")


def test_wall_clocks_and_instants_are_apart(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    """A wall clock that is declared as an instant is one of the zone in the URL, UTC without."""
    place = place_in("mariadb", request, tmp_path)
    place.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, w DATETIME, i TIMESTAMP NULL)",
        "INSERT INTO {t} VALUES (1, '2024-01-01 08:00:00', '2024-01-01 00:00:00')",
    )
    url = {"url": f"{place.url}?serverTimezone=Asia/Shanghai"}
    columns = "id INT, w TIMESTAMP_LTZ(0), i TIMESTAMP(0), PRIMARY KEY (id) NOT ENFORCED"
    run(session, f"CREATE TABLE t ({columns}) {place.clause('t', url)}")
    ((_, w, i),) = rows(session, "SELECT * FROM t")
    assert w.replace(tzinfo=None) == dt.datetime(2024, 1, 1)
    assert i == dt.datetime(2024, 1, 1, 8)
    run(session, "INSERT INTO t SELECT 2, w, i FROM t")
    assert place.run("SELECT w, i FROM {t} WHERE id = 2") == [(dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 1))]


@pytest.mark.parametrize(
    ("there", "here", "hint"),
    [
        ("VARCHAR(5)", DataType(Kind.INT), "Declare it as STRING."),
        ("INT UNSIGNED", DataType(Kind.STRING), "Declare it as BIGINT."),
        ("BIGINT UNSIGNED", DataType(Kind.DOUBLE), "Declare it as DECIMAL(20, 0)."),
        ("DOUBLE", DataType(Kind.DECIMAL, 10, 2), "Declare it as DOUBLE."),
        ("DATETIME(6)", DataType(Kind.DATE), "Declare it as TIMESTAMP(6)."),
        ("DATETIME(6)", DataType(Kind.TIMESTAMP, 9), "Declare it as TIMESTAMP(6)."),
        ("BLOB", DataType(Kind.STRING), "Declare it as BYTES."),
    ],
)
def test_types_that_do_not_go_together_are_refused(
    request: pytest.FixtureRequest, tmp_path: Path, there: str, here: DataType, hint: str
) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run(f"CREATE TABLE {{t}} (c {there})")
    with pytest.raises(BergError, match=r"Column 'c' of c\.d\.t is declared as") as told:
        source_of(place, (("c", here),))
    assert told.value.code == "TYPE"
    assert there.partition("(")[0].rpartition(" ")[2] in told.value.message
    assert told.value.hint == hint


def test_a_number_that_is_too_large_for_its_column(place: Place, session: Session) -> None:
    place.run("CREATE TABLE {t} (n BIGINT)", "INSERT INTO {t} VALUES (1), (3000000000)")
    run(session, f"CREATE TABLE t (n INT) {place.clause('t')}")
    with pytest.raises(BergError, match=r"Column 'n' of \S+ is declared as INT, and a value is '3000000000'"):
        rows(session, "SELECT * FROM t")
    assert rows(session, "SELECT * FROM t WHERE n = 1") == [(1,)]

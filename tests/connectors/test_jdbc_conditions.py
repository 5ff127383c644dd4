"""What a database is asked of conditions: all rows that hold here are among those that come, and years and bytes."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.source import JdbcSource
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, STRING, DataType, Kind
from bergsql.engine.table.predicate import AlwaysTrue, Compare, In, IsNull, Not, NotNull, Op, Predicate, StartsWith
from tests.support.databases import place_in


class Column(NamedTuple):
    """A column as it is there and here, values of it there, and those here that it is compared with."""

    there: str
    here: DataType
    values: Sequence[str]
    compared: Sequence[Any]


def stamps(zone: Any = None) -> list[datetime]:
    return [
        datetime(1, 1, 1, tzinfo=zone),
        datetime(2024, 1, 1, 10, 0, 0, 500_000, zone),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, zone),
    ]


def texts(*values: str) -> list[str]:
    return [f"'{value}'" for value in values]


WORDS = ("a", "A", "a ", "ab", "a%b", "a_b", "a!b", "ä", "ß", "ss", "ch", "", "😀x")
DATES = (date(1, 1, 1), date(1000, 1, 1), date(2024, 1, 1), date(9999, 12, 31))
ENDS = texts("9999-12-31 23:59:59.999999", "0001-01-01", "2024-01-01 10:00:00.5")
DOUBLES = (0.0, 0.1, 5e-324, 9007199254740992.0)
BOOLEAN, BYTES, DATE, DOUBLE = (DataType(k) for k in (Kind.BOOLEAN, Kind.BYTES, Kind.DATE, Kind.DOUBLE))
BIGINT, SHORT = DataType(Kind.BIGINT), DataType(Kind.SMALLINT)
CHAR4 = DataType(Kind.CHAR, 4)


def wall(digits: int) -> DataType:
    return DataType(Kind.TIMESTAMP, digits)


def instant(digits: int) -> DataType:
    return DataType(Kind.TIMESTAMP_LTZ, digits)


COLUMNS = {
    "mariadb": [
        Column("YEAR", SHORT, ("1901", "1970", "2001", "'0000'"), (0, 1, 70, 1970, 3000)),
        Column("TINYINT(1)", BOOLEAN, ("5", "0", "-1"), (True, False)),
        Column("BIT(1)", BOOLEAN, ("1", "0"), (True, False)),
        Column("BIGINT UNSIGNED", DataType(Kind.DECIMAL, 20, 0), ("0", "18446744073709551615"), (-1, 2**64)),
        Column("INT UNSIGNED", BIGINT, ("0", "4294967295"), (-1, Decimal("4294967295.5"), 10**20)),
        Column("DOUBLE", DOUBLE, ("0.1", "-0.0", "5e-324", "9007199254740992"), DOUBLES),
        Column("DECIMAL(10, 2)", DataType(Kind.DECIMAL, 10, 1), ("1.25", "-1.25"), (Decimal("1.3"), Decimal("1.25"))),
        Column("VARCHAR(9) COLLATE utf8mb4_czech_ci", STRING, texts(*WORDS), WORDS),
        Column("VARCHAR(9) CHARACTER SET gbk", STRING, texts("a", "汉"), ("a", "汉", "😀")),
        Column("CHAR(4) COLLATE utf8mb4_general_ci", CHAR4, texts(*WORDS), WORDS),
        Column("BINARY(3)", BYTES, ("X'61'", "X'616263'"), (b"a", b"a\0\0")),
        Column("DATE", DATE, texts("1000-01-01", "9999-12-31"), DATES),
        Column("DATETIME(6)", wall(3), texts("2024-01-01 10:00:00.5009"), stamps()),
        Column("TIMESTAMP(6) NULL", instant(6), texts("1970-01-01 00:00:01", "2024-01-01 10:00:00.5"), stamps(UTC)),
    ],
    "postgres": [
        Column("BOOLEAN", BOOLEAN, ("true", "false"), (True, False)),
        Column("DOUBLE PRECISION", DOUBLE, ("'NaN'", "'Infinity'", "0.1", "5e-324", "9007199254740992"), DOUBLES),
        Column("NUMERIC", DataType(Kind.DECIMAL, 10, 1), ("1.25", "-1.25"), (Decimal("1.3"), Decimal("1.25"))),
        Column("TEXT COLLATE {folding}", STRING, texts(*WORDS), WORDS),
        Column("CHAR(4)", CHAR4, texts(*WORDS), (*WORDS, "a   ")),
        Column("BYTEA", BYTES, (r"'\x61'", r"'\x5c00'"), (b"a", b"\\\0")),
        Column("DATE", DATE, ENDS, DATES),
        Column("TIMESTAMP", wall(6), ENDS, stamps()),
        Column("TIMESTAMPTZ", instant(6), ENDS, stamps(UTC)),
    ],
    "sqlite": [
        Column("BOOLEAN", BOOLEAN, ("5", "0"), (True, False)),
        Column("INTEGER", BIGINT, ("1", "'7'", "9223372036854775807"), (1, Decimal("7.0"), 2**63)),
        Column("REAL", DOUBLE, ("1", "0.1", "1e300"), DOUBLES),
        Column("NUMERIC", DataType(Kind.DECIMAL, 10, 2), ("1.25", "'4'"), (Decimal("1.25"), 4)),
        Column("TEXT COLLATE NOCASE", STRING, (*texts(*WORDS), "5"), (*WORDS, "5")),
        Column("TEXT", DATE, texts("2024-01-01"), DATES),
    ],
}
"""By database."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    yield made
    made.close()


def predicates(name: str, column: Column) -> Iterator[Predicate]:
    values = column.compared
    yield IsNull(name)
    yield NotNull(name)
    for chosen in (tuple(values), (values[0], values[-1])):
        yield In(name, chosen)
        yield Not(In(name, chosen))
    ordered = column.here not in (BOOLEAN, BYTES)
    for value in values:
        yield from (Compare(name, op, value) for op in Op if ordered or op is Op.EQ)
        if isinstance(value, str):
            yield StartsWith(name, value)


def holds(predicate: Predicate, value: Any) -> bool:
    """Whether it holds of a value, as here."""
    match predicate:
        case IsNull():
            return value is None
        case Not(child):
            return value is not None and not holds(child, value)
        case Compare(_, op, other):
            return value is not None and bool(getattr(operator, op.name.lower())(value, other))
        case In(_, values):
            return value is not None and value in values
        case StartsWith(_, prefix):
            return value is not None and str(value).startswith(str(prefix))
    return value is not None


def taken(source: JdbcSource, predicate: Predicate) -> dict[int, Any]:
    """The rows that come where it is asked for: the values of the other column, by id."""
    chosen = source.narrowed(frozenset(c.name for c in source.columns), predicate)
    return {row["c0"]: row["c1"] for batch in chosen.rows(chosen.queries()).batches() for row in batch.to_pylist()}


@pytest.mark.parametrize("kind", COLUMNS)
def test_no_row_that_holds_here_is_left_out(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_in(kind, request, tmp_path)
    more = {"url": f"{place.url}?useSSL=false"} if kind == "mariadb" else {}  # which takes long
    if kind == "postgres":
        place.run("CREATE COLLATION {folding} (provider=icu, locale='und-u-ks-level2', deterministic=false)")
    left_out = []
    for n, column in enumerate(COLUMNS[kind]):
        rows = ", ".join(f"({i}, {value})" for i, value in enumerate((*column.values, "NULL")))
        place.run(f"CREATE TABLE {{t{n}}} (id INT, v {column.there})", f"INSERT INTO {{t{n}}} VALUES {rows}")
        source = JdbcSource(place.table(f"t{n}", (("id", INT), ("v", column.here)), (), more))
        everything = taken(source, AlwaysTrue())
        assert len(everything) == len(column.values) + 1
        for predicate in predicates("v", column):
            wanted = {id_ for id_, value in everything.items() if holds(predicate, value)}
            if not wanted <= set(taken(source, predicate)):
                left_out.append(f"{column.there}: {predicate}")
    assert not left_out


def test_bytes_are_no_text_in_sqlite(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    """They equal none there."""
    place = place_in("sqlite", request, tmp_path)
    place.run("CREATE TABLE {t} (name TEXT)", "INSERT INTO {t} VALUES (x'61')")
    session.execute(f"CREATE TABLE t (name STRING) {place.clause('t')}").close()
    with pytest.raises(BergError, match="declared as STRING, and a value is"):
        list(session.execute("SELECT * FROM t").rows())


def test_ranges_are_not_of_numbers_that_are_texts(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Which are above every number in SQLite."""
    place = place_in("sqlite", request, tmp_path)
    place.run("CREATE TABLE {t} (v TEXT)")
    more = {f"scan.partition.{k}": v for k, v in (("column", "v"), ("num", "2"), ("lower-bound", "0"))}
    table = place.table("t", (("v", DataType(Kind.DECIMAL, 10, 1)),), (), {**more, "scan.partition.upper-bound": "9"})
    with pytest.raises(BergError, match="'v', a TEXT there: ranges are of numbers"):
        JdbcSource(table)


def test_years_of_two_digits_are_no_others(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (y YEAR)")
    session.execute(f"CREATE TABLE t (y INT) {place.clause('t')}").close()
    session.execute("INSERT INTO t VALUES (0), (1970), (2155)").close()
    with pytest.raises(BergError, match="Out of range value for column 'y'"):
        session.execute("INSERT INTO t VALUES (70)").close()
    assert place.run("SELECT y FROM {t} ORDER BY y") == [(0,), (1970,), (2155,)]

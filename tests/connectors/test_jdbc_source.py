"""Tables of databases as sources: all types, what is asked of the database, and what comes as it is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.source import JdbcSource
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, STRING, DataType, Kind
from bergsql.engine.table.predicate import Predicate
from tests.support.databases import KINDS, Place, place_in

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


def rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    result = session.execute(sql)
    try:
        return [tuple(row) for row in result.rows()]
    finally:
        result.close()


def run(session: Session, sql: str) -> None:
    session.execute(sql).close()


def source_of(place: Place, columns: tuple[tuple[str, DataType], ...], **more: str) -> JdbcSource:
    return JdbcSource(place.table("t", columns, (), {k.replace("_", "."): v for k, v in more.items()}))


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


NAMES = ("order", "\u6570", "a b", "p%c", "x(y)", "q:r", "d.e", "s%s")


def test_names_of_any_kind(place: Place, session: Session) -> None:
    quote = "`{}`" if place.kind == "mariadb" else '"{}"'
    there = ", ".join(f"{quote.format(n)} INT" for n in NAMES)
    place.run(f"CREATE TABLE {{t}} ({there}, PRIMARY KEY ({quote.format('order')}))")
    here = ", ".join(f"`{n}` INT" for n in NAMES)
    run(session, f"CREATE TABLE t ({here}, PRIMARY KEY (`order`) NOT ENFORCED) {place.clause('t')}")
    run(session, f"INSERT INTO t VALUES ({', '.join(map(str, range(len(NAMES))))})")
    run(session, f"INSERT INTO t VALUES (0{', 5' * (len(NAMES) - 1)})")
    where = " AND ".join(f"`{n}` = 5" for n in NAMES[1:])
    assert rows(session, f"SELECT * FROM t WHERE {where}") == [(0, *[5] * (len(NAMES) - 1))]


FILTERS = [
    ("n > 5", "n > 5"),
    ("n + 1 > 6 AND name = 'b'", None),
    ("name = 'B'", "name = 'B'"),
    ("name <> 'b'", None),
    ("name > 'a'", None),
    ("name IN ('a', 'c') AND name LIKE 'a%'", "name IN ('a', 'c') AND name LIKE 'a%'"),
    ("name LIKE '%_'", None),
    ("name LIKE '50\\%!_%' ESCAPE '\\'", "name LIKE '50%!%'"),
    ("n IS NULL OR n < 3", "n IS NULL OR n < 3"),
    ("n NOT IN (1, 2)", "NOT (n IN (1, 2))"),
    ("n IS NOT NULL AND d = DATE '2024-01-03'", None),
    ("d BETWEEN DATE '2024-01-03' AND DATE '2024-01-05'", None),
    ("ts > TIMESTAMP '2024-01-02 00:00:00.5'", None),
    ("b", None),
    ("NOT b", None),
    ("b IS NULL", "b IS NULL"),
    ("x = 0.5", None),
    ("n = 2147483648", None),
    ("NOT (n > 3 AND name = 'b')", None),
    ("CASE WHEN n > 3 THEN 1 ELSE 0 END = 1", None),
    ("n = (SELECT MAX(n) FROM t)", None),
]
"""Conditions, and what of them is asked of every database; None: whatever, of some."""


def test_conditions_that_are_pushed_down_lose_no_rows(place: Place, session: Session) -> None:
    """Rows are those that the same conditions take of the same rows here, in whatever collation the database is."""
    collation = " COLLATE utf8mb4_general_ci" if place.kind == "mariadb" else ""
    place.run(
        f"CREATE TABLE {{t}} (id INT PRIMARY KEY, n BIGINT, name VARCHAR(10){collation}, d DATE, ts TIMESTAMP(6) NULL,"
        " b BOOLEAN, x DOUBLE PRECISION)".replace("TIMESTAMP(6) NULL", "DATETIME(6)" if collation else "TIMESTAMP"),
        *(
            f"INSERT INTO {{t}} VALUES ({i}, {n}, {name}, '2024-01-0{i}', '2024-01-0{i} 00:00:00.500000', {b}, {x})"
            for i, (n, name, b, x) in enumerate(
                [
                    ("1", "'a'", "true", "0.5"),
                    ("2", "'A'", "false", "1.5"),
                    ("NULL", "'b'", "NULL", "NULL"),
                    ("6", "'B'", "true", "0.5"),
                    ("7", "NULL", "false", "-1"),
                    ("8", "'50%!x'", "true", "2"),
                    ("9", "'ä'", "true", "2"),
                    ("-9", "'b'", "true", "2"),
                ],
                1,
            )
        ),
    )
    columns = "id INT, n BIGINT, name STRING, d DATE, ts TIMESTAMP(6), b BOOLEAN, x DOUBLE"
    run(session, f"CREATE TABLE t ({columns}) {place.clause('t')}")
    run(session, "CREATE TABLE here AS SELECT * FROM t")
    assert rows(session, "SELECT COUNT(*) FROM here") == [(8,)]
    for condition, pushed in FILTERS:
        query = f"SELECT id FROM {{}} WHERE {condition} ORDER BY id"
        assert rows(session, query.format("t")) == rows(session, query.format("here")), condition
        if pushed is not None:
            ((plan,),) = rows(session, f"EXPLAIN {query.format('t')}")
            assert f"pushed down: {pushed}\n" in plan, plan
    ((plan,),) = rows(session, "EXPLAIN SELECT COUNT(*) FROM t WHERE name > 'a' OR n = 1")
    assert "columns: n, name\n" in plan
    ((plan,),) = rows(session, "EXPLAIN SELECT a.id FROM t a LEFT JOIN t b ON a.id = b.id WHERE b.n IS NULL")
    assert "pushed down" not in plan


def test_texts_that_a_character_set_has_not(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    """MySQL refuses to compare them with the column."""
    place = place_in("mariadb", request, tmp_path)
    place.run(
        "CREATE TABLE {t} (g VARCHAR(9) CHARACTER SET gbk, l VARCHAR(9) CHARACTER SET latin1, u VARCHAR(9) CHARACTER SET"
        " utf8mb3)",
        "INSERT INTO {t} VALUES ('汉', 'é', '字')",
    )
    run(session, f"CREATE TABLE t (g STRING, l STRING, u STRING) {place.clause('t')}")
    for condition, count in {
        "g = '汉'": 1,
        "g = '😀'": 0,
        "l IN ('中文', 'é')": 1,
        "u LIKE '😀%'": 0,
        "u = '字'": 1,
        "g IN ('汉', '😀')": 1,
        "l = 'e'": 0,
    }.items():
        assert len(rows(session, f"SELECT g FROM t WHERE {condition}")) == count, condition


def test_the_database_runs_what_is_pushed_down(place: Place) -> None:
    place.run("CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(10))", "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    from bergsql.engine.table.predicate import Compare, Op

    predicate: Predicate = Compare("id", Op.EQ, 2)
    narrowed = source_of(place, (("id", INT), ("name", STRING))).narrowed(frozenset({"name"}), predicate)
    (query,) = narrowed.queries()
    statement = str(query.compile(narrowed.database.engine))
    selected, _, condition = statement.partition("WHERE")
    assert "id" not in selected.partition("FROM")[0]
    assert "id" in condition
    assert [b.to_pylist() for b in narrowed.rows([query]).batches()] == [[{"c1": "b"}]]
    narrowed.database.close()


def test_ranges_hold_each_row_once(place: Place, session: Session) -> None:
    place.run("CREATE TABLE {t} (id INT PRIMARY KEY, v DECIMAL(10, 1))")
    for start in range(0, 100, 50):
        values = ", ".join(f"({i}, {i}.5)" for i in range(start, start + 50))
        place.run(f"INSERT INTO {{t}} VALUES {values}")
    bounds = {"scan.partition.num": "7", "scan.partition.lower-bound": "10", "scan.partition.upper-bound": "90"}
    more = {"scan.partition.column": "v", **bounds, "scan.fetch-size": "3"}
    run(session, f"CREATE TABLE t (id INT, v DECIMAL(10, 1)) {place.clause('t', more)}")
    assert rows(session, "SELECT COUNT(*), MIN(id), MAX(id), COUNT(DISTINCT id) FROM t") == [(80, 10, 89, 80)]
    run(session, "SET 'execution.runtime-mode' = 'streaming'")
    found = rows(session, "SELECT id FROM t")
    assert sorted(row[-1] for row in found) == list(range(10, 90))


def test_a_range_is_read_once_after_a_restart(place: Place) -> None:
    place.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1), (2), (3), (4)")
    from bergsql.engine.duck import Duck
    from tests.support.streams import Context

    more = {f"scan.partition.{k}": v for k, v in (("column", "id"), ("num", "2"), ("lower-bound", "1"))}
    table = place.table("t", (("id", INT),), (), {**more, "scan.partition.upper-bound": "4"})
    duck = Duck()
    context: Any = Context(duck, None, {})  # type: ignore[arg-type]
    reader = JdbcSource(table).reader(context, None)
    first = reader.poll()
    assert first is not None
    assert context.cursor.execute(f"SELECT c0 FROM {first.sql}").fetchall() == [(1,), (2,)]
    again = JdbcSource(table).reader(context, reader.offset)
    second = again.poll()
    assert second is not None
    assert context.cursor.execute(f"SELECT c0 FROM {second.sql}").fetchall() == [(3,), (4,)]
    assert again.finished
    reader.close()
    again.close()
    duck.close()


def test_rows_come_as_they_are_fetched(request: pytest.FixtureRequest, tmp_path: Path, session: Session) -> None:
    """The first rows of many are there at once, and nobody waits for the others."""
    import time

    place = place_in("mariadb", request, tmp_path)
    place.run(
        "CREATE TABLE {t} (a INT, b VARCHAR(200))",
        "INSERT INTO {t} SELECT seq, REPEAT('x', 200) FROM {seq_1_to_300000}",
    )
    run(session, f"CREATE TABLE t (a INT, b STRING) {place.clause('t', {'scan.fetch-size': '100'})}")
    assert len(rows(session, "SELECT * FROM t LIMIT 1")) == 1
    start = time.process_time()
    assert len(rows(session, "SELECT * FROM t LIMIT 1")) == 1
    few = time.process_time() - start
    start = time.process_time()
    assert rows(session, "SELECT COUNT(b) FROM t") == [(300_000,)]
    assert few < (time.process_time() - start) / 4


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


@pytest.mark.parametrize(("user", "password"), [("cdc", "falsch"), ("nobody", "falsch")])
def test_who_is_not_let_in(request: pytest.FixtureRequest, tmp_path: Path, user: str, password: str) -> None:
    place = place_in("mariadb", request, tmp_path)
    with pytest.raises(BergError, match="does not let us in: Access denied") as told:
        JdbcSource(place.table("t", (("a", INT),), (), {"username": user, "password": password}))
    assert told.value.code == "CONFIG"
    assert password not in f"{told.value.message}{told.value.hint}"

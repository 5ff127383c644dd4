"""Tables of databases as sources: what is asked of the database, and what comes as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.source import JdbcSource
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.types import INT, STRING
from bergsql.engine.table.predicate import Predicate
from tests.support.databases import KINDS, Place, place_in, rows, run, source_of


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    run(made, "SET 'table.local-time-zone' = 'UTC'")
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_in(request.param, request, tmp_path)


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


@pytest.mark.parametrize(("user", "password"), [("cdc", "falsch"), ("nobody", "falsch")])
def test_who_is_not_let_in(request: pytest.FixtureRequest, tmp_path: Path, user: str, password: str) -> None:
    place = place_in("mariadb", request, tmp_path)
    with pytest.raises(BergError, match="does not let us in: Access denied") as told:
        JdbcSource(place.table("t", (("a", INT),), (), {"username": user, "password": password}))
    assert told.value.code == "CONFIG"
    assert password not in f"{told.value.message}{told.value.hint}"

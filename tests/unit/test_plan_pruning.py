"""A query that prunes gives the rows of the same query that reads every file: conditions of all shapes, both flavours,
tables of all transforms, values at the edges of types, partitions and changes of the clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.engine.execute.select import open_plan
from bergsql.engine.plan import comparison
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.from_clause import bind_from
from bergsql.engine.plan.pushdown import outcomes
from bergsql.engine.plan.query import plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.parser import parse
from bergsql.engine.table.planning import plan_files
from bergsql.engine.table.read_point import current

COLUMNS = (
    "r int, id int, n bigint, d double, f float, price decimal(9,2), name string, day date, ts timestamp_ntz, "
    "at timestamp, flag boolean"
)
TABLES = {
    "bounds": "partitioned by (r)",
    "years": "partitioned by (years(ts), truncate(2, name), bucket(4, id))",
    "days": "partitioned by (days(at), truncate(10, id), d)",
    "hours": "partitioned by (hours(at), months(day), truncate(300, price))",
    "plain": "partitioned by (day, flag, name, f)",
}
INTS = ["-2147483648", "2147483647", "-11", "-10", "-1", "0", "1", "9", "10", "2147483646"]
LONGS = ["-9223372036854775808", "9223372036854775807", "9007199254740993", "-1", "0", "3", "2147483648"]
DOUBLES = ["'NaN'", "'Infinity'", "'-Infinity'", "-0.5", "0", "0.5", "4.999999", "5", "5.5", "-5.5", "1e300"]
PRICES = ["-3.01", "-3.00", "0.00", "1.50", "2.99", "3.00", "9999999.99"]
NAMES = ["''", "'a'", "'ab'", "'abc'", "'abd'", "'ac'", "'b'", "'ÿ'", "'Ab'"]
DAYS = ["1969-12-31", "1970-01-01", "2024-02-28", "2024-02-29", "2024-12-31", "2025-01-01"]
STAMPS = [
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2024-02-29 23:59:59.999999",
    "2024-03-31 01:59:59.999999",
    "2024-03-31 02:30:00",
    "2024-10-27 00:30:00",
    "2024-10-27 01:30:00",
    "2024-12-31 23:30:00",
    "2025-01-01 00:00:00",
]
ROWS = 28


def _row(r: int) -> str:
    def pick(values: list[str], step: int) -> str | None:
        place = r * step % (len(values) + 1)
        return values[place] if place < len(values) else None

    def made(values: list[str], step: int, wrap: str) -> str:
        found = pick(values, step)
        return "null" if found is None else wrap.format(found)

    return ", ".join(
        [
            str(r),
            made(INTS, 1, "cast({} as int)"),
            made(LONGS, 1, "cast('{}' as bigint)"),
            made(DOUBLES, 1, "cast({} as double)"),
            made(DOUBLES, 5, "cast({} as float)"),
            made(PRICES, 1, "cast({} as decimal(9,2))"),
            made(NAMES, 1, "{}"),
            made(DAYS, 1, "date'{}'"),
            made(STAMPS, 1, "timestamp_ntz'{}'"),
            made(STAMPS, 3, "timestamp'{} UTC'"),
            made(["true", "false"], 1, "{}"),
        ]
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home: Path = tmp_path_factory.mktemp("pruning")
    opened = Session(SessionConfig(home=home, warehouse=str(home / "wh")))
    opened.execute("SET 'sql.dialect' = 'spark'")
    values = ", ".join(f"({_row(r)})" for r in range(ROWS))
    for name, partitions in TABLES.items():
        metrics = "full" if name == "bounds" else "none"
        opened.execute(
            f"create table {name} ({COLUMNS}) using iceberg {partitions} "
            f"tblproperties ('write.metadata.metrics.default' = '{metrics}')"
        )
        opened.execute(f"insert into {name} values {values}")
    yield opened
    opened.close()


def rows(session: Session, sql: str, *, prune: bool) -> list[str]:
    statement: Any = parse(sql, session.flavour)
    result = open_plan(session, plan_query(statement.query, SessionRelations(session), prune=prune))
    try:
        return sorted(repr(row) for row in result.rows())
    finally:
        result.close()


# --- conditions -------------------------------------------------------------------------------------------------------

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
WHOLE = st.sampled_from(["-2147483648", "2147483647", "-10", "-1", "0", "1", "5", "9", "10", "2.5", "-2.5", "3E0"])
REAL = st.sampled_from(["-5.5", "-0.5", "0", "0.5", "5", "5.5E0", "4.999999", "1e300"])
PRICE = st.sampled_from(["-3.01", "-3", "0", "1.5", "2.995", "3", "1E1"])
WORD = st.sampled_from(["''", "'a'", "'ab'", "'abc'", "'abcd'", "'b'", "'ÿ'"])
DAY = st.sampled_from(DAYS).map("DATE '{}'".format)
NUMBERS = {
    "id": WHOLE,
    "n": WHOLE,
    "id + 1": WHOLE,
    "1 - id": WHOLE,
    "-id": WHOLE,
    "n - 3": WHOLE,
    "CAST(id AS BIGINT) + 2147483647": WHOLE,
    "CAST(d AS INT)": WHOLE,
    "CAST(d AS BIGINT)": WHOLE,
    "CAST(price AS INT)": WHOLE,
    "CAST(id AS DOUBLE)": REAL,
    "CAST(n AS DOUBLE)": REAL,
    "d": REAL,
    "f": REAL,
    "-d": REAL,
    "d + 1.5E0": REAL,
    "2E0 - d": REAL,
    "FLOOR(d)": REAL,
    "CEIL(d)": REAL,
    "CEIL(price)": PRICE,
    "FLOOR(price)": PRICE,
    "price": PRICE,
    "price + 1.5": PRICE,
    "2 - price": PRICE,
    "CAST(d AS DECIMAL(9, 1))": PRICE,
    "CAST(price AS DECIMAL(9, 1))": PRICE,
    "YEAR(ts)": st.sampled_from(["1969", "1970", "2024", "2025"]),
    "YEAR(at)": st.sampled_from(["1969", "1970", "2024", "2025"]),
    "EXTRACT(YEAR FROM day)": st.sampled_from(["1969", "2024", "2024.5"]),
}
OTHERS = {
    "name": WORD,
    "SUBSTRING(name, 1, 2)": WORD,
    "LEFT(name, 1)": WORD,
    "day": DAY,
    "CAST(ts AS DATE)": DAY,
    "CAST(at AS DATE)": DAY,
    "TO_DATE(CAST(at AS DATE))": DAY,
    "CAST(day AS TIMESTAMP)": st.sampled_from(STAMPS).map("TIMESTAMP '{}'".format),
    "day + INTERVAL '1' MONTH": DAY,
    "day - INTERVAL '1' DAY": DAY,
    "DATE_ADD(day, 3)": DAY,
    "DATE_TRUNC('MONTH', at)": DAY,
    "DATE_TRUNC('HOUR', at)": DAY,
    "DATE_TRUNC('DAY', ts)": DAY,
    "TRUNC(day, 'YEAR')": DAY,
    "ts": DAY,
    "at": DAY,
    "at + INTERVAL '1' DAY": DAY,
    "ts - INTERVAL '90' MINUTE": DAY,
    "at - INTERVAL '1' MONTH": DAY,
    "DATE '2024-02-29' - INTERVAL '1' DAY": DAY,
}


def _compared(sides: tuple[str, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    side, constants = sides
    return st.one_of(
        st.builds(lambda op, v: f"{side} {op} {v}", st.sampled_from(COMPARISONS), constants),
        st.builds(lambda op, v: f"{v} {op} {side}", st.sampled_from(COMPARISONS), constants),
        st.builds(lambda a, b: f"{side} BETWEEN {a} AND {b}", constants, constants),
        st.builds(lambda a, b, n: f"{side} {n}IN ({a}, {b})", constants, constants, st.sampled_from(["", "NOT "])),
        st.builds(lambda v, n: f"{side} IS {n}DISTINCT FROM {v}", constants, st.sampled_from(["", "NOT "])),
        st.builds(lambda n: f"{side} IS {n}NULL", st.sampled_from(["", "NOT "])),
    )


ATOMS = st.one_of(
    st.sampled_from(sorted(NUMBERS.items(), key=lambda i: i[0])).flatmap(_compared),
    st.sampled_from(sorted(OTHERS.items(), key=lambda i: i[0])).flatmap(_compared),
    st.builds(
        lambda n, p: f"name {n}LIKE '{p}'",
        st.sampled_from(["", "NOT "]),
        st.sampled_from(["a%", "ab%", "ab", "a_", "%", "ÿ%", "abc%d", ""]),
    ),
    st.sampled_from(
        ["flag", "flag = FALSE", "STARTSWITH(name, 'ab')", "id IN (1, NULL)", "id NOT IN (1, NULL)", "NULL"]
    ),
    st.sampled_from(["1 = 0", "1 = 1", "1 = NULL", "UPPER('a') LIKE 'B%'"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a} AND {b})", inner, inner),
        st.builds(lambda a, b: f"({a} OR {b})", inner, inner),
        st.builds(lambda a: f"(NOT {a})", inner),
        st.builds(lambda a, w: f"(({a}) IS {w})", inner, st.sampled_from(["TRUE", "NOT TRUE", "FALSE", "NOT FALSE"])),
    ),
    max_leaves=4,
)
QUERIES = st.sampled_from(
    [
        "SELECT r FROM {t} WHERE {c}",
        "SELECT r FROM {t} WHERE {c}",
        "SELECT r FROM (SELECT * FROM {t} UNION ALL SELECT * FROM {u}) q WHERE {c}",
        "SELECT COUNT(*) AS n, id FROM {t} GROUP BY id HAVING id > 0",
        "SELECT q.r, x.r FROM (SELECT * FROM {t} WHERE {c}) q LEFT JOIN {u} x ON q.id = x.id AND q.r = x.r",
        "SELECT q.r, x.r FROM (SELECT * FROM {t} WHERE {c}) q FULL JOIN {u} x ON q.id = x.id AND q.r = x.r",
        "SELECT r FROM {t} WHERE id IN (SELECT id FROM {u} WHERE {c})",
        "SELECT r FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {u} x WHERE x.id = {t}.id AND x.r < 9) AND id > 0",
        "SELECT COUNT(*) AS a, COUNT(id) AS b, MIN(day) AS c, MAX(price) AS d, MAX(ts) AS e FROM {t}",
        "SELECT COUNT(*) AS n, COUNT(id) AS a, MIN(n) AS b, MAX(day) AS c FROM {t} WHERE {c}",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM (SELECT r, day, id FROM {t}) a) q WHERE r > 3",
    ]
)


def _check(session: Session, dialect: str, zone: str, sql: str) -> None:
    session.execute(f"SET 'sql.dialect' = '{dialect}'")
    session.execute(f"SET 'table.local-time-zone' = '{zone}'")
    if dialect == "flink":
        sql = sql.replace("DATE_ADD(day, 3)", "day + INTERVAL '3' DAY")
    assert rows(session, sql, prune=True) == rows(session, sql, prune=False), sql


DRAWN = {
    "dialect": st.sampled_from(["flink", "spark"]),
    "zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
    "query": QUERIES,
    "t": st.sampled_from(sorted(TABLES)),
    "u": st.sampled_from(sorted(TABLES)),
    "c": CONDITIONS,
}


@given(**DRAWN)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_pruned_equals_unpruned(session: Session, dialect: str, zone: str, query: str, t: str, u: str, c: str) -> None:
    _check(session, dialect, zone, query.format(t=t, u=u, c=c))


@pytest.mark.long
@given(**DRAWN)
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_more(session: Session, dialect: str, zone: str, query: str, t: str, u: str, c: str) -> None:
    _check(session, dialect, zone, query.format(t=t, u=u, c=c))


# --- whole files ------------------------------------------------------------------------------------------------------


def whole(session: Session, table: str, condition: str) -> list[str]:
    """The paths of the files of which planning says that the condition takes every row."""
    statement: Any = parse(f"SELECT 1 FROM {table} WHERE {condition}", session.flavour)
    node, planner = statement.query.ast, Planner(SessionRelations(session))
    scope, _ = bind_from(node, planner, None, {})
    context = Context(planner, scope, "WHERE", aggregates_allowed=False, windows_allowed=False)
    where = comparison.condition(bind(node.args["where"].this, context), context, node, "WHERE")
    relation = planner.slots[0].relation
    metadata = relation.table.metadata
    wanted, others = outcomes(where, 0, metadata.schema, planner)
    point = current(metadata)
    return [t.data_file.path for t in plan_files(metadata, point, wanted, relation.storage, others).whole]


def _check_whole(session: Session, dialect: str, zone: str, table: str, condition: str) -> int:
    session.execute(f"SET 'sql.dialect' = '{dialect}'")
    session.execute(f"SET 'table.local-time-zone' = '{zone}'")
    if dialect == "flink":
        condition = condition.replace("DATE_ADD(day, 3)", "day + INTERVAL '3' DAY")
    found = whole(session, table, condition)
    left = rows(session, f"SELECT `_file` FROM {table} WHERE ({condition}) IS NOT TRUE", prune=False)
    assert {repr((path,)) for path in found}.isdisjoint(left), condition
    return len(found)


WHOLE_DRAWN = {name: DRAWN[name] for name in ("dialect", "zone", "t", "c")}


@given(**WHOLE_DRAWN)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_condition_takes_every_row_of_a_whole_file(
    session: Session, dialect: str, zone: str, t: str, c: str
) -> None:
    _check_whole(session, dialect, zone, t, c)


@pytest.mark.long
@given(**WHOLE_DRAWN)
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_more_whole_files(session: Session, dialect: str, zone: str, t: str, c: str) -> None:
    _check_whole(session, dialect, zone, t, c)


@pytest.mark.parametrize(
    ("table", "condition", "some"),
    [
        ("bounds", "r < 5", True),
        ("bounds", "id = 1 OR r = 3", True),
        ("bounds", "id IS NULL", True),
        ("bounds", "d > 4", True),  # NaN too
        ("bounds", "CAST(r AS STRING) = '5'", False),  # nothing is known of text
        ("bounds", "r < 5 AND rand() < 2", False),
        ("bounds", "r IN (SELECT id FROM plain)", False),
        ("years", "ts < TIMESTAMP '1971-01-01 00:00:00'", True),
        ("years", "ts > TIMESTAMP '2025-06-01 00:00:00'", False),  # a part of a year, for all that is known
        ("years", "name LIKE 'a%'", True),
        ("plain", "day = DATE '1970-01-01' OR flag", True),
        ("plain", "day <> DATE '1970-01-01'", True),
        ("plain", "1 = 1", True),
        ("plain", "NULL", False),
        ("plain", "`_pos` >= 0", False),
    ],
)
def test_which_files_are_whole(session: Session, table: str, condition: str, some: bool) -> None:
    assert (_check_whole(session, "spark", "UTC", table, condition) > 0) is some

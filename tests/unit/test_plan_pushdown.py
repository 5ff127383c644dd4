"""What a query says of a table is handed to its scan: never more than what holds, and nothing across a join that adds NULLs."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.query import QueryPlan
from bergsql.engine.sql.flavour import Flavour
from tests.support.planning import FLINK, SPARK, Tables, connection, iceberg_tables, plan

COLUMNS = "id INT, name STRING, price DECIMAL(9, 2), day DATE, ts TIMESTAMP, flag BOOLEAN, n BIGINT, s ROW<a INT>"
OTHER = "id INT, city STRING"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return iceberg_tables(tmp_path_factory.mktemp("wh"), FLINK, t=COLUMNS, u=OTHER)


def pushed(query: QueryPlan) -> dict[str, str]:
    """The pushed predicate of each scan by table."""
    return {s.table.rpartition(".")[2]: str(s.predicate) for s in query.scans}


WHERE: list[tuple[str, str]] = [
    ("id = 5", "id = 5"),
    ("5 < id", "id > 5"),
    ("id <> 5", "id <> 5"),
    ("id = 5 AND name = 'x' AND upper(name) = 'X'", "id = 5 AND name = 'x'"),
    ("id = 5 OR id > 9", "id = 5 OR id > 9"),
    ("id = 5 OR upper(name) = 'X'", "TRUE"),
    ("id IN (1, 2, NULL)", "id IN (1, 2)"),
    ("id NOT IN (1, 2)", "NOT (id IN (1, 2))"),
    ("id NOT IN (1, NULL)", "TRUE"),
    ("NOT (id = 5 AND name = 'x')", "NOT (id = 5 AND name = 'x')"),
    ("NOT (id = 5 AND upper(name) = 'X')", "TRUE"),
    ("id BETWEEN 1 AND 3", "id >= 1 AND id <= 3"),
    ("id IS NULL", "id IS NULL"),
    ("id IS NOT NULL", "id IS NOT NULL"),
    ("flag", "flag = TRUE"),
    ("NOT flag", "NOT (flag = TRUE)"),
    ("flag IS TRUE", "flag = TRUE"),
    ("name LIKE 'ab%'", "name LIKE 'ab%'"),
    ("name LIKE 'ab%c'", "name LIKE 'ab%'"),
    ("name NOT LIKE 'ab%c'", "TRUE"),
    ("name LIKE '%b'", "TRUE"),
    ("name LIKE 'ab'", "name = 'ab'"),
    ("price > 1.5", "price > 1.5"),
    ("price = 1.555", "TRUE"),
    ("price > 2", "price > 2"),
    ("day >= DATE '2024-01-01'", "day >= '2024-01-01'"),
    ("day >= '2024-01-01'", "day >= '2024-01-01'"),
    ("ts < TIMESTAMP '2024-01-01 00:00:00'", "ts < '2024-01-01 00:00:00'"),
    ("n = 5", "n = 5"),
    ("n = id", "TRUE"),
    ("id + 1 = 5", "TRUE"),
    ("CAST(id AS STRING) = '5'", "TRUE"),
    ("s.a = 1", "s.a = 1"),
    ("id IS NOT DISTINCT FROM 5", "id = 5"),
    ("NOT (id IS NOT DISTINCT FROM 5)", "TRUE"),
    ("id IS NOT DISTINCT FROM NULL", "id IS NULL"),
    ("id = NULL", "TRUE"),
]


@pytest.mark.parametrize(("condition", "predicate"), WHERE)
def test_where(condition: str, predicate: str, tables: Tables) -> None:
    assert pushed(plan(f"SELECT id FROM t WHERE {condition}", FLINK, tables)) == {"t": predicate}


QUERIES: list[tuple[str, dict[str, str]]] = [
    ("SELECT * FROM t JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", {"t": "id > 1", "u": "city = 'x'"}),
    ("SELECT * FROM t JOIN u ON t.id = u.id WHERE t.id > 1 AND u.city = 'x'", {"t": "id > 1", "u": "city = 'x'"}),
    # ON of an outer join drops no row of the side that is kept
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", {"t": "TRUE", "u": "city = 'x'"}),
    ("SELECT * FROM t RIGHT JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", {"t": "id > 1", "u": "TRUE"}),
    ("SELECT * FROM t FULL JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", {"t": "TRUE", "u": "TRUE"}),
    # WHERE behind one: only what a row of NULLs cannot fulfil
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id WHERE u.city = 'x'", {"t": "TRUE", "u": "city = 'x'"}),
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id WHERE u.city IS NULL", {"t": "TRUE", "u": "TRUE"}),
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id WHERE u.city = 'x' OR u.city IS NULL", {"t": "TRUE", "u": "TRUE"}),
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id WHERE NOT (u.city = 'x')", {"t": "TRUE", "u": "TRUE"}),
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.id WHERE t.id > 1", {"t": "id > 1", "u": "TRUE"}),
    # an ON further right is about rows that the outer join already padded
    (
        "SELECT * FROM t LEFT JOIN u ON t.id = u.id JOIN (SELECT id AS k FROM t AS t2) x ON x.k = t.id AND u.city IS NULL",
        {"t": "TRUE", "u": "TRUE"},
    ),
    # through a subquery that only filters
    ("SELECT * FROM (SELECT id AS k, name FROM t WHERE id > 1) q WHERE q.k < 9", {"t": "id > 1 AND id < 9"}),
    ("SELECT * FROM (SELECT id, count(*) AS c FROM t GROUP BY id) q WHERE q.id < 9", {"t": "TRUE"}),
    ("SELECT * FROM (SELECT id FROM t LIMIT 5) q WHERE q.id < 9", {"t": "TRUE"}),
    ("SELECT * FROM (SELECT DISTINCT id FROM t) q WHERE q.id < 9", {"t": "TRUE"}),
    ("SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) r FROM t) q WHERE q.id < 9", {"t": "TRUE"}),
    ("SELECT * FROM (SELECT id FROM t UNION ALL SELECT id FROM u) q WHERE q.id < 9", {"t": "TRUE", "u": "TRUE"}),
    (
        "SELECT * FROM (SELECT * FROM u LEFT JOIN (SELECT id AS k FROM t) x ON u.id = x.k) q WHERE q.k IS NULL",
        {"t": "TRUE", "u": "TRUE"},
    ),
    # a CTE read twice gives both readers all
    ("WITH c AS (SELECT id FROM t) SELECT * FROM c WHERE id < 9", {"t": "id < 9"}),
    ("WITH c AS (SELECT id FROM t) SELECT * FROM c a JOIN c b ON a.id = b.id WHERE a.id < 9", {"t": "TRUE"}),
    # a condition inside of a subquery is about that subquery
    (
        "SELECT * FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = u.id AND u.city = 'x' AND t.id > 1)",
        {"u": "TRUE", "t": "id > 1"},
    ),
    ("SELECT * FROM u WHERE id IN (SELECT id FROM t WHERE name = 'x')", {"u": "TRUE", "t": "name = 'x'"}),
    # HAVING and SELECT say nothing of the rows
    ("SELECT id FROM t GROUP BY id HAVING id > 1", {"t": "TRUE"}),
    ("SELECT id > 1 FROM t", {"t": "TRUE"}),
]


@pytest.mark.parametrize(("sql", "predicates"), QUERIES, ids=[q[0][:70] for q in QUERIES])
def test_query(sql: str, predicates: dict[str, str], tables: Tables) -> None:
    found = [(s.table.rpartition(".")[2], str(s.predicate)) for s in plan(sql, FLINK, tables).scans]
    assert dict(found) == predicates


def test_semi_and_anti_joins(tables: Tables) -> None:
    spark = Tables(SPARK, relations=tables.relations)
    semi = plan("SELECT * FROM t LEFT SEMI JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", SPARK, spark)
    anti = plan("SELECT * FROM t LEFT ANTI JOIN u ON t.id = u.id AND t.id > 1 AND u.city = 'x'", SPARK, spark)
    assert pushed(semi) == {"t": "id > 1", "u": "city = 'x'"}
    assert pushed(anti) == {"t": "TRUE", "u": "city = 'x'"}


def test_only_the_columns_that_are_read(tables: Tables) -> None:
    def columns(sql: str) -> tuple[str, ...]:
        return plan(sql, FLINK, tables).scans[0].columns

    assert columns("SELECT name FROM t WHERE id = 5 ORDER BY day") == ("id", "name", "day")
    assert columns("SELECT s.a FROM t") == ("s",)
    assert len(columns("SELECT count(*) FROM t")) == 1
    assert len(columns("SELECT * FROM t")) == 8


def test_an_instant_is_pushed_in_utc(tmp_path: Path) -> None:
    tables = iceberg_tables(tmp_path, SPARK, t="id int, ts timestamp")
    tables.time_zone = "Asia/Shanghai"
    for literal in ("'2024-01-01'", "timestamp'2024-01-01 00:00:00'", "date'2024-01-01'"):
        found = pushed(plan(f"select id from t where ts >= {literal}", SPARK, tables))
        assert found == {"t": "ts >= '2023-12-31 16:00:00+00:00'"}


def test_explain(tables: Tables) -> None:
    lines = plan("SELECT id FROM t WHERE id > 5", FLINK, tables).explain()
    assert lines == [
        "Query",
        "  columns: id",
        "  Scan c.db.t",
        "    snapshot: none",
        "    columns: id",
        "    pushed down: id > 5",
        "    manifests: 0 of 0",
        "    files: 0 of 0, 0 bytes",
    ]


def test_names_of_a_table(tables: Tables) -> None:
    for name in ("t", "db.t", "c.db.t"):
        assert plan(f"SELECT {name}.id, {name}.s.a FROM c.db.t", FLINK, tables).columns[0].name == "id"
    with pytest.raises(BergError) as raised:
        plan("SELECT t.id FROM c.db.t AS x", FLINK, tables)
    assert raised.value.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("SELECT * FROM t /*+ OPTIONS('streaming'='true') */", ErrorCode.UNSUPPORTED, "A streaming SELECT"),
        ("SELECT * FROM t /*+ OPTIONS('snapshot-id'='1') */", ErrorCode.UNSUPPORTED, "The read option 'snapshot-id'"),
        ("SELECT * FROM t /*+ OPTIONS('snapshot_id'='1') */", ErrorCode.OPTION, "'snapshot_id' is not a read option"),
        ("SELECT * FROM t VERSION AS OF 1", ErrorCode.UNSUPPORTED, "Time travel"),
        ("SELECT _file FROM t", ErrorCode.UNSUPPORTED, "The metadata column '_file'"),
        ("SELECT t._partition FROM t", ErrorCode.UNSUPPORTED, "The metadata column '_partition'"),
        ("SELECT * FROM t, t", ErrorCode.INVALID, "FROM names 'c.db.t' twice"),
    ],
)
def test_what_is_not_there_yet(sql: str, code: ErrorCode, message: str, tables: Tables) -> None:
    with pytest.raises(BergError) as raised:
        plan(sql, FLINK, tables)
    assert raised.value.code is code
    assert message in raised.value.message
    assert raised.value.span is not None


def test_a_hint_that_says_what_holds_anyway(tables: Tables) -> None:
    assert plan("SELECT id FROM t /*+ OPTIONS('streaming'='false') */ AS x", FLINK, tables).scans[0].table == "c.db.t"


# --- never stronger than the condition ---------------------------------------------------------------------------------

NUMBERS = st.integers(-2, 3)
WORDS = st.sampled_from(["", "a", "ab", "abc", "b", "A"])
DAYS = st.integers(0, 3).map(lambda n: date(2024, 1, 1) + timedelta(n))


def _comparisons() -> st.SearchStrategy[str]:
    symbol = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    return st.one_of(
        st.builds(lambda s, v: f"id {s} {v}", symbol, NUMBERS),
        st.builds(lambda s, v: f"{v} {s} id", symbol, NUMBERS),
        st.builds(lambda s, v: f"name {s} '{v}'", symbol, WORDS),
        st.builds(lambda s, v: f"day {s} DATE '{v}'", symbol, DAYS),
        st.builds(lambda vs: f"id IN ({', '.join(map(str, vs))})", st.lists(NUMBERS, min_size=1, max_size=3)),
        st.builds(lambda v: f"id IN ({v}, NULL)", NUMBERS),
        st.builds(lambda a, b: f"id BETWEEN {a} AND {b}", NUMBERS, NUMBERS),
        st.builds(lambda v: f"name LIKE '{v}%'", WORDS),
        st.builds(lambda v: f"name NOT LIKE '{v}_'", WORDS),
        st.sampled_from(
            [
                "id IS NULL",
                "name IS NOT NULL",
                "flag",
                "flag IS TRUE",
                "flag IS FALSE",
                "upper(name) = 'A'",
                "id + 0 = 1",
            ]
        ),
    )


CONDITIONS = st.recursive(
    _comparisons(),
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a} AND {b})", inner, inner),
        st.builds(lambda a, b: f"({a} OR {b})", inner, inner),
        st.builds(lambda a: f"(NOT {a})", inner),
    ),
    max_leaves=6,
)
ROWS = [
    (i, w, d, f)
    for i in (None, -1, 0, 1, 2)
    for w in (None, "", "a", "abc", "A")
    for d in (None, "2024-01-02")
    for f in (None, True, False)
]


@given(CONDITIONS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pushed_predicate_keeps_every_row_of_the_condition(tables: Tables, condition: str) -> None:
    """Wherever the condition is true, the predicate is: evaluated by DuckDB on all kinds of rows."""
    query = plan(f"SELECT id, name, day, flag FROM t WHERE {condition}", FLINK, tables)
    (scan,) = query.scans
    data = f"SELECT {', '.join(scan.columns)} FROM data"
    kept = query.sql.replace(scan.scan.sql, f"{data} WHERE {scan.predicate}")
    everything = query.sql.replace(scan.scan.sql, data)
    with connection() as duck:
        duck.execute("CREATE TABLE data (id INTEGER, name VARCHAR, day DATE, flag BOOLEAN)")
        duck.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", ROWS)
        assert sorted(map(repr, duck.execute(kept).fetchall())) == sorted(
            map(repr, duck.execute(everything).fetchall())
        )


def test_both_flavours_push_alike(tables: Tables) -> None:
    for flavour in Flavour:
        relations = Tables(flavour, relations=tables.relations)
        assert pushed(plan("SELECT id FROM t WHERE id = '5' AND price >= 1", flavour, relations))["t"].startswith(
            "id = 5"
        )

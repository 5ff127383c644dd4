"""Queries without tables give what Flink 2.1's SQL client showed."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.duck_errors import from_duckdb_error
from tests.support.planning import FLINK, Tables, ask

CASES: list[tuple[str, list[tuple[str, str, Any]]]] = [
    ("SELECT 1", [("EXPR$0", "INT", 1)]),
    (
        "SELECT 'a' , 1+1, UPPER('x'), COUNT(*), MAX(1) AS `m x`",
        [
            ("EXPR$0", "CHAR(1)", "a"),
            ("EXPR$1", "INT", 2),
            ("EXPR$2", "STRING", "X"),
            ("EXPR$3", "BIGINT", 1),
            ("m x", "INT", 1),
        ],
    ),
    (
        "SELECT CAST(1 AS TINYINT) AS ti, CAST(-32768 AS SMALLINT) AS si, 2147483647 AS i, "
        "CAST(-9223372036854775808 AS BIGINT) AS bi, CAST(1.5 AS FLOAT) AS f, CAST(1e10 AS DOUBLE) AS d, "
        "CAST(1.10 AS DECIMAL(10,4)) AS dec1, TRUE AS b1, CAST(NULL AS BOOLEAN) AS bn",
        [
            ("ti", "TINYINT", 1),
            ("si", "SMALLINT", -32768),
            ("i", "INT", 2147483647),
            ("bi", "BIGINT", -9223372036854775808),
            ("f", "FLOAT", 1.5),
            ("d", "DOUBLE", 1e10),
            ("dec1", "DECIMAL(10, 4)", "1.1000"),
            ("b1", "BOOLEAN", True),
            ("bn", "BOOLEAN", None),
        ],
    ),
    (
        "SELECT DATE '2024-01-02' AS dt, TIME '03:04:05' AS tm, TIMESTAMP '2024-01-02 03:04:05' AS ts0, "
        "TIMESTAMP '2024-01-02 03:04:05.678' AS ts3, CAST('2024-01-02 03:04:05.123456' AS TIMESTAMP(6)) AS ts6, "
        "CAST(TIMESTAMP '2024-01-02 03:04:05' AS TIMESTAMP(9)) AS ts9",
        [
            ("dt", "DATE", "2024-01-02"),
            ("tm", "TIME(0)", "03:04:05"),
            ("ts0", "TIMESTAMP(0)", "2024-01-02 03:04:05.000000"),
            ("ts3", "TIMESTAMP(3)", "2024-01-02 03:04:05.678000"),
            ("ts6", "TIMESTAMP(6)", "2024-01-02 03:04:05.123456"),
            ("ts9", "TIMESTAMP(9)", 1704164645000000000),
        ],
    ),
    (
        "SELECT TO_TIMESTAMP_LTZ(1, 3) AS l3, CAST(TO_TIMESTAMP_LTZ(1, 3) AS TIMESTAMP_LTZ(6)) AS l6, "
        "CAST(TO_TIMESTAMP_LTZ(1,3) AS TIMESTAMP_LTZ(0)) AS l0, "
        "CAST(TIMESTAMP '2024-01-02 03:04:05.678' AS TIMESTAMP_LTZ(0)) AS t0",
        [
            ("l3", "TIMESTAMP_LTZ(3)", "1970-01-01 00:00:00.001000"),
            ("l6", "TIMESTAMP_LTZ(6)", "1970-01-01 00:00:00.001000"),
            ("l0", "TIMESTAMP_LTZ(0)", "1970-01-01 00:00:00.000000"),
            ("t0", "TIMESTAMP_LTZ(0)", "2024-01-02 03:04:05.000000"),
        ],
    ),
    (
        "SELECT INTERVAL '3' DAY AS id1, INTERVAL '1-2' YEAR TO MONTH AS ym, "
        "INTERVAL '1 02:03:04.005' DAY TO SECOND AS ds, INTERVAL -'1' DAY AS neg",
        [
            ("id1", "INTERVAL DAY TO SECOND", "3 days, 0:00:00"),
            ("ym", "INTERVAL YEAR TO MONTH", 14),
            ("ds", "INTERVAL DAY TO SECOND", "1 day, 2:03:04.005000"),
            ("neg", "INTERVAL DAY TO SECOND", "-1 day, 0:00:00"),
        ],
    ),
    (
        "SELECT ARRAY[1,2,3] AS arr, MAP['k',1,'k2',2] AS m, ROW(1,'x',TRUE) AS r, ARRAY[ARRAY[1],ARRAY[2]] AS aa, "
        "ROW(1,ROW('y')) AS rr, CAST(NULL AS ARRAY<INT>) AS an, ARRAY[1,CAST(NULL AS INT)] AS anull",
        [
            ("arr", "ARRAY<INT NOT NULL>", [1, 2, 3]),
            ("m", "MAP<STRING NOT NULL, INT NOT NULL>", {"$map": [["k", 1], ["k2", 2]]}),
            (
                "r",
                "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` CHAR(1) NOT NULL, `EXPR$2` BOOLEAN NOT NULL>",
                {"$row": [1, "x", True]},
            ),
            ("aa", "ARRAY<ARRAY<INT NOT NULL> NOT NULL>", [[1], [2]]),
            (
                "rr",
                "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` ROW<`EXPR$0` CHAR(1) NOT NULL> NOT NULL>",
                {"$row": [1, {"$row": ["y"]}]},
            ),
            ("an", "ARRAY<INT>", None),
            ("anull", "ARRAY<INT>", [1, None]),
        ],
    ),
    (
        "SELECT CAST(ROW(1,'x') AS ROW<a INT, b STRING>) AS named",
        [("named", "ROW<`a` INT, `b` STRING>", {"$row": [1, "x"]})],
    ),
    (
        "SELECT X'45F0AB' AS bin, CAST('hi' AS BYTES) AS bs, X'' AS eb",
        [
            ("bin", "BINARY(3)", {"$hex": "45f0ab"}),
            ("bs", "BYTES", {"$hex": "6869"}),
            ("eb", "BINARY(0)", {"$hex": ""}),
        ],
    ),
    (
        "SELECT CAST('abc' AS CHAR(5)) AS c5, CAST('abc' AS VARCHAR(10)) AS v10, CAST('abcdef' AS VARCHAR(3)) AS v3",
        [("c5", "CHAR(5)", "abc  "), ("v10", "VARCHAR(10)", "abc"), ("v3", "VARCHAR(3)", "abc")],
    ),
    (
        "SELECT TYPEOF(1.10), TYPEOF('x'), TYPEOF(1.0e0), TYPEOF(ARRAY[1])",
        [
            ("EXPR$0", "STRING", "DECIMAL(3, 2) NOT NULL"),
            ("EXPR$1", "STRING", "CHAR(1) NOT NULL"),
            ("EXPR$2", "STRING", "DOUBLE NOT NULL"),
            ("EXPR$3", "STRING", "ARRAY<INT NOT NULL> NOT NULL"),
        ],
    ),
    ("SELECT 1/2 AS a, 5 % 3 AS c, -7 / 2 AS n", [("a", "INT", 0), ("c", "INT", 2), ("n", "INT", -3)]),
    (
        "SELECT 1.0/3 AS b, 1.0/3.0 AS c",
        [("b", "DECIMAL(13, 12)", "0.333333333333"), ("c", "DECIMAL(8, 6)", "0.333333")],
    ),
    ("SELECT TRY_CAST('abc' AS INT) AS x", [("x", "INT", None)]),
    ("SELECT CAST(3000000000 AS INT) AS x, CAST(1.9 AS INT) AS y", [("x", "INT", -1294967296), ("y", "INT", 1)]),
    ("SELECT 2147483647 + 1 AS x", [("x", "INT", -2147483648)]),
    (
        "SELECT CAST(12345678901234567890.123456789 AS DECIMAL(38,9)) AS d",
        [("d", "DECIMAL(38, 9)", "12345678901234567890.123456789")],
    ),
    (
        "SELECT CAST(TRUE AS STRING) AS b, CAST(1e10 AS STRING) AS d",
        [("b", "STRING", "TRUE"), ("d", "STRING", "1.0E10")],
    ),
    (
        "SELECT CAST(ARRAY[1,2] AS STRING) AS a, CAST(MAP['k',1] AS STRING) AS m, CAST(ROW(1,'x') AS STRING) AS r",
        [("a", "STRING", "[1, 2]"), ("m", "STRING", "{k=1}"), ("r", "STRING", "(1, x)")],
    ),
    (
        "SELECT 'it''s' AS q, '\"dq\"' AS dq, 'a\\b' AS bs",
        [("q", "CHAR(4)", "it's"), ("dq", "CHAR(4)", '"dq"'), ("bs", "CHAR(3)", "a\\b")],
    ),
]


@pytest.mark.parametrize(("sql", "columns"), CASES, ids=[sql[:60] for sql, _ in CASES])
def test_one_row_as_flink(sql: str, columns: list[tuple[str, str, Any]]) -> None:
    answer = ask(sql, FLINK)
    assert list(zip(answer.names, answer.types, answer.rows[0], strict=True)) == columns
    assert len(answer.rows) == 1


ROWS: list[tuple[str, list[str], list[list[Any]]]] = [
    ("VALUES (1, 'a'), (2, 'bb')", ["EXPR$0", "EXPR$1"], [[1, "a"], [2, "bb"]]),
    ("SELECT * FROM (VALUES (1,'a'),(2,'b')) AS t(id,name)", ["id", "name"], [[1, "a"], [2, "b"]]),
    ("SELECT * FROM (VALUES (1)) AS t(id) WHERE id > 1", ["id"], []),
    (
        "SELECT name, COUNT(*) AS cnt, SUM(v) AS s FROM (VALUES ('a',1),('b',2),('a',3)) AS t(name,v) "
        "GROUP BY name ORDER BY name",
        ["name", "cnt", "s"],
        [["a", 2, 4], ["b", 1, 2]],
    ),
    (
        "SELECT a.id, b.amt FROM (VALUES (1,'x'),(9,'z')) AS a(id,n) FULL OUTER JOIN (VALUES (1,100),(7,700)) "
        "AS b(id,amt) ON a.id = b.id ORDER BY a.id, b.amt",
        ["id", "amt"],
        [[None, 700], [1, 100], [9, None]],
    ),
    (
        "SELECT word, len FROM (VALUES ('hello world')) AS t(s), UNNEST(ARRAY['a','b']) AS u(word), (VALUES (1)) AS w(len)",
        ["word", "len"],
        [["a", 1], ["b", 1]],
    ),
    # joins in parentheses and USING
    (
        "SELECT * FROM (VALUES (1)) a(x) JOIN ((VALUES (1,2)) b(x,y) JOIN (VALUES (2,3)) c(y,z) ON b.y=c.y) ON a.x=b.x",
        ["x", "x0", "y", "y0", "z"],
        [[1, 1, 2, 2, 3]],
    ),
    (
        "SELECT * FROM (VALUES (1)) a(x) JOIN ((VALUES (1,2)) b(x,y) JOIN (VALUES (2,3)) c(y,z) USING (y)) USING (x)",
        ["x", "y", "z"],
        [[1, 2, 3]],
    ),
    (
        "SELECT * FROM (VALUES (1,9)) a(x,w) JOIN (VALUES (1,2)) b(x,y) USING (x) JOIN (VALUES (1,3)) c(x,z) USING (x) "
        "JOIN (VALUES (4)) d(q) ON TRUE",
        ["x", "w", "y", "z", "q"],
        [[1, 9, 2, 3, 4]],
    ),
    # the same name twice is numbered
    ("SELECT * FROM (VALUES (1, 2)) AS t(a, b), (VALUES (3)) AS u(a)", ["a", "b", "a0"], [[1, 2, 3]]),
    # NULL first ascending, last descending; NaN above all
    ("SELECT x FROM (VALUES (2), (CAST(NULL AS INT)), (1)) AS t(x) ORDER BY x", ["x"], [[None], [1], [2]]),
    ("SELECT x FROM (VALUES (2), (CAST(NULL AS INT)), (1)) AS t(x) ORDER BY x DESC", ["x"], [[2], [1], [None]]),
    (
        "SELECT x FROM (VALUES (CAST('NaN' AS DOUBLE)), (CAST('Infinity' AS DOUBLE)), (1e0)) AS t(x) ORDER BY x DESC",
        ["x"],
        [["NaN"], ["Infinity"], [1.0]],
    ),
    # AVG of integers is one; SUM keeps the type and wraps
    ("SELECT AVG(x) AS a, SUM(x) AS s FROM (VALUES (1), (2), (2)) AS t(x)", ["a", "s"], [[1, 5]]),
    ("SELECT SUM(x) AS s FROM (VALUES (2147483647), (1)) AS t(x)", ["s"], [[-2147483648]]),
    # arrays count from 1
    ("SELECT a[1] AS x, a[3] AS y FROM (VALUES (ARRAY[5, 6])) AS t(a)", ["x", "y"], [[5, None]]),
    ("SELECT k, v FROM (VALUES (MAP['a', 1])) AS t(m) CROSS JOIN UNNEST(m) AS u(k, v)", ["k", "v"], [["a", 1]]),
    ("SELECT a, b FROM (VALUES (ARRAY[ROW(1, 'x')])) AS t(r) CROSS JOIN UNNEST(r) AS u(a, b)", ["a", "b"], [[1, "x"]]),
    ("SELECT a FROM (VALUES (1), (2)) AS t(a) WHERE a IN (SELECT b FROM (VALUES (2)) AS u(b))", ["a"], [[2]]),
    (
        "SELECT t.a, s.b FROM (VALUES (1), (2)) AS t(a), LATERAL (SELECT t.a * 10) AS s(b) ORDER BY a",
        ["a", "b"],
        [[1, 10], [2, 20]],
    ),
    ("SELECT a FROM (VALUES (3), (1), (2)) AS t(a) ORDER BY a OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", ["a"], [[2]]),
]


@pytest.mark.parametrize(("sql", "names", "rows"), ROWS, ids=[sql[:60] for sql, _, _ in ROWS])
def test_rows_as_flink(sql: str, names: list[str], rows: list[list[Any]]) -> None:
    answer = ask(sql, FLINK)
    assert (answer.names, answer.rows) == (names, rows)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1/0",
        "SELECT 1 % 0",
        "SELECT 1/0.0",
        "SELECT 1.5/x FROM (VALUES (0)) AS t(x)",
        "SELECT x / (x - 1) FROM (VALUES (1)) AS t(x)",
    ],
)
def test_division_by_zero_fails(sql: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        ask(sql, FLINK)
    error = from_duckdb_error(raised.value)
    assert (error.code, error.message) == (ErrorCode.EXECUTION, "Division by zero.")


def test_division_of_doubles_by_zero_is_infinite() -> None:
    assert ask("SELECT 1e0 / 0, -1e0 / 0, 0e0 / 0", FLINK).rows == [["Infinity", "-Infinity", "NaN"]]


@pytest.mark.parametrize("sql", ["SELECT CAST('abc' AS INT)", "SELECT CAST('2024-02-30' AS DATE)", "SELECT 'a' > 1"])
def test_text_that_does_not_read_fails_while_planning(sql: str) -> None:
    with pytest.raises(BergError) as raised:
        ask(sql, FLINK)
    assert raised.value.code is ErrorCode.TYPE
    assert raised.value.span is not None


def test_text_that_does_not_read_fails_in_a_column() -> None:
    with pytest.raises(duckdb.Error) as raised:
        ask("SELECT CAST(x AS INT) FROM (VALUES ('1'), ('abc')) AS t(x)", FLINK)
    assert from_duckdb_error(raised.value).message == "'abc' cannot be cast to INT."


def test_instants_follow_the_sessions_time_zone() -> None:
    shanghai = Tables(FLINK, time_zone="Asia/Shanghai")
    sql = (
        "SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING), CAST(TO_TIMESTAMP_LTZ(0, 3) AS TIMESTAMP(0)), "
        "CAST(TIMESTAMP '1970-01-01 08:00:00' AS TIMESTAMP_LTZ(3)) = TO_TIMESTAMP_LTZ(0, 3), "
        "HOUR(TO_TIMESTAMP_LTZ(0, 3))"
    )
    assert ask(sql, FLINK, shanghai).rows == [
        ["1970-01-01 08:00:00.000", "1970-01-01 08:00:00.000000", True, 8],
    ]

"""Every function with arguments of every type: a value, or an error in our words and with a place."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.plan.query import plan_query
from bergsql.engine.rows import converted, presentable
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from tests.support.functions import functions
from tests.support.planning import FLINK, SPARK, Tables, ask, connection

VALUES = (
    "NULL", "0", "1", "-3", "2000000000", "i", "1.25", "n", "1.5E0", "-0.0E0", "f", "TRUE", "b", "''", "'%'", "'abc'",
    "'2020-02-29'", "'DAY'", "s", "CAST(NULL AS STRING)", "X'00FF'", "DATE '2020-02-29'", "d",
    "TIMESTAMP '2020-02-29 10:11:12'", "ts", "INTERVAL '1' DAY", "a", "m", "r", "texts",
)  # fmt: skip
NESTED = {
    FLINK: ("ARRAY[1, 2]", "ARRAY['a']", "MAP['k', 1]", "ROW(1, 'a')", "TIME '10:11:12'"),
    SPARK: ("array(1, 2)", "array()", "array(array(1))", "map('k', 1)", "struct(1, 'a')", "x -> x"),
}
ROW = (
    "1, 'x', DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', TRUE, 2.5E0, 1.25, "
    "ARRAY[1], ARRAY['a'], MAP['k', 1], ROW(1, 'a')"
)
COLUMNS = "i, s, d, ts, b, f, n, a, texts, m, r"
SOURCE = {
    FLINK: f"(VALUES ({ROW})) AS t({COLUMNS})",
    SPARK: f"(VALUES ({ROW.replace('ROW(', 'struct(')})) AS t({COLUMNS})",
}
CALLS_A_FUNCTION = 6
FOREIGN = re.compile(
    r"cannot be run|candidate|explicit type cast|(?<!TO_)VARCHAR|BLOB|HUGEINT|Binder|Conversion|LINE \d|quantile_|list_|struct_"
)
"""What betrays that DuckDB refused what planning should have refused."""


def calls(flavour: Flavour, seed: int) -> Iterator[str]:
    chosen = random.Random(f"{flavour.value}{seed}")
    values = VALUES + NESTED[flavour]
    for name in sorted(functions(flavour)):
        written = f"c.{name}" if name.startswith("system.") else name
        for size in (0, *(chosen.choice((1, 1, 2, 2, 3, 4)) for _ in range(CALLS_A_FUNCTION))):
            yield f"{written}({', '.join(chosen.choices(values, k=size))})"


def failure(duck: duckdb.DuckDBPyConnection, sql: str, flavour: Flavour) -> BergError | None:
    try:
        statement: Any = parse(sql, flavour)
        plan = plan_query(statement.query, Tables(flavour))
        types = [c.type for c in plan.columns]
        try:
            duck.execute(presentable(plan.sql, types))
            list(converted(iter([duck.fetchall()]), types))
        except duckdb.Error as error:
            return from_duckdb_error(error, plan)
    except BergError as error:
        return error
    return None


@pytest.mark.parametrize("flavour", [FLINK, SPARK], ids=["flink", "spark"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
def test_arguments_of_any_type(seed: int, flavour: Flavour) -> None:
    with connection() as duck:
        for call in calls(flavour, seed):
            error = failure(duck, f"SELECT {call} FROM {SOURCE[flavour]}", flavour)
            if error is not None and "OVER (…) must follow" in error.message:
                error = failure(duck, f"SELECT {call} OVER (ORDER BY i) FROM {SOURCE[flavour]}", flavour)
            if error is not None:
                assert error.code is not ErrorCode.INTERNAL, (call, error.message)
                assert not FOREIGN.search(error.message), (call, error.message)
                assert error.span is not None, (call, error.message)


STAMPS = " FROM (VALUES ('2020-02-29 10:11:12')) AS t(s)"
STAMP = "2020-02-29 10:11:12.000000"
RIGHT: list[tuple[Flavour, str, Any]] = [
    # Columns of text that become timestamps.
    (FLINK, f"CAST(s AS TIMESTAMP){STAMPS}", STAMP),
    (FLINK, f"TO_TIMESTAMP(s){STAMPS}", STAMP),
    (FLINK, "TO_TIMESTAMP('2020-02-29 10:11:12')", STAMP),
    (FLINK, f"YEAR(s){STAMPS}", 2020),
    (FLINK, f"HOUR(s){STAMPS}", 10),
    (FLINK, f"DATE_FORMAT(s, 'yyyy'){STAMPS}", "2020"),
    (SPARK, f"date_trunc('month', s){STAMPS}", "2020-02-01 00:00:00.000000"),
    (SPARK, f"date_format(s, 'yyyy'){STAMPS}", "2020"),
    # NULL where a nested value is wanted.
    (FLINK, "MAP_KEYS(NULL)", None),
    (FLINK, "CARDINALITY(NULL)", None),
    (SPARK, "array_join(NULL, ',')", None),
    (SPARK, "element_at(NULL, 1)", None),
    (SPARK, "size(NULL)", -1),
    # Separators that are no literals.
    (FLINK, "CONCAT_WS(s, 'a', 'b', NULL) FROM (VALUES ('--')) AS t(s)", "a--b"),
    (SPARK, "array_join(array('a', 'b'), s) FROM VALUES ('--') AS t(s)", "a--b"),
    (SPARK, "concat_ws('-', 'x', array(1, 2))", "x-1-2"),
    # Numbers that DuckDB would multiply as INTEGERs.
    (SPARK, "timestamp_seconds(2000000000)", "2033-05-18 03:33:20.000000"),
    (FLINK, "TO_TIMESTAMP_LTZ(2000000000, 0)", "2033-05-18 03:33:20.000000"),
    # Java's decoders do without padding.
    (FLINK, "FROM_BASE64('aGk')", "hi"),
    (SPARK, "unbase64('aG k=')", {"$hex": b"hi".hex()}),
    (SPARK, "substring(X'010203', 2)", {"$hex": "0203"}),
    (SPARK, "substring(X'010203', -2, 1)", {"$hex": "02"}),
    (SPARK, "octet_length(X'010203')", 3),
    (SPARK, "array_intersect(array(3, 1, NULL, 3), array(1, NULL, 3))", [3, 1, None]),
    (SPARK, "width_bucket(5.3, 0.2, 10.6, 5)", 3),
    (SPARK, "width_bucket(-2.1, 1.3, 3.4, 3)", 0),
    (SPARK, "width_bucket(8.1, 0.0, 5.7, 4)", 5),
    (SPARK, "width_bucket(-0.9, 5.2, 0.5, 2)", 3),
    (SPARK, "sequence(TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2020-01-01 02:00:00', INTERVAL 1 HOUR)[1]",
     "2020-01-01 01:00:00.000000"),
    # As Spark says.
    (SPARK, "corr(i, 1) FROM VALUES (1), (2) AS t(i)", None),
    (SPARK, "corr(i, i) FROM VALUES (1) AS t(i)", None),
    (SPARK, "corr(i, -i) FROM VALUES (1), (2) AS t(i)", -1.0),
    (SPARK, "CAST(array(corr(i, i), round(-0.4D), -0.0D, CAST('-0.0' AS DOUBLE), -0.0E0) AS STRING) "
     "FROM VALUES (1D), (double('NaN')) AS t(i)", "[NaN, 0.0, -0.0, -0.0, -0.0]"),
    (SPARK, "decimal(2.5)", "3"),
    (SPARK, "tinyint(300)", 44),
    (SPARK, "sha2('abc', 0)", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (SPARK, "array(repeat('a', NULL), space(NULL), rpad('a', NULL), left('a', NULL), right('a', NULL), "
     "substring('a', NULL), substring('a', 1, NULL), substring('a', -1, NULL), repeat('a', -1))", [None] * 8 + [""]),
    # Java rounds a double as the number that is written, and shifts by the low bits.
    (SPARK, "array(round(1.005D, 2), round(-1.005D, 2), bround(1.005D, 2), round(1.15D, 1), round(0.285D, 2))",
     [1.01, -1.01, 1.0, 1.2, 0.29]),
    (SPARK, "array(round(1e300D, 2), round(15D, -1), bround(25D, -1), round(123456789.125D, 2), round(2.5D), "
     "round(0.0049999999999999996D, 2), round(1.0000000050D, 8), round(1.5D, 400), round(1.5D, -400))",
     [1e300, 20.0, 20.0, 123456789.13, 3.0, 0.0, 1.00000001, 1.5, 0.0]),
    (FLINK, "ROUND(CAST(1.005 AS DOUBLE), 2)", 1.01),
    (SPARK, "array(shiftleft(1, 33), shiftleft(-1, 31), shiftleft(1, -1), shiftleft(5, 1))",
     [2, -2147483648, -2147483648, 10]),
    (SPARK, "array(shiftleft(3L, 62), shiftleft(1L, 63), shiftleft(1L, 64))", [-(1 << 62), -(1 << 63), 1]),
    (FLINK, "FLOOR(TIMESTAMP '2024-05-15 10:00:00' TO WEEK)", "2024-05-12 00:00:00.000000"),
    (FLINK, "CEIL(DATE '2024-05-13' TO WEEK)", "2024-05-19"),
    (FLINK, "FLOOR(DATE '2024-05-12' TO WEEK)", "2024-05-12"),
    (FLINK, "FROM_UNIXTIME(0, '')", ""),
    (FLINK, "FLOOR(TIME '10:11:12' TO HOUR)", "10:00:00"),
    (FLINK, "CEIL(TIME '23:30:00' TO HOUR)", "00:00:00"),
    (FLINK, "REGEXP_EXTRACT('abc', 'b', 3)", None),
    (FLINK, "REGEXP_EXTRACT('abc', '(b)', 1)", "b"),
    # What lies before the text: Flink has no piece of it, Spark the part that is in the text.
    (FLINK, "ARRAY[SUBSTR('hello', -10), SUBSTRING('hello', -10, 7), SUBSTR('hello', -3, 2), SUBSTR('hello', 0)]",
     ["", "", "ll", "hello"]),
    (FLINK, "SUBSTRING('hello' FROM 2 FOR -1)", None),
    (SPARK, "array(substr('hello', -10), substring('hello', -10, 7), substr('hello', 2, -1))", ["hello", "he", ""]),
    # The least number by -1 is itself, as in Java.
    (FLINK, "ARRAY[i / m, i % m, 7 / -1, 7 % -1] FROM (VALUES (-2147483648, -1)) AS t(i, m)", [-2147483648, 0, -7, 0]),
    (SPARK, "array(l div m, 7L div m, l % m) FROM VALUES (CAST(-9223372036854775808 AS BIGINT), -1) AS t(l, m)",
     [-(1 << 63), -7, 0]),
    (SPARK, "array(i div m, i % m, 1 div 0) FROM VALUES (CAST(NULL AS INT), -1) AS t(i, m)", [None, None, None]),
    (SPARK, "n['a'].x FROM VALUES (named_struct('a', named_struct('x', 1))) AS t(n)", 1),
    (SPARK, "upper('straße')", "STRASSE"),
    (FLINK, "LEFT('abc', CAST(NULL AS INT))", None),
    (FLINK, "LPAD('a', CAST(NULL AS INT), 'b')", None),
    (SPARK, "sequence(DATE '2020-03-02', DATE '2020-03-01')", ["2020-03-02", "2020-03-01"]),
    (SPARK, "sequence(2, 2, 0)", [2]),
    (SPARK, "length(rpad('x', 268435456))", 268435456),
    (SPARK, "lag(NULL, 1, 7) OVER (ORDER BY i) FROM VALUES (1) AS t(i)", 7),
]  # fmt: skip


@pytest.mark.parametrize(("flavour", "written", "value"), RIGHT, ids=[f"{f.value} {w}"[:60] for f, w, _ in RIGHT])
def test_values(flavour: Flavour, written: str, value: Any) -> None:
    assert ask(f"SELECT {written}", flavour).rows == [[value]]


SPAN_CASES: list[tuple[Flavour, str, ErrorCode, str, str, str]] = [
    # written, code, the words pointed at, in the message, in the hint
    (FLINK, "SELECT CEIL('abc')", ErrorCode.TYPE, "CEIL", "CEIL takes a number, not", ""),
    (FLINK, "SELECT LPAD('a', 'b')", ErrorCode.TYPE, "'b'", "LPAD takes a whole number as argument 2, not", ""),
    (FLINK, "SELECT ARRAY_INTERSECT('', '%')", ErrorCode.TYPE, "''", "takes an array as argument 1", ""),
    (FLINK, "SELECT PERCENTILE(0, '%')", ErrorCode.TYPE, "PERCENTILE", "a number from 0 to 1", ""),
    (SPARK, "SELECT percentile(0, 1.5)", ErrorCode.INVALID, "percentile", "a number from 0 to 1", ""),
    (FLINK, "SELECT CAST('１２' AS INT)", ErrorCode.TYPE, "CAST", "cannot be cast to INT", "TRY_CAST"),
    (FLINK, "SELECT １２", ErrorCode.SYNTAX, "１", "Unexpected", ""),
    (FLINK, "SELECT FLOOR(TIME '10:11:12' TO DAY)", ErrorCode.INVALID, "FLOOR", "A TIME has no DAY", ""),
    (SPARK, "SELECT regexp_extract('abc', 'b', 3)", ErrorCode.INVALID, "regexp_extract", "has 0 groups", ""),
    (SPARK, "SELECT sequence(1, 5, -1)", ErrorCode.EXECUTION, "sequence", "SEQUENCE cannot come", ""),
    (SPARK, "SELECT sequence(1, 5, 0)", ErrorCode.EXECUTION, "sequence", "by steps of 0", ""),
    (SPARK, "SELECT sequence(1, 2000000000)", ErrorCode.EXECUTION, "sequence", "2000000000 elements: more than", ""),
    (SPARK, "SELECT rpad('x', 268435457)", ErrorCode.EXECUTION, "rpad", "268435457 characters: more than", ""),
    (SPARK, "SELECT repeat('xy', 2000000000)", ErrorCode.EXECUTION, "repeat", "REPEAT would make a text of 40", ""),
    (SPARK, "SELECT space(2000000000)", ErrorCode.EXECUTION, "space", "SPACE would make", ""),
    (FLINK, "SELECT LPAD('x', 2000000000, 'ab')", ErrorCode.EXECUTION, "LPAD", "LPAD would make", ""),
    (SPARK, "SELECT format_number(-3, TRUE)", ErrorCode.TYPE, "format_number", "digits or a pattern", ""),
    (FLINK, "SELECT 1 + ABS(TRUE)", ErrorCode.TYPE, "ABS", "ABS takes a number, not BOOLEAN.", ""),
    (FLINK, "SELECT EXTRACT(FOO FROM CURRENT_DATE)", ErrorCode.INVALID, "FOO", "no unit FOO", ""),
    (FLINK, "SELECT 1 << 2", ErrorCode.UNSUPPORTED, "1 << 2", "expression << is", ""),
    (FLINK, "SELECT PARSE_JSON('{}')", ErrorCode.UNSUPPORTED, "PARSE_JSON", "The function PARSE_JSON is not", ""),
    (SPARK, "SELECT collect_lst(1)", ErrorCode.NOT_FOUND, "collect_lst", "no function", "Did you mean 'collect_list'?"),
    (SPARK, "SELECT EXISTS(TRUE)", ErrorCode.SYNTAX, "SELECT EXISTS(TRUE)", "A query must stand here", ""),
    (SPARK, "SELECT named_struct('a', 1, 'A', 2)", ErrorCode.UNSUPPORTED, "SELECT named", "two fields named 'A'", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("flavour", "sql", "code", "at", "message", "hint"), SPAN_CASES, ids=[c[1] for c in SPAN_CASES]
)
def test_refused_at_its_place(flavour: Flavour, sql: str, code: ErrorCode, at: str, message: str, hint: str) -> None:
    with connection() as duck:
        error = failure(duck, sql, flavour)
    assert error is not None
    assert error.span is not None
    assert (error.code, sql[error.span.start : error.span.end][: len(at)]) == (code, at)
    assert message in error.message
    assert hint in (error.hint or "")


NAMELESS = [(FLINK, "LOCALTIMESTAMP"), (FLINK, "localtime"), (FLINK, "CURRENT_TIME"), (SPARK, "user")]


@pytest.mark.parametrize(("flavour", "name"), NAMELESS)
def test_functions_without_parentheses(flavour: Flavour, name: str) -> None:
    assert ask(f"SELECT {name} IS NULL", flavour).rows == [[False]]
    assert ask(f"SELECT {name} FROM (VALUES (7)) AS t({name})", flavour).rows == [[7]]

"""What is wrong in a query is said with its place and a hint; DuckDB's own words never come through."""

from __future__ import annotations

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.sql.flavour import Flavour
from tests.support.planning import FLINK, SPARK, connection, plan

T = "(VALUES (1, 'a')) AS t(id, name)"
U = "(VALUES (1, 'b')) AS u(id, city)"

CASES: list[tuple[str, ErrorCode, str, str, str]] = [
    # written, code, the words pointed at, in the message, in the hint
    (f"SELECT nam FROM {T}", ErrorCode.NOT_FOUND, "nam", "Column 'nam' was not found.", "Did you mean 'name'?"),
    (f"SELECT t.nam FROM {T}", ErrorCode.NOT_FOUND, "t.nam", "Column 't.nam' was not found.", "Did you mean 'name'?"),
    (f"SELECT x.name FROM {T}", ErrorCode.NOT_FOUND, "x.name", "Column 'x.name' was not found.", "Tables here: t."),
    (f"SELECT zzz FROM {T}", ErrorCode.NOT_FOUND, "zzz", "Column 'zzz' was not found.", "Columns here: id, name."),
    (f"SELECT id FROM {T}, {U}", ErrorCode.INVALID, "id", "it is in t and in u", "Write t.id."),
    (f"SELECT u.* FROM {T}", ErrorCode.NOT_FOUND, "u", "FROM has no table 'u'.", "Tables here: t."),
    (f"SELECT uper(name) FROM {T}", ErrorCode.NOT_FOUND, "uper", "no function 'uper'", "Did you mean 'upper'?"),
    (f"SELECT upper(name, 1) FROM {T}", ErrorCode.ARITY, "upper", "UPPER takes 1 argument, not 2.", ""),
    (f"SELECT name, count(*) FROM {T}", ErrorCode.INVALID, "name", "neither in GROUP BY nor", "Add name to GROUP BY"),
    (f"SELECT * FROM {T} GROUP BY id", ErrorCode.INVALID, "*", "Column 'name' is neither in GROUP BY", ""),
    (f"SELECT id FROM {T} WHERE count(*) > 1", ErrorCode.INVALID, "count", "cannot stand in WHERE", "HAVING"),
    (f"SELECT sum(count(*)) FROM {T}", ErrorCode.INVALID, "count", "inside another one", ""),
    (
        f"SELECT id FROM {T} WHERE row_number() OVER (ORDER BY id) = 1",
        ErrorCode.INVALID,
        "row_number",
        "WHERE",
        "subquery",
    ),
    (f"SELECT row_number() FROM {T}", ErrorCode.INVALID, "row_number", "OVER (…) must follow", ""),
    (f"SELECT upper(name) OVER () FROM {T}", ErrorCode.INVALID, "upper", "no window function", ""),
    (f"SELECT id FROM {T} WHERE name", ErrorCode.TYPE, "name", "WHERE needs a condition", "Compare it"),
    (f"SELECT id + ARRAY[1] FROM {T}", ErrorCode.TYPE, "id + ARRAY[1", "'+' does not work on ARRAY", ""),
    (f"SELECT id = ARRAY[1] FROM {T}", ErrorCode.TYPE, "id = ARRAY[1", "cannot be compared with", ""),
    (f"SELECT name[1] FROM {T}", ErrorCode.TYPE, "name[1", "works on arrays and maps", ""),
    (f"SELECT id FROM {T} ORDER BY 3", ErrorCode.INVALID, "3", "ORDER BY 3: the query has 1 column.", ""),
    (f"SELECT id FROM {T} GROUP BY 2", ErrorCode.INVALID, "2", "GROUP BY 2: the query has 1 column.", ""),
    (f"SELECT id FROM {T} LIMIT -1", ErrorCode.INVALID, "1", "LIMIT takes a whole number", ""),
    ("SELECT 1 UNION SELECT 1, 2", ErrorCode.ARITY, "1, 2", "have 1 and 2 columns", ""),
    ("SELECT 1 UNION ALL SELECT ARRAY[1]", ErrorCode.TYPE, "ARRAY[1", "Column 1 of UNION is INT on one side", ""),
    ("SELECT * FROM (VALUES (1, 2), (3)) AS t(a, b)", ErrorCode.ARITY, "3", "This row has 1 values", ""),
    ("SELECT * FROM (VALUES (1, 2)) AS t(a)", ErrorCode.ARITY, "a", "'t' has 2 columns, not 1.", ""),
    ("WITH a AS (SELECT 1), a AS (SELECT 2) SELECT * FROM a", ErrorCode.INVALID, "a", "WITH names 'a' twice.", ""),
    (
        f"SELECT (SELECT id, name FROM {T})",
        ErrorCode.ARITY,
        "id, name FROM (VALUES (1, 'a')) AS t(id, name",
        "has one column, not 2",
        "",
    ),
    (f"SELECT id FROM {T} JOIN {U} USING (nme)", ErrorCode.NOT_FOUND, "nme", "not on both sides", "name"),
    ("SELECT *", ErrorCode.INVALID, "*", "SELECT * needs a FROM", ""),
    ("SELECT sum(x) OVER w FROM (VALUES (1)) AS t(x)", ErrorCode.NOT_FOUND, "w", "There is no window 'w'", "WINDOW"),
    ("SELECT CASE WHEN TRUE THEN 1 ELSE ARRAY[1] END", ErrorCode.TYPE, "1 ELSE ARRAY[1", "CASE mixes", ""),
    ("SELECT DATE '2024-02-30'", ErrorCode.TYPE, "'2024-02-30'", "is not a DATE", ""),
]


@pytest.mark.parametrize(("sql", "code", "words", "message", "hint"), CASES, ids=[c[0][:60] for c in CASES])
def test_error(sql: str, code: ErrorCode, words: str, message: str, hint: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(sql, FLINK)
    error = raised.value
    assert error.code is code
    assert message in error.message
    assert error.message.endswith(".")
    assert hint in (error.hint or "")
    assert error.span is not None
    assert sql[error.span.start : error.span.end] == words


def test_a_miss_that_differs_only_in_case_is_hinted_in_flink() -> None:
    with pytest.raises(BergError) as raised:
        plan("SELECT ID FROM (VALUES (1)) AS t(id)", FLINK)
    assert raised.value.hint == "Did you mean 'id'? Names are case-sensitive in the flink dialect."


def test_columns_have_no_case_in_spark() -> None:
    planned = plan("SELECT ID, T.Id, * FROM (VALUES (1)) AS t(iD)", SPARK)
    assert [c.name for c in planned.columns] == ["ID", "Id", "iD"]


@pytest.mark.parametrize("flavour", [FLINK, SPARK])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_parquet('x.parquet')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM pragma_version()",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM `/etc/passwd`",
        "SELECT * FROM `file.csv`",
        "SELECT * FROM duckdb_tables",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM sqlite_master",
        "SELECT getenv('HOME')",
        "SELECT getvariable('s0_files')",
        "SELECT current_setting('memory_limit')",
        "SELECT query_table('t')",
        "SELECT nextval('s')",
        "SELECT write_log('x')",
        "SELECT * FROM LATERAL read_csv('/etc/passwd') AS t(x)",
        "SELECT * FROM TABLE(read_csv('/etc/passwd'))",
        "SELECT error('x')",
    ],
)
def test_nothing_reaches_duckdbs_own_powers(sql: str, flavour: Flavour) -> None:
    with pytest.raises(BergError):
        plan(sql, flavour)


def test_python_variables_are_no_tables() -> None:
    import pyarrow as pa

    secret = pa.table({"x": [1]})
    assert secret.num_rows == 1
    with pytest.raises(BergError) as raised:
        plan("SELECT * FROM secret", FLINK)
    assert raised.value.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'a''; DROP TABLE x; --' AS `b\"; --`",
        'SELECT ROW(1) AS `r`, CAST(ROW(1) AS ROW<`a" := 2, "b` INT>) AS `x`',
        'SELECT t.`a"."b` FROM (VALUES (1)) AS t(`a"."b`)',
        "SELECT 'x\0y' AS `n\0m`",
        'SELECT * FROM (VALUES (1)) AS `t") --`(`c`)',
    ],
)
def test_quotes_stay_inside_names_and_text(sql: str) -> None:
    with connection() as duck:
        assert len(duck.execute(plan(sql, FLINK).sql).fetchall()) == 1


DUCK: list[tuple[str, ErrorCode, str]] = [
    ("SELECT CAST(x AS INTEGER) FROM (VALUES ('abc')) t(x)", ErrorCode.TYPE, "'abc' cannot be cast to INT."),
    (
        "SELECT x + x FROM (VALUES (CAST(2147483647 AS INTEGER))) t(x)",
        ErrorCode.EXECUTION,
        "A number is too large for its type.",
    ),
    ("SELECT 1 // 0", ErrorCode.EXECUTION, "Division by zero."),
    ("SELECT (SELECT x FROM range(2) t(x))", ErrorCode.EXECUTION, "A subquery that is a value gave more than one row."),
    ("SELECT CAST('2024-02-30' AS DATE)", ErrorCode.TYPE, "'2024-02-30' is no date or time that can be read."),
    ("SELECT CAST(300 AS TINYINT)", ErrorCode.EXECUTION, "The value 300 does not fit into TINYINT."),
    ("SELECT regexp_matches('a', '(')", ErrorCode.INVALID, "A regular expression cannot be read: missing )."),
    ("SELECT CAST(12345 AS DECIMAL(3,1))", ErrorCode.EXECUTION, "The value 12345 does not fit into DECIMAL(3, 1)."),
]


@pytest.mark.parametrize(("sql", "code", "message"), DUCK, ids=[d[0] for d in DUCK])
def test_duckdbs_errors_in_our_words(sql: str, code: ErrorCode, message: str) -> None:
    with connection() as duck, pytest.raises(duckdb.Error) as raised:
        duck.execute(sql).fetchall()
    error = from_duckdb_error(raised.value)
    assert (error.code, error.message) == (code, message)


def test_an_unknown_error_of_duckdbs_has_no_class_name() -> None:
    with connection() as duck, pytest.raises(duckdb.Error) as raised:
        duck.execute("SELECT nothing_like_this(1)")
    error = from_duckdb_error(raised.value)
    assert "Error" not in error.message
    assert "\n" not in error.message
    assert error.message.endswith(".")


def test_a_value_that_fails_is_pointed_at() -> None:
    sql = "SELECT CAST(x AS INT) FROM (VALUES ('7'), ('xyz')) AS t(x)"
    planned = plan(sql, FLINK)
    with connection() as duck, pytest.raises(duckdb.Error) as raised:
        duck.execute(planned.sql).fetchall()
    error = from_duckdb_error(raised.value, planned)
    assert error.span is not None
    assert sql[error.span.start : error.span.end] == "CAST(x AS INT"


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        ("SELECT * FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))", "SESSION"),
    ],
)
def test_forms_of_later_issues_are_refused_by_name(sql: str, form: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(sql, FLINK)
    assert form in raised.value.message


def test_nesting_of_some_depth_is_planned() -> None:
    # The SQL grows with the depth, not with its power.
    assert plan("SELECT " + "upper(" * 30 + "'a'" + ")" * 30, FLINK).sql.count("upper(") <= 60


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(BergError) as raised:
        plan("SELECT " + "upper(" * 5000 + "'a'" + ")" * 5000, FLINK)
    assert "nested too deeply" in raised.value.message
    assert raised.value.span is not None
    assert raised.value.hint is not None


def test_null_in_a_column_that_is_not_null() -> None:
    """Of a stream's sink as of a table."""
    error = from_duckdb_error(duckdb.InvalidInputException("Invalid Input Error: \u2205n"))
    assert error.message == "Column 'n' is NOT NULL, and a row has NULL in it."
    text = from_duckdb_error(duckdb.ConversionException("Conversion Error: Could not convert string '\u2205' to INT32"))
    assert text.message == "'\u2205' cannot be cast to INT."

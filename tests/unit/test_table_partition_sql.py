"""Partition transforms in SQL give what the specification's transforms give, for every type and awkward value."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.metadata.partition_text import value_text
from bergsql.catalog.metadata.transforms import DAY, HOUR, IDENTITY, MONTH, VOID, YEAR, Transform, bucket, truncate
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.table.partition_sql import Partitioned, with_partition_keys

DUCKDB = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal(9, 2)": "DECIMAL(9, 2)",
    "decimal(18, 18)": "DECIMAL(18, 18)",
    "decimal(38, 10)": "DECIMAL(38, 10)",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz_ns": "TIMESTAMPTZ_NS",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
    "fixed[5]": "BLOB",
}
TRANSFORMS = (
    IDENTITY,
    bucket(1),
    bucket(16),
    bucket(2**31 - 1),
    truncate(1),
    truncate(3),
    truncate(10),
    truncate(1_500_000_000),
    truncate(2**31 - 1),
    YEAR,
    MONTH,
    DAY,
    HOUR,
    VOID,
)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
NANOS = st.integers(-(2**62), 2**62)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))


VALUES: dict[str, st.SearchStrategy[object]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1) | st.integers(-(2**31), -(2**31) + 9),
    "long": st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**63), -(2**63) + 9),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "decimal(9, 2)": decimals(9, 2),
    "decimal(18, 18)": decimals(18, 18),
    "decimal(38, 10)": decimals(38, 10),
    "date": st.dates(),
    "time": st.times(),
    "timestamp": MOMENTS,
    "timestamptz": MOMENTS,
    "timestamp_ns": NANOS,
    "timestamptz_ns": NANOS,
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    "uuid": st.uuids(allow_nil=True),
    "binary": st.binary(max_size=60),
    "fixed[5]": st.binary(min_size=5, max_size=5),
}
CASES = [(name, transform) for name in DUCKDB for transform in TRANSFORMS if transform.can_apply(parse_type(name))]


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Shanghai'")  # no transform may depend on it
    return connection


def literal(name: str, value: object) -> str:
    """A value as SQL of its column's type, without help from DuckDB's own conversions of Python values."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"unhex('{value.hex()}')"
        case int() if name == "timestamp_ns":
            return f"make_timestamp_ns({value})"
        case int() if name == "timestamptz_ns":
            return f"(CAST(make_timestamp_ns({value}) AS VARCHAR) || '+00')"
        case datetime() if name == "timestamptz":
            return f"'{value.isoformat(' ')}+00'"
        case datetime() | date() | time():
            return f"'{value}'"
        case float():
            return f"'{value!r}'"
        case bool() | int() | Decimal():
            return f"{value:f}" if isinstance(value, Decimal) else str(value)
        case _:
            return f"decode(unhex('{str(value).encode().hex()}'))"


def keys_of(
    connection: duckdb.DuckDBPyConnection, name: str, transform: Transform, values: list[object]
) -> list[object]:
    rows = ", ".join(f"({i}, CAST({literal(name, v)} AS {DUCKDB[name]}))" for i, v in enumerate(values))
    sql, (key,) = with_partition_keys(
        f"(SELECT * FROM (VALUES {rows}) AS v(i, c))", [Partitioned(transform, "c", parse_type(name))], "p_"
    )
    texts = connection.execute(f"SELECT CAST({key.column} AS VARCHAR) FROM {sql} ORDER BY i").fetchall()
    return [None if text is None else key.decode(text) for (text,) in texts]


@pytest.mark.parametrize(("name", "transform"), CASES, ids=[f"{n}-{t}" for n, t in CASES])
def test_sql_gives_the_specified_values(connection: duckdb.DuckDBPyConnection, name: str, transform: Transform) -> None:
    t = parse_type(name)

    @settings(max_examples=12, deadline=None)
    @given(st.lists(VALUES[name], min_size=1, max_size=12))
    def check(values: list[object]) -> None:
        found = keys_of(connection, name, transform, [*values, None])
        wanted = [*(transform.apply(to_internal(t, v), t) for v in values), None]
        assert [repr(v) for v in found] == [repr(v) for v in wanted]

    check()


@pytest.mark.parametrize(
    ("name", "value", "hashed"),
    [
        # The table in the specification's Appendix B.
        ("int", 34, 2017239379),
        ("long", 34, 2017239379),
        ("decimal(9, 2)", Decimal("14.20"), -500754589),
        ("date", date(2017, 11, 16), -653330422),
        ("time", time(22, 31, 8), -662762989),
        ("timestamp", datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("timestamptz", datetime(2017, 11, 17, 6, 31, 8) - timedelta(hours=8), -2047944441),
        ("timestamp", datetime(2017, 11, 16, 22, 31, 8, 1), -1207196810),
        ("string", "iceberg", 1210000089),
        ("uuid", UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340),
        ("binary", b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_bucket_hashes_of_the_specification(
    connection: duckdb.DuckDBPyConnection, name: str, value: object, hashed: int
) -> None:
    most = 2**31 - 1
    assert keys_of(connection, name, bucket(most), [value]) == [(hashed & most) % most]


@pytest.mark.parametrize("size", [*range(34), 100, 1023])
def test_text_of_every_length_is_hashed(connection: duckdb.DuckDBPyConnection, size: int) -> None:
    rng = random.Random(size)
    text = "".join(rng.choice("abcXYZ0189 -") for _ in range(size))
    t = parse_type("string")
    assert keys_of(connection, "string", bucket(1000), [text]) == [bucket(1000).apply(text, t)]


@pytest.mark.parametrize(
    "text", ["", "null", "NULL", "__HIVE_DEFAULT_PARTITION__", "a/b=c%", "上海", " ", "a\nb", "\0"]
)
def test_awkward_text_is_its_own_key(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    assert keys_of(connection, "string", IDENTITY, [text]) == [text]


def test_floats_that_are_equal_but_not_the_same_stay_apart(connection: duckdb.DuckDBPyConnection) -> None:
    found = keys_of(connection, "double", IDENTITY, [0.0, -0.0, float("nan"), float("inf")])
    assert list(map(repr, found)) == ["0.0", "-0.0", "nan", "inf"]


def test_days_before_1970_read_as_dates(connection: duckdb.DuckDBPyConnection) -> None:
    (day,) = keys_of(connection, "timestamp", DAY, [datetime(1969, 12, 31, 23, 59, 59)])
    assert value_text(DAY, parse_type("timestamp"), day) == "1969-12-31"

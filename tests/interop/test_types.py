"""Each type: the real Spark reads what bergsql wrote, column statistics included."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.conftest import Both
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop

SPARK_COLUMNS = """
  id int, b boolean, ti tinyint, si smallint, l bigint, f float, d double, d5 decimal(5,1), d18 decimal(18,6), d38 decimal(38,10),
  s string, vc varchar(5), ch char(3), bin binary, da date, ts timestamp, tn timestamp_ntz,
  ar array<int>, m map<string,bigint>, st struct<a:int,b:string>, deep array<struct<x:int,y:map<string,array<double>>>>
"""
SPARK_VALUES = """
  (1, true, 1, 300, 9223372036854775807, 1.5, 2.25, 12.5, 0.000001, 1234567890123456789.0123456789,
   'zs', 'vchar', 'abc', X'00ff', date'2024-02-29', timestamp'2024-02-29 12:34:56.789', timestamp_ntz'2024-02-29 12:34:56.000001',
   array(1, null, 3), map('k', 1, 'n', null), named_struct('a', 7, 'b', '中文'), array(named_struct('x', 1, 'y', map('p', array(1.5D, null))))),
  (2, false, -128, -32768, -9223372036854775808, cast('NaN' as float), cast('-Infinity' as double), -9999.9, -999999999999.999999, -0.0000000001,
   '', '', 'x', X'', date'0001-01-01', timestamp'1969-12-31 23:59:59.999999', timestamp_ntz'0001-01-01 00:00:00',
   array(), map(), named_struct('a', null, 'b', null), array()),
  (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
  (4, true, 127, 32767, 0, 0.25, 0.0, 0.0, 0.0, 0.0, 'a string that is longer than sixteen characters', 'z', 'zzz',
   X'ffffffffffffffffffffffffffffffffffff', date'9999-12-31', timestamp'9999-12-31 23:59:59.999999', timestamp_ntz'9999-12-31 23:59:59.999999',
   array(-1), map('', 0), named_struct('a', -1, 'b', ''), array(named_struct('x', null, 'y', null), null))
"""
SPARK_ROWS: list[list[Any]] = [
    [
        *(1, True, 1, 300, 9223372036854775807, 1.5, 2.25, "12.5", "0.000001", "1234567890123456789.0123456789"),
        *(
            "zs",
            "vchar",
            "abc",
            {"$hex": "00ff"},
            "2024-02-29",
            "2024-02-29 12:34:56.789000",
            "2024-02-29 12:34:56.000001",
        ),
        *(
            [1, None, 3],
            {"$map": [["k", 1], ["n", None]]},
            {"a": 7, "b": "中文"},
            [{"x": 1, "y": {"$map": [["p", [1.5, None]]]}}],
        ),
    ],
    [
        *(
            2,
            False,
            -128,
            -32768,
            -9223372036854775808,
            "NaN",
            "-Infinity",
            "-9999.9",
            "-999999999999.999999",
            "-0.0000000001",
        ),
        *("", "", "x", {"$hex": ""}, "0001-01-01", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00.000000"),
        *([], {"$map": []}, {"a": None, "b": None}, []),
    ],
    [3, *[None] * 20],
    [
        *(4, True, 127, 32767, 0, 0.25, 0.0, "0.0", "0.000000", "0.0000000000"),
        *("a string that is longer than sixteen characters", "z", "zzz", {"$hex": "ff" * 18}, "9999-12-31"),
        *("9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
        *([-1], {"$map": [["", 0]]}, {"a": -1, "b": ""}, [{"x": None, "y": None}, None]),
    ],
]

FLINK_COLUMNS = """
  b BOOLEAN, ti TINYINT, si SMALLINT, i INT NOT NULL COMMENT 'a key', bi BIGINT, f FLOAT, d DOUBLE, de DECIMAL(10, 2), c CHAR(3), v VARCHAR(5),
  s STRING, bin BINARY(2), vb BYTES, da DATE, ts TIMESTAMP(6), tl TIMESTAMP_LTZ(6), ar ARRAY<INT>, m MAP<STRING, INT>, r ROW<a INT, b ROW<c STRING>>,
  PRIMARY KEY (i) NOT ENFORCED
"""
FLINK_VALUES = """
  (TRUE, CAST(1 AS TINYINT), CAST(2 AS SMALLINT), 3, CAST(4 AS BIGINT), CAST(5.5 AS FLOAT), CAST(6.25 AS DOUBLE), 7.10, 'abc', '中文', 'it''s',
   X'0102', X'ff', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56.789', CAST(TIMESTAMP '2024-02-29 12:34:56' AS TIMESTAMP_LTZ(6)),
   ARRAY[1, 2], MAP['k', 1], ROW(1, ROW('x')))
"""
FLINK_ROW: list[Any] = [
    *(True, 1, 2, 3, 4, 5.5, 6.25, "7.10", "abc", "中文", "it's", {"$hex": "0102"}, {"$hex": "ff"}, "2024-02-29"),
    *(
        "2024-02-29 12:34:56.789000",
        "2024-02-29 12:34:56.000000",
        [1, 2],
        {"$map": [["k", 1]]},
        {"a": 1, "b": {"c": "x"}},
    ),
]


@pytest.fixture(scope="module")
def spark_table(both: Both) -> str:
    """A table of all types, made by bergsql with Spark's words."""
    both.run(
        [
            f"create table both.types.s ({SPARK_COLUMNS}) using iceberg",
            f"insert into both.types.s values {SPARK_VALUES}",
        ]
    )
    return "both.types.s"


def test_spark_reads_every_type(both: Both, spark_table: str) -> None:
    told = both.spark.sql(f"select * from {spark_table}")
    assert as_multiset(told.rows) == as_multiset(SPARK_ROWS)
    assert as_multiset(both.rows(f"select * from {spark_table}")) == as_multiset(SPARK_ROWS)


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_every_type_in_every_version(both: Both, version: str) -> None:
    """Written by the one, by the other, and read by both. (Of version 3's own types Spark 3.5 knows none: variants,
    geometries, nanoseconds and unknown columns are tested with files put together by hand.)"""
    table = f"both.types.theirs_{version}"
    made = f"create table {table} ({SPARK_COLUMNS}) using iceberg tblproperties ('format-version'='{version}')"
    both.spark.sql(made)
    both.spark.sql(f"insert into {table} values {SPARK_VALUES}")
    assert as_multiset(both.rows(f"select * from {table}")) == as_multiset(SPARK_ROWS)
    both.run([f"insert into {table} select * from {table}"])
    twice = as_multiset(SPARK_ROWS + SPARK_ROWS)
    assert as_multiset(both.spark.sql(f"select * from {table}").rows) == twice
    assert as_multiset(both.rows(f"select * from {table}")) == twice


def test_column_statistics_are_those_of_spark(both: Both, spark_table: str) -> None:
    """Counts, NULLs, NaNs and bounds (strings cut at 16) of one file with the same rows."""
    both.spark.sql(f"create table both.types.bounds ({SPARK_COLUMNS}) using iceberg")
    both.spark.sql(f"insert into both.types.bounds select /*+ coalesce(1) */ * from {spark_table}")
    ours, theirs = (_metrics(both, t) for t in (spark_table, "both.types.bounds"))
    assert ours == theirs


def _metrics(both: Both, table: str) -> dict[str, Any]:
    ((metrics, counts, nulls, nans, lower, upper),) = both.spark.rows(
        "select readable_metrics, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds"
        f" from {table}.files"
    )
    readable = {column: {k: v for k, v in told.items() if k != "column_size"} for column, told in metrics.items()}
    maps = {"counts": counts, "nulls": nulls, "nans": nans, "lower": lower, "upper": upper}
    return {"readable": readable} | {k: sorted(v["$map"]) for k, v in maps.items()}


def test_spark_reads_flinks_types(both: Both) -> None:
    both.run(
        [f"CREATE TABLE both.types.f ({FLINK_COLUMNS})", f"INSERT INTO both.types.f VALUES {FLINK_VALUES}"], "flink"
    )
    told = both.spark.sql("select * from both.types.f")
    assert as_multiset(told.rows) == as_multiset([FLINK_ROW])
    assert as_multiset(both.rows("SELECT * FROM both.types.f", "flink")) == as_multiset([FLINK_ROW])
    assert dict(zip(told.columns, told.types, strict=True))["ts"] == "timestamp_ntz"
    assert dict(zip(told.columns, told.types, strict=True))["tl"] == "timestamp"


def test_spark_sees_what_flinks_ddl_declares(both: Both) -> None:
    both.run(
        [
            "CREATE TABLE both.types.declared (id BIGINT NOT NULL COMMENT 'the id', name STRING, day DATE, ts TIMESTAMP_LTZ(6),"
            " PRIMARY KEY (id) NOT ENFORCED) COMMENT 'a table' PARTITIONED BY (day, bucket(4, id), hours(ts))"
            " WITH ('format-version'='2', 'write.format.default'='parquet', 'my.key'='my value')"
        ],
        "flink",
    )
    described = {row[0]: row[1:] for row in both.spark.rows("describe extended both.types.declared")}
    assert described["id"] == ["bigint", "the id"]
    assert [described[f"Part {n}"][0] for n in range(3)] == ["day", "bucket(4, id)", "hours(ts)"]
    assert described["Comment"][0] == "a table"
    properties = dict(both.spark.rows("show tblproperties both.types.declared"))
    assert properties["my.key"] == "my value"
    assert properties["format-version"] == "2"
    assert properties["identifier-fields"] == "[id]"

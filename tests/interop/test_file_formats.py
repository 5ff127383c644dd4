"""Avro and ORC data files: the real Spark reads ours, we read Spark's, and both write into one table."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop

COLUMNS = (
    "id INT NOT NULL, bo BOOLEAN, l BIGINT, f FLOAT, d DOUBLE, d9 DECIMAL(9, 2), d18 DECIMAL(18, 6), d38 DECIMAL(38, 10), "
    "dt DATE, tz TIMESTAMP, ntz TIMESTAMP_NTZ, s STRING, b BINARY, arr ARRAY<STRING>, "
    "m MAP<STRING, DECIMAL(5, 1)>, mi MAP<INT, STRUCT<x: INT, y: ARRAY<DATE>>>, st STRUCT<a: INT, b: STRUCT<c: STRING>>, "
    "`数 量` INT"
)
ROWS = (
    "(1, true, 9223372036854775807L, CAST(1.5 AS FLOAT), CAST('NaN' AS DOUBLE), 9999999.99, -0.000001, "
    "CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38, 10)), DATE'9999-12-31', "
    "TIMESTAMP'2024-02-29 12:34:56.123456', TIMESTAMP_NTZ'1965-01-01 00:00:00.999999', 'héllo 😀', X'00FF', "
    "array('a', NULL, ''), map('k', 1.5, 'z', NULL), map(1, named_struct('x', 1, 'y', array(DATE'2024-01-01', NULL))), "
    "named_struct('a', 1, 'b', named_struct('c', 'x')), 7)",
    "(2, false, -9223372036854775807L, CAST('-Infinity' AS FLOAT), CAST(-0.0 AS DOUBLE), -0.01, 0, 0, DATE'0001-01-01', "
    "TIMESTAMP'1700-01-01 00:00:00', TIMESTAMP_NTZ'2200-01-01 00:00:00.000001', '', X'', array(), map(), map(), "
    "named_struct('a', NULL, 'b', NULL), -7)",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
)
CODECS = [
    *(("avro", f"'write.avro.compression-codec'='{c}'") for c in ("gzip", "zstd", "snappy", "uncompressed")),
    *(("orc", f"'write.orc.compression-codec'='{c}'") for c in ("zlib", "zstd", "snappy", "lz4", "none")),
]


def table(file_format: str, codec: str, who: str) -> str:
    return f"both.formats.{who}_{file_format}_{''.join(filter(str.isalnum, codec.rpartition('=')[2]))}"


@pytest.mark.parametrize(("file_format", "codec"), CODECS)
def test_each_reads_the_others_files(both: Both, file_format: str, codec: str) -> None:
    properties = f"TBLPROPERTIES ('write.format.default'='{file_format}', {codec})"
    both.spark.sql("CREATE NAMESPACE IF NOT EXISTS both.formats")
    ours, theirs = (table(file_format, codec, who) for who in ("ours", "theirs"))
    create = f"({COLUMNS}) USING iceberg PARTITIONED BY (bucket(2, id)) {properties}"
    insert = f"VALUES {', '.join(ROWS)}"
    both.run([f"CREATE TABLE {ours} {create}", f"INSERT INTO {ours} {insert}"])
    both.spark.sql(f"CREATE TABLE {theirs} {create}")
    both.spark.sql(f"INSERT INTO {theirs} {insert}")
    rows = both.spark.rows(f"SELECT * FROM {theirs} ORDER BY id")
    assert as_multiset(both.spark.rows(f"SELECT * FROM {ours} ORDER BY id")) == as_multiset(rows)
    assert as_multiset(both.rows(f"SELECT * FROM {theirs} ORDER BY id")) == as_multiset(rows)
    assert as_multiset(both.rows(f"SELECT * FROM {ours} ORDER BY id")) == as_multiset(rows)
    formats = both.spark.rows(f"SELECT DISTINCT file_format FROM {ours}.files")
    assert formats == [[file_format.upper()]]
    for query in (
        "id = 1",
        "s = 'héllo 😀'",
        "d9 < 0",
        "tz < TIMESTAMP'1800-01-01 00:00:00'",
        "dt IS NULL",
        "isnan(d)",
    ):
        wanted = both.spark.rows(f"SELECT id FROM {theirs} WHERE {query}")
        assert both.spark.rows(f"SELECT id FROM {ours} WHERE {query}") == wanted, query
        assert both.rows(f"SELECT id FROM {theirs} WHERE {query}") == wanted, query


def test_both_write_all_formats_into_one_table(both: Both) -> None:
    name = "both.formats.mixed"
    both.spark.sql("CREATE NAMESPACE IF NOT EXISTS both.formats")
    both.run([f"CREATE TABLE {name} (id INT, name STRING, st STRUCT<a: INT, b: STRING>, gone INT)"])
    number = 0
    for file_format in ("avro", "orc", "parquet"):
        both.run([f"ALTER TABLE {name} SET TBLPROPERTIES ('write.format.default'='{file_format}')"])
        for run in (both.spark.sql, lambda sql: both.run([sql])):
            run(f"INSERT INTO {name} VALUES ({number}, 'n{number}', named_struct('a', {number}, 'b', 'b'), 9)")
            number += 1
    both.spark.sql(f"REFRESH TABLE {name}")
    for change in (
        "RENAME COLUMN name TO called",
        "RENAME COLUMN st.a TO aa",
        "ALTER COLUMN id TYPE BIGINT",
        "DROP COLUMN gone",
        "ADD COLUMN st.c DOUBLE FIRST",
        "ADD COLUMN gone STRING",
    ):
        both.spark.sql(f"ALTER TABLE {name} {change}")
    wanted = [[i, f"n{i}", {"c": None, "aa": i, "b": "b"}, None] for i in range(number)]
    assert both.spark.rows(f"SELECT * FROM {name} ORDER BY id") == wanted
    assert both.rows(f"SELECT * FROM {name} ORDER BY id") == wanted

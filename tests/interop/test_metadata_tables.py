"""Metadata tables: columns, types and rows are the real Spark's, whoever wrote the table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.interop.conftest import Both
from tests.support.answers import Answer
from tests.support.oracle import as_multiset
from tests.support.reference_tables import PLACE, laid_out
from tests.support.spark import SparkAnswer, SparkError

pytestmark = pytest.mark.interop

NAMES = (
    *("snapshots", "history", "metadata_log_entries", "refs"),
    *("files", "data_files", "delete_files", "all_files", "all_data_files", "all_delete_files"),
    *("entries", "all_entries", "manifests", "all_manifests", "partitions"),
    "position_deletes",
)
REFERENCE = {
    "fx.all_types_avro": "files without statistics, list and map columns",
    "fx.branches_tags": "references of all kinds",
    "fx.compacted": "entries of deleted files, a replace",
    "fx.emptied_table": "a snapshot without files",
    "fx.empty_table": "no snapshot",
    "fx.eq_deletes_schema_evolved": "equality deletes",
    "fx.partition_evolved": "several specs",
    "fx.partition_special_chars": "partition values of any text",
    "fx.partition_transforms": "all transforms",
    "fx.schema_evolved": "columns renamed and dropped",
    "fx.v1_partitioned": "format version 1",
    "fx.v2_pos_deletes": "position deletes",
    "fx.v3_deletion_vectors": "deletion vectors",
    "fx.v3_defaults": "first row ids",
    "flk.upsert_partitioned": "upserts of Flink",
    "flk.upsert_v3": "Flink's deletion vectors",
}
OURS = [
    "CREATE DATABASE both.meta",
    """CREATE TABLE both.meta.nest (id bigint, s struct<a:int,b:struct<c:string,d:double>>,
      l array<struct<x:int,y:string>>, m map<string,struct<k:bigint>>, dec decimal(9,2), da date, ts timestamp, tn timestamp_ntz,
      bin binary, f float, bo boolean) USING iceberg PARTITIONED BY (bucket(4, id), days(ts))""",
    """INSERT INTO both.meta.nest VALUES
      (1, struct(1, struct('x', 1.5D)), array(struct(1, 'a')), map('k', struct(5L)), 1.25, date'2024-02-29',
       timestamp'2024-02-29 10:11:12.123456', timestamp_ntz'2024-01-01 00:00:00', X'00ff', cast('NaN' as float), true),
      (2, null, null, null, null, null, null, null, null, null, null)""",
    "ALTER TABLE both.meta.nest ADD PARTITION FIELD truncate(2, s.b.c) AS begins",
    "ALTER TABLE both.meta.nest DROP PARTITION FIELD days(ts)",
    "ALTER TABLE both.meta.nest ADD COLUMNS (added string)",
    """INSERT INTO both.meta.nest VALUES (3, struct(null, struct('yes', double('NaN'))), array(), map(), -1.25, null,
       timestamp'1960-02-29 10:11:12.123456', timestamp_ntz'1960-01-01 00:00:00.000001', X'', cast('-0.0' as float),
       false, 'a long text that is cut after sixteen characters')""",
    """CREATE TABLE both.meta.v3 (id int, c string, v double) USING iceberg PARTITIONED BY (c)
      TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')""",
    "INSERT INTO both.meta.v3 SELECT id, concat('c', id % 2), id FROM range(10)",
    "INSERT INTO both.meta.v3 SELECT id, concat('c', id % 3), id FROM range(10, 16)",
    "CREATE TABLE both.meta.v1 (id int, g string) USING iceberg PARTITIONED BY (g) TBLPROPERTIES ('format-version'='1')",
    "INSERT INTO both.meta.v1 VALUES (1, 'a'), (2, 'c')",
    "ALTER TABLE both.meta.v1 DROP PARTITION FIELD g",
    "INSERT INTO both.meta.v1 VALUES (3, 'b')",
    "CREATE TABLE both.meta.plain (id int, v string) USING iceberg",
    "INSERT INTO both.meta.plain VALUES (1, 'a')",
    "INSERT OVERWRITE both.meta.plain VALUES (2, 'b')",
]
"""Tables that bergsql makes and fills,"""
THEIRS = [
    "DELETE FROM both.meta.v3 WHERE id IN (1, 2, 3)",
    "DELETE FROM both.meta.v3 WHERE c = 'c2'",
    "ALTER TABLE both.meta.plain CREATE TAG first_one AS OF VERSION {first} RETAIN 5 DAYS",
    "INSERT INTO both.meta.plain VALUES (3, 'c')",
]
"""and what Spark then does to them."""
SPARK_FAILS = {("reference.fx.all_types_avro", "position_deletes")}
"""Where Spark itself fails: it takes a list within ``row`` for a partition field."""
TABLES = [*(f"reference.{name}" for name in REFERENCE), *(f"both.meta.{t}" for t in ("nest", "v3", "v1", "plain"))]


class Shown(NamedTuple):
    """A metadata table: its columns with their types, and its rows in whatever order."""

    columns: list[tuple[str, str]]
    rows: list[str]


@pytest.fixture(scope="module")
def tables(both: Both) -> Both:
    """Both engines on the reference tables, in a catalog ``reference``, and on tables of their own."""
    laid_out(*(name.partition(".")[2] for name in REFERENCE))
    both.spark.add_catalog("reference", PLACE)
    both.run(OURS)
    ((first,),) = both.rows("SELECT min_by(snapshot_id, committed_at) FROM both.meta.plain.snapshots")
    for statement in THEIRS:
        both.spark.sql(statement.format(first=first))
    return both


@pytest.fixture(scope="module")
def ours(tables: Both) -> Mapping[str, Shown]:
    """What bergsql shows of all metadata tables, by their names."""
    catalog = f"CREATE CATALOG reference WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{PLACE}')"
    names = [f"{table}.{name}" for table in TABLES for name in NAMES]
    queries = [f"SELECT * FROM {name}" for name in names]
    answers = tables.answers([catalog, *queries, *(f"DESCRIBE QUERY {query}" for query in queries)])[1:]
    found = zip(names, answers[: len(names)], answers[len(names) :], strict=True)
    return {name: shown_by_us(rows, columns) for name, rows, columns in found}


def shown_by_us(rows: Answer, columns: Answer) -> Shown:
    for answer in (rows, columns):
        assert not answer.errors, answer.errors[0]
    described = [(str(c["col_name"]), str(c["data_type"])) for c in columns.json_rows()]
    return Shown([(n, with_text(t)) for n, t in described], comparable([list(r.values()) for r in rows.json_rows()]))


def with_text(type_name: str) -> str:
    """A type as Spark has it, for which a UUID is text."""
    return re.sub(r"\buuid\b", "string", type_name)


def shown_by_spark(answer: SparkAnswer) -> Shown:
    return Shown(list(zip(answer.columns, answer.types, strict=True)), comparable(answer.rows))


def comparable(rows: list[list[object]]) -> list[str]:
    """The rows without the scheme of local paths, which the catalogs spell in their own ways."""
    return [re.sub(r'"file:/+', '"/', row) for row in as_multiset(rows)]


@pytest.mark.parametrize("table", TABLES)
def test_metadata_tables_are_sparks(table: str, tables: Both, ours: Mapping[str, Shown]) -> None:
    for name in NAMES:
        if (table, name) in SPARK_FAILS:
            continue
        theirs = shown_by_spark(tables.spark.sql(f"SELECT * FROM {table}.{name}"))
        mine = ours[f"{table}.{name}"]
        assert mine.columns == theirs.columns, name
        assert mine.rows == theirs.rows, name


@pytest.mark.parametrize("table", ["nest", "v3", "plain"])
def test_states_of_a_table_are_sparks(table: str, tables: Both) -> None:
    query = f"SELECT snapshot_id FROM both.meta.{table}.snapshots ORDER BY committed_at"
    snapshots = [row[0] for row in tables.spark.rows(query)]
    asked = [
        f"SELECT * FROM both.meta.{table}.{name} VERSION AS OF {snapshot}"
        for name in NAMES
        for snapshot in snapshots[:2]
    ]
    answers = tables.answers(asked)
    for statement, answer in zip(asked, answers, strict=True):
        if ".all_" in statement:
            with pytest.raises(SparkError, match="Cannot select snapshot in table"):
                tables.spark.sql(statement)
            assert "is of all snapshots" in answer.errors[0].message
            continue
        assert not answer.errors, answer.errors[0]
        mine = comparable([list(row.values()) for row in answer.json_rows()])
        assert mine == comparable(tables.spark.rows(statement)), statement


@pytest.mark.usefixtures("ours")
def test_each_table_has_rows_in_some_case(ours: Mapping[str, Shown]) -> None:
    assert {name for name in NAMES if any(s.rows for full, s in ours.items() if full.endswith(f".{name}"))} == set(
        NAMES
    )


def test_docs_of_columns_are_sparks(tables: Both) -> None:
    for name in NAMES:
        query = f"DESCRIBE both.meta.v3.{name}"
        told = tables.spark.rows(query)
        mine = tables.rows(query)
        assert json.dumps(mine) == json.dumps(told[: len(mine)]), name  # Spark tells the partitions behind them

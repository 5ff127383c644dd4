"""The reference tables that Spark and Flink wrote: bergsql gives the same rows (tables without delete files)."""

from __future__ import annotations

import fcntl
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.berg import Berg, fresh_berg
from tests.support.oracle import as_multiset, in_order
from tests.support.shared import shared

PLACE = Path("/tmp/iceberg-fixtures")
"""Where the tables' own metadata says they lie."""
LATER = {
    "eq_deletes": "equality deletes",
    "eq_deletes_avro": "equality deletes",
    "eq_deletes_partitioned_flink_upsert": "equality deletes",
    "eq_deletes_schema_evolved": "equality deletes",
    "v2_avro_pos_deletes": "position deletes",
    "v2_mor_update_merge": "position deletes",
    "v2_pos_deletes": "position deletes",
    "v3_deletion_vectors": "deletion vectors",
    "all_types_avro": "position deletes",
    "changelog_groupby": "equality deletes",
    "composite_key": "equality deletes",
    "upsert_avro": "equality deletes",
    "upsert_partitioned": "equality deletes",
    "upsert_pk": "equality deletes",
    "upsert_v3": "equality deletes",
    "compacted": "position deletes",
    "pk_insert_only": "position deletes",
}
"""Tables that need what a later issue brings: until then they are refused by name."""
NOT_YET = re.compile(
    r"\.(files|snapshots|history|manifests|entries|metadata_log_entries|all_[a-z]+_?[a-z]*|partitions|refs|data_files"
    r"|delete_files|position_deletes)\b(?!\.)|\b_(file|pos|partition|spec_id|deleted)\b|\.`?(branch|tag)_| as of "
)
"""Metadata tables and columns, branches and time travel: queries that a later issue answers."""


def described(engine: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(shared("oracle", engine, "tables").glob("*.json"))}


TABLES = described("spark") | described("flink")
WITHOUT_SPARK: dict[str, list[list[object]]] = {
    "time_and_ns_types": [
        [1, "23:59:59.999999", "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56.123456"],
        [2, "00:00:00", None, None],
        [3, None, None, None],
    ],
    "v3_many_types": [],
}
"""Tables that Spark cannot load: the rows that Iceberg's own Java readers gave, in the oracle's writing."""


@pytest.fixture(scope="module")
def reader() -> Iterator[Berg]:
    """A bergsql whose catalog ``hadoop_prod`` holds the tables. They are laid out once, even with several workers."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / ".lock").open("w") as lock, fresh_berg("--dialect", "spark") as berg:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in TABLES.values():
            with tarfile.open(path.with_suffix(".tar.xz")) as tar:
                tar.extractall(PLACE, filter="data")
        yield berg


def queries(name: str) -> list[dict[str, Any]]:
    """The plain SELECTs of a table with the rows that are right: Flink's where Spark failed."""
    told = json.loads(TABLES[name].read_text(encoding="utf-8"))
    chosen = []
    for query in told["queries"]:
        if "error" in query and "rows" in query.get("flink", {}):
            query = {"sql": query["sql"], "rows": query["flink"]["rows"]}
        sql = str(query.get("sql", "")).lower().replace(told["table"], "t")
        if "rows" in query and "error" not in query and sql.startswith("select") and not NOT_YET.search(sql):
            chosen.append(query)
    return chosen


def catalog(name: str) -> list[str]:
    warehouse = PLACE / "plainwh" if name == "plain_path_location" else PLACE
    return [
        "--conf=spark.sql.catalog.hadoop_prod=org.apache.iceberg.spark.SparkCatalog",
        "--conf=spark.sql.catalog.hadoop_prod.type=hadoop",
        f"--conf=spark.sql.catalog.hadoop_prod.warehouse={warehouse}",
        "--format=jsonl",
    ]


def as_spark_text(value: object) -> object:
    """A timestamp of microseconds as Spark writes it in text: without zeros at the end."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", value):
        return value.rstrip("0").rstrip(".")
    return value


@pytest.mark.parametrize("name", sorted(TABLES.keys() - LATER.keys() - WITHOUT_SPARK.keys()))
def test_rows_are_the_engines(name: str, reader: Berg) -> None:
    asked = queries(name)
    assert asked
    answers = reader.answers([q["sql"] for q in asked], *catalog(name))
    for query, answer in zip(asked, answers, strict=True):
        rows = [list(row.values()) for row in answer.json_rows()]
        if "rows_cast" in query:
            rows = [[as_spark_text(value) for value in row] for row in rows]
        order = in_order if " order by " in query["sql"].lower() else as_multiset
        assert order(rows) == order(query["rows"]), query["sql"]


@pytest.mark.parametrize("name", sorted(WITHOUT_SPARK))
def test_tables_that_spark_cannot_load(name: str, reader: Berg) -> None:
    rows = reader.rows(f"select * from hadoop_prod.fx.{name}", *catalog(name))
    assert as_multiset([list(row.values()) for row in rows]) == as_multiset(WITHOUT_SPARK[name])


@pytest.mark.parametrize("name", sorted(LATER))
def test_what_a_later_issue_brings_is_refused(name: str, reader: Berg) -> None:
    """Not one wrong row: the whole table is refused."""
    told = json.loads(TABLES[name].read_text(encoding="utf-8"))
    (answer,) = reader.answers([f"select * from {told['table']}"], *catalog(name))
    (failure,) = answer.errors
    assert "not supported yet" in failure.message

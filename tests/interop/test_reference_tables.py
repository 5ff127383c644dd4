"""The reference tables that Spark and Flink wrote: bergsql gives the same rows (tables without delete files)."""

from __future__ import annotations

import fcntl
import json
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
    "all_types_avro": "Avro data files",
    "changelog_groupby": "equality deletes",
    "composite_key": "equality deletes",
    "upsert_avro": "equality deletes",
    "upsert_partitioned": "equality deletes",
    "upsert_pk": "equality deletes",
    "upsert_v3": "equality deletes",
    "v3_many_types": "the variant type",
}
"""Tables that need what a later issue brings: until then they are refused by name."""
METADATA_TABLES = tuple(
    ".files .snapshots .history .manifests .entries .metadata_log .all_ .partitions .refs .data_files .delete_files"
    " .position_deletes".split()
)


def described(engine: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(shared("oracle", engine, "tables").glob("*.json"))}


TABLES = described("spark") | described("flink")


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
        sql = str(query.get("sql", "")).lower().lstrip()
        if (
            "rows" in query
            and "error" not in query
            and sql.startswith("select")
            and not any(m in sql for m in METADATA_TABLES)
        ):
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


@pytest.mark.parametrize("name", sorted(TABLES.keys() - LATER.keys()))
def test_rows_are_the_engines(name: str, reader: Berg) -> None:
    asked = queries(name)
    assert asked
    answers = reader.answers([q["sql"] for q in asked], *catalog(name))
    for query, answer in zip(asked, answers, strict=True):
        rows = [list(row.values()) for row in answer.json_rows()]
        order = in_order if " order by " in query["sql"].lower() else as_multiset
        assert order(rows) == order(query["rows"]), query["sql"]


@pytest.mark.parametrize("name", sorted(LATER))
def test_what_a_later_issue_brings_is_refused(name: str, reader: Berg) -> None:
    """Not one wrong row: the whole table is refused."""
    told = json.loads(TABLES[name].read_text(encoding="utf-8"))
    (answer,) = reader.answers([f"select * from {told['table']}"], *catalog(name))
    (failure,) = answer.errors
    assert "not supported yet" in failure.message

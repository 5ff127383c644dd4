"""The files of changed rows and the real Spark: it reads ours, changes what we changed, and we read on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bergsql.engine.table.row_level_properties import Mode
from tests.interop.conftest import Both
from tests.support.changer import Changer
from tests.support.tables import Tables

pytestmark = pytest.mark.interop

COW, MOR = Mode.COPY_ON_WRITE, Mode.MERGE_ON_READ
LINEAGE = ["id", "p", "name", "_row_id", "_last_updated_sequence_number"]


def made_by_spark(both: Both, name: str, version: int, properties: Mapping[str, str], by: str = "p") -> Tables:
    """A table of Spark's, of 60 rows in two files of each of three partitions."""
    given = {"format-version": str(version), **{f"write.{c}.mode": MOR for c in ("delete", "update", "merge")}}
    told = ", ".join(f"'{k}'='{v}'" for k, v in {**given, **properties}.items())
    both.spark.sql("create database if not exists both.db")
    both.spark.sql(f"drop table if exists both.db.{name}")
    partitioned = f"partitioned by ({by})" if by else ""
    both.spark.sql(
        f"create table both.db.{name} (id bigint, p int, name string) using iceberg {partitioned} tblproperties ({told})"
    )
    for start in (0, 30):
        both.spark.sql(
            f"insert into both.db.{name} select id, cast(id % 3 as int), concat('n', id) from range({start}, {start + 30})"
        )
    return Tables(both.berg.warehouse)


def same(both: Both, changer: Changer, columns: list[str] | None = None) -> list[tuple[Any, ...]]:
    """The rows, which both engines must see alike."""
    ours = changer.read(columns)
    told = both.spark.rows(f"select {', '.join(columns or ['*'])} from both.db.{changer.name} order by 1")
    assert [tuple(row) for row in told] == ours
    return ours


CASES: dict[str, tuple[int, dict[str, str]]] = {
    "v2": (2, {}),
    "v2_partition": (2, {"write.delete.granularity": "partition"}),
    "v2_avro": (2, {"write.delete.format.default": "avro"}),
    "v2_orc": (2, {"write.delete.format.default": "orc"}),
    "v2_gzip": (2, {"write.delete.parquet.compression-codec": "gzip"}),
    "v2_avro_data": (2, {"write.format.default": "avro"}),
    "v2_orc_data": (2, {"write.format.default": "orc"}),
    "v3": (3, {}),
    "v3_orc_data": (3, {"write.format.default": "orc"}),
    "v3_avro_data": (3, {"write.format.default": "avro"}),
}


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("by", ["p", ""], ids=["partitioned", "plain"])
def test_both_engines_change_rows_by_turns(name: str, by: str, both: Both) -> None:
    version, properties = CASES[name]
    tables = made_by_spark(both, f"turns_{name}_{by}", version, properties, by)
    changer = Changer(tables, MOR, f"turns_{name}_{by}")
    columns = LINEAGE if version == 3 and "data" not in name else None
    table = f"both.db.{changer.name}"

    changer.change("id % 5 = 1")
    assert len(same(both, changer, columns)) == 48
    both.spark.sql(f"delete from {table} where id % 5 = 2")
    assert len(same(both, changer, columns)) == 36
    changer.change("id % 5 = 3", {"name": "name || '!'"}, "SELECT 100::BIGINT, 7, NULL")
    assert len(same(both, changer, columns)) == 37
    both.spark.sql(f"update {table} set name = concat(name, '?') where id % 10 in (0, 3)")
    same(both, changer, columns)
    changer.mode = COW
    changer.change("id % 10 = 4", {"name": "name || '*'"}, "SELECT 101::BIGINT, 7, 'new'")
    assert len(same(both, changer, columns)) == 38
    both.spark.sql(
        f"merge into {table} t using (select id, 5 as n from range(0, 110, 10)) s on t.id = s.id"
        " when matched and t.id > 50 then delete when matched then update set name = 'merged'"
        " when not matched then insert (id, p, name) values (s.id, s.n, 'added')"
    )
    same(both, changer, columns)
    changer.mode = MOR
    changer.change("id > 20")
    rows = same(both, changer, columns)
    assert {row[0] for row in rows} == {i for i in range(21) if i % 5 not in (1, 2)}
    changer.change("true")
    assert same(both, changer, columns) == []


def test_vectors_take_the_place_of_older_deletes(both: Both) -> None:
    """A table that Spark raised to version 3: its position deletes are folded into our vectors, and Spark's into those."""
    tables = made_by_spark(both, "raised", 2, {"write.delete.granularity": "partition"})
    changer = Changer(tables, MOR, "raised")
    table = "both.db.raised"
    both.spark.sql(f"delete from {table} where id % 10 = 1")
    both.spark.sql(f"alter table {table} set tblproperties ('write.delete.granularity'='file')")
    both.spark.sql(f"delete from {table} where id % 10 = 2")
    both.spark.sql(f"alter table {table} set tblproperties ('format-version'='3')")
    changer.change("id % 10 = 3")
    assert len(same(both, changer)) == 42
    both.spark.sql(f"delete from {table} where id % 10 = 4")
    assert len(same(both, changer)) == 36
    changer.mode = COW
    changer.change("id % 10 = 5", {"name": "'x'"})
    assert len(same(both, changer)) == 36
    formats = both.spark.rows(f"select distinct file_format from {table}.delete_files")
    assert formats in ([], [["PUFFIN"]], [["PARQUET"]], [["PARQUET"], ["PUFFIN"]], [["PUFFIN"], ["PARQUET"]])


def test_rows_keep_their_numbers_through_both_engines(both: Both) -> None:
    tables = made_by_spark(both, "lineage", 3, {"write.update.mode": "copy-on-write"})
    changer = Changer(tables, COW, "lineage")
    before = {row[0]: row[3] for row in same(both, changer, LINEAGE)}
    changer.change("id % 7 = 1", {"name": "'ours'"})
    both.spark.sql("update both.db.lineage set name = 'theirs' where id % 7 = 2")
    changer.change("id % 7 = 3", {"p": "p + 1"})
    rows = same(both, changer, LINEAGE)
    assert {row[0]: row[3] for row in rows} == before
    updated = {(row[0] % 7): row[4] for row in rows}
    assert [updated[i] for i in (1, 2, 3)] == [3, 4, 5]


def test_spark_sees_of_which_data_file_a_delete_file_is(both: Both) -> None:
    tables = made_by_spark(both, "seen", 2, {}, by="")
    Changer(tables, MOR, "seen").change("id IN (3, 40)")
    told = both.spark.rows(
        "select d.record_count, d.content, f.record_count from both.db.seen.delete_files d join both.db.seen.data_files f"
        " on d.referenced_data_file = f.file_path"
    )
    assert told in ([[1, 1, 30], [1, 1, 30]], [[1, 1, 15], [1, 1, 15]])

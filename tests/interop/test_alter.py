"""ALTER TABLE in every way: what bergsql changed the real Spark reads and writes on, and the other way round."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interop.conftest import Both
from tests.interop.test_evolution import agree

pytestmark = pytest.mark.interop

COLUMNS = [
    "alter table {t} alter column id type bigint",
    "alter table {t} alter column v type double",
    "alter table {t} alter column d type decimal(10,2)",
    "alter table {t} alter column must drop not null",
    "alter table {t} alter column name comment 'who'",
    "alter table {t} alter column name first",
    "alter table {t} alter column v after name",
    "alter table {t} add columns (late string after v, p.z int first, pts.element.y int, m.value.b string)",
    "alter table {t} rename column p.x to w",
    "alter table {t} alter column p.w type bigint",
    "alter table {t} drop column gone",
    "alter table {t} add column gone string",
]
LAYOUT = [
    "alter table {t} add partition field bucket(4, id)",
    "alter table {t} replace partition field id_bucket_4 with bucket(8, id) as shard",
    "alter table {t} replace partition field bucket(8, id) with bucket(8, id) as b8",
    "alter table {t} write distributed by partition locally ordered by name desc, id nulls last, truncate(2, late)",
    "alter table {t} set tblproperties ('k'='v', 'l'='w')",
    "alter table {t} unset tblproperties if exists ('k', 'nope')",
]
KEYS = [
    "alter table {t} set identifier fields key1, key2",
    "alter table {t} drop identifier fields key2",
]
CREATE = (
    "create table {t} (id int, name string, v float, d decimal(5,2), must int not null, gone int, key1 int not null, "
    "key2 string not null, p struct<x:int>, pts array<struct<x:int>>, m map<string,struct<a:int>>) using iceberg"
)
INSERT = (
    "insert into {t} select 1, 'one', cast(1.5 as float), cast(1.25 as decimal(5,2)), 1, 1, 1, 'k', "
    "named_struct('x', 1), array(named_struct('x', 1)), map('k', named_struct('a', 1))"
)
AGAIN = (
    "insert into {t} select 'two', cast(2.5 as double), 'l', 5000000000, cast(2.25 as decimal(10,2)), cast(null as int), "
    "2, 'k2', named_struct('z', 2, 'w', 5000000000), array(named_struct('x', 2, 'y', 3)), "
    "map('k', named_struct('a', 2, 'b', 'b')), 'new'"
)
ROWS: list[list[object]] = [
    ["one", 1.5, None, 1, "1.25", 1, 1, "k", {"z": None, "w": 1}, [{"x": 1, "y": None}], {"a": 1, "b": None}, None],
    [
        *("two", 2.5, "l", 5000000000, "2.25", None, 2, "k2", {"z": 2, "w": 5000000000}, [{"x": 2, "y": 3}]),
        *({"a": 2, "b": "b"}, "new"),
    ],
]
SELECT = "select name, v, late, id, cast(d as string), must, key1, key2, p, pts, m['k'], gone from {t}"


def metadata(both: Both, table: str) -> dict[str, Any]:
    """What the newest metadata file says of the table's definition, ids and all."""
    folder = both.berg.warehouse.joinpath(*table.split(".")[1:], "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    told = json.loads(newest.read_text(encoding="utf-8"))
    by_id = {s["schema-id"]: s for s in told["schemas"]}
    schema = by_id[told["current-schema-id"]]
    orders = {o["order-id"]: o["fields"] for o in told["sort-orders"]}
    specs = {s["spec-id"]: s["fields"] for s in told["partition-specs"]}
    left = {"owner", "write.parquet.compression-codec"}
    return {
        "fields": schema["fields"],
        "key": schema.get("identifier-field-ids", []),
        "order": orders[told["default-sort-order-id"]],
        "spec": specs[told["default-spec-id"]],
        "last-column-id": told["last-column-id"],
        "properties": {k: v for k, v in told["properties"].items() if k not in left},
    }


def test_evolved_in_every_way(both: Both) -> None:
    """The same statements by both engines make the same definition; each reads the other's table, before and after."""
    ours, theirs = "both.alt.ours", "both.alt.theirs"
    changes = [*COLUMNS, *LAYOUT, *KEYS]
    both.run([s.format(t=ours) for s in (CREATE, INSERT, *changes, AGAIN)])
    for statement in (CREATE, INSERT, *changes, AGAIN):
        both.spark.sql(statement.format(t=theirs))
    assert metadata(both, ours) == metadata(both, theirs)
    for table in (ours, theirs):
        agree(both, SELECT.format(t=table), ROWS)
        agree(both, f"select name from {table} where id > 1", [["two"]])
    both.spark.sql(AGAIN.format(t=ours))
    both.run([AGAIN.format(t=theirs)])
    for table in (ours, theirs):
        agree(both, SELECT.format(t=table), [*ROWS, ROWS[1]])


def test_flink_words_make_the_same(both: Both) -> None:
    ours, theirs = "both.alt.flink", "both.alt.spark"
    both.run(["create table both.alt.flink (id int not null, a int, b string, c float) using iceberg"])
    both.spark.sql("create table both.alt.spark (id int not null, a int, b string, c float) using iceberg")
    both.run(
        [
            f"ALTER TABLE {ours} ADD (x INT FIRST, y STRING COMMENT 'why' AFTER id)",
            f"ALTER TABLE {ours} MODIFY (a BIGINT COMMENT 'big', c DOUBLE AFTER x)",
            f"ALTER TABLE {ours} RENAME b TO bb",
            f"ALTER TABLE {ours} DROP y",
            f"ALTER TABLE {ours} ADD PRIMARY KEY (id) NOT ENFORCED",
        ],
        "flink",
    )
    for action in (
        "add columns (x int first, y string comment 'why' after id)",
        "alter column a type bigint",
        "alter column a comment 'big'",
        "alter column c type double",
        "alter column c after x",
        "rename column b to bb",
        "drop column y",
        "set identifier fields id",
    ):
        both.spark.sql(f"alter table {theirs} {action}")
    assert metadata(both, ours) == metadata(both, theirs)


def test_defaults_of_version_3(both: Both) -> None:
    """Spark reads the defaults of columns that were added, for rows from before.

    No decimal among them: Spark 3.5 with Iceberg 1.10 fails on one that has a default, whoever wrote it.
    """
    table = "both.alt.dv3"
    both.run(
        [
            f"create table {table} (id int, v int default 7) using iceberg tblproperties ('format-version'='3')",
            f"insert into {table} (id) values (1)",
            f"alter table {table} add columns (s string default 'x', d date default date'2020-01-02', b boolean not null "
            "default true, f double default 2.5, l bigint default 5000000000, "
            "n timestamp_ntz default timestamp_ntz'2020-01-02 03:04:05.678')",
            f"alter table {table} alter column s set default 'y'",
            f"insert into {table} (id) values (2)",
        ]
    )
    rows: list[list[object]] = [
        [1, 7, "x", "2020-01-02", True, 2.5, 5000000000, "2020-01-02 03:04:05.678"],
        [2, 7, "y", "2020-01-02", True, 2.5, 5000000000, "2020-01-02 03:04:05.678"],
    ]
    agree(
        both,
        f"select id, v, s, cast(d as string), b, f, l, cast(n as string) from {table}",
        rows,
    )
    # Not asked of Spark: it takes the column for NULL where it prunes row groups.
    assert both.rows(f"select id from {table} where s = 'x' and l > 5") == [[1]]


def test_spark_finds_the_order_of_our_files(both: Both) -> None:
    table = "both.alt.sorted"
    both.run(
        [
            f"create table {table} (id int, s string) using iceberg",
            f"alter table {table} write ordered by s desc, id",
            f"insert into {table} values (2, 'a'), (1, 'a'), (3, 'b'), (4, null)",
        ]
    )
    assert both.spark.rows(f"select id from {table} order by _pos") == [[3], [1], [2], [4]]
    assert both.spark.rows(f"select sort_order_id from {table}.files") == [[1]]


def test_spark_finds_the_order_of_our_files_in_partitions(both: Both) -> None:
    table = "both.alt.sorted_parts"
    both.run(
        [
            f"create table {table} (id int, s string) using iceberg partitioned by (s)",
            f"alter table {table} write ordered by truncate(10, id) desc, id",
            f"insert into {table} values (5, 'a'), (1, 'a'), (3, 'b'), (4, null), (11, 'a'), (12, null)",
            f"merge into {table} t using (values (3), (7)) n (id) on t.id = n.id "
            "when matched then update set id = 30, s = 'a' when not matched then insert values (27, 'a')",
        ]
    )
    assert both.spark.rows(f"select s, id, _pos from {table} order by s, _pos, id") == [
        *([None, 12, 0], [None, 4, 1]),
        *(["a", 11, 0], ["a", 30, 0], ["a", 1, 1], ["a", 27, 1], ["a", 5, 2]),
    ]
    assert both.spark.rows(f"select distinct sort_order_id from {table}.files") == [[1]]

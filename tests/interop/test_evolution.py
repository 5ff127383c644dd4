"""Tables whose schema, partitioning and content changed: both engines agree at every step, whoever wrote."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop


def agree(both: Both, query: str, rows: list[list[object]], dialect: str = "spark") -> None:
    """Both engines answer the query with these rows."""
    assert as_multiset(both.spark.rows(query)) == as_multiset(rows), "Spark"
    assert as_multiset(both.rows(query, dialect)) == as_multiset(rows), "bergsql"


def test_evolved_schema(both: Both) -> None:
    both.run(
        [
            "create table both.evo.s (id int, name string, age int) using iceberg",
            "insert into both.evo.s values (1,'zs',18),(2,'ls',19)",
            "alter table both.evo.s add column gender string, loc string",
            "alter table both.evo.s drop column age",
            "insert into both.evo.s values (3,'ww','f','bj')",
            "alter table both.evo.s rename column gender to xxx",
            "alter table both.evo.s add column age string",
            "insert into both.evo.s values (4,'ml','m','sh','old')",
        ]
    )
    rows: list[list[object]] = [
        [1, "zs", None, None, None],
        [2, "ls", None, None, None],
        [3, "ww", "f", "bj", None],
        [4, "ml", "m", "sh", "old"],
    ]
    agree(both, "select * from both.evo.s", rows)
    agree(both, "select id from both.evo.s where age is null", [[1], [2], [3]])
    agree(both, "select id from both.evo.s where xxx = 'f'", [[3]])
    both.spark.sql("alter table both.evo.s alter column id type bigint")
    both.spark.sql("alter table both.evo.s alter column loc first")
    both.run(["insert into both.evo.s values ('gz', 5000000000, 'tq', 'f', 'new')"])
    agree(both, "select id, loc from both.evo.s where id > 2", [[3, "bj"], [4, "sh"], [5000000000, "gz"]])


def test_evolved_nested_schema(both: Both) -> None:
    both.spark.sql("create table both.evo.n (id int, p struct<x:int,y:int>, a array<struct<k:string>>) using iceberg")
    both.spark.sql("insert into both.evo.n values (1, named_struct('x', 1, 'y', 2), array(named_struct('k', 'one')))")
    both.spark.sql("alter table both.evo.n rename column p.x to z")
    both.spark.sql("alter table both.evo.n add column p.x string")
    both.spark.sql("alter table both.evo.n add column a.element.v int")
    both.run(
        [
            "insert into both.evo.n values (2, named_struct('z', 3, 'y', 4, 'x', 'new'), array(named_struct('k', 'two', 'v', 2)))"
        ]
    )
    agree(
        both,
        "select * from both.evo.n",
        [
            [1, {"z": 1, "y": 2, "x": None}, [{"k": "one", "v": None}]],
            [2, {"z": 3, "y": 4, "x": "new"}, [{"k": "two", "v": 2}]],
        ],
    )


def test_evolved_partitioning(both: Both) -> None:
    both.run(
        [
            "create table both.evo.p (id int, loc string, ts timestamp) using iceberg",
            "insert into both.evo.p values (1,'shenzhen',timestamp'2020-12-20 13:10:30')",
            "alter table both.evo.p add partition field loc",
            "insert into both.evo.p values (2,'wuhan',timestamp'2021-10-18 12:20:30')",
            "alter table both.evo.p add partition field years(ts)",
            "insert into both.evo.p values (3,'beijing',timestamp'2019-12-20 12:10:30')",
            "alter table both.evo.p drop partition field loc",
            "insert into both.evo.p values (4,null,timestamp'2021-12-19 13:30:30')",
            "alter table both.evo.p add partition field bucket(4, id) as shard",
            "insert into both.evo.p values (5,'shanghai',null)",
            "alter table both.evo.p drop partition field years(ts)",
            "insert into both.evo.p values (6,'wuhan',timestamp'2021-10-18 12:20:30')",
        ]
    )
    agree(both, "select id from both.evo.p", [[n] for n in range(1, 7)])
    agree(both, "select id from both.evo.p where loc = 'wuhan'", [[2], [6]])
    agree(both, "select id from both.evo.p where ts >= timestamp'2021-01-01 00:00:00'", [[2], [4], [6]])
    agree(both, "select id from both.evo.p where loc is null or ts is null", [[4], [5]])
    agree(both, "select ts from both.evo.p where id = 5", [[None]])
    specs = both.spark.rows("select spec_id, record_count, partition from both.evo.p.files order by spec_id")
    assert [row[:2] for row in specs] == [[n, 1] for n in range(6)]
    assert specs[1][2] == {"loc": "wuhan", "ts_year": None, "shard": None}
    both.spark.sql("insert into both.evo.p values (7, 'x', timestamp'2022-01-01 00:00:00')")
    agree(both, "select count(*) from both.evo.p", [[7]])


def test_overwrites(both: Both) -> None:
    both.run(
        [
            "create table both.evo.o (id int, loc string) using iceberg partitioned by (loc)",
            "insert into both.evo.o values (1,'bj'),(2,'sz'),(3,null)",
            "insert overwrite both.evo.o partition (loc = 'bj') select 10",
        ]
    )
    agree(both, "select * from both.evo.o", [[10, "bj"], [2, "sz"], [3, None]])
    both.run(["INSERT OVERWRITE both.evo.o VALUES (30, CAST(NULL AS STRING)), (40, 'gz')"], "flink")
    agree(both, "select * from both.evo.o", [[10, "bj"], [2, "sz"], [30, None], [40, "gz"]])
    both.run(["insert overwrite both.evo.o select 99, 'xx'"])
    agree(both, "select * from both.evo.o", [[99, "xx"]])
    operations = both.spark.rows("select operation from both.evo.o.snapshots order by committed_at")
    assert [o for (o,) in operations] == ["append", "overwrite", "overwrite", "overwrite"]


def test_summaries_tell_what_the_manifests_hold(both: Both) -> None:
    both.run(
        [
            "create table both.evo.sum (id int, loc string) using iceberg partitioned by (loc)",
            "insert into both.evo.sum values (1,'bj'),(2,'sz'),(3,'sz')",
            "insert into both.evo.sum values (4,'bj')",
            "insert overwrite both.evo.sum partition (loc='sz') select 5",
        ]
    )
    (summary,) = both.spark.rows("select summary from both.evo.sum.snapshots order by committed_at desc limit 1")
    told = dict(summary[0]["$map"])
    ((files, rows, size),) = both.spark.rows(
        "select count(*), sum(record_count), sum(file_size_in_bytes) from both.evo.sum.files"
    )
    assert [told["total-data-files"], told["total-records"], told["total-files-size"]] == [
        str(files),
        str(rows),
        str(size),
    ]
    added = {
        "added-data-files": "1",
        "added-records": "1",
        "deleted-data-files": "1",
        "deleted-records": "2",
        "changed-partition-count": "1",
    }
    assert {k: told[k] for k in added} == added


def test_replaced_table(both: Both) -> None:
    both.run(
        [
            "create table both.evo.src (id int, name string) using iceberg",
            "insert into both.evo.src values (1,'zs'),(2,'ls')",
            "create table both.evo.ctas using iceberg partitioned by (bucket(2, id)) as select id, name from both.evo.src",
        ]
    )
    agree(both, "select * from both.evo.ctas", [[1, "zs"], [2, "ls"]])
    both.run(["replace table both.evo.ctas using iceberg as select name, id + 10 as id from both.evo.src"])
    agree(both, "select * from both.evo.ctas", [["zs", 11], ["ls", 12]])
    history = both.spark.rows(
        "select parent_id is null, is_current_ancestor from both.evo.ctas.history order by made_current_at"
    )
    assert history == [[True, False], [True, True]]
    both.spark.sql("insert into both.evo.ctas values ('new', 13)")
    agree(both, "select id from both.evo.ctas where name = 'new'", [[13]])


@pytest.mark.parametrize("version", [1, 2])
def test_turn_by_turn(version: int, both: Both) -> None:
    """Both write to one table by turns, for either format version."""
    table = f"both.evo.turns{version}"
    both.run(
        [
            f"create table {table} (id int, d date) using iceberg partitioned by (months(d)) tblproperties ('format-version'='{version}')"
        ]
    )
    rows: list[list[object]] = []
    for turn in range(3):
        both.spark.sql(f"insert into {table} values ({turn}, date'2024-0{turn + 1}-15')")
        both.run([f"insert into {table} values ({turn + 10}, date'2024-0{turn + 1}-16')"])
        rows += [[turn, f"2024-0{turn + 1}-15"], [turn + 10, f"2024-0{turn + 1}-16"]]
        agree(both, f"select * from {table}", rows)
    both.spark.sql(f"delete from {table} where d >= date'2024-03-01'")
    agree(both, f"select * from {table}", rows[:4])
    both.run([f"insert into {table} values (99, null)"])
    agree(both, f"select id from {table} where d is null", [[99]])


@pytest.mark.parametrize(
    "order", [("parquet", "avro", "orc"), ("orc", "parquet", "avro"), ("avro", "orc", "parquet")], ids="-".join
)
def test_parts_evolve_at_any_depth_in_every_format(order: tuple[str, str, str], both: Both) -> None:
    """Each turn's rows are of another format and another schema; both engines read all."""
    first, second, third = order
    table = f"both.evo.deep_{first}"
    sql = both.spark.sql
    sql(
        f"create table {table} (id int, s struct<a:int, in:struct<x:float, y:string>>, l array<struct<k:int, v:array<int>>>,"
        f" m map<string, struct<p:decimal(9,2), q:date>>) using iceberg"
        f" tblproperties ('format-version'='2', 'write.format.default'='{first}')"
    )
    sql(
        f"insert into {table} values (1, named_struct('a', 1, 'in', named_struct('x', 1.5f, 'y', 'y1')),"
        " array(named_struct('k', 1, 'v', array(1, null)), null), map('m', named_struct('p', 1.25, 'q', date'2024-02-29'))),"
        " (2, null, array(), map()), (3, named_struct('a', null, 'in', null), null, map('n', null)),"
        " (4, named_struct('a', 4, 'in', named_struct('x', null, 'y', null)), array(named_struct('k', null, 'v', null)), null)"
    )
    for change in (
        "alter column s.in.x type double", "rename column s.in.y to z", "add column s.in.y int first", "rename column l.element.k to kk",
        "add column l.element.k string after kk", "alter column m.value.p type decimal(18,2)", "drop column m.value.q",
        "add column m.value.q int", "alter column s first", "add column `a.b ü` string after id",
    ):  # fmt: skip
        sql(f"alter table {table} {change}")
    sql(f"alter table {table} set tblproperties ('write.format.default'='{second}')")
    sql(
        f"insert into {table} select named_struct('a', 5, 'in', named_struct('y', 5, 'x', 5.5D, 'z', 'z5')), 5, 'dot',"
        " array(named_struct('kk', 5, 'k', 'new', 'v', array(5))), map('m', named_struct('p', 5.25, 'q', 5))"
    )
    sql(f"alter table {table} rename column s.a to b")
    sql(f"alter table {table} rename column s.in to a")
    sql(f"alter table {table} drop column l.element.v")
    sql(f"alter table {table} alter column id type bigint")
    both.run(
        [
            f"alter table {table} set tblproperties ('write.format.default'='{third}')",
            f"insert into {table} select named_struct('b', 6, 'a', named_struct('y', 6, 'x', 6.5D, 'z', 'z6')), 6, null,"
            " array(named_struct('kk', 6, 'k', null)), map('m', named_struct('p', 6.25, 'q', null))",
        ]
    )
    for query in (
        f"select * from {table}",
        f"select id, s.a.x, s.a.y, s.b from {table}",
        f"select l[0].kk, m['m'].p, `a.b ü` from {table}",
        f"select id from {table} where s is null or s.a is null or s.a.z = 'z5'",
        f"select m from {table} where id > 4",
    ):
        assert as_multiset(both.rows(query)) == as_multiset(both.spark.rows(query)), query


@pytest.mark.parametrize("legacy", [False, True])
def test_files_that_were_there_before_the_table(legacy: bool, both: Both) -> None:
    """Spark's own Parquet files, partitioned by folders: no ids, the partition's values in the manifest only."""
    name, sql = f"migrated_{legacy}".lower(), both.spark.sql
    folder = both.berg.warehouse.parent / name
    sql(f"set spark.sql.parquet.writeLegacyFormat={legacy}".lower())
    sql("set spark.sql.parquet.outputTimestampType=INT96")
    columns = "id int, d decimal(9,2), l array<struct<k:int>>, m map<string,int>, ts timestamp, p string"
    sql(f"create table spark_catalog.default.{name} ({columns}) using parquet partitioned by (p) location '{folder}'")
    sql(
        f"insert into spark_catalog.default.{name} values (1, 1.25, array(named_struct('k', 1), null), map('a', 1),"
        " timestamp'2024-02-29 12:34:56.789', 'x'), (2, null, null, null, null, 'a b'), (3, 3, array(), map(), null, null)"
    )
    sql(f"create table both.evo.{name} ({columns}) using iceberg partitioned by (p)")
    sql(f"call both.system.add_files(table => 'evo.{name}', source_table => '`parquet`.`{folder}`')")
    sql(f"alter table both.evo.{name} rename column d to e")
    sql(f"alter table both.evo.{name} rename column l.element.k to kk")
    sql(f"alter table both.evo.{name} alter column id type bigint")
    sql(f"insert into both.evo.{name} values (4, 4.5, array(named_struct('kk', 4)), map('d', 4), null, 'x')")
    for query in (f"select * from both.evo.{name}", f"select id, p, l[0].kk, e from both.evo.{name} where p = 'x'"):
        assert as_multiset(both.rows(query)) == as_multiset(both.spark.rows(query)), query

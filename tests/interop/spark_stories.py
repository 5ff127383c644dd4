"""Tables as Spark users make them over time: what is run, in order, and what is asked of the result.

``{t}`` is the table, ``{files}`` an empty folder. Every snapshot, branch and tag of each is read as well.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """Statements for Spark, filters to read the table with, and whether rows have ids (version 3)."""

    made_by: tuple[str, ...]
    filters: tuple[str, ...] = ()
    lineage: bool = False


MOR = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
ROWS = "select id, concat('c', id % 3) c, cast(id * 10 as int) v, timestamp'2024-02-28 22:30:00' + make_interval(0,0,0,0,id,0,0) ts from range({a}, {b})"
EVERY_TYPE = (
    "id bigint, bo boolean, i int, f float, d double, de decimal(9,2), dl decimal(38,10), dt date, ts timestamp, "
    "ntz timestamp_ntz, s string, b binary"
)
EVERY_ROW = (
    "select id, id % 2 = 0, cast(id - 2 as int), cast(id as float) / 4, if(id = 3, double('NaN'), -id / 3), "
    "cast(id * 1.25 - 3 as decimal(9,2)), cast(-id * 1e9 as decimal(38,10)), date_add(date'1969-12-30', cast(id as int)), "
    "timestamp'1969-12-31 22:00:00' + make_interval(0,0,0,0,id,0,0.5), timestamp_ntz'2024-02-29 23:59:59' + make_interval(0,0,0,id), "
    "nullif(concat('北京', repeat('x', cast(id as int))), '北京'), unhex(hex(id)) from range(0, 12) "
    "union all select null, null, null, null, null, null, null, null, null, null, null, null"
)
FILTERS = ("id > 4", "c = 'c1'", "ts < timestamp'2024-02-29 02:00:00'", "v is null or v >= 70", "c in ('c0', 'nobody')")


def mor_story(file_format: str, version: int, partitions: str) -> Story:
    """Merge-on-read deletes, updates and merges in one format."""
    return Story(
        (
            "create table {t} (id bigint, c string, v int, ts timestamp) using iceberg "
            f"partitioned by ({partitions}) tblproperties ('format-version'='{version}', "
            f"'write.format.default'='{file_format}', {MOR})",
            f"insert into {{t}} {ROWS.format(a=0, b=10)}",
            "delete from {t} where id % 4 = 1",
            f"insert into {{t}} {ROWS.format(a=10, b=14)}",
            "update {t} set v = v + 1, c = 'c9' where id in (2, 10)",
            "merge into {t} using (select 3 id union all select 99) s on {t}.id = s.id when matched then delete "
            "when not matched then insert (id, c, v, ts) values (s.id, null, null, null)",
            "delete from {t} where v = 21",
        ),
        FILTERS,
        # Spark gives all rows of an Avro or ORC file the same row id.
        version == 3 and file_format == "parquet",
    )


STORIES: dict[str, Story] = {
    "orc_mor": mor_story("orc", 2, "hours(ts)"),
    "orc_vectors": mor_story("orc", 3, "bucket(2, id)"),
    "avro_vectors": mor_story("avro", 3, "c"),
    "parquet_by_hour": mor_story("parquet", 2, "days(ts), truncate(2, c)"),
    "lineage_kept_by_compaction": Story(
        (
            f"create table {{t}} (id bigint, c string, v int, ts timestamp) using iceberg tblproperties ('format-version'='3', {MOR})",
            f"insert into {{t}} {ROWS.format(a=0, b=6)}",
            f"insert into {{t}} {ROWS.format(a=6, b=9)}",
            "update {t} set v = -1 where id = 2",
            "delete from {t} where id = 7",
            "call {cat}.system.rewrite_data_files(table => '{name}', options => map('min-input-files', '1', 'rewrite-all', 'true'))",
            f"insert into {{t}} {ROWS.format(a=20, b=22)}",
            "update {t} set v = -2 where id in (3, 20)",
            "call {cat}.system.rewrite_manifests('{name}')",
        ),
        ("v < 0", "id = 20"),
        lineage=True,
    ),
    "upgraded_with_deletes": Story(
        (
            f"create table {{t}} (id bigint, c string, v int, ts timestamp) using iceberg partitioned by (c) tblproperties ('format-version'='2', {MOR})",
            f"insert into {{t}} {ROWS.format(a=0, b=12)}",
            "delete from {t} where id in (1, 2, 3)",
            "alter table {t} set tblproperties ('format-version'='3')",
            "delete from {t} where id in (4, 9)",
            f"insert into {{t}} {ROWS.format(a=30, b=33)}",
            "update {t} set v = 0 where id in (5, 31)",
        ),
        FILTERS,
        lineage=True,
    ),
    "from_v1": Story(
        (
            "create table {t} (id bigint, c string, v int, ts timestamp) using iceberg partitioned by (c, months(ts)) tblproperties ('format-version'='1')",
            f"insert into {{t}} {ROWS.format(a=0, b=5)}",
            "alter table {t} drop partition field c",
            f"insert into {{t}} {ROWS.format(a=5, b=8)}",
            f"alter table {{t}} set tblproperties ('format-version'='2', {MOR})",
            "delete from {t} where id in (1, 6)",
            "alter table {t} add partition field bucket(3, id)",
            f"insert into {{t}} {ROWS.format(a=8, b=12)}",
            "update {t} set v = 5 where id in (2, 8)",
        ),
        FILTERS,
    ),
    "formats_side_by_side": Story(
        (
            f"create table {{t}} (id bigint, c string, v int, st struct<a: int, l: array<struct<x: int, y: string>>>) using iceberg tblproperties ({MOR})",
            *(
                statement
                for n, file_format in enumerate(("parquet", "avro", "orc"))
                for statement in (
                    f"alter table {{t}} set tblproperties ('write.format.default'='{file_format}', 'write.delete.format.default'='{('orc', 'parquet', 'avro')[n]}')",
                    f"insert into {{t}} select id, concat('c', id % 3), cast(id as int), named_struct('a', cast(id as int), 'l', array(named_struct('x', {n}, 'y', 'y'), null)) from range({n * 5}, {n * 5 + 5})",
                    f"delete from {{t}} where id % 5 = {n}",
                )
            ),
            "alter table {t} rename column st.a to aa",
            "alter table {t} add column st.l.element.z double",
            "alter table {t} rename column st.l.element.x to renamed",
            "alter table {t} alter column st.l.element.renamed type bigint",
            "update {t} set v = 100 where id in (3, 8, 14)",
        ),
        ("id > 4", "st.aa = 4", "v = 100"),
    ),
    "nested_evolution": Story(
        (
            "create table {t} (id int, m map<string, struct<a: int, l: array<struct<x: float, d: decimal(5,1)>>>>, st struct<p: int, q: struct<r: string, s: int>>) using iceberg",
            "insert into {t} values (1, map('k', named_struct('a', 1, 'l', array(named_struct('x', float(1.5), 'd', 2.5))), 'n', null), named_struct('p', 1, 'q', named_struct('r', 'old', 's', 5))), (2, null, null), (3, map(), named_struct('p', null, 'q', null))",
            "alter table {t} rename column m.value.a to b",
            "alter table {t} alter column m.value.b type bigint",
            "alter table {t} alter column m.value.l.element.x type double",
            "alter table {t} alter column m.value.l.element.d type decimal(9,1)",
            "alter table {t} add column m.value.l.element.new string",
            "alter table {t} drop column st.q.r",
            "alter table {t} add column st.q.r int",
            "alter table {t} add column st.first string first",
            "alter table {t} alter column st after id",
            "insert into {t} values (4, named_struct('first', 'f', 'p', 4, 'q', named_struct('s', 6, 'r', 44)), map('z', named_struct('b', 5000000000, 'l', array(named_struct('x', 0.1, 'd', 1.5, 'new', 'n')))))",
        ),
        ("st.p = 1", "st.q.r = 44", "id >= 3"),
    ),
    "branches_and_schemas": Story(
        (
            "create table {t} (id bigint, name string) using iceberg",
            "insert into {t} values (1, 'one'), (2, 'two')",
            "alter table {t} create branch audit",
            "alter table {t} create tag before",
            "insert into {t}.branch_audit values (3, 'three')",
            "alter table {t} rename column name to called",
            "alter table {t} add column more int",
            "insert into {t}.branch_audit values (4, 'four', 4)",
            "insert into {t} values (5, 'five', 5)",
            "alter table {t} create branch `late` with snapshot retention 2 snapshots",
            "delete from {t}.branch_audit where id = 1",
            "alter table {t} drop column more",
            "alter table {t} create tag `after-all`",
        ),
        ("id > 1",),
    ),
    "every_bucket": Story(
        (
            f"create table {{t}} ({EVERY_TYPE}) using iceberg partitioned by (bucket(3, i), bucket(3, id), bucket(3, de), bucket(3, dl), bucket(3, dt), bucket(3, ts), bucket(3, ntz), bucket(3, s), bucket(3, b))",
            f"insert into {{t}} {EVERY_ROW}",
        ),
        (
            *(
                "id = 5",
                "i = 3",
                "de = 0.75",
                "dl = -1000000000",
                "dt = date'1970-01-01'",
                "s = '北京xxx'",
                "b = unhex('05')",
            ),
            *(
                "ts = timestamp'1970-01-01 00:00:00.5'",
                "ntz = timestamp_ntz'2024-03-02 23:59:59'",
                "id in (1, 2) or s is null",
            ),
        ),
    ),
    "every_time": Story(
        (
            f"create table {{t}} ({EVERY_TYPE}) using iceberg partitioned by (years(dt), months(ntz), hours(ts), truncate(3, i), truncate(50, de), truncate(2, s), bo)",
            f"insert into {{t}} {EVERY_ROW}",
        ),
        (
            *(
                "dt < date'1970-01-01'",
                "dt = date'1969-12-31'",
                "ts >= timestamp'1970-01-01 00:00:00'",
                "ts < timestamp'1970-01-01 00:00:00.5'",
            ),
            *(
                "ntz > timestamp_ntz'2024-03-01 00:00:00'",
                "i < 0",
                "i between -1 and 2",
                "de <= 0.75",
                "s like '北京x%'",
                "s >= '北京xx'",
                "bo",
                "not bo",
                "isnan(d)",
                "d < 0",
            ),
        ),
    ),
    "short_bounds": Story(
        (
            f"create table {{t}} ({EVERY_TYPE}) using iceberg tblproperties ('write.metadata.metrics.default'='truncate(1)', 'write.metadata.metrics.column.i'='none', 'write.metadata.metrics.column.d'='counts', 'write.metadata.metrics.column.dt'='full')",
            f"insert into {{t}} {EVERY_ROW}",
            "insert into {t} (id, s, b) values (100, '😀😀', unhex('ffffff')), (101, '', unhex(''))".replace(
                "(id, s, b) values", "select id, null, null, null, null, null, null, null, null, null, s, b from values"
            )
            + " v(id, s, b)",
        ),
        (
            "s > '北京xxxx'",
            "s = '😀😀'",
            "s < 'a'",
            "b > unhex('05')",
            "i = 3",
            "isnan(d)",
            "dt is null",
            "s like '😀%'",
        ),
    ),
    "compressed_metadata": Story(
        (
            "create table {t} (id bigint, c string) using iceberg tblproperties ('write.metadata.compression-codec'='gzip', 'write.object-storage.enabled'='true', 'write.data.path'='{files}/elsewhere')",
            "insert into {t} values (1, 'a'), (2, null)",
            "insert overwrite {t} values (3, 'c')",
            "insert into {t} values (4, 'd')",
        ),
        ("c is not null",),
    ),
    "taken_over_parquet": Story(
        (
            "create table parquet_source (id bigint, st struct<a: int, b: string>, l array<struct<x: int>>, p string) using parquet partitioned by (p) location '{files}/source'",
            "insert into parquet_source values (1, named_struct('a', 1, 'b', 'one'), array(named_struct('x', 7)), 'p=1/2'), (2, null, null, null), (3, named_struct('a', 3, 'b', null), array(null), '北京')",
            "create table {t} (id bigint, st struct<a: int, b: string>, l array<struct<x: int>>, p string) using iceberg partitioned by (p)",
            "call {cat}.system.add_files(table => '{name}', source_table => '`parquet`.`{files}/source`')",
            "alter table {t} rename column st.a to aa",
            "alter table {t} alter column st.aa type bigint",
            "alter table {t} rename column id to key",
            "alter table {t} rename column l.element.x to y",
            f"alter table {{t}} set tblproperties ({MOR})",
            "insert into {t} values (4, named_struct('aa', 4, 'b', 'four'), array(), 'p4')",
            "delete from {t} where key in (3, 4)",
        ),
        ("p = 'p=1/2'", "p is null", "key = 1", "st.aa >= 1"),
    ),
    "taken_over_orc": Story(
        (
            "create table orc_source (id bigint, de decimal(9,2), st struct<a: int, b: string>, p int) using orc partitioned by (p) location '{files}/orc'",
            "insert into orc_source values (1, -1.25, named_struct('a', 1, 'b', 'one'), 5), (2, null, null, null)",
            "create table {t} (id bigint, de decimal(9,2), st struct<a: int, b: string>, p int) using iceberg partitioned by (p)",
            "call {cat}.system.add_files(table => '{name}', source_table => '`orc`.`{files}/orc`')",
            "alter table {t} rename column st.b to bb",
            "alter table {t} rename column id to key",
            "insert into {t} values (3, 7.5, named_struct('a', 3, 'bb', 'three'), 6)",
        ),
        ("p = 5", "key > 1", "de is not null"),
    ),
    "rolled_back": Story(
        (
            f"create table {{t}} (id bigint, c string, v int, ts timestamp) using iceberg partitioned by (c) tblproperties ({MOR})",
            f"insert into {{t}} {ROWS.format(a=0, b=4)}",
            f"insert into {{t}} {ROWS.format(a=4, b=8)}",
            "delete from {t} where id < 5",
            "alter table {t} create tag `third`",
            f"insert overwrite {{t}} {ROWS.format(a=20, b=22)}",
            "call {cat}.system.set_current_snapshot(table => '{name}', ref => 'third')",
            "call {cat}.system.expire_snapshots(table => '{name}', older_than => timestamp'2100-01-01 00:00:00', retain_last => 2)",
            f"insert into {{t}} {ROWS.format(a=30, b=32)}",
            "call {cat}.system.rewrite_position_delete_files(table => '{name}', options => map('rewrite-all', 'true'))",
        ),
        FILTERS,
    ),
}

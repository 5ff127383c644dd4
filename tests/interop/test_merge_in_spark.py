"""Tables that MERGE changed and whose schema grew with it: the real Spark reads them, and merges into them by turns."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both

CASES = [
    (1, "copy-on-write", ""),
    (2, "merge-on-read", "partitioned by (p)"),
    (3, "merge-on-read", "partitioned by (bucket(3, id), truncate(1, v))"),
]
CLAUSES = (
    "when matched and s.v = 'del' then delete when matched then update set * when not matched then insert * "
    "when not matched by source and t.id > 90 then update set v = concat(t.v, '!')"
)


def same(both: Both, table: str, columns: str = "*") -> list[list[object]]:
    """The rows, which both engines must read alike."""
    query = f"select {columns} from {table}"
    rows = sorted(both.rows(query), key=str)
    assert sorted(both.spark.rows(query), key=str) == rows
    return rows


@pytest.mark.parametrize(("version", "mode", "by"), CASES)
def test_both_engines_merge_by_turns(both: Both, version: int, mode: str, by: str) -> None:
    table = f"both.db.merged_{version}"
    properties = f"'format-version' = '{version}', 'write.merge.mode' = '{mode}'"
    both.spark.sql("create namespace if not exists both.db")
    both.spark.sql(f"create table {table} (id int, p int, v string) using iceberg {by} tblproperties ({properties})")
    both.spark.sql(f"insert into {table} select cast(id as int), cast(id % 4 as int), concat('v', id) from range(100)")
    source = "(select cast(id * 7 as int) id, cast(id % 5 as int) p, if(id % 3 = 0, 'del', concat('{}', id)) v from range(20))"

    both.run([f"merge into {table} t using {source.format('a')} s on t.id = s.id {CLAUSES}"])
    assert len(same(both, table)) == 100
    both.spark.sql(f"merge into {table} t using {source.format('b')} s on t.id = s.id and t.p <> 3 {CLAUSES}")
    same(both, table)
    both.run([f"merge into {table} t using {source.format('c')} s on t.id = s.id + 1 {CLAUSES}"])
    same(both, table)

    grown = f"(select id, p, v, id * 0.5D as more, named_struct('a', id, 'b', v) as st from {source.format('d')})"
    both.run([f"merge with schema evolution into {table} t using {grown} s on t.id = s.id {CLAUSES}"])
    rows = same(both, table)
    assert any(row[3] is not None for row in rows)
    assert any(row[3] is None for row in rows)
    wide = (
        "(select 5000000000L as id, 1 as p, 'wide' as v, 1D as more, named_struct('a', 5L, 'b', 'x', 'c', true) as st)"
    )
    both.run([f"merge with schema evolution into {table} t using {wide} s on t.id = s.id {CLAUSES}"])
    assert 5_000_000_000 in [row[0] for row in same(both, table)]
    both.spark.sql(
        f"merge into {table} t using (select 5000000000L as id) s on t.id = s.id when matched then update set st.c = false"
    )
    same(both, table)
    both.run([f"merge into {table} t using {table} s on t.id = s.id when matched then delete"])
    assert same(both, table) == []

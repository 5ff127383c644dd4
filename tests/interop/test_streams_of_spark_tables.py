"""A stream over a table that the real Spark writes, deletes from, compacts and expires while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from tests.interop.conftest import Both
from tests.support.iceberg_streams import Stream, fold, planned

pytestmark = pytest.mark.interop

MOR = ", ".join(f"'write.{command}.mode'='merge-on-read'" for command in ("delete", "update", "merge"))
STATEMENTS = (
    "INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "DELETE FROM {t} WHERE id = 2",
    "INSERT INTO {t} VALUES (5, 'e'), (6, 'e')",
    "UPDATE {t} SET x = 'n' WHERE id IN (3, 5)",
    "CALL both.system.rewrite_data_files(table => '{n}', options => map('rewrite-all', 'true'))",
    "MERGE INTO {t} USING (SELECT 1 AS id UNION ALL SELECT 9) AS s ON {t}.id = s.id"
    " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, 'new')",
    "CALL both.system.expire_snapshots(table => '{n}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)",
    "INSERT OVERWRITE {t} SELECT id, 'o' FROM {t} WHERE id > 4",
    "CALL both.system.rewrite_manifests('{n}')",
    "DELETE FROM {t}",
    "INSERT INTO {t} VALUES (7, 'last')",
)


@pytest.fixture(scope="module")
def session(both: Both, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home: Path = tmp_path_factory.mktemp("home")
    opened = Session(SessionConfig(home=home))
    opened.execute(
        f"CREATE CATALOG both WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{both.berg.warehouse}')"
    )
    both.run(["CREATE DATABASE both.stream"])
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("cow1", "'format-version'='1'"),
        ("cow2", "'format-version'='2'"),
        ("mor2", f"'format-version'='2', {MOR}"),
        ("cow3", "'format-version'='3'"),
        ("mor3", f"'format-version'='3', {MOR}"),
    ],
)
def test_changes(both: Both, session: Session, name: str, properties: str) -> None:
    """Read behind each statement, by a new reader: what was expired between was read."""
    table = f"both.stream.{name}"
    both.spark.sql(f"CREATE TABLE {table} (id INT, x STRING) USING iceberg TBLPROPERTIES ({properties})")
    offset: Any = None
    rows: Counter[str] = Counter()
    for statement in STATEMENTS:
        both.spark.sql(statement.format(t=table, n=f"stream.{name}"))
        following = Stream(planned(session, {"read.changelog": "true"}, name=table), session.duck, offset)
        for batch in following.batches():
            fold(rows, [(repr(row[:-1]), row[-1]) for row in batch])
        offset = following.reader.offset
        assert +rows == Counter(repr(tuple(row)) for row in both.spark.rows(f"SELECT * FROM {table}")), statement


def test_appended_rows(both: Both, session: Session) -> None:
    table = "both.stream.appended"
    both.spark.sql(f"CREATE TABLE {table} (id INT) USING iceberg TBLPROPERTIES ({MOR})")
    both.spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    skips = {f"streaming-skip-{kind}-snapshots": "true" for kind in ("overwrite", "delete")}
    strict, lenient = (Stream(planned(session, o, name=table), session.duck) for o in ({}, skips))
    assert sorted(strict.rows()) == sorted(lenient.rows()) == [(1,), (2,)]
    both.spark.sql(f"INSERT INTO {table} VALUES (3)")
    both.spark.sql(
        "CALL both.system.rewrite_data_files(table => 'stream.appended', options => map('rewrite-all', 'true'))"
    )
    both.spark.sql(f"INSERT INTO {table} VALUES (4)")
    assert strict.rows() == [(3,), (4,)]
    both.spark.sql(f"DELETE FROM {table} WHERE id = 4")
    both.spark.sql(f"INSERT INTO {table} VALUES (5)")
    with pytest.raises(BergError, match=r"Snapshot \d+ of table both.stream.appended is of '(delete|overwrite)'"):
        strict.poll()
    assert lenient.rows() == [(3,), (4,), (5,)]
    oldest = both.spark.rows(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")[0][0]
    both.spark.sql(
        "CALL both.system.expire_snapshots(table => 'stream.appended', older_than => TIMESTAMP '2100-01-01 00:00:00',"
        " retain_last => 1)"
    )
    with pytest.raises(BergError, match=r"were expired before they were read"):
        strict.poll()
    with pytest.raises(BergError, match=rf"The table has no snapshot {oldest}: those before snapshot \d+ are expired"):
        planned(session, {"start-snapshot-id": str(oldest)}, name=table)
    assert lenient.rows() == []
    both.spark.sql(f"INSERT INTO {table} VALUES (6)")
    assert lenient.rows() == [(6,)]

"""The real Spark reads tables that bergsql upserted into, truncated and wrote branches of, and writes them on."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.oracle import as_multiset

pytestmark = pytest.mark.interop


def same(both: Both, query: str) -> list[list[object]]:
    """The rows of a query, which both engines give alike."""
    rows = both.spark.rows(query)
    assert as_multiset(both.rows(query)) == as_multiset(rows)
    return rows


@pytest.mark.parametrize(
    ("version", "file_format", "by"),
    [
        (2, "parquet", "PARTITIONED BY (bucket(3, id), months(d))"),
        (2, "avro", "PARTITIONED BY (d)"),
        (2, "orc", ""),
        (3, "parquet", "PARTITIONED BY (d)"),
    ],
)
def test_spark_reads_upserts_and_writes_on(both: Both, version: int, file_format: str, by: str) -> None:
    both.spark.sql("CREATE NAMESPACE IF NOT EXISTS both.upserts")
    table = f"both.upserts.t{version}_{file_format}"
    insert = f"INSERT INTO {table} /*+ OPTIONS('upsert-enabled'='true') */ VALUES"
    both.run(
        [
            f"CREATE TABLE {table} (id INT, d DATE, s STRING, v DOUBLE, PRIMARY KEY (id, d) NOT ENFORCED) {by} WITH ("
            f"'format-version'='{version}', 'write.delete.format.default'='{file_format}')",
            f"{insert} (1, DATE '2024-01-01', 'a', 1.5), (2, DATE '2024-01-02', 'b', 2.5), (3, DATE '2024-02-03', 'c', 0.0)",
            f"{insert} (1, DATE '2024-01-01', 'a2', CAST(NULL AS DOUBLE)), (4, DATE '2024-02-03', 'd', 4.5)",
            f"{insert} (1, DATE '2024-01-01', 'a3', 3.5), (1, DATE '2024-01-01', 'a4', 4.5)",
        ],
        "flink",
    )
    rows = same(both, f"SELECT id, s, v FROM {table} ORDER BY id")
    assert rows == [[1, "a4", 4.5], [2, "b", 2.5], [3, "c", 0.0], [4, "d", 4.5]]
    same(both, f"SELECT id, s FROM {table} WHERE s LIKE 'a%'")
    both.spark.sql(f"INSERT INTO {table} VALUES (5, DATE'2024-03-01', 'e', 5.5)")
    both.spark.sql(f"DELETE FROM {table} WHERE id = 2")
    both.spark.sql(f"UPDATE {table} SET s = 'spark' WHERE id = 3")
    both.run([f"{insert} (3, DATE '2024-02-03', 'again', 0.5), (5, DATE '2024-03-01', 'f', 6.5)"], "flink")
    rows = same(both, f"SELECT id, s FROM {table} ORDER BY id")
    assert rows == [[1, "a4"], [3, "again"], [4, "d"], [5, "f"]]


def test_spark_reads_upserts_into_a_table_whose_partitioning_changed(both: Both) -> None:
    both.spark.sql("CREATE NAMESPACE IF NOT EXISTS both.upserts")
    table = "both.upserts.evolved"
    insert = f"INSERT INTO {table} /*+ OPTIONS('upsert-enabled'='true') */ VALUES"
    for change in (
        f"CREATE TABLE {table} (id INT NOT NULL, d INT NOT NULL, v STRING) USING iceberg PARTITIONED BY (d)",
        f"ALTER TABLE {table} SET IDENTIFIER FIELDS id, d",
        f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')",
        f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)",
        f"INSERT INTO {table} VALUES (4, 2, 'd')",
    ):
        both.spark.sql(change)
    both.run([f"{insert} (1, 1, 'A'), (4, 2, 'D'), (3, 1, 'new')"])
    rows = same(both, f"SELECT * FROM {table} ORDER BY id, d")
    assert rows == [[1, 1, "A"], [2, 1, "b"], [3, 1, "new"], [3, 2, "c"], [4, 2, "D"]]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_spark_reads_what_was_truncated_and_written_to_branches(both: Both, version: int) -> None:
    both.spark.sql("CREATE NAMESPACE IF NOT EXISTS both.branches")
    table = f"both.branches.t{version}"
    both.run(
        [
            f"CREATE TABLE {table} (id INT, p STRING) USING iceberg PARTITIONED BY (p) "
            f"TBLPROPERTIES ('format-version'='{version}', 'write.wap.enabled'='true')",
            f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')",
        ]
    )
    both.spark.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    both.run(
        [
            f"INSERT INTO {table}.branch_audit VALUES (3, 'c')",
            f"INSERT OVERWRITE {table}.branch_audit PARTITION (p = 'a') SELECT 10",
            "SET spark.wap.branch = made",
            f"TRUNCATE TABLE {table}",
            f"INSERT INTO {table} VALUES (5, 'e')",
            "RESET spark.wap.branch",
            "SET spark.wap.id = w1",
            f"INSERT INTO {table} VALUES (6, 'f')",
        ]
    )
    assert same(both, f"SELECT id FROM {table}.branch_audit ORDER BY id") == [[2], [3], [10]]
    assert same(both, f"SELECT id FROM {table}.branch_made") == [[5]]
    assert same(both, f"SELECT id FROM {table} ORDER BY id") == [[1], [2]]
    # What is staged and audited is published by Spark.
    both.spark.sql(f"CALL both.system.publish_changes(table => '{table.removeprefix('both.')}', wap_id => 'w1')")
    assert same(both, f"SELECT id FROM {table} ORDER BY id") == [[1], [2], [6]]
    both.spark.sql(f"INSERT INTO {table}.branch_made VALUES (7, 'g')")
    both.run([f"TRUNCATE TABLE {table}.branch_audit", f"TRUNCATE TABLE {table}"])
    assert same(both, f"SELECT id FROM {table}.branch_made ORDER BY id") == [[5], [7]]
    assert same(both, f"SELECT id FROM {table}.branch_audit") == []
    assert same(both, f"SELECT id FROM {table}") == []
    both.spark.sql(f"INSERT INTO {table} VALUES (8, 'h')")
    assert same(both, f"SELECT id FROM {table}") == [[8]]

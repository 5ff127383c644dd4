"""DROP TABLE where the catalog keeps the files: Flink's deletes them, Spark's only with PURGE."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.berg import fresh_berg


@pytest.mark.parametrize(
    ("dialect", "drop", "kept"),
    [("flink", "DROP TABLE", False), ("spark", "DROP TABLE", True), ("spark", "DROP TABLE PURGE", False)],
)
def test_files_of_a_dropped_table(tmp_path: Path, dialect: str, drop: str, kept: bool) -> None:
    catalog = (
        "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='jdbc', "
        f"'uri'='jdbc:sqlite:{tmp_path}/catalog.db', 'warehouse'='{tmp_path}/warehouse')"
    )
    verb, _, purge = drop.partition(" TABLE")
    statements = [
        catalog,
        "CREATE DATABASE c.db",
        "CREATE TABLE c.db.t (id INT, part STRING) PARTITIONED BY (part)",
        "INSERT INTO c.db.t VALUES (1, 'a'), (2, 'b')",
        "INSERT OVERWRITE c.db.t VALUES (3, 'b')",
        "ALTER TABLE c.db.t RENAME TO c.db.u",
        "CREATE TABLE c.db.t (id INT, part STRING)",
        "INSERT INTO c.db.t VALUES (4, 'c')",
        f"{verb} TABLE c.db.u{purge}",
        "SELECT id FROM c.db.t",
    ]
    with fresh_berg() as berg:
        answers = berg.answers(statements, "--dialect", dialect, "--format", "jsonl")
    for answer in answers:
        assert not answer.errors
    # The other table is in the same directory by now.
    assert answers[-1].json_rows() == [{"id": 4}]
    files = [p.name for p in (tmp_path / "warehouse" / "db" / "t").rglob("*") if p.is_file()]
    assert len([f for f in files if f.endswith(".metadata.json")]) == (5 if kept else 2)
    assert len([f for f in files if f.endswith(".parquet")]) == (4 if kept else 1)

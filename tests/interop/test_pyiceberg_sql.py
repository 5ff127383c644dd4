"""PyIceberg's SqlCatalog and our JDBC catalog on one SQLite database: each goes on where the other stopped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.berg import Berg, fresh_berg


def theirs(warehouse: Path) -> SqlCatalog:
    return SqlCatalog("both", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))


def ours(warehouse: Path) -> str:
    return (
        "CREATE CATALOG both WITH ('type'='iceberg', 'catalog-type'='jdbc', "
        f"'uri'='jdbc:sqlite:{warehouse}/catalog.db', 'warehouse'='{warehouse}')"
    )


def run(berg: Berg, warehouse: Path, *statements: str) -> list[list[object]]:
    """Run statements; the rows of the last one."""
    answers = berg.answers([ours(warehouse), *statements], "--format", "jsonl", "--dialect", "spark")
    for answer in answers:
        assert not answer.errors, answer.errors
    return [list(row.values()) for row in answers[-1].json_rows()]


@pytest.mark.parametrize("ours_first", [True, False])
def test_each_goes_on_with_the_others_tables(tmp_path: Path, ours_first: bool) -> None:
    with fresh_berg() as berg:
        if ours_first:
            run(berg, tmp_path, "CREATE NAMESPACE both.db", "CREATE TABLE both.db.t (id INT, name STRING)")
        else:
            made = theirs(tmp_path)
            made.create_namespace("db", {"owner": "zs"})
            schema = pa.schema([pa.field("id", pa.int32()), pa.field("name", pa.string())])
            made.create_table("db.t", schema)
        run(berg, tmp_path, "INSERT INTO both.db.t VALUES (1, 'zs')")
        table = theirs(tmp_path).load_table("db.t")
        assert table.scan().to_arrow().to_pylist() == [{"id": 1, "name": "zs"}]
        with table.transaction() as change:
            change.set_properties(mine="yes")
        assert run(berg, tmp_path, "SHOW TBLPROPERTIES both.db.t ('mine')") == [["mine", "yes"]]
        run(
            berg,
            tmp_path,
            "ALTER TABLE both.db.t ADD COLUMN extra DOUBLE",
            "INSERT INTO both.db.t VALUES (2, 'ls', 0.5)",
        )
        catalog = theirs(tmp_path)
        rows = catalog.load_table("db.t").scan().to_arrow().sort_by("id").to_pylist()
        assert rows == [{"id": 1, "name": "zs", "extra": None}, {"id": 2, "name": "ls", "extra": 0.5}]
        catalog.rename_table("db.t", "db.u")
        catalog.create_namespace("db.deep", {"comment": "inner"})
        assert run(berg, tmp_path, "SELECT id FROM both.db.u ORDER BY id") == [[1], [2]]
        assert run(berg, tmp_path, "SHOW NAMESPACES IN both.db") == [["db.deep"]]
        run(berg, tmp_path, "DROP NAMESPACE both.db.deep", "ALTER TABLE both.db.u RENAME TO both.db.v")
        assert catalog.list_namespaces("db") == []
        assert catalog.list_tables("db") == [("db", "v")]
        catalog.drop_table("db.v")
        assert run(berg, tmp_path, "SHOW TABLES IN both.db") == []

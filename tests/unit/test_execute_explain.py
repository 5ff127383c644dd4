"""EXPLAIN of tables with delete files, and EXPLAIN ANALYZE, whose times differ by run."""

from __future__ import annotations

import re

from tests.support.berg import Berg
from tests.support.equality_table import Table
from tests.support.reference_tables import CATALOG as CONF
from tests.support.reference_tables import laid_out

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"

TABLE = "CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2), (3);"


def test_analyze_runs_the_query_and_counts(berg: Berg) -> None:
    ran = berg.run("-e", f"{TABLE} EXPLAIN ANALYZE SELECT id FROM t WHERE id > 1;")
    assert ran.code == 0, ran.err
    assert "pushed down: id > 1" in ran.out
    assert "== Physical Plan ==" in ran.out
    assert "Total Time" in ran.out
    assert "2 rows" in ran.out


def test_analyze_gives_the_errors_of_the_query(berg: Berg) -> None:
    ran = berg.run("-e", f"{TABLE} EXPLAIN ANALYZE SELECT CAST('x' AS INT) FROM t;")
    assert ran.code == 1
    assert "[ERROR]" in ran.err
    assert "Traceback" not in ran.err


def explained(berg: Berg, query: str, *arguments: str) -> list[str]:
    """The lines of EXPLAIN without sizes, its head and its columns."""
    *_, answer = berg.answers([CATALOG, f"EXPLAIN {query}"], *arguments, "--format", "csv")
    assert not answer.errors, answer.errors
    lines = [re.sub(r"\d+(\.\d)? (bytes|KiB|MiB)", "<size>", line.strip()) for line in answer.data]
    return [line for line in lines if re.match("files|delete files|answered|pruned|snapshot|manifests", line)]


def test_delete_files_are_told_by_kind_and_way(berg: Berg) -> None:
    folder = berg.warehouse / "db" / "t"
    folder.mkdir(parents=True)
    table = Table(folder)
    table.data(1, [(1, "a", 1), (2, "b", 2)])
    table.data(1, [(11, "a", 3), (12, "b", 4)])
    table.data(3, [(2, "new", 5)])
    table.delete(2, [1], [(2,)])
    table.delete_at(2, [(1, 0)])
    table.publish()
    assert explained(berg, "SELECT * FROM c.db.t") == [
        "snapshot: 1",
        "manifests: 1 of 1",
        "files: 3 of 3, <size>",
        "delete files: 2, <size> (1 position, 1 equality)",
        "files with deletes: 2 of 3, rows left out by position and by key",
    ]
    # A pruned file takes the deletes along that only apply to it.
    assert explained(berg, "SELECT * FROM c.db.t WHERE id > 10") == [
        "snapshot: 1",
        "manifests: 1 of 1",
        "files: 1 of 3, <size>",
        "pruned by: bounds of id (2)",
        "delete files: 1, <size> (1 position)",
        "files with deletes: 1 of 1, rows left out by position",
    ]
    assert "answered from metadata" not in "".join(explained(berg, "SELECT COUNT(*) FROM c.db.t"))


def test_deletion_vectors_are_told(berg: Berg) -> None:
    laid_out("v3_deletion_vectors")
    lines = explained(berg, "SELECT * FROM hadoop_prod.fx.v3_deletion_vectors", *CONF)
    told = next(line for line in lines if line.startswith("delete files"))
    assert re.fullmatch(r"delete files: \d+, <size> \(\d+ deletion vector\)", told)
    assert lines[-1].endswith("rows left out by position")

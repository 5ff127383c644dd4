"""EXPLAIN ANALYZE, whose times differ by run."""

from __future__ import annotations

from tests.support.berg import Berg

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

"""What people reported of streaming reads elsewhere; the numbers are those of the list of reports."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

MADE = (
    "CREATE TABLE t (id INT, v STRING)",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO t VALUES (3, 'c')",
)
WAYS = (("DELETE FROM t WHERE id = 3", "delete"), ("INSERT OVERWRITE t VALUES (9, 'z')", "overwrite"))
EARLIEST = "'streaming'='true', 'monitor-interval'='100ms', 'starting-strategy'='INCREMENTAL_FROM_EARLIEST_SNAPSHOT'"


@pytest.mark.parametrize("dialect", ["flink", "spark"])
@pytest.mark.parametrize(("sql", "operation"), WAYS)
def test_50_a_streaming_read_says_which_snapshot_is_in_its_way_or_passes_it_when_told_to(
    sql: str, operation: str, dialect: str, berg: Berg
) -> None:
    """What came before is given; nothing is skipped silently."""
    arguments = ("--dialect", dialect, "--format", "csv")
    for answer in berg.answers([*MADE, sql, "INSERT INTO t VALUES (4, 'd')"], *arguments):
        assert not answer.errors, answer.errors
    (found,) = berg.rows("SELECT MAX(snapshot_id) AS id FROM t.snapshots WHERE operation NOT IN ('append')")
    named, skip = str(found["id"]), f"streaming-skip-{operation}-snapshots"

    stopped, passed, alive = berg.answers(
        [
            f"SELECT id FROM t /*+ OPTIONS({EARLIEST}) */",
            f"SELECT id FROM t /*+ OPTIONS({EARLIEST}, '{skip}'='true', 'limit'='4') */",
            "SELECT 1 AS one",
        ],
        *arguments,
    )
    assert stopped.data == ["op,id", "+I,1", "+I,2", "+I,3"]
    message, hint = stopped.errors[0].message, stopped.errors[0].hint or ""
    assert f"Snapshot {named} of table default_catalog.default_database.t is of '{operation}'" in message
    assert skip in hint
    assert "read.changelog" in hint
    assert passed.data == ["op,id", "+I,1", "+I,2", "+I,3", "+I,4"]
    assert alive.data == ["one", "1"]

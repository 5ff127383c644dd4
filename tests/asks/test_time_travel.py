"""What people reported of other tools, group G: reading a table as it was. Numbers as in the collection."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

MADE = (
    "CREATE TABLE t (id INT, old_name STRING)",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "ALTER TABLE t RENAME COLUMN old_name TO new_name",
    "ALTER TABLE t ADD COLUMN extra INT",
    "INSERT INTO t VALUES (3, 'c', 30)",
)
FIRST, LAST = {"id": 2, "old_name": "b"}, {"id": 3, "new_name": "c", "extra": 30}


def made(berg: Berg, dialect: str) -> tuple[int, int]:
    """The ids of the two snapshots of ``t``."""
    for answer in berg.answers(MADE, "--dialect", dialect):
        assert not answer.errors, answer.errors
    first, second = berg.rows("SELECT snapshot_id FROM t.snapshots ORDER BY committed_at")
    return int(str(first["snapshot_id"])), int(str(second["snapshot_id"]))


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_48_an_old_snapshot_has_its_own_columns_in_where_too(dialect: str, berg: Berg) -> None:
    old, new = made(berg, dialect)
    forms = (
        f"t VERSION AS OF {old}",
        f"t VERSION AS OF '{old}'",
        f"t FOR SYSTEM_VERSION AS OF {old}",
        f"t.snapshot_id_{old}",
        f"t /*+ OPTIONS('snapshot-id' = '{old}') */",
    )
    queries = [f"SELECT * FROM {form} WHERE old_name = 'b'" for form in forms]
    queries += [f"SELECT new_name FROM {form} AS x" for form in forms]
    queries += [
        "SELECT * FROM t.branch_main WHERE new_name = 'c'",
        f"SELECT * FROM t VERSION AS OF {new} WHERE extra = 30",
    ]
    answers = berg.answers(queries, "--dialect", dialect, "--format", "jsonl")
    for answer in answers[: len(forms)]:
        assert answer.json_rows() == [FIRST]
    for answer in answers[len(forms) : -2]:
        assert answer.errors[0].message == "Column 'new_name' was not found."
    assert answers[-2].json_rows() == answers[-1].json_rows() == [LAST]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_what_was_appended_between_two_ids(dialect: str, berg: Berg) -> None:
    old, new = made(berg, dialect)
    hints = (
        f"'start-snapshot-id' = '{old}'",
        f"'start-snapshot-id' = '{old}', 'end-snapshot-id' = '{new}'",
        f"'end-snapshot-id' = '{old}'",
        f"'start-snapshot-id' = '{new}'",
        f"'start-snapshot-id' = '{new}', 'end-snapshot-id' = '{old}'",
    )
    queries = [f"SELECT id, new_name FROM t /*+ OPTIONS({hint}) */ ORDER BY id" for hint in hints]
    answers = berg.answers(queries, "--dialect", dialect, "--format", "jsonl")
    ids = [[row["id"] for row in answer.json_rows()] for answer in answers[:4]]
    assert ids == [[3], [3], [1, 2], []]
    assert answers[4].errors[0].message == f"Snapshot {new} is not an ancestor of snapshot {old}."


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_counts_are_of_the_state_that_is_read(dialect: str, berg: Berg) -> None:
    old, _ = made(berg, dialect)
    froms = (
        f"t VERSION AS OF {old}",
        f"t /*+ OPTIONS('start-snapshot-id' = '{old}') */",
        "t /*+ OPTIONS('limit' = '1') */",
        "t",
    )
    queries = [f"SELECT COUNT(*) AS n, MIN(id) AS low FROM {f}" for f in froms]
    answers = berg.answers(queries, "--dialect", dialect, "--format", "jsonl")
    assert [answer.json_rows()[0]["n"] for answer in answers] == [2, 1, 1, 3]
    assert [answer.json_rows()[0]["low"] for answer in answers][:2] == [1, 3]

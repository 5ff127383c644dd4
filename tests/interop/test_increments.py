"""What was appended between snapshots, tags and on a branch, across compactions: as Spark's changelog of the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.interop.conftest import Both
from tests.support.answers import Answer

pytestmark = pytest.mark.interop

T = "both.inc.t"
STEPS = (
    ("ours", f"INSERT INTO {T} VALUES (1, 'a'), (2, 'b')"),
    ("theirs", f"INSERT INTO {T} VALUES (3, 'a')"),
    ("theirs", f"ALTER TABLE {T} CREATE TAG one"),
    ("ours", f"INSERT INTO {T} VALUES (4, 'b')"),
    ("theirs", "CALL both.system.rewrite_data_files(table => 'inc.t', options => map('rewrite-all', 'true'))"),
    ("theirs", f"INSERT INTO {T} VALUES (5, 'c')"),
    ("theirs", f"ALTER TABLE {T} CREATE TAG two"),
    ("theirs", f"ALTER TABLE {T} CREATE BRANCH b"),
    ("theirs", f"INSERT INTO {T}.branch_b VALUES (6, 'b')"),
    ("ours", f"INSERT INTO {T} VALUES (7, 'c')"),
    ("theirs", "CALL both.system.rewrite_manifests('inc.t')"),
)
"""How the table came to be, by bergsql and by Spark."""
NAMES = ("one_two", "three", "four", "compacted", "five", "six", "seven", "manifests")
"""Its snapshots in order, the sixth of the branch."""


@pytest.fixture(scope="module")
def snapshots(both: Both) -> Mapping[str, int]:
    """The ids of the snapshots by name."""
    both.run(["CREATE DATABASE both.inc", f"CREATE TABLE {T} (id INT, c STRING) USING iceberg PARTITIONED BY (c)"])
    for who, statement in STEPS:
        if who == "ours":
            both.run([statement])
        else:
            both.spark.sql(statement)
    found = both.rows(f"SELECT snapshot_id, operation FROM {T}.snapshots ORDER BY committed_at")
    assert [row[1] for row in found] == ["append"] * 3 + ["replace"] + ["append"] * 3 + ["replace"]
    return {name: int(str(row[0])) for name, row in zip(NAMES, found, strict=True)}


def asked(both: Both, froms: Sequence[str], dialect: str) -> list[Answer]:
    return both.answers([f"SELECT id FROM {f} ORDER BY id" for f in froms], dialect)


def hint(snapshots: Mapping[str, int], **options: str) -> str:
    """``/*+ OPTIONS(…) */`` with the ids of the snapshots named."""
    ids = {k: snapshots[v] if k.endswith("id") else v for k, v in options.items()}
    given = ", ".join(f"'{k.replace('_', '-')}' = '{v}'" for k, v in ids.items())
    return f"/*+ OPTIONS({given}) */"


RANGES: list[tuple[dict[str, str], list[int]]] = [
    ({"start_snapshot_id": "one_two"}, [3, 4, 5, 7]),
    ({"start_snapshot_id": "one_two", "end_snapshot_id": "four"}, [3, 4]),
    ({"start_snapshot_id": "three", "end_snapshot_id": "compacted"}, [4]),
    ({"start_snapshot_id": "four", "end_snapshot_id": "compacted"}, []),
    ({"start_snapshot_id": "compacted"}, [5, 7]),
    ({"start_snapshot_id": "seven"}, []),
    ({"end_snapshot_id": "five"}, [1, 2, 3, 4, 5]),
    ({"start_tag": "one", "end_tag": "two"}, [4, 5]),
    ({"start_tag": "one", "end_snapshot_id": "seven"}, [4, 5, 7]),
    ({"start_tag": "two"}, [7]),
    ({"branch": "b", "start_tag": "one"}, [4, 5, 6]),
    ({"branch": "b", "start_snapshot_id": "five"}, [6]),
    ({"branch": "b", "end_tag": "two"}, [1, 2, 3, 4, 5]),
]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_what_was_appended_in_a_range(dialect: str, both: Both, snapshots: Mapping[str, int]) -> None:
    hints = [hint(snapshots, **options) for options, _ in RANGES]
    answers = asked(both, [f"{T} {h}" for h in hints], dialect)
    counts = both.answers(
        [f"SELECT COUNT(*) AS n, MIN(id) AS low, MAX(c) AS high FROM {T} {h}" for h in hints], dialect
    )
    filtered = both.answers([f"SELECT id FROM {T} {h} WHERE c <> 'b' ORDER BY id" for h in hints], dialect)
    for (options, ids), answer, count, few in zip(RANGES, answers, counts, filtered, strict=True):
        assert [row["id"] for row in answer.json_rows()] == ids, options
        (counted,) = count.json_rows()
        assert (counted["n"], counted["low"]) == (len(ids), min(ids, default=None)), options
        assert [row["id"] for row in few.json_rows()] == [i for i in ids if i not in (2, 4, 6)], options


def test_the_name_of_a_branch_says_so_too(both: Both, snapshots: Mapping[str, int]) -> None:
    (answer,) = asked(both, [f"{T}.branch_b {hint(snapshots, start_tag='two')}"], "spark")
    assert [row["id"] for row in answer.json_rows()] == [6]


@pytest.mark.parametrize(("start", "end"), [("one_two", "four"), ("three", "manifests"), ("compacted", "seven")])
def test_ranges_are_sparks_changelog(start: str, end: str, both: Both, snapshots: Mapping[str, int]) -> None:
    first, last = snapshots[start], snapshots[end]
    both.spark.sql(
        "CALL both.system.create_changelog_view(table => 'inc.t', changelog_view => 'inc_changes', "
        f"options => map('start-snapshot-id', '{first}', 'end-snapshot-id', '{last}'))"
    )
    theirs = both.spark.rows("SELECT id, c FROM inc_changes ORDER BY id")
    range_ = hint(snapshots, start_snapshot_id=start, end_snapshot_id=end)
    assert both.rows(f"SELECT * FROM {T} {range_} ORDER BY id") == theirs


def test_a_range_must_lie_on_its_branch(both: Both, snapshots: Mapping[str, int]) -> None:
    off_branch = {"branch": "b", "end_snapshot_id": "seven"}, {"start_snapshot_id": "six"}
    answers = asked(both, [f"{T} {hint(snapshots, **options)}" for options in off_branch], "flink")
    told = [answer.errors[0].message for answer in answers]
    assert told[0] == f"Snapshot {snapshots['seven']} is not on the branch that is read."
    assert told[1].startswith(f"Snapshot {snapshots['six']} is not an ancestor of snapshot")


def test_what_is_deleted_or_expired_is_named(both: Both, snapshots: Mapping[str, int]) -> None:
    """Last, for it changes the table: files that a compaction replaced go with the snapshots that held them."""
    both.spark.sql(f"DELETE FROM {T} WHERE id = 1")
    (answer,) = asked(both, [f"{T} {hint(snapshots, start_snapshot_id='seven')}"], "flink")
    assert "only what was appended can be read between snapshots" in answer.errors[0].message
    both.spark.sql(f"ALTER TABLE {T} DROP TAG one")
    both.spark.sql(
        "CALL both.system.expire_snapshots(table => 'inc.t', older_than => TIMESTAMP '2999-01-01', retain_last => 1)"
    )
    expired, kept = asked(both, [f"{T} {hint(snapshots, start_snapshot_id=s)}" for s in ("one_two", "five")], "flink")
    assert "expired" in expired.errors[0].message
    assert kept.errors
    (of_branch,) = asked(both, [f"{T} {hint(snapshots, branch='b', start_tag='two')}"], "flink")
    assert [row["id"] for row in of_branch.json_rows()] == [6]

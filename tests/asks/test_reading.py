"""What people reported of other tools, group F: reading tables. Numbers as in the collection."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

BOUNDARY = "TIMESTAMP '2024-02-01 00:00:00'"


@pytest.mark.parametrize("transform", ["months", "days", "hours", "years"])
@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">=", "<>"])
def test_51_a_boundary_of_a_transform_prunes_no_matching_file(transform: str, operator: str, berg: Berg) -> None:
    """Three months of rows, on each side of the boundary and at it: what pruning keeps is what there is."""
    stamps = (
        "2023-12-31 23:59:59.999999", "2024-01-01 00:00:00", "2024-01-31 23:59:59.999999", "2024-02-01 00:00:00",
        "2024-02-01 00:00:00.000001", "2024-02-29 12:00:00", "2024-03-01 00:00:00", "1969-12-31 23:59:59", "1970-01-01 00:00:00",
    )  # fmt: skip
    rows = ", ".join(f"({i}, TIMESTAMP '{s}')" for i, s in enumerate(stamps))
    made = f"CREATE TABLE t (id INT, ts TIMESTAMP(6)) PARTITIONED BY ({transform}(ts))"
    where = f"ts {operator} {BOUNDARY}"
    answers = berg.answers(
        [
            made,
            f"INSERT INTO t VALUES {rows}",
            f"SELECT id FROM t WHERE {where} ORDER BY id",
            f"SELECT id FROM (SELECT id, {where} AS w FROM t) AS q WHERE w ORDER BY id",
        ],
        "--format",
        "jsonl",
    )
    pruned, unpruned = (a.json_rows() for a in answers[2:])
    wanted = {"=": [3], "<": [0, 1, 2, 7, 8], "<=": [0, 1, 2, 3, 7, 8], ">": [4, 5, 6], ">=": [3, 4, 5, 6]}
    wanted["<>"] = [i for i in range(len(stamps)) if i != 3]
    assert [r["id"] for r in pruned] == wanted[operator]
    assert unpruned == pruned

"""What people reported of MERGE and DELETE elsewhere; the numbers are those of the list of reports."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

MODES = ("copy-on-write", "merge-on-read")
TWICE = "MERGE INTO t USING (SELECT * FROM (VALUES (1, 'x'), (1, 'y')) AS v(id, v)) AS s ON t.id = s.id "
REFUSED = (
    "WHEN MATCHED THEN UPDATE SET v = s.v",
    "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
    "WHEN MATCHED AND s.v = 'x' THEN DELETE",
)


def table(name: str, rows: str, mode: str) -> list[str]:
    properties = ", ".join(f"'write.{command}.mode'='{mode}'" for command in ("delete", "update", "merge"))
    return [
        f"CREATE TABLE {name} (id INT, v STRING) WITH ({properties})",
        f"INSERT INTO {name} VALUES {rows}",
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_35_a_row_that_two_rows_match_is_an_error_before_anything_is_written(
    dialect: str, mode: str, berg: Berg
) -> None:
    """But a lone DELETE may match twice."""
    arguments = ("--dialect", dialect, "--format", "csv")
    berg.answers(table("t", "(1, 'a'), (2, 'b')", mode), *arguments)
    before = set(berg.home.rglob("*.parquet"))
    *refused, rows = berg.answers([*(TWICE + clauses for clauses in REFUSED), "SELECT * FROM t"], *arguments)
    for answer in refused:
        assert "matched by more than one row" in answer.errors[0].message
    assert sorted(rows.data) == ["1,a", "2,b", "id,v"]
    assert set(berg.home.rglob("*.parquet")) == before
    _, rows = berg.answers([TWICE + "WHEN MATCHED THEN DELETE", "SELECT * FROM t"], *arguments)
    assert rows.data == ["id,v", "2,b"]


LEFT = {
    "id = 2": [",c", "1,a"],
    "id <> 2": [",c", "2,b"],
    "NOT (id = 2)": [",c", "2,b"],
    "id NOT IN (2, 3)": [",c", "2,b"],
    "id NOT IN (2, NULL)": [",c", "1,a", "2,b"],
    "id > 0 OR v = 'a'": [",c"],
    "id = id": [",c"],
}
"""What a DELETE with a condition leaves."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_36_a_condition_that_is_null_deletes_nothing(dialect: str, mode: str, berg: Berg) -> None:
    statements = []
    for n, where in enumerate(LEFT):
        statements += [
            *table(f"t{n}", "(1, 'a'), (2, 'b'), (NULL, 'c')", mode),
            f"DELETE FROM t{n} WHERE {where}",
            f"SELECT * FROM t{n} ORDER BY id",
        ]
    answers = berg.answers(statements, "--dialect", dialect, "--format", "csv")
    found = {where: answer.data[1:] for where, answer in zip(LEFT, answers[3::4], strict=True)}
    assert found == LEFT

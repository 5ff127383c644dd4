"""What people reported of DELETE elsewhere; the numbers are those of the list of reports."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

CSV = ("--format", "csv", "--no-config")
MODES = ("copy-on-write", "merge-on-read")


def table(columns: str, mode: str) -> str:
    properties = ", ".join(f"'write.{command}.mode'='{mode}'" for command in ("delete", "update", "merge"))
    return f"CREATE TABLE t ({columns}) WITH ({properties}); "


def rows(berg: Berg, dialect: str, script: str) -> list[str]:
    done = berg.run(*CSV, "--dialect", dialect, stdin=f"{script} SELECT * FROM t ORDER BY 1, 2;")
    assert done.code == 0, done.err
    return done.out.splitlines()[1:]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("id = 2", ["'',c", "1,a"]),
        ("id <> 2", ["'',c", "2,b"]),
        ("NOT (id = 2)", ["'',c", "2,b"]),
        ("id NOT IN (2, 3)", ["'',c", "2,b"]),
        ("id NOT IN (2, NULL)", ["'',c", "1,a", "2,b"]),
        ("id > 0 OR v = 'a'", ["'',c"]),
        ("id = id", ["'',c"]),
    ],
)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_36_a_condition_that_is_null_deletes_nothing(
    dialect: str, mode: str, where: str, left: list[str], berg: Berg
) -> None:
    script = table("id INT, v STRING", mode) + "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (NULL, 'c');"
    found = rows(berg, dialect, f"{script} DELETE FROM t WHERE {where};")
    assert found == [line.replace("''", "") for line in left]

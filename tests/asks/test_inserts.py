"""What people reported of INSERT elsewhere; the numbers are those of the list of reports."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

CSV = ("--format", "csv", "--no-config")
TABLE = "CREATE TABLE t (a INT, b STRING, c DOUBLE);"


def rows(berg: Berg, dialect: str, script: str) -> list[str]:
    done = berg.run(*CSV, "--dialect", dialect, stdin=script)
    assert done.code == 0, done.err
    return done.out.splitlines()[1:]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_26_values_go_under_the_columns_that_are_named(dialect: str, berg: Berg) -> None:
    script = f"{TABLE} INSERT INTO t (c, a, b) SELECT 1.5, 2, 'x'; SELECT a, b, c FROM t;"
    assert rows(berg, dialect, script) == ["2,x,1.5"]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_26_without_a_list_they_go_by_position_and_types_are_checked(dialect: str, berg: Berg) -> None:
    script = f"{TABLE} INSERT INTO t SELECT 2 AS c, 'x' AS a, 1.5 AS b; SELECT a, b, c FROM t;"
    assert rows(berg, dialect, script) == ["2,x,1.5"]
    done = berg.run(*CSV, "--dialect", dialect, "-e", "INSERT INTO t SELECT 'x', 2, 1.5")
    assert done.code == 1
    assert "cannot be stored in 'a'" in done.err


def test_26_the_rest_of_a_partial_list_is_null_in_flink_and_refused_in_spark(berg: Berg) -> None:
    script = f"{TABLE} INSERT INTO t (c, a) VALUES (1.5, 2); SELECT a, b, c FROM t;"
    assert rows(berg, "flink", script) == ["2,,1.5"]
    done = berg.run(*CSV, "--dialect", "spark", "-e", "INSERT INTO t (c, a) VALUES (1.5, 2)")
    assert done.code == 1
    assert "no value for column 'b'" in done.err


PARTITIONED = (
    "CREATE TABLE p (id INT, d STRING) PARTITIONED BY (d); INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c');"
    "CREATE TABLE u (id INT); INSERT INTO u VALUES (1), (2);"
)


@pytest.mark.parametrize(
    ("dialect", "mode", "left"),
    [("flink", "", ["2,b", "3,c", "9,a"]), ("spark", "static", ["9,a"]), ("spark", "dynamic", ["2,b", "3,c", "9,a"])],
)
def test_32_overwrite_replaces_what_the_flavour_says_and_tells_it(
    dialect: str, mode: str, left: list[str], berg: Berg
) -> None:
    conf = ("--conf", f"spark.sql.sources.partitionOverwriteMode={mode}") if mode else ()
    done = berg.run(
        "--no-config", "--dialect", dialect, *conf, "-e", f"{PARTITIONED} INSERT OVERWRITE p VALUES (9, 'a')"
    )
    assert done.code == 0, done.err
    removed = 3 if left == ["9,a"] else 1
    assert f"{removed} row{'s' if removed > 1 else ''} removed" in done.out + done.err
    assert rows(berg, dialect, "SELECT * FROM p ORDER BY id") == left
    # A table without partitions is replaced whole.
    script = "INSERT OVERWRITE u VALUES (9); SELECT * FROM u;"
    done = berg.run(*CSV, "--dialect", dialect, *conf, stdin=script)
    assert done.out.splitlines() == ["id", "9"]


@pytest.mark.parametrize(
    ("dialect", "mode", "left"),
    [("flink", "", "3"), ("spark", "static", "0"), ("spark", "dynamic", "3")],
)
def test_33_an_empty_overwrite_does_what_the_flavour_says(dialect: str, mode: str, left: str, berg: Berg) -> None:
    conf = ("--conf", f"spark.sql.sources.partitionOverwriteMode={mode}") if mode else ()
    script = f"{PARTITIONED} INSERT OVERWRITE p SELECT * FROM p WHERE FALSE; SELECT COUNT(*) AS n FROM p;"
    done = berg.run(*CSV, "--dialect", dialect, *conf, stdin=script)
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["n", left]


def test_33_a_static_overwrite_with_no_rows_empties_its_partition_only(berg: Berg) -> None:
    script = f"{PARTITIONED} INSERT OVERWRITE p PARTITION (d = 'b') SELECT id FROM p WHERE FALSE;"
    assert rows(berg, "spark", f"{script} SELECT * FROM p ORDER BY id;") == ["1,a", "3,c"]

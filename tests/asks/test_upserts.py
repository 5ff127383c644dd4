"""What people reported of upserts elsewhere; the numbers are those of the list of reports."""

from __future__ import annotations

import pytest

from tests.support.berg import Berg

CSV = ("--format", "csv", "--no-config")


def rows(berg: Berg, script: str) -> list[str]:
    done = berg.run(*CSV, stdin=script)
    assert done.code == 0, done.err
    return done.out.splitlines()[1:]


def table(version: int, file_format: str, more: str = "") -> str:
    return f"'write.upsert.enabled'='true', 'format-version'='{version}', 'write.delete.format.default'='{file_format}'{more}"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_37_a_value_takes_the_place_of_null_and_null_of_a_value(version: int, file_format: str, berg: Berg) -> None:
    script = (
        f"CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ({table(version, file_format)});"
        "INSERT INTO t VALUES (1, CAST(NULL AS INT)), (2, 5), (3, CAST(NULL AS INT));"
        "INSERT INTO t VALUES (1, 7), (2, CAST(NULL AS INT));"
        "SELECT * FROM t ORDER BY id"
    )
    assert rows(berg, script) == ["1,7", "2,", "3,"]


@pytest.mark.parametrize("values", ["(1, 'a'), (CAST(NULL AS INT), 'b')", "(CAST(NULL AS INT), 'b')"])
def test_37_a_key_of_null_is_refused_by_the_columns_name(values: str, berg: Berg) -> None:
    script = (
        f"CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({table(2, 'parquet')});"
        "INSERT INTO t VALUES (1, 'first')"
    )
    assert berg.run(*CSV, stdin=script).code == 0
    done = berg.run(*CSV, "-e", f"INSERT INTO t VALUES {values}")
    assert done.code == 1
    assert "Column 'id' is NOT NULL, and a row has NULL in it." in done.err
    assert rows(berg, "SELECT * FROM t") == ["1,first"]
    data = [p for p in (berg.home / "warehouse").rglob("data/**/*") if p.is_file()]
    assert len(data) == 2  # of the first INSERT


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("transform", ["d", "days(d)", "months(d)", "bucket(3, id)", "truncate(2, k)"])
def test_38_keys_over_partitions_are_exact(version: int, transform: str, berg: Berg) -> None:
    script = (
        "CREATE TABLE t (id INT, d DATE, k STRING, v STRING, PRIMARY KEY (id, d, k) NOT ENFORCED)"
        f" PARTITIONED BY ({transform}) WITH ({table(version, 'parquet')});"
        "INSERT INTO t VALUES (1, DATE '2024-01-01', 'abc', 'a'), (2, DATE '2024-01-02', 'abd', 'b'),"
        " (3, DATE '2024-02-03', 'xyz', 'c'), (1, DATE '2024-02-03', 'abc', 'd');"
        "INSERT INTO t VALUES (2, DATE '2024-01-02', 'abd', 'B');"
        "SELECT id, d, v FROM t ORDER BY id, d"
    )
    assert rows(berg, script) == ["1,2024-01-01,a", "1,2024-02-03,d", "2,2024-01-02,B", "3,2024-02-03,c"]


def test_40_a_row_that_may_move_between_partitions_is_refused(berg: Berg) -> None:
    """Its old row is not known, so nothing would delete it."""
    columns = "(id INT, status INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (status)"
    done = berg.run(*CSV, "-e", f"CREATE TABLE t {columns} WITH ({table(2, 'parquet')})")
    assert done.code == 1
    assert "Column 'status', by which the table is partitioned, is not in the key" in done.err
    script = f"CREATE TABLE t {columns}; INSERT INTO t VALUES (7, 1, 'old')"
    assert berg.run(*CSV, stdin=script).code == 0
    upsert = "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ VALUES (7, 2, 'new')"
    done = berg.run(*CSV, "-e", upsert)
    assert done.code == 1
    assert "Column 'status'" in done.err
    assert rows(berg, "SELECT * FROM t") == ["7,1,old"]


def test_40_with_the_partition_in_the_key_both_are_rows_of_their_own(berg: Berg) -> None:
    script = (
        "CREATE TABLE t (id INT, status INT, v STRING, PRIMARY KEY (id, status) NOT ENFORCED) PARTITIONED BY (status)"
        f" WITH ({table(2, 'parquet')});"
        "INSERT INTO t VALUES (7, 1, 'old'); INSERT INTO t VALUES (7, 2, 'new'); INSERT INTO t VALUES (7, 1, 'again');"
        "SELECT * FROM t ORDER BY status"
    )
    assert rows(berg, script) == ["7,1,again", "7,2,new"]

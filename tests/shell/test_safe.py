"""``--safe``: nothing but the warehouses is touched, and what would is refused by name and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.berg import Berg

HADOOP = "WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{}')"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("SOURCE /etc/passwd;", "1, column 8", "SOURCE is not allowed here"),
        ("!touch /tmp/x", "1, column 2", "! is not allowed here"),
        (f"CREATE CATALOG c {HADOOP.format('/tmp/elsewhere')}", "1, column 67", "/tmp/elsewhere is outside of the warehouses"),
        ("CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='jdbc', 'uri'='jdbc:sqlite:/tmp/x.db', 'warehouse'='/w')",
         "1, column 42", "A jdbc catalog is not allowed here"),
        ("SET 'spark.sql.catalog.c.warehouse' = '/tmp/x'", "1, column 1", "Setting 'spark.sql.catalog.c.warehouse' is not"),
        ("SET 'table.catalog-store.file.path' = '/tmp/x'", "1, column 1", "Setting 'table.catalog-store.file.path' is not"),
        ("CREATE TABLE t (n INT) LOCATION '/tmp/elsewhere'", "1, column 14", "/tmp/elsewhere is outside"),
        ("CREATE TABLE t (n INT) LOCATION '${WAREHOUSE}/../x'", "1, column 14", "is outside of the warehouses"),
        ("CREATE TABLE t (n INT) WITH ('write.data.path'='/tmp/x')", "1, column 30", "/tmp/x is outside"),
        ("CREATE TABLE t (n INT) WITH ('connector'='filesystem')", "1, column 30", "A table with a connector is not"),
        ("CREATE TEMPORARY FUNCTION f AS 'os.getcwd' LANGUAGE PYTHON", "1, column 32", "A function of Python is not"),
        ("CREATE TABLE t (n INT); ALTER TABLE t SET ('write.metadata.path'='/tmp/x')", "1, column 44", "/tmp/x is outside"),
    ],
)  # fmt: skip
def test_what_leads_out_is_refused(text: str, place: str, message: str, berg: Berg) -> None:
    done = berg.run("--safe", "--warehouse", str(berg.warehouse), "-e", text)
    assert done.code == 1
    assert message in done.err
    assert "--safe" in done.err
    assert f"line {place}" in done.err


def test_the_warehouses_work(berg: Berg) -> None:
    other = berg.home / "other"
    (berg.home / "config.toml").write_text(
        f"[catalogs.lake]\ntype = 'iceberg'\ncatalog-type = 'hadoop'\nwarehouse = '{other}'\n"
    )
    text = (
        "CREATE TABLE t (n INT, s STRING); INSERT INTO t SELECT 1, 'x'; CREATE DATABASE lake.d;"
        "CREATE TABLE lake.d.t AS SELECT * FROM t; SELECT COUNT(*) AS n FROM lake.d.t;"
        f"CREATE CATALOG inner_one {HADOOP.format(other / 'deeper')};"
        "CREATE DATABASE inner_one.d; CREATE TABLE inner_one.d.t (n INT); INSERT INTO inner_one.d.t VALUES (2);"
        "SELECT n FROM inner_one.d.t; SELECT SUM(n) AS n FROM t ORDER BY n;"
    )
    done = berg.run("--safe", "--format", "csv", "--quiet", "--output", str(berg.home / "out"), "-e", text)
    assert done.code == 0, done.err
    assert (berg.home / "out").read_text().split() == ["n", "1", "n", "2", "n", "1"]


def test_a_warehouse_behind_a_link_works(berg: Berg, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(berg.warehouse)
    arguments = ("--safe", "--format", "csv", "--quiet", "--warehouse", str(tmp_path / "link"))
    text = "CREATE TABLE t (n INT); INSERT INTO t VALUES (1); SELECT n FROM t"
    assert berg.run(*arguments, "-e", text).out == "n\n1\n"


def test_a_table_that_points_out_is_not_read(berg: Berg, tmp_path: Path) -> None:
    """Its metadata names files elsewhere: neither they nor a link to them are opened."""
    outside = tmp_path / "outside"
    warehouse = ("--warehouse", str(outside))
    assert berg.run(*warehouse, "-e", "CREATE TABLE t (n INT); INSERT INTO t VALUES (1)").code == 0
    inside = berg.warehouse / "default_database"
    inside.mkdir()
    (inside / "linked").symlink_to(outside / "default_database" / "t")
    (inside / "copied" / "metadata").mkdir(parents=True)
    for path in (outside / "default_database" / "t" / "metadata").iterdir():
        (inside / "copied" / "metadata" / path.name).write_bytes(path.read_bytes())
    for name in ("linked", "copied"):
        done = berg.run("--safe", "--warehouse", str(berg.warehouse), "-e", f"SELECT n FROM {name}")
        assert done.code == 1, name
        assert "is outside of the warehouses" in done.err or "was not found" in done.err
        assert "Traceback" not in done.err

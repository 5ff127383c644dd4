"""``--safe``: nothing but the warehouses is touched, and what would is refused by name and place."""

from __future__ import annotations

import shutil
from dataclasses import replace
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
        ("SET 'spark.sql.catalog.c.warehouse' = '/tmp/x'", "1, column 5", "Setting 'spark.sql.catalog.c.warehouse' is not"),
        ("SET 'table.catalog-store.file.path' = '/tmp/x'", "1, column 5", "Setting 'table.catalog-store.file.path' is not"),
        ("CREATE TABLE t (n INT) LOCATION '/tmp/elsewhere'", "1, column 33", "/tmp/elsewhere is outside"),
        ("CREATE TABLE t (n INT) LOCATION '${WAREHOUSE}/../x'", "1, column 33", "is outside of the warehouses"),
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


def test_links_that_lead_out_do_not_stop_a_listing(berg: Berg, tmp_path: Path) -> None:
    """A table, the metadata of one, a database and a metadata file are links: only who uses one of them is refused."""
    outside, warehouse = tmp_path / "outside", ("--warehouse", str(berg.warehouse))
    text = "CREATE TABLE t (n INT); CREATE TABLE u (n INT); CREATE DATABASE d; CREATE TABLE d.t (n INT)"
    assert berg.run("--warehouse", str(outside), "-e", text).code == 0
    assert (
        berg.run(*warehouse, "-e", "CREATE TABLE owned (n INT); CREATE TABLE half (n INT); CREATE TABLE v (n INT)").code
        == 0
    )
    inside, elsewhere = berg.warehouse / "default_database", outside / "default_database"
    (inside / "linked").symlink_to(elsewhere / "t")
    (berg.warehouse / "linked_db").symlink_to(outside / "d")
    shutil.rmtree(inside / "half" / "metadata")
    (inside / "half" / "metadata").symlink_to(elsewhere / "u" / "metadata")
    (inside / "v" / "metadata" / "v1.metadata.json").unlink()
    (inside / "v" / "metadata" / "v1.metadata.json").symlink_to(elsewhere / "u" / "metadata" / "v1.metadata.json")
    safe = ("--safe", "--dialect", "spark", "--format", "csv", "--quiet", *warehouse)
    assert berg.run(*safe, "-e", "SHOW DATABASES").out.split() == ["namespace", "default_database"]
    assert [line.split(",")[1] for line in berg.run(*safe, "-e", "SHOW TABLES").out.split()[1:]] == ["owned", "v"]
    told = berg.run(*safe, "-e", "SHOW TABLE EXTENDED LIKE '*'")
    assert told.code == 0, told.err
    assert "Cannot be read" in told.out
    assert berg.run(*safe, "-e", "INSERT INTO owned VALUES (1); SELECT n FROM owned").out == "n\n1\n"
    missed = berg.run(*safe, "-e", "SELECT n FROM owmed")
    assert "owmed was not found" in missed.err
    assert "Did you mean 'owned'?" in missed.err
    for text, place in (
        ("SELECT n FROM linked", "column 15"), ("SELECT n FROM half", "column 15"), ("SELECT n FROM v", "column 15"),
        ("DROP TABLE linked", "column 12"), ("DROP TABLE IF EXISTS half", "column 22"), ("DESCRIBE v", "column 10"),
        ("SHOW TABLES IN linked_db", "column 16"), ("USE linked_db", "column 5"),
        ("CREATE TABLE linked (n INT)", "column 14"), ("EXPLAIN SELECT n FROM v", "column 23"),
        ("DROP DATABASE linked_db CASCADE", "column 15"), ("CREATE DATABASE linked_db", "column 17"),
    ):  # fmt: skip
        done = berg.run(*safe, "-e", text)
        assert "is outside of the warehouses" in done.err, text
        assert f"line 1, {place}\n  {text}\n" in done.err
    assert (elsewhere / "t" / "metadata").exists()
    assert (elsewhere / "u" / "metadata").exists()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("SELECT '${env:SECRET_TOKEN}'", 9),
        ("SELECT /* ${env:HOME} */ 1, '${env:SECRET_TOKEN}'", 30),
        ("SET 'a'='${'; SELECT '${a}env:SECRET_TOKEN}'", 22),
        ("SET 'sql.dialect'='spark'; SELECT '\\u0024{env:SECRET_TOKEN}'", 35),
        ("SET 'sql.dialect'='spark'; SELECT DATE '\\u0024{env:SECRET_TOKEN}'", 40),
        ("SET 'x'='${env:SECRET_TOKEN}'", 10),
        ("CREATE TABLE t (n INT) COMMENT '${env:SECRET_TOKEN}'", 33),
        ("CREATE CATALOG c WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='${WAREHOUSE}/${env:SECRET_TOKEN}')",
         91),
        ("SET 'sql.dialect'='spark'; CREATE CATALOG c WITH ('type'='iceberg','catalog-type'='hadoop',"
         "'warehouse'='${WAREHOUSE}/\\u0024{env:SECRET_TOKEN}')", 92),
        ("SELECT '${GIVEN}'", 8),
        ("SELECT '${spark.sql.catalog.c.password}'", 9),
    ],
)  # fmt: skip
def test_no_statement_reads_the_environment(text: str, column: int, berg: Berg) -> None:
    known = (
        "-D",
        "GIVEN=${env:SECRET_TOKEN}",
        "--conf",
        "spark.sql.catalog.c.password=pst",
        "-D",
        f"WAREHOUSE={berg.warehouse}",
    )
    warehouse = ("--warehouse", str(berg.warehouse))
    done = replace(berg, environment={"SECRET_TOKEN": "pst"}).run("--safe", *warehouse, *known, "-e", text)
    assert done.code == 1
    assert "is not allowed here: bergsql was started with --safe." in done.err
    assert f"line 1, column {column}\n" in done.err
    assert "pst" not in done.out + done.err


def test_the_command_line_and_the_configuration_read_the_environment(berg: Berg, tmp_path: Path) -> None:
    lake = "[catalogs.lake]\ntype = 'iceberg'\ncatalog-type = 'hadoop'\nwarehouse = '${env:PLACE}/lake'\n"
    (berg.home / "config.toml").write_text(lake)
    text = "CREATE DATABASE lake.d; CREATE TABLE lake.d.t (n INT); CREATE TABLE t (n INT); SHOW TABLES IN lake.d"
    places = ("--safe", "--warehouse", "${env:PLACE}/own", "--format", "csv", "--quiet")
    done = replace(berg, environment={"PLACE": str(tmp_path)}).run(*places, "-e", text)
    assert done.out == "table name\nt\n", done.err
    assert (tmp_path / "own" / "default_database" / "t").is_dir()


def test_a_relative_warehouse_works(berg: Berg, tmp_path: Path) -> None:
    there = replace(berg, prefix=("env", "-C", str(tmp_path)))
    done = there.run("--safe", "--warehouse", "here", "-e", "CREATE TABLE t (n INT)")
    assert done.code == 0, done.err
    assert (tmp_path / "here" / "default_database" / "t").is_dir()


def test_a_function_of_sql_is_harmless(berg: Berg) -> None:
    safe = ("--safe", "--format", "csv", "--quiet", "--warehouse", str(berg.warehouse))
    text = "CREATE FUNCTION g (x INT) RETURNS INT RETURN x + 1; SELECT g(2) AS n; DROP FUNCTION g"
    assert berg.run(*safe, "-e", text).out == "n\n3\n"
    done = berg.run(*safe, "-e", "CREATE FUNCTION f AS 'os.getcwd' LANGUAGE PYTHON")
    assert "line 1, column 22\n  CREATE FUNCTION f AS 'os.getcwd' LANGUAGE PYTHON\n  " + " " * 21 + "^" * 11 in done.err

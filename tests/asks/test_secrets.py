"""Group C of what people asked for elsewhere: secrets. The numbers are those of the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.shell.terminal import CTRL_D, UP, Terminal
from tests.support.berg import Berg

SECRET = "hunter2-geheim"
TABLE = (
    "CREATE TABLE orders (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='mysql-cdc', 'hostname'='h', "
    f"'username'='u', 'password'='{SECRET}', 'database-name'='d', 'table-name'='t')"
)
URL = f"jdbc:mysql://u:{SECRET}@h/db?password={SECRET}&useSSL=true"


@pytest.mark.parametrize("dialect", ["flink", "spark"])
@pytest.mark.parametrize(
    "asked", ["SHOW CREATE TABLE orders", "DESCRIBE orders", "DESCRIBE EXTENDED orders", "SHOW TABLES"]
)
def test_16_no_statement_shows_a_password(asked: str, dialect: str, berg: Berg) -> None:
    done = berg.run("--dialect", dialect, "--continue-on-error", "-v", "--debug", "-e", f"{TABLE}; {asked};")
    assert SECRET not in done.out + done.err
    if asked.startswith("SHOW CREATE"):
        assert "'password' = '******'" in done.out


@pytest.mark.parametrize(
    "wrong",
    [
        f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadop', 'password'='{SECRET}')",
        f"CREATE TABLE t (id INT) WITH ('connector'='x', 'password'='{SECRET}', 'password'='{SECRET}')",
        f"SET 'table.local-time-zone' = 'x' 'my.token' = '{SECRET}'",
        f"SELECT nope FROM t /*+ OPTIONS('password'='{SECRET}') */",
        f"EXPLAIN SELECT * FROM nope /*+ OPTIONS('password'='{SECRET}') */",
    ],
)
def test_16_nor_does_an_error(wrong: str, berg: Berg) -> None:
    done = berg.run("--debug", "-v", "-e", wrong)
    assert done.code == 1
    assert SECRET not in done.out + done.err


def test_16_nor_what_is_set(berg: Berg) -> None:
    text = f"SET 'spark.sql.catalog.c.password' = '{SECRET}'; SET my_token = {SECRET}; SET; SET 'my_token'; "
    for dialect in ("flink", "spark"):
        done = berg.run("--dialect", dialect, "-v", "-e", text)
        assert done.code == 0, done.err
        assert SECRET not in done.out + done.err
        assert "******" in done.out


def test_17_nor_does_a_url(berg: Berg) -> None:
    text = (
        f"CREATE TABLE j (id INT) WITH ('connector'='jdbc', 'url'='{URL}', 'table-name'='t'); SHOW CREATE TABLE j;"
        f"SET 'my_url' = '{URL}'; SET; SELECT nope FROM (SELECT '{URL}' AS u) t"
    )
    done = berg.run("-v", "-e", text)
    assert done.code == 1
    assert SECRET not in done.out + done.err
    assert "'jdbc:mysql://******@h/db?password=******&useSSL=true'" in done.out


def test_18_the_history_file_holds_none(berg: Berg) -> None:
    """They can be recalled while the session lasts, and nobody else can read the file."""
    with Terminal(berg) as terminal:
        terminal.prompted()
        terminal.enter("SELECT 1 AS harmless;")
        terminal.enter(f"SET 'my_url' = '{URL}';")
        terminal.enter(f"SET 'my_password' = '{SECRET}';")
        terminal.type(UP)
        terminal.wait(lambda lines: SECRET in lines[-1])
        terminal.type("\x03")
        terminal.prompted()
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    path = berg.home / "history"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "SELECT 1 AS harmless;" in path.read_text()
    assert SECRET not in path.read_text()
    for kept in berg.home.rglob("*"):
        assert kept.is_dir() or SECRET.encode() not in kept.read_bytes()


def test_19_a_reference_stands_for_a_secret(berg: Berg) -> None:
    """It is looked up where it is used, and shown as it was written."""
    text = (
        "CREATE TABLE k (id INT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://h/db', 'table-name'='t', "
        "'password'='${env:BERG_SECRET}');"
        "SHOW CREATE TABLE k; CREATE TABLE t (id INT) WITH ('my.password'='${env:BERG_SECRET}'); SHOW CREATE TABLE t;"
        "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${env:BERG_PLACE}');"
        "CREATE DATABASE c.d; SHOW CREATE CATALOG c;"
    )
    at = replace(berg, environment={"BERG_SECRET": SECRET, "BERG_PLACE": str(berg.warehouse)})
    done = at.run("-e", text)
    assert done.code == 0, done.err
    assert (berg.warehouse / "d").is_dir()
    assert SECRET not in done.out + done.err
    assert done.out.count("${env:BERG_SECRET}") == 2
    assert "'warehouse' = '${env:BERG_PLACE}'" in done.out
    kept = [path.read_bytes() for path in (berg.home / "warehouse").rglob("*.json")]
    assert kept
    assert not any(SECRET.encode() in data for data in kept)
    missing = berg.run(
        "-e", "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${env:NOT_THERE}')"
    )
    assert missing.code == 1
    assert "'NOT_THERE' is not set" in missing.err

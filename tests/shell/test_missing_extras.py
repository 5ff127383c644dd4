"""Without the packages of an extra a statement that needs them says what to install."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from tests.support.berg import Berg

HIDE = """
import runpy, sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program to which some modules are not installed."""

KEY = "PRIMARY KEY (id) NOT ENFORCED"
KAFKA = "'topic'='t', 'properties.bootstrap.servers'='127.0.0.1:1'"
CDC = "'hostname'='127.0.0.1', 'username'='u', 'password'='p', 'database-name'='d', 'table-name'='t'"
READ, WRITE = "SELECT * FROM s", "INSERT INTO s VALUES (1)"


def table(connector: str, options: str, column: str = "id INT") -> str:
    return f"CREATE TABLE s ({column}) WITH ('connector'='{connector}', {options}); "


def jdbc(url: str) -> str:
    return table("jdbc", f"'url'='jdbc:{url}', 'table-name'='t'")


CASES = [
    ("confluent_kafka", "kafka", table("kafka", f"{KAFKA}, 'format'='csv'") + READ),
    ("confluent_kafka", "kafka", table("kafka", f"{KAFKA}, 'format'='csv'") + WRITE),
    (
        "confluent_kafka",
        "kafka",
        table("upsert-kafka", f"{KAFKA}, 'key.format'='csv', 'value.format'='csv'", f"id INT, {KEY}") + READ,
    ),
    ("pymysql", "mysql-cdc", table("mysql-cdc", CDC, f"id INT, {KEY}") + READ),
    ("pymysqlreplication", "mysql-cdc", table("mysql-cdc", CDC, f"id INT, {KEY}") + READ),
    (
        "psycopg",
        "postgres-cdc",
        table("postgres-cdc", f"{CDC}, 'schema-name'='public', 'slot.name'='s'", f"id INT, {KEY}") + READ,
    ),
    ("pymysql", "jdbc", jdbc("mysql://127.0.0.1:1/d") + READ),
    ("psycopg", "jdbc", jdbc("postgresql://127.0.0.1:1/d") + WRITE),
    ("sqlalchemy", "jdbc", jdbc("sqlite:/nowhere.db") + READ),
    ("thrift", "hive", "CREATE CATALOG h WITH ('type'='iceberg', 'catalog-type'='hive', 'uri'='thrift://127.0.0.1:1')"),
]


@pytest.mark.parametrize(("module", "extra", "statements"), CASES, ids=[f"{m} of {e}" for m, e, _ in CASES])
def test_a_statement_says_what_to_install(berg: Berg, module: str, extra: str, statements: str) -> None:
    lacking = dataclasses.replace(berg, prefix=(sys.executable, "-c", HIDE, module))
    done = lacking.run("-e", statements)
    assert done.code == 3, done.out
    assert f"needs packages that are not installed ({module})" in done.err
    assert f"pip install 'bergsql[{extra}]'" in done.err
    assert "Traceback" not in done.out + done.err


def test_bergsql_needs_no_extra(berg: Berg) -> None:
    modules = ",".join({module for module, _, _ in CASES})
    lacking = dataclasses.replace(berg, prefix=(sys.executable, "-c", HIDE, modules))
    done = lacking.run("-e", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT a FROM t")
    assert done.code == 0, done.err
    assert "1" in done.out

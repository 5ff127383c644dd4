"""Rows of MariaDB go into Iceberg tables, from a snapshot and from the binlog, and the real Spark reads them."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.jobs import jobs_of
from tests.support.mysql_types import CASES
from tests.support.oracle import as_multiset
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until

pytestmark = pytest.mark.interop
ROWS = max(len(case.values) for case in CASES)


def test_spark_reads_every_type(both: Both, mariadb: MariaDB) -> None:
    # Spark knows no TIME.
    declared = [case.declared.replace("TIME(0)", "STRING") if case.type == "TIME" else case.declared for case in CASES]
    made = ", ".join(f"v{n} {case.type}" for n, case in enumerate(CASES))
    columns = ", ".join(["id INT NOT NULL", *(f"v{n} {type_}" for n, type_ in enumerate(declared))])
    keyed = f"({columns}, PRIMARY KEY (id) NOT ENFORCED)"
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS interop", f"CREATE OR REPLACE TABLE interop.every (id INT PRIMARY KEY, {made})"
    )

    def insert(first: int) -> None:
        with mariadb.connect(init_command="SET sql_mode = '', time_zone = '+00:00'") as connection:
            for row in range(ROWS):
                values = [case.values[row] if row < len(case.values) else "NULL" for case in CASES]
                with connection.cursor() as cursor:
                    cursor.execute(f"INSERT INTO interop.every VALUES ({first + row}, {', '.join(values)})")

    insert(0)
    options = (
        f"'connector'='mysql-cdc', 'hostname'='127.0.0.1', 'port'='{mariadb.port}', 'username'='{USER}', "
        f"'password'='{PASSWORD}', 'database-name'='interop', 'table-name'='every', 'server-time-zone'='UTC', "
        "'treat-tinyint1-as-boolean.enabled'='true'"
    )
    with jobs_of(both.berg) as jobs:
        jobs.submit(
            f"CREATE CATALOG both WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{both.berg.warehouse}')",
            "CREATE DATABASE both.mysql",
            f"CREATE TABLE src {keyed} WITH ({options})",
            f"CREATE TABLE both.mysql.every {keyed} WITH ('format-version'='2')",
            "SET 'execution.checkpointing.interval' = '200 ms'",
            "INSERT INTO both.mysql.every SELECT * FROM src",
        )
        query = "SELECT * FROM both.mysql.every"
        until("rows of the snapshot", lambda: len(both.rows(query)) == ROWS, 60)
        insert(1000)
        until("rows of the binlog", lambda: len(both.rows(query)) == 2 * ROWS, 60)
    rows = both.spark.rows(query)
    assert as_multiset(both.rows(query)) == as_multiset(rows)
    by_id = {row[0]: row[1:] for row in rows}
    for row in range(ROWS):
        assert by_id[row] == by_id[1000 + row], row
    first = by_id[0]
    assert None not in first, [case for case, value in zip(CASES, first, strict=True) if value is None]

"""What people asked of change data: rows 40, 46 and 47."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from tests.support.berg import Berg
from tests.support.jobs import jobs_of
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    yield made
    made.close()


def do(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).close()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return [tuple(row) for row in result.rows()]
    finally:
        result.close()


def source(mariadb: MariaDB, columns: str, table: str, **more: str) -> str:
    given = {
        "connector": "mysql-cdc",
        "hostname": "127.0.0.1",
        "port": str(mariadb.port),
        "username": USER,
        "password": PASSWORD,
        "database-name": "asks",
        "table-name": table,
        **more,
    }
    options = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    return f"CREATE TABLE src ({columns}) WITH ({options})"


def test_40_an_update_that_moves_a_row_to_another_partition_leaves_one_row(
    mariadb: MariaDB, berg: Berg, session: Session
) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS asks", "CREATE OR REPLACE TABLE asks.moved (id INT PRIMARY KEY, status INT)"
    )
    mariadb.run("INSERT INTO asks.moved VALUES (1, 1), (2, 1)")
    columns = "id INT NOT NULL, status INT, PRIMARY KEY (id) NOT ENFORCED"
    with jobs_of(berg) as jobs:
        jobs.submit(
            "SET 'execution.checkpointing.interval' = '200 ms'",
            source(mariadb, columns, "moved"),
            f"CREATE TABLE sink ({columns}) PARTITIONED BY (status) WITH ('format-version'='2')",
            "INSERT INTO sink SELECT * FROM src",
            arguments=("--warehouse", str(berg.warehouse)),
        )
        do(
            session,
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}')",
        )
        query = "SELECT id, status FROM c.default_database.sink ORDER BY id"

        def holds(wanted: list[tuple[int, int]]) -> bool:
            return rows(session, query) == wanted

        until("rows of the snapshot", lambda: holds([(1, 1), (2, 1)]), 60)
        mariadb.run("UPDATE asks.moved SET status = 2 WHERE id = 1")
        until("the row in its new partition", lambda: holds([(1, 2), (2, 1)]), 60)


def test_46_a_tombstone_is_passed_over_and_a_missing_before_image_is_told(kafka: Kafka, session: Session) -> None:
    kafka.create("asks46")
    kafka.send("asks46", ['{"before": null, "after": {"id": 1, "v": "a"}, "op": "c"}', None])
    options = (
        "'connector'='kafka', 'topic'='asks46', 'scan.startup.mode'='earliest-offset', 'format'='debezium-json', "
        f"'scan.bounded.mode'='latest-offset', 'properties.bootstrap.servers'='{kafka.address}'"
    )
    do(session, "SET 'execution.runtime-mode' = 'streaming'", f"CREATE TABLE src (id INT, v STRING) WITH ({options})")
    assert rows(session, "SELECT * FROM src") == [("+I", 1, "a")]
    kafka.send("asks46", ['{"before": null, "after": {"id": 1, "v": "b"}, "op": "u"}'])
    with pytest.raises(BergError, match="before") as told:
        rows(session, "SELECT * FROM src")
    assert "REPLICA IDENTITY" in f"{told.value.message} {told.value.hint}"


def test_47_values_at_the_edges_of_mysqls_types(mariadb: MariaDB, session: Session) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS asks",
        "CREATE OR REPLACE TABLE asks.edges (id INT PRIMARY KEY, t TINYINT, b BIGINT UNSIGNED, f TINYINT(1), d DATETIME, s TIMESTAMP(0))",
        "INSERT INTO asks.edges VALUES (1, -1, 18446744073709551615, 2, '2024-02-29 12:00:00', '2024-02-29 12:00:00')",
    )
    columns = (
        "id INT NOT NULL, t TINYINT, b DECIMAL(20, 0), f TINYINT, d TIMESTAMP(0), s TIMESTAMP_LTZ(0), "
        "PRIMARY KEY (id) NOT ENFORCED"
    )
    do(
        session,
        "SET 'execution.runtime-mode' = 'streaming'",
        "SET 'table.local-time-zone' = 'Asia/Shanghai'",
        source(
            mariadb, columns, "edges", **{"scan.startup.mode": "snapshot", "treat-tinyint1-as-boolean.enabled": "false"}
        ),
    )
    ((_, _, t, b, f, d, s),) = rows(session, "SELECT id, t, b, f, d, CAST(s AS STRING) FROM src")
    assert (t, b, f) == (-1, Decimal(18446744073709551615), 2)
    assert d == datetime(2024, 2, 29, 12)
    assert s == "2024-02-29 20:00:00"  # the same moment, on a clock in Shanghai

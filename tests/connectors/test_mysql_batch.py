"""Tables of MariaDB that a batch reads: all rows, and an end."""

from __future__ import annotations

from bergsql.engine.session import Session, SessionConfig
from tests.support.berg import Berg
from tests.support.mysql_streams import options
from tests.support.services.mariadb import MariaDB


def test_a_batch_reads_the_rows_of_all_tables(mariadb: MariaDB, berg: Berg) -> None:
    mariadb.run(
        "CREATE DATABASE batches",
        "CREATE TABLE batches.of_1 (id BIGINT PRIMARY KEY, v VARCHAR(9), at TIMESTAMP(3))",
        "INSERT INTO batches.of_1 SELECT seq, IF(seq % 2 = 0, 'x', NULL), '2024-02-29 12:00:00' FROM batches.seq_1_to_20000",
        "CREATE TABLE batches.of_2 (v TEXT, at TIMESTAMP(3), id INT)",
        "INSERT INTO batches.of_2 VALUES ('y', '2024-02-29 12:00:00', -1)",
    )
    given = {"connector": "mysql-cdc", **options(mariadb, "batches", "of_.*"), "scan.startup.mode": "snapshot"}
    with_ = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    columns = "id BIGINT, v STRING, at TIMESTAMP_LTZ(3), name STRING METADATA FROM 'table_name'"
    session = Session(SessionConfig(home=berg.home))
    try:
        session.execute(f"CREATE TABLE b ({columns}) WITH ({with_})").close()
        result = session.execute("SELECT name, COUNT(*), COUNT(v), SUM(id) FROM b GROUP BY name ORDER BY name")
        assert list(result.rows()) == [("of_1", 20000, 10000, 200010000), ("of_2", 1, 1, -1)]
        result.close()
    finally:
        session.close()

"""The services that the tests use answer, and come back after they were killed."""

from __future__ import annotations

import pytest

from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres


def test_kafka_keeps_messages_when_it_is_killed() -> None:
    kafka = Kafka()
    try:
        kafka.start()
        kafka.create("t", 2)
        kafka.send("t", [b"a", None, b"c"], keys=[b"1", b"1", b"1"], partition=1)
        kafka.kill()
        kafka.start()
        assert [(m.partition(), m.key(), m.value()) for m in kafka.messages("t")] == [
            (1, b"1", b"a"),
            (1, b"1", None),
            (1, b"1", b"c"),
        ]
    finally:
        kafka.close()


@pytest.mark.parametrize("time", [1, 2])
def test_topics_are_gone_behind_a_test(kafka: Kafka, time: int) -> None:
    kafka.create("gone", time)
    kafka.send("gone", [str(time)])
    assert [m.value() for m in kafka.messages("gone")] == [str(time).encode()]


def test_mariadb_keeps_a_binlog(mariadb: MariaDB) -> None:
    mariadb.run("CREATE DATABASE services", "CREATE TABLE services.t (i INT PRIMARY KEY)")
    before = mariadb.run("SHOW MASTER STATUS")[0]
    mariadb.run("INSERT INTO services.t VALUES (1)")
    assert mariadb.run("SHOW MASTER STATUS")[0][1] > before[1]


def test_postgres_decodes_its_log(postgres: Postgres) -> None:
    assert postgres.run("SHOW wal_level") == [("logical",)]


def test_hive_serves_when_it_is_killed() -> None:
    hive = Hive()
    try:
        hive.start()
        hive.kill()
        hive.start()
        assert hive.serves()
    finally:
        hive.close()

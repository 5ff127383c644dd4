"""The proxy that tests put before services breaks at the request that it is told, before or after it."""

from __future__ import annotations

import subprocess
import sys

import pymysql
import pytest

from tests.support.services import mariadb as mysql
from tests.support.services import postgres as pg
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres
from tests.support.wire_proxy import proxied


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_of_mysql_is_cut(mariadb: MariaDB, after: bool) -> None:
    name = f"wire_{after}".casefold()
    mariadb.run(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.t (i INT)")
    with proxied("mysql", mariadb.port) as proxy:
        connection = pymysql.connect(
            host="127.0.0.1", port=proxy.port, user=mysql.USER, password=mysql.PASSWORD, database=name
        )
        fault = proxy.arm("^COMMIT", after=after)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(pymysql.err.OperationalError):
            connection.commit()
        assert fault.fired.wait(30)
    assert mariadb.run(f"SELECT COUNT(*) FROM {name}.t") == [(int(after),)]


def test_a_connection_of_postgres_is_cut(postgres: Postgres) -> None:
    import psycopg

    postgres.run("CREATE TABLE wired (i INT)")
    with proxied("postgres", postgres.port) as proxy:
        connection = psycopg.connect(host="127.0.0.1", port=proxy.port, user=pg.USER, dbname="postgres")
        proxy.arm("INSERT", after=True)
        with pytest.raises(psycopg.OperationalError), connection.cursor() as cursor:
            cursor.execute("INSERT INTO wired VALUES (1)")
        assert any("INSERT" in label for label in proxy.seen)


PRODUCE = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "transactional.id": "wired"})
producer.init_transactions(10)
producer.begin_transaction()
producer.produce("wired", b"x")
producer.commit_transaction(10)
"""


@pytest.mark.parametrize("after", [False, True])
def test_a_client_of_kafka_is_killed(kafka: Kafka, after: bool) -> None:
    if not after:
        kafka.create("wired")
    before = len(kafka.messages("wired"))
    with proxied("kafka", kafka.port) as proxy:
        client = subprocess.Popen([sys.executable, "-c", PRODUCE, proxy.address])
        fault = proxy.arm("EndTxn", after=after, kill=lambda: client.pid)
        assert client.wait(30) == -9
        assert fault.fired.wait(30)
        assert "Produce" in proxy.seen
    assert len(kafka.messages("wired")) - before == int(after)


def test_a_connection_of_hive_is_cut(hive: Hive) -> None:
    from hive_metastore import ThriftHiveMetastore
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.transport.TSocket import TSocket
    from thrift.transport.TTransport import TBufferedTransport, TTransportException

    with proxied("hive", hive.port) as proxy:
        transport = TBufferedTransport(TSocket("127.0.0.1", proxy.port))
        transport.open()
        client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        assert "default" in client.get_all_databases()
        fault = proxy.arm("get_database", nth=2)
        client.get_database("default")
        with pytest.raises(TTransportException):
            client.get_database("default")
        assert fault.fired.wait(30)
        assert proxy.seen == ["get_all_databases", "get_database", "get_database"]

"""Rows become messages of a real broker: what they hold, where they go, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from tests.support.services.kafka import Kafka

_topics = count()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    yield made
    made.close()


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"sink{next(_topics)}"
    kafka.create(name, 3)
    return name


def table(session: Session, kafka: Kafka, topic: str, columns: str, /, **options: str) -> None:
    """Make table t of a topic; ``format`` is csv unless told."""
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.address,
        **({} if "value.format" in options or "format" in options else {"format": "csv"}),
        **options,
    }
    session.execute("DROP TABLE IF EXISTS t").close()
    text = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    session.execute(f"CREATE TABLE t ({columns}) WITH ({text})").close()


def insert(session: Session, rows: str) -> None:
    session.execute(f"INSERT INTO t {rows}").close()


def told(kafka: Kafka, topic: str) -> list[tuple[Any, Any]]:
    return sorted(((m.key(), m.value()) for m in kafka.messages(topic)), key=repr)


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once", "none"])
def test_rows_are_messages(session: Session, kafka: Kafka, topic: str, guarantee: str) -> None:
    table(session, kafka, topic, "a STRING, b INT", **{"sink.delivery-guarantee": guarantee})
    insert(session, "VALUES ('x', 1), ('中', 2), (CAST(NULL AS STRING), 3)")
    assert told(kafka, topic) == [(None, b",3"), (None, "中,2".encode()), (None, b"x,1")]


def test_a_batch_leaves_no_group(session: Session, kafka: Kafka, topic: str) -> None:
    table(session, kafka, topic, "a STRING")
    insert(session, "VALUES ('x')")
    groups = kafka._admin().list_consumer_groups().result(10).valid
    assert not [g.group_id for g in groups if g.group_id.startswith("bergsql.")]


def test_keys_are_written_beside_values(session: Session, kafka: Kafka, topic: str) -> None:
    given = {"key.format": "raw", "value.format": "json", "key.fields": "id"}
    table(session, kafka, topic, "id STRING, v INT", **given)
    insert(session, "VALUES ('k', 1)")
    table(session, kafka, topic, "id STRING, v INT", **given, **{"value.fields-include": "EXCEPT_KEY"})
    insert(session, "VALUES ('l', 2)")
    given = {**given, "key.fields": "k_id", "key.format": "json", "key.fields-prefix": "k_"}
    table(session, kafka, topic, "k_id INT, v INT", **given, **{"value.fields-include": "EXCEPT_KEY"})
    insert(session, "VALUES (7, 3)")
    assert told(kafka, topic) == [
        (b"k", b'{"id":"k","v":1}'),
        (b"l", b'{"v":2}'),
        (b'{"id":7}', b'{"v":3}'),
    ]


def test_one_key_stays_in_one_partition_and_in_order(session: Session, kafka: Kafka, topic: str) -> None:
    table(session, kafka, topic, "k INT, v INT", **{"key.format": "raw", "key.fields": "k"})
    session.execute(
        "CREATE TABLE r (n BIGINT) WITH ('connector'='datagen', 'number-of-rows'='3000',"
        " 'fields.n.kind'='sequence', 'fields.n.start'='0', 'fields.n.end'='2999')"
    ).close()
    insert(session, "SELECT CAST(n % 10 AS INT), CAST(n AS INT) FROM r")
    found = kafka.messages(topic)
    assert len(found) == 3000
    partitions: dict[bytes, set[int]] = {}
    values: dict[bytes, list[int]] = {}
    for m in found:
        key, value, partition = m.key(), m.value(), m.partition()
        assert key is not None
        assert value is not None
        assert partition is not None
        partitions.setdefault(key, set()).add(partition)
        values.setdefault(key, []).append(int(value.split(b",")[1]))
    assert len(values) == 10
    assert all(len(each) == 1 for each in partitions.values())
    assert len(set().union(*partitions.values())) > 1
    assert all(each == sorted(each) for each in values.values())


def test_partitions_are_chosen_as_told(session: Session, kafka: Kafka, topic: str) -> None:
    table(session, kafka, topic, "v INT", **{"sink.partitioner": "fixed"})
    insert(session, "VALUES 1, 2, 3")
    assert [m.partition() for m in kafka.messages(topic)] == [0, 0, 0]
    table(session, kafka, topic, "v INT", **{"sink.partitioner": "round-robin"})
    insert(session, "VALUES 1, 2, 3")
    assert [m.partition() for m in kafka.messages(topic)] == [0, 0, 0, 0, 1, 2]


def test_headers_and_timestamps_are_written(session: Session, kafka: Kafka, topic: str) -> None:
    columns = (
        "at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', v INT, h MAP<STRING, BYTES> METADATA FROM 'headers',"
        " p INT METADATA FROM 'partition' VIRTUAL"
    )
    table(session, kafka, topic, columns)
    insert(
        session,
        "VALUES (TO_TIMESTAMP_LTZ(1700000000123, 3), 1, MAP['a', CAST('x' AS BYTES)]),"
        " (CAST(NULL AS TIMESTAMP_LTZ(3)), 2, CAST(NULL AS MAP<STRING, BYTES>))",
    )
    first, second = sorted(kafka.messages(topic), key=lambda m: str(m.value()))
    assert first.value() == b"1"
    assert first.timestamp() == (1, 1700000000123)
    assert first.headers() == [("a", b"x")]
    assert second.headers() is None
    assert second.timestamp()[1] > 1700000000123


def test_the_last_change_of_each_key_is_written(session: Session, kafka: Kafka, topic: str) -> None:
    table(
        session,
        kafka,
        topic,
        "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED",
        **{"connector": "upsert-kafka", "key.format": "csv", "value.format": "csv"},
    )
    insert(session, "VALUES (1, 'a'), (2, 'b'), (1, 'c')")
    assert told(kafka, topic) == [(b"1", b"1,c"), (b"2", b"2,b")]


@pytest.mark.parametrize("most", ["1000000", "9000000"], ids=["the client", "the broker"])
def test_a_message_that_is_too_large_leaves_nothing(session: Session, kafka: Kafka, topic: str, most: str) -> None:
    table(session, kafka, topic, "v STRING", **{"properties.max.request.size": most})
    with pytest.raises(BergError) as error:
        insert(session, "VALUES ('small'), (REPEAT('x', 2000000))")
    assert error.value.code is ErrorCode.INVALID
    assert error.value.message == f"Writing to topic {topic} failed: a message is larger than Kafka takes."
    assert told(kafka, topic) == []
    insert(session, "VALUES ('small')")
    assert told(kafka, topic) == [(None, b"small")]


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_topic_that_is_not_there_is_refused(session: Session, kafka: Kafka, guarantee: str) -> None:
    table(session, kafka, "no.such.topic", "v STRING", **{"sink.delivery-guarantee": guarantee})
    with pytest.raises(BergError) as error:
        insert(session, "VALUES ('x')")
    assert error.value.code is ErrorCode.NOT_FOUND
    assert error.value.span is not None
    assert "no.such.topic" not in kafka._admin().list_topics(timeout=10).topics


def test_a_query_that_fails_leaves_nothing(session: Session, kafka: Kafka, topic: str) -> None:
    table(session, kafka, topic, "v INT")
    with pytest.raises(BergError):
        insert(session, "SELECT CAST(x AS INT) FROM (VALUES ('1'), ('y')) AS q(x)")
    assert told(kafka, topic) == []

"""Topics of a real broker are read as tables: where reading begins, what it gives, and how it goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
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
    name = f"source{next(_topics)}"
    kafka.create(name, 2)
    return name


def table(session: Session, kafka: Kafka, topic: str, columns: str = "a STRING, b INT", /, **options: str) -> None:
    """Make table t of a topic; ``format`` is csv unless told."""
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.address,
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        **({} if "value.format" in options or "format" in options else {"format": "csv"}),
        **options,
    }
    session.execute("DROP TABLE IF EXISTS t").close()
    text = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    session.execute(f"CREATE TABLE t ({columns}) WITH ({text})").close()


def rows(session: Session, query: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
    result = session.execute(query)
    try:
        return sorted((tuple(row) for row in result.rows()), key=repr)
    finally:
        result.close()


def test_a_bounded_topic_is_a_table(session: Session, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, ["x,1", "y,2", "中,3"])
    table(session, kafka, topic)
    assert rows(session) == [("x", 1), ("y", 2), ("中", 3)]
    assert rows(session, "SELECT COUNT(*), MAX(b) FROM t WHERE a <> 'y'") == [(2, 3)]


def test_an_empty_topic_ends(session: Session, kafka: Kafka, topic: str) -> None:
    table(session, kafka, topic)
    assert rows(session) == []


def test_where_reading_begins_and_ends(session: Session, kafka: Kafka, topic: str) -> None:
    now = round(time.time() * 1000)  # what is older than a week, brokers throw away
    for n in range(4):
        kafka.send(topic, [f"x,{n}"], partition=0, timestamp=now + n)
    kafka.send(topic, ["y,9"], partition=1, timestamp=now + 2)
    begins = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(now + 2)}
    table(session, kafka, topic, **begins)
    assert rows(session) == [("x", 2), ("x", 3), ("y", 9)]
    begins = {
        "scan.startup.mode": "specific-offsets",
        "scan.startup.specific-offsets": "partition:0,offset:1;partition:1,offset:0",
    }
    ends = {
        "scan.bounded.mode": "specific-offsets",
        "scan.bounded.specific-offsets": "partition:0,offset:3;partition:1,offset:0",
    }
    table(session, kafka, topic, **begins, **ends)
    assert rows(session) == [("x", 1), ("x", 2)]
    begins["scan.startup.specific-offsets"] = "partition:0,offset:3"
    table(session, kafka, topic, **begins)
    assert rows(session) == [("x", 3), ("y", 9)]  # partition 1 from its start
    table(session, kafka, topic, **{"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": str(now + 1)})
    assert rows(session) == [("x", 0)]
    table(session, kafka, topic, **{"scan.startup.mode": "latest-offset"})
    assert rows(session) == []


def test_what_is_known_of_messages(session: Session, kafka: Kafka, topic: str) -> None:
    now = round(time.time() * 1000) // 1000 * 1000 + 123
    kafka.send(topic, ["x,1", "x,2"], partition=1, timestamp=now, headers=[("h", b"v"), ("n", None)])
    columns = (
        "a STRING, at_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', p INT METADATA FROM 'partition' VIRTUAL, "
        "`offset` BIGINT METADATA, h MAP<STRING, BYTES> METADATA FROM 'headers', `topic` STRING METADATA, b INT, "
        "k STRING METADATA FROM 'timestamp-type'"
    )
    table(session, kafka, topic, columns)
    session.execute("SET 'table.local-time-zone' = 'UTC'").close()
    text = datetime.fromtimestamp(now // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.123")
    found = rows(session, "SELECT a, CAST(at_time AS STRING), p, `offset`, `topic`, b, k, h['h'] FROM t")
    assert found == [
        ("x", text, 1, 0, topic, 1, "CreateTime", b"v"),
        ("x", text, 1, 1, topic, 2, "CreateTime", b"v"),
    ]


def test_metadata_is_cast_to_the_type_that_is_declared(session: Session, kafka: Kafka, topic: str) -> None:
    now = round(time.time() * 1000) // 1000 * 1000 + 123
    kafka.send(topic, ["x"], partition=1, timestamp=now)
    columns = "a STRING, at_time TIMESTAMP(3) METADATA FROM 'timestamp', p BIGINT METADATA FROM 'partition' VIRTUAL"
    table(session, kafka, topic, f"{columns}, `offset` STRING METADATA VIRTUAL, WATERMARK FOR at_time AS at_time")
    session.execute("SET 'table.local-time-zone' = 'Asia/Shanghai'").close()
    text = datetime.fromtimestamp(now // 1000, UTC) + timedelta(hours=8)
    told = text.strftime("%Y-%m-%d %H:%M:%S.123")
    query = "SELECT a, CAST(at_time AS STRING), p + 2147483647, `offset` FROM t"
    for mode in ("batch", "streaming"):
        session.execute(f"SET 'execution.runtime-mode' = '{mode}'").close()
        assert rows(session, query)[-1][-4:] == ("x", told, 2147483648, "0")
    session.execute("SET 'execution.runtime-mode' = 'batch'").close()
    session.execute("INSERT INTO t VALUES ('y', TIMESTAMP '2024-01-01 08:00:00.500')").close()
    assert [m.timestamp()[1] for m in kafka.messages(topic) if m.value() == b"y"] == [1704067200500]


def test_keys_of_messages(session: Session, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, ['{"v": 1}', '{"v": 2}'], keys=["7", "x"])
    keyed = {
        "key.format": "csv",
        "key.csv.ignore-parse-errors": "true",
        "key.fields": "k_id",
        "key.fields-prefix": "k_",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
    }
    table(session, kafka, topic, "v INT, k_id INT", **keyed)
    assert rows(session) == [(1, 7), (2, None)]


def test_times_are_those_of_the_session(session: Session, kafka: Kafka, topic: str) -> None:
    """As a job reads them, wherever it runs."""
    kafka.send(topic, ["2024-01-01 00:00:00"])
    session.execute("SET 'table.local-time-zone' = 'Asia/Shanghai'").close()
    table(session, kafka, topic, "at TIMESTAMP_LTZ(3)")
    assert rows(session, "SELECT UNIX_TIMESTAMP(CAST(at AS STRING)), CAST(at AS STRING) FROM t") == [
        (1704038400, "2024-01-01 00:00:00.000")
    ]


def test_broken_messages_fail_or_are_left_out(session: Session, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, ["x,1", "broken", None, "y,2"], partition=1)
    table(session, kafka, topic)
    place = f"t failed at topic '{topic}', partition 1, offset 1: A message is no row of 2 values: broken$"
    for mode in ("streaming", "batch"):
        session.execute(f"SET 'execution.runtime-mode' = '{mode}'").close()
        with pytest.raises(BergError, match=place) as told:
            rows(session)
        assert told.value.hint == "'csv.ignore-parse-errors'='true' leaves out messages that cannot be read."
    table(session, kafka, topic, **{"csv.ignore-parse-errors": "true"})
    notes: list[str] = []
    session.tell = notes.append
    assert rows(session) == [("x", 1), ("y", 2)]
    (note,) = notes
    assert note.endswith("t: rows that could not be read and were left out: 1.")


def test_aborted_transactions_are_not_seen(session: Session, kafka: Kafka, topic: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": topic})
    producer.init_transactions(10)
    for value, ends in (
        ("x,1", producer.abort_transaction),
        ("x,2", producer.commit_transaction),
        ("x,3", producer.abort_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush()
        ends(10)
    table(session, kafka, topic)
    assert rows(session) == [("x", 2)]


def test_several_topics_and_patterns(session: Session, kafka: Kafka) -> None:
    name = f"many{next(_topics)}"
    for part in "ab":
        kafka.create(f"{name}.{part}")
        kafka.send(f"{name}.{part}", [f"{part},1"])
    columns = "a STRING, b INT, `topic` STRING METADATA"
    table(session, kafka, f"{name}.a;{name}.b", columns)
    assert rows(session) == [("a", 1, f"{name}.a"), ("b", 1, f"{name}.b")]
    session.execute("DROP TABLE t").close()
    options = f"'connector'='kafka', 'topic-pattern'='{name}[.].', 'properties.bootstrap.servers'='{kafka.address}'"
    more = "'scan.startup.mode'='earliest-offset', 'scan.bounded.mode'='latest-offset', 'format'='csv'"
    session.execute(f"CREATE TABLE t ({columns}) WITH ({options}, {more})").close()
    assert rows(session) == [("a", 1, f"{name}.a"), ("b", 1, f"{name}.b")]


@pytest.mark.parametrize("value_format", ["json", "raw"])
def test_the_last_message_of_a_key_counts(session: Session, kafka: Kafka, topic: str, value_format: str) -> None:
    form = '{{"v": "{}"}}' if value_format == "json" else "{}"
    values = [None if v is None else form.format(v) for v in ("a", "b", "c", None, "d")]
    kafka.send(topic, values, keys=["1", "2", "1", "2", "3"])
    options = {
        "connector": "upsert-kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.address,
        "key.format": "csv",
        "value.format": value_format,
        "value.fields-include": "EXCEPT_KEY",
        "scan.bounded.mode": "latest-offset",
    }
    text = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
    session.execute(f"CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ({text})").close()
    session.execute("SET 'execution.runtime-mode' = 'streaming'").close()
    result = session.execute("SELECT * FROM t")
    left: dict[object, object] = {}
    for op, k, v in result.rows():
        if str(op).startswith("+"):
            left[k] = v
        else:
            assert left.pop(k) == v
    assert left == {1: "c", 3: "d"}


def test_an_upsert_without_a_key_is_refused(session: Session, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, ['{"v": "a"}'])
    text = (
        f"'connector'='upsert-kafka', 'topic'='{topic}', 'properties.bootstrap.servers'='{kafka.address}', "
        "'key.format'='csv', 'value.format'='json', 'value.fields-include'='EXCEPT_KEY', 'scan.bounded.mode'='latest-offset'"
    )
    session.execute(f"CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ({text})").close()
    session.execute("SET 'execution.runtime-mode' = 'streaming'").close()
    with pytest.raises(BergError, match=f"topic '{topic}', partition [0-9], offset 0: A message lacks its key") as told:
        rows(session)
    ways = "'value.json.ignore-parse-errors'='true' or 'key.csv.ignore-parse-errors'='true'"
    assert told.value.hint == f"{ways} leaves out messages that cannot be read."
    lenient = "/*+ OPTIONS('key.csv.ignore-parse-errors'='true') */"
    assert rows(session, f"SELECT * FROM t {lenient}") == []


def test_options_of_java_alone_are_named(session: Session, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, ["x,1"])
    table(session, kafka, topic, **{"properties.max.poll.records": "5", "properties.buffer.memory": "1000000"})
    notes: list[str] = []
    session.tell = notes.append
    assert rows(session) == [("x", 1)]
    assert notes == ["Without effect here, as they are for Java's client: 'properties.max.poll.records'."]
    result = session.execute("INSERT INTO t VALUES ('y', 2)")
    result.close()
    assert [*result.messages][:1] == notes


def _made_and_read(session: Session, kafka: Kafka, topic: str, options: dict[str, str]) -> None:
    table(session, kafka, topic, **options)
    rows(session)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topic": "nowhere"}, "there is no topic 'nowhere'"),
        ({"scan.startup.mode": "group-offsets"}, "There is no 'properties.group.id' for topic"),
        ({"properties.auto.offset.reset": "erliest"}, "'erliest' is not a value of 'properties.auto.offset.reset'"),
        ({"properties.fetch.min.byte": "1"}, r"properties.fetch.min.byte' is unknown.*Did you mean 'fetch.min.bytes'"),
        ({"properties.buffer.memory": "1 MB"}, "'1 MB' is not a value of 'properties.buffer.memory'"),
        ({"properties.no.such": "1"}, "Kafka's client has no property 'no.such'"),
        (
            {"properties.bootstrap.servers": "127.0.0.1:1", "properties.socket.timeout.ms": "1000"},
            "no broker answers at 127.0.0.1:1",
        ),
    ],
)
def test_what_cannot_be_read(session: Session, kafka: Kafka, topic: str, options: dict[str, str], told: str) -> None:
    began = time.monotonic()
    with pytest.raises(BergError) as failed:
        _made_and_read(session, kafka, topic, options)
    assert re.search(told, f"{failed.value.message} {failed.value.hint}")
    assert time.monotonic() - began < 60

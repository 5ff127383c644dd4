"""A reader of topics stops and goes on: from what it kept, through brokers that go and come, topics cut or made anew."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.change_reader import ChangeReader
from tests.support.connector_tables import source
from tests.support.services.kafka import Kafka

_topics = count()


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"goes_on{next(_topics)}"
    kafka.create(name, 2)
    return name


@pytest.fixture
def own() -> Iterator[Kafka]:
    """A broker that may be killed."""
    made = Kafka()
    made.start()
    yield made
    made.close()


def reading(kafka: Kafka, topic: str, /, **options: str) -> ChangeReader:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.address,
        "scan.startup.mode": "earliest-offset",
        "format": "csv",
        **options,
    }
    text = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    return ChangeReader(source(f"CREATE TABLE t (a STRING, b INT) WITH ({text})"))


def lines(name: str, numbers: range) -> list[str]:
    return [f"{name},{n}" for n in numbers]


def values(name: str, numbers: range) -> list[tuple[str, int]]:
    return [(name, n) for n in numbers]


def test_a_restart_loses_and_doubles_nothing(kafka: Kafka, topic: str) -> None:
    read = reading(kafka, topic)
    kafka.send(topic, lines("x", range(50)), partition=0)
    with read.opened():
        read.until_rows(lambda: values("x", range(50)))
        kafka.send(topic, lines("y", range(30)), partition=1)
        while not any(change[1] == "y" for change in read.changes):
            read.poll()  # came, but is not kept: it comes again
    assert read.kept == {topic: {"0": 50, "1": 0}}
    kafka.send(topic, lines("z", range(20)), partition=0)
    with read.opened():
        read.until_rows(lambda: [*values("x", range(50)), *values("y", range(30)), *values("z", range(20))])


def test_the_end_is_a_number_before_the_first_checkpoint(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, lines("x", range(5)), partition=0)
    read = reading(kafka, topic, **{"scan.startup.mode": "latest-offset"})
    with read.opened():
        assert read.kept == {topic: {"0": 5, "1": 0}}
    kafka.send(topic, lines("y", range(3)), partition=0)
    with read.opened():
        read.until_rows(lambda: values("y", range(3)))


def test_lag_is_the_age_of_what_is_read_and_nothing_at_the_end(kafka: Kafka, topic: str) -> None:
    hour = 3_600_000
    kafka.send(topic, lines("x", range(5)), partition=0, timestamp=round(time.time() * 1000) - hour)
    read = reading(kafka, topic)
    with read.opened():
        assert read.reader.lag is None
        read.until(lambda: len(read.changes) == 5 and read.reader.lag == 0)
        kafka.send(topic, lines("x", range(5)), partition=1, timestamp=round(time.time() * 1000) - hour)
        read.until(lambda: len(read.changes) == 10 and read.reader.lag == 0)


def test_a_group_hears_of_checkpoints(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, lines("x", range(5)), partition=0)
    read = reading(kafka, topic, **{"properties.group.id": f"group_{topic}"})
    with read.opened():
        read.until_rows(lambda: values("x", range(5)))
        read.keep()
    again = reading(kafka, topic, **{"properties.group.id": f"group_{topic}", "scan.startup.mode": "group-offsets"})
    with again.opened():
        assert again.kept == {topic: {"0": 5, "1": 0}}
    assert read.notes == again.notes == []


def test_a_group_hears_nothing_if_not_wanted(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, lines("x", range(5)), partition=0)
    group = {"properties.group.id": f"deaf_{topic}"}
    read = reading(kafka, topic, **group, **{"properties.commit.offsets.on.checkpoint": "false"})
    with read.opened():
        read.until_rows(lambda: values("x", range(5)))
        read.keep()
    with (
        pytest.raises(BergError, match="has no offset"),
        reading(kafka, topic, **group, **{"scan.startup.mode": "group-offsets"}).opened(),
    ):
        pass


def test_a_group_that_hears_of_nothing_is_told_once(kafka: Kafka, topic: str) -> None:
    from confluent_kafka import Consumer

    group = f"busy_{topic}"
    member = Consumer({"bootstrap.servers": kafka.address, "group.id": group, "log_level": 0})
    try:
        member.subscribe([topic])
        end = time.monotonic() + 20
        while not member.assignment():
            assert time.monotonic() < end
            member.poll(0.1)
        kafka.send(topic, lines("x", range(5)), partition=0)
        read = reading(kafka, topic, **{"properties.group.id": group})
        with read.opened():
            read.until(lambda: len(read.changes) == 5 and read.notes)
            for _ in range(5):
                read.poll()
                read.keep()
        assert [note.split(":")[0] for note in read.notes] == [f"The offsets of group '{group}' cannot be committed"]
    finally:
        member.close()


@pytest.mark.parametrize(
    ("option", "often"),
    [("scan.topic-partition-discovery.interval", "200 ms"), ("properties.partition.discovery.interval.ms", "200")],
)
def test_new_partitions_are_read_from_their_start(kafka: Kafka, topic: str, option: str, often: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    kafka.send(topic, lines("x", range(5)), partition=0)
    read = reading(kafka, topic, **{option: often, "scan.startup.mode": "latest-offset"})
    with read.opened():
        admin = AdminClient({"bootstrap.servers": kafka.address, "log_level": 0})
        for future in admin.create_partitions([NewPartitions(topic, 3)]).values():
            future.result(10)
        kafka.send(topic, lines("y", range(5)), partition=2)
        kafka.send(topic, lines("z", range(5)), partition=0)
        read.until_rows(lambda: [*values("y", range(5)), *values("z", range(5))])
    assert read.kept == {topic: {"0": 10, "1": 0, "2": 5}}


def test_a_topic_made_anew_is_told(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, lines("x", range(40)), partition=0)
    read = reading(kafka, topic)
    with read.opened():
        read.until_rows(lambda: values("x", range(40)))
    kafka.drop(topic)
    kafka.create(topic, 2)
    kafka.send(topic, lines("y", range(5)), partition=0)
    with (
        pytest.raises(BergError, match=f"offset 40 of topic '{topic}', partition 0, is not there") as failed,
        read.opened(),
    ):
        read.until(lambda: False)
    assert failed.value.code is ErrorCode.INVALID
    assert "auto.offset.reset" in (failed.value.hint or "")


def test_a_topic_made_anew_is_read_if_wanted(kafka: Kafka, topic: str) -> None:
    """Its offsets begin again, those that are kept too: else a restart would pass over rows."""
    kafka.send(topic, lines("x", range(40)), partition=0)
    read = reading(kafka, topic, **{"properties.auto.offset.reset": "earliest"})
    with read.opened():
        read.until_rows(lambda: values("x", range(40)))
    kafka.drop(topic)
    kafka.create(topic, 2)
    kafka.send(topic, lines("y", range(5)), partition=0)
    with read.opened():
        read.until_rows(lambda: [*values("x", range(40)), *values("y", range(5))])
    assert read.kept == {topic: {"0": 5, "1": 0}}
    (note,) = read.notes
    assert note.startswith(f"Offset 40 of topic '{topic}', partition 0, is not there any more")
    assert "Reading goes on at offset 0" in note
    kafka.send(topic, lines("z", range(50)), partition=0)
    with read.opened():
        read.until_rows(lambda: [*values("x", range(40)), *values("y", range(5)), *values("z", range(50))])


def test_messages_that_were_cut_off_are_told(kafka: Kafka, topic: str) -> None:
    _cut(kafka, topic, 30)
    read = reading(kafka, topic)
    read.kept = {topic: {"0": 10, "1": 0}}
    with (
        pytest.raises(BergError, match=f"offset 10 of topic '{topic}', partition 0, is not there any more"),
        read.opened(),
    ):
        read.until(lambda: False)


def test_messages_that_were_cut_off_are_passed_over_if_wanted(kafka: Kafka, topic: str) -> None:
    _cut(kafka, topic, 30)
    kafka.send(topic, lines("y", range(5)), partition=1)
    read = reading(kafka, topic, **{"properties.auto.offset.reset": "latest"})
    read.kept = {topic: {"0": 10, "1": 2}}
    with read.opened():
        read.until(lambda: read.notes)
        kafka.send(topic, lines("z", range(5)), partition=0)
        read.until_rows(lambda: [*values("y", range(2, 5)), *values("z", range(5))])
    (note,) = read.notes
    assert "Offset 10 of" in note
    assert "'latest'" in note


def test_marks_of_transactions_are_passed(kafka: Kafka, topic: str) -> None:
    """Cut off, they are no loss."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": topic})
    producer.init_transactions(10)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, "x,1", partition=0)
        producer.flush()
        end(10)
    read = reading(kafka, topic)
    with read.opened():
        read.until(lambda: read.reader.lag == 0)
    assert read.rows == Counter([("x", 1)])
    assert read.kept == {topic: {"0": 4, "1": 0}}


def _cut(kafka: Kafka, topic: str, before: int) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    kafka.send(topic, lines("x", range(before + 10)), partition=0)
    admin = AdminClient({"bootstrap.servers": kafka.address, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result(10)


def test_a_broker_that_goes_and_comes_back(own: Kafka) -> None:
    """New partitions are looked for meanwhile, too; nothing is lost, nothing comes twice."""
    own.create("comes", 2)
    read = reading(own, "comes", **{"scan.topic-partition-discovery.interval": "100 ms"})
    own.send("comes", lines("x", range(500)), partition=0)
    with read.opened():
        read.until_rows(lambda: values("x", range(500)))
        own.kill()
        read.until(lambda: read.notes)
        own.start()
        own.send("comes", lines("y", range(500)), partition=1)
        read.until_rows(lambda: [*values("x", range(500)), *values("y", range(500))])
    told = [note for note in read.notes if not note.startswith("New partitions")]
    assert [note.split(" at ")[0] for note in told] == ["No broker answers", "The brokers"]


def test_a_batch_is_no_larger_than_there_is_room(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, lines("x" * 2000, range(2000)), partition=0)
    read = reading(kafka, topic)
    sizes: list[int] = []
    with read.opened():
        read.workspace.max_bytes = 1 << 20
        while sum(sizes) < 2000:
            sizes.append(len(read.poll()))
    assert max(sizes) < 1500
    assert read.rows == Counter(values("x" * 2000, range(2000)))

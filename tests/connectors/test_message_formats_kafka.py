"""Formats through Kafka by the real command line: what one run writes, another reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.support.berg import Berg
from tests.support.services.kafka import Kafka
from tests.support.services.registry import Registry

COLUMNS = "id INT, name STRING, d DECIMAL(5, 2)"
ROW = {"id": 1, "name": "李四", "d": "2.50"}
FORMATS = {
    "csv": {},
    "json": {},
    "avro": {},
    "avro-confluent": {"avro-confluent.url": "{registry}"},
    "debezium-json": {},
    "canal-json": {},
    "maxwell-json": {},
}


CHANGES = ("debezium-json", "canal-json", "maxwell-json")
"""A stream reads them, and no batch."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry().start()
    yield made
    made.stop()


def in_kafka(kafka: Kafka, columns: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """What makes table t, of a topic that is made here and has an end."""
    kafka.create("formats")
    given = {
        "connector": "kafka",
        "topic": "formats",
        "properties.bootstrap.servers": kafka.address,
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        **options,
    }
    made = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    return ("-e", f"CREATE TABLE t ({columns}) WITH ({made})")


def read(berg: Berg, format_: str, table: tuple[str, ...]) -> list[dict[str, object]]:
    """The rows of table t, which are all new."""
    if format_ not in CHANGES:
        return berg.rows("SELECT * FROM t", *table)
    found = berg.rows("SELECT * FROM t", "-e", "SET 'execution.runtime-mode' = 'streaming'", *table)
    assert {row.pop("op") for row in found} == {"+I"}
    return found


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_written_is_read(berg: Berg, kafka: Kafka, registry: Registry, format_: str) -> None:
    more = {key: value.replace("{registry}", registry.url) for key, value in FORMATS[format_].items()}
    table = in_kafka(kafka, COLUMNS, {"format": format_, **more})
    written = berg.run(*table, "-e", "INSERT INTO t VALUES (1, '李四', 2.5)")
    assert written.code == 0, written.err
    assert read(berg, format_, table) == [ROW]


@pytest.mark.parametrize("format_", [name for name in FORMATS if name.endswith("json")])
@pytest.mark.parametrize("standard", ["SQL", "ISO-8601"])
def test_times_are_written_as_asked(berg: Berg, kafka: Kafka, format_: str, standard: str) -> None:
    table = in_kafka(
        kafka, "at_time TIMESTAMP(3)", {"format": format_, f"{format_}.timestamp-format.standard": standard}
    )
    written = berg.run(*table, "-e", "INSERT INTO t VALUES (TIMESTAMP '2024-02-29 10:30:00.25')")
    assert written.code == 0, written.err
    (message,) = kafka.messages("formats")
    assert (b"2024-02-29T10:30:00.25" if standard == "ISO-8601" else b"2024-02-29 10:30:00.25") in (
        message.value() or b""
    )
    assert read(berg, format_, table) == [{"at_time": "2024-02-29 10:30:00.250000"}]


def test_a_text_of_another_charset_is_read(berg: Berg, kafka: Kafka) -> None:
    table = in_kafka(kafka, "name STRING", {"format": "raw", "raw.charset": "GBK"})
    written = berg.run(*table, "-e", "INSERT INTO t VALUES ('李四')")
    assert written.code == 0, written.err
    assert [m.value() for m in kafka.messages("formats")] == ["李四".encode("gbk")]
    assert berg.rows("SELECT name FROM t", *table) == [{"name": "李四"}]

"""Where reading of topics begins, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.kafka.client import TIMEOUT
from bergsql.engine.connectors.kafka.options import specific_offsets

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from bergsql.engine.connectors.kafka.source import KafkaSource

Place = tuple[str, int]
"""A partition: its topic and number."""
Places = dict[Place, int]
"""Offsets by partition."""


class Reset(StrEnum):
    """Where reading goes on whose offset is not there: ``properties.auto.offset.reset``."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


_RESETS: Final = {
    **dict.fromkeys(("earliest", "smallest", "beginning"), Reset.EARLIEST),
    **dict.fromkeys(("latest", "largest", "end"), Reset.LATEST),
    **dict.fromkeys(("none", "error"), Reset.NONE),
}
"""As Java's clients call them, and librdkafka."""


def reset_of(options: Mapping[str, str]) -> Reset:
    """
    :raises BergError: OPTION.
    """
    key = "properties.auto.offset.reset"
    given = options.get(key, Reset.NONE)
    found = _RESETS.get(given.casefold())
    if found is None:
        message = f"'{given}' is not a value of '{key}': it takes {', '.join(Reset)}."
        raise BergError(ErrorCode.OPTION, message)
    return found


def reset_offset(consumer: Consumer, source: KafkaSource, place: Place) -> int:
    """Where ``properties.auto.offset.reset`` leads, which is not ``none``."""
    return first_offset(consumer, place) if source.reset is Reset.EARLIEST else last_offset(consumer, place)


def first_offset(consumer: Consumer, place: Place) -> int:
    """Of the first message that is still there."""
    return _ends(consumer, place)[0]


def last_offset(consumer: Consumer, place: Place) -> int:
    """Behind the last message."""
    return _ends(consumer, place)[1]


def _ends(consumer: Consumer, place: Place) -> tuple[int, int]:
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    found = consumer.get_watermark_offsets(TopicPartition(*place), timeout=TIMEOUT, cached=False)
    if found is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    low, high = found
    return low, high


def starts(consumer: Consumer, source: KafkaSource, places: Sequence[Place]) -> Places:
    """Where a new job begins: numbers, so that a crash before its first checkpoint loses nothing.

    :raises BergError: INVALID where the mode gives no offset.
    """
    mode = "earliest-offset" if source.from_start else source.startup
    match mode:
        case "earliest-offset":
            return {p: first_offset(consumer, p) for p in places}
        case "latest-offset":
            return {p: last_offset(consumer, p) for p in places}
        case "timestamp":
            return _at_time(consumer, places, int(source.options["scan.startup.timestamp-millis"]))
        case "specific-offsets":
            return _specific(consumer, source, places, "scan.startup.specific-offsets")
    return _of_group(consumer, source, places)


def stops(consumer: Consumer, source: KafkaSource, places: Sequence[Place]) -> Places:
    """The first offsets that are not read of a bounded table."""
    match source.options["scan.bounded.mode"].casefold():
        case "latest-offset":
            return {p: last_offset(consumer, p) for p in places}
        case "timestamp":
            return _at_time(consumer, places, int(source.options["scan.bounded.timestamp-millis"]))
        case "specific-offsets":
            given = specific_offsets("scan.bounded.specific-offsets", source.options)
            return {p: min(given.get(p[1], last_offset(consumer, p)), last_offset(consumer, p)) for p in places}
    found = _committed(consumer, places)
    return {p: found.get(p, last_offset(consumer, p)) for p in places}


def _at_time(consumer: Consumer, places: Sequence[Place], time: int) -> Places:
    """Of the first messages that are not older than ``time``, else the end."""
    from confluent_kafka import TopicPartition

    asked = [TopicPartition(*p, time) for p in places]
    found = consumer.offsets_for_times(asked, timeout=TIMEOUT) if asked else []
    return {
        (t.topic, t.partition): t.offset if t.offset >= 0 else last_offset(consumer, (t.topic, t.partition))
        for t in found
    }


def _specific(consumer: Consumer, source: KafkaSource, places: Sequence[Place], key: str) -> Places:
    given = specific_offsets(key, source.options)
    for partition in given:
        if partition not in {number for _, number in places}:
            raise BergError(ErrorCode.INVALID, f"'{key}' names partition {partition}, which is not there.")
    others = [p for p in places if p[1] not in given]
    # As Flink: others begin where the group is, or at their first message.
    left = _committed(consumer, others) if "properties.group.id" in source.options else {}
    latest = source.reset is Reset.LATEST
    for place in others:
        if place not in left:
            left[place] = last_offset(consumer, place) if latest else first_offset(consumer, place)
    return {p: given[p[1]] for p in places if p[1] in given} | left


def _committed(consumer: Consumer, places: Sequence[Place]) -> Places:
    from confluent_kafka import TopicPartition

    found = consumer.committed([TopicPartition(*p) for p in places], timeout=TIMEOUT) if places else []
    return {(t.topic, t.partition): t.offset for t in found if t.offset >= 0}


def _of_group(consumer: Consumer, source: KafkaSource, places: Sequence[Place]) -> Places:
    """Those that the group has committed; where it has none, as ``properties.auto.offset.reset`` says."""
    group = source.options.get("properties.group.id")
    found = _committed(consumer, places) if group is not None else {}
    for place in places:
        if place in found:
            continue
        if source.reset is Reset.NONE:
            who = f"Group '{group}' has no offset" if group is not None else "There is no 'properties.group.id'"
            raise BergError(
                ErrorCode.INVALID,
                f"{who} for topic '{place[0]}', partition {place[1]}, where 'scan.startup.mode' begins.",
                hint="'scan.startup.mode'='earliest-offset' reads from the start.",
            )
        found[place] = reset_offset(consumer, source, place)
    return found

"""Reads topics of Kafka: partitions are assigned, never those of a group, and offsets are our own."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, cast

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.connectors.kafka.client import TIMEOUT, Troubles, told, translated, without_effect
from bergsql.engine.connectors.kafka.offsets import Place, Places, Reset, reset_offset, starts, stops
from bergsql.engine.connectors.kafka.unreadable import Origins, located
from bergsql.engine.streaming.changelog import OP, Batch
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

    from bergsql.engine.connectors.kafka.rows import Layout
    from bergsql.engine.connectors.kafka.source import KafkaSource
    from bergsql.engine.plan.relations import ReadAtOnce
    from bergsql.engine.streaming.sources.base import Json, ReaderContext

_MOST: Final = 200_000
"""Messages of one batch."""
_PART: Final = 500
"""Messages that are objects of Python at a time. Of more than 700, its collector of garbage would look through them all
again and again, which takes longer than all the rest; and they would leave the processor's cache."""
_PATIENCE: Final = 0.02
"""Seconds to wait for messages that are just coming."""
_QUICK: Final = 3.0
"""Seconds to wait for a list of topics in the midst of reading."""
_numbers = count()


class KafkaReader(Reader):
    """See :class:`~bergsql.engine.streaming.sources.base.Reader`."""

    def __init__(self, source: KafkaSource, context: ReaderContext, offset: Json) -> None:
        self._source, self._context = source, context
        self._troubles = Troubles(source.servers, context.note)
        self._doing = f"Reading {source.name}"
        self._rows = f"kafka{next(_numbers)}_rows"
        self._made = False
        self._came: pa.Table | None = None
        self._came_from = self._part = Origins([], [], [])
        """Where the messages of the last batch are, and those of its last part."""
        self._skipped = 0
        self._lag: int | None = None
        self._ends: Places = {}
        """Where partitions had no more messages, the last time."""
        self._heard_ends: set[Place] = set()
        self._lost: list[Place] = []
        """Partitions whose offset is gone, and that are read on elsewhere."""
        self._group = source.options.get("properties.group.id")
        self._told_group = False
        self._next_look = 0.0
        self._interval = source.discovery / 1000
        if (note := without_effect(source.options)) is not None:
            context.note(note)
        self._consumer = self._opened()
        try:
            with told(self._error):
                self._begin(_places(offset))
        except BaseException:
            self._consumer.close()
            raise

    def _error(self, error: KafkaError) -> BergError:
        return translated(error, self._source.servers, self._doing)

    def _opened(self) -> Consumer:
        from confluent_kafka import Consumer

        given = {
            "group.id": "bergsql",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            **self._source.configuration,
            "auto.offset.reset": "error",  # what is lost, and where reading goes on, is told
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "error_cb": self._troubles,
            "on_commit": self._committed,
        }
        with told(self._error):
            return Consumer(given)

    def _begin(self, kept: Places | None) -> None:
        found = self._partitions()
        consumer, source = self._consumer, self._source
        self._places: Places = dict(kept or {})
        fresh = [p for p in found if p not in self._places]
        if kept is None:
            self._places |= starts(consumer, source, fresh)
        else:
            self._places |= {p: _low(consumer, p) for p in fresh}
        self._stops = stops(consumer, source, list(self._places)) if source.bounded else None
        self._ended = {p for p, at in (self._stops or {}).items() if self._places[p] >= at}
        self._assign()

    def _assign(self) -> None:
        from confluent_kafka import TopicPartition

        left = [TopicPartition(*place, at) for place, at in self._places.items() if place not in self._ended]
        self._consumer.assign(left)

    def _partitions(self, timeout: float = TIMEOUT) -> list[Place]:
        """All partitions of the topics.

        :raises BergError: NOT_FOUND for a topic that is not there.
        """
        self._next_look = time.monotonic() + self._interval
        # Asked for one by one, brokers may make topics that are not there.
        topics = self._consumer.list_topics(timeout=timeout).topics
        source = self._source
        if source.pattern is not None:
            named = [name for name in topics if re.fullmatch(source.pattern, name)]
        else:
            named = list(source.topics)
        for name in named:
            if name not in topics:
                raise BergError(
                    ErrorCode.NOT_FOUND,
                    f"{self._doing} failed: there is no topic '{name}' at {source.servers}.",
                    hint=did_you_mean(name, topics),
                )
        return [(name, partition) for name in named for partition in sorted(topics[name].partitions)]

    # --- reading -----------------------------------------------------------------------------------------------------

    def poll(self) -> Batch | None:
        self._drop()
        due = self._interval > 0 and time.monotonic() >= self._next_look and self._stops is None
        if due and not self._troubles.down:
            self._discover()
        layout = self._source.layout
        messages = self._messages(layout)
        self._pass_gaps()
        self._jump()
        if messages is None:
            return None
        self._came = messages
        try:
            rows = layout.rows(self._context, messages)
        except BergError as error:
            raise self.explained(error) from None
        columns = ", ".join(f"c{i}" for i in range(len(layout.columns)))
        if layout.lenient:
            cursor = self._context.cursor
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {self._rows} AS FROM {rows}")
            self._made = True
            ((broken,),) = cursor.execute(f"SELECT count(*) FROM {self._rows} WHERE broken").fetchall()
            self._skipped += int(broken)
            rows = f"{self._rows} WHERE NOT broken"
        return Batch(f"(SELECT {columns}, {OP} FROM {rows})")

    def explained(self, error: BergError) -> BergError:
        return (
            located(error, self._source, self._context, self._came, self._came_from)
            if self._came is not None
            else error
        )

    def _messages(self, layout: Layout) -> pa.Table | None:
        """What has come: no more than a batch, nothing behind the end of a bounded table."""
        import pyarrow as pa

        most = min(self._context.max_rows, _MOST)
        parts: list[pa.RecordBatch] = []
        count = size = 0
        self._came_from = Origins([], [], [])
        while count < most and size < self._context.max_bytes:
            asked = min(_PART, most - count)
            with told(self._error):
                came = self._consumer.consume(asked, 0 if parts else _PATIENCE)
            kept = self._sound(came)
            if kept:
                parts.append(layout.gathered(kept))
                self._came_from.add(self._part)
                count, size = count + len(kept), size + parts[-1].nbytes
            if len(came) < asked:
                break
        return pa.Table.from_batches(parts).combine_chunks() if parts else None

    def _sound(self, came: list[Message]) -> list[Message]:
        """Those that are messages, and before the end of a bounded table: where reading is moves behind them."""
        from confluent_kafka import Message

        if self._troubles.fatal is not None:
            raise self._error(self._troubles.fatal)
        # Loops of C: what is done for each message is what a topic costs.
        if any(map(Message.error, came)):
            for message in came:
                if (error := message.error()) is not None:
                    self._heard(error, message)
            came = [m for m in came if m.error() is None]
        if not came:
            return came
        self._troubles.over()
        last = self._last(came)
        if self._stops is not None and any(at + 1 >= self._stops.get(place, 0) for place, at in last.items()):
            came = self._within(came)
            last = self._last(came)
        for place, at in last.items():
            self._places[place] = at + 1
        kind, stamp = came[-1].timestamp() if came else (0, 0)
        if kind:
            self._lag = max(0, round(time.time() * 1000) - stamp)
        return came

    def _last(self, messages: list[Message]) -> Places:
        """Offsets of the last message of each partition, not the greatest: in a topic made anew they begin again."""
        from confluent_kafka import Message

        named = self._source.topics
        topics = list(map(Message.topic, messages)) if len(named) != 1 else [named[0]] * len(messages)
        partitions, offsets = list(map(Message.partition, messages)), list(map(Message.offset, messages))
        self._part = Origins(cast("list[str]", topics), cast("list[int]", partitions), cast("list[int]", offsets))
        return dict(zip(zip(self._part.topics, self._part.partitions, strict=True), self._part.offsets, strict=True))

    def _within(self, messages: Sequence[Message]) -> list[Message]:
        """The messages of a bounded table before its end."""
        assert self._stops is not None
        kept = []
        for message in messages:
            place, at = _place_of(message)
            stop = self._stops.get(place, 0)
            if at < stop:
                kept.append(message)
            if at + 1 >= stop:
                self._ended.add(place)
        return kept

    def _heard(self, error: KafkaError, message: Message) -> None:
        from confluent_kafka import KafkaError

        match error.code():
            case KafkaError._PARTITION_EOF:
                place, at = _place_of(message)
                if self._stops is not None and at >= self._stops.get(place, 0):
                    self._ended.add(place)
                self._ends[place] = at
                self._heard_ends.add(place)
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                place, _ = _place_of(message)
                if self._source.reset is not Reset.NONE:
                    self._lost.append(place)
                    return
                raise BergError(
                    ErrorCode.INVALID,
                    f"{self._doing} failed: offset {self._places.get(place)} of topic '{place[0]}', partition "
                    f"{place[1]}, is not there any more: the topic was cut or made anew.",
                    hint="What is lost cannot be read. Start a new job, or give 'properties.auto.offset.reset' = "
                    "'earliest' or 'latest' to go on with what there is.",
                )
            case KafkaError._TRANSPORT | KafkaError._ALL_BROKERS_DOWN | KafkaError._TIMED_OUT:
                self._troubles(error)
            case _:
                raise self._error(error)

    def _pass_gaps(self) -> None:
        """Go on behind what ends a partition and gives no messages, as the marks of transactions.

        Kept before them, an offset would seem to be lost once they are cut off.
        """
        for place in self._heard_ends:
            self._places[place] = max(self._ends[place], self._places.get(place, 0))
        self._heard_ends.clear()

    def _jump(self) -> None:
        """Go on at the first or last message of partitions whose offset is gone."""
        if not self._lost:
            return
        for place in self._lost:
            with told(self._error):
                at = reset_offset(self._consumer, self._source, place)
            self._context.note(
                f"Offset {self._places.get(place)} of topic '{place[0]}', partition {place[1]}, is not there any more: "
                f"the topic was cut or made anew. Reading goes on at offset {at}, as 'properties.auto.offset.reset' = "
                f"'{self._source.reset}' asks."
            )
            self._places[place] = at
            self._ends.pop(place, None)
            if self._stops is not None and at >= self._stops.get(place, 0):
                self._ended.add(place)
        self._lost.clear()
        self._assign()

    def _discover(self) -> None:
        """Partitions and topics that have come: they are read from their first message."""
        try:
            with told(self._error):
                fresh = [p for p in self._partitions(_QUICK) if p not in self._places]
                lows = {p: _low(self._consumer, p) for p in fresh}
        except BergError as error:
            if error.code is not ErrorCode.CONNECTION:
                raise
            # The client connects again by itself, and the next look finds them.
            self._context.note(f"New partitions are looked for later: {error.message}")
            return
        if lows:
            self._places |= lows
            self._assign()

    # --- what the runtime asks ---------------------------------------------------------------------------------------

    @property
    def offset(self) -> Json:
        made: dict[str, Json] = {}
        for (topic, partition), at in sorted(self._places.items()):
            topics = made.setdefault(topic, {})
            assert isinstance(topics, dict)
            topics[str(partition)] = at
        return made

    @property
    def finished(self) -> bool:
        return self._stops is not None and self._ended >= set(self._stops)

    @property
    def wait(self) -> float:
        return 0.05

    @property
    def lag(self) -> int | None:
        ended = all(self._ends.get(place, -1) >= at for place, at in self._places.items())
        return 0 if ended else self._lag

    @property
    def skipped(self) -> int:
        return self._skipped

    def checkpointed(self, offset: Json) -> None:
        if self._group is None or not self._source.commits:
            return
        from confluent_kafka import KafkaException, TopicPartition

        offsets = [TopicPartition(*place, at) for place, at in (_places(offset) or {}).items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._lacks_commit(error.args[0])

    def _committed(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """The answer to a commit, which comes while something is read."""
        found = error or next((p.error for p in places if p.error is not None), None)
        if found is not None:
            self._lacks_commit(found)

    def _lacks_commit(self, error: KafkaError) -> None:
        """Offsets of the group are only for others to see."""
        if not self._told_group:
            self._told_group = True
            self._context.note(f"The offsets of group '{self._group}' cannot be committed: {error.str()}.")

    def _drop(self) -> None:
        if self._made:
            self._made = False
            self._context.cursor.execute(f"DROP TABLE IF EXISTS {self._rows}")

    def close(self) -> None:
        self._drop()
        self._consumer.close()


def _places(offset: Json) -> Places | None:
    if not isinstance(offset, dict):
        return None
    return {
        (topic, int(partition)): int(str(at))
        for topic, partitions in offset.items()
        if isinstance(partitions, dict)
        for partition, at in partitions.items()
    }


def _place_of(message: Message) -> tuple[Place, int]:
    return (message.topic() or "", message.partition() or 0), message.offset() or 0


def _low(consumer: Consumer, place: Place) -> int:
    from bergsql.engine.connectors.kafka.offsets import first_offset

    return first_offset(consumer, place)


def read_whole(source: KafkaSource, prefix: str) -> ReadAtOnce:
    """All rows of a bounded table, read now."""
    from bergsql.engine.connectors.reading import read_all

    return read_all(source, prefix)

"""A topic of Kafka as a sink."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.base import LocalSink
from bergsql.engine.connectors.kafka.client import PREFIX, check_installed, configuration, without_effect
from bergsql.engine.connectors.kafka.encoding import Encoding
from bergsql.engine.connectors.kafka.producer import HEADERS, TIMESTAMP, Topic
from bergsql.engine.connectors.kafka.source import layout_of
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.sinks.base import SinkContext, Writer

WRITABLE: Final = (HEADERS, TIMESTAMP)
"""METADATA that can be written."""
_EXACTLY_ONCE: Final = "exactly-once"


class KafkaSink(LocalSink):
    """Rows as messages; with ``upserts`` the last change of each key, and tombstones for what goes.

    folds
        Whether only the last change of a key in a checkpoint counts.
    """

    def __init__(self, table: ConnectorTable, *, upserts: bool = False) -> None:
        check_installed("upsert-kafka" if upserts else "kafka")
        given = table.options
        self.name = table.name
        written = table.written
        places = {c.name: i for i, c in enumerate(written)}
        self.columns = tuple(c.streamed for c in written)
        self.key = tuple(places[table.columns[n].name] for n in table.key)
        self.folds = upserts
        self.guarantee = given.get("sink.delivery-guarantee", _EXACTLY_ONCE).casefold()
        self.prefix = given.get("sink.transactional-id-prefix") or "bergsql"
        self.is_at_once = False
        layout = layout_of(table, upserts=upserts)
        stored = [places[c.name] for c in table.stored]
        told = {c.metadata: i for i, c in enumerate(written) if c.metadata is not None}
        self.encoding = Encoding(
            layout.value,
            tuple(stored[n] for n in layout.in_value),
            layout.key,
            tuple(stored[n] for n in layout.in_key),
            told.get(HEADERS),
            told.get(TIMESTAMP),
            tombstones=upserts,
        )
        partitioner = given.get("sink.partitioner", "default").casefold()
        self.note = without_effect(given)
        self.topic = Topic(_topic(table), given[f"{PREFIX}bootstrap.servers"], configuration(given), partitioner)
        if partitioner == "round-robin" and layout.key is not None:
            raise BergError(
                ErrorCode.OPTION,
                "'sink.partitioner'='round-robin' is for messages without keys, and the table has 'key.format'.",
                hint="Left out, messages with one key stay in one partition.",
            )

    def at_once(self) -> KafkaSink:
        sink = copy(self)
        sink.is_at_once = True
        return sink

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        """Refuse changes that messages cannot tell of, and a topic that is not there."""
        if self.folds:
            self._check_key(mode, key)
        elif mode is not ChangelogMode.INSERT_ONLY:
            self._check_changes(mode)
        self.topic.partitions()

    def _check_key(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        if mode is ChangelogMode.INSERT_ONLY or (key is not None and set(key) <= set(self.key)):
            return
        said, own = (", ".join(self.columns[i].name for i in k) for k in (key or (), self.key))
        raise BergError(
            ErrorCode.INVALID,
            f"The rows of the query are told apart by {'nothing' if key is None else f'({said})'}, and those of "
            f"{self.name} by ({own}): several rows would be one.",
            hint="Make the primary key of the table the columns by which the query's rows are told apart.",
        )

    def _check_changes(self, mode: ChangelogMode) -> None:
        if self.encoding.value.mode is ChangelogMode.INSERT_ONLY:
            raise BergError(
                ErrorCode.INVALID,
                f"{self.name} takes new rows only, and the query changes rows that it gave before: messages of format "
                f"'{self.encoding.value.name}' tell of no changes.",
                hint="Connector 'upsert-kafka' writes changes by key; 'format'='debezium-json' writes each of them.",
            )
        if mode is ChangelogMode.UPSERT:
            raise BergError(
                ErrorCode.INVALID,
                f"Messages of format '{self.encoding.value.name}' hold rows as they were, and the query tells only of "
                "the keys of rows that go.",
                hint="Connector 'upsert-kafka' writes changes by key.",
            )

    def writer(self, context: SinkContext, restored: int) -> Writer:
        from bergsql.engine.connectors.kafka.writer import ExactlyOnceWriter, PlainWriter

        if self.note is not None:
            context.note(self.note)
        if self.guarantee == _EXACTLY_ONCE:
            return ExactlyOnceWriter(self, context, restored)
        return PlainWriter(self, context, waits=self.is_at_once or self.guarantee != "none")

    def explain(self) -> str:
        what = "writes the last change of each key" if self.folds else "writes each row"
        return f"{self.name}: {what} to Kafka, topic {self.topic.name} at {self.topic.servers}, {self.guarantee}"


def upsert_sink(table: ConnectorTable) -> KafkaSink:
    return KafkaSink(table, upserts=True)


def _topic(table: ConnectorTable) -> str:
    """The one topic that is written."""
    topics = [t.strip() for t in table.options.get("topic", "").split(";") if t.strip()]
    if len(topics) != 1:
        what = "finds its topics by a pattern" if not topics else f"has {len(topics)} topics"
        raise BergError(
            ErrorCode.INVALID,
            f"{table.name} can only be read: it {what}, and rows are written to one.",
            hint="Write to a table of its own, with one 'topic'.",
        )
    return topics[0]

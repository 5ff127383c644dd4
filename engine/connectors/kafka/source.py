"""Topics of Kafka as a source: offsets are kept in checkpoints; the group only hears of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import parse_duration
from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.connectors.kafka.client import PREFIX, check_installed, configuration, whole_number
from bergsql.engine.connectors.kafka.offsets import reset_of
from bergsql.engine.connectors.kafka.options import key_columns, prefix_of
from bergsql.engine.connectors.kafka.rows import Layout
from bergsql.engine.connectors.messages import message_format
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.connectors.messages.base import MessageFormat
    from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext

SERVERS: Final = f"{PREFIX}bootstrap.servers"
_DISCOVERY: Final = "scan.topic-partition-discovery.interval"


class KafkaSource(LocalSource):
    """What messages of some topics hold."""

    def __init__(self, table: ConnectorTable, *, upserts: bool = False) -> None:
        check_installed("upsert-kafka" if upserts else "kafka")
        given = table.options
        self.name, self.columns = table.name, table.streamed
        self.options = given
        self.servers = given[SERVERS]
        self.bounded = given.get("scan.bounded.mode", "unbounded").casefold() != "unbounded"
        self.layout = layout_of(table, upserts=upserts)
        self.mode = ChangelogMode.UPSERT if upserts else self.layout.value.mode
        self.key = table.key if self.mode is not ChangelogMode.INSERT_ONLY else ()
        self.configuration = configuration(given)
        self.reset = reset_of(given)
        self.from_start = upserts
        """Whether a new job begins with the first message always."""

    @property
    def discovery(self) -> int:
        """How often to look for new partitions, in milliseconds; nothing, or less: never."""
        key = f"{PREFIX}partition.discovery.interval.ms"
        if _DISCOVERY not in self.options and key in self.options:
            return whole_number(self.options, key)
        return parse_duration(self.options.get(_DISCOVERY, "5 min"))

    @property
    def commits(self) -> bool:
        """Whether the group hears of checkpoints."""
        return self.options.get(f"{PREFIX}commit.offsets.on.checkpoint", "true").casefold() != "false"

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics by name; none where they are found by a pattern."""
        return tuple(t.strip() for t in self.options.get("topic", "").split(";") if t.strip())

    @property
    def pattern(self) -> str | None:
        return self.options.get("topic-pattern")

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"connector": "kafka", "topic": self.options.get("topic") or self.pattern}

    def explain(self) -> str:
        what = f"topics {self.pattern}" if self.pattern is not None else f"topic {', '.join(self.topics)}"
        where = "from its start" if self.from_start else f"from {self.startup}"
        end = f", up to {self.options['scan.bounded.mode']}" if self.bounded else ""
        return f"{self.name}: Kafka, {what} at {self.servers}, {where}{end}"

    @property
    def startup(self) -> str:
        return self.options.get("scan.startup.mode", "group-offsets").casefold()

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        from bergsql.engine.connectors.kafka.reader import KafkaReader

        return KafkaReader(self, context, offset)

    def whole(self, prefix: str) -> ReadAtOnce:
        from bergsql.engine.connectors.kafka.reader import read_whole

        return read_whole(self, prefix)


def upsert_source(table: ConnectorTable) -> KafkaSource:
    return KafkaSource(table, upserts=True)


def layout_of(table: ConnectorTable, *, upserts: bool) -> Layout:
    """Which columns come from where."""
    given, stored = table.options, table.stored
    in_key = key_columns(table)
    prefix = given.get("key.fields-prefix", "")
    except_key = given.get("value.fields-include", "ALL").casefold() == "except_key"
    if prefix and in_key and not except_key:
        raise BergError(
            ErrorCode.OPTION, "'key.fields-prefix' needs 'value.fields-include'='EXCEPT_KEY': names would be doubled."
        )
    in_value = [n for n in range(len(stored)) if not (except_key and n in in_key)]
    metadata = [c.metadata for c in table.columns if c.metadata is not None]
    wanted = [m.removeprefix("value.") for m in metadata if m.startswith("value.")]
    value = _format(given, "format" if "format" in given else "value.format", table, in_value, "", wanted)
    for name in wanted:
        if name not in value.metadata:
            raise BergError(ErrorCode.NOT_FOUND, f"Format '{value.name}' has no metadata 'value.{name}'.")
    key = _format(given, "key.format", table, in_key, prefix, ()) if in_key else None
    if key is not None and key.mode is not ChangelogMode.INSERT_ONLY:
        raise BergError(ErrorCode.OPTION, f"Keys cannot be of format '{key.name}'.")
    return Layout(table.columns, value, tuple(in_value), key, tuple(in_key), upserts)


def _format(
    given: Mapping[str, str],
    option: str,
    table: ConnectorTable,
    columns: list[int],
    prefix: str,
    metadata: list[str] | tuple[str, ...],
) -> MessageFormat:
    before = prefix_of(option)
    own = {k.removeprefix(before): v for k, v in given.items() if k.startswith(before)}
    held = [table.stored[n] for n in columns]
    named = [c._replace(name=c.name.removeprefix(prefix)) for c in held]
    if "topic" in given:
        # As Confluent's own serializers call it; only one format has the option.
        own.setdefault("avro-confluent.subject", f"{given['topic']}-{'key' if option == 'key.format' else 'value'}")
    return message_format(given[option])(named, own, metadata)

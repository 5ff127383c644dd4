"""What WITH says of a table of Kafka: options and metadata, as Flink's ``kafka`` and ``upsert-kafka`` have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.kafka.client import check_properties
from bergsql.engine.connectors.messages import message_format, message_formats
from bergsql.engine.sql.types import BIGINT, BYTES, INT, LTZ3, STRING, DataType, Field, Kind
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable

_TAKEN: Final = "Taken, and without effect."
_PARALLEL: Final = ("1", "32768")
_TOPIC = OptionSpec("topic", doc="The topic; to read, several with `;` between them.")
_PATTERN = OptionSpec("topic-pattern", doc="A regular expression: all topics whose whole name matches are read.")
_PROPERTIES = (
    OptionSpec("properties.bootstrap.servers", doc="Brokers: `host:port`, with commas between.", required=True),
    OptionSpec("properties.group.id", doc="The group whose offsets are read and, behind each checkpoint, committed."),
    OptionSpec("properties.*", doc="Further configuration of the client, by Kafka's or librdkafka's names."),
)
_FORMAT = OptionSpec("format", "enum", doc="What messages are.", values=message_formats())
_VALUE_FORMAT = _FORMAT._replace(key="value.format", doc="The same as `format`: one of both is needed.")
_KEY_FORMAT = _FORMAT._replace(key="key.format", doc="What the keys of messages are: without it they are not read.")
_KEY_FIELDS = OptionSpec("key.fields", doc="The columns that keys hold, with `;` between them.")
_KEY_PREFIX = OptionSpec(
    "key.fields-prefix", default="", doc="What those columns begin with, and the key's names do not."
)
_INCLUDE = OptionSpec(
    "value.fields-include",
    "enum",
    "ALL",
    "Whether the columns of the key are in the value, too.",
    ("ALL", "EXCEPT_KEY"),
)
_READING = (
    OptionSpec(
        "scan.startup.mode",
        "enum",
        "group-offsets",
        "Where a new job begins.",
        values=("group-offsets", "earliest-offset", "latest-offset", "timestamp", "specific-offsets"),
    ),
    OptionSpec(
        "scan.startup.specific-offsets",
        doc="Of that mode: `partition:0,offset:42;partition:1,offset:300`. Partitions that are left out begin where "
        "the group is, else at their first message.",
    ),
    OptionSpec("scan.startup.timestamp-millis", "int", doc="Of mode `timestamp`: milliseconds since 1970."),
    OptionSpec(
        "scan.bounded.mode",
        "enum",
        "unbounded",
        "Where the table ends: it is read as any other then.",
        values=("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
    ),
    OptionSpec("scan.bounded.specific-offsets", doc="Of that mode: the first offsets that are not read."),
    OptionSpec("scan.bounded.timestamp-millis", "int", doc="Of mode `timestamp`: milliseconds since 1970."),
    OptionSpec(
        "scan.topic-partition-discovery.interval",
        "duration",
        "5 min",
        "How often to look for new partitions and topics.",
    ),
    OptionSpec("scan.parallelism", "int", doc=_TAKEN, bounds=_PARALLEL),
)
_WRITING = (
    OptionSpec(
        "sink.partitioner",
        "enum",
        "default",
        "Which partition a message goes to: by its key, always one, or each in turn.",
        values=("default", "fixed", "round-robin"),
    ),
    OptionSpec(
        "sink.delivery-guarantee",
        "enum",
        "exactly-once",
        "`exactly-once`: a checkpoint is one transaction; `at-least-once`: messages may come again behind a crash.",
        values=("exactly-once", "at-least-once", "none"),
    ),
    OptionSpec("sink.transactional-id-prefix", default="bergsql", doc="What transactional ids begin with."),
    OptionSpec("sink.parallelism", "int", doc=_TAKEN, bounds=_PARALLEL),
)
_FLUSHING = (
    OptionSpec("sink.buffer-flush.max-rows", "int", "0", "Taken: the last change of a key in a checkpoint is written."),
    OptionSpec("sink.buffer-flush.interval", "duration", "0", "Taken: as the one before."),
)
OPTIONS: Final = (
    _TOPIC,
    _PATTERN,
    *_PROPERTIES,
    _FORMAT,
    _VALUE_FORMAT,
    _KEY_FORMAT,
    _KEY_FIELDS,
    _KEY_PREFIX,
    _INCLUDE,
    *_READING,
    *_WRITING,
)
UPSERT_OPTIONS: Final = (
    _TOPIC._replace(required=True),
    *_PROPERTIES,
    _KEY_FORMAT._replace(required=True, doc="What the keys of messages are: they hold the columns of the primary key."),
    _VALUE_FORMAT._replace(required=True, doc="What the values are; a message without one deletes its key."),
    _KEY_PREFIX,
    _INCLUDE,
    *(s for s in _READING if s.key.startswith(("scan.bounded", "scan.parallel", "scan.topic"))),
    *_WRITING,
    *_FLUSHING,
)

HEADERS: Final = DataType(Kind.MAP, children=(Field("key", STRING), Field("value", BYTES)))
METADATA: Final[Mapping[str, DataType]] = {
    "topic": STRING,
    "partition": INT,
    "headers": HEADERS,
    "leader-epoch": INT,
    "offset": BIGINT,
    "timestamp": LTZ3,
    "timestamp-type": STRING,
    **{f"value.{key}": type_ for name in message_formats() for key, type_ in message_format(name).metadata.items()},
}


def _of_format(key: str, given: Mapping[str, str]) -> list[OptionSpec]:
    """The options of the format that the option ``key`` names: with ``value.format`` they begin with ``value.``."""
    name = given.get(key, "").casefold()
    if name not in message_formats():
        return []
    return [s._replace(key=prefix_of(key) + s.key) for s in message_format(name).options]


def prefix_of(key: str) -> str:
    """What the options of a format begin with that the option ``key`` names."""
    return "" if key == "format" else f"{key.removesuffix('.format')}."


def options(given: Mapping[str, str]) -> Sequence[OptionSpec]:
    formats = [s for key in ("format", "value.format", "key.format") for s in _of_format(key, given)]
    return (*OPTIONS, *formats)


def upsert_options(given: Mapping[str, str]) -> Sequence[OptionSpec]:
    return (*UPSERT_OPTIONS, *_of_format("value.format", given), *_of_format("key.format", given))


def check(table: ConnectorTable) -> None:
    """Refuse options that contradict each other."""
    given = table.options
    if ("topic" in given) == ("topic-pattern" in given):
        raise BergError(
            ErrorCode.OPTION, "A table of connector 'kafka' needs one of the options 'topic' and 'topic-pattern'."
        )
    if ("format" in given) == ("value.format" in given):
        raise BergError(
            ErrorCode.OPTION, "A table of connector 'kafka' needs one of the options 'format' and 'value.format'."
        )
    if "key.fields" in given and "key.format" not in given:
        raise BergError(ErrorCode.OPTION, "The option 'key.fields' needs 'key.format'.")
    if "key.format" in given and "key.fields" not in given:
        raise BergError(ErrorCode.OPTION, "The option 'key.format' needs 'key.fields': the columns that keys hold.")
    for place in ("startup", "bounded"):
        mode = given.get(f"scan.{place}.mode", "").casefold()
        for wanted, needed in (("timestamp", "timestamp-millis"), ("specific-offsets", "specific-offsets")):
            key = f"scan.{place}.{needed}"
            if (mode == wanted) != (key in given):
                raise BergError(ErrorCode.OPTION, f"'scan.{place}.mode'='{wanted}' and '{key}' belong together.")
        if mode == "specific-offsets":
            specific_offsets(f"scan.{place}.specific-offsets", given)
    if "topic" in given and not given["topic"].replace(";", "").strip():
        raise BergError(ErrorCode.OPTION, "The option 'topic' names no topic.")
    if (pattern := given.get("topic-pattern")) is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BergError(
                ErrorCode.OPTION, f"'{pattern}' is no regular expression, which 'topic-pattern' takes: {error}."
            ) from None
    _check_ends(given)
    check_properties(given)
    key_columns(table)


def _check_ends(given: Mapping[str, str]) -> None:
    if given.get("scan.bounded.mode", "").casefold() == "group-offsets" and "properties.group.id" not in given:
        raise BergError(ErrorCode.OPTION, "'scan.bounded.mode'='group-offsets' needs 'properties.group.id'.")


def check_upsert(table: ConnectorTable) -> None:
    if not table.key:
        raise BergError(
            ErrorCode.INVALID,
            "A table of connector 'upsert-kafka' needs a PRIMARY KEY: messages of one key replace each other.",
            hint="PRIMARY KEY (id) NOT ENFORCED",
        )
    for key in ("key.format", "value.format"):
        if message_format(table.options[key]).mode is not ChangelogMode.INSERT_ONLY:
            raise BergError(
                ErrorCode.OPTION,
                f"The option '{key}' of connector 'upsert-kafka' cannot be '{table.options[key]}', which tells changes "
                "itself.",
            )
    _check_ends(table.options)
    check_properties(table.options)
    key_columns(table)


def key_columns(table: ConnectorTable) -> list[int]:
    """Positions among the stored columns of those that keys hold.

    :raises BergError: OPTION where they are not there.
    """
    stored = [c.name for c in table.stored]
    if "key.format" not in table.options:
        return []
    if "key.fields" in table.options:
        named = [name for name in table.options["key.fields"].split(";") if name]
    else:
        named = [table.columns[place].name for place in table.key]
    prefix = table.options.get("key.fields-prefix", "")
    for name in named:
        if name not in stored:
            raise BergError(
                ErrorCode.OPTION, f"'key.fields' names '{name}', which is no column.", hint=did_you_mean(name, stored)
            )
        if not name.startswith(prefix):
            raise BergError(
                ErrorCode.OPTION, f"'key.fields-prefix' is '{prefix}', and column '{name}' begins otherwise."
            )
    return [stored.index(name) for name in named]


def specific_offsets(key: str, given: Mapping[str, str]) -> dict[int, int]:
    """Offsets by partition."""
    found: dict[int, int] = {}
    for part in filter(None, given[key].split(";")):
        pair = dict(each.split(":", 1) for each in part.split(",") if ":" in each)
        try:
            partition, offset = int(pair["partition"]), int(pair["offset"])
            if min(partition, offset) < 0:
                raise ValueError
            found[partition] = offset
        except (KeyError, ValueError):
            message = (
                f"'{given[key]}' is not a value of '{key}': it takes partition:0,offset:42;partition:1,offset:300."
            )
            raise BergError(ErrorCode.OPTION, message) from None
    return found

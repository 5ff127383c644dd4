"""The options of a streaming read: where it starts, how far it goes at a time, and what it does where rows went.

Names and meaning are Flink's (Iceberg, "Flink Queries", "Read options") and, of those that begin with ``stream``,
Spark's ("Spark Structured Streaming"). What Flink's ``ScanContext`` refuses is refused, and so is what Flink would
ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.options import OptionSpec, check_value, parse_duration

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.sql.statements import Option


class Strategy(StrEnum):
    """Where a stream starts. All that name a snapshot read what it brought, but for the one that says EXCLUSIVE."""

    TABLE_SCAN_THEN_INCREMENTAL = "TABLE_SCAN_THEN_INCREMENTAL"
    INCREMENTAL_FROM_LATEST_SNAPSHOT = "INCREMENTAL_FROM_LATEST_SNAPSHOT"
    INCREMENTAL_FROM_LATEST_SNAPSHOT_EXCLUSIVE = "INCREMENTAL_FROM_LATEST_SNAPSHOT_EXCLUSIVE"
    INCREMENTAL_FROM_EARLIEST_SNAPSHOT = "INCREMENTAL_FROM_EARLIEST_SNAPSHOT"
    INCREMENTAL_FROM_SNAPSHOT_ID = "INCREMENTAL_FROM_SNAPSHOT_ID"
    INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP = "INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP"


TIME_UNITS = ("DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS")
_MOST = ("1", "2147483647")

STREAMING_SPECS: Mapping[str, OptionSpec] = {
    spec.key: spec
    for spec in (
        OptionSpec("starting-strategy", "enum", values=tuple(Strategy)),
        OptionSpec("start-snapshot-timestamp", "int"),
        OptionSpec("monitor-interval", "duration", "60s"),
        OptionSpec("max-planning-snapshot-count", "int", bounds=_MOST),
        OptionSpec("watermark-column"),
        OptionSpec("watermark-column-time-unit", "enum", "MICROSECONDS", values=TIME_UNITS),
        OptionSpec("stream-from-timestamp", "int"),
        OptionSpec("streaming-max-files-per-micro-batch", "int", bounds=_MOST),
        OptionSpec("streaming-max-rows-per-micro-batch", "int", bounds=_MOST),
        OptionSpec("streaming-skip-overwrite-snapshots", "bool", "false"),
        OptionSpec("streaming-skip-delete-snapshots", "bool", "false"),
        OptionSpec("read.changelog", "bool", "false"),
    )
}
"""The options that only a stream has."""
_SESSION = (
    *("starting-strategy", "monitor-interval", "max-planning-snapshot-count"),
    *("watermark-column", "watermark-column-time-unit"),
)
"""Those of them that the session may set for every table, as ``connector.iceberg.<key>``."""
_STARTS = ("start-snapshot-id", "start-tag", "start-snapshot-timestamp", "stream-from-timestamp")
_ENDS = ("end-snapshot-id", "end-tag")
_OTHER_STATES = ("snapshot-id", "as-of-timestamp", "tag")
_TAKES = {
    Strategy.INCREMENTAL_FROM_SNAPSHOT_ID: ("start-snapshot-id", "start-tag"),
    Strategy.INCREMENTAL_FROM_SNAPSHOT_TIMESTAMP: ("start-snapshot-timestamp", "stream-from-timestamp"),
}
"""The strategies that need to be told where, and by what."""


class StreamingOptions(NamedTuple):
    """How a table is read as a stream.

    start
        ``start-snapshot-id``, ``start-tag``, ``start-snapshot-timestamp`` or ``stream-from-timestamp``, as written.
    inclusive
        Whether what the snapshot of ``start`` brought is read, too.
    end
        ``end-snapshot-id`` or ``end-tag``: the last snapshot that is read; without one the stream has no end.
    max_snapshots, max_files, max_rows
        How much one batch may hold at most, if that was said.
    max_failures
        How many looks at the table may fail in a row; -1 for any number.
    """

    strategy: Strategy = Strategy.TABLE_SCAN_THEN_INCREMENTAL
    start: Option | None = None
    inclusive: bool = True
    end: Option | None = None
    branch: Option | None = None
    monitor_interval_ms: int = 60_000
    max_snapshots: int | None = None
    max_files: int | None = None
    max_rows: int | None = None
    max_failures: int = 3
    watermark_column: str | None = None
    watermark_span: Span | None = None
    watermark_unit: str = "MICROSECONDS"
    case_sensitive: bool = False
    skip_overwrites: bool = False
    skip_deletes: bool = False
    changelog: bool = False
    span: Span | None = None
    """Where the stream was asked for; None: by the session's setting."""


def streaming_options(given: Mapping[str, Option], relations: Relations, span: Span | None) -> StreamingOptions:
    """What the options of a table, whose name is at ``span``, and the session's settings say of a streaming read.

    :raises BergError: OPTION for a wrong value; INVALID where two options contradict each other or one is missing. At
        the option.
    """
    values = _values(given, relations)
    _refuse_states(given)
    start, strategy, explicit = _start(given, values, span)
    end = _only(given, _ENDS, "end")
    if end is not None and start is None:
        message = f"'{end.key}' ends a stream that starts at 'start-snapshot-id' or 'start-tag'."
        raise BergError(ErrorCode.INVALID, message, span=end.span, hint="Say where it starts, or leave the end out.")
    column = given.get("watermark-column")
    if "watermark-column-time-unit" in given and "watermark-column" not in values:
        unit = given["watermark-column-time-unit"]
        message = "'watermark-column-time-unit' is the unit of a 'watermark-column', and there is none."
        raise BergError(ErrorCode.INVALID, message, span=unit.span)
    if column is not None and not column.value:
        raise BergError(ErrorCode.OPTION, "'watermark-column' takes a name.", span=column.span)
    if values["read.changelog"] == "true":
        _refuse_with_changelog(given)
    streaming = given.get("streaming")
    return StreamingOptions(
        strategy,
        start,
        inclusive=explicit or (start is not None and start.key.endswith("timestamp")),
        end=end,
        branch=given.get("branch"),
        monitor_interval_ms=parse_duration(values["monitor-interval"]),
        max_snapshots=_number(values.get("max-planning-snapshot-count")),
        max_files=_number(values.get("streaming-max-files-per-micro-batch")),
        max_rows=_number(values.get("streaming-max-rows-per-micro-batch")),
        max_failures=_max_failures(given, relations),
        watermark_column=None if values["read.changelog"] == "true" else values.get("watermark-column"),
        watermark_span=span if column is None else column.span,
        watermark_unit=values["watermark-column-time-unit"],
        case_sensitive=_of_table("case-sensitive", given, relations) == "true",
        skip_overwrites=values["streaming-skip-overwrite-snapshots"] == "true",
        skip_deletes=values["streaming-skip-delete-snapshots"] == "true",
        changelog=values["read.changelog"] == "true",
        span=None if streaming is None else streaming.span,
    )


def refuse_streaming(given: Mapping[str, Option]) -> None:
    """Refuse the options of a streaming read where the table is read once. Raises INVALID at the option."""
    for key, option in given.items():
        if key in STREAMING_SPECS:
            message = f"'{key}' is of a table that is read as a stream, and this one is read once."
            hint = "'streaming' = 'true' reads it as a stream."
            raise BergError(ErrorCode.INVALID, message, span=option.span, hint=hint)


def no_stream_here(relation: IcebergRelation, stream: StreamingOptions, name: Span | None) -> BergError:
    """The error for a stream in a statement that reads its tables once; ``name`` is the place of the table's name."""
    message = f"{'.'.join(relation.parts)} is to be read as a stream, and this statement reads its tables once."
    hint = "Without the option the table is read once."
    if stream.span is None:
        hint = "RESET 'connector.iceberg.streaming'; and the table is read once."
    return BergError(ErrorCode.INVALID, message, span=stream.span or name, hint=hint)


def _values(given: Mapping[str, Option], relations: Relations) -> dict[str, str]:
    """The values of the streaming options, checked: of the hint, else of the session, else the default."""
    found: dict[str, str] = {}
    for key, spec in STREAMING_SPECS.items():
        if key in given:
            found[key] = check_value(spec, given[key].value, given[key].span)
            continue
        value = relations.setting(f"connector.iceberg.{key}") if key in _SESSION else None
        value = spec.default if value is None else value
        if value is not None:
            found[key] = value
    return found


def _refuse_states(given: Mapping[str, Option]) -> None:
    for key in _OTHER_STATES:
        if key in given:
            message = f"'{key}' asks for one state of the table, and a stream reads on."
            hint = "'start-snapshot-id', 'start-tag' and 'start-snapshot-timestamp' say where a stream starts."
            raise BergError(ErrorCode.INVALID, message, span=given[key].span, hint=hint)


def _refuse_with_changelog(given: Mapping[str, Option]) -> None:
    why = {
        "streaming-skip-overwrite-snapshots": "A changelog reads what such snapshots did.",
        "streaming-skip-delete-snapshots": "A changelog reads what such snapshots did.",
        "watermark-column": "The rows that a changelog takes back are as old as they are.",
        "limit": "A changelog that is cut off is wrong.",
    }
    for key, hint in why.items():
        if key in given and given[key].value.lower() not in ("false", "-1"):
            message = f"'{key}' does not go with 'read.changelog'."
            raise BergError(ErrorCode.INVALID, message, span=given[key].span, hint=hint)


def _start(
    given: Mapping[str, Option], values: Mapping[str, str], span: Span | None
) -> tuple[Option | None, Strategy, bool]:
    """The option that says where to start, the strategy, and whether that was given."""
    start = _only(given, _STARTS, "start")
    told = values.get("starting-strategy")
    if told is None:
        if start is None:
            return None, Strategy.TABLE_SCAN_THEN_INCREMENTAL, False
        strategy = next(s for s, keys in _TAKES.items() if start.key in keys)
        return start, strategy, False
    strategy = Strategy(told)
    takes = _TAKES.get(strategy, ())
    own = given.get("starting-strategy")
    if start is not None and start.key not in takes:
        message = f"The starting strategy {strategy} does not take '{start.key}'."
        hint = "Leave it out." if not takes else f"It takes '{takes[0]}'."
        if own is None:
            hint += " The strategy is that of 'connector.iceberg.starting-strategy'."
        raise BergError(ErrorCode.INVALID, message, span=start.span, hint=hint)
    if start is None and takes:
        message = f"The starting strategy {strategy} needs '{takes[0]}'."
        raise BergError(ErrorCode.INVALID, message, span=span if own is None else own.span)
    return start, strategy, True


def _only(given: Mapping[str, Option], keys: tuple[str, ...], word: str) -> Option | None:
    """The one of these options that was given."""
    found = [given[key] for key in keys if key in given]
    if len(found) > 1:
        message = f"'{found[0].key}' and '{found[1].key}' both say where to {word}."
        raise BergError(ErrorCode.INVALID, message, span=found[1].span, hint="Leave one of them out.")
    return found[0] if found else None


def _of_table(key: str, given: Mapping[str, Option], relations: Relations) -> str | None:
    value = given[key].value if key in given else relations.setting(f"connector.iceberg.{key}")
    return None if value is None else value.lower()


def _max_failures(given: Mapping[str, Option], relations: Relations) -> int:
    value = _of_table("max-allowed-planning-failures", given, relations)
    return StreamingOptions().max_failures if value is None else int(value)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)

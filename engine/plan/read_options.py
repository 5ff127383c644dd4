"""The read options of an Iceberg table, as a hint behind its name gives them. The names are Flink's and Spark's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.hints import check_enabled, refuse_unknown

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.plan.streaming_options import StreamingOptions
    from bergsql.engine.sql.statements import Option, TableHint

_NUMBER, _FLAG, _NAME = "number", "flag", "name"

STATES = {"snapshot-id": _NUMBER, "as-of-timestamp": _NUMBER, "branch": _NAME, "tag": _NAME}
"""Options that say which state of the table is read."""
INCREMENTS = {"start-snapshot-id": _NUMBER, "end-snapshot-id": _NUMBER, "start-tag": _NAME, "end-tag": _NAME}
"""Options that ask for what was appended between two snapshots."""
_HOW = {
    "case-sensitive": _FLAG,
    "split-size": _NUMBER,
    "split-lookback": _NUMBER,
    "split-file-open-cost": _NUMBER,
    "include-column-stats": _FLAG,
    "max-allowed-planning-failures": _NUMBER,
    "lookback": _NUMBER,
    "file-open-cost": _NUMBER,
    "vectorization-enabled": _FLAG,
    "batch-size": _NUMBER,
}
"""Options of Flink and of Spark that only say how to read. They are checked and have no effect."""
_OF_STREAMS = (
    "starting-strategy start-snapshot-timestamp monitor-interval max-planning-snapshot-count watermark-column "
    "watermark-column-time-unit stream-from-timestamp streaming-max-files-per-micro-batch "
    "streaming-max-rows-per-micro-batch streaming-skip-overwrite-snapshots streaming-skip-delete-snapshots "
    "read.changelog"
).split()
"""Those of a table that is read as a stream: see streaming_options.py."""
_KINDS = {**STATES, **INCREMENTS, **_HOW, "limit": _NUMBER, "streaming": _FLAG}
READ_OPTIONS = (*_KINDS, *_OF_STREAMS)

LIMIT = "connector.iceberg.limit"
"""The setting that stands for the option ``limit`` of every read."""
STREAMING = "connector.iceberg.streaming"
"""The setting that stands for the option ``streaming`` of every read."""


class ReadOptions(NamedTuple):
    """``states`` and ``increment`` are those of :data:`STATES` and :data:`INCREMENTS` that were given, as written.

    Of a table that is read as a ``stream``, what says where that starts and ends is there, and no ``increment``.
    """

    states: tuple[Option, ...] = ()
    increment: tuple[Option, ...] = ()
    limit: int | None = None
    stream: StreamingOptions | None = None

    @property
    def streaming(self) -> bool:
        """Whether the table is read as a stream."""
        return self.stream is not None


def read_options(
    hints: Iterable[TableHint], relations: Relations, span: Span | None, declared: Iterable[Option] = ()
) -> ReadOptions:
    """What the hints behind a table, whose name is at ``span``, and the session's settings ask for.

    ``declared`` are those of the table's definition, which a hint replaces; their errors are told at ``span``.

    :raises BergError: OPTION at the option that is unknown, given twice or of a wrong value; INVALID for one that
        contradicts another.
    """
    options = [option for hint in hints for option in hint.options]
    check_enabled(options, relations)
    refuse_unknown(options, READ_OPTIONS, "a read option of an Iceberg table")
    given: dict[str, Option] = {}
    hinted = {option.key for option in options}
    if any(o.key == "streaming" and o.value.lower() == "false" for o in options):
        hinted.update(_OF_STREAMS)  # read once for once, what says how to follow it is beside the point
    options += [o if span is None else o._replace(span=span) for o in declared if o.key not in hinted]
    for option in options:
        if option.key in given:
            message = f"'{option.key}' is given twice."
            raise BergError(ErrorCode.OPTION, message, span=option.span, hint="Leave one of them out.")
        given[option.key] = option
        if option.key in _KINDS:
            _check_value(option)
    streaming = given["streaming"].value.lower() if "streaming" in given else relations.setting(STREAMING)
    stream = None
    if streaming == "true":
        from bergsql.engine.plan.streaming_options import streaming_options

        stream = streaming_options(given, relations, span)
    elif not given.keys().isdisjoint(_OF_STREAMS):
        from bergsql.engine.plan.streaming_options import refuse_streaming

        refuse_streaming(given)
    limit = int(given["limit"].value if "limit" in given else relations.setting(LIMIT) or -1)
    return ReadOptions(
        tuple(o for o in options if o.key in STATES),
        tuple(o for o in options if o.key in INCREMENTS and stream is None),
        limit if limit >= 0 else None,
        stream,
    )


def long_of(text: str) -> int | None:
    """A whole number of 64 bits, as Java's Long.parseLong reads it (but for the digits of other scripts, which are no
    number here); None for any other text."""
    number = int(text) if re.fullmatch(r"(?a)[+-]?0{0,99}\d{1,19}", text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def _check_value(option: Option) -> None:
    kind, value = _KINDS[option.key], option.value
    if kind is _FLAG and value.lower() not in ("true", "false"):
        raise BergError(ErrorCode.OPTION, f"'{option.key}' is 'true' or 'false'.", span=option.span)
    number = long_of(value)
    if kind is _NUMBER and number is None:
        what = "a snapshot's id" if option.key.endswith("snapshot-id") else "a whole number"
        if option.key == "as-of-timestamp":
            what = "a time in milliseconds since 1970"
        raise BergError(ErrorCode.OPTION, f"'{option.key}' takes {what}, not '{value}'.", span=option.span)
    if option.key == "limit" and number is not None and number < -1:
        message = f"'limit' takes a number of rows, or -1 for all of them, not '{value}'."
        raise BergError(ErrorCode.OPTION, message, span=option.span)
    if option.key == "max-allowed-planning-failures" and number is not None and number < -1:
        message = f"'{option.key}' takes a number, or -1 for any, not '{value}'."
        raise BergError(ErrorCode.OPTION, message, span=option.span)
    if kind is _NAME and not value:
        raise BergError(ErrorCode.OPTION, f"'{option.key}' takes a name.", span=option.span)

"""Which message of a batch cannot be read: looked for once reading has failed, as most batches are sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.kafka.options import prefix_of
from bergsql.engine.duck import arrow_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.kafka.rows import Layout
    from bergsql.engine.connectors.kafka.source import KafkaSource
    from bergsql.engine.streaming.sources.base import ReaderContext


class Origins(NamedTuple):
    """Where messages are, by their numbers in a batch."""

    topics: list[str]
    partitions: list[int]
    offsets: list[int]

    def add(self, other: Origins) -> None:
        self.topics.extend(other.topics)
        self.partitions.extend(other.partitions)
        self.offsets.extend(other.offsets)


def located(
    error: BergError, source: KafkaSource, context: ReaderContext, messages: pa.Table, origins: Origins
) -> BergError:
    """The error with the place of the first message that cannot be read, and how to leave it out; the same error where
    all of them can."""
    if error.code is not ErrorCode.EXECUTION:
        return error
    found = _first(source.layout, context, messages)
    if found is None:
        return error
    n, reason = found
    where = f"topic '{origins.topics[n]}', partition {origins.partitions[n]}, offset {origins.offsets[n]}"
    message = f"Reading {source.name} failed at {where}: {reason.message}"
    return BergError(error.code, message, hint=_way_out(source))


def _way_out(source: KafkaSource) -> str | None:
    layout, given = source.layout, source.options
    formats = [("format" if "format" in given else "value.format", layout.value), ("key.format", layout.key)]
    keys = [
        f"'{prefix_of(option)}{spec.key}'='true'"
        for option, used in formats
        if used is not None
        for spec in used.options
        if spec.key == f"{used.name}.ignore-parse-errors"
    ]
    return f"{' or '.join(keys)} leaves out messages that cannot be read." if keys else None


def _first(layout: Layout, context: ReaderContext, messages: pa.Table) -> tuple[int, BergError] | None:
    begin, end = 0, len(messages)
    if (failed := _failure(layout, context, messages)) is None:
        return None
    while end - begin > 1:
        middle = (begin + end) // 2
        if _failure(layout, context, messages.slice(begin, middle - begin)) is None:
            begin = middle
        else:
            end = middle
    return begin, _failure(layout, context, messages.slice(begin, 1)) or failed


def _failure(layout: Layout, context: ReaderContext, messages: pa.Table) -> BergError | None:
    """Why some of the messages cannot be read."""
    import duckdb

    from bergsql.engine.plan.duck_errors import from_duckdb_error

    try:
        arrow_rows(context.cursor, f"SELECT * FROM {layout.rows(context, messages)}")
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        failed = from_duckdb_error(error)
    except BergError as error:
        failed = error
    else:
        return None
    return failed if failed.code is ErrorCode.EXECUTION else None

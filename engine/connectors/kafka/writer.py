"""Rows to a topic: in one transaction a checkpoint, or as they come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from bergsql.engine.connectors.kafka.client import TIMEOUT, told
from bergsql.engine.connectors.kafka.producer import TopicProducer
from bergsql.engine.connectors.kafka.transactions import Transactions
from bergsql.engine.duck import stream_batches
from bergsql.engine.streaming.changelog import column
from bergsql.engine.streaming.sinks.base import SinkContext, Writer
from bergsql.engine.streaming.sinks.iceberg_buffer import RowBuffer
from bergsql.engine.streaming.sinks.prepared_rows import PreparedRows, drop_prepared, read_prepared

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.kafka.sink import KafkaSink
    from bergsql.engine.streaming.changelog import Batch
    from bergsql.engine.streaming.sources.base import Json

_ROWS: Final = 10_000
"""Messages that are in memory at a time."""


class ExactlyOnceWriter(Writer):
    """What is prepared is a file of messages; a commit sends them in one transaction."""

    def __init__(self, sink: KafkaSink, context: SinkContext, restored: int) -> None:
        self._sink, self._context = sink, context
        self._file: PreparedRows | None = None
        self._name = re.sub(r"[^A-Za-z0-9_]+", "_", context.sink_id)
        self._folded: RowBuffer | None = None
        if sink.folds:
            self._folded = RowBuffer(context.cursor, f"changes of {context.sink_id}", len(sink.columns), changes=True)
        self._transactions = Transactions(sink.topic, f"{sink.prefix}.{context.job_id}.{context.sink_id}", restored)

    def write(self, batch: Batch) -> int:
        return self._write(batch.sql) if self._folded is None else self._folded.add(batch)

    def _write(self, rows: str) -> int:
        """Add messages to the file."""
        import pyarrow as pa

        count = 0
        for messages in _encoded(self._sink, self._context, rows):
            if self._file is None:
                self._file = PreparedRows(self._context.directory, self._name, self._sink.encoding.schema)
            self._file.write(pa.Table.from_batches([messages]).cast(self._sink.encoding.schema))
            count += messages.num_rows
        return count

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002 - the name of a file tells it
        if self._folded is not None and self._folded.rows:
            self._write(_last_changes(self._folded.table, self._sink.key))
            self._folded.clear()
        if self._file is None:
            return None
        file, self._file = self._file, None
        return {"file": file.close(), "messages": file.rows}

    def commit(self, checkpoint: int, committable: Json) -> None:
        name = cast("dict[str, str]", committable)["file"]
        directory = self._context.directory
        self._transactions.commit(checkpoint, name, lambda: read_prepared(directory, name))
        drop_prepared(directory, self._name, but=name)

    def discard(self) -> None:
        if self._folded is not None:
            self._folded.clear()
        if self._file is not None:
            self._file.discard()
            self._file = None

    def close(self) -> None:
        self.discard()
        if self._sink.is_at_once:
            self._transactions.forget()
        self._transactions.close()


class PlainWriter(Writer):
    """Messages are sent as they come. ``waits``: a checkpoint waits until brokers have them."""

    def __init__(self, sink: KafkaSink, context: SinkContext, *, waits: bool) -> None:
        self._sink, self._context, self._waits = sink, context, waits
        self._producer = TopicProducer(sink.topic)

    def write(self, batch: Batch) -> int:
        rows = batch.sql
        if self._sink.folds and batch.is_table:
            rows = _last_changes(rows, self._sink.key)
        with told(self._sink.topic.error):
            sent = self._producer.send(_encoded(self._sink, self._context, rows))
            self._producer.client.poll(0)
            self._producer.check()
        return sent

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002 - nothing is left to be done
        if self._waits:
            with told(self._sink.topic.error):
                self._producer.flush()
        return None

    def commit(self, checkpoint: int, committable: Json) -> None:
        pass

    def discard(self) -> None:
        pass

    def close(self) -> None:
        self._producer.close(TIMEOUT)


def _encoded(sink: KafkaSink, context: SinkContext, rows: str) -> Iterator[pa.RecordBatch]:
    """The messages of rows."""
    return stream_batches(context.cursor, sink.encoding.messages(context, rows), _ROWS)


def _last_changes(table: str, key: tuple[int, ...]) -> str:
    """The last change of each key, in their order."""
    keys = ", ".join(map(column, key))
    return f"(FROM {table} WHERE rowid IN (SELECT max(rowid) FROM {table} GROUP BY {keys}) ORDER BY rowid)"

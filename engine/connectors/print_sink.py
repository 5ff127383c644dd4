"""``print``: a sink that prints every change, as Flink's prints rows: ``+I[1, a]``.

Rows are printed when they come, not when a checkpoint is complete: what a job did behind its last checkpoint is printed
again after a crash.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.base import Connector, LocalSink
from bergsql.engine.connectors.row_text import row_text
from bergsql.engine.duck import fetch_chunks
from bergsql.engine.streaming.sinks.base import SinkContext, Writer

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.changelog import Batch, ChangelogMode
    from bergsql.engine.streaming.sources.base import Json

OPTIONS = (
    OptionSpec("print-identifier", doc="What each line begins with, before `> `."),
    OptionSpec("standard-error", "bool", "false", "Whether the lines go to the standard error stream."),
    OptionSpec("sink.parallelism", "int", doc="Taken, and without effect.", bounds=("1", "32768")),
)


class PrintSink(LocalSink):
    """Takes any change."""

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.columns, self.key = table.name, tuple(c.streamed for c in table.stored), table.key
        self._identifier = table.options.get("print-identifier", "")
        self._errors = table.options.get("standard-error", "false").casefold() == "true"

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        pass

    def writer(self, context: SinkContext, restored: int) -> Writer:  # noqa: ARG002 - there is nothing to restore
        prefix = f"{self._identifier}> " if self._identifier else ""
        return _Writer(self, context, prefix, to_errors=self._errors)

    def explain(self) -> str:
        return f"{self.name}: prints to {'stderr' if self._errors else 'stdout'}"


class _Writer(Writer):
    def __init__(self, sink: PrintSink, context: SinkContext, prefix: str, *, to_errors: bool) -> None:
        self._context, self._prefix, self._to_errors = context, prefix, to_errors
        self._line = row_text(sink.columns)

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._to_errors else sys.stdout

    def write(self, batch: Batch) -> int:
        order = "ORDER BY rowid" if batch.is_table else ""
        cursor = self._context.cursor
        cursor.execute(f"SELECT {self._line} FROM {batch.sql} AS i {order}")
        rows = 0
        for chunk in fetch_chunks(cursor):
            self._stream.write("".join(f"{self._prefix}{line}\n" for (line,) in chunk))
            rows += len(chunk)
        self._stream.flush()
        return rows

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002 - nothing is left to be done
        return None

    def commit(self, checkpoint: int, committable: Json) -> None:
        pass

    def discard(self) -> None:
        pass


CONNECTOR = Connector("print", lambda _: OPTIONS, sink=PrintSink, documented=OPTIONS)

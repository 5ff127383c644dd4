"""``blackhole``: a sink that takes everything and keeps nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.connectors.base import Connector, LocalSink
from bergsql.engine.streaming.sinks.base import SinkContext, Writer

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.changelog import Batch, ChangelogMode
    from bergsql.engine.streaming.sources.base import Json


class BlackholeSink(LocalSink):
    """Takes any change."""

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.columns, self.key = table.name, tuple(c.streamed for c in table.stored), table.key

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        pass

    def writer(self, context: SinkContext, restored: int) -> Writer:  # noqa: ARG002 - there is nothing to restore
        return _Writer(context)

    def explain(self) -> str:
        return f"{self.name}: keeps nothing"


class _Writer(Writer):
    def __init__(self, context: SinkContext) -> None:
        self._context = context

    def write(self, batch: Batch) -> int:
        if batch.rows is not None:
            return batch.rows
        # The rows are made, as for any sink: what is wrong with them comes out.
        cursor = self._context.cursor
        ((count, _),) = cursor.execute(f"SELECT count(*), max(hash(i)) FROM {batch.sql} AS i").fetchall()
        return int(count)

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002 - it keeps nothing
        return None

    def commit(self, checkpoint: int, committable: Json) -> None:
        pass

    def discard(self) -> None:
        pass


CONNECTOR = Connector("blackhole", lambda _: (), sink=BlackholeSink)

"""Sources and sinks of connector tables for tests, from their CREATE TABLE."""

from __future__ import annotations

from collections.abc import Callable

from bergsql.engine.connectors.base import LocalSink, LocalSource
from bergsql.engine.connectors.registry import check_options, sink_of, source_of
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import CreateTable
from bergsql.engine.streaming.changelog import Batch, ChangelogMode
from bergsql.engine.streaming.sinks.base import Sink, SinkContext, Writer
from bergsql.engine.streaming.sources.base import Json


def defined(sql: str) -> CreateTable:
    """A table as CREATE TABLE defines it, its options checked."""
    statement = parse(sql, Flavour.FLINK)
    assert isinstance(statement, CreateTable)
    check_options(statement)
    return statement


def source(sql: str) -> LocalSource:
    return source_of(defined(sql), ("c", "d", "t"))


def sink(sql: str) -> LocalSink:
    return sink_of(defined(sql), ("c", "d", "t"))


class FailingSink(Sink):
    """A sink that may fail around each of its durable steps: ``fail`` is called with ``before prepare`` and so on."""

    def __init__(self, inner: Sink, fail: Callable[[str], None]) -> None:
        self.name, self.columns, self.key = inner.name, inner.columns, inner.key
        self._inner, self._fail = inner, fail

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        self._inner.check(mode, key)

    def writer(self, context: SinkContext, restored: int) -> Writer:
        return _FailingWriter(self._inner.writer(context, restored), self._fail)

    def explain(self) -> str:
        return self._inner.explain()


class _FailingWriter(Writer):
    def __init__(self, inner: Writer, fail: Callable[[str], None]) -> None:
        self._inner, self._fail = inner, fail

    def write(self, batch: Batch) -> int:
        self._fail("before write")
        return self._inner.write(batch)

    def prepare(self, checkpoint: int) -> Json:
        self._fail("before prepare")
        prepared = self._inner.prepare(checkpoint)
        self._fail("after prepare")
        return prepared

    def commit(self, checkpoint: int, committable: Json) -> None:
        self._fail("before commit")
        self._inner.commit(checkpoint, committable)
        self._fail("after commit")

    def discard(self) -> None:
        """A process that is killed discards nothing."""

    def close(self) -> None:
        """Nor does it close anything."""

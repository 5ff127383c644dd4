"""Ends of streams for tests: a source of rows in memory, a sink whose commits are files, and a plan between them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bergsql.engine.duck import Duck
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import OP, Batch, ChangelogMode, RowKind, StreamColumn, column
from bergsql.engine.streaming.nodes import CalcNode, Node, SinkNode, SourceNode, StreamPlan
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.sinks.base import Sink, SinkContext, Writer
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext, Source
from bergsql.engine.streaming.state.store import Store

BIGINT = DataType(Kind.BIGINT)
Rows = Sequence[tuple[Any, ...]]
"""Rows as ``("+I", 1, …)``."""

JOB = "0" * 31 + "1"


def columns(count: int) -> tuple[StreamColumn, ...]:
    """c0, c1, …: BIGINT."""
    return tuple(StreamColumn(column(at), BIGINT) for at in range(count))


def _nothing(*_: object) -> None:
    pass


class RowsSource(Source):
    """Batches of rows that somebody may add to while it is read; the offset is how many batches were given."""

    def __init__(
        self,
        batches: list[Rows],
        *,
        width: int = 1,
        bounded: bool = True,
        name: str = "rows",
        mode: ChangelogMode = ChangelogMode.RETRACT,
        held: int = 0,
    ) -> None:
        self.name = name
        self.held = held
        """How many batches belong together: behind some of them there is no offset."""
        self.columns = columns(width)
        self.bounded = bounded
        self.mode = mode
        self.batches = batches
        self.watermark: int | None = None
        self.told: list[Json] = []
        """Offsets that it heard are checkpointed."""

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"rows": self.name}

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        return _RowsReader(self, context, int(offset) if isinstance(offset, int) else 0)

    def explain(self) -> str:
        return "rows of a test"


class _RowsReader(Reader):
    def __init__(self, source: RowsSource, context: ReaderContext, at: int) -> None:
        self._source, self._context, self._at = source, context, at

    def poll(self) -> Batch | None:
        if self._at >= len(self._source.batches):
            return None
        rows = self._source.batches[self._at]
        self._at += 1
        return Batch(self._context.relation(table_of(rows, len(self._source.columns)))) if rows else None

    @property
    def offset(self) -> Json:
        return self._at

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._at >= len(self._source.batches)

    @property
    def holds(self) -> bool:
        return 0 < self._at < self._source.held

    @property
    def watermark(self) -> int | None:
        return self._source.watermark

    def checkpointed(self, offset: Json) -> None:
        self._source.told.append(offset)


class FolderSink(Sink):
    """A folder: what is prepared is ``<n>.prepared``, what is committed ``<n>.json``; a commit that is not the next fails."""

    def __init__(self, folder: Path, *, width: int = 1, fail: Callable[[str, int], None] = _nothing) -> None:
        self.name = folder.name
        self.columns = columns(width)
        self.folder = folder
        self.fail = fail
        """Called before and after each step, as ``before prepare``, with the number of the checkpoint."""

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        pass

    def writer(self, context: SinkContext, restored: int) -> Writer:  # noqa: ARG002
        return _FolderWriter(self, context)

    def explain(self) -> str:
        return "a folder of a test"

    def rows(self) -> list[tuple[Any, ...]]:
        """All that is committed, in order."""
        files = sorted(self.folder.glob("*.json"), key=lambda path: int(path.stem))
        return [tuple(row) for path in files for row in json.loads(path.read_text())]

    def numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self.folder.glob("*.json"))


class _FolderWriter(Writer):
    def __init__(self, sink: FolderSink, context: SinkContext) -> None:
        self._sink, self._context = sink, context
        self._rows: list[list[Any]] = []
        sink.folder.mkdir(parents=True, exist_ok=True)

    def write(self, batch: Batch) -> int:
        names = ", ".join([OP, *(c.name for c in self._sink.columns)])
        rows = self._context.cursor.execute(f"SELECT {names} FROM {batch.sql}").fetchall()
        self._rows += [[RowKind(kind).symbol, *values] for kind, *values in rows]
        return len(rows)

    def prepare(self, checkpoint: int) -> Json:
        self._sink.fail("before prepare", checkpoint)
        rows, self._rows = self._rows, []
        if not rows:
            return None
        with (self._sink.folder / f"{checkpoint}.prepared").open("w") as file:
            json.dump(rows, file)
            file.flush()
            os.fsync(file.fileno())
        self._sink.fail("after prepare", checkpoint)
        return {"rows": len(rows)}

    def commit(self, checkpoint: int, committable: Json) -> None:  # noqa: ARG002
        self._sink.fail("before commit", checkpoint)
        prepared, committed = (self._sink.folder / f"{checkpoint}.{end}" for end in ("prepared", "json"))
        if not committed.exists():
            os.link(prepared, committed)
        prepared.unlink(missing_ok=True)
        self._sink.fail("after commit", checkpoint)

    def discard(self) -> None:
        self._rows = []


def table_of(rows: Rows, width: int) -> pa.Table:
    """Rows as Arrow."""
    kinds = {kind.symbol: int(kind) for kind in RowKind}
    values = {column(at): pa.array([row[at + 1] for row in rows], pa.int64()) for at in range(width)}
    return pa.table({**values, OP: pa.array([kinds[row[0]] for row in rows], pa.int8())})


def source_node(source: Source, uid: str = "source-1") -> SourceNode:
    return SourceNode(uid=uid, inputs=(), columns=source.columns, mode=source.mode, source=source)


def calc(input: Node, *items: str, condition: str | None = None, uid: str = "calc-1") -> CalcNode:
    return CalcNode(
        uid=uid, inputs=(input,), columns=columns(len(items)), mode=input.mode, items=items, condition=condition
    )


def plan_of(*ends: tuple[Node, Sink]) -> StreamPlan:
    """A plan that writes each node to a sink."""
    made = (
        SinkNode(uid=f"sink-{n}", inputs=(node,), columns=node.columns, mode=node.mode, sink=sink)
        for n, (node, sink) in enumerate(ends, 1)
    )
    return StreamPlan(tuple(made))


def runner_of(
    plan: StreamPlan, duck: Duck, store: Store, settings: Mapping[str, str] | None = None, **more: Any
) -> Runner:
    """A runner of the job :data:`JOB`."""
    given = dict(settings or {})
    return Runner(plan, duck, store, job_id=JOB, setting=given.get, time_zone="UTC", note=_nothing, **more)


def inserts(values: Iterable[int]) -> Rows:
    """Rows that are inserted."""
    return [("+I", value) for value in values]

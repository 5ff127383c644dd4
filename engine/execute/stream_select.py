"""SELECT over sources that have no end: its changes, round by round, until Ctrl-C."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.engine.duck import fetch_chunks
from bergsql.engine.result import Column, Result, ResultKind, Row
from bergsql.engine.rows import converted, presentable
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import STRING, DataType
from bergsql.engine.streaming.changelog import OP, RowKind, column
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.session import Session
    from bergsql.engine.streaming.changelog import StreamColumn
    from bergsql.engine.streaming.nodes import StreamPlan

OP_COLUMN = Column(OP, STRING, nullable=False)
"""The first column of every result that is a changelog."""
_SYMBOLS = "[" + ", ".join(f"'{kind.symbol}'" for kind in RowKind) + "]"


def stream_select(session: Session, plan: StreamPlan) -> Result:
    """Start a query that streams: it is opened here, and read as its rows are asked for."""
    columns = plan.ends[0].columns
    chunks = _chunks(session, plan, columns)
    next(chunks)  # what cannot be opened is told before anything is drawn
    return Result(
        ResultKind.ROWS,
        (OP_COLUMN, *(Column(c.name, c.type, c.nullable) for c in columns)),
        chunks,
        close=chunks.close,
        changelog=True,
    )


def _chunks(session: Session, plan: StreamPlan, columns: Sequence[StreamColumn]) -> Generator[list[Row], None, None]:
    """An empty chunk when all is open, then the changes, as they come; each row begins with what it does.

    The state is in a directory that lasts as long.

    :raises KeyboardInterrupt: when the session is interrupted.
    """
    types = [STRING, *(c.type for c in columns)]
    came: list[pa.Table] = []
    with tempfile.TemporaryDirectory(prefix="bergsql-stream-") as directory:
        store = Store.open(Path(directory), durable=False)
        try:
            runner = Runner(
                plan,
                session.duck,
                store,
                job_id=uuid4().hex,
                setting=session.setting,
                time_zone=session.time_zone,
                collect=came.append,
                note=session.tell,
            )
            session.stoppers.add(runner.interrupt)
            try:
                runner.open()
                yield []
                while not runner.finished:
                    moved = runner.round()
                    for changes in came:
                        yield from _rows(session, changes, types)
                    came.clear()
                    if runner.due():
                        runner.checkpoint()
                    if not moved and not runner.finished:
                        runner.wait()
            finally:
                session.stoppers.discard(runner.interrupt)
                runner.close()
        finally:
            store.close()


def _rows(session: Session, changes: pa.Table, types: Sequence[DataType]) -> Iterator[list[Row]]:
    cursor = session.duck.cursor()
    try:
        cursor.register("changes", changes)
        cursor.execute(presentable(_as_typed(types), types))
        yield from converted(fetch_chunks(cursor), types)
    finally:
        session.duck.done(cursor)


def _as_typed(types: Sequence[DataType]) -> str:
    """Arrow has no type for some of what DuckDB gave it: they are cast back."""
    items = [f"{_SYMBOLS}[{OP} + 1]"]
    items += [f"CAST({column(i)} AS {duckdb_name(t)})" for i, t in enumerate(types[1:])]
    return f"SELECT {', '.join(items)} FROM changes"

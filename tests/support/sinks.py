"""A sink of a stream that is driven by hand, as a job's process would."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from bergsql.engine.duck import Duck
from bergsql.engine.execute.destination import Target
from bergsql.engine.names import TableName
from bergsql.engine.streaming.changelog import Batch, ChangelogMode
from bergsql.engine.streaming.sinks.base import Writer
from bergsql.engine.streaming.sinks.iceberg import IcebergSink, iceberg_sink
from bergsql.engine.table.destination import MAIN, Destination
from tests.support.tables import Tables

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

JOB = "0123456789abcdef0123456789abcdef"
SINK = "sink-1"


class HandContext:
    """What a runtime gives a writer."""

    job_id = JOB
    sink_id = SINK
    time_zone = "UTC"

    def __init__(self, duck: Duck, settings: Mapping[str, str] | None = None) -> None:
        self.duck = duck
        self.directory = Path(mkdtemp())
        self.cursor: duckdb.DuckDBPyConnection = duck.cursor()
        self._settings = settings or {}
        self.notes: list[str] = []

    def setting(self, key: str) -> str | None:
        return self._settings.get(key)

    def relation(self, rows: pa.Table) -> str:
        self.cursor.register("rows", rows)
        return "rows"

    def note(self, message: str) -> None:
        self.notes.append(message)


def sink_of(tables: Tables, name: str = "t", to: Destination = MAIN, *, upserts: bool = False) -> IcebergSink:
    """A table as a sink."""
    return iceberg_sink(Target(TableName(tables.catalog, tables.ident(name)), tables.load(name), to), upserts=upserts)


def writer_of(
    tables: Tables,
    mode: ChangelogMode = ChangelogMode.INSERT_ONLY,
    *,
    restored: int = 0,
    upserts: bool = False,
    to: Destination = MAIN,
    settings: Mapping[str, str] | None = None,
) -> Writer:
    """A writer of the table ``t``."""
    sink = sink_of(tables, to=to, upserts=upserts)
    sink.check(mode, sink.key)
    return sink.writer(HandContext(tables.duck, settings), restored)


def changes(*rows: tuple[object, ...]) -> Batch:
    """A batch of rows: what each does (as in ``+I``), then its values."""
    kinds = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
    shown = ", ".join(f"({kinds[str(op)]}, {', '.join(map(_literal, values))})" for op, *values in rows)
    names = ", ".join(("op", *(f"c{i}" for i in range(len(rows[0]) - 1))))
    return Batch(f"(SELECT * FROM (VALUES {shown}) AS v({names}))")


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def checkpoint(writer: Writer, number: int) -> bool:
    """Prepare and commit; whether there was anything."""
    committable = writer.prepare(number)
    if committable is not None:
        writer.commit(number, committable)
    return committable is not None


def orphans(tables: Tables) -> set[str]:
    """Files below the table ``t`` that nothing refers to, but for metadata files, which other catalogs leave, too."""
    from pathlib import Path

    from bergsql.engine.table.purge import table_files

    root = tables.warehouse / "db" / "t"
    needed = {str(Path(f).relative_to(root)) for f in table_files(tables.load(), tables.storage)}
    return {f for f in tables.on_disk() - needed if not f.startswith("metadata/") or f.endswith(".avro")}

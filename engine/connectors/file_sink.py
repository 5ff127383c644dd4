"""Rows to the files of a directory: written hidden, made durable, and renamed when their checkpoint is complete.

What is being written lies in a directory ``.part-JOB-SINK-NUMBER-COUNT`` beside the table's files, which no reader
looks at. A commit gives its files names that begin like that; it may be repeated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, cast

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import parse_memory
from bergsql.catalog.storage.base import FileExists, FileMissing
from bergsql.engine.connectors.base import LocalSink
from bergsql.engine.connectors.directory import DEFAULT_PARTITION, Directory, partition_path, partition_values
from bergsql.engine.connectors.formats import format_named
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.sinks.base import SinkContext, Writer
from bergsql.engine.table.durable import directories_of, make_durable

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.changelog import Batch
    from bergsql.engine.streaming.sources.base import Json

_FEW_ROWS = 100_000
"""Batches of fewer rows are gathered until a checkpoint: a file each would be many small ones."""


class _Overwrite(NamedTuple):
    """INSERT OVERWRITE: ``static`` are the texts of partition columns that the statement gives."""

    static: Mapping[str, str | None]


class FileSink(LocalSink):
    """Takes new rows only."""

    def __init__(self, table: ConnectorTable, overwrite: _Overwrite | None = None) -> None:
        options = table.options
        self.name, self.key = table.name, table.key
        self.columns = tuple(c.streamed for c in table.stored)
        self._table = table
        self.overwrite = overwrite
        self.partitioning = table.partitioning
        self.default = options.get("partition.default-name", DEFAULT_PARTITION)
        self.size = parse_memory(options.get("sink.rolling-policy.file-size", "128mb"))
        self.kind = options["format"].casefold()
        self.held = [i for i, c in enumerate(self.columns) if c.name not in self.partitioning]
        self.format = format_named(self.kind)([table.stored[i] for i in self.held], options)
        marks = options.get("sink.partition-commit.policy.kind") is not None
        self.success = options.get("sink.partition-commit.success-file.name", "_SUCCESS") if marks else None

    @property
    def directory(self) -> Directory:
        return Directory(self._table.options["path"])

    def overwriting(self, static: Mapping[str, str | None]) -> FileSink:
        return FileSink(self._table, _Overwrite(static))

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:  # noqa: ARG002 - files have no keys
        if mode is not ChangelogMode.INSERT_ONLY:
            raise BergError(
                ErrorCode.INVALID,
                f"{self.name} takes new rows only, and the query changes rows that it gave before.",
                hint="An Iceberg table with a primary key takes changes.",
            )

    def writer(self, context: SinkContext, restored: int) -> Writer:
        return _Writer(self, context, restored)

    def explain(self) -> str:
        verb = "overwrites" if self.overwrite is not None else "adds"
        return f"{self.name}: {verb} files of {self.kind} in {self._table.options['path']}"


class _Writer(Writer):
    def __init__(self, sink: FileSink, context: SinkContext, restored: int) -> None:
        self._sink, self._context = sink, context
        self._directory = sink.directory
        self._storage = self._directory.storage
        self._root = self._directory.path
        self._id = re.sub(r"[^A-Za-z0-9]+", "_", f"{context.job_id}-{context.sink_id}")
        self._number = restored + 1
        self._counts = count(1)
        self._buffer = f"{identifier(f'written_{self._id}')}"
        self._buffered = 0
        self._places: list[str] = []
        """The directories that hold what was written since the last checkpoint."""
        if self._storage.exists(self._root) and not self._storage.is_dir(self._root):
            raise BergError(ErrorCode.INVALID, f"{self._root} is a file: rows are written to a directory.")
        self._clear(restored)

    def _clear(self, restored: int) -> None:
        """Take away what an earlier run left that no checkpoint holds."""
        if not self._storage.is_dir(self._root):
            return
        for name, is_dir in list(self._storage.list(self._root)):
            found = re.fullmatch(rf"\.part-{self._id}-(\d+)-\d+", name)
            if is_dir and found is not None and int(found[1]) > restored:
                self._storage.delete_tree(f"{self._root}/{name}")

    def write(self, batch: Batch) -> int:
        if batch.rows is None or batch.rows >= _FEW_ROWS:
            return self._write_files(batch.sql)
        cursor = self._context.cursor
        if not self._buffered:
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {self._buffer} AS FROM {batch.sql} LIMIT 0")
        cursor.execute(f"INSERT INTO {self._buffer} FROM {batch.sql}")
        self._buffered += batch.rows
        if self._buffered >= _FEW_ROWS:
            self._flush()
        return batch.rows

    def _flush(self) -> None:
        if self._buffered:
            self._write_files(self._buffer)
            self._context.cursor.execute(f"DROP TABLE {self._buffer}")
            self._buffered = 0

    def _write_files(self, rows: str) -> int:
        """Write rows into a directory of their own."""
        place = f"{self._root}/.part-{self._id}-{self._number}-{next(self._counts)}"
        self._storage.mkdir(self._root)
        self._places.append(place)
        sink = self._sink
        held = [f"i.c{i} AS c{n}" for n, i in enumerate(sink.held)]
        names = {c.name: (i, c) for i, c in enumerate(sink.columns)}
        by = []
        for name in sink.partitioning:
            i, column = names[name]
            text = f"CAST(CAST(i.c{i} AS {duckdb_name(column.type)}) AS VARCHAR)"
            held.append(f"coalesce(nullif({text}, ''), {string_literal(sink.default)}) AS {identifier(name)}")
            by.append(identifier(name))
        query = f"(SELECT {', '.join(held)} FROM {rows} AS i)"
        local = self._storage.local_path(place)
        written = sink.format.write(self._context.cursor, query, local, sink.size, by)
        if not written:
            self._drop(place)
            self._places.remove(place)
        return written

    def prepare(self, checkpoint: int) -> Json:
        self._flush()
        places, self._places, self._number = self._places, [], checkpoint + 1
        moves: list[tuple[str, str]] = []
        for place in places:
            moves += self._moves(place)
        if not moves:
            return None
        files = [f"{self._root}/{source}" for source, _ in moves]
        above = self._root.rpartition("/")[0]  # the job may have made the table's directory itself
        make_durable(self._storage, files, {above, self._root, *directories_of(files, self._root)})
        replaced = self._replaced([target for _, target in moves])
        return {"moves": [list(move) for move in moves], "replaced": list(replaced)}

    def _moves(self, place: str) -> Iterator[tuple[str, str]]:
        """The files below a directory, and what they are to be called, from the table's directory on."""
        hidden = place.rpartition("/")[2]
        stem = hidden.removeprefix(".")
        numbers = count()
        for path in sorted(_files(self._storage.local_path(place))):
            below = path[len(self._storage.local_path(place)) + 1 :]
            directory = ""
            if self._sink.partitioning:
                values = partition_values(below, self._sink.partitioning, self._sink.default)
                directory = f"{partition_path(values, self._sink.default)}/"
            yield f"{hidden}/{below}", f"{directory}{stem}-{next(numbers)}.{self._sink.kind}"

    def _replaced(self, targets: list[str]) -> Iterator[str]:
        """The files that an overwrite takes away: of the whole table, or of the partitions that get rows."""
        overwrite = self._sink.overwrite
        if overwrite is None:
            return
        partitions = {target.rpartition("/")[0] for target in targets}
        for file in self._directory.files():
            relative = self._directory.relative(file.path)
            if not self._sink.partitioning or relative.rpartition("/")[0] in partitions:
                yield relative

    def commit(self, checkpoint: int, committable: Json) -> None:  # noqa: ARG002 - names tell it
        kept = cast("dict[str, list[list[str]]]", committable)
        targets = []
        for source, target in kept["moves"]:
            self._move(f"{self._root}/{source}", f"{self._root}/{target}")
            targets.append(f"{self._root}/{target}")
        directories = {self._root, *directories_of(targets, self._root)}
        for relative in cast("dict[str, list[str]]", committable)["replaced"]:
            self._storage.delete(f"{self._root}/{relative}")
        self._mark(targets)
        make_durable(self._storage, [], directories)
        for hidden in {source.partition("/")[0] for source, _ in kept["moves"]}:
            self._drop(f"{self._root}/{hidden}")

    def _move(self, source: str, target: str) -> None:
        """Give a file its name, unless it has it already: then a commit is repeated."""
        if not self._storage.exists(source):
            if not self._storage.exists(target):
                self._context.note(f"{target} is gone: it was written by this job, and taken away since.")
            return
        self._storage.mkdir(target.rpartition("/")[0])
        self._storage.rename(source, target)

    def _mark(self, targets: list[str]) -> None:
        if self._sink.success is None or not self._sink.partitioning:
            return
        for directory in {target.rpartition("/")[0] for target in targets}:
            with suppress(FileExists):
                self._storage.write_new(f"{directory}/{self._sink.success}", b"")

    def discard(self) -> None:
        if self._buffered:
            self._context.cursor.execute(f"DROP TABLE IF EXISTS {self._buffer}")
            self._buffered = 0
        for place in self._places:
            self._drop(place)
        self._places = []

    def _drop(self, place: str) -> None:
        with suppress(FileMissing):
            self._storage.delete_tree(place)

    def close(self) -> None:
        self.discard()


def _files(directory: str) -> Iterator[str]:
    for at, _, names in os.walk(directory):
        yield from (f"{at}/{name}" for name in names)

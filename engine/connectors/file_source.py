"""The files of a directory as a source: read once, or watched for ever.

A file is read when it is complete: in a directory that is watched, when two looks, one interval apart, find it of the
same size and unchanged, or when it was last changed some time ago. Whoever writes files elsewhere and moves them here
is safe in any case. A file is read once: what is changed in it later is not seen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from bergsql.catalog.options import parse_duration
from bergsql.catalog.storage.base import FileMissing
from bergsql.engine.connectors.base import LocalSource, TableColumn
from bergsql.engine.connectors.directory import DEFAULT_PARTITION, Directory, DoneFiles, FoundFile, partition_values
from bergsql.engine.connectors.formats import format_named
from bergsql.engine.connectors.formats.base import Scan
from bergsql.engine.duck import set_variables
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.sources.base import Json, ReaderContext

_SETTLED = 10.0
"""Seconds after its last change when a file is complete at the first look."""
_MOST_FILES = 2_000
"""Files of one batch."""
_numbers = count()
"""Sets what two readers make on one connection apart."""


class FileSource(LocalSource):
    """Files of a format. Without ``source.monitor-interval`` it is bounded: the files that there are."""

    def __init__(self, table: ConnectorTable) -> None:
        options = table.options
        self.name, self.columns = table.name, table.streamed
        self._columns, self._partitioning = table.columns, table.partitioning
        self._default = options.get("partition.default-name", DEFAULT_PARTITION)
        interval = options.get("source.monitor-interval")
        self.interval = max(parse_duration(interval), 1) / 1000 if interval is not None else None
        self.bounded = interval is None
        self._kind = options["format"].casefold()
        held = [c for c in table.stored if c.name not in table.partitioning]
        self._held = {c.name: i for i, c in enumerate(held)}
        self._format = format_named(self._kind)(held, options)
        self._path, self._pattern = options["path"], options.get("source.path.regex-pattern")

    @property
    def directory(self) -> Directory:
        return Directory(self._path, self._pattern)

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"connector": "filesystem", "path": self._path, "format": self._kind}

    def fingerprint(self) -> Json:
        return [[file.path, file.size, file.changed] for file in self.directory.files()]

    def explain(self) -> str:
        watched = "" if self.interval is None else f", watched every {self.interval:g} s"
        return f"{self.name}: files of {self._kind} in {self._path}{watched}"

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        kept = offset.get("files") if isinstance(offset, dict) else None
        return _Reader(self, context, DoneFiles(kept if isinstance(kept, str) else None))

    def whole(self, prefix: str) -> ReadAtOnce:
        files = self.directory.files()
        if not files:
            nothing = ", ".join(f"NULL::{duckdb_name(c.type)} AS c{i}" for i, c in enumerate(self._columns))
            return ReadAtOnce(f"(SELECT {nothing} WHERE false)", {})
        scan = self.rows(self.directory, files, prefix)
        columns = ", ".join(f"c{i}" for i in range(len(self._columns)))
        where = " WHERE NOT broken" if scan.counts else ""
        return ReadAtOnce(f"(SELECT {columns} FROM {scan.sql}{where})", scan.variables)

    def rows(self, directory: Directory, files: Sequence[FoundFile], prefix: str) -> Scan:
        """The rows of files, with all columns of the table."""
        scan = self._format.scan([f.path for f in files], prefix)
        items = [f"{self._value(c)} AS c{i}" for i, c in enumerate(self._columns)]
        told = self._told(directory, files)
        joined = f" JOIN (VALUES {told}) AS t(path, size, changed, partitions) ON t.path = r.file" if told else ""
        return scan._replace(sql=f"(SELECT {', '.join(items)}, r.broken FROM {scan.sql} AS r{joined})")

    def _value(self, column: TableColumn) -> str:
        """SQL of a column: of the file's rows, of its place, or of what is known of it."""
        match column.metadata:
            case "file.path":
                return "r.file"
            case "file.name":
                return "regexp_extract(r.file, '[^/]*$')"
            case "file.size":
                return "t.size"
            case "file.modification-time":
                return "make_timestamptz(t.changed)"
        if column.name in self._partitioning:
            place = self._partitioning.index(column.name) + 1
            return f"CAST(t.partitions[{place}] AS {duckdb_name(column.type)})"
        return f"r.c{self._held[column.name]}"

    def _told(self, directory: Directory, files: Sequence[FoundFile]) -> str:
        """What is known of files beside their rows, where a column asks for it, as a list of VALUES."""
        if not self._partitioning and not any(
            c.metadata in ("file.size", "file.modification-time") for c in self._columns
        ):
            return ""
        rows = []
        for file in files:
            found = partition_values(directory.relative(file.path), self._partitioning, self._default)
            texts = ", ".join("NULL" if (v := found[n]) is None else string_literal(v) for n in self._partitioning)
            changed = file.changed // 1_000_000 * 1000
            rows.append(f"({string_literal(file.path)}, {file.size}::BIGINT, {changed}::BIGINT, [{texts}]::VARCHAR[])")
        return ", ".join(rows)


class _Reader(Reader):
    def __init__(self, source: FileSource, context: ReaderContext, done: DoneFiles) -> None:
        self._source, self._context, self._done = source, context, done
        self._prefix = f"files{next(_numbers)}_"
        self._waiting: list[FoundFile] = []
        self._seen: dict[str, tuple[int, int]] = {}
        self._next_look = 0.0
        self._looked = False
        self._skipped = 0
        self._left: list[str] = []
        self._told_missing = False

    def poll(self) -> Batch | None:
        self._drop_left()
        if not self._waiting:
            self._look()
        chosen = self._choose()
        if not chosen:
            return None
        directory = self._source.directory
        scan = self._source.rows(directory, chosen, self._prefix)
        cursor = self._context.cursor
        set_variables(cursor, scan.variables)
        columns = ", ".join(f"c{i}" for i in range(len(self._source.columns)))
        rows = scan.sql
        if scan.counts:
            rows = f"{self._prefix}rows"
            self._left.append(rows)
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {rows} AS FROM {scan.sql}")
            ((broken,),) = cursor.execute(f"SELECT count(*) FROM {rows} WHERE broken").fetchall()
            self._skipped += int(broken)
        self._done.add(directory.relative(f.path) for f in chosen)
        return Batch(f"(SELECT {columns}, 0::TINYINT AS op FROM {rows} WHERE NOT broken)")

    def _choose(self) -> list[FoundFile]:
        """The next files, of about as many bytes as a batch may have."""
        size = 0
        chosen: list[FoundFile] = []
        while self._waiting and len(chosen) < _MOST_FILES:
            file = self._waiting[0]
            if chosen and size + file.size > self._context.max_bytes:
                break
            size += file.size
            chosen.append(self._waiting.pop(0))
        return chosen

    def _look(self) -> None:
        """Look for files that were not read, and are complete."""
        interval = self._source.interval
        now = time.monotonic()
        if self._looked and (interval is None or now < self._next_look):
            return
        directory = self._source.directory
        try:
            found = directory.files()
        except FileMissing:
            if interval is None:
                raise
            found = []  # it may come
            if not self._told_missing:
                self._told_missing = True
                self._context.note(f"{directory.path} is not there yet.")
        fresh = [f for f in found if directory.relative(f.path) not in self._done]
        if interval is not None:
            before, self._seen = self._seen, {f.path: (f.size, f.changed) for f in fresh}
            settled = time.time_ns() - int(max(_SETTLED, interval) * 1e9)
            fresh = [f for f in fresh if before.get(f.path) == (f.size, f.changed) or f.changed < settled]
            self._next_look = now + interval
        self._waiting, self._looked = fresh, True

    def _drop_left(self) -> None:
        while self._left:
            self._context.cursor.execute(f"DROP TABLE IF EXISTS {self._left.pop()}")

    @property
    def offset(self) -> Json:
        return {"files": self._done.text}

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._looked and not self._waiting

    @property
    def wait(self) -> float:
        return 0.0 if self._waiting else max(0.0, self._next_look - time.monotonic())

    @property
    def skipped(self) -> int:
        return self._skipped

    def close(self) -> None:
        self._drop_left()

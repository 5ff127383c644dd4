"""Avro and ORC files, which go through Arrow as those of Iceberg tables do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.options import OptionSpec
from bergsql.catalog.storage.base import storage_for
from bergsql.engine.connectors.formats.base import Format, Scan
from bergsql.engine.connectors.formats.columnar import scan_alike
from bergsql.engine.duck import fetch_batches
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.type_names import to_iceberg
from bergsql.engine.table.file_streams import FILE_INDEX, FileStream, stream_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.table.conversion import FileWriter

_BATCH_ROWS = 8192


class ArrowFiles(Format):
    """Files that DuckDB cannot read and write itself. Columns are found by name."""

    kind: ClassVar[str]
    """What the table engine calls the format."""

    def __init__(self, columns: Sequence[TableColumn], options: Mapping[str, str]) -> None:
        super().__init__(columns, options)
        ids = count(1)
        self._fields: list[NestedField] = []
        for column in columns:
            try:
                field_id = next(ids)
                type_ = to_iceberg(column.type, ids, 3)
            except BergError as error:
                error.message = f"Column '{column.name}': {error.message}"
                raise
            self._fields.append(NestedField(field_id, column.name, type_, required=not column.nullable))

    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        def read(
            members: Sequence[str], names: Sequence[str], number: int
        ) -> tuple[str, Callable[[int], str], dict[str, object]]:
            name = f"{prefix}files{number}"
            wanted = {c.name.casefold() for c in self.columns}
            positions = tuple(i for i, n in enumerate(names) if n.casefold() in wanted)
            stream = FileStream(storage_for(members[0]), self.kind, tuple(members), positions)
            paths = ", ".join(string_literal(m) for m in members)
            source = f"(SELECT *, ([{paths}])[{FILE_INDEX} + 1] AS file FROM {identifier(name)})"
            return source, stream_name, {name: stream}

        return scan_alike(self.columns, files, self._names, read)

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        columns = ", ".join(f"c{i}" for i in range(len(self.columns)))
        if not by:
            return self._write_files(cursor, f"SELECT {columns} FROM {rows}", directory, size)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE bergsql_by_partition AS SELECT * FROM {rows}")
        try:
            keys = ", ".join(by)
            found = cursor.execute(f"SELECT DISTINCT {keys} FROM bergsql_by_partition").fetchall()
            done = 0
            for values in found:
                place = "/".join(f"{n.strip(chr(34))}={quote(v, safe='')}" for n, v in zip(by, values, strict=True))
                where = " AND ".join(f"{n} = {string_literal(v)}" for n, v in zip(by, values, strict=True))
                select = f"SELECT {columns} FROM bergsql_by_partition WHERE {where}"
                done += self._write_files(cursor, select, f"{directory}/{place}", size)
            return done
        finally:
            cursor.execute("DROP TABLE IF EXISTS bergsql_by_partition")

    def _write_files(self, cursor: duckdb.DuckDBPyConnection, select: str, directory: str, size: int) -> int:
        from bergsql.engine.table.arrow_types import arrow_schema, cast_rows

        storage = storage_for(directory)
        storage.mkdir(directory)
        schema = arrow_schema(self._fields)
        local = storage.local_path(directory)
        writer: FileWriter | None = None
        rows, numbers = 0, count()
        cursor.execute(select)
        batches: Iterator[pa.RecordBatch] = iter(fetch_batches(cursor, _BATCH_ROWS))
        try:
            for batch in batches:
                if writer is None:
                    writer = self._writer(f"{local}/data_{next(numbers)}.{self.name}")
                given = cast_rows(batch, schema, self._fields)
                writer.write(given)
                rows += given.num_rows
                if writer.size >= size:
                    writer.close()
                    writer = None
            if writer is not None:
                writer.close()
        except BaseException:
            if writer is not None:
                with suppress(Exception):
                    writer.abandon()
            raise
        return rows

    @abstractmethod
    def _names(self, file: str) -> list[str]: ...

    @abstractmethod
    def _writer(self, path: str) -> FileWriter: ...


class Avro(ArrowFiles):
    """Files of Avro objects."""

    name: ClassVar[str] = "avro"
    kind: ClassVar[str] = "AVRO"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec(
            "avro.codec",
            "enum",
            "snappy",
            "How files are compressed.",
            values=("null", "deflate", "snappy", "zstandard"),
        ),
    )

    def _names(self, file: str) -> list[str]:
        from bergsql.engine.table.avro_data import avro_columns

        return [f.name for f in avro_columns(storage_for(file), file)]

    def _writer(self, path: str) -> FileWriter:
        from bergsql.engine.table.avro_data import AvroWriter
        from bergsql.engine.table.avro_schema import record_schema

        codecs = {"null": "uncompressed", "deflate": "gzip", "zstandard": "zstd"}
        codec = (self.option("codec") or "snappy").lower()
        return AvroWriter(path, record_schema(self._fields, "record"), codecs.get(codec, codec), None, {})


class Orc(ArrowFiles):
    """ORC files."""

    name: ClassVar[str] = "orc"
    kind: ClassVar[str] = "ORC"
    options: ClassVar[tuple[OptionSpec, ...]] = (
        OptionSpec(
            "orc.compress",
            "enum",
            "ZLIB",
            "How files are compressed.",
            values=("ZLIB", "SNAPPY", "ZSTD", "LZ4", "NONE"),
        ),
    )

    def _names(self, file: str) -> list[str]:
        from bergsql.engine.table.orc_data import orc_columns

        return [f.name for f in orc_columns(storage_for(file), file)]

    def _writer(self, path: str) -> FileWriter:
        from bergsql.engine.table.orc_data import OrcWriter

        codec = (self.option("compress") or "ZLIB").lower()
        return OrcWriter(path, self._fields, "uncompressed" if codec == "none" else codec, "speed", 64 << 20)

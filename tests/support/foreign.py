"""Tables put together by hand, from data files of any format that some other writer may have made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.types import IcebergType, ListType, MapType, NestedField, StructType
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import set_variables
from bergsql.engine.table.arrow_types import arrow_type
from bergsql.engine.table.avro_data import AvroWriter
from bergsql.engine.table.avro_schema import record_schema
from bergsql.engine.table.column_names import scanned_names
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent, ManifestEntry
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list
from bergsql.engine.table.orc_data import OrcWriter
from bergsql.engine.table.scan import TableScan, build_scan

STORAGE = LocalStorage()


def opt(number: int, name: str, kind: IcebergType, default: Any = None) -> NestedField:
    return NestedField(number, name, kind, False, initial_default=default)


def numbered(name: str, kind: pa.DataType, number: int | None) -> pa.Field:
    """A column of a Parquet file, with its field id if any."""
    return pa.field(name, kind, metadata=None if number is None else {"PARQUET:field_id": str(number)})


@dataclass
class Table:
    """A table put together by hand: its files may be whatever some other writer wrote."""

    folder: Path
    schema: Schema
    spec: PartitionSpec = field(default_factory=lambda: PartitionSpec(0, ()))
    properties: dict[str, str] = field(default_factory=dict)
    files: list[DataFile] = field(default_factory=list)
    deletes: list[DataFile] = field(default_factory=list)
    version: int = 2
    sequence_numbers: dict[str, int] = field(default_factory=dict)
    """Those of files, by path, that are not of the one snapshot's commit, which is number 1."""

    def add(
        self, fields: Sequence[pa.Field], rows: Sequence[Sequence[Any]], *, name: str = "", **described: Any
    ) -> Path:
        path = self.folder / (name or f"00000-0-{uuid4()}-00001.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(fields)]
        pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(list(fields))), path)
        self.listed(path, len(rows), **described)
        return path

    def listed(self, path: Path, rows: int, **described: Any) -> None:
        """Make a file that is there one of the table's."""
        self.files.append(DataFile(f"file:{path}", rows, path.stat().st_size, **described))

    def refresh(self, path: Path, *, renamed: bool = False) -> None:
        """A file that was changed after it was listed; ``renamed``: under a new name, as no reader has seen it."""
        old = next(f for f in self.files if f.path == f"file:{path}")
        now = path.rename(path.with_name(f"00000-0-{uuid4()}.parquet")) if renamed else path
        self.files[self.files.index(old)] = replace(old, path=f"file:{now}", file_size=now.stat().st_size)

    def write(self, fields: Sequence[NestedField], rows: Sequence[Sequence[Any]], file_format: str) -> Path:
        """A new data file that holds ``fields`` of the table, as Iceberg's writers make it."""
        path = self.folder / f"00000-0-{uuid4()}-00001.{file_format}"
        arrays = [pa.array([row[i] for row in rows], arrow_type(f.type)) for i, f in enumerate(fields)]
        if file_format == "parquet":
            columns = [with_ids(f) for f in fields]
            cast = [a.cast(c.type) for a, c in zip(arrays, columns, strict=True)]
            pq.write_table(pa.Table.from_arrays(cast, schema=pa.schema(columns)), path)
        else:
            batch = pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields])
            writer = (
                AvroWriter(str(path), record_schema(fields, "table"), "uncompressed", None, {})
                if file_format == "avro"
                else OrcWriter(str(path), fields, "zlib", "speed", 1 << 20)
            )
            writer.write(batch)
            writer.close()
        self.listed(path, len(rows), format=file_format.upper())
        return path

    def loaded(self) -> LoadedTable:
        manifests = []
        for content, files in ((ManifestContent.DATA, self.files), (ManifestContent.DELETES, self.deletes)):
            if files:
                entries = [self._entry(f) for f in files]
                data = encode_manifest(entries, self.spec, self.schema, self.version, content, 1)
                path = self.folder / f"{uuid4()}-m0.avro"
                path.write_bytes(data)
                manifests.append(
                    describe_manifest(
                        str(path),
                        data,
                        entries,
                        self.spec,
                        self.schema,
                        snapshot_id=1,
                        sequence_number=1,
                        content=content,
                    )
                )
                if self.version > 2 and content == ManifestContent.DATA:
                    manifests[-1] = replace(manifests[-1], first_row_id=0)
        listed = self.folder / f"snap-{uuid4()}.avro"
        listed.write_bytes(encode_manifest_list(manifests, 1, None, 1, self.version))
        metadata = TableMetadata(
            format_version=self.version,
            table_uuid=str(uuid4()),
            location=str(self.folder),
            last_sequence_number=1,
            last_updated_ms=0,
            last_column_id=99,
            schemas=(self.schema,),
            current_schema_id=0,
            specs=(self.spec,),
            default_spec_id=0,
            last_partition_id=1000,
            sort_orders=(),
            default_sort_order_id=0,
            properties=self.properties,
            current_snapshot_id=1,
            snapshots=(Snapshot(1, None, 1, 0, str(listed), {"operation": "append"}, 0),),
            snapshot_log=(),
            metadata_log=(),
            refs={},
        )
        return LoadedTable(TableIdent(("db",), "t"), metadata, "v1.metadata.json", "c")

    def _entry(self, file: DataFile) -> ManifestEntry:
        number = self.sequence_numbers.get(file.path)
        status = EntryStatus.ADDED if number is None else EntryStatus.EXISTING
        return ManifestEntry(status, file, 1, number, number)

    def scan(self, **how: Any) -> TableScan:
        return build_scan(self.loaded(), STORAGE, **how)

    def rows(self, **how: Any) -> list[tuple[Any, ...]]:
        scan = self.scan(**how)
        connection = duckdb.connect()
        # Nothing may depend on the session's time zone.
        connection.execute("SET TimeZone='Asia/Kolkata'")
        set_variables(connection, scan.variables)
        found = connection.execute(scan.sql)
        names = scanned_names(scan.schema)
        assert [d[0] for d in found.description or ()] == [names[f.name] for f in scan.fields]
        return found.fetchall()

    def selected(self, query: str, **how: Any) -> list[tuple[Any, ...]]:
        """The rows of a query of DuckDB's, ``%s`` in which is the table."""
        scan = self.scan(**how)
        connection = duckdb.connect()
        connection.execute("SET TimeZone='UTC'")
        set_variables(connection, scan.variables)
        return connection.execute(query % f"({scan.sql})").fetchall()

    def arrow_rows(self, **how: Any) -> list[dict[str, Any]]:
        """The rows, maps as lists of pairs."""
        scan = self.scan(**how)
        connection = duckdb.connect()
        connection.execute("SET TimeZone='UTC'")
        set_variables(connection, scan.variables)
        found: list[dict[str, Any]] = connection.sql(scan.sql).to_arrow_table().to_pylist()
        return found


def with_ids(f: NestedField) -> pa.Field:
    """A field as Iceberg's writers put it into Parquet files, all parts with their ids."""
    return numbered(f.name, _arrow(f.type), f.field_id)


def _arrow(kind: IcebergType) -> pa.DataType:
    match kind:
        case StructType(fields):
            return pa.struct([with_ids(f) for f in fields])
        case ListType():
            return pa.list_(with_ids(kind.element_field))
        case MapType():
            return pa.map_(with_ids(kind.key_field).with_nullable(False), with_ids(kind.value_field))
    return arrow_type(kind)

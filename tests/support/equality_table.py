"""Tables with equality deletes put together by hand: every file with the sequence number and columns it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.types import IcebergType, IntegerType, LongType, NestedField, StringType
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry
from bergsql.engine.table.delete_index import is_equality
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list
from bergsql.engine.table.scan import TableScan, build_scan
from tests.support.history.data_files import write_file
from tests.support.history.statistics import file_statistics

FORMATS = ("parquet", "avro", "orc")
LONG, TEXT, INT = LongType(), StringType(), IntegerType()
UNPARTITIONED = PartitionSpec(0, ())
Row = Sequence[Any]


def opt(number: int, name: str, kind: IcebergType, default: Any = None) -> NestedField:
    return NestedField(number, name, kind, False, initial_default=default)


ID, CAT, V = opt(1, "id", LONG), opt(2, "cat", TEXT), opt(3, "v", INT)


@dataclass
class Table:
    """A table put together by hand, every file with the sequence number it is given."""

    folder: Path
    schemas: Sequence[Schema] = (Schema(0, (ID, CAT, V)),)
    specs: Sequence[PartitionSpec] = (UNPARTITIONED,)
    properties: Mapping[str, str] = field(default_factory=dict)
    file_format: str = "parquet"
    files: list[tuple[int, DataFile]] = field(default_factory=list)

    def data(self, sequence_number: int, rows: Sequence[Row], **how: Any) -> None:
        self._add(sequence_number, rows, how.pop("fields", None), FileContent.DATA, **how)

    def delete(self, sequence_number: int, ids: Sequence[int], rows: Sequence[Row], **how: Any) -> None:
        fields = how.pop("fields", None) or [self.schemas[0].field(i) for i in ids]
        content = FileContent.EQUALITY_DELETES
        self._add(sequence_number, rows, fields, content, equality_ids=tuple(ids), **how)

    def delete_at(self, sequence_number: int, places: Sequence[tuple[int, int]], **how: Any) -> None:
        """Position deletes: each the number of a file that was added, and a row of it."""
        fields = [NestedField(2147483546, "file_path", TEXT, True), NestedField(2147483545, "pos", LONG, True)]
        rows = sorted((self.files[n][1].path, pos) for n, pos in places)
        self._add(sequence_number, rows, fields, FileContent.POSITION_DELETES, **how)

    def _add(
        self,
        sequence_number: int,
        rows: Sequence[Row],
        fields: Sequence[NestedField] | None,
        content: FileContent,
        *,
        file_format: str = "",
        statistics: str = "full",
        numbered: bool = True,
        **described: Any,
    ) -> None:
        fields = fields or self.schemas[0].fields
        kind = file_format or self.file_format
        path = self.folder / f"00000-0-{uuid4()}-00001.{kind}"
        by_id = [{f.field_id: v for f, v in zip(fields, row, strict=True)} for row in rows]
        write_file(path, kind, fields, by_id, ids=numbered)
        figures = file_statistics(fields, by_id, statistics, Random(1))
        size = path.stat().st_size
        file = DataFile(f"file:{path}", len(rows), size, kind.upper(), content, **figures, **described)
        self.files.append((sequence_number, file))

    def loaded(self) -> LoadedTable:
        manifests = []
        for content in ManifestContent:
            for spec in self.specs:
                found = [
                    ManifestEntry(EntryStatus.EXISTING, file, 1, n, n)
                    for n, file in self.files
                    if file.spec_id == spec.spec_id
                    and (file.content == FileContent.DATA) == (content == ManifestContent.DATA)
                ]
                if found:
                    data = encode_manifest(found, spec, self.schemas[0], 2, content, 1)
                    path = self.folder / f"{uuid4()}-m0.avro"
                    path.write_bytes(data)
                    described = describe_manifest(
                        str(path),
                        data,
                        found,
                        spec,
                        self.schemas[0],
                        snapshot_id=1,
                        sequence_number=99,
                        content=content,
                    )
                    manifests.append(described)
        listed = self.folder / f"snap-{uuid4()}.avro"
        listed.write_bytes(encode_manifest_list(manifests, 1, None, 99, 2))
        now = self.schemas[-1].schema_id
        metadata = TableMetadata(
            format_version=2,
            table_uuid=str(uuid4()),
            location=str(self.folder),
            last_sequence_number=99,
            last_updated_ms=0,
            last_column_id=99,
            schemas=tuple(self.schemas),
            current_schema_id=now,
            specs=tuple(self.specs),
            default_spec_id=self.specs[-1].spec_id,
            last_partition_id=1099,
            sort_orders=(),
            default_sort_order_id=0,
            properties=dict(self.properties),
            current_snapshot_id=1,
            snapshots=(Snapshot(1, None, 99, 0, str(listed), {"operation": "overwrite"}, now),),
            snapshot_log=(),
            metadata_log=(),
            refs={},
        )
        return LoadedTable(TableIdent(("db",), "t"), metadata, "v1.metadata.json", "c")

    def publish(self) -> None:
        """Let a Hadoop catalog find the table in its folder."""
        place = self.folder / "metadata" / "v1.metadata.json"
        place.parent.mkdir(parents=True)
        place.write_bytes(self.loaded().metadata.serialize())

    def scan(self, **how: Any) -> TableScan:
        return build_scan(self.loaded(), LocalStorage(), **how)

    def rows(self, *columns: str, where: str = "true", **how: Any) -> list[tuple[Any, ...]]:
        """The rows, sorted. Read three times: by keys, by places that are looked up, by places that are known."""
        duck = Duck()
        duck.set("TimeZone", "Asia/Kolkata")  # nothing may depend on it
        loaded = self.loaded()
        answers = []
        for _ in range(3):
            scan = build_scan(loaded, LocalStorage(), columns=frozenset(columns) or None, **how)
            found = duck.execute(f"SELECT * FROM ({scan.sql}) WHERE {where}", scan.variables)
            assert [d[0] for d in found.description or ()] == [f.name for f in scan.fields]
            answers.append(sorted(found.fetchall(), key=lambda row: [(v is not None, str(v)) for v in row]))
        assert answers[0] == answers[1] == answers[2]
        return answers[0]

    def applied(self, **how: Any) -> list[int]:
        """How many equality delete files apply to each data file."""
        return [sum(map(is_equality, t.deletes)) for t in self.scan(**how).plan.tasks]


def with_schemas(folder: Path, *columns: Sequence[NestedField], **how: Any) -> Table:
    """A table whose schema was changed; the first is the one that files are written with."""
    return Table(folder, [Schema(n, tuple(fields)) for n, fields in enumerate(columns)], **how)

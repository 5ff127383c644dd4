"""Tables of a Hadoop catalog, made and filled through the table engine alone, for tests of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import PartitionBy, build_spec
from bergsql.catalog.metadata.schema import Schema, assign_fresh_ids
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.duck import Duck
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import Committed, commit_snapshot
from bergsql.engine.table.datafile import DataFile, ManifestEntry
from bergsql.engine.table.destination import MAIN, Destination
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_manifest
from bergsql.engine.table.producer import Producer
from bergsql.engine.table.writer import Written, write_rows

Columns = Mapping[str, Any]
"""Iceberg types (names or JSON) by column name; a name that ends with ``!`` is NOT NULL."""


@dataclass
class Tables:
    """A catalog with one database ``db`` in ``warehouse``: a Hadoop catalog, or a JDBC catalog on SQLite."""

    warehouse: Path
    jdbc: bool = False

    def __post_init__(self) -> None:
        catalog: Any
        if self.jdbc:
            self.warehouse.mkdir(parents=True, exist_ok=True)
            options = {"uri": f"jdbc:sqlite:{self.warehouse}/catalog.db", "warehouse": str(self.warehouse)}
            catalog = JdbcCatalog("c", options)
        else:
            catalog = HadoopCatalog("c", str(self.warehouse))
        self.catalog: HadoopCatalog = catalog
        self.storage = self.catalog.storage()
        self.duck = Duck()
        if not self.catalog.namespace_exists(("db",)):
            self.catalog.create_namespace(("db",))

    def ident(self, name: str) -> TableIdent:
        return TableIdent(("db",), name)

    def metadata(
        self,
        columns: Columns,
        by: Sequence[tuple[str, Transform]] = (),
        properties: Mapping[str, str] | None = None,
        version: int = 2,
        name: str = "t",
    ) -> TableMetadata:
        """Metadata that nobody has published."""
        fields = tuple(
            NestedField(i + 1, n.rstrip("!"), parse_type(t), n.endswith("!"))
            for i, (n, t) in enumerate(columns.items())
        )
        schema, _ = assign_fresh_ids(Schema(0, fields))
        spec = build_spec(schema, [PartitionBy(column, transform) for column, transform in by])
        location = self.catalog.default_table_location(self.ident(name))
        return new_table_metadata(schema, spec, UNSORTED, location, properties or {}, version)

    def create(
        self,
        columns: Columns,
        by: Sequence[tuple[str, Transform]] = (),
        properties: Mapping[str, str] | None = None,
        version: int = 2,
        name: str = "t",
    ) -> LoadedTable:
        """A new table, as :meth:`metadata` describes it."""
        return self.catalog.create_table(self.ident(name), self.metadata(columns, by, properties, version, name))

    def load(self, name: str = "t") -> LoadedTable:
        return self.catalog.load_table(self.ident(name))

    def write(self, table: LoadedTable, sql: str) -> Written:
        """Data files for a table that no snapshot holds."""
        return write_rows(self.duck, sql, {}, metadata=table.metadata, storage=self.storage)

    def commit(self, table: LoadedTable, producer: Producer, to: Destination = MAIN) -> Committed:
        return commit_snapshot(self.catalog, table, producer, self.storage, to=to)

    def insert(self, sql: str, name: str = "t") -> Committed:
        """INSERT INTO."""
        table = self.load(name)
        return self.commit(table, Append(self.write(table, sql).files))

    def entries(self, name: str = "t") -> list[ManifestEntry]:
        """The entries of all manifests of the current snapshot, deleted ones too."""
        metadata = self.load(name).metadata
        snapshot = metadata.current_snapshot()
        if snapshot is None:
            return []
        return [
            entry
            for manifest in read_manifest_list(self.storage, snapshot, metadata)
            for entry in read_manifest(self.storage, manifest, metadata)
        ]

    def files(self, name: str = "t") -> list[DataFile]:
        """The files that the table holds."""
        return [e.data_file for e in self.entries(name) if e.live]

    def rows(self, name: str = "t", select: str = "*") -> list[tuple[Any, ...]]:
        """The rows in the table's data files, sorted as text; for tables whose files all have its columns."""
        paths = [self.storage.local_path(f.path) for f in self.files(name)]
        if not paths:
            return []
        cursor = self.duck.cursor()
        found = cursor.execute(f"SELECT {select} FROM read_parquet({paths!r}, hive_partitioning = false)").fetchall()
        self.duck.done(cursor)
        return sorted(found, key=str)

    def on_disk(self, name: str = "t") -> set[str]:
        """All files of a table, below its directory."""
        root = self.warehouse / "db" / name
        return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}

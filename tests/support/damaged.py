"""Small tables with every kind of file that Iceberg has, to be damaged file by file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import LongType, NestedField, StringType
from bergsql.engine.table import deleted_positions, deleted_rows, equality_positions, file_streams, parquet_schema
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.manifest_memory import forget_memory
from tests.support.history.builder import Item, TableBuilder
from tests.support.history.data_files import write_file
from tests.support.history.model import StoredDelete, StoredFile
from tests.support.history.puffin import write_puffin

ID = NestedField(1, "id", LongType(), False)
NAME = NestedField(2, "name", StringType(), False)
FILE_PATH = NestedField(2147483546, "file_path", StringType(), True)
POS = NestedField(2147483545, "pos", LongType(), True)
UNPARTITIONED = PartitionSpec(0, ())
FORMATS = ("parquet", "avro", "orc")
KINDS = (*(f"{kind} {of}" for kind in ("data", "position", "equality") for of in FORMATS), "vector puffin")
"""What a table may hold beside plain Parquet files."""
FIRST, SECOND, THIRD = 1000, 1001, 1002
"""The ids of a table's snapshots: ten rows, ten more, and three of the first ten deleted."""
DELETED = (1, 4, 7)


@dataclass(frozen=True)
class Damageable:
    """A table of three snapshots below a warehouse of a Hadoop catalog."""

    builder: TableBuilder
    kind: str

    @property
    def folder(self) -> Path:
        return self.builder.folder

    def files(self) -> dict[str, Path]:
        """The files of the table by what they are."""
        metadata = self.folder / "metadata"
        found = {"metadata": metadata / "v1.metadata.json"}
        for snapshot in (FIRST, SECOND, THIRD):
            found[f"manifest list {snapshot}"] = metadata / f"snap-{snapshot}-1-list.avro"
            for manifest in self.builder.manifests[snapshot]:
                if manifest.file.added_snapshot_id == snapshot:
                    found[f"manifest {snapshot}"] = Path(manifest.file.path.removeprefix("file:"))
                    for entry in manifest.entries:
                        path = Path(entry.item.described.path.removeprefix("file:"))
                        found[f"{'data' if manifest.is_data else 'deletes'} {snapshot}"] = path
        return found

    def ids(self, snapshot: int = THIRD) -> list[int]:
        """The values of ``id`` in a snapshot."""
        rows = range(10 if snapshot == FIRST else 20)
        gone = DELETED if snapshot == THIRD and not self.kind.startswith("data") else ()
        return [i for i in rows if i not in gone]

    def edit(self, change: Any) -> None:
        """Change the metadata file by hand: ``change`` is given its JSON object."""
        path = self.files()["metadata"]
        metadata = json.loads(path.read_bytes())
        change(metadata)
        path.write_text(json.dumps(metadata))


def damageable(folder: Path, kind: str) -> Damageable:
    """A new table in ``folder``."""
    what, _, of = kind.partition(" ")
    version = 3 if what == "vector" else 2
    builder = TableBuilder.create(folder, Schema(0, (ID, NAME)), UNPARTITIONED, version, {})
    data_format = of if what == "data" else "parquet"
    files = [data_file(builder, range(start, start + 10), data_format) for start in (0, 10)]
    for file in files:
        builder.commit("main", "append", data=[file])
    if what != "data":
        make = {"position": position_delete, "equality": equality_delete, "vector": vector}[what]
        builder.commit("main", "delete", deletes=[make(builder, files[0].stored.path, DELETED, of)])
    else:
        builder.commit("main", "append", data=[data_file(builder, (), data_format)])
    builder.loaded()
    (folder / "metadata" / "version-hint.text").write_text("1")
    return Damageable(builder, kind)


def data_file(builder: TableBuilder, ids: Sequence[int], file_format: str) -> Item:
    path = builder.new_path("data", f".{file_format}")
    rows = [{1: i, 2: f"name {i}"} for i in ids]
    write_file(path, file_format, (ID, NAME), rows)
    stored = StoredFile(f"file:{path}", (ID, NAME), tuple(rows), UNPARTITIONED, {})
    return Item(stored, DataFile(stored.path, len(rows), path.stat().st_size, file_format.upper()))


def position_delete(builder: TableBuilder, of: str, positions: Sequence[int], file_format: str) -> Item:
    path = builder.new_path("data", f"-deletes.{file_format}")
    write_file(path, file_format, (FILE_PATH, POS), [{FILE_PATH.field_id: of, POS.field_id: p} for p in positions])
    return _delete(builder, path, file_format, len(positions), FileContent.POSITION_DELETES)


def equality_delete(builder: TableBuilder, _: str, ids: Sequence[int], file_format: str) -> Item:
    path = builder.new_path("data", f"-eq-deletes.{file_format}")
    write_file(path, file_format, (ID,), [{1: i} for i in ids])
    return _delete(builder, path, file_format, len(ids), FileContent.EQUALITY_DELETES, equality_ids=(1,))


def vector(builder: TableBuilder, of: str, positions: Sequence[int], _: str) -> Item:
    path = builder.new_path("data", "-deletes.puffin")
    ((offset, size),) = write_puffin(path, [(of, positions)])
    where = {"referenced_data_file": of, "content_offset": offset, "content_size": size}
    return _delete(builder, path, "puffin", len(positions), FileContent.POSITION_DELETES, **where)


def _delete(
    builder: TableBuilder, path: Path, file_format: str, count: int, content: FileContent, **described: Any
) -> Item:
    del builder
    file = DataFile(f"file:{path}", count, path.stat().st_size, file_format.upper(), content=content, **described)
    return Item(StoredDelete(file.path, UNPARTITIONED, {}), file)


def forget_files() -> None:
    """Forget what this process knows of files: those that are damaged after they were read are read again."""
    forget_memory()
    for cache in (
        parquet_schema._footers,
        file_streams._columns,
        deleted_rows._cache,
        deleted_positions._kept,
        equality_positions._known,
        equality_positions._seen,
    ):
        cache.clear()

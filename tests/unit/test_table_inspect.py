"""Metadata tables without SQL: columns, values, and what is read for them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import walk
from bergsql.engine.duck import set_variables, stream_failure
from bergsql.engine.plan.relations import METADATA_TABLES
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry
from bergsql.engine.table.inspect.model import RowStream
from bergsql.engine.table.inspect.tables import metadata_scan, metadata_table_fields
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list
from bergsql.engine.table.read_point import at_snapshot
from bergsql.engine.table.scan import TableScan
from tests.support.tables import Tables

IDENTITY = Transform.parse("identity")
COLUMNS = {
    "id": "long",
    "p": "string",
    "s": {"type": "struct", "fields": [{"id": 90, "name": "x", "type": "double", "required": False}]},
}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """A table ``t`` by ``p`` with two snapshots: of two partitions, then of one."""
    made = Tables(tmp_path)
    made.create(COLUMNS, [("p", IDENTITY)])
    made.insert(
        "SELECT * FROM (VALUES (1, 'a', {'x': 0.5::DOUBLE}), (2, NULL, NULL), (3, 'a', {'x': 'nan'::DOUBLE})) v(id, p, s)"
    )
    made.insert("SELECT 4 AS id, 'a' AS p, NULL AS s")
    return made


def scan_of(tables: Tables, name: str, *columns: str, snapshot: int | None = None, table: str = "t") -> TableScan:
    loaded = tables.load(table)
    point = None if snapshot is None else at_snapshot(loaded.metadata, snapshot)
    return metadata_scan(name, loaded, tables.storage, point=point, columns=frozenset(columns) if columns else None)


def rows(tables: Tables, name: str, *columns: str, snapshot: int | None = None, table: str = "t") -> list[Any]:
    """The rows, tuples of the columns in their order."""
    scan = scan_of(tables, name, *columns, snapshot=snapshot, table=table)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    set_variables(connection, scan.variables)
    return connection.execute(scan.sql).fetchall()


def test_history_follows_the_log(tables: Tables) -> None:
    first, second = tables.load().metadata.snapshots
    assert rows(tables, "history", "snapshot_id", "parent_id", "is_current_ancestor") == [
        (first.snapshot_id, None, True),
        (second.snapshot_id, first.snapshot_id, True),
    ]
    ((made,), _) = rows(tables, "history", "made_current_at")
    assert made == datetime.fromtimestamp(first.timestamp_ms / 1000, UTC)


def test_snapshots_tell_the_operation_beside_the_summary(tables: Tables) -> None:
    found = rows(tables, "snapshots", "operation", "summary")
    assert [operation for operation, _ in found] == ["append", "append"]
    assert [summary["added-records"] for _, summary in found] == ["3", "1"]
    assert all("operation" not in summary for _, summary in found)


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    tables.create({"id": "int"})
    for name in sorted(METADATA_TABLES - {"changes", "metadata_log_entries"}):
        assert rows(tables, name) == [], name
    ((_, file, *latest),) = rows(tables, "metadata_log_entries")
    assert file.endswith(".metadata.json")
    assert latest == [None, None, None]


def test_a_file_with_its_partition_and_statistics(tables: Tables) -> None:
    found = rows(tables, "files", "partition", "record_count", "null_value_counts", "readable_metrics")
    by_rows = {(partition["p"], count): (nulls, metrics) for partition, count, nulls, metrics in found}
    assert by_rows.keys() == {("a", 2), (None, 1), ("a", 1)}
    nulls, metrics = by_rows["a", 2]
    assert nulls[1] == 0
    assert list(metrics) == ["id", "p", "s.x"]
    assert metrics["id"]["lower_bound"] == 1
    assert metrics["id"]["upper_bound"] == 3
    assert metrics["s.x"]["nan_value_count"] == 1
    assert metrics["p"]["lower_bound"] == "a"
    _, without = by_rows[None, 1]
    assert without["p"]["lower_bound"] is None
    assert without["p"]["null_value_count"] == 1


def test_entries_hold_the_file_as_one_value(tables: Tables) -> None:
    first, second = (s.snapshot_id for s in tables.load().metadata.snapshots)
    found = rows(tables, "entries", "status", "snapshot_id", "sequence_number", "file_sequence_number", "data_file")
    assert sorted(row[:4] for row in found) == sorted([(1, first, 1, 1), (1, first, 1, 1), (1, second, 2, 2)])
    assert {row[4]["record_count"] for row in found} == {1, 2}
    assert "readable_metrics" not in found[0][4]


def test_a_snapshot_is_looked_at_alone(tables: Tables) -> None:
    first, _ = (s.snapshot_id for s in tables.load().metadata.snapshots)
    assert sorted(rows(tables, "files", "record_count", snapshot=first)) == [(1,), (2,)]
    assert rows(tables, "manifests", "added_data_files_count", snapshot=first) == [(2,)]
    assert len(rows(tables, "manifests", "path")) == 2
    assert len(rows(tables, "all_manifests", "path")) == 3
    assert len(rows(tables, "all_files", "file_path")) == 3
    with pytest.raises(BergError, match="all_files is of all snapshots") as caught:
        rows(tables, "all_files", snapshot=first)
    assert caught.value.code is ErrorCode.INVALID


def test_manifests_sum_partitions_up(tables: Tables) -> None:
    summaries = [row for (row,) in rows(tables, "manifests", "partition_summaries")]
    seen = {(s["contains_null"], s["contains_nan"], s["lower_bound"], s["upper_bound"]) for (s,) in summaries}
    assert seen == {(False, False, "a", "a"), (True, False, "a", "a")}


def test_partitions_sum_their_files_up(tables: Tables) -> None:
    first, second = (s.snapshot_id for s in tables.load().metadata.snapshots)
    found = rows(tables, "partitions", "partition", "record_count", "file_count", "last_updated_snapshot_id")
    assert sorted(found, key=str) == sorted([({"p": "a"}, 3, 2, second), ({"p": None}, 1, 1, first)], key=str)


def test_without_partitions_there_is_no_column_for_them(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    tables.create({"id": "int"})
    tables.insert("SELECT 1 AS id")
    metadata = tables.load().metadata
    assert "partition" not in [f.name for f in metadata_table_fields("files", metadata)]
    assert next(f.name for f in metadata_table_fields("partitions", metadata)) == "record_count"
    assert rows(tables, "partitions", "record_count", "file_count") == [(1, 1)]


BUCKET = Transform.parse("bucket[4]")


def test_values_of_all_specs_share_one_struct(tables: Tables) -> None:
    loaded = tables.load()
    by_bucket = replace(
        loaded.metadata.specs[0],
        spec_id=1,
        fields=(replace(loaded.metadata.spec.fields[0], source_id=1, field_id=1001, name="b", transform=BUCKET),),
    )
    evolved = replace(
        loaded.metadata, specs=(*loaded.metadata.specs, by_bucket), default_spec_id=1, last_partition_id=1001
    )
    scan = metadata_scan("files", replace(loaded, metadata=evolved), tables.storage, columns=frozenset({"partition"}))
    connection = duckdb.connect()
    connection.register("s0_rows", scan.variables["s0_rows"])
    found = [row for (row,) in connection.execute(scan.sql).fetchall()]
    assert sorted(map(str, found)) == sorted(map(str, [{"p": "a", "b": None}] * 2 + [{"p": None, "b": None}]))


def test_a_broken_manifest_is_named(tables: Tables) -> None:
    loaded = tables.load()
    snapshot = loaded.metadata.current_snapshot()
    assert snapshot is not None
    manifest = read_manifest_list(tables.storage, snapshot, loaded.metadata)[0]
    Path(tables.storage.local_path(manifest.path)).write_bytes(b"Obj\x01nothing")
    # Another table of the same files: what was decoded is kept by its uuid.
    stranger = replace(loaded, metadata=replace(loaded.metadata, table_uuid="00000000-0000-0000-0000-000000000000"))
    for name in ("files", "all_entries", "partitions"):
        scan = metadata_scan(name, stranger, tables.storage)
        (stream,) = scan.variables.values()
        assert isinstance(stream, RowStream)
        connection = duckdb.connect()
        connection.register("s0_rows", stream)
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(scan.sql).fetchall()
        error = stream_failure(str(caught.value))
        assert error is not None
        assert error.code is ErrorCode.CORRUPT
        assert manifest.path in error.message


def test_only_wanted_columns_are_made(tables: Tables) -> None:
    scan = scan_of(tables, "files", "file_path", "record_count")
    assert [f.name for f in scan.fields] == ["file_path", "record_count"]
    (stream,) = scan.variables.values()
    assert isinstance(stream, RowStream)
    assert all(batch.schema.names == ["file_path", "record_count"] for batch in stream.batches())


def test_ids_are_distinct(tables: Tables) -> None:
    for name in METADATA_TABLES - {"changes"}:
        ids = [f.field_id for f in walk(metadata_table_fields(name, tables.load().metadata))]
        assert len(ids) == len(set(ids)), name


def test_a_bound_that_is_no_value_names_its_manifest(tables: Tables) -> None:
    table = tables.load()
    good = DataFile("/e", 1, 100, partition=("a",), lower_bounds={1: bytes(8)})
    file = DataFile("/f", 1, 100, partition=("a",), lower_bounds={1: b"no long"})
    entries = [ManifestEntry(EntryStatus.ADDED, f) for f in (good, file)]
    committed(tables, table, entries, ManifestContent.DATA)
    told = (
        r"Manifest .*/hand\.avro of snapshot .* is damaged: the lower bound of column 'id' of file /f is not the binary"
    )
    with pytest.raises(duckdb.Error, match=told + r" form of a long\.[^.]"):
        rows(tables, "files", "readable_metrics")
    assert len(rows(tables, "files", "lower_bounds")) == 2


def committed(tables: Tables, table: LoadedTable, entries: Sequence[ManifestEntry], content: ManifestContent) -> None:
    """Make ``entries`` all that the table's next snapshot holds."""
    metadata, folder = table.metadata, tables.warehouse / "db" / "t" / "metadata"
    snapshot = replace(
        metadata.snapshots[-1], snapshot_id=7, parent_id=None, manifest_list=str(folder / "hand-list.avro")
    )
    version, schema, spec = metadata.format_version, metadata.schema, metadata.spec
    encoded = encode_manifest(entries, spec, schema, version, content, 7)
    path = folder / "hand.avro"
    path.write_bytes(encoded)
    listed = describe_manifest(
        str(path), encoded, entries, spec, schema, snapshot_id=7, sequence_number=9, content=content
    )
    Path(str(snapshot.manifest_list)).write_bytes(encode_manifest_list([listed], 7, None, 9, version))
    refs = {"main": SnapshotRef(7)}
    made = replace(metadata, snapshots=(*metadata.snapshots, snapshot), current_snapshot_id=7, refs=refs)
    (folder / "v9.metadata.json").write_bytes(made.serialize())
    (folder / "version-hint.text").write_text("9")


def test_rows_of_position_delete_files(tables: Tables) -> None:
    paths = []
    for name, positions in (("d1", [3, 5]), ("d2", [8])):
        columns = {"file_path": pa.array(["/data"] * len(positions)), "pos": pa.array(positions, pa.int64())}
        numbers = (2147483546, 2147483545)
        schema = pa.schema(
            pa.field(n, a.type, metadata={"PARQUET:field_id": str(i)})
            for (n, a), i in zip(columns.items(), numbers, strict=True)
        )
        paths.append(str(tables.warehouse / f"{name}.parquet"))
        pq.write_table(pa.table(columns, schema), paths[-1])
    files = [
        DataFile(p, 1, Path(p).stat().st_size, content=FileContent.POSITION_DELETES, partition=(part,))
        for p, part in zip(paths, ("a", None), strict=True)
    ]
    entries = [ManifestEntry(EntryStatus.ADDED, file) for file in files]
    committed(tables, tables.load(), entries, ManifestContent.DELETES)
    found = rows(tables, "position_deletes")
    assert sorted(found, key=lambda row: row[1]) == [
        ("/data", 3, None, {"p": "a"}, 0, paths[0]),
        ("/data", 5, None, {"p": "a"}, 0, paths[0]),
        ("/data", 8, None, {"p": None}, 0, paths[1]),
    ]
    assert sorted(rows(tables, "position_deletes", "delete_file_path")) == [(paths[0],)] * 2 + [(paths[1],)]
    first, _, _ = (s.snapshot_id for s in tables.load().metadata.snapshots)
    assert rows(tables, "position_deletes", snapshot=first) == []


def test_positions_of_deletion_vectors(tables: Tables) -> None:
    """Several in one file, each found by its offset; where it lies is told from format version 3 on."""
    vectors = [vector(1, 5), vector(0)]
    puffin = tables.warehouse / "deletes.puffin"
    puffin.write_bytes(b"PFA1" + b"".join(vectors))
    places = [(4, len(vectors[0]), 2), (4 + len(vectors[0]), len(vectors[1]), 1)]
    entries = [
        ManifestEntry(
            EntryStatus.ADDED,
            DataFile(
                str(puffin),
                count,
                puffin.stat().st_size,
                "PUFFIN",
                FileContent.POSITION_DELETES,
                ("a",),
                referenced_data_file=f"/data{offset}",
                content_offset=offset,
                content_size=size,
            ),
        )
        for offset, size, count in places
    ]
    loaded = tables.load()
    third = replace(loaded, metadata=replace(loaded.metadata, format_version=3))
    committed(tables, third, entries, ManifestContent.DELETES)
    (first, size, _), (second, other, _) = places
    assert sorted(rows(tables, "position_deletes"), key=str) == [
        (f"/data{first}", 1, None, {"p": "a"}, 0, str(puffin), first, size),
        (f"/data{first}", 5, None, {"p": "a"}, 0, str(puffin), first, size),
        (f"/data{second}", 0, None, {"p": "a"}, 0, str(puffin), second, other),
    ]
    assert sorted(rows(tables, "position_deletes", "pos", "row"), key=str) == [(0, None), (1, None), (5, None)]
    assert rows(tables, "position_deletes", "spec_id") == [(0,)] * 3


def vector(*positions: int) -> bytes:
    """A blob of type deletion-vector-v1."""
    bitmap = (1).to_bytes(8, "little") + (0).to_bytes(4, "little") + BitMap(positions).serialize()
    checked = b"\xd1\xd3\x39\x64" + bitmap
    return len(checked).to_bytes(4, "big") + checked + zlib.crc32(checked).to_bytes(4, "big")


def test_changes_come_later(tables: Tables) -> None:
    with pytest.raises(BergError, match="'changes' is not supported yet"):
        metadata_table_fields("changes", tables.load().metadata)

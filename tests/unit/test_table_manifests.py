"""Manifests and manifest lists: what others wrote is read, what is written others read, damage is named."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zlib import compress, crc32

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.table import avro
from bergsql.engine.table.avro_nodes import BoundsMap, CountsMap
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifest_memory import memory
from bergsql.engine.table.manifest_writing import as_listed, describe_manifest, encode_manifest, encode_manifest_list
from bergsql.engine.table.manifests import ManifestColumns, read_columns, read_manifest
from tests.support.archives import unpack
from tests.support.shared import shared

STORAGE = LocalStorage()
SCHEMA = Schema(0, (NestedField(1, "id", LongType(), False), NestedField(2, "名", StringType(), False)))
SPEC = PartitionSpec(0, (PartitionField(2, 1000, "名", Transform.parse("identity")),))
ARCHIVES = [
    *shared("oracle", "spark", "tables").glob("*.tar.xz"),
    *shared("oracle", "flink", "tables").glob("*.tar.xz"),
]


def table(*specs: PartitionSpec, version: int = 2) -> TableMetadata:
    return TableMetadata(
        format_version=version,
        table_uuid=None,
        location="/t",
        last_sequence_number=0,
        last_updated_ms=0,
        last_column_id=2,
        schemas=(SCHEMA,),
        current_schema_id=0,
        specs=specs,
        default_spec_id=0,
        last_partition_id=1000,
        sort_orders=(),
        default_sort_order_id=0,
        properties={},
        current_snapshot_id=None,
        snapshots=(),
        snapshot_log=(),
        metadata_log=(),
        refs={},
    )


def a_file(**changes: Any) -> DataFile:
    return replace(
        DataFile("/t/data/a.parquet", 10, 1234, partition=("x",)),
        column_sizes={1: 100, 2: 2**40},
        value_counts={1: 10, 2: 10},
        null_counts={1: 0, 2: 3},
        lower_bounds={1: b"\1\0\0\0\0\0\0\0", 2: b"a"},
        upper_bounds={1: b"\7\0\0\0\0\0\0\0", 2: b"z" * 200},
        split_offsets=(4, 2**33),
        sort_order_id=0,
        **changes,
    )


def stored(folder: Path, data: bytes, **described: Any) -> ManifestFile:
    path = folder / f"m{len(list(folder.iterdir()))}.avro"
    path.write_bytes(data)
    return ManifestFile(str(path), len(data), **described)


# -- written by others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda p: p.name.split(".")[0])
def test_every_manifest_of_spark_and_flink(archive: Path, tmp_path: Path) -> None:
    """All values are those that another Avro reader finds; encoded again, they are the same once more."""
    unpack(archive, tmp_path)
    read = 0
    for file in tmp_path.rglob("*.metadata.json"):
        metadata = TableMetadata.parse(file.read_bytes(), file.name)
        for snapshot in metadata.snapshots:
            assert snapshot.manifest_list is not None
            listed = tmp_path / snapshot.manifest_list.removeprefix("file:/tmp/iceberg-fixtures/")
            if not listed.exists():
                continue
            here = replace(snapshot, manifest_list=str(listed))
            manifests = read_manifest_list(STORAGE, here, metadata)
            version = int(header(listed)["format-version"])
            assert records(encoded_list(snapshot, manifests, version)) == records(listed.read_bytes())
            for manifest in manifests:
                path = tmp_path / manifest.path.removeprefix("file:/tmp/iceberg-fixtures/")
                check_manifest(replace(manifest, path=str(path)), path, metadata)
                read += 1
    assert read or archive.name.startswith(("empty_table", "v3_many_types"))


def encoded_list(snapshot: Snapshot, manifests: tuple[ManifestFile, ...], version: int) -> bytes:
    return encode_manifest_list(
        manifests,
        snapshot.snapshot_id,
        snapshot.parent_id,
        snapshot.sequence_number,
        version,
        snapshot.first_row_id,
    )


def check_manifest(manifest: ManifestFile, path: Path, metadata: TableMetadata) -> None:
    entries = read_manifest(STORAGE, manifest, metadata)
    written = records(path.read_bytes())
    own = [
        replace(
            entry,
            snapshot_id=record["snapshot_id"],
            sequence_number=record.get("sequence_number"),
            file_sequence_number=record.get("file_sequence_number"),
            data_file=replace(entry.data_file, first_row_id=record["data_file"].get("first_row_id")),
        )
        for entry, record in zip(entries, written, strict=True)
    ]
    spec = metadata.spec_by_id(manifest.spec_id)
    assert spec is not None
    version = int(header(path)["format-version"])
    again = encode_manifest(own, spec, metadata.schema, version, manifest.content)
    assert records(again) == written
    assert manifest.added_snapshot_id is not None
    described = describe_manifest(
        manifest.path,
        again,
        entries,
        spec,
        metadata.schema,
        snapshot_id=manifest.added_snapshot_id,
        sequence_number=manifest.sequence_number,
        content=manifest.content,
    )
    assert replace(described, length=manifest.length, first_row_id=manifest.first_row_id) == manifest


def header(path: Path) -> dict[str, str]:
    with path.open("rb") as f:
        return dict(fastavro.reader(f).metadata)


def records(data: bytes) -> list[Any]:
    found: list[Any] = list(fastavro.reader(io.BytesIO(data)))
    for record in found:
        # An empty map and none say the same.
        parts = record.get("data_file", {})
        parts.update({k: None for k, v in parts.items() if v == []})
    return found


# -- written here ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_written_is_read_back(version: int, tmp_path: Path) -> None:
    added = ManifestEntry(EntryStatus.ADDED, a_file())
    existing = ManifestEntry(EntryStatus.EXISTING, a_file(path="/t/data/b.parquet"), 5, 3, 3)
    deleted = ManifestEntry(EntryStatus.DELETED, a_file(path="/t/data/c.parquet", partition=(None,)), 7, 2, 2)
    data = encode_manifest([added, existing, deleted], SPEC, SCHEMA, version, ManifestContent.DATA, 7)
    manifest = stored(tmp_path, data, sequence_number=9 if version > 1 else 0, added_snapshot_id=7)
    read = read_manifest(STORAGE, manifest, table(SPEC))
    if version == 1:
        expected = [replace(e, sequence_number=0, file_sequence_number=0) for e in (added, existing, deleted)]
    else:
        expected = [replace(added, sequence_number=9, file_sequence_number=9), existing, deleted]
    assert read == [replace(expected[0], snapshot_id=7), *expected[1:]]
    meta = header(Path(manifest.path))
    assert meta["format-version"] == str(version)
    assert json.loads(meta["partition-spec"]) == [
        {"name": "名", "transform": "identity", "source-id": 2, "field-id": 1000}
    ]
    assert json.loads(meta["schema"])["fields"][1]["name"] == "名"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_remembered_of_a_list_is_what_is_read(version: int, tmp_path: Path) -> None:
    entries = [ManifestEntry(EntryStatus.ADDED, a_file(partition=(value,))) for value in ("x", None)]
    of_spec = describe_manifest("/m", b"123", entries, SPEC, SCHEMA, snapshot_id=5, sequence_number=4, content=1)
    written = [
        of_spec,
        replace(of_spec, added_snapshot_id=None, first_row_id=8, added_rows_count=None, deleted_rows_count=None),
        replace(of_spec, partitions=None, key_metadata=b"k"),
        replace(of_spec, partitions=(), content=0, existing_files_count=None),
    ]
    listed = [as_listed(m, version, 6) for m in written]
    path = tmp_path / "list.avro"
    for manifests in (written, listed):
        path.write_bytes(encode_manifest_list(manifests, 6, None, 9, version))
        memory.clear()
        assert list(read_manifest_list(STORAGE, Snapshot(6, None, 9, 1, str(path), {}), table(SPEC))) == listed


def test_row_ids_are_inherited_in_order(tmp_path: Path) -> None:
    files = [a_file(path=f"/{i}", first_row_id=n) for i, n in enumerate([None, 500, None])]
    entries = [ManifestEntry(EntryStatus.ADDED, f) for f in files]
    data = encode_manifest(entries, SPEC, SCHEMA, 3, ManifestContent.DATA, 7)
    manifest = stored(tmp_path, data, first_row_id=100, added_snapshot_id=7)
    assert [e.data_file.first_row_id for e in read_manifest(STORAGE, manifest, table(SPEC))] == [100, 500, 110]


def test_deletion_vectors_keep_what_they_refer_to(tmp_path: Path) -> None:
    vector = DataFile(
        "/t/data/dv.puffin",
        3,
        99,
        "PUFFIN",
        1,
        ("x",),
        referenced_data_file="/t/data/a.parquet",
        content_offset=4,
        content_size=40,
    )
    equality = DataFile("/t/data/eq.parquet", 1, 9, "PARQUET", 2, ("x",), equality_ids=(1, 2))
    entries = [ManifestEntry(EntryStatus.ADDED, f, 7, 1, 1) for f in (vector, equality)]
    data = encode_manifest(entries, SPEC, SCHEMA, 3, ManifestContent.DELETES, 7)
    manifest = stored(tmp_path, data, content=1)
    assert [e.data_file for e in read_manifest(STORAGE, manifest, table(SPEC))] == [vector, equality]
    assert header(Path(manifest.path))["content"] == "deletes"


PARTITION_VALUES: list[tuple[IcebergType, object]] = [
    (BooleanType(), True),
    (IntegerType(), -(2**31)),
    (LongType(), 2**63 - 1),
    (FloatType(), 1.5),
    (DoubleType(), -0.1),
    (DecimalType(9, 2), Decimal("-1234567.89")),
    (DecimalType(9, 2), Decimal("1.00")),
    (DecimalType(38, 10), Decimal("-1E-10")),
    (DateType(), -141427),
    (TimeType(), 86_399_999_999),
    (TimestamptzType(), -1),
    (TimestampNsType(), 1),
    (StringType(), "a/b 北京 \U0001f600"),
    (UUIDType(), UUID(int=2**127 + 5)),
    (FixedType(3), b"\0\1\xff"),
    (FixedType(3), b"abc"),
    (BinaryType(), b""),
]


def test_partition_values_of_every_type(tmp_path: Path) -> None:
    fields = tuple(NestedField(i, f"c{i}", t, False) for i, (t, _) in enumerate(PARTITION_VALUES, 1))
    spec = PartitionSpec(
        0,
        tuple(
            PartitionField(f.field_id, 999 + f.field_id, f"{f.name}-x y", Transform.parse("identity")) for f in fields
        ),
    )
    values = tuple(v for _, v in PARTITION_VALUES)
    nothing = (None,) * len(values)
    entries = [ManifestEntry(EntryStatus.ADDED, DataFile("/a", 1, 1, partition=p), 1, 1, 1) for p in (values, nothing)]
    manifest = stored(tmp_path, encode_manifest(entries, spec, Schema(0, fields), 2))
    assert [e.data_file.partition for e in read_manifest(STORAGE, manifest, table(spec))] == [values, nothing]
    # Another reader accepts the schema, names that are no Avro names included.
    assert len(records(Path(manifest.path).read_bytes())) == 2


def test_a_source_column_that_is_gone(tmp_path: Path) -> None:
    spec = PartitionSpec(
        0,
        (
            PartitionField(77, 1000, "a", Transform.parse("identity")),
            PartitionField(78, 1001, "b", Transform.parse("day")),
            PartitionField(79, 1002, "c", Transform.parse("bucket[4]")),
        ),
    )
    entry = ManifestEntry(EntryStatus.EXISTING, DataFile("/a", 1, 1, partition=("x", 5, 3)), 1, 1, 1)
    manifest = stored(tmp_path, encode_manifest([entry], spec, SCHEMA, 2))
    assert read_manifest(STORAGE, manifest, table(spec)) == [entry]


def test_a_v1_snapshot_that_lists_its_manifests_itself(tmp_path: Path) -> None:
    spec = replace(SPEC, spec_id=3)
    data = encode_manifest([ManifestEntry(EntryStatus.ADDED, a_file(), 7)], spec, SCHEMA, 1)
    path = stored(tmp_path, data).path
    snapshot = Snapshot(7, None, 0, 0, None, {}, manifests=(path,))
    (manifest,) = read_manifest_list(STORAGE, snapshot, table(spec, version=1))
    assert (manifest.spec_id, manifest.length, manifest.has_live_files) == (3, len(data), True)
    (entry,) = read_manifest(STORAGE, manifest, table(spec, version=1))
    assert (entry.data_file.partition, entry.sequence_number) == (("x",), 0)


def test_bounds_of_partitions_in_the_list() -> None:
    spec = PartitionSpec(0, (PartitionField(1, 1000, "d", Transform.parse("identity")),))
    schema = Schema(0, (NestedField(1, "d", DoubleType(), False),))
    values = [float("nan"), None, 2.0, -0.0, 0.0]
    entries = [ManifestEntry(EntryStatus.ADDED, DataFile("/a", 1, 1, partition=(v,))) for v in values]
    described = describe_manifest("/m", b"", entries, spec, schema, snapshot_id=1, sequence_number=4)
    assert described.partitions is not None
    (summary,) = described.partitions
    assert (summary.contains_null, summary.contains_nan) == (True, True)
    assert (summary.lower, summary.upper) == (b"\0\0\0\0\0\0\0\x80", b"\0\0\0\0\0\0\0\x40")
    assert (described.added_files_count, described.added_rows_count, described.min_sequence_number) == (5, 5, 4)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=200),
    st.lists(st.tuples(st.integers(0, 2**31 - 1), st.binary(max_size=300)), max_size=20),
)
def test_maps_are_stepped_over_and_read(counts: list[tuple[int, int]], bounds: list[tuple[int, bytes]]) -> None:
    out = bytearray(b"before")
    for pairs in (counts, bounds):
        if pairs:
            avro.write_long(out, len(pairs))
        for key, value in pairs:
            avro.write_long(out, key)
            if isinstance(value, bytes):
                avro.write_bytes(out, value)
            else:
                avro.write_long(out, value)
        out.append(0)
    data = bytes(out)
    read_counts, at = CountsMap().read(data, 6)
    read_bounds, end = BoundsMap().read(data, at)
    assert end == len(data)
    assert (read_counts, read_bounds) == (dict(counts), dict(bounds))
    for read, pairs in ((read_counts, counts), (read_bounds, bounds)):
        distinct = len(dict(pairs)) == len(pairs)
        for key, value in pairs if distinct else ():
            assert read.get(key) == value
        for key in (0, 1, 63, 64, 2**31 - 1):
            assert read.get(key, "none") == dict(pairs).get(key, "none") or not distinct


# -- written by others, differently ------------------------------------------------------------------------------------

LIST_SCHEMA = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string"},
        {"name": "manifest_length", "type": "long"},
        {"name": "partition_spec_id", "type": "int"},
        {"name": "added_data_files_count", "type": ["int", "null"]},
        {"name": "extra", "type": {"type": "map", "values": ["null", {"type": "enum", "name": "e", "symbols": ["A"]}]}},
        {"name": "sequence_number", "type": "long", "default": 0},
    ],
}


def compressed(data: bytes, codec: str) -> bytes:
    """A container without compression, its blocks compressed by ``codec``."""
    made = avro.read_container(data, "it")
    out = bytearray(b"Obj\x01")
    header_ = {**made.metadata, "avro.codec": codec.encode()}
    avro.write_long(out, len(header_))
    for key, value in header_.items():
        avro.write_bytes(out, key.encode())
        avro.write_bytes(out, value)
    out += b"\0" + b"s" * 16
    for count, block in made.blocks:
        avro.write_long(out, count)
        if codec == "zstandard":
            block = pa.compress(block, codec="zstd", asbytes=True)
        elif codec == "snappy":
            block = pa.compress(block, codec="snappy", asbytes=True) + crc32(block).to_bytes(4, "big")
        elif codec == "deflate":
            block = compress(block, wbits=-15)
        avro.write_bytes(out, block)
        out += b"s" * 16
    return bytes(out)


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard", "snappy"])
def test_fields_are_found_by_name_in_any_order_and_codec(codec: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    record = {
        "manifest_path": "/m",
        "manifest_length": 5,
        "partition_spec_id": 2,
        "added_data_files_count": 3,
        "extra": {"k": "A", "l": None},
        "sequence_number": 8,
    }
    fastavro.writer(out, LIST_SCHEMA, [record] * 3, codec="null")
    path = tmp_path / "snap.avro"
    path.write_bytes(compressed(out.getvalue(), codec))
    found = read_manifest_list(STORAGE, Snapshot(1, None, 0, 0, str(path), {}), table(SPEC))
    assert found == (ManifestFile("/m", 5, 2, sequence_number=8, added_files_count=3),) * 3


def test_an_unknown_codec_is_named(tmp_path: Path) -> None:
    out = io.BytesIO()
    fastavro.writer(out, LIST_SCHEMA, [], codec="null")
    path = tmp_path / "snap.avro"
    path.write_bytes(compressed(out.getvalue(), "lzma"))
    with pytest.raises(BergError, match="its codec lzma is not known"):
        read_manifest_list(STORAGE, Snapshot(1, None, 0, 0, str(path), {}), table(SPEC))


# -- damaged -----------------------------------------------------------------------------------------------------------


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BergError, match="is missing") as caught:
        read_manifest(STORAGE, ManifestFile(str(tmp_path / "gone.avro"), 1), table(SPEC))
    assert caught.value.code is ErrorCode.NOT_FOUND


def test_partition_values_of_another_spec(tmp_path: Path) -> None:
    other = PartitionSpec(0, (PartitionField(1, 1001, "id", Transform.parse("identity")),))
    data = encode_manifest([ManifestEntry(EntryStatus.ADDED, DataFile("/a", 1, 1, partition=(5,)))], other, SCHEMA, 2)
    with pytest.raises(BergError, match="partition values are not those"):
        read_manifest(STORAGE, stored(tmp_path, data), table(SPEC))
    with pytest.raises(BergError, match="no partition spec 9"):
        read_manifest(STORAGE, stored(tmp_path, data, spec_id=9), table(SPEC))


DATA, DELETES = ManifestContent.DATA, ManifestContent.DELETES


@pytest.mark.parametrize(
    ("status", "changed", "of", "reason"),
    [
        (5, {}, DATA, "an entry neither adds a file nor keeps nor deletes it"),
        (-1, {}, DATA, "an entry neither adds a file nor keeps nor deletes it"),
        (1, {"content": 3}, DATA, "a file holds neither data nor deletes"),
        (1, {"content": 3}, DELETES, "a file holds neither data nor deletes"),
        (1, {"content": 1}, DATA, "the manifest list says that it is of data files, and it has a delete file"),
        (1, {"content": 0}, DELETES, "the manifest list says that it is of delete files, and it has a data file"),
        (1, {"record_count": -6}, DATA, "the size of a file is negative"),
        (1, {"file_size": -1}, DATA, "the size of a file is negative"),
    ],
)
def test_values_that_mean_nothing(
    status: int, changed: dict[str, Any], of: ManifestContent, reason: str, tmp_path: Path
) -> None:
    """Of one entry among others and of all of them, for a plan and for a count of rows that makes no entries."""
    good = ManifestEntry(EntryStatus.ADDED, a_file(content=1 if of == DELETES else 0), 7, 1, 1)
    bad = replace(good, status=status, data_file=replace(good.data_file, **changed))
    for entries in ([bad], [bad] * 3, [good, bad, good]):
        data = encode_manifest(entries, SPEC, SCHEMA, 2, of)
        manifest = stored(tmp_path, data, content=of, added_snapshot_id=7)
        columns = read_columns(STORAGE, manifest, table(SPEC))

        def count(columns: ManifestColumns = columns) -> list[Any]:
            return columns.fields((103, 134, 104), columns.live())

        for read in (columns.entries, count):
            with pytest.raises(BergError) as caught:
                read()
            assert caught.value.code is ErrorCode.CORRUPT
            told = f"Manifest {manifest.path} of snapshot 7 is damaged"
            assert caught.value.message.startswith(told), caught.value.message
            assert reason in caught.value.message


def test_a_list_of_manifests_of_neither_kind(tmp_path: Path) -> None:
    path = tmp_path / "snap.avro"
    path.write_bytes(encode_manifest_list([ManifestFile("/m", 1), ManifestFile("/n", 1, content=7)], 1, None, 1, 2))
    with pytest.raises(BergError, match="a manifest is neither of data files nor of delete files") as caught:
        read_manifest_list(STORAGE, Snapshot(1, None, 0, 0, str(path), {}), table(SPEC))
    assert caught.value.code is ErrorCode.CORRUPT
    assert caught.value.message.startswith(f"Manifest list {path} of snapshot 1 is damaged")


@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_damage_is_named_and_never_a_traceback(
    at: int, byte: int, cut: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = [ManifestEntry(EntryStatus.ADDED, a_file())] * 3
    good = encode_manifest(entries, SPEC, SCHEMA, 2)
    at %= len(good)
    bad = good[:at] if cut else good[:at] + bytes([byte]) + good[at + 1 :]
    manifest = stored(tmp_path_factory.mktemp("m"), bad)
    try:
        read_manifest(STORAGE, manifest, table(SPEC))
    except BergError as e:
        told = e
    else:
        return  # a byte that nothing depends on
    assert told.code is ErrorCode.CORRUPT
    assert manifest.path in told.message

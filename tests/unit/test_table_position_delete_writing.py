"""Position delete files as they are written: what is in them, and what their manifest says."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.transforms import IDENTITY
from bergsql.catalog.metadata.values import LONG
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.file_streams import stream_columns
from bergsql.engine.table.position_delete_writing import FileDeletes, write_position_deletes
from bergsql.engine.table.position_deletes import FILE_PATH, POS
from bergsql.engine.table.row_delta import RowDelta
from bergsql.engine.table.row_level_properties import DeleteFileProperties, Mode
from bergsql.engine.table.staging import Staging
from tests.support.changer import Changer
from tests.support.tables import Tables

PATH_ID, POS_ID = FILE_PATH.field_id, POS.field_id


def write(tables: Tables, deletes: list[FileDeletes], properties: Mapping[str, str] | None = None) -> list[DataFile]:
    metadata = tables.load().metadata
    found = DeleteFileProperties.of({**metadata.properties, **(properties or {})}, metadata.location)
    with Staging(tables.storage, found.files) as staging:
        return write_position_deletes(
            deletes, metadata=metadata, storage=tables.storage, staging=staging, properties=found
        )


def in_parquet(tables: Tables, file: DataFile) -> list[tuple[str, int]]:
    rows = pq.ParquetFile(tables.storage.local_path(file.path)).read().to_pylist()
    return [(r["file_path"], r["pos"]) for r in rows]


def data_file(name: str, *partition: object) -> DataFile:
    return DataFile(f"file:/t/data/{name}.parquet", 100, 1000, partition=partition)


def test_a_file_for_each_data_file(tables: Tables) -> None:
    tables.create({"id": "long"})
    b, a = data_file("b"), data_file("a" * 100)
    made = write(tables, [FileDeletes(b, BitMap([7, 3])), FileDeletes(a, BitMap([0]))])
    assert [in_parquet(tables, f) for f in made] == [[(b.path, 3), (b.path, 7)], [(a.path, 0)]]
    for f, of, least, greatest in ((made[0], b, 3, 7), (made[1], a, 0, 0)):
        assert f.content == FileContent.POSITION_DELETES
        assert f.format == "PARQUET"
        assert f.referenced_data_file == of.path
        assert f.lower_bounds == {PATH_ID: of.path.encode(), POS_ID: LONG.pack(least)}
        assert f.upper_bounds == {PATH_ID: of.path.encode(), POS_ID: LONG.pack(greatest)}
        assert f.file_size == Path(tables.storage.local_path(f.path)).stat().st_size
        assert f.sort_order_id is None
    assert [f.record_count for f in made] == [2, 1]
    assert all(f.path.endswith("-deletes.parquet") for f in made)
    assert len(tables.on_disk()) == 2 + sum("metadata" in p for p in tables.on_disk())


def test_columns_have_ids_and_hold_no_null(tables: Tables) -> None:
    tables.create({"id": "long"})
    (made,) = write(tables, [FileDeletes(data_file("a"), BitMap([1]))])
    file = pq.ParquetFile(tables.storage.local_path(made.path))
    assert [(f.name, f.nullable, f.metadata[b"PARQUET:field_id"]) for f in file.schema_arrow] == [
        ("file_path", False, b"2147483546"),
        ("pos", False, b"2147483545"),
    ]
    assert file.metadata.metadata[b"delete-type"] == b"position"


def test_a_file_for_each_partition(tables: Tables) -> None:
    """One file for all data files of a partition, of whatever spec, in the order of paths and positions."""
    tables.create({"id": "long", "p": "double"}, [("p", IDENTITY)])
    files = [data_file("z", 0.0), data_file("a", 0.0), data_file("m", -0.0), data_file("n", None)]
    deletes = [FileDeletes(f, BitMap([9, i])) for i, f in enumerate(files)]
    made = write(tables, deletes, {"write.delete.granularity": "partition"})
    z, a, m, n = (f.path for f in files)
    assert [in_parquet(tables, f) for f in made] == [
        [(a, 1), (a, 9), (z, 0), (z, 9)],
        [(m, 2), (m, 9)],
        [(n, 3), (n, 9)],
    ]
    assert made[0].referenced_data_file is None
    assert made[0].lower_bounds == {PATH_ID: a.encode()}
    assert made[0].upper_bounds == {PATH_ID: z.encode()}
    assert made[1].referenced_data_file == m
    assert [str(f.partition) for f in made] == ["(0.0,)", "(-0.0,)", "(None,)"]
    assert [Path(f.path).parent.name for f in made] == ["p=0.0", "p=-0.0", "p=null"]


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_every_format_is_read_again(file_format: str, granularity: str, tables: Tables) -> None:
    tables.create({"id": "long"}, properties={"write.delete.format.default": file_format})
    for i in range(3):
        tables.insert(f"SELECT i FROM range({1000 * i}, {1000 * i + 1000}) r(i)")
    files = tables.files()
    deletes = [FileDeletes(f, BitMap(range(i, 1000, 7))) for i, f in enumerate(files)]
    made = write(tables, deletes, {"write.delete.granularity": granularity})
    assert {f.format for f in made} == {file_format.upper()}
    assert len(made) == (3 if granularity == "file" else 1)
    if file_format != "parquet":
        columns = stream_columns(tables.storage, file_format.upper(), made[0].path, made[0].file_size)
        assert [(c.name, c.field_id) for c in columns] == [("file_path", PATH_ID), ("pos", POS_ID)]
    tables.commit(tables.load(), RowDelta((), made))
    found = [i for (i,) in Changer(tables, Mode.COPY_ON_WRITE).read()]
    gone = sum(len(d.positions) for d in deletes)
    assert len(found) == 3000 - gone


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_large_deletes_are_several_files(file_format: str, tables: Tables) -> None:
    tables.create({"id": "long"})
    properties = {"write.delete.format.default": file_format, "write.delete.target-file-size-bytes": "20000"}
    positions = BitMap(random.Random(1).sample(range(1 << 32), 30_000))
    if file_format == "orc":
        properties["write.orc.stripe-size-bytes"] = "10000"
    made = write(tables, [FileDeletes(data_file("a"), positions)], properties)
    assert len(made) > 1
    assert sum(f.record_count for f in made) == len(positions)
    assert all(f.referenced_data_file == "file:/t/data/a.parquet" for f in made)
    assert [f.lower_bounds[POS_ID] for f in made] == sorted({f.lower_bounds[POS_ID] for f in made}, key=LONG.unpack)


@pytest.mark.parametrize(
    ("properties", "codec"),
    [
        ({}, "ZSTD"),
        ({"write.parquet.compression-codec": "snappy"}, "SNAPPY"),
        ({"write.parquet.compression-codec": "snappy", "write.delete.parquet.compression-codec": "gzip"}, "GZIP"),
        ({"write.delete.parquet.compression-codec": "uncompressed"}, "UNCOMPRESSED"),
        ({"write.format.default": "avro", "write.delete.format.default": "parquet"}, "ZSTD"),
        ({"write.delete.parquet.compression-level": "9"}, "ZSTD"),
    ],
)
def test_codecs(properties: Mapping[str, str], codec: str, tables: Tables) -> None:
    tables.create({"id": "long"})
    (made,) = write(tables, [FileDeletes(data_file("a"), BitMap(range(1000)))], properties)
    file = pq.ParquetFile(tables.storage.local_path(made.path))
    assert {file.metadata.row_group(0).column(i).compression for i in range(2)} == {codec}


def test_delete_files_are_of_the_format_of_data_files(tables: Tables) -> None:
    tables.create({"id": "long"}, properties={"write.format.default": "orc"})
    (made,) = write(tables, [FileDeletes(data_file("a"), BitMap([1]))])
    assert made.format == "ORC"


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("write.delete.granularity", "row", "file, partition"),
        ("write.delete.format.default", "csv", "parquet, avro, orc"),
        ("write.delete.target-file-size-bytes", "0", "a whole number of at least 1"),
        ("write.delete.parquet.compression-codec", "zip", ""),
        ("write.delete.parquet.compression-level", "99", "a level of zstd, 1 to 22"),
    ],
)
def test_wrong_values_are_refused_by_name(key: str, value: str, takes: str) -> None:
    with pytest.raises(BergError) as raised:
        DeleteFileProperties.of({key: value}, "file:/t")
    assert raised.value.message.startswith(f"The table property '{key}' is '{value}': it takes {takes}")


def test_many_positions_take_little_room(tables: Tables) -> None:
    tables.create({"id": "long"})
    positions = BitMap(range(0, 20_000_000, 2))
    (made,) = write(tables, [FileDeletes(data_file("a"), positions)])
    assert made.record_count == 10_000_000
    assert pq.ParquetFile(tables.storage.local_path(made.path)).metadata.num_row_groups == 10


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_few_positions_of_many_data_files(file_format: str, tables: Tables) -> None:
    """What a data file costs does not hang on how many there are; its path is told once a row group."""
    tables.create({"id": "long"})
    deletes = [FileDeletes(data_file(f"{i:05d}{'x' * 100}"), BitMap(range(i % 40))) for i in range(5000)]
    properties = {"write.delete.granularity": "partition", "write.delete.format.default": file_format}
    (made,) = write(tables, deletes, properties)
    wanted = [(d.file.path, pos) for d in deletes for pos in d.positions]
    assert made.record_count == len(wanted) > 1 << 16
    assert made.lower_bounds == {PATH_ID: wanted[0][0].encode()}
    if file_format == "parquet":
        assert in_parquet(tables, made) == wanted
        paths = pq.ParquetFile(tables.storage.local_path(made.path)).metadata.row_group(0).column(0)
        assert paths.total_uncompressed_size < 2 * sum(len(d.file.path) for d in deletes)

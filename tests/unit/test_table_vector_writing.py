"""Deletion vectors as they are written: byte for byte what the specification says, and what the manifest says of them."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest
from pyroaring import BitMap

from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestEntry
from bergsql.engine.table.position_delete_writing import FileDeletes
from bergsql.engine.table.properties import WriteProperties
from bergsql.engine.table.puffin import read_vectors
from bergsql.engine.table.staging import Staging
from bergsql.engine.table.vector_writing import write_vectors
from tests.support.history.puffin import deletion_vector
from tests.support.tables import Tables


def write(tables: Tables, *positions: BitMap) -> list[DataFile]:
    metadata = tables.load().metadata
    deletes = [
        FileDeletes(DataFile(f"file:/t/data/{i}.parquet", 100, 1000, partition=(i,), spec_id=i), p)
        for i, p in enumerate(positions)
    ]
    with Staging(tables.storage, WriteProperties.of({}, metadata.location)) as staging:
        return write_vectors(deletes, storage=tables.storage, staging=staging)


SETS = [
    BitMap([0]),
    BitMap([5, 70_000, (1 << 32) - 1]),
    BitMap(range(100_000)),
    BitMap(random.Random(3).sample(range(1 << 20), 50_000)),
    BitMap(range(0, 1 << 18, 3)),
]


def test_vectors_are_read_again(tables: Tables) -> None:
    tables.create({"id": "long"}, version=3)
    made = write(tables, *SETS)
    entries = [ManifestEntry(EntryStatus.ADDED, f) for f in made]
    assert read_vectors(tables.storage, entries) == SETS


def test_one_file_holds_a_blob_for_each_data_file(tables: Tables) -> None:
    tables.create({"id": "long"}, version=3)
    made = write(tables, *SETS)
    assert len({f.path for f in made}) == 1
    data = Path(tables.storage.local_path(made[0].path)).read_bytes()
    assert data[:4] == data[-4:] == b"PFA1"
    (size,) = struct.unpack("<i", data[-12:-8])
    assert data[-8:-4] == bytes(4)
    assert data[-16 - size : -12 - size] == b"PFA1"
    footer = json.loads(data[-12 - size : -12])
    assert footer["properties"]["created-by"].startswith("bergsql ")
    for i, (f, blob) in enumerate(zip(made, footer["blobs"], strict=True)):
        path = f"file:/t/data/{i}.parquet"
        assert blob == {
            "type": "deletion-vector-v1",
            "fields": [2147483645],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": f.content_offset,
            "length": f.content_size,
            "properties": {"referenced-data-file": path, "cardinality": str(len(SETS[i]))},
        }
        assert f == DataFile(
            f.path,
            len(SETS[i]),
            len(data),
            "PUFFIN",
            content=FileContent.POSITION_DELETES,
            partition=(i,),
            spec_id=i,
            referenced_data_file=path,
            content_offset=f.content_offset,
            content_size=f.content_size,
        )


@pytest.mark.parametrize("positions", SETS[:2], ids=str)
def test_small_vectors_are_those_of_an_independent_writer(positions: BitMap, tables: Tables) -> None:
    tables.create({"id": "long"}, version=3)
    (made,) = write(tables, positions)
    data = Path(tables.storage.local_path(made.path)).read_bytes()
    assert made.content_offset is not None
    assert made.content_size is not None
    assert data[made.content_offset : made.content_offset + made.content_size] == deletion_vector(positions)


def test_runs_are_written_as_runs(tables: Tables) -> None:
    tables.create({"id": "long"}, version=3)
    (made,) = write(tables, BitMap(range(10_000_000)))
    assert made.content_size is not None
    assert made.content_size < 5000

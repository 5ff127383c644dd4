"""Rows that are deleted by their place: position delete files and deletion vectors of all kinds."""

from __future__ import annotations

import random
import resource
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap, BitMap64

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import LongType, NestedField, StringType, StructType
from bergsql.engine.duck import set_variables
from bergsql.engine.table.avro_data import AvroWriter
from bergsql.engine.table.avro_schema import record_schema
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.delete_index import DELETE_FILE_PATH_ID
from bergsql.engine.table.orc_data import OrcWriter
from bergsql.engine.table.position_deletes import FILE_PATH, POS
from bergsql.engine.table.predicate import Compare, Op
from bergsql.engine.table.roaring import plain_bits, read_roaring64
from tests.support.foreign import Table, numbered, opt
from tests.support.history.puffin import deletion_vector, write_puffin

ID = opt(1, "id", LongType())
ROW = NestedField(2147483544, "row", StructType((ID,)), False)
OTHER_ORDER = (ROW, POS, FILE_PATH)


def table_of(folder: Path, *counts: int, file_format: str = "parquet") -> Table:
    """Files of ``counts`` rows, ids counted through."""
    table = Table(folder, Schema(0, (ID,)))
    start = 0
    for count in counts:
        table.write([ID], [(start + i,) for i in range(count)], file_format)
        start += count
    return table


def delete(
    table: Table,
    rows: Iterable[tuple[str, int]],
    file_format: str = "parquet",
    fields: Sequence[NestedField] = (FILE_PATH, POS),
    *,
    ids: bool = True,
    **described: Any,
) -> DataFile:
    """A position delete file of (path, position)."""
    rows = list(rows)
    path = table.folder / f"00000-1-{uuid4()}-00001-deletes.{file_format}"
    struct_type = pa.struct([numbered("id", pa.int64(), 1)])
    by_name = {
        "file_path": pa.array([r[0] for r in rows], pa.string()),
        "pos": pa.array([r[1] for r in rows], pa.int64()),
        "row": pa.array([{"id": 0} for _ in rows], struct_type),
    }
    if file_format == "parquet":
        columns = [numbered(f.name, by_name[f.name].type, f.field_id if ids else None) for f in fields]
        pq.write_table(pa.Table.from_arrays([by_name[f.name] for f in fields], schema=pa.schema(columns)), path)
    else:
        batch = pa.RecordBatch.from_arrays([by_name[f.name] for f in fields], names=[f.name for f in fields])
        writer = (
            AvroWriter(str(path), record_schema(fields, "position_delete"), "uncompressed", None, {})
            if file_format == "avro"
            else OrcWriter(str(path), fields, "zlib", "speed", 1 << 20)
        )
        writer.write(batch)
        writer.close()
    content = FileContent.POSITION_DELETES
    file = DataFile(f"file:{path}", len(rows), path.stat().st_size, file_format.upper(), content=content, **described)
    table.deletes.append(file)
    return file


def vector(table: Table, *blobs: tuple[str, Sequence[int]], of: int = 0, **changed: Any) -> Path:
    """A Puffin file of several vectors, of which the table knows the one numbered ``of``."""
    path = table.folder / f"{uuid4()}-deletes.puffin"
    offset, size = write_puffin(path, blobs)[of]
    known: dict[str, Any] = {
        "record_count": len(set(blobs[of][1])),
        "referenced_data_file": blobs[of][0],
        "content_offset": offset,
        "content_size": size,
    } | changed
    count = known.pop("record_count")
    content = FileContent.POSITION_DELETES
    table.deletes.append(DataFile(f"file:{path}", count, path.stat().st_size, "PUFFIN", content=content, **known))
    table.version = 3
    return path


def ids(table: Table, **how: Any) -> list[int]:
    return sorted(row[0] for row in table.rows(**how))


@pytest.mark.parametrize("data_format", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("fields", [(FILE_PATH, POS), OTHER_ORDER], ids=["plain", "old"])
def test_position_deletes(data_format: str, file_format: str, fields: tuple[NestedField, ...], tmp_path: Path) -> None:
    """Several files that name one data file are united; a place named twice, or that is none, does no harm."""
    table = table_of(tmp_path, 10, 10, 10, file_format=data_format)
    first, second, _ = (f.path for f in table.files)
    delete(table, [(first, 0), (first, 9), (second, 5)], file_format, fields)
    delete(table, [(second, 6), (second, 5), (second, 10), (second, 1 << 40), (second, -1)], file_format, fields)
    delete(table, [("file:/elsewhere.parquet", 1)], file_format, fields)
    left = [i for i in range(30) if i not in {0, 9, 15, 16}]
    assert ids(table) == left
    assert ids(table, predicate=Compare("id", Op.GE, 0)) == left
    marked = table.rows(columns=frozenset({"id", "_deleted", "_pos"}))
    assert sorted(marked) == [(i, i % 10, i not in left) for i in range(30)]


def test_unsorted_deletes_of_many_files(tmp_path: Path) -> None:
    """More files than get a branch of their own, and delete files in no order at all."""
    table = table_of(tmp_path, *[20] * 70)
    places = [(f.path, i) for f in table.files for i in range(20)]
    gone = random.Random(7).sample(range(1400), 700)
    for part in (gone[:350], gone[350:]):
        delete(table, [places[i] for i in part])
    left = sorted(set(range(1400)) - set(gone))
    assert ids(table) == left
    assert sorted(table.rows(columns=frozenset({"id", "_deleted"}))) == [(i, i in set(gone)) for i in range(1400)]


def test_deletes_reach_only_what_was_there(tmp_path: Path) -> None:
    """A delete file reaches files of its own commit and older ones, not those of later commits."""
    table = table_of(tmp_path, 3, 3, 3)
    old, same, new = (f.path for f in table.files)
    file = delete(table, [(old, 0), (same, 0), (new, 0)])
    table.sequence_numbers = {old: 1, same: 2, new: 3, file.path: 2}
    assert ids(table) == [1, 2, 4, 5, 6, 7, 8]


def test_paths_are_compared_as_text(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    path = table.files[0].path
    delete(table, [(path.removeprefix("file:"), 0), (path.replace("file:", "file://"), 1), (path, 2)])
    assert ids(table) == [0, 1]


def test_deletes_of_one_file_and_of_a_partition(tmp_path: Path) -> None:
    spec = PartitionSpec(0, (PartitionField(1, 1000, "id_trunc", Transform.parse("truncate[10]")),))
    table = Table(tmp_path, Schema(0, (ID,)), spec)
    for start in (0, 10):
        table.add([numbered("id", pa.int64(), 1)], [(start + i,) for i in range(3)], partition=(start,))
    first, second = (f.path for f in table.files)
    delete(table, [(first, 0), (second, 1)], partition=(0,))  # it lies in the first one's partition
    delete(table, [(second, 2)], partition=(10,), referenced_data_file=second)
    bounds = {DELETE_FILE_PATH_ID: first.encode()}
    delete(table, [(first, 1)], partition=(0,), lower_bounds=bounds, upper_bounds=bounds)
    assert ids(table) == [2, 10, 11]


def test_a_file_of_more_rows_than_the_manifest_says(tmp_path: Path) -> None:
    table = table_of(tmp_path, 30)
    path = table.files[0].path
    table.files = [DataFile(path, 10, table.files[0].file_size)]
    delete(table, [(path, 3), (path, 20), (path, 500)])
    left = [i for i in range(30) if i not in {3, 20}]
    assert ids(table) == left
    table.add([numbered("id", pa.int64(), 1)], [(100,)])
    delete(table, [(table.files[1].path, 0)])
    assert ids(table, predicate=Compare("id", Op.GE, 0)) == left  # joined, not branches


def test_a_delete_file_that_names_no_places(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    delete(table, [(table.files[0].path, 0)], fields=(FILE_PATH,))
    with pytest.raises(
        BergError, match=r"-deletes\.parquet of snapshot 1 has no columns 'file_path' and 'pos'"
    ) as caught:
        table.rows()
    assert caught.value.code is ErrorCode.CORRUPT
    table.deletes.clear()
    delete(table, [(table.files[0].path, 0)], ids=False)
    with pytest.raises(BergError, match="has no columns"):
        table.rows()


def test_deletion_vectors(tmp_path: Path) -> None:
    """Only the blob that the manifest names counts, whatever else is in the Puffin file for the same data file."""
    table = table_of(tmp_path, 10, 10)
    first, second = (f.path for f in table.files)
    vector(table, (first, [1, 2]), (first, [1, 2, 3, 4]), (second, [0]), of=1)
    left = [i for i in range(20) if i not in {1, 2, 3, 4}]
    assert ids(table) == left
    wanted = frozenset({"id", "_row_id", "_last_updated_sequence_number"})
    assert sorted(table.rows(columns=wanted)) == [(i, i, 1) for i in left]


def test_a_vector_stands_alone(tmp_path: Path) -> None:
    """Position delete files from before the upgrade do not count beside a vector, which holds what they deleted."""
    table = table_of(tmp_path, 4, 4)
    first, second = (f.path for f in table.files)
    delete(table, [(first, 0), (second, 0)])
    vector(table, (first, [1]))
    assert ids(table) == [0, 2, 3, 5, 6, 7]
    vector(table, (first, [2]))
    with pytest.raises(BergError, match="has 2 deletion vectors, but may have only one") as caught:
        table.rows()
    assert caught.value.code is ErrorCode.CORRUPT


def test_a_vector_of_an_older_commit_than_its_file(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    path = vector(table, (table.files[0].path, [0]))
    table.sequence_numbers = {table.files[0].path: 2, f"file:{path}": 1}
    assert ids(table) == [0, 1, 2]


def test_a_vector_of_no_data_file(tmp_path: Path) -> None:
    """Bounds of paths do not stand for the data file of a vector, and do not keep it from the one it is of."""
    table = table_of(tmp_path, 3, 3)
    first, second = (f.path for f in table.files)
    for bounds in ({}, {DELETE_FILE_PATH_ID: first.encode()}):
        table.deletes.clear()
        path = vector(table, (first, [0]), referenced_data_file=None, lower_bounds=bounds, upper_bounds=bounds)
        with pytest.raises(
            BergError, match="the manifest does not say of which data file its deletion vector"
        ) as caught:
            table.rows()
        assert caught.value.code is ErrorCode.CORRUPT
        assert caught.value.message.startswith(f"Puffin file file:{path} of snapshot 1 is damaged: ")
    table.deletes.clear()
    bounds = {DELETE_FILE_PATH_ID: second.encode()}
    vector(table, (first, [0]), lower_bounds=bounds, upper_bounds=bounds)
    vector(table, (second.replace("file:", "file://"), [1]))
    assert ids(table) == [1, 2, 3, 4, 5]


def test_a_delete_file_of_an_unknown_format(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    file = DataFile("file:/d.x", 1, 9, "LANCE", content=FileContent.POSITION_DELETES)
    table.deletes.append(file)
    table.sequence_numbers = {file.path: 2}
    told = "Reading the LANCE position delete file file:/d.x of snapshot 1 of table .* is not supported yet"
    with pytest.raises(BergError, match=told):
        table.rows()


def test_positions_behind_the_last_row(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    vector(table, (table.files[0].path, [0, 3, 70_000, 1 << 31, 1 << 32, 1 << 50]))
    assert ids(table) == [1, 2]


def frame(body: bytes, *, magic: bytes = b"\xd1\xd3\x39\x64") -> bytes:
    checked = magic + body
    return struct.pack(">i", len(checked)) + checked + struct.pack(">I", zlib.crc32(checked))


GOOD = deletion_vector([0, 1])


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "the checksum of its deletion vector is wrong"),
        (GOOD[:20] + bytes([GOOD[20] ^ 1]) + GOOD[21:], "the checksum of its deletion vector is wrong"),
        (frame(GOOD[8:-4], magic=b"\x64\x39\xd3\xd1"), "there is no deletion vector where the manifest says"),
        (struct.pack(">i", 5) + GOOD[4:], "its deletion vector has another length than the manifest says"),
        (frame(b"\1"), "its deletion vector is no bitmap"),
        (frame(GOOD[8:-5]), "its deletion vector is no bitmap"),
        (frame(struct.pack("<q", 1 << 40)), "its deletion vector is no bitmap"),
        (deletion_vector([0, 1, 2]), "its deletion vector has 3 rows, not 2"),
        (frame(struct.pack("<q", 0)), "its deletion vector has 0 rows, not 2"),
    ],
)
def test_damaged_vectors(blob: bytes, reason: str, tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    path = vector(table, (table.files[0].path, [0, 1]), content_size=len(blob))
    path.write_bytes(b"PFA1" + blob + path.read_bytes()[4 + len(GOOD) :])
    with pytest.raises(BergError, match=reason) as caught:
        table.rows()
    assert caught.value.code is ErrorCode.CORRUPT
    assert caught.value.message.startswith(f"Puffin file file:{path} of snapshot 1 is damaged: ")


def test_puffin_files_that_are_cut_off_or_gone(tmp_path: Path) -> None:
    table = table_of(tmp_path, 3)
    path = vector(table, (table.files[0].path, [0, 1]))
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(BergError, match=f"Puffin file file:{path} of snapshot 1 is damaged: it is cut off"):
        table.rows()
    path.unlink()
    with pytest.raises(BergError, match=f"Puffin file file:{path} of snapshot 1 is missing") as caught:
        table.rows()
    assert caught.value.code is ErrorCode.NOT_FOUND
    table.deletes.clear()
    vector(table, (table.files[0].path, [0]), content_offset=None)
    with pytest.raises(BergError, match="the manifest does not say where its deletion vector lies"):
        table.rows()


def bits_of(positions: Iterable[int]) -> bytes:
    bits = bytearray()
    for position in sorted(positions):
        bits += bytes((position >> 3) + 1 - len(bits))
        bits[position >> 3] |= 128 >> (position & 7)
    return bytes(bits)


STRIPES = [p for p in range(1 << 16) if 0x33 >> (p & 7) & 1]
SETS: dict[str, Iterable[int]] = {
    "nothing": [],
    "array": [0, 7, 8, 65_535, 65_536, 900_000],
    "runs": range(150_000),
    "runs apart": [i for start in range(0, 1 << 20, 70_000) for i in range(start, start + 5000)],
    "bits": random.Random(1).sample(range(300_000), 100_000),
    "even": range(0, 200_000, 2),
    "odd": range(1, 200_000, 2),
    "all kinds of stripes": [*range(0, 1 << 16, 2), *(p + (1 << 16) for p in STRIPES), 3 << 16],
}


@pytest.mark.parametrize("name", SETS)
def test_all_containers(name: str) -> None:
    positions = BitMap64(SETS[name])
    for optimized in (False, True):
        if optimized:
            positions.run_optimize()
        found, count = read_roaring64(positions.serialize())
        assert (found, count) == (BitMap(SETS[name]), len(positions))
        assert plain_bits(found) == bits_of(positions)


def test_the_bits_are_as_duckdb_counts_them(tmp_path: Path) -> None:
    table = table_of(tmp_path, 100_000)
    gone = set(random.Random(3).sample(range(100_000), 20_000))
    vector(table, (table.files[0].path, sorted(gone)))
    assert ids(table) == [i for i in range(100_000) if i not in gone]


def test_nothing_is_looked_up_before_the_query_runs(tmp_path: Path) -> None:
    """A plan does not read delete files; what it makes of them is seen by its own cursor only, and goes with it."""
    table = table_of(tmp_path, 3, 3)
    for file in table.files:
        delete(table, [(file.path, 0)])
    scan = table.scan(predicate=Compare("id", Op.GE, 0))
    with duckdb.connect() as connection:
        cursor = connection.cursor()
        set_variables(cursor, scan.variables)
        assert sorted(cursor.execute(scan.sql).fetchall()) == [(1,), (2,), (4,), (5,)]
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


def test_names_that_columns_of_ours_have(tmp_path: Path) -> None:
    """A table may call its columns as the places of rows are called in DuckDB and here."""
    names = ["file_index", "file_row_number", "file_pos", "deleted", "bits", "length", "of_file", "filename"]
    table = Table(tmp_path, Schema(0, tuple(opt(i, n, StringType()) for i, n in enumerate(names, 1))))
    for numbers in (True, False):
        columns = [numbered(n, pa.string(), i if numbers else None) for i, n in enumerate(names, 1)]
        table.add(columns, [tuple(f"{n}{row}" for n in names) for row in range(3)])
    delete(table, [(f.path, 1) for f in table.files])
    rows = [tuple(f"{n}{row}" for n in names) for row in (0, 2)] * 2
    assert sorted(table.rows()) == sorted(rows)
    assert sorted(table.rows(predicate=Compare("bits", Op.NE, "x"))) == sorted(rows)
    assert sorted({row[-1] for row in table.rows(columns=frozenset({*names, "_pos"}))}) == [0, 2]


# --- vectors that are made to do harm ---------------------------------------------------------------------------------


def run_bitmap(*runs: tuple[int, int], key: int = 0) -> bytes:
    """A 32-bit bitmap of one container of runs, each of (start, length less one)."""
    written = b"".join(struct.pack("<HH", *run) for run in runs)
    size = (sum(more + 1 for _, more in runs) - 1) & 0xFFFF
    return struct.pack("<IBHHH", 12347, 1, key, size, len(runs)) + written


def in_64_bits(*parts: bytes, keys: Sequence[int] = (0,), count: int | None = None) -> bytes:
    head = struct.pack("<Q", len(parts) if count is None else count)
    return head + b"".join(struct.pack("<I", k) + p for k, p in zip(keys, parts, strict=True))


def bits_bitmap(claimed: int) -> bytes:
    return struct.pack("<IIHHI", 12346, 1, 0, claimed - 1, 16) + b"\xff" * 8192


@pytest.mark.parametrize(
    "data",
    [
        in_64_bits(run_bitmap((60_000, 60_000))),
        in_64_bits(run_bitmap((5, 10), (7, 3))),
        in_64_bits(bits_bitmap(5_000)),
        in_64_bits(run_bitmap((0, 9)), run_bitmap((0, 9)), keys=(7, 3)),
        in_64_bits(run_bitmap((0, 9)), count=1 << 63),
        in_64_bits(run_bitmap((0, 9)), count=2),
        in_64_bits(struct.pack("<II", 12346, 0xFFFFFFFF)),
        in_64_bits(struct.pack("<I", 12347 | 0xFFFF << 16)),
        in_64_bits(b"\0\0\0\0"),
        in_64_bits(b""),
    ],
    ids=[
        "runs go too far",
        "runs overlap",
        "bits",
        "order",
        "many",
        "cut",
        "containers",
        "run flags",
        "cookie",
        "empty",
    ],
)
def test_bitmaps_that_would_lead_out_of_memory_are_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(its|it|a) "):
        read_roaring64(data)


def test_whole_bitmaps_are_bitmaps() -> None:
    assert read_roaring64(in_64_bits(run_bitmap((5, 10))))[0] == BitMap(range(5, 16))
    chance = random.Random(5)
    for many in (1, 3, 4, 5, 70):
        found = BitMap()
        for key in range(many):
            begin = key << 16
            found |= BitMap(range(begin, begin + chance.randrange(1, 65_536)))
            found |= BitMap(begin + chance.randrange(65_536) for _ in range(chance.choice((1, 9000))))
        for runs in (False, True):
            if runs:
                found.run_optimize()
            assert read_roaring64(in_64_bits(found.serialize())) == (found, len(found))


def test_a_vector_of_billions_takes_the_memory_of_its_file(tmp_path: Path) -> None:
    """All positions below 2^32 are deleted, and the manifest agrees: the ten rows that there are go, and no more."""
    table = table_of(tmp_path, 10)
    whole = BitMap(range(1 << 32))
    body = b"\xd1\xd3\x39\x64" + in_64_bits(whole.serialize())
    blob = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    path = tmp_path / "billions-deletes.puffin"
    path.write_bytes(b"PFA1" + blob)
    of = table.files[0]
    table.files[0] = replace(of, record_count=1 << 62)
    where: dict[str, Any] = {"referenced_data_file": of.path, "content_offset": 4, "content_size": len(blob)}
    content = FileContent.POSITION_DELETES
    table.deletes.append(DataFile(f"file:{path}", 1 << 32, 4, "PUFFIN", content=content, **where))
    table.version = 3
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert ids(table) == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB

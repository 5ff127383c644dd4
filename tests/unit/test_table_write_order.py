"""Tables with a sort order: the rows of each file are in it, and the file says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc

from bergsql.catalog.metadata.changes import AddSortOrder, SetDefaultSortOrder
from bergsql.catalog.metadata.sort import ASC, DESC, NULLS_FIRST, NULLS_LAST, SortBy, build_order
from bergsql.catalog.metadata.transforms import DAY, IDENTITY, Transform, bucket, truncate
from bergsql.engine.table import many_partitions
from bergsql.engine.table.datafile import DataFile
from tests.support.tables import Columns, Tables

TYPES: Columns = {
    "i": "long",
    "s": "string",
    "ts": "timestamptz",
    "p": {"type": "struct", "fields": [{"id": 90, "name": "x", "type": "int", "required": False}]},
}
ROWS = (
    "SELECT CASE WHEN i % 11 > 0 THEN hash(i) % 1000 END, chr(97 + (hash(i + 1) % 26)::INT), "
    "make_timestamptz((hash(i + 2) % 864000000000)::BIGINT), struct_pack(x := (i % 7)::INT) FROM range({n}) t(i)"
)


def create(
    tables: Tables,
    keys: Sequence[SortBy],
    by: Sequence[tuple[str, Transform]] = (),
    properties: Mapping[str, str] | None = None,
    columns: Columns = TYPES,
) -> None:
    table = tables.create(columns, by, properties)
    tables.catalog.commit(table, [AddSortOrder(build_order(table.metadata.schema, keys)), SetDefaultSortOrder()])


def assert_ordered(file: DataFile, by: str) -> None:
    """The file's rows are as they would be if they were sorted by ``by``, terms set apart by semicolons."""
    keys = ", ".join(term.split()[0] for term in by.split(";"))
    read = f"SELECT {keys} FROM read_parquet(?, file_row_number = true, hive_partitioning = false) ORDER BY "
    there, ordered = (
        pa.table(duckdb.sql(read + order, params=[file.path])) for order in ("file_row_number", by.replace(";", ","))
    )
    assert there.equals(ordered)
    assert file.sort_order_id == 1


def test_the_rows_of_each_file_are_in_order(tables: Tables) -> None:
    create(tables, [SortBy("i", IDENTITY, DESC, NULLS_LAST), SortBy("s", IDENTITY)])
    tables.insert(ROWS.format(n=400_000))
    (file,) = tables.files()
    assert_ordered(file, "i DESC NULLS LAST; s ASC NULLS FIRST")


def test_rolled_files_are_in_order(tables: Tables) -> None:
    create(tables, [SortBy("i", IDENTITY, ASC, NULLS_FIRST)], properties={"write.target-file-size-bytes": "1000000"})
    tables.insert(ROWS.format(n=500_000))
    files = tables.files()
    assert len(files) > 2
    for file in files:
        assert_ordered(file, "i ASC NULLS FIRST")


@pytest.mark.parametrize(
    ("key", "term"),
    [
        (SortBy("s", truncate(1), DESC), "left(s,1) DESC NULLS FIRST"),
        (SortBy("ts", DAY), "ts::DATE ASC NULLS FIRST"),
        (SortBy("p.x", IDENTITY, ASC, NULLS_LAST), "p.x ASC NULLS LAST"),
    ],
    ids=["truncate", "day", "nested"],
)
def test_transforms_and_nested_columns_order_too(tables: Tables, key: SortBy, term: str) -> None:
    create(tables, [key])
    tables.duck.set("timezone", "UTC")
    duckdb.execute("SET timezone = 'UTC'")
    tables.insert(ROWS.format(n=5000))
    assert tables.rows(select="count(*)") == [(5000,)]
    for file in tables.files():
        assert_ordered(file, term)
        names = duckdb.execute("SELECT name FROM parquet_schema(?)", [file.path]).fetchall()
        assert {n for (n,) in names[1:]} == {"i", "s", "ts", "p", "x"}


@pytest.mark.parametrize("size", ["536870912", "300000"], ids=["one file", "rolled"])
def test_the_rows_of_each_file_of_a_partition_are_in_order(tables: Tables, size: str) -> None:
    create(
        tables,
        [SortBy("i", IDENTITY, DESC, NULLS_LAST), SortBy("ts", IDENTITY)],
        [("k", IDENTITY)],
        {"write.target-file-size-bytes": size},
        {**TYPES, "k": "int"},
    )
    tables.insert(
        f"SELECT *, CASE WHEN hash(ts) % 4 > 0 THEN hash(ts) % 4 END FROM ({ROWS.format(n=700_000)}) AS q(i, s, ts, p)"
    )
    assert tables.rows(select="count(*)") == [(700_000,)]
    partitions: dict[object, list[DataFile]] = {}
    for file in tables.files():
        assert_ordered(file, "i DESC NULLS LAST; ts ASC NULLS FIRST")
        partitions.setdefault(file.partition[0], []).append(file)
    assert set(partitions) == {None, 1, 2, 3}
    for k, files in partitions.items():
        assert (len(files) > 2) == (size == "300000")
        spans = [(f.lower_bounds[1], f.upper_bounds[1]) for f in files if 1 in f.lower_bounds]
        ends = sorted((int.from_bytes(low, "little"), int.from_bytes(high, "little")) for low, high in spans)
        assert all(high <= low for (_, high), (low, _) in pairwise(ends)), k


@pytest.mark.parametrize("file_format", ["avro", "orc"])
def test_files_of_partitions_are_in_order_in_every_format(tables: Tables, file_format: str) -> None:
    create(
        tables,
        [SortBy("i", IDENTITY), SortBy("s", IDENTITY)],
        [("p.x", bucket(3))],
        {"write.format.default": file_format, "write.target-file-size-bytes": "60000"},
    )
    tables.insert(ROWS.format(n=100_000))
    files = tables.files()
    assert len(files) > 4
    for file in files:
        path = Path(tables.storage.local_path(file.path))
        if file_format == "orc":
            rows = orc.read_table(path).to_pylist()
        else:
            with path.open("rb") as source:
                rows = list(fastavro.reader(source))
        there = [(-1 if r["i"] is None else r["i"], r["s"]) for r in rows]
        assert there == sorted(there)
        assert file.sort_order_id == 1
        assert len(there) == file.record_count
    assert sum(f.record_count for f in files) == 100_000


@pytest.mark.parametrize("portions", [False, True], ids=["one COPY", "in portions"])
def test_many_partitions_are_in_order(tables: Tables, monkeypatch: pytest.MonkeyPatch, portions: bool) -> None:
    if portions:
        monkeypatch.setattr(many_partitions, "MOST_FILES", 20)
        monkeypatch.setattr(many_partitions, "_LOOK_EVERY", 0.001)
        monkeypatch.setattr(many_partitions, "PORTIONS", 16)
    create(tables, [SortBy("s", truncate(1), DESC), SortBy("ts", DAY)], [("i", truncate(10)), ("p.x", truncate(4))])
    tables.duck.set("timezone", "UTC")
    duckdb.execute("SET timezone = 'UTC'")
    tables.insert(ROWS.format(n=100_000))
    files = tables.files()
    assert len(files) == 202
    assert sum(f.record_count for f in files) == 100_000
    for file in files:
        assert_ordered(file, "left(s,1) DESC NULLS FIRST; ts::DATE ASC NULLS FIRST")


def test_little_memory_is_enough_to_order_partitions(tables: Tables, tmp_path: Path) -> None:
    create(tables, [SortBy("i", IDENTITY)], [("p.x", IDENTITY)])
    tables.duck.set("temp_directory", str(tmp_path / "spilled"))
    tables.duck.set("memory_limit", "100MB")
    tables.insert(f"SELECT i, repeat(s, 400), ts, p FROM ({ROWS.format(n=400_000)}) AS q(i, s, ts, p)")
    files = tables.files()
    assert len(files) == 7
    assert sum(f.record_count for f in files) == 400_000
    for file in files:
        assert_ordered(file, "i ASC NULLS FIRST")


def test_without_an_order_files_say_so(tables: Tables) -> None:
    tables.create(TYPES)
    tables.insert(ROWS.format(n=10))
    assert [f.sort_order_id for f in tables.files()] == [0]

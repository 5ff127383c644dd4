"""Tables with a sort order: the rows of each file are in it, and the file says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pytest

from bergsql.catalog.metadata.changes import AddSortOrder, SetDefaultSortOrder
from bergsql.catalog.metadata.sort import ASC, DESC, NULLS_FIRST, NULLS_LAST, SortBy, build_order
from bergsql.catalog.metadata.transforms import DAY, IDENTITY, Transform, truncate
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
) -> None:
    table = tables.create(TYPES, by, properties)
    tables.catalog.commit(table, [AddSortOrder(build_order(table.metadata.schema, keys)), SetDefaultSortOrder()])


def assert_ordered(file: DataFile, by: str) -> None:
    """The file's rows are as they would be if they were sorted by ``by``, terms set apart by semicolons."""
    keys = ", ".join(term.split()[0] for term in by.split(";"))
    read = f"SELECT {keys} FROM read_parquet(?, file_row_number = true) ORDER BY "
    there = duckdb.execute(read + "file_row_number", [file.path]).fetchall()
    assert there == duckdb.execute(read + by.replace(";", ","), [file.path]).fetchall()
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


def test_files_of_partitions_are_in_no_order_and_say_so(tables: Tables) -> None:
    create(tables, [SortBy("i", IDENTITY)], [("s", IDENTITY)])
    tables.insert(ROWS.format(n=1000))
    assert {f.sort_order_id for f in tables.files()} == {0}


def test_without_an_order_files_say_so(tables: Tables) -> None:
    tables.create(TYPES)
    tables.insert(ROWS.format(n=10))
    assert [f.sort_order_id for f in tables.files()] == [0]

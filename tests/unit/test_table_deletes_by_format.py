"""Deletes of every kind over data files of every format, side by side: what is left, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import IntegerType, LongType, MapType, NestedField, StringType, StructType
from bergsql.catalog.metadata.values import to_bytes
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.predicate import Compare, Op, all_of
from tests.support.foreign import Table, opt, with_ids
from tests.support.history.puffin import write_puffin
from tests.support.parquet_edit import CONVERTED, LOGICAL, Struct, edit

LONG, INT, TEXT = LongType(), IntegerType(), StringType()
ID, NAME_ = opt(1, "id", LONG), opt(2, "name", TEXT)
PART = opt(3, "s", StructType((opt(4, "x", INT), opt(5, "y", TEXT))))
MAP = opt(6, "m", MapType(7, TEXT, 8, INT, False))
FIELDS = (ID, NAME_, PART, MAP)
ROWS = 9000
"""Of a file: more than a stream's batch and than DuckDB's vectors."""
KINDS = ["parquet", "avro", "orc", "old parquet"]
HOW = ["positions", "vectors", "keys", "positions and keys", "vectors and keys"]


def row(i: int) -> tuple[Any, ...]:
    return (i, None if i % 7 == 0 else f"n{i % 50}", None if i % 5 == 0 else {"x": i, "y": "t"}, [("k", i)])


def called_key_value(elements: list[Struct]) -> list[Struct]:
    for e in elements:
        if e.get(CONVERTED) == (5, 1):
            e[CONVERTED] = (5, 2)
            e.pop(LOGICAL, None)
    return elements


def table_of(folder: Path, formats: Sequence[str]) -> Table:
    """A file of each format, ids counted through, with the bounds of their ids."""
    table = Table(folder, Schema(0, FIELDS))
    for n, kind in enumerate(formats):
        first = n * ROWS
        path = table.write(FIELDS, [row(first + i) for i in range(ROWS)], kind.rpartition(" ")[2])
        if kind == "old parquet":
            edit(path, called_key_value)
        table.files.pop()
        low, high = (to_bytes(LONG, v) for v in (first, first + ROWS - 1))
        figures: dict[str, Any] = {"lower_bounds": {1: low}, "upper_bounds": {1: high}}
        table.listed(path, ROWS, format=kind.rpartition(" ")[2].upper(), **figures)
        table.sequence_numbers[table.files[-1].path] = 0
    return table


def positions(n: int) -> list[int]:
    """The places that are deleted of the file ``n``; none of the last."""
    return [] if n == 4 else [0, 1, 5, 2047, 2048, 8191, 8192, 8193, ROWS - 1, *range(100 + n, 4000, 17)]


KEYS = [("n3", 4), ("n49", None), (None, 14), ("n1", 10_001)]
"""Of ``name`` and ``s.x``: what is NULL deletes what is NULL."""


def delete_places(table: Table, vectors: bool) -> None:
    for n, file in enumerate(list(table.files)):
        places = positions(n)
        if not places:
            continue
        kind, content = "PARQUET", FileContent.POSITION_DELETES
        more: dict[str, Any] = {}
        if vectors:
            path = table.folder / f"{uuid4()}.puffin"
            [(offset, size)] = write_puffin(path, [(file.path, places)])
            kind, more = "PUFFIN", {"referenced_data_file": file.path, "content_offset": offset, "content_size": size}
        else:
            path = table.folder / f"{uuid4()}-deletes.parquet"
            held = {"file_path": [file.path] * len(places), "pos": places}
            columns = [
                with_ids(NestedField(2147483546, "file_path", TEXT, True)),
                with_ids(NestedField(2147483545, "pos", LONG, True)),
            ]
            pq.write_table(pa.table(held, schema=pa.schema(columns)), path)
        table.deletes.append(DataFile(f"file:{path}", len(places), path.stat().st_size, kind, content, **more))


def delete_keys(table: Table) -> None:
    path = table.folder / f"{uuid4()}-keys.parquet"
    held = [{"name": name, "s": None if x is None else {"x": x}} for name, x in KEYS]
    part = opt(3, "s", StructType((opt(4, "x", INT),)))
    pq.write_table(pa.Table.from_pylist(held, schema=pa.schema([with_ids(NAME_), with_ids(part)])), path)
    content = FileContent.EQUALITY_DELETES
    table.deletes.append(
        DataFile(f"file:{path}", len(held), path.stat().st_size, "PARQUET", content, equality_ids=(2, 4))
    )


@pytest.fixture(scope="module", params=HOW)
def deleted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Table, list[tuple[int, int, bool]]]:
    """A table, and of each of its rows (in order): its id, its place, and whether it is deleted."""
    table = table_of(tmp_path_factory.mktemp("table"), [*KINDS, "avro"])
    how = request.param
    table.version = 3 if "vectors" in how else 2
    if "keys" not in how or " " in how:
        delete_places(table, "vectors" in how)
    if "keys" in how:
        delete_keys(table)
    model = []
    for n in range(len(table.files)):
        places = set(positions(n)) if how != "keys" else set()
        for i in range(ROWS):
            number, name, part, _ = row(n * ROWS + i)
            key = (name, None if part is None else part["x"])
            model.append((number, i, i in places or ("keys" in how and key in KEYS)))
    assert len({d for _, _, d in model}) == 2
    return table, model


Deleted = tuple[Table, list[tuple[int, int, bool]]]


def test_all_columns(deleted: Deleted) -> None:
    table, model = deleted
    found = sorted(table.rows())
    assert found == [(i, n, p, dict(m)) for i, n, p, m in (row(i) for i, _, gone in model if not gone)]


@pytest.mark.parametrize("column", ["id", "name", "s", "m"])
def test_one_column(deleted: Deleted, column: str) -> None:
    table, model = deleted
    place = ["id", "name", "s", "m"].index(column)
    found = table.selected(f"SELECT {column} FROM %s", columns=frozenset({column}))
    expected = [row(i)[place] for i, _, gone in model if not gone]
    if column == "m":
        expected = [dict(v) for v in expected]
    assert sorted(map(str, (v for (v,) in found))) == sorted(map(str, expected))


def test_no_column(deleted: Deleted) -> None:
    table, model = deleted
    left = sum(not gone for *_, gone in model)
    assert table.selected("SELECT COUNT(*) FROM %s") == [(left,)]
    assert table.selected("SELECT COUNT(*) FROM %s", columns=frozenset({"_deleted"})) == [(len(model),)]


def test_places(deleted: Deleted) -> None:
    table, model = deleted
    asked = frozenset({"id", "_pos", "_deleted"})
    assert sorted(table.rows(columns=asked)) == model
    assert sorted(table.rows(columns=asked - {"_deleted"})) == [(i, p) for i, p, gone in model if not gone]
    assert sorted(table.rows(columns=frozenset({"_pos"}))) == sorted((p,) for _, p, gone in model if not gone)
    files = table.selected(
        "SELECT _file, MIN(id), COUNT(*) FROM %s GROUP BY 1 ORDER BY 2",
        columns=asked - {"_pos", "_deleted"} | {"_file"},
    )
    counts = [sum(not gone for *_, gone in model[n * ROWS : (n + 1) * ROWS]) for n in range(len(table.files))]
    assert [(path, count) for path, _, count in files] == [
        (f.path, c) for f, c in zip(table.files, counts, strict=True)
    ]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (2040, 2050), (ROWS - 2, ROWS + 2), (3 * ROWS + 90, 4 * ROWS + 200), (10**6, 10**7)]
)
def test_a_range(deleted: Deleted, low: int, high: int) -> None:
    """Files that cannot hold it are left out; the rows are the same."""
    table, model = deleted
    predicate = Compare("id", Op.GE, low), Compare("id", Op.LE, high)
    where = f"WHERE id BETWEEN {low} AND {high}"
    asked: dict[str, Any] = {"predicate": all_of(*predicate), "columns": frozenset({"id", "_pos", "name"})}
    found = table.selected(f"SELECT id, _pos FROM %s {where} ORDER BY id", **asked)
    assert found == [(i, p) for i, p, gone in model if low <= i <= high and not gone]
    [(count,)] = table.selected(f"SELECT COUNT(*) FROM %s {where} AND name IS NULL", **asked)
    assert count == sum(low <= i <= high and not gone and i % 7 == 0 for i, _, gone in model)

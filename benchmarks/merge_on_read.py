"""Scans of tables with deleted rows: 20 million rows in 20 files, against DuckDB's ``read_parquet`` of the same files.

``python benchmarks/merge_on_read.py [ROWS] [--runs N] [--only TEXT]``: deletes of 1 % and 10 % of the rows, as
position delete files and as deletion vectors, in every file and in 4 of them. Each run plans the scan anew and looks
the deletes up. The goals are of CPU, minima of runs by turns. The last line compares the ratio with 2,000 small files,
all with deletes, to that with 20. About three minutes.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb

from bergsql.catalog.lru import Lru
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
)
from bergsql.engine.duck import set_variables
from bergsql.engine.table import deleted_positions, deleted_rows
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.delete_index import DELETE_FILE_PATH_ID
from bergsql.engine.table.predicate import Compare, Op, Predicate, all_of
from bergsql.engine.table.scan import build_scan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Ratio, by_turns
from tests.support.foreign import STORAGE, Table, opt
from tests.support.history.puffin import write_puffin

FILES, SOME = 20, 4
FIELDS = (
    opt(1, "id", LongType()),
    opt(2, "day", DateType()),
    opt(3, "cat", StringType()),
    opt(4, "name", StringType()),
    opt(5, "n", IntegerType()),
    opt(6, "price", DoubleType()),
    opt(7, "amount", DecimalType(12, 2)),
    opt(8, "flag", BooleanType()),
)
SOURCE = """SELECT {start} + i AS id, DATE '2024-01-01' AS day, 'cat-' || (i * 7919 % 100) AS cat,
    'name of row ' || (i * 104729 % 1000003) AS name, CAST(i * 31 % 1000 AS INTEGER) AS n,
    CAST(i * 2654435761 % 1000000007 AS DOUBLE) / 7 AS price, CAST(i % 100000 AS DECIMAL(12, 2)) AS amount,
    i % 3 = 0 AS flag FROM range({rows}) AS r(i)"""
WIDE = "COUNT(id), MAX(day), MAX(cat), MAX(name), SUM(n), SUM(price), SUM(amount), COUNT(CASE WHEN flag THEN 1 END)"
QUERIES: dict[str, tuple[str, frozenset[str]]] = {
    "sum": ("SELECT SUM(price) FROM {t}", frozenset({"price"})),
    "wide": (f"SELECT {WIDE} FROM {{t}}", frozenset(f.name for f in FIELDS)),
    "id range": ("SELECT COUNT(*), SUM(price) FROM {t} WHERE id BETWEEN {low} AND {high}", frozenset({"id", "price"})),
    "cat =": ("SELECT COUNT(*), SUM(price) FROM {t} WHERE cat = 'cat-7'", frozenset({"cat", "price"})),
}
GOALS = {
    0: {"sum": 1.05, "wide": 1.05, "id range": 1.3, "cat =": 1.05},
    SOME: {"sum": 1.3, "wide": 1.05, "id range": 1.4, "cat =": 1.1},
    FILES: {"sum": 1.8, "wide": 1.15, "id range": 1.8, "cat =": 1.4},
}


def clean(folder: Path, files: int, rows: int) -> Table:
    """A table of files of ``rows`` rows each, with the bounds of their ids."""
    table = Table(folder, Schema(0, FIELDS))
    ids = ", ".join(f"{f.name}: {f.field_id}" for f in FIELDS)
    for k in range(files):
        path = folder / f"00000-{k}-00000000-0000-0000-0000-{k:012d}-00001.parquet"
        sql = SOURCE.format(start=k * rows, rows=rows)
        duckdb.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet, COMPRESSION zstd, FIELD_IDS {{{ids}}})")
        low, high = (struct.pack("<q", n) for n in (k * rows, (k + 1) * rows - 1))
        table.listed(path, rows, lower_bounds={1: low}, upper_bounds={1: high}, value_counts={1: rows})
    return table


def dirty(table: Table, kind: str, percent: int, files: int) -> Table:
    """The same table, with so many per cent of the rows of ``files`` files deleted."""
    deleted = Table(table.folder, table.schema, files=table.files, version=3 if kind == "vectors" else 2)
    chosen = table.files[:: max(1, len(table.files) // files)][:files]
    gone = {
        f.path: sorted(random.Random(7).sample(range(f.record_count), f.record_count * percent // 100)) for f in chosen
    }
    content = FileContent.POSITION_DELETES
    if kind == "vectors":
        path = table.folder / f"{percent}-{files}-deletes.puffin"
        for (name, places), (offset, size) in zip(gone.items(), write_puffin(path, list(gone.items())), strict=True):
            deleted.deletes.append(
                DataFile(
                    f"file:{path}",
                    len(places),
                    path.stat().st_size,
                    "PUFFIN",
                    content=content,
                    referenced_data_file=name,
                    content_offset=offset,
                    content_size=size,
                )
            )
        return deleted
    for k, (name, places) in enumerate(gone.items()):
        path = table.folder / f"00000-{k}-{percent:08d}-0000-0000-0000-{files:012d}-00001-deletes.parquet"
        ids = f"FIELD_IDS {{file_path: {DELETE_FILE_PATH_ID}, pos: 2147483545}}"
        duckdb.execute(
            f"COPY (SELECT ? AS file_path, CAST(unnest(?) AS BIGINT) AS pos) TO '{path}' (FORMAT parquet, {ids})",
            [name, places],
        )
        bounds = {DELETE_FILE_PATH_ID: name.encode()}
        deleted.deletes.append(
            DataFile(
                f"file:{path}",
                len(places),
                path.stat().st_size,
                content=content,
                lower_bounds=bounds,
                upper_bounds=bounds,
            )
        )
    return deleted


def scan(table: Table, query: str, low: int, high: int) -> Callable[[], object]:
    """What plans the scan, looks the deletes up and runs the query."""
    sql, columns = QUERIES[query]
    predicate: Predicate | None = None
    if query == "id range":
        predicate = all_of(Compare("id", Op.GE, low), Compare("id", Op.LE, high))
    elif query == "cat =":
        predicate = Compare("cat", Op.EQ, "cat-7")
    loaded = table.loaded()
    connection = duckdb.connect()

    def run() -> object:
        deleted_rows._cache = Lru(deleted_rows.CACHE_BYTES)
        deleted_positions._kept = Lru(deleted_positions.CACHE_BYTES)
        planned = build_scan(loaded, STORAGE, predicate=predicate, columns=columns)
        cursor = connection.cursor()
        set_variables(cursor, planned.variables)
        found = cursor.execute(sql.format(t=f"({planned.sql})", low=low, high=high)).fetchall()
        cursor.close()
        return found

    return run


def plain(table: Table, query: str, low: int, high: int) -> Callable[[], object]:
    files = ", ".join(f"'{f.path.removeprefix('file:')}'" for f in table.files)
    sql = QUERIES[query][0].format(t=f"read_parquet([{files}])", low=low, high=high)
    connection = duckdb.connect()
    return lambda: connection.execute(sql).fetchall()


def told(ratio: Ratio, goal: float) -> None:
    times = f"{ratio.ours.cpu * 1000:8.1f} ms {ratio.theirs.cpu * 1000:8.1f} ms"
    verdict = "met" if ratio.cpu <= goal else "MISSED"
    print(f"{ratio.name:<34} {times} {ratio.cpu:6.2f} x   goal {goal:.2f}: {verdict}", flush=True)


def large(folder: Path, rows: int, runs: int, only: str) -> None:
    """The cells of scans of 20 files."""
    folder.mkdir()
    table = clean(folder, FILES, rows // FILES)
    bounds = rows // 2, rows // 2 + rows // 1000
    cells = [("clean", table, GOALS[0])] if only in "clean" else []
    for kind in ("vectors", "files"):
        for percent in (1, 10):
            for files in (FILES, SOME):
                name = f"{kind} {percent} % of {files}"
                if only in name:
                    cells.append((name, dirty(table, kind, percent, files), GOALS[files]))
    for name, deleted, goals in cells:
        for query in QUERIES:
            ours, theirs = scan(deleted, query, *bounds), plain(table, query, *bounds)
            # The shortest queries are measured the most often.
            times = runs if query == "wide" else 2 * runs if query != "id range" else 6 * runs
            told(by_turns(f"{name}, {query}", ours, theirs, goals[query], times), goals[query])


def small(folder: Path, runs: int) -> None:
    """The ratios with 20 and with 2,000 small files."""
    for kind in ("vectors", "files"):
        goal = float("inf")
        for count in (20, 2000):
            place = folder / f"{kind}{count}"
            place.mkdir()
            table = clean(place, count, 1000)
            ours, theirs = scan(dirty(table, kind, 10, count), "sum", 0, 0), plain(table, "sum", 0, 0)
            ratio = by_turns(f"{kind}, {count} small files, sum", ours, theirs, goal, runs if count > 20 else 10 * runs)
            told(ratio, goal)
            goal = ratio.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000_000)
    parser.add_argument("--runs", type=int, default=3, help="how often the longest query is run")
    parser.add_argument("--only", default="", help="measure the cells that hold this text")
    options = parser.parse_args()
    print(f"{'CPU':<34} {'bergsql':>11} {'floor':>11}   ratio")
    with tempfile.TemporaryDirectory() as folder:
        large(Path(folder) / "large", options.rows, options.runs, options.only)
        if options.only in "small":
            small(Path(folder), options.runs)


if __name__ == "__main__":
    main()

"""INSERT against DuckDB's own COPY of the same rows, side by side in one run; and a one-row INSERT's time.

    python benchmarks/inserts.py [--rows N] [--runs N] [--quick]

Prints CPU and wall seconds (the least of the runs) and their ratios: ours / DuckDB's. Needs only DuckDB and bergsql.
Ours includes what DuckDB's lacks: field ids, statistics, checks, manifests, and syncing everything to disk.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import PartitionBy, build_spec
from bergsql.catalog.metadata.schema import Schema, assign_fresh_ids
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.transforms import IDENTITY, Transform, bucket
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.duck import Duck
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.writer import write_rows

ROWS = 2_000_000
PARTITIONS = 1000
NARROW_ROWS = 100_000_000
COLUMNS = {"id": "long", "part": "int", "name": "string", "v": "double", "d": "date", "k": "long"}
SOURCE = (
    "SELECT CAST(i AS BIGINT) AS id, CAST(hash(i) % {partitions} AS INTEGER) AS part, 'name ' || i AS name, "
    "random() AS v, DATE '2020-01-01' + CAST(i % 1000 AS INTEGER) AS d, i % 7 AS k FROM range({rows}) t(i)"
)


def clock(action: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of an action."""
    cpu, wall = os.times(), time.perf_counter()
    action()
    now = os.times()
    return now.user + now.system - cpu.user - cpu.system, time.perf_counter() - wall


class Bench:
    """A catalog in a directory of its own and a DuckDB that holds the source rows."""

    def __init__(self, place: Path, rows: int, memory_limit: str | None = None) -> None:
        self.place = place
        self.catalog = HadoopCatalog("bench", str(place / "warehouse"))
        self.duck = Duck(memory_limit=memory_limit)
        self.catalog.create_namespace(("db",))
        if rows:
            self.duck.execute(f"CREATE TABLE source AS {SOURCE.format(rows=rows, partitions=PARTITIONS)}")

    def table(self, columns: dict[str, str], by: tuple[str, Transform] | None = None) -> LoadedTable:
        """A new table."""
        ident = TableIdent(("db",), f"t{time.time_ns()}")
        fields = tuple(NestedField(i + 1, n, parse_type(t), False) for i, (n, t) in enumerate(columns.items()))
        schema, _ = assign_fresh_ids(Schema(0, fields))
        spec = build_spec(schema, [PartitionBy(*by)] if by else [])
        location = self.catalog.default_table_location(ident)
        return self.catalog.create_table(ident, new_table_metadata(schema, spec, UNSORTED, location, {}))

    def insert(self, table: LoadedTable, sql: str) -> LoadedTable:
        """INSERT INTO table <sql>."""
        storage = self.catalog.storage()
        base = self.catalog.load_table(table.ident)
        written = write_rows(self.duck, sql, {}, metadata=base.metadata, storage=storage)
        return commit_snapshot(self.catalog, base, Append(written.files), storage).table

    def copy(self, options: str) -> None:
        """DuckDB's COPY of the source rows, with the codec of Iceberg's tables."""
        target = self.place / "copy"
        target.mkdir()
        options = f"FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES {512 << 20}{options}"
        self.duck.execute(f"COPY source TO '{target}' ({options})").fetchall()

    def compare(self, name: str, options: str, by: tuple[str, Transform] | None, goal: float | None, runs: int) -> bool:
        """Time both, in turns, and print the ratios of the best times; whether the CPU's is within the goal."""
        ours, theirs = [], []
        for _ in range(runs):
            theirs.append(clock(partial(self.copy, options)))
            shutil.rmtree(self.place / "copy")
            table = self.table(COLUMNS, by)
            ours.append(clock(partial(self.insert, table, "SELECT * FROM source")))
            self.catalog.drop_table(table.ident, purge=True)
        cpu, wall = (min(o[i] for o in ours) / min(t[i] for t in theirs) for i in (0, 1))
        print(
            f"{name:34} ours {min(o[0] for o in ours):6.2f} CPU {min(o[1] for o in ours):6.2f} wall"
            f"   DuckDB {min(t[0] for t in theirs):6.2f} CPU {min(t[1] for t in theirs):6.2f} wall"
            f"   ratio {cpu:.2f} CPU {wall:.2f} wall   goal {goal or 'none'}"
        )
        return goal is None or cpu <= goal


def one_row(place: Path, inserts: int = 200) -> bool:
    """The median time of a one-row INSERT, everything durable."""
    bench = Bench(place, 0)
    table = bench.table({"id": "long", "name": "string"})
    rows = [f"SELECT CAST({i} AS BIGINT), 'x'" for i in range(inserts)]
    times = [clock(partial(bench.insert, table, row))[1] for row in rows]
    p50 = 1000 * statistics.median(times)
    late = 1000 * statistics.median(times[-20:])
    print(f"{'one-row INSERT, durable':34} p50 {p50:.1f} ms   the last 20 of {inserts}: {late:.1f} ms   goal 20")
    return p50 <= 20


def narrow(place: Path, rows: int) -> bool:
    """Peak memory of a long INSERT with a memory limit of 1 GB, in this process, which does nothing else."""
    bench = Bench(place, 0, memory_limit="1GB")
    table = bench.table({"id": "long", "k": "int"})
    sql = f"SELECT CAST(i AS BIGINT), CAST(i % 97 AS INTEGER) FROM range({rows}) t(i)"
    cpu, wall = clock(lambda: bench.insert(table, sql))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{f'{rows:,} narrow rows, limit 1 GB':34} {cpu:.1f} CPU {wall:.1f} wall   peak {peak:.2f} GiB   goal 1.5")
    return peak <= 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--narrow", metavar="DIRECTORY", help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = args.rows // 10 if args.quick else args.rows
    narrow_rows = NARROW_ROWS // 10 if args.quick else NARROW_ROWS
    if args.narrow:
        return 0 if narrow(Path(args.narrow), narrow_rows) else 1
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place), rows)
        reached = [
            bench.compare("unpartitioned", "", None, 1.2, args.runs),
            bench.compare(f"{PARTITIONS} partitions", ", PARTITION_BY (part)", ("part", IDENTITY), 1.5, args.runs),
            bench.compare("16 buckets (COPY: 7 values)", ", PARTITION_BY (k)", ("id", bucket(16)), None, args.runs),
        ]
    with tempfile.TemporaryDirectory() as place:
        reached.append(one_row(Path(place)))
    with tempfile.TemporaryDirectory() as place:
        # In a process of its own, so that nothing else counts.
        quick = ["--quick"] if args.quick else []
        reached.append(subprocess.call([sys.executable, __file__, "--narrow", place, *quick]) == 0)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())

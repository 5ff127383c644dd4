"""Planning: 100,000 files in 1,000 manifests (metadata only), in fresh processes: CPU seconds and peak memory.

``cold`` is a process's first plan, ``again`` its second; ``from disk``: the manifests are in the cache on disk.

``python benchmarks/planning.py [MANIFESTS] [FILES]``: so many manifests with so many files each. The manifests are
written by bergsql itself. Every figure is the least of some runs, each in a process of its own; the imports are
counted apart from the planning. With ``--pyiceberg`` PyIceberg plans the same.
"""

from __future__ import annotations

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROWS_A_FILE = 1000
DAY = 86_400_000_000
FIRST_DAY = 19_000
COLUMNS = ("id", "ts", "cat", "val", "c0", "c1", "c2", "c3", "c4", "c5")
RUNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifests", type=int, nargs="?", default=1000)
    parser.add_argument("files", type=int, nargs="?", default=100)
    parser.add_argument("--pyiceberg", action="store_true", help="let PyIceberg plan the same")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep the table there, and use it if it is there")
    parser.add_argument("--in-process", nargs=3, metavar=("WHAT", "FILTER", "TABLE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        what, condition, table = options.in_process
        print(json.dumps(measure(what, condition, Path(table))))
        return
    with tempfile.TemporaryDirectory() as made:
        table = Path(options.keep or made)
        if not (table / "metadata").exists():
            write_table(table, options.manifests, options.files)
        report(table, options.manifests * options.files, options.pyiceberg)


# -- the table ---------------------------------------------------------------------------------------------------------


def write_table(root: Path, manifests: int, files: int) -> None:
    """A table of one snapshot: a day a manifest, ids that go up from file to file."""
    from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.sort import SortOrder
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.transforms import Transform
    from bergsql.catalog.metadata.types import DoubleType, LongType, NestedField, StringType, TimestampType
    from bergsql.engine.table.datafile import EntryStatus, ManifestEntry
    from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list

    kinds = {"ts": TimestampType(), "cat": StringType(), "val": DoubleType()}
    fields = tuple(NestedField(i, n, kinds.get(n, LongType()), False) for i, n in enumerate(COLUMNS, 1))
    schema = Schema(0, fields)
    spec = PartitionSpec(0, (PartitionField(2, 1000, "ts_day", Transform.parse("day")),))
    folder = root / "metadata"
    folder.mkdir(parents=True)
    listed = []
    for m in range(manifests):
        entries = [ManifestEntry(EntryStatus.ADDED, data_file(root, m, f, m * files + f), 1) for f in range(files)]
        encoded = encode_manifest(entries, spec, schema, 2, 0, 1)
        path = folder / f"{UUID(int=m)}-m0.avro"
        path.write_bytes(encoded)
        listed.append(describe_manifest(str(path), encoded, entries, spec, schema, snapshot_id=1, sequence_number=1))
    snapshot = folder / "snap-1.avro"
    snapshot.write_bytes(encode_manifest_list(listed, 1, None, 1, 2))
    metadata = TableMetadata(
        format_version=2,
        table_uuid=str(UUID(int=7)),
        location=str(root),
        last_sequence_number=1,
        last_updated_ms=0,
        last_column_id=len(fields),
        schemas=(schema,),
        current_schema_id=0,
        specs=(spec,),
        default_spec_id=0,
        last_partition_id=1000,
        sort_orders=(SortOrder(0, ()),),
        default_sort_order_id=0,
        properties={},
        current_snapshot_id=1,
        snapshots=(Snapshot(1, None, 1, 0, str(snapshot), {"operation": "append"}, 0),),
        snapshot_log=(),
        metadata_log=(),
        refs={},
    )
    (folder / "v1.metadata.json").write_bytes(metadata.serialize())
    (folder / "version-hint.text").write_text("1")


def data_file(root: Path, m: int, f: int, n: int):  # type: ignore[no-untyped-def]
    from bergsql.engine.table.datafile import DataFile

    day = FIRST_DAY + m
    numbers = {1: (n * ROWS_A_FILE, ROWS_A_FILE - 1), 2: (day * DAY + f * 1000, 999)}
    numbers |= {5 + i: (i * n, 100) for i in range(6)}
    lower = {k: struct.pack("<q", low) for k, (low, _) in numbers.items()}
    upper = {k: struct.pack("<q", low + width) for k, (low, width) in numbers.items()}
    lower |= {3: b"aaa%05d" % (n % 977), 4: struct.pack("<d", 0.5)}
    upper |= {3: b"zzz%05d" % (n % 977), 4: struct.pack("<d", 99.5)}
    ids = range(1, len(COLUMNS) + 1)
    return DataFile(
        f"{root}/data/ts_day={day}/{UUID(int=n)}-00000-{n}.parquet",
        ROWS_A_FILE,
        100_000 + n * 7919 % 50_000,
        partition=(day,),
        column_sizes={i: 5000 + (i * n) % 997 for i in ids},
        value_counts=dict.fromkeys(ids, ROWS_A_FILE),
        null_counts=dict.fromkeys(ids, 0),
        nan_counts={4: 0},
        lower_bounds=dict(sorted(lower.items())),
        upper_bounds=dict(sorted(upper.items())),
        split_offsets=(4,),
        sort_order_id=0,
    )


# -- measuring ---------------------------------------------------------------------------------------------------------

ON_DISK = "from disk"
FILTERS = {"id range": "id BETWEEN", "one day": "ts =", "none": ""}


def measure(what: str, condition: str, table: Path) -> dict[str, float]:
    """Plan in this process, which has done nothing before: seconds of CPU, MiB at the peak, files kept."""
    if what == ON_DISK:
        from bergsql.engine.spill import Place, keep_at

        keep_at(lambda: Place(table / "cache", 1 << 30))
    plan = (pyiceberg if what == "pyiceberg" else ours)(table, condition)
    start = time.process_time()
    kept = plan()
    cold = time.process_time() - start
    start = time.process_time()
    plan()
    again = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cold": cold, "again": again, "process": start, "peak": peak, "kept": kept}


def ours(table: Path, condition: str) -> Callable[[], int]:
    import bergsql.engine.table.manifest_cache
    import bergsql.engine.table.pruning  # noqa: F401 - a session has both
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.local import LocalStorage
    from bergsql.engine.table.planning import plan_files
    from bergsql.engine.table.predicate import Compare, Op, Predicate, all_of
    from bergsql.engine.table.read_point import current

    name = str(table / "metadata" / "v1.metadata.json")
    low, high = bounds(condition, table)
    column = "ts" if condition == "one day" else "id"
    predicate: Predicate = all_of(Compare(column, Op.GE, low), Compare(column, Op.LE, high))
    storage = LocalStorage()

    def plan() -> int:
        metadata = TableMetadata.parse(storage.read(name), name)
        found = plan_files(metadata, current(metadata), None if condition == "none" else predicate, storage)
        return found.files_kept

    return plan


def pyiceberg(table: Path, condition: str) -> Callable[[], int]:
    from pyiceberg.table import StaticTable

    low, high = bounds(condition, table)
    if condition == "one day":
        from datetime import UTC, datetime

        stamps = (datetime.fromtimestamp(x // 10**6, UTC).replace(tzinfo=None).isoformat() for x in (low, high))
        filter_ = "ts >= '{}' AND ts <= '{}'".format(*stamps)
    else:
        filter_ = f"id >= {low} AND id <= {high}" if condition == "id range" else "True"

    def plan() -> int:
        opened = StaticTable.from_metadata(str(table / "metadata" / "v1.metadata.json"))
        return len(list(opened.scan(row_filter=filter_).plan_files()))

    return plan


def bounds(condition: str, table: Path) -> tuple[int, int]:
    """What the column is between: in the middle of the table."""
    manifests = sum(1 for _ in (table / "metadata").glob("*-m0.avro"))
    if condition == "one day":
        day = FIRST_DAY + manifests // 2
        return day * DAY, (day + 1) * DAY - 1_000_000
    low = manifests // 2 * 100 * ROWS_A_FILE
    return low, low + 10 * ROWS_A_FILE - 1


def report(table: Path, files: int, with_pyiceberg: bool) -> None:
    print(f"{files:,} files: CPU seconds of the least of {RUNS} processes each")
    print(f"{'':<12} {'filter':<10} {'cold':>7} {'again':>7} {'MiB':>5} {'kept':>8}")
    for what in ("bergsql", ON_DISK, *(("pyiceberg",) if with_pyiceberg else ())):
        for condition in FILTERS:
            if what == ON_DISK:
                run(what, condition, table)  # fills the cache
            runs = [run(what, condition, table) for _ in range(RUNS)]
            cold, again, peak = (min(r[k] for r in runs) for k in ("cold", "again", "peak"))
            print(f"{what:<12} {condition:<10} {cold:7.3f} {again:7.3f} {peak:5.0f} {runs[0]['kept']:8,.0f}")


def run(what: str, condition: str, table: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--in-process", what, condition, str(table)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


if __name__ == "__main__":
    main()

"""Equality deletes: 200,000 keys in 20 delete files over 20 million rows in 20 files, against ``read_parquet`` of these.

``python benchmarks/equality_deletes.py [ROWS]``: ratios of CPU seconds in an open session; "first" is the first query of a
new session, which joins by key, the others know the places of deleted rows. Goals: sum 4, wide 1.3, id range 2, cat 1.5.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.types import LongType
from bergsql.catalog.metadata.values import to_bytes
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.table import equality_positions
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import by_turns, cost
from benchmarks.scans import FILES, QUERIES, fetch, fill, rows_of

RUNS = 7
GOALS = {"sum": 4.0, "wide": 1.3, "selective, id range": 2.0, "selective, cat =": 1.5, "group": 4.0}
STEP = 100
"""Every so many rows one is deleted; the ids of a delete file are scattered over all data files."""


def delete(home: Path, rows: int) -> None:
    """A snapshot that adds delete files to the only table below ``home``."""
    place = max(home.rglob("v*.metadata.json"), key=lambda p: int(p.name[1:].partition(".")[0]))
    metadata = TableMetadata.parse(place.read_bytes(), str(place))
    before = metadata.current_snapshot()
    assert before is not None
    sequence, folder, connection = metadata.last_sequence_number + 1, place.parent, duckdb.connect()
    entries = []
    for i in range(FILES):
        path = folder.parent / "data" / f"deletes-{i:02}.parquet"
        first, step = 7 + STEP * i, STEP * FILES
        connection.execute(
            f"COPY (SELECT range AS id FROM range({first}, {rows}, {step})) TO '{path}' (FORMAT parquet, FIELD_IDS {{id: 1}})"
        )
        count = len(range(first, rows, step))
        bounds = [{1: to_bytes(LongType(), n)} for n in (first, first + (count - 1) * step)]
        file = DataFile(
            f"file:{path}",
            count,
            path.stat().st_size,
            content=FileContent.EQUALITY_DELETES,
            equality_ids=(1,),
            value_counts={1: count},
            null_counts={1: 0},
            lower_bounds=bounds[0],
            upper_bounds=bounds[1],
        )
        entries.append(ManifestEntry(EntryStatus.ADDED, file, 1))
    content = ManifestContent.DELETES
    data = encode_manifest(entries, metadata.spec, metadata.schema, 2, content, 1)
    manifest, listed = folder / "deletes-m0.avro", folder / "snap-1-deletes.avro"
    manifest.write_bytes(data)
    described = describe_manifest(
        f"file:{manifest}",
        data,
        entries,
        metadata.spec,
        metadata.schema,
        snapshot_id=1,
        sequence_number=sequence,
        content=content,
    )
    kept = read_manifest_list(LocalStorage(), before, metadata)
    listed.write_bytes(encode_manifest_list([described, *kept], 1, before.snapshot_id, sequence, 2))
    after = replace(
        before,
        snapshot_id=1,
        parent_id=before.snapshot_id,
        sequence_number=sequence,
        manifest_list=f"file:{listed}",
        summary={"operation": "delete"},
    )
    refs = {name: replace(ref, snapshot_id=1) if name == "main" else ref for name, ref in metadata.refs.items()}
    changed = replace(
        metadata,
        last_sequence_number=sequence,
        current_snapshot_id=1,
        snapshots=(*metadata.snapshots, after),
        refs=refs,
    )
    number = int(place.name[1:].partition(".")[0]) + 1
    (folder / f"v{number}.metadata.json").write_bytes(changed.serialize())


def forget() -> None:
    """As a new session would find it."""
    for kept in (equality_positions._known, equality_positions._seen):
        kept.clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as home:
        session = Session(SessionConfig(home=Path(home)))
        fill(session, rows // FILES)
        files = sorted(str(p) for p in Path(home).rglob("data/*.parquet"))
        delete(Path(home), rows)
        floor = duckdb.connect()
        listed = ", ".join(f"'{f}'" for f in files)
        bounds = {"low": rows // 2, "high": rows // 2 + rows // 1000}
        for name, query in QUERIES.items():
            ours = query.format(t="t", **bounds)
            theirs = query.format(t=f"read_parquet([{listed}])", **bounds)
            left = f"(SELECT * FROM read_parquet([{listed}]) WHERE id % {STEP} <> 7)"
            mine, told = rows_of(session, ours), floor.execute(query.format(t=left, **bounds)).fetchall()
            assert counts(mine) == counts(told), (name, mine, told)
            forget()
            first = cost(partial(rows_of, session, ours))
            ratio = by_turns(name, partial(rows_of, session, ours), partial(fetch, floor, theirs), GOALS[name], RUNS)
            verdict = "met" if ratio.cpu <= ratio.goal else "MISSED"
            share = first.cpu / max(ratio.theirs.cpu, 0.01)
            print(
                f"{name:<22} CPU {ratio.ours.cpu:6.3f} s of {ratio.theirs.cpu:6.3f} s: {ratio.cpu:5.2f} x, first {share:5.2f} x   goal {ratio.goal:.2f}: {verdict}"
            )
        session.close()


def counts(rows: list[Any]) -> list[Any]:
    """What must be equal to the last digit; sums of DOUBLEs go by the order of their rows."""
    return sorted(tuple(v for v in row if not isinstance(v, float)) for row in rows)


if __name__ == "__main__":
    main()

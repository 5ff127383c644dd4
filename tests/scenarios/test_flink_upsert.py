"""What the real Flink client reads of its table after an upsert [51_iceberg, 41], on an upsert that this test commits.

Statement 41 itself is owed by the issue of changing rows. Here its snapshot, a data file of the new rows and an equality
delete of their keys as Flink's sink writes them, is put into the table behind statement 40; then the statements that
``flink_exempt.json`` says to follow it are compared, `$`-table and DDL in between included.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from bergsql.catalog.base import TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import AddSnapshot, SetSnapshotRef
from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list
from tests.scenarios.test_flink_transcripts import EXEMPT, compare, localized, transcript
from tests.support.answers import Answer
from tests.support.berg import fresh_berg
from tests.support.history.data_files import write_file
from tests.support.history.statistics import file_statistics

NAME = "51_iceberg"
UPSERT = 41
AGAIN = (1, 3, 5, 7)
"""Statements that a session begins with."""
FOLLOWING = [int(n) for n in EXEMPT["follows"][NAME]]
ROWS = ((7, "SEVEN", "q"), (8, "eight", "r"))
SNAPSHOT = 41
"""The id of the upsert's snapshot."""


def upsert(warehouse: Path) -> None:
    """What statement 41 commits."""
    catalog = HadoopCatalog("ice", str(warehouse))
    base = catalog.load_table(TableIdent(("db",), "t"))
    metadata, folder = base.metadata, warehouse / "db" / "t"
    sequence = metadata.last_sequence_number + 1
    schema = metadata.schema
    manifests = []
    for content, name in ((FileContent.DATA, "data"), (FileContent.EQUALITY_DELETES, "deletes")):
        fields = schema.fields if content == FileContent.DATA else schema.fields[:1]
        rows = [{f.field_id: v for f, v in zip(fields, row, strict=False)} for row in ROWS]
        path = folder / "data" / f"00000-0-{name}.parquet"
        write_file(path, "parquet", fields, rows, ids=True)
        file = DataFile(
            f"file:{path}",
            len(rows),
            path.stat().st_size,
            "PARQUET",
            content,
            equality_ids=None if content == FileContent.DATA else (fields[0].field_id,),
            **file_statistics(fields, rows, "full", Random(1)),
        )
        kind = ManifestContent.DATA if content == FileContent.DATA else ManifestContent.DELETES
        entries = [ManifestEntry(EntryStatus.ADDED, file, SNAPSHOT, sequence, sequence)]
        data = encode_manifest(entries, metadata.spec, schema, 2, kind, SNAPSHOT)
        place = folder / "metadata" / f"{name}-m0.avro"
        place.write_bytes(data)
        manifests.append(
            describe_manifest(
                str(place),
                data,
                entries,
                metadata.spec,
                schema,
                snapshot_id=SNAPSHOT,
                sequence_number=sequence,
                content=kind,
            )
        )
    before = metadata.current_snapshot()
    assert before is not None
    listed = folder / "metadata" / f"snap-{SNAPSHOT}.avro"
    kept = read_manifest_list(catalog.storage(), before, metadata)
    listed.write_bytes(encode_manifest_list([*kept, *manifests], SNAPSHOT, before.snapshot_id, sequence, 2))
    summary = {"operation": "overwrite", "total-records": "3"}
    now = max(metadata.last_updated_ms + 1, time.time_ns() // 1_000_000)
    snapshot = Snapshot(SNAPSHOT, before.snapshot_id, sequence, now, str(listed), summary, schema.schema_id)
    catalog.commit(base, [AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(SNAPSHOT))])


@pytest.fixture(scope="module")
def answers() -> dict[int, Answer]:
    """Each statement's answer, by its number."""
    told = transcript(NAME)
    with fresh_berg() as berg:
        folder = str(berg.warehouse)
        sql = [t.sql.replace("${LOCAL}", folder) for t in told]
        berg.answers(sql[:UPSERT])
        upsert(berg.warehouse)
        after = berg.answers([*(sql[n] for n in AGAIN), *sql[UPSERT + 1 :]])[len(AGAIN) :]
        return {UPSERT + 1 + n: localized(answer, folder) for n, answer in enumerate(after)}


@pytest.mark.parametrize("number", FOLLOWING)
def test_answers_after_the_upsert_are_flinks(number: int, answers: dict[int, Answer]) -> None:
    compare(transcript(NAME)[number], answers[number])


def test_an_unknown_hint_is_refused_and_the_table_is_read_at_the_upsert(answers: dict[int, Answer]) -> None:
    assert "bogus" in answers[46].errors[0].message

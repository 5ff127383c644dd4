"""An Iceberg table as a sink: what a checkpoint makes of it, and which commits it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.engine.streaming.changelog import Batch
from tests.support.sinks import JOB, SINK, checkpoint, writer_of
from tests.support.tables import Tables

KEY = f"bergsql.job.{JOB}.{SINK}"
COLUMNS = {"id": "long", "name": "string"}


@pytest.fixture(params=[False, True], ids=["hadoop", "jdbc"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    return Tables(tmp_path / "wh", jdbc=request.param)


def batch(first: int, count: int) -> Batch:
    return Batch(f"(SELECT i AS c0, 'n' || i AS c1, 0::TINYINT AS op FROM range({first}, {first + count}) AS r(i))")


def test_a_checkpoint_is_one_snapshot_and_one_file(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    for first in range(0, 50, 10):
        assert writer.write(batch(first, 10)) == 10
    assert checkpoint(writer, 1)
    metadata = tables.load().metadata
    (snapshot,) = metadata.snapshots
    assert snapshot.operation == "append"
    assert snapshot.summary["flink.job-id"] == JOB
    assert snapshot.summary["flink.operator-id"] == SINK
    assert snapshot.summary["flink.max-committed-checkpoint-id"] == "1"
    assert metadata.properties[KEY] == "1"
    assert len(tables.files()) == 1
    assert tables.rows() == sorted(((i, f"n{i}") for i in range(50)), key=str)
    assert not checkpoint(writer, 2)
    writer.write(batch(50, 1))
    assert checkpoint(writer, 3)
    assert tables.load().metadata.properties[KEY] == "3"
    assert len(tables.load().metadata.snapshots) == 2
    assert not orphans(tables)


def orphans(tables: Tables) -> set[str]:
    """Files below the table that nothing refers to: no metadata file is one."""
    from bergsql.engine.table.purge import table_files

    root = tables.warehouse / "db" / "t"
    needed = {str(Path(f).relative_to(root)) for f in table_files(tables.load(), tables.storage)}
    return {f for f in tables.on_disk() - needed if not f.startswith("metadata/") or f.endswith(".avro")}

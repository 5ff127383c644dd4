"""An Iceberg table as a sink: what a checkpoint makes of it, and which commits it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.changes import (
    AddSchema,
    RemoveProperties,
    RemoveSnapshots,
    SetCurrentSchema,
    SetProperties,
    SetSnapshotRef,
    TableUpdate,
)
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import LongType, NestedField, StringType
from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.sinks.iceberg_schema import columns_for
from bergsql.engine.table.destination import Destination
from tests.support.sinks import JOB, SINK, checkpoint, orphans, writer_of
from tests.support.tables import Tables

KEY = f"bergsql.job.{JOB}.{SINK}"
COLUMNS = {"id": "long", "name": "string"}


@pytest.fixture(params=[False, True], ids=["hadoop", "jdbc"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    return Tables(tmp_path / "wh", jdbc=request.param)


def batch(first: int, count: int) -> Batch:
    return Batch(f"(SELECT i AS c0, 'n' || i AS c1, 0::TINYINT AS op FROM range({first}, {first + count}) AS r(i))")


def numbers(tables: Tables) -> list[int]:
    return sorted(row[0] for row in tables.rows(select="id"))


def update(tables: Tables, *updates: TableUpdate) -> None:
    tables.catalog.commit(tables.load(), updates)


def change_columns(tables: Tables, *fields: NestedField) -> None:
    update(tables, AddSchema(Schema(0, fields)), SetCurrentSchema())


@contextmanager
def expect(error: str, hint: str = "") -> Iterator[None]:
    """The error of a sink that cannot go on."""
    with pytest.raises(BergError) as caught:
        yield
    assert error in caught.value.message
    assert hint in (caught.value.hint or "")


# --- what a checkpoint makes --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
@pytest.mark.parametrize("by", [(), (("id", Transform(TransformKind.BUCKET, 4)),)], ids=["whole", "buckets"])
def test_every_format_and_partitioning(tables: Tables, version: int, file_format: str, by: Any) -> None:
    tables.create(COLUMNS, by, {"write.format.default": file_format}, version)
    writer = writer_of(tables)
    for number in (1, 2):
        for part in range(3):
            writer.write(batch(number * 100 + part * 10, 10))
        assert checkpoint(writer, number)
    files = tables.files()
    assert len(files) == (8 if by else 2)
    assert sum(f.record_count for f in files) == 60
    assert {f.format for f in files} == {file_format.upper()}
    assert all(f.lower_bounds for f in files)
    assert not orphans(tables)


def test_rows_that_are_many_do_not_wait_for_the_checkpoint(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bergsql.engine.streaming.sinks.iceberg_writer.WORTH_A_FILE", 2000)
    tables.create(COLUMNS)
    writer = writer_of(tables)
    for first in range(0, 1000, 50):
        writer.write(batch(first, 50))
    context_rows = 300
    cursor = writer._cursor  # type: ignore[attr-defined]
    cursor.execute(f"CREATE TEMP TABLE whole AS FROM {batch(1000, context_rows).sql}")
    assert writer.write(Batch("whole", context_rows)) == context_rows
    assert checkpoint(writer, 1)
    assert numbers(tables) == list(range(1300))
    assert 2 < len(tables.files()) < 20
    assert not orphans(tables)


def test_the_properties_are_read_anew_for_each_checkpoint(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    update(tables, SetProperties({"write.format.default": "avro"}))
    writer.write(batch(1, 1))
    checkpoint(writer, 2)
    assert [f.format for f in tables.files()] == ["AVRO", "PARQUET"]


def test_a_branch_is_written(tables: Tables) -> None:
    tables.create(COLUMNS)
    tables.insert("SELECT 1::BIGINT, 'main'")
    head = tables.load().metadata.current_snapshot_id
    assert head is not None
    update(tables, SetSnapshotRef("b", SnapshotRef(head)))
    writer = writer_of(tables, to=Destination("b"))
    for number in (1, 2):
        writer.write(batch(number, 1))
        assert checkpoint(writer, number)
    metadata = tables.load().metadata
    assert metadata.current_snapshot_id == head
    at = metadata.snapshot(metadata.refs["b"].snapshot_id)
    assert at is not None
    assert at.summary["total-records"] == "3"


# --- once -----------------------------------------------------------------------------------------------------------------


def test_a_commit_that_is_done_already_does_nothing(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 10))
    committable = writer.prepare(1)
    writer.commit(1, committable)
    before = tables.load().metadata_location
    writer.commit(1, committable)
    again = writer_of(tables, restored=1)
    again.commit(1, committable)
    assert tables.load().metadata_location == before
    again.write(batch(10, 5))
    assert checkpoint(again, 2)
    assert numbers(tables) == list(range(15))
    assert not orphans(tables)


def test_what_was_prepared_is_rolled_forward(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 10))
    committable = writer.prepare(1)
    writer.write(batch(10, 10))  # of checkpoint 2, which is lost with the process
    writer._checkpoint()  # type: ignore[attr-defined]
    again = writer_of(tables, restored=1)
    again.commit(1, committable)
    assert numbers(tables) == list(range(10))
    assert not orphans(tables)


def test_what_no_checkpoint_knows_is_deleted(tables: Tables) -> None:
    tables.create(COLUMNS, [("id", Transform(TransformKind.BUCKET, 2))])
    writer = writer_of(tables)
    writer.write(batch(0, 10))
    checkpoint(writer, 1)
    writer.write(batch(10, 10))
    writer.prepare(2)  # and the process is killed before the store has it
    assert orphans(tables)
    again = writer_of(tables, restored=1)
    assert not orphans(tables)
    again.write(batch(10, 7))
    assert checkpoint(again, 2)
    assert numbers(tables) == list(range(17))
    assert not orphans(tables)


def test_what_is_discarded_leaves_nothing(tables: Tables) -> None:
    tables.create(COLUMNS, [("id", Transform(TransformKind.IDENTITY))])
    before = tables.on_disk()
    writer = writer_of(tables)
    writer.write(batch(0, 10))
    writer.discard()
    assert not checkpoint(writer, 1)
    writer.write(batch(0, 3))
    writer._write_files(writer._checkpoint(), writer._buffer.table)  # type: ignore[attr-defined]
    writer.close()
    assert {f for f in tables.on_disk() - before if "metadata" not in f} == set()
    assert numbers(tables) == []


def test_others_may_commit_in_between(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    for number in range(1, 4):
        writer.write(batch(number * 10, 2))
        committable = writer.prepare(number)
        tables.insert(f"SELECT {number}::BIGINT, 'other'")
        writer.commit(number, committable)
    assert numbers(tables) == [1, 2, 3, 10, 11, 20, 21, 30, 31]


def test_an_expired_snapshot_is_no_rollback(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 2))
    committable = writer.prepare(1)
    writer.commit(1, committable)
    ours = tables.load().metadata.current_snapshot_id
    tables.insert("SELECT 100::BIGINT, 'other'")
    update(tables, RemoveSnapshots((ours or 0,)))
    again = writer_of(tables, restored=1)
    again.commit(1, committable)
    again.write(batch(2, 2))
    assert checkpoint(again, 2)
    assert numbers(tables) == [0, 1, 2, 3, 100]


# --- and not where it cannot be -------------------------------------------------------------------------------------------


def test_a_second_process_fails(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    other = writer_of(tables, restored=1)
    for each in (writer, other):
        each.write(batch(1, 1))
    theirs = other.prepare(3)
    mine = writer.prepare(2)
    writer.commit(2, mine)
    with expect("has checkpoint 2 of the job", KEY):
        other.commit(3, theirs)
    with expect("has checkpoint 2 of the job", "SET"):
        writer_of(tables, restored=1)
    assert numbers(tables) == [0, 1]


def test_a_second_process_at_the_same_checkpoint_fails(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer, other = writer_of(tables), writer_of(tables)
    writer.write(batch(0, 1))
    mine = writer.prepare(1)
    writer.commit(1, mine)
    other.write(batch(5, 1))
    theirs = other.prepare(1)
    with expect("has another checkpoint 1 of the job"):
        other.commit(1, theirs)
    assert numbers(tables) == [0]


def test_a_rollback_stops_the_job(tables: Tables) -> None:
    tables.create(COLUMNS)
    tables.insert("SELECT 100::BIGINT, 'other'")
    before = tables.load().metadata.current_snapshot_id
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    update(tables, SetSnapshotRef("main", SnapshotRef(before or 0)))
    writer.write(batch(1, 1))
    committable = writer.prepare(2)
    with expect("was set back: checkpoint 1 of the job", "Make that snapshot current again"):
        writer.commit(2, committable)
    with expect("was set back"):
        writer_of(tables, restored=2)
    tables.insert("SELECT 101::BIGINT, 'other'")
    with expect("was set back"):
        writer_of(tables, restored=2)
    assert numbers(tables) == [100, 101]


def test_a_rollback_of_the_only_snapshot_that_came_stops_the_job(tables: Tables) -> None:
    tables.create(COLUMNS, version=1)
    tables.insert("SELECT 100::BIGINT, 'other'")
    before = tables.load().metadata.current_snapshot_id
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    committable = writer.prepare(1)
    writer.commit(1, committable)
    update(tables, SetSnapshotRef("main", SnapshotRef(before or 0)))
    with expect("was set back"):
        writer.commit(1, committable)


def test_another_table_of_the_name_is_refused(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    writer.write(batch(1, 1))
    committable = writer.prepare(2)
    tables.catalog.drop_table(tables.ident("t"))
    with expect("was dropped"):
        writer.commit(2, committable)
    tables.create(COLUMNS)
    with expect("dropped and created anew"):
        writer.commit(2, committable)
    with expect("does not know the job", "'0'"):
        writer_of(tables, restored=1)
    update(tables, SetProperties({KEY: "0"}))
    again = writer_of(tables, restored=1)
    again.write(batch(1, 1))
    assert checkpoint(again, 2)


def test_a_table_whose_property_is_gone_is_refused(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    update(tables, RemoveProperties((KEY,)))
    writer.write(batch(1, 1))
    committable = writer.prepare(2)
    with expect("has nothing of the job"):
        writer.commit(2, committable)
    with expect("does not know the job"):
        writer_of(tables, restored=2)


def test_what_was_prepared_must_be_there(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    committable = writer.prepare(1)
    assert isinstance(committable, dict)
    tables.storage.delete_tree(str(committable["directory"]))
    with expect("is not there any more"):
        writer.commit(1, committable)
    assert numbers(tables) == []


# --- columns --------------------------------------------------------------------------------------------------------------


def test_a_null_where_none_may_be_names_the_column(tables: Tables) -> None:
    tables.create({"id!": "long", "name": "string"})
    before = tables.on_disk()
    writer = writer_of(tables)
    writer.write(batch(0, 3))
    writer.write(Batch("(SELECT NULL::BIGINT AS c0, 'x' AS c1, 0::TINYINT AS op)"))
    with expect("Column 'id' is NOT NULL"):
        writer.prepare(1)
    assert {f for f in tables.on_disk() - before if "metadata" not in f} == set()


def test_columns_that_are_added_are_followed(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    checkpoint(writer, 1)
    fields = tables.load().metadata.schema.fields
    change_columns(tables, NestedField(3, "more", fields[1].type, False), *fields)
    writer.write(batch(1, 1))
    assert checkpoint(writer, 2)
    newest = max(tables.entries(), key=lambda e: e.sequence_number or 0).data_file
    assert newest.null_counts[3] == 1
    failing = writer_of(tables, restored=2, settings={"engine.sink.schema-change": "fail"})
    fields = tables.load().metadata.schema.fields
    change_columns(tables, *fields, NestedField(4, "x", fields[1].type, False))
    failing.write(Batch("(SELECT NULL::VARCHAR AS c0, 9::BIGINT AS c1, 'x' AS c2, 0::TINYINT AS op)"))
    with expect("column 'x' was added", "SET 'engine.sink.schema-change'"):
        failing.prepare(3)


def test_a_column_may_come_between_prepare_and_commit(tables: Tables) -> None:
    tables.create(COLUMNS)
    writer = writer_of(tables)
    writer.write(batch(0, 1))
    committable = writer.prepare(1)
    fields = tables.load().metadata.schema.fields
    change_columns(tables, *fields, NestedField(3, "more", fields[1].type, False))
    writer.commit(1, committable)
    assert tables.load().metadata.properties[KEY] == "1"


ID, NAME = NestedField(1, "id", LongType(), True), NestedField(2, "name", StringType(), False)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ((ID,), "column 'name' was dropped"),
        ((ID, replace(NAME, name="called")), "column 'name' was renamed to 'called'"),
        ((ID, NAME, NestedField(3, "x", LongType(), True)), "column 'x' was added as NOT NULL"),
        ((ID, replace(NAME, required=True)), "column 'name' became NOT NULL"),
        ((ID, replace(NAME, type=LongType())), "the type of column 'name' was changed from string to long"),
    ],
)
def test_other_changes_of_columns_stop_the_job(now: tuple[NestedField, ...], told: str) -> None:
    with expect(f"Table t was changed under the job: {told}."):
        columns_for(Schema(0, (ID, NAME)), Schema(1, now), "t", "follow")


def test_columns_are_found_by_their_ids() -> None:
    added = NestedField(3, "x", LongType(), True, write_default=7)
    now = (NAME, added, replace(ID, required=False, doc="told"), NestedField(4, "y", LongType(), False))
    items = columns_for(Schema(0, (ID, NAME)), Schema(1, now), "t", "follow")
    assert items == ["c1", "CAST('7' AS BIGINT)", "c0", "CAST(NULL AS BIGINT)"]

"""The model of tests/support/history is itself held to the real Spark: random histories, read by Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from bergsql.catalog.metadata.types import TimestampNsType, TimestamptzNsType, TimeType, UnknownType, walk
from tests.interop.conftest import Both
from tests.support.history.builder import TableBuilder
from tests.support.history.model import State, StoredDelete, StoredFile
from tests.support.history.random_table import EQUALITY_STEPS, POSITION_STEPS, STEPS, Plan, play

pytestmark = pytest.mark.interop

NOT_IN_SPARK = (TimeType, TimestampNsType, TimestamptzNsType, UnknownType)
HISTORIES = 10


def files(state: State) -> list[StoredFile | StoredDelete]:
    return [*(d.file for d in state.data), *(d.file for d in state.deletes)]


def histories(folder: Path) -> Iterator[tuple[Plan, str, TableBuilder]]:
    """Histories of tables whose types Spark has."""
    steps = (*STEPS, *POSITION_STEPS * 2, *EQUALITY_STEPS * 2)
    found = 0
    for seed in range(2000):
        random = Random(seed)
        later = tuple((random.choice(steps), random.randint(0, 9999)) for _ in range(random.randint(3, 9)))
        plan = Plan(random.randint(2, 3), random.randint(0, 9999), random.randint(0, 9999), later)
        name = f"h{seed}"
        table = play(plan, folder / name)
        fields = [f for schema in table.metadata.schemas for f in walk(schema.fields)]
        if any(isinstance(f.type, NOT_IN_SPARK) or not f.name.isidentifier() for f in fields):
            continue  # Spark has no such type, or makes an Avro schema of the names
        if any(f.path.endswith(".avro") for s in table.states.values() for f in files(s)):
            continue  # Spark does not step over the columns of some Avro files that it is not asked for
        table.loaded()
        yield plan, name, table
        found += 1
        if found == HISTORIES:
            return


def test_spark_reads_what_the_model_says(both: Both) -> None:
    both.spark.sql("create namespace if not exists both.histories")
    deleted = found = 0
    for plan, name, table in histories(both.berg.warehouse / "histories"):
        found += 1
        for snapshot in table.metadata.snapshots:
            columns = ["id", "_file", "_pos", "_spec_id"] + (["_row_id"] if snapshot.first_row_id is not None else [])
            told = both.spark.rows(
                f"select {', '.join(columns)} from both.histories.{name} version as of {snapshot.snapshot_id}"
            )
            rows = table.model.rows(table.states[snapshot.snapshot_id], table.metadata.schema_for(snapshot))
            wanted = [
                [r.values["id"], r.path, r.pos, r.spec_id, r.row_id][: len(columns)] for r in rows if not r.deleted
            ]
            deleted += len(rows) - len(wanted)
            for row in (*told, *wanted):
                if not row[1].endswith(".parquet"):
                    del row[4:]  # Spark gives all rows of an Avro or ORC file the same row id
            assert Counter(map(repr, told)) == Counter(map(repr, wanted)), (plan, snapshot.snapshot_id)
    assert found == HISTORIES
    assert deleted > 20

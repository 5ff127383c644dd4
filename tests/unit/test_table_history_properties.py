"""Random tables' histories: what is read is what the specification says, whatever is asked for and left out."""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from bergsql.catalog.metadata.types import NestedField, StructType
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.metadata_columns import LAST_UPDATED, PARTITION, ROW_ID, metadata_fields
from bergsql.engine.table.read_point import ReadPoint, at_snapshot
from bergsql.engine.table.scan import build_scan
from tests.support.history.builder import TableBuilder
from tests.support.history.model import ModelRow
from tests.support.history.random_predicate import holds, random_predicate
from tests.support.history.random_table import EQUALITY_STEPS, POSITION_STEPS, STEPS, Plan, plans, play
from tests.support.history.values import NANOSECONDS, token

STORAGE = LocalStorage()
DUCK = Duck()
ALL_STEPS = (*STEPS, *POSITION_STEPS * 2, *EQUALITY_STEPS * 2)
DUCK = Duck()
ALL_STEPS = (*STEPS, *POSITION_STEPS * 2, *EQUALITY_STEPS * 2)
FEW = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
Rows = list[dict[str, Any]]


@contextmanager
def played(plan: Plan) -> Iterator[TableBuilder]:
    with TemporaryDirectory() as folder:
        yield play(plan, Path(folder) / "db" / "t")


def points(table: TableBuilder) -> list[ReadPoint]:
    """Every snapshot with its own schema, and every branch's with the table's."""
    found = [at_snapshot(table.metadata, s.snapshot_id) for s in table.metadata.snapshots]
    heads = [table.metadata.snapshot(r.snapshot_id) for r in table.metadata.refs.values() if r.is_branch]
    return [*found, *(ReadPoint(s, table.metadata.schema) for s in heads)]


def scanned(table: TableBuilder, point: ReadPoint, **how: Any) -> tuple[Sequence[NestedField], Rows]:
    """What a scan gives, nanoseconds as numbers."""
    scan = build_scan(table.loaded(), STORAGE, point=point, **how)
    nanoseconds = [identifier(f.name) for f in scan.fields if isinstance(f.type, NANOSECONDS)]
    replaced = ", ".join(f"epoch_ns({name}) AS {name}" for name in nanoseconds)
    cursor = DUCK.execute(f"SELECT * {f'REPLACE ({replaced})' if replaced else ''} FROM ({scan.sql})", scan.variables)
    try:
        names = [d[0] for d in cursor.description or ()]
        assert names == [f.name for f in scan.fields]
        return scan.fields, [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    finally:
        DUCK.done(cursor)


def told(row: ModelRow) -> dict[str, Any]:
    """A row of the model with its metadata columns."""
    return {
        **row.values,
        "_file": row.path,
        "_pos": row.pos,
        "_deleted": row.deleted,
        "_spec_id": row.spec_id,
        PARTITION: row.partition,
        ROW_ID: row.row_id,
        LAST_UPDATED: row.last_updated,
    }


def model_rows(table: TableBuilder, point: ReadPoint, *, deleted: bool = False) -> Rows:
    """What the model says, deleted rows too if asked for."""
    if point.snapshot is None:
        return []
    rows = table.model.rows(table.states[point.snapshot.snapshot_id], point.schema)
    return [told(r) for r in rows if deleted or not r.deleted]


def multiset(fields: Sequence[NestedField], rows: Rows) -> Counter[str]:
    return Counter(repr([_told_token(f, row) for f in fields]) for row in rows)


def _told_token(f: NestedField, row: dict[str, Any]) -> object:
    value = row[f.name]
    if f.name == PARTITION and isinstance(f.type, StructType):
        if value and any(isinstance(key, int) for key in value):
            value = {part.name: value.get(part.field_id) for part in f.type.fields}
        # DuckDB hands out nanoseconds as such only in columns.
        parts = [p for p in f.type.fields if not isinstance(p.type, NANOSECONDS)]
        return [token(p.type, (value or {}).get(p.name)) for p in parts]
    if f.name == LAST_UPDATED and row.get(ROW_ID) is None:
        return None  # readers differ on files from before version 3
    return token(f.type, value)


# --- the properties ---------------------------------------------------------------------------------------------------


def check_rows(plan: Plan) -> None:
    with played(plan) as table:
        for point in points(table):
            fields, rows = scanned(table, point)
            assert list(fields) == list(point.schema.fields)
            assert multiset(fields, rows) == multiset(fields, model_rows(table, point))


def check_projections(plan: Plan) -> None:
    """Any columns, metadata columns among them, are those columns of the whole."""
    random = Random(plan.seed)
    with played(plan) as table:
        extra = metadata_fields(table.metadata)
        for point in points(table):
            names = [f.name for f in point.schema.fields] + list(extra)
            wanted = {name for name in names if random.random() < 0.4} or {random.choice(names)}
            if LAST_UPDATED in wanted:
                wanted.add(ROW_ID)
            fields, rows = scanned(table, point, columns=frozenset(wanted))
            assert {f.name for f in fields} == wanted
            expected = model_rows(table, point, deleted="_deleted" in wanted)
            assert multiset(fields, rows) == multiset(fields, expected)


def check_pruning(plan: Plan) -> None:
    """What a predicate leaves out, it would have filtered out."""
    random = Random(plan.seed)
    with played(plan) as table:
        for point in points(table):
            fields, everything = scanned(table, point)
            for _ in range(3):
                predicate = random_predicate(point.schema, random)
                _, pruned = scanned(table, point, predicate=predicate)
                kept = [row for row in pruned if holds(predicate, row)]
                wanted = [row for row in everything if holds(predicate, row)]
                assert multiset(fields, kept) == multiset(fields, wanted), predicate


def check_sql(plan: Plan) -> None:
    """Counts, and time travel to every snapshot, moment, branch and tag, as a person writes them."""
    with TemporaryDirectory(prefix="t", dir=warehouse() / "db") as folder:
        table = play(plan, Path(folder))
        table.loaded()
        name = f"c.db.`{Path(folder).name}`"
        for where, point in travels(table):
            ids = Counter(row["id"] for row in model_rows(table, point))
            names, rows = asked(f"SELECT * FROM {name}{where}")
            assert names == [f.name for f in point.schema.fields], where
            assert Counter(row[names.index("id")] for row in rows) == ids, where
            assert asked(f"SELECT COUNT(*) FROM {name}{where}")[1] == [[ids.total()]], where


def travels(table: TableBuilder) -> Iterator[tuple[str, ReadPoint]]:
    """What stands behind the table's name, and what is read then."""
    metadata = table.metadata
    yield "", ReadPoint(metadata.current_snapshot(), metadata.schema)
    for snapshot in metadata.snapshots:
        yield f" VERSION AS OF {snapshot.snapshot_id}", at_snapshot(metadata, snapshot.snapshot_id)
    for entry in metadata.snapshot_log:
        point = at_snapshot(metadata, entry.snapshot_id)
        moment = datetime.fromtimestamp(entry.timestamp_ms / 1000, UTC)
        yield f" TIMESTAMP AS OF '{moment:%Y-%m-%d %H:%M:%S}'", point
        yield f" TIMESTAMP AS OF '{moment:%Y-%m-%d %H:%M:%S}.999'", point
    for ref, to in metadata.refs.items():
        point = at_snapshot(metadata, to.snapshot_id)
        if to.is_branch:
            point = ReadPoint(point.snapshot, metadata.schema)
        yield f" VERSION AS OF '{ref}'", point
        yield f".{to.type}_{ref}", point


@cache
def warehouse() -> Path:
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    (Path(folder.name) / "db").mkdir()
    return Path(folder.name)


@cache
def session() -> Session:
    catalog = "spark.sql.catalog.c"
    conf = {catalog: "org.apache.iceberg.spark.SparkCatalog", f"{catalog}.type": "hadoop"}
    conf |= {f"{catalog}.warehouse": str(warehouse()), "spark.sql.session.timeZone": "UTC"}
    return Session(SessionConfig(home=warehouse() / "home", flavour=Flavour.SPARK, conf=conf))


def asked(sql: str) -> tuple[list[str], list[list[Any]]]:
    result = session().execute(sql)
    return [c.name for c in result.columns], [list(row) for chunk in result.chunks for row in chunk]


CHECKS = [check_rows, check_projections, check_pruning, check_sql]


@pytest.mark.parametrize("check", CHECKS)
@FEW
@given(plan=plans(ALL_STEPS))
def test_random_histories(check: Any, plan: Plan) -> None:
    check(plan)


def test_the_two_zeros_are_two_partitions() -> None:
    check_projections(Plan(3, 204, 129, ()))


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS)
@MANY
@given(plan=plans(ALL_STEPS, longest=14))
def test_many_random_histories(check: Any, plan: Plan) -> None:
    check(plan)

"""Random tables' histories: what is read is what the specification says, whatever is asked for and left out."""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.types import NestedField, StructType
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.duck import Duck
from bergsql.engine.execute.select import open_plan
from bergsql.engine.plan.query import plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.metadata_columns import LAST_UPDATED, PARTITION, ROW_ID, metadata_fields
from bergsql.engine.table.read_point import ReadPoint, ancestors, at_snapshot, between
from bergsql.engine.table.scan import build_scan
from tests.support.history.builder import TableBuilder
from tests.support.history.model import ModelRow
from tests.support.history.random_predicate import holds, random_predicate
from tests.support.history.random_table import EQUALITY_STEPS, POSITION_STEPS, STEPS, Plan, plans, play
from tests.support.history.situations import SITUATIONS
from tests.support.history.values import NANOSECONDS, token

STORAGE = LocalStorage()
DUCK = Duck()
ALL_STEPS = (*STEPS, *POSITION_STEPS * 2, *EQUALITY_STEPS * 2)
FEW = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Told:
    """A history that is told step by step, and the seed of what is asked of it."""

    tell: Callable[[Path], TableBuilder]
    seed: int = 0


def made(plan: Plan | Told, folder: Path) -> TableBuilder:
    return plan.tell(folder) if isinstance(plan, Told) else play(plan, folder)


@contextmanager
def played(plan: Plan | Told) -> Iterator[TableBuilder]:
    with TemporaryDirectory() as folder:
        yield made(plan, Path(folder) / "db" / "t")


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


def check_rows(plan: Plan | Told) -> None:
    with played(plan) as table:
        for point in points(table):
            fields, rows = scanned(table, point)
            assert list(fields) == list(point.schema.fields)
            assert multiset(fields, rows) == multiset(fields, model_rows(table, point))


def check_projections(plan: Plan | Told) -> None:
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


def check_pruning(plan: Plan | Told) -> None:
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


def check_sql(plan: Plan | Told) -> None:
    """Counts, and time travel to every snapshot, moment, branch and tag, as a person writes them."""
    with TemporaryDirectory(prefix="t", dir=warehouse() / "db") as folder:
        table = made(plan, Path(folder))
        table.loaded()
        name = f"c.db.`{Path(folder).name}`"
        for where, point in travels(table):
            ids = Counter(row["id"] for row in model_rows(table, point))
            names, rows = asked(f"SELECT * FROM {name}{where}")
            assert names == [f.name for f in point.schema.fields], where
            assert Counter(row[names.index("id")] for row in rows) == ids, where
            assert asked(f"SELECT COUNT(*) FROM {name}{where}")[1] == [[ids.total()]], where


def check_counts(plan: Plan | Told) -> None:
    """COUNT, MIN and MAX that manifests answer are those of the rows, at every point of a history."""
    random = Random(plan.seed)
    with TemporaryDirectory(prefix="t", dir=warehouse() / "db") as folder:
        table = made(plan, Path(folder))
        table.loaded()
        name = f"c.db.`{Path(folder).name}`"
        moments, appended = list(travels(table)), list(increments(table))
        chosen = random.sample(moments, min(3, len(moments))) + random.sample(appended, min(1, len(appended)))
        for where, point in chosen:
            asked_of = f"{name}{where}"
            columns = ["`" + f.name.replace("`", "``") + "`" for f in point.schema.fields if f.type.is_primitive]
            for _ in range(2):
                column = random.choice(columns)
                relation = random.choice([asked_of, f"(SELECT * FROM {asked_of}) AS q"])
                item = random.choice(["COUNT(*)", f"COUNT({column})", f"MIN({column})", f"MAX({column})"])
                kept = random.choice(["", "", *(f" WHERE {c}" for c in conditions(random.choice(columns)))])
                compare_ways(f"SELECT {item} FROM {relation}{kept}")
            compare_ways(f"SELECT COUNT(*) FROM {asked_of}")


def conditions(column: str) -> list[str]:
    return [f"{column} IS NULL", f"{column} IS NOT NULL", "id > 3", "id BETWEEN 2 AND 100", "id IN (1, 2) OR id > 5"]


def increments(table: TableBuilder) -> Iterator[tuple[str, ReadPoint]]:
    """Hints for what was appended between two snapshots, where nothing else happened between them."""
    metadata = table.metadata
    for end in metadata.snapshots:
        for start in list(ancestors(metadata, end))[1:4]:
            try:
                point = between(metadata, start.snapshot_id, end.snapshot_id)
            except BergError:
                continue
            options = f"'start-snapshot-id'='{start.snapshot_id}', 'end-snapshot-id'='{end.snapshot_id}'"
            yield f" /*+ OPTIONS({options}) */", point


def compare_ways(sql: str) -> None:
    """A query with manifests and without."""
    statement: Any = parse(sql, Flavour.SPARK)
    found = []
    for prune in (True, False):
        planned = plan_query(statement.query, SessionRelations(session()), prune=prune)
        result = open_plan(session(), planned)
        try:
            found.append([repr(row) for row in result.rows()])
        finally:
            result.close()
        answered = [line for line in planned.explain() if "answered from metadata" in line]
        assert len(answered) == sum(bool(s.answers) for s in planned.scans)
        assert not (answered and not prune)
        WAYS["answered" if answered else "scanned"] += prune
        WAYS["deletes"] += "less the rows of" in "".join(answered)
    assert found[0] == found[1], sql


WAYS: Counter[str] = Counter()
"""How many queries of :func:`compare_ways` were answered by manifests, how many of them with delete files."""


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


@settings(FEW, max_examples=15)
@given(plan=plans(ALL_STEPS))
def _few_counts(plan: Plan) -> None:
    check_counts(plan)


@settings(FEW, max_examples=10)
@given(plan=plans(("append", *POSITION_STEPS), longest=5))
def _few_counts_with_deletes(plan: Plan) -> None:
    check_counts(plan)


def test_counts_by_manifests_are_those_of_scans() -> None:
    WAYS.clear()
    _few_counts()
    _few_counts_with_deletes()
    assert WAYS["answered"]
    assert WAYS["scanned"]
    assert WAYS["deletes"]


@pytest.mark.parametrize("tell", SITUATIONS)
def test_situations(tell: Callable[[Path], TableBuilder]) -> None:
    """What random histories seldom reach."""
    check_rows(Told(tell))
    check_projections(Told(tell))


@pytest.mark.long
@pytest.mark.parametrize("check", [check_pruning, check_sql, check_counts])
@pytest.mark.parametrize("tell", SITUATIONS)
def test_what_is_asked_of_situations(tell: Callable[[Path], TableBuilder], check: Any) -> None:
    for seed in range(5):
        check(Told(tell, seed))


def test_the_two_zeros_are_two_partitions() -> None:
    check_projections(Plan(3, 204, 129, ()))


@pytest.mark.long
@pytest.mark.parametrize("check", [*CHECKS, check_counts])
@MANY
@given(plan=plans(ALL_STEPS, longest=14))
def test_many_random_histories(check: Any, plan: Plan) -> None:
    check(plan)

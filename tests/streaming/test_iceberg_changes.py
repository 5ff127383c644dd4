"""The changes of random tables: carried out on the rows of one snapshot, they give those of each later one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.engine.duck import Duck
from bergsql.engine.plan.relations import IcebergRelation
from bergsql.engine.streaming.sources.iceberg import iceberg_source
from bergsql.engine.table.read_point import ancestors
from bergsql.engine.table.scan import build_scan
from tests.support.history.builder import TableBuilder
from tests.support.history.random_table import EQUALITY_STEPS, POSITION_STEPS, STEPS, Plan, plans, play
from tests.support.history.values import NANOSECONDS, token
from tests.support.iceberg_streams import OPTIONS, Reading, Standpoint, Stream, fold, planned
from tests.support.statements.player import Player, open_session
from tests.support.statements.story import ALL_SETUPS, CHANGES, Setup, story

ALL_STEPS = (*STEPS, *POSITION_STEPS * 2, *EQUALITY_STEPS * 2)
DUCK = Duck()
FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def states(table: TableBuilder, line: Sequence[Snapshot]) -> dict[int, Counter[str]]:
    """What the model says that the table's rows were at each snapshot, in its present columns."""
    schema = table.metadata.schema
    return {
        s.snapshot_id: Counter(
            repr([token(f.type, row.values[f.name]) for f in schema.fields])
            for row in table.model.rows(table.states[s.snapshot_id], schema)
            if not row.deleted
        )
        for s in line
    }


def lost_by_rewrites(line: Sequence[Snapshot], known: dict[int, Counter[str]]) -> Counter[str]:
    """What the snapshots of a line that are of 'replace' made other than it was: a random table's rewrites may leave
    columns out. A stream passes over them."""
    found: Counter[str] = Counter()
    for snapshot in line:
        if snapshot.operation == "replace" and snapshot.parent_id is not None:
            found.update(known[snapshot.snapshot_id])
            found.subtract(known[snapshot.parent_id])
    return found


def check(plan: Plan, size: int) -> None:
    with TemporaryDirectory() as folder:
        table = play(plan, Path(folder) / "db" / "t")
        for branch in [name for name, ref in table.metadata.refs.items() if ref.is_branch]:
            head = table.metadata.snapshot(table.metadata.refs[branch].snapshot_id)
            line = [*ancestors(table.metadata, head)][::-1]
            known = states(table, line)
            for n in range(len(line)):
                follow(table, HadoopCatalog("c", folder), branch, line[n:], known, size)


def follow(
    table: TableBuilder,
    catalog: HadoopCatalog,
    branch: str,
    line: Sequence[Snapshot],
    known: dict[int, Counter[str]],
    size: int,
) -> None:
    """Carry out the changes behind the first snapshot of a line, and look at the rows at each that a batch ends at."""
    relation = IcebergRelation(("c", "db", "t"), table.loaded(), catalog.storage(), catalog=catalog)
    options = {"branch": branch, "read.changelog": "true", "start-snapshot-id": str(line[0].snapshot_id)}
    standpoint: Any = Standpoint()
    source = iceberg_source(relation, {**OPTIONS, **options}, standpoint)
    context = Reading(DUCK, max_rows=size)
    reader, rows, at = source.reader(context, None), Counter(known[line[0].snapshot_id]), 0
    numbers = [s.snapshot_id for s in line]
    fields = source.schema.fields
    replaced = ", ".join(f"epoch_ns(c{i}) AS c{i}" for i, f in enumerate(fields) if isinstance(f.type, NANOSECONDS))
    while True:
        batch = reader.poll()
        offset: Any = reader.offset
        done = numbers.index(offset["after"])
        rows.update(lost_by_rewrites(line[at + 1 : done + 1], known))
        at = done
        if batch is None:
            break
        changes = context.cursor.execute(f"SELECT * {replaced and f'REPLACE ({replaced})'} FROM ({batch.sql})")
        fold(
            rows,
            [(repr([token(f.type, v) for f, v in zip(fields, r, strict=False)]), r[-1]) for r in changes.fetchall()],
        )
        if offset["snapshot"] is None:
            assert +rows == +known[offset["after"]], offset
    assert reader.lag == 0
    assert at == len(line) - 1
    assert +rows == +known[numbers[-1]]
    DUCK.done(context.cursor)


@FEW
@given(plans(ALL_STEPS), st.sampled_from((1, 4, 1000)))
def test_changes_lead_from_each_snapshot_to_the_next(plan: Plan, size: int) -> None:
    check(plan, size)


# --- statements -------------------------------------------------------------------------------------------------------

_KINDS = (*CHANGES, "insert select", "overwrite", "truncate")


def text(row: Sequence[Any]) -> str:
    """A row as what is equal in SQL has it: 0.0 and -0.0 are."""
    return re.sub(r"-(0\.0\b)", r"\1", repr(tuple(row)))


def table_rows(player: Player) -> Counter[str]:
    scan = build_scan(player.load(), player.session.catalog("both").storage())
    cursor = DUCK.execute(scan.sql, scan.variables)
    found = Counter(text(row) for row in cursor.fetchall())
    DUCK.done(cursor)
    return found


@pytest.mark.parametrize("setup", ALL_SETUPS, ids=str)
def test_changes_of_statements(setup: Setup, tmp_path: Path) -> None:
    """Each statement's changes lead to the rows behind it, whoever goes on from the offset."""
    session = open_session(tmp_path, tmp_path / "wh")
    session.execute("CREATE DATABASE both.s")
    for seed in range(3):
        player = Player(session, f"both.s.t{seed}", setup, seed)
        steps = story(seed, length=10, kinds=_KINDS)
        player.play(steps[0])
        offset: Any = None
        rows: Counter[str] = Counter()
        for step in steps[1:]:
            player.play(step)
            following = Stream(planned(session, {"read.changelog": "true"}, name=player.table), DUCK, offset)
            for batch in following.batches():
                fold(rows, [(text(row[:-1]), row[-1]) for row in batch])
            offset = following.reader.offset
            assert +rows == table_rows(player), player.failed("the changes")
    session.close()

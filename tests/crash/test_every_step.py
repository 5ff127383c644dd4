"""A process that is killed, or refused, at each step of a statement: every call that changes a file, SQLite's too.

Killed behind a step is killed before the next one; beside that a write may have got only half of its bytes out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence, Set
from errno import EIO, ENOSPC, EROFS
from os import strerror
from pathlib import Path

import pytest

from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.table.purge import table_files
from tests.support.faults import Fault, Faults, Kind, Mode, Ran, Step, faults
from tests.support.stepped import NEXT, Case, Warehouse

KINDS = ("hadoop", "jdbc")
TABLE = "CREATE TABLE t (id BIGINT, day BIGINT, name STRING) USING iceberg PARTITIONED BY (day)"
CLEANING = (
    "ALTER TABLE t SET TBLPROPERTIES"
    " ('write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='1')"
)
FILLED = "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 1, 'c'), (4, 2, NULL)"
PLAIN = "CREATE TABLE t (id BIGINT, day BIGINT, name STRING) USING iceberg TBLPROPERTIES ('write.format.default'='{}')"
COPYING = "ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode'='copy-on-write', 'write.update.mode'='copy-on-write', 'write.merge.mode'='copy-on-write')"
MERGING = COPYING.replace("copy-on-write", "merge-on-read")
VECTORS = "ALTER TABLE t SET TBLPROPERTIES ('format-version'='3')"
MERGE = """MERGE INTO t USING (VALUES (1, 1, 'one'), (2, 2, 'two'), (6, 3, 'six')) AS s(id, day, name) ON t.id = s.id
WHEN MATCHED AND s.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *"""
KEYED = (
    "CREATE TABLE t (id BIGINT, day BIGINT, name STRING, PRIMARY KEY (id, day) NOT ENFORCED) PARTITIONED BY (day)"
    " WITH ('format-version'='2', 'write.upsert.enabled'='true')"
)
CASES = {
    "insert": Case((TABLE, FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "cleanup": Case((TABLE, FILLED, CLEANING, FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "avro": Case((PLAIN.format("avro"), FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "orc": Case((PLAIN.format("orc"), FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "overwrite": Case(
        (TABLE, FILLED), "INSERT OVERWRITE t PARTITION (day = 1) SELECT id + 10, name FROM t WHERE day = 1"
    ),
    "truncate": Case((TABLE, FILLED), "TRUNCATE TABLE t"),
    "delete, copy-on-write": Case((TABLE, FILLED, COPYING), "DELETE FROM t WHERE id IN (1, 2)"),
    "delete, merge-on-read": Case((TABLE, FILLED, MERGING), "DELETE FROM t WHERE id IN (1, 2)"),
    "update, copy-on-write": Case((TABLE, FILLED, COPYING), "UPDATE t SET name = 'u', day = day + 1 WHERE id > 2"),
    "update, vectors": Case(
        (TABLE, FILLED, MERGING, VECTORS, "DELETE FROM t WHERE id = 1"), "UPDATE t SET name = 'u' WHERE id > 2"
    ),
    "merge, copy-on-write": Case((TABLE, FILLED, COPYING), MERGE),
    "merge, merge-on-read": Case((TABLE, FILLED, MERGING), MERGE),
    "merge, vectors": Case((TABLE, FILLED, MERGING, VECTORS, "DELETE FROM t WHERE id = 4"), MERGE),
    "upsert": Case(
        (KEYED, FILLED),
        "INSERT INTO t VALUES (1, 1, 'new'), (6, 3, 'b')",
        "flink",
        f"INSERT INTO t VALUES ({NEXT}, 1, 'next')",
    ),
}
BOUNDED = 4
"""How many faults are tried of each statement in every run; all of them in the long one."""
MAKING = frozenset({Kind.CREATE, Kind.WRITE, Kind.LINK, Kind.RENAME, Kind.MKDIR})
FAULTS = {
    "killed": Fault(Mode.KILL),
    "torn": Fault(Mode.TEAR),
    "Ctrl-C": Fault(Mode.PRESS),
    "EIO": Fault(Mode.FAIL, error=EIO),
    "ENOSPC": Fault(Mode.FAIL_ON, error=ENOSPC, kinds=MAKING),
    "EROFS": Fault(Mode.FAIL_ON, error=EROFS, kinds=frozenset(Kind) - {Kind.SYNC}),
    "lost": Fault(Mode.LOSE, error=EIO, kinds=frozenset(Kind) - {Kind.CREATE}),
}
UNKNOWN = "It is not known whether"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_some(case: str, kind: str, tmp_path: Path, faulty: Faults) -> None:
    house = Warehouse(tmp_path, faulty, kind, CASES[case])
    every = [(name, at) for name in FAULTS for at in points(house, name)]
    for name, at in random.Random(f"{case} {kind}").sample(every, BOUNDED):
        check(house, name, at)


def test_the_moments_around_publication(tmp_path: Path, faulty: Faults) -> None:
    """A version that has its name, when the directory cannot be synced, or nothing else was done: what people reported
    (row 60 of the asks) as files of a commit that were deleted though it had happened."""
    house = Warehouse(tmp_path, faulty, "hadoop", CASES["insert"])
    (link,) = [n for n, step in enumerate(house.clean.steps) if step.kind is Kind.LINK]
    assert house.clean.steps[link + 1].kind is Kind.SYNC
    for name, at in (
        ("lost", link),
        ("EIO", link + 1),
        ("killed", link + 1),
        ("killed", link + 2),
        ("Ctrl-C", link + 1),
    ):
        check(house, name, at)
        assert house.done, (name, at)


def test_the_moments_around_the_commit_of_a_pointer(tmp_path: Path, faulty: Faults) -> None:
    house = Warehouse(tmp_path, faulty, "jdbc", CASES["insert"])
    steps = house.clean.steps
    journal = max(n for n, step in enumerate(steps) if step.kind is Kind.UNLINK and "journal" in step.path)
    for name, at, done in (("EIO", journal - 1, None), ("lost", journal, None), ("killed", journal, False)):
        check(house, name, at)
        assert done is None or house.done is done, (name, at)
    assert steps[-1].kind is Kind.SYNC  # else the journal could come back when the power fails
    check(house, "killed", len(steps) - 1)
    assert house.done


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_published_is_on_the_disk(case: str, kind: str, tmp_path: Path, faulty: Faults) -> None:
    """All that a version refers to was synced before it was published, names included: the power may fail then."""
    house = Warehouse(tmp_path, faulty, kind, CASES[case])
    steps = house.clean.steps
    published = publication(house)
    new = {str(p.relative_to(house.place)) for p in map(Path, table_files(house.load(), LocalStorage()))}
    new -= house.old_files
    (metadata,) = (name for name in new if name.endswith(".metadata.json"))
    if kind == "hadoop":  # which has its name by the publication itself
        new.remove(metadata)
        (staged,) = {step.path for step in steps if step.path.endswith(".metadata.json.tmp")}
        assert last(steps, {Kind.CREATE, Kind.WRITE}, staged) < last(steps, {Kind.SYNC}, staged) < published
        assert steps[published + 1] == Step(Kind.SYNC, 0, str(house.place / "db/t/metadata"))
    assert len(new) > 1
    old = {str(house.place / above) for name in house.old_files for above in Path(name).parents}
    for name in new:
        path = house.place / name
        born = last(steps, {Kind.CREATE, Kind.LINK, Kind.RENAME}, str(path))
        changed = last(steps, {Kind.WRITE, Kind.TRUNCATE}, str(path))
        assert 0 <= max(born, changed) < last(steps, {Kind.SYNC}, str(path)) < published, name
        while str(path) not in old:
            assert born >= 0, path
            path = path.parent
            assert born < last(steps[:published], {Kind.SYNC}, str(path)), (name, path)
            born = last(steps, {Kind.MKDIR, Kind.RENAME}, str(path))


def publication(house: Warehouse) -> int:
    """The step that makes the new version the table's: the link of its name, the end of SQLite's journal."""
    steps = house.clean.steps
    links = [n for n, step in enumerate(steps) if step.kind is Kind.LINK and step.path.endswith(".metadata.json")]
    ends = [n for n, step in enumerate(steps) if step.kind is Kind.UNLINK and step.path.endswith("-journal")]
    assert bool(links) is not bool(ends)
    return (links or ends)[-1]


def last(steps: Sequence[Step], kinds: Set[Kind], path: str) -> int:
    """The last step of some kinds on a path; -1 for none."""
    return max((n for n, step in enumerate(steps) if step.kind in kinds and step.path == path[-247:]), default=-1)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_all(case: str, kind: str, name: str, tmp_path: Path, faulty: Faults) -> None:
    house = Warehouse(tmp_path, faulty, kind, CASES[case])
    for at in points(house, name):
        check(house, name, at)


def points(house: Warehouse, name: str) -> list[int]:
    """The steps that the fault can happen at."""
    return [n for n, step in enumerate(house.clean.steps) if step.kind in FAULTS[name].kinds]


def check(house: Warehouse, name: str, at: int) -> None:
    """What must hold behind each fault: the table is whole, the next writer works, and what was told is true."""
    house.restore()
    ran = house.run(house.case.statement, fault=FAULTS[name]._replace(at=at))
    left = house.files()
    house.check_whole()
    rows = house.check_next()
    house.done = rows == house.after
    happened = ran.steps[min(at, len(ran.steps) - 1)]
    try:
        if name in ("killed", "torn"):
            check_killed(house, ran, rows)
        elif name == "Ctrl-C":
            check_interrupted(house, ran, rows, left)
        else:
            check_refused(house, FAULTS[name], ran, rows, left, happened.kind)
    except AssertionError as failure:
        failure.add_note(f"{name} at {at}: {happened}\n{ran.err}")
        raise


def check_killed(house: Warehouse, ran: Ran, rows: list[str]) -> None:
    """The table reads as before or as after."""
    assert (ran.fired, ran.code) in ((True, -9), (False, 0))
    assert rows in (house.before, house.after)
    if not ran.fired:  # it has a step less than the first time: threads write as they come
        assert rows == house.after


def check_interrupted(house: Warehouse, ran: Ran, rows: list[str], left: set[str]) -> None:
    """Nothing happened, and no file stays; or it came too late, and the statement says that all is done."""
    assert "Traceback" not in ran.err
    assert ran.code in (0, 130)
    if "; snapshot " in ran.err:
        assert rows == house.after
    else:
        assert ran.code == 130
        assert rows == house.before
        assert left == house.old_files


def check_refused(house: Warehouse, fault: Fault, ran: Ran, rows: list[str], left: set[str], kind: Kind) -> None:
    """One clear line, and no file that stays; or it was done all the same, and is whole."""
    if ran.code == 0:
        assert rows == house.after
        return
    check_told(ran, strerror(fault.error))
    unknown = UNKNOWN in ran.err
    assert rows == house.before or (unknown and rows == house.after)
    removing = kind in (Kind.UNLINK, Kind.RMDIR)
    if not (unknown or removing or fault.error == EROFS):
        assert left == house.old_files


def check_told(ran: Ran, reason: str) -> None:
    assert ran.code == 1
    lines = [line for line in ran.err.splitlines() if not line.startswith("[INFO]")]
    assert lines[0].startswith("[ERROR] ")
    assert sum(line.startswith("[ERROR] ") for line in lines) == 1
    assert reason in lines[0] or "catalog.db" in lines[0]
    assert "Traceback" not in ran.err
    assert "Internal error" not in ran.err

"""A process that is killed, or refused, at each step of a statement: every call that changes a file, SQLite's too.

Killed behind a step is killed before the next one; beside that a write may have got only half of its bytes out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from errno import EIO, ENOSPC, EROFS
from os import strerror
from pathlib import Path

import pytest

from tests.support.faults import Fault, Faults, Kind, Mode, Ran, faults
from tests.support.stepped import Case, Warehouse

KINDS = ("hadoop", "jdbc")
TABLE = "CREATE TABLE t (id BIGINT, day BIGINT, name STRING) USING iceberg PARTITIONED BY (day)"
CLEANING = (
    "ALTER TABLE t SET TBLPROPERTIES"
    " ('write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='1')"
)
FILLED = "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 1, 'c'), (4, 2, NULL)"
PLAIN = "CREATE TABLE t (id BIGINT, day BIGINT, name STRING) USING iceberg TBLPROPERTIES ('write.format.default'='{}')"
CASES = {
    "insert": Case((TABLE, FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "cleanup": Case((TABLE, FILLED, CLEANING, FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "avro": Case((PLAIN.format("avro"), FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "orc": Case((PLAIN.format("orc"), FILLED), "INSERT INTO t VALUES (5, 1, 'a'), (6, 3, 'b')"),
    "overwrite": Case(
        (TABLE, FILLED), "INSERT OVERWRITE t PARTITION (day = 1) SELECT id + 10, name FROM t WHERE day = 1"
    ),
}
BOUNDED = 2
"""How many steps are tried of each statement in every run; all of them in the long one."""
SHARE = [pytest.param(True, id="some"), pytest.param(False, id="all", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


def points(house: Warehouse, some: bool, *seed: object, kinds: Iterable[Kind] = Kind) -> list[int]:
    """The steps to be tried, of these kinds."""
    wanted = set(kinds)
    found = [n for n, step in enumerate(house.clean.steps) if step.kind in wanted]
    if not some:
        return found
    return sorted(random.Random(repr(seed)).sample(found, min(BOUNDED, len(found))))


@pytest.mark.parametrize("some", SHARE)
@pytest.mark.parametrize("mode", [Mode.KILL, Mode.TEAR])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_killed(case: str, kind: str, mode: Mode, some: bool, tmp_path: Path, faulty: Faults) -> None:
    """The table reads as before or as after, nothing needed is gone, and the next writer works."""
    house = Warehouse(tmp_path, faulty, kind, CASES[case])
    for at in points(house, some, case, kind, mode):
        house.restore()
        ran = house.run(CASES[case].statement, fault=Fault(mode, at))
        step = f"{mode.name} at {at}: {ran.steps[-1]}"
        assert (ran.fired, ran.code) in ((True, -9), (False, 0)), step
        house.check_whole()
        rows = house.check_next()
        assert rows in (house.before, house.after), step
        if not ran.fired:  # it has a step less than the first time: threads write as they come
            assert rows == house.after, step


MAKING = {Kind.CREATE, Kind.WRITE, Kind.LINK, Kind.RENAME, Kind.MKDIR}
REFUSALS = {
    "EIO": Fault(Mode.FAIL, error=EIO),
    "ENOSPC": Fault(Mode.FAIL_ON, error=ENOSPC, kinds=frozenset(MAKING)),
    "EROFS": Fault(Mode.FAIL_ON, error=EROFS, kinds=frozenset(Kind) - {Kind.SYNC}),
    "lost": Fault(Mode.LOSE, error=EIO, kinds=frozenset(Kind) - {Kind.CREATE}),
}
UNKNOWN = ("It is not known whether",)


@pytest.mark.parametrize("some", SHARE)
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_refused(case: str, kind: str, refusal: str, some: bool, tmp_path: Path, faulty: Faults) -> None:
    """One clear line, no file that stays, and the next statement works; or it was done all the same, and is whole."""
    house = Warehouse(tmp_path, faulty, kind, CASES[case])
    fault = REFUSALS[refusal]
    for at in points(house, some, case, kind, refusal, kinds=fault.kinds):
        house.restore()
        ran = house.run(CASES[case].statement, fault=fault._replace(at=at))
        step = f"{refusal} at {at}: {ran.steps[at] if at < len(ran.steps) else None}\n{ran.err}"
        left = house.files()
        house.check_whole()
        rows = house.check_next()
        if ran.code == 0:
            assert rows == house.after, step
        else:
            check_told(ran, fault, step)
            unknown = any(text in ran.err for text in UNKNOWN)
            assert rows == house.before or (unknown and rows == house.after), step
            removing = ran.steps[at].kind in (Kind.UNLINK, Kind.RMDIR)
            if not (unknown or removing or refusal == "EROFS"):
                assert left == house.old_files, step


def check_told(ran: Ran, fault: Fault, step: str) -> None:
    assert ran.code == 1, step
    lines = [line for line in ran.err.splitlines() if not line.startswith("[INFO]")]
    assert lines[0].startswith("[ERROR] "), step
    assert sum(line.startswith("[ERROR] ") for line in lines) == 1, step
    assert strerror(fault.error) in lines[0] or "catalog.db" in lines[0], step
    assert "Traceback" not in ran.err, step
    assert "Internal error" not in ran.err, step

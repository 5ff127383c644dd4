"""The process of a job is killed, or refused, at each step of its sink: what was read is in the table once behind it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

from bergsql.catalog.metadata.transforms import Transform, TransformKind
from tests.support.faults import NONE, Fault, Faults, Kind, Mode, Ran, faults
from tests.support.hand_job import CHECKPOINTS, expected
from tests.support.sinks import orphans
from tests.support.tables import Tables

WRITES = frozenset((Kind.CREATE, Kind.WRITE, Kind.MKDIR, Kind.LINK, Kind.RENAME, Kind.TRUNCATE))
FAULTS = {
    "killed": Fault(Mode.KILL),
    "torn": Fault(Mode.TEAR),
    "full": Fault(Mode.FAIL_ON, error=ENOSPC, kinds=WRITES),
    "broken": Fault(Mode.FAIL, error=EIO),
    "lost": Fault(Mode.LOSE, error=EIO),
}
DEADLY = ("killed", "torn")
CATALOGS = re.compile(r"metadata/([0-9a-f-]+\.metadata\.json|version-hint\.text\.[0-9a-f]+)\.tmp")
"""Names that a Hadoop catalog's files have until they get their own."""
CASES = [(kind, mode) for kind in ("hadoop", "jdbc") for mode in ("append", "changes")]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


class Job:
    """A job and its table, which can be set back to before its start."""

    def __init__(self, folder: Path, faulty: Faults, kind: str, mode: str) -> None:
        self.place, self._saved = folder / "job", folder / "saved"
        self._faulty, self._kind, self._mode = faulty, kind, mode
        tables = self.tables
        tables.create(
            {"id!": "long", "v": "long"},
            [("id", Transform(TransformKind.BUCKET, 2))] if mode == "append" else [],
        )
        if mode == "changes":
            from bergsql.catalog.metadata.changes import AddSchema, SetCurrentSchema
            from bergsql.catalog.metadata.schema import Schema

            table = tables.load()
            keyed = Schema(0, table.metadata.schema.fields, (1,))
            tables.catalog.commit(table, (AddSchema(keyed), SetCurrentSchema()))
        shutil.copytree(self.place, self._saved)
        self.clean = self.run()
        self.check("clean")

    @property
    def tables(self) -> Tables:
        return Tables(self.place / "wh", jdbc=self._kind == "jdbc")

    def restore(self) -> None:
        shutil.rmtree(self.place)
        shutil.copytree(self._saved, self.place)

    def run(self, fault: Fault = NONE) -> Ran:
        return self._faulty.run(
            [str(self.place), self._kind, self._mode], self.place, fault, module="tests.support.hand_job"
        )

    def check(self, what: str, *, killed: bool = False) -> None:
        """Once: each row, each snapshot, and no file that is not needed; of a writer that was ``killed`` in the middle
        of giving a file its name, the catalog's one that did not get it."""
        from bergsql.engine.session import Session, SessionConfig

        tables = self.tables
        metadata = tables.load().metadata
        assert len(metadata.snapshots) == CHECKPOINTS, what
        with_rows = [s.summary["flink.max-committed-checkpoint-id"] for s in metadata.snapshots]
        assert with_rows == [str(n) for n in range(1, CHECKPOINTS + 1)], what
        session = Session(SessionConfig(home=self.place / "home"))
        session._catalogs["c"] = tables.catalog
        try:
            result = session.execute("SELECT * FROM c.db.t")
            assert sorted(result.rows()) == expected(self._mode), what
            result.close()
        finally:
            session.close()
        assert not orphans(tables), what
        left = [f for f in tables.on_disk() if f.endswith(".tmp")]
        assert len(left) <= killed, what
        assert all(CATALOGS.fullmatch(f) for f in left), what

    def sweep(self, name: str, at: int) -> None:
        """A fault at a step, and the job once more."""
        self.restore()
        fault = FAULTS[name]._replace(at=at)
        ran = self.run(fault)
        assert ran.code in ((-9, 0) if name in DEADLY else (0, 1)), ran.err
        again = self.run()
        what = f"{name} at {at}: {ran.steps[min(at, len(ran.steps) - 1)]}\n{ran.out}{ran.err}{again.out}{again.err}"
        assert again.code == 0, what
        self.check(what, killed=name in DEADLY)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_some_steps(kind: str, mode: str, name: str, tmp_path: Path, faulty: Faults) -> None:
    job = Job(tmp_path, faulty, kind, mode)
    points = [n for n, step in enumerate(job.clean.steps) if step.kind in FAULTS[name].kinds]
    for at in sorted(random.Random(f"{kind} {mode} {name}").sample(points, 2)):
        job.sweep(name, at)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_all_steps(kind: str, mode: str, name: str, tmp_path: Path, faulty: Faults) -> None:
    job = Job(tmp_path, faulty, kind, mode)
    for at, step in enumerate(job.clean.steps):
        if step.kind in FAULTS[name].kinds:
            job.sweep(name, at)

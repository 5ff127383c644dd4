"""Whole pipelines into Iceberg tables, set back before each of many runs: real jobs, and what must hold behind each."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.streaming.jobs import registry
from bergsql.engine.streaming.jobs.status import JobState
from bergsql.engine.table.purge import table_files
from tests.support.berg import Berg
from tests.support.faults import NONE, Fault, Faults, Ran
from tests.support.jobs import Jobs, id_in, process

FILES, ROWS, KEYS = 4, 30, 7
SETTINGS = (
    "SET 'execution.checkpointing.interval' = '1 ms'",
    "SET 'restart-strategy.type' = 'none'",
    "SET 'engine.threads' = '1'",
)
SOURCE = (
    "CREATE TABLE src (id BIGINT, k BIGINT, v BIGINT) WITH ('connector'='filesystem', 'path'='{}', 'format'='csv', "
    "'source.monitor-interval'='1 ms')"
)
BATCH = "CREATE TABLE src (id BIGINT, k BIGINT, v BIGINT) WITH ('connector'='filesystem', 'path'='{}', 'format'='csv')"
PLAIN = "CREATE TABLE {} (id BIGINT, k BIGINT, v BIGINT) PARTITIONED BY (k)"
KEYED = "CREATE TABLE {} (k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('format-version'='2')"
GROUPED = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM {} GROUP BY k"
STREAMED = "iced /*+ OPTIONS('streaming'='true', 'monitor-interval'='1 ms', 'max-planning-snapshot-count'='1') */"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Tables, the job's statement, and for each sink the batch query over the source that it must equal."""

    tables: Sequence[str]
    statement: str
    sinks: dict[str, str]
    iced: bool = False
    """Whether its source is an Iceberg table, into which the files are inserted before."""


PIPELINES = {
    "append": Pipeline(
        (PLAIN.format("t"),), "INSERT INTO t SELECT id, k, v FROM src", {"t": "SELECT id, k, v FROM src"}
    ),
    "upsert": Pipeline((KEYED.format("t"),), f"INSERT INTO t {GROUPED.format('src')}", {"t": GROUPED.format("src")}),
    "two sinks": Pipeline(
        (PLAIN.format("iced"), PLAIN.format("t"), KEYED.format("pointed.db.u")),
        "EXECUTE STATEMENT SET BEGIN "
        f"INSERT INTO t SELECT id, k, v FROM {STREAMED} WHERE v <> 3; "
        f"INSERT INTO pointed.db.u {GROUPED.format(STREAMED)}; END",
        {"t": "SELECT id, k, v FROM src WHERE v <> 3", "pointed.db.u": GROUPED.format("src")},
        iced=True,
    ),
}


class Site:
    """A home, a warehouse and a job in them that has not read anything yet."""

    def __init__(self, folder: Path, faulty: Faults, pipeline: Pipeline) -> None:
        self.place, self._saved = folder / "site", folder / "saved"
        self.given, self.watched, self._feed = folder / "given", folder / "watched", folder / "feed"
        self._faulty, self.pipeline = faulty, pipeline
        for path in (self.place / "home", self.place / "wh", self.given, self.watched, self._feed):
            path.mkdir(parents=True)
        for n in range(FILES):
            rows = [(n * ROWS + i, (n * 3 + i) % KEYS, (n * 5 + i) % 11) for i in range(ROWS)]
            file = self.given / f"{n}.csv"
            file.write_text("".join(f"{a},{b},{c}\n" for a, b, c in rows))
            os.utime(file, (1, 1))
        self.berg = Berg(self.place / "home", self.place / "wh", ("--warehouse", str(self.place / "wh")))
        self.jobs = Jobs(self.berg)
        self.start = (
            f"CREATE CATALOG pointed WITH ('type'='iceberg', 'catalog-type'='jdbc', 'warehouse'='{self.place}/pointed', "
            f"'uri'='jdbc:sqlite:{self.place}/pointed.db')",
            SOURCE.format(self.watched),
        )
        self._do(*self.start, "CREATE DATABASE pointed.db", *pipeline.tables)
        self.id = id_in(self._do(*SETTINGS, *self.start, pipeline.statement))
        run = process(self.jobs.until_state(self.id, JobState.RUNNING))
        run.kill()
        psutil.wait_procs([run], timeout=60)
        if pipeline.iced:
            for file in sorted(self.given.iterdir()):
                self._do(BATCH.format(file), "INSERT INTO iced SELECT * FROM src")
        shutil.copytree(self.place, self._saved)
        self.wanted = {sink: self.rows(query) for sink, query in pipeline.sinks.items()}
        self.clean = self.run()
        assert self.clean.code == 0, self.told(self.clean)
        self.check("without a fault")

    def _do(self, *statements: str) -> str:
        done = self.berg.run("--detach", *[word for sql in statements for word in ("-e", sql)])
        assert done.code == 0, done.err
        return done.err

    @property
    def directory(self) -> Path:
        return registry.job(self.berg.home, self.id).directory

    def restore(self) -> None:
        """As it was before the job read anything."""
        for path in (self.place, self._feed, self.watched):
            shutil.rmtree(path)
        shutil.copytree(self._saved, self.place)
        self.watched.mkdir()
        self.fill()

    def fill(self) -> None:
        """The files that are to come."""
        shutil.rmtree(self._feed, ignore_errors=True)
        self._feed.mkdir()
        if not self.pipeline.iced:
            for file in self.given.iterdir():
                shutil.copy2(file, self._feed)

    def run(self, fault: Fault = NONE) -> Ran:
        """Run the job, until all is read or it dies."""
        if not any(self.watched.iterdir()) and not any(self._feed.iterdir()):
            self.fill()
        arguments = [str(self.directory), str(self._feed), str(self.watched)]
        return self._faulty.run(arguments, self.place, fault, module="tests.support.fed_job")

    def told(self, *ran: Ran) -> str:
        """What there is to know of runs."""
        log = self.directory / "job.log"
        return "\n".join([*(f"{r.code} {r.out}{r.err}" for r in ran), log.read_text() if log.exists() else ""])

    def rows(self, query: str) -> list[str]:
        """The rows of a batch query over all files, or over the tables."""
        from bergsql.engine.session import Session, SessionConfig

        session = Session(SessionConfig(home=self.place / "home", warehouse=str(self.place / "wh")))
        try:
            for statement in (self.start[0], BATCH.format(self.given)):
                session.execute(statement).close()
            result = session.execute(query)
            try:
                return sorted(json.dumps([str(v) for v in row]) for row in result.rows())
            finally:
                result.close()
        finally:
            session.close()

    def load(self, name: str) -> LoadedTable:
        """A sink."""
        catalog: Catalog
        if name.startswith("pointed"):
            options = {"uri": f"jdbc:sqlite:{self.place}/pointed.db", "warehouse": f"{self.place}/pointed"}
            catalog = JdbcCatalog("pointed", options)
            return catalog.load_table(TableIdent(("db",), name.rpartition(".")[2]))
        catalog = HadoopCatalog("c", str(self.place / "wh"))
        return catalog.load_table(TableIdent(("default_database",), name))

    def check(self, what: str) -> None:
        """Nothing twice, nothing missing, no file that nobody needs, and a snapshot for each checkpoint that had rows."""
        for sink, wanted in self.wanted.items():
            found = self.rows(f"SELECT * FROM {sink}")
            assert found == wanted, f"{sink}, {what}"
            left = self.orphans(sink)
            assert not left, f"{sink}, {what}"
            table = self.load(sink).metadata
            numbers = [int(s.summary["flink.max-committed-checkpoint-id"]) for s in table.snapshots]
            assert numbers == sorted(set(numbers)), f"{sink}, {what}"

    def orphans(self, sink: str) -> set[str]:
        table = self.load(sink)
        root = Path(table.metadata.location.removeprefix("file:"))
        needed = {str(Path(f).relative_to(root)) for f in table_files(table, LocalStorage())}
        there = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
        # Of the catalog, whose writer may be killed before they have their names.
        own = (".metadata.json", ".metadata.json.tmp")
        return {f for f in there - needed if not (f.endswith(own) or f.startswith("metadata/version-hint.text"))}

"""A snapshot of a MySQL table into an upsert table of Iceberg, beside a SELECT of it through the same driver.

    python benchmarks/mysql_snapshot.py [--rows N] [--runs N]

Both by turns in one run, beside the server of examples/services; the SELECT's rows are fetched and thrown away. The goal: at
least half of the SELECT's rows a CPU second of this process, as for the binlog. Seconds on the clock are told, too: the job
waits for the server chunk by chunk, where the SELECT has the server work ahead of it on a core of its own.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pymysql.cursors

from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.runner import Runner, StopKind
from bergsql.engine.streaming.state.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, Cost, Ratio, cost
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

COLUMNS = "id INT NOT NULL, name STRING, amount DECIMAL(10, 2), n BIGINT, PRIMARY KEY (id) NOT ENFORCED"
SLOWEST = 2.0


class Bench:
    """A table of ``rows`` rows."""

    def __init__(self, place: Path, mariadb: MariaDB, rows: int) -> None:
        self.place, self.mariadb, self.rows = place, mariadb, rows
        self.session = Session(SessionConfig(home=place / "home", warehouse=str(place / "wh")))
        mariadb.run(
            "CREATE DATABASE bench",
            "CREATE TABLE bench.t (id INT PRIMARY KEY, name VARCHAR(40), amount DECIMAL(10,2), n BIGINT)",
            f"INSERT INTO bench.t SELECT seq, CONCAT('name ', seq), seq / 100, seq * 1000 FROM bench.seq_1_to_{rows}",
        )
        self._numbers = count(1)

    def _run(self, sql: str) -> list[Any]:
        result = self.session.execute(sql)
        try:
            return list(result.rows())
        finally:
            result.close()

    def ours(self) -> None:
        """Run a job until it has read the table, and its sink has all rows."""
        number = next(self._numbers)
        self._run(
            f"CREATE TEMPORARY TABLE src{number} ({COLUMNS}) WITH ('connector'='mysql-cdc', 'hostname'='127.0.0.1', "
            f"'port'='{self.mariadb.port}', 'username'='{USER}', 'password'='{PASSWORD}', 'database-name'='bench', "
            "'table-name'='t')"
        )
        self._run(f"CREATE TABLE t{number} ({COLUMNS}) WITH ('format-version'='2')")
        insert = parse(f"INSERT INTO t{number} SELECT * FROM src{number}", self.session.flavour)
        assert isinstance(insert, st.Insert)
        store = Store.open(self.place / "state" / str(number))
        runner = Runner(
            plan_insert_jobs(self.session, [insert]),
            self.session.duck,
            store,
            job_id=f"{number:032x}",
            setting=self.session.setting,
            time_zone="UTC",
            note=print,
        )
        runner.open()
        runner.run(lambda: StopKind.CHECKPOINT if runner.metrics()["rows_in"] >= self.rows else None)
        runner.close()
        store.close()
        assert [tuple(row) for row in self._run(f"SELECT COUNT(*) FROM t{number}")] == [(self.rows,)]

    def theirs(self) -> None:
        """The SELECT alone."""
        with self.mariadb.connect() as connection:
            cursor: Any = connection.cursor(pymysql.cursors.SSCursor)
            cursor.execute("SELECT id, name, amount, n FROM bench.t")
            rows = 0
            while found := cursor.fetchmany(10_000):
                rows += len(found)
        assert rows == self.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    mariadb = MariaDB()
    place = Path(tempfile.mkdtemp())
    try:
        mariadb.start()
        bench = Bench(place, mariadb, args.rows)
        print(HEADER)
        taken = [(cost(bench.ours), cost(bench.theirs)) for _ in range(args.runs)]
        ours, theirs = (Cost(min(c.wall for c in side), min(c.cpu for c in side)) for side in zip(*taken, strict=True))
        whole = Ratio("snapshot to upsert", ours, theirs, SLOWEST)
        print(whole)
        print(
            f"{args.rows / ours.cpu:,.0f} rows a CPU second, {1 / whole.cpu:.2f} of the SELECT's;"
            f" {args.rows / ours.wall:,.0f} rows a second on the clock, {1 / whole.wall:.2f} of it",
            flush=True,
        )
        return 0 if whole.cpu <= SLOWEST else 1
    finally:
        mariadb.close()
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())

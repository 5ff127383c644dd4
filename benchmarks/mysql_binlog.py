"""MariaDB's binlog into an upsert table of Iceberg, against the bare parser: mysql-replication, every row looked at.

    python benchmarks/mysql_binlog.py [--rows N] [--runs N]

Both by turns in one run, beside the server of examples/services. Figures are CPU seconds of this process; the server's
are not counted. The goal: at least half of the bare parser's rows a second.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path

from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.runner import Runner, StopKind
from bergsql.engine.streaming.state.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, by_turns
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

COLUMNS = (
    "id INT NOT NULL, k INT, name STRING, amount DECIMAL(10, 2), at_time TIMESTAMP(0), PRIMARY KEY (id) NOT ENFORCED"
)
SLOWEST = 2.0


class Bench:
    """A table whose binlog holds ``rows`` events: inserts, then updates of half of them."""

    def __init__(self, place: Path, mariadb: MariaDB, rows: int) -> None:
        self.place, self.mariadb, self.rows = place, mariadb, rows
        self.session = Session(SessionConfig(home=place / "home", warehouse=str(place / "wh")))
        mariadb.run(
            "CREATE DATABASE bench",
            "CREATE TABLE bench.t (id INT PRIMARY KEY, k INT, name VARCHAR(40), amount DECIMAL(10,2), at_time DATETIME)",
        )
        self.file, self.pos, *_ = mariadb.run("SHOW MASTER STATUS")[0]
        inserted = rows * 2 // 3
        mariadb.run(
            "INSERT INTO bench.t SELECT seq, seq % 100, concat('name ', seq), seq / 7, '2024-01-01' "
            f"FROM bench.seq_1_to_{inserted}",
            f"UPDATE bench.t SET k = k + 1 WHERE id <= {rows - inserted}",
        )
        self._numbers = count(1)
        self._servers = count(5_000_000)

    def _run(self, sql: str) -> None:
        list(self.session.execute(sql).rows())

    def ours(self) -> None:
        """Run a job until it has read all."""
        number = next(self._numbers)
        self._run(
            f"CREATE TEMPORARY TABLE src{number} ({COLUMNS}) WITH ('connector'='mysql-cdc', 'hostname'='127.0.0.1', "
            f"'port'='{self.mariadb.port}', 'username'='{USER}', 'password'='{PASSWORD}', 'database-name'='bench', "
            f"'table-name'='t', 'scan.startup.mode'='specific-offset', 'scan.startup.specific-offset.file'='{self.file}', "
            f"'scan.startup.specific-offset.pos'='{self.pos}')"
        )
        self._run(f"CREATE TABLE t{number} ({COLUMNS}) WITH ('format-version'='2')")
        insert = parse(f"INSERT INTO t{number} SELECT * FROM src{number}", self.session.flavour)
        assert isinstance(insert, st.Insert)
        plan = plan_insert_jobs(self.session, [insert])
        store = Store.open(self.place / "state" / str(number))
        runner = Runner(
            plan,
            self.session.duck,
            store,
            job_id=f"{number:032x}",
            setting=self.session.setting,
            time_zone="UTC",
            note=print,
        )
        runner.open()
        inserted = self.rows * 2 // 3
        wanted = inserted + 2 * (self.rows - inserted)  # an update is two changes
        runner.run(lambda: StopKind.CHECKPOINT if runner.metrics()["rows_in"] >= wanted else None)
        runner.close()
        store.close()
        (rows,) = next(iter(self.session.execute(f"SELECT COUNT(*) FROM t{number}").rows()))
        assert rows == inserted
        self._run(f"DROP TABLE t{number}")

    def theirs(self) -> None:
        """The parser alone."""
        from pymysqlreplication import BinLogStreamReader
        from pymysqlreplication.row_event import UpdateRowsEvent, WriteRowsEvent

        stream = BinLogStreamReader(
            connection_settings={"host": "127.0.0.1", "port": self.mariadb.port, "user": USER, "passwd": PASSWORD},
            server_id=next(self._servers),
            resume_stream=True,
            log_file=self.file,
            log_pos=self.pos,
            only_events=[WriteRowsEvent, UpdateRowsEvent],
            enable_logging=False,
        )
        rows = sum(len(event.rows) for event in stream)
        stream.close()
        assert rows == self.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    mariadb = MariaDB()
    place = Path(tempfile.mkdtemp())
    try:
        mariadb.start()
        bench = Bench(place, mariadb, args.rows)
        print(HEADER)
        whole = by_turns("binlog to upsert", bench.ours, bench.theirs, SLOWEST, args.runs)
        print(whole)
        print(
            f"{args.rows / whole.ours.cpu:,.0f} row events a CPU second, {1 / whole.cpu:.2f} of the bare parser's",
            flush=True,
        )
        return 0 if whole.cpu <= SLOWEST else 1
    finally:
        mariadb.close()
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())

"""A directory of csv files into an Iceberg table as a stream, against DuckDB's own COPY of the same files.

    python benchmarks/streaming_append.py [--rows N] [--files N] [--runs N] [--quick]

Both by turns in one run. Ours reads the files as a job does: batch by batch, with checkpoints in a durable store, files
with field ids and statistics, and a snapshot a checkpoint. The goal: at least 0.6 times DuckDB's rows a second.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, by_turns

COLUMNS = "id BIGINT, k INT, name STRING, v DOUBLE, d DATE, t TIMESTAMP(6)"
ROWS = (
    "SELECT i AS id, CAST(hash(i) % 1000 AS INT) AS k, 'name ' || i AS name, random() AS v, "
    "DATE '2020-01-01' + CAST(i % 1000 AS INT) AS d, TIMESTAMP '2024-01-01' + to_seconds(i) AS t "
    "FROM range({first}, {last}) AS r(i)"
)
DUCK_COLUMNS = "{'id': 'BIGINT', 'k': 'INT', 'name': 'VARCHAR', 'v': 'DOUBLE', 'd': 'DATE', 't': 'TIMESTAMP'}"
SLOWEST = 1 / 0.6


class Bench:
    """Files, a session, and a table for each run."""

    def __init__(self, place: Path, rows: int, files: int) -> None:
        self.place = place
        self.session = Session(SessionConfig(home=place / "home", warehouse=str(place / "wh")))
        self.source = place / "csv"
        self.source.mkdir()
        for n in range(files):
            made = ROWS.format(first=n * rows // files, last=(n + 1) * rows // files)
            self.session.duck.execute(f"COPY ({made}) TO '{self.source}/{n:04d}.csv' (FORMAT csv, HEADER false)")
        self._run(f"CREATE TEMPORARY TABLE src ({COLUMNS}) WITH ('connector'='filesystem', 'format'='csv', "
                  f"'path'='{self.source}')")  # fmt: skip
        self._number = 0
        self.rows = rows

    def _run(self, sql: str) -> None:
        list(self.session.execute(sql).rows())

    def ours(self, layout: str = "") -> None:
        """Run a job to its end."""
        self._number += 1
        name = f"t{self._number}"
        self._run(f"CREATE TABLE {name} ({COLUMNS}) {layout}")
        insert = parse(f"INSERT INTO {name} SELECT * FROM src", self.session.flavour)
        assert isinstance(insert, st.Insert)
        plan = plan_insert_jobs(self.session, [insert])
        store = Store.open(self.place / "state" / name)
        runner = Runner(
            plan,
            self.session.duck,
            store,
            job_id=f"{self._number:032x}",
            setting=self.session.setting,
            time_zone="UTC",
            note=print,
        )
        runner.open()
        runner.run(lambda: None)
        runner.close()
        store.close()
        (count,) = next(iter(self.session.execute(f"SELECT COUNT(*) FROM {name}").rows()))
        assert count == self.rows
        self._run(f"DROP TABLE {name}")

    def theirs(self, partitioned: str = "") -> None:
        """DuckDB's COPY, with the codec of Iceberg's tables."""
        target = self.place / "copy"
        target.mkdir()
        self.session.duck.execute(
            f"COPY (SELECT * FROM read_csv('{self.source}/*.csv', header = false, delim = ',', auto_detect = false, "
            f"columns = {DUCK_COLUMNS})) TO '{target}' (FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES {512 << 20}{partitioned})"
        ).fetchall()
        shutil.rmtree(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one run")
    args = parser.parse_args()
    rows, runs = (args.rows // 10, 1) if args.quick else (args.rows, args.runs)
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place), rows, args.files)
        print(HEADER)
        whole = by_turns("append", bench.ours, bench.theirs, SLOWEST, runs)
        print(f"{whole}   {rows / whole.ours.wall:,.0f} rows/s, {1 / whole.wall:.2f} of DuckDB's", flush=True)
        return 0 if whole.wall <= SLOWEST else 1


if __name__ == "__main__":
    sys.exit(main())

"""A snapshot of a MySQL table beside a SELECT of it through the same driver, by turns in one process.

python benchmarks/mysql_snapshot.py [ROWS]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pymysql.cursors

from bergsql.engine.sql.types import BIGINT, INT, STRING, DataType, Kind

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.mysql_streams import Place, options, source
from tests.support.services.mariadb import MariaDB

ROWS = 5_000_000
TURNS = 2
COLUMNS = {"id": INT, "name": STRING, "amount": DataType(Kind.DECIMAL, 10, 2), "n": BIGINT}


def selected(server: MariaDB) -> float:
    """CPU seconds of a bare SELECT whose rows are thrown away."""
    with server.connect() as connection:
        cursor: Any = connection.cursor(pymysql.cursors.SSCursor)
        begun = time.process_time()
        cursor.execute("SELECT id, name, amount, n FROM bench.t")
        while cursor.fetchmany(10_000):
            pass
        return time.process_time() - begun


def snapshot(server: MariaDB, rows: int) -> float:
    """CPU seconds of the connector's snapshot, made into DuckDB's tables."""
    place = Place(10_000)
    reader = source(options(server, "bench", "t"), COLUMNS).reader(place, None)
    count = 0
    begun = time.process_time()
    while count < rows:
        batch = reader.poll()
        if batch is not None:
            found = place.cursor.execute(f"CREATE OR REPLACE TEMP TABLE got AS FROM {batch.sql}").fetchall()
            count += int(found[0][0])
            place.drop()
    seconds = time.process_time() - begun
    reader.close()
    return seconds


def main(rows: int = ROWS) -> None:
    server = MariaDB()
    try:
        server.start()
        server.run(
            "CREATE DATABASE bench",
            "CREATE TABLE bench.t (id INT PRIMARY KEY, name VARCHAR(40), amount DECIMAL(10,2), n BIGINT)",
            f"INSERT INTO bench.t SELECT seq, CONCAT('name ', seq), seq / 100, seq * 1000 FROM bench.seq_1_to_{rows}",
        )
        taken = [(selected(server), snapshot(server, rows)) for _ in range(TURNS)]
    finally:
        server.close()
    bare, ours = (min(times) for times in zip(*taken, strict=True))
    print(f"SELECT {rows / bare:,.0f} rows/s, snapshot {rows / ours:,.0f} rows/s: {bare / ours:.2f} of it")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

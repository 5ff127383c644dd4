"""Scans: 20 million rows in 20 files of an Iceberg table, against DuckDB's ``read_parquet`` of the same files.

``python benchmarks/scans.py [ROWS]``: rows are rounded to whole files of 5 %. The table is written by bergsql itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

import duckdb

from bergsql.engine.session import Session, SessionConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, by_turns, cost

GOAL = 1.05
FILES = 20
RUNS = 15
COLUMNS = "id BIGINT, day DATE, cat STRING, name STRING, n INT, price DOUBLE, amount DECIMAL(12, 2), flag BOOLEAN"
DIGITS = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
QUERIES = {
    "sum": "SELECT SUM(price) AS s FROM {t}",
    "wide": "SELECT COUNT(id) AS a, MAX(day) AS b, MAX(cat) AS c, MAX(name) AS d, MAX(n) AS e, SUM(price) AS f,"
    " SUM(amount) AS g, COUNT(CASE WHEN flag THEN 1 END) AS h FROM {t}",
    "selective, id range": "SELECT COUNT(*) AS n, SUM(price) AS s FROM {t} WHERE id BETWEEN {low} AND {high}",
    "selective, cat =": "SELECT COUNT(*) AS n, SUM(price) AS s FROM {t} WHERE cat = 'cat-7'",
    "group": "SELECT cat, COUNT(*) AS n, SUM(price) AS s FROM {t} GROUP BY cat",
}


def rows_of(session: Session, sql: str) -> list[tuple[object, ...]]:
    return list(session.execute(sql).rows())


def fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return connection.execute(sql).fetchall()


def fill(session: Session, rows_a_file: int) -> None:
    """One INSERT a file; ``seed`` counts the rows of a file."""
    rows_of(session, f"CREATE TABLE t ({COLUMNS})")
    digits = ["a", "b", "c", "e", "f", "g", "h"][: len(str(rows_a_file - 1))]
    number = " + ".join(f"{10**i} * {x}.d" for i, x in enumerate(digits))
    source = ", ".join(f"{DIGITS} AS {x}(d)" for x in digits)
    for file in range(FILES):
        rows_of(
            session,
            f"INSERT INTO t SELECT CAST({file * rows_a_file} + i AS BIGINT), DATE '2024-01-01', 'cat-' || CAST(i * 7919 % 100 AS STRING),"
            f" 'name of row ' || CAST(i * 104729 % 1000003 AS STRING), CAST(i * 31 % 1000 AS INT), CAST(i * 2654435761 % 1000000007 AS DOUBLE) / 7,"
            f" CAST(i % 100000 AS DECIMAL(12, 2)), i % 3 = 0"
            f" FROM (SELECT CAST({number} AS BIGINT) AS i FROM {source}) AS q WHERE i < {rows_a_file}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as home:
        session = Session(SessionConfig(home=Path(home)))
        fill(session, rows // FILES)
        files = sorted(str(p) for p in Path(home).rglob("data/*.parquet"))
        assert len(files) == FILES, files
        floor = duckdb.connect()
        listed = ", ".join(f"'{f}'" for f in files)
        bounds = {"low": rows // 2, "high": rows // 2 + rows // 1000}
        print(f"{rows:,} rows, {len(files)} files, {sum(Path(f).stat().st_size for f in files) >> 20} MiB")
        print(HEADER)
        for name, query in QUERIES.items():
            ours = query.format(t="t", **bounds)
            theirs = query.format(t=f"read_parquet([{listed}])", **bounds)
            mine, told = rows_of(session, ours), floor.execute(theirs).fetchall()
            assert len(mine) == len(told), (name, mine, told)
            ratio = by_turns(name, partial(rows_of, session, ours), partial(fetch, floor, theirs), GOAL, RUNS)
            planning = min(cost(partial(rows_of, session, f"EXPLAIN {ours}")).wall for _ in range(3))
            less = (ratio.ours.wall - planning) / ratio.theirs.wall
            print(f"{ratio}   (planning {planning * 1000:.1f} ms; without it {less:.2f} x)")
        session.close()


if __name__ == "__main__":
    main()

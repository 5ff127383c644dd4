"""One-row statements in one session: what a commit costs, and that it does not grow with the table's history.

    python benchmarks/commits.py [--snapshots N] [--commits N] [--only TEXT]

For a Hadoop and a JDBC/SQLite catalog: a table with 1,000 snapshots and one with 100, each of a file of 100,000 rows and
one-row files, to which one-row statements are made by turns, each a commit, everything durable. DELETE and MERGE change
rows of the large file, merge-on-read. Medians in milliseconds on the clock and of CPU. The goals: an INSERT takes 20 ms
on the clock at 1,000 snapshots, and each statement 1.5 times the CPU that it costs at 100.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bergsql.engine.session import Session, SessionConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Cost, cost

MOST_MS = 20
MOST_GROWTH = 1.5
MERGE_ON_READ = "TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
STATEMENTS = {
    "INSERT": "INSERT INTO {t} VALUES ({i}, 'x')",
    "DELETE": "DELETE FROM {t} WHERE id = {i}",
    "MERGE": "MERGE INTO {t} AS t USING (SELECT {i} AS id, 'y' AS name) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
}
CATALOGS = {
    "hadoop": "'type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{home}/warehouse'",
    "jdbc": "'type'='iceberg', 'catalog-type'='jdbc', 'uri'='jdbc:sqlite:{home}/catalog.db', "
    "'warehouse'='{home}/warehouse'",
}


class Bench:
    """A session with two tables, of which one has a longer history."""

    def __init__(self, home: Path, catalog: str, long: int, short: int) -> None:
        (home / "warehouse").mkdir()
        self.session = Session(SessionConfig(home=home))
        self.run(f"CREATE CATALOG k WITH ({CATALOGS[catalog].format(home=home)})")
        self.run("CREATE DATABASE k.b")
        self.run("SET 'sql.dialect' = 'spark'")
        self.number = 0
        for table, snapshots in (("long", long), ("short", short)):
            self.run(f"CREATE TABLE k.b.{table} (id BIGINT, name STRING) {MERGE_ON_READ}")
            self.run(f"INSERT INTO k.b.{table} SELECT id, 'first' FROM range(-100000, 0)")
            for _ in range(snapshots - 1):
                self.commit("INSERT", table)

    def run(self, sql: str) -> None:
        list(self.session.execute(sql).rows())

    def commit(self, kind: str, table: str) -> None:
        """One commit. INSERTs go up in their ids, the others change rows of the first file."""
        self.number += 1
        self.run(STATEMENTS[kind].format(t=f"k.b.{table}", i=self.number if kind == "INSERT" else -self.number))

    def measured(self, kind: str, commits: int) -> Iterator[tuple[str, list[Cost]]]:
        """What the commits cost, which are made to both tables by turns."""
        costs: dict[str, list[Cost]] = {"long": [], "short": []}
        for table in costs:
            self.commit(kind, table)  # which imports what the statement needs
        for _ in range(commits):
            for table, found in costs.items():
                found.append(cost(partial(self.commit, kind, table)))
        yield from costs.items()


def median(costs: list[Cost], of: Callable[[Cost], float]) -> float:
    return 1000 * statistics.median(map(of, costs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snapshots", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--only", default="", help="measure the lines that hold this text")
    given = parser.parse_args()
    reached = True
    print(f"{'one-row statement':<22} {'long history':>22} {'short history':>22}   growth (CPU)")
    for catalog in CATALOGS:
        kinds = [kind for kind in STATEMENTS if given.only in f"{catalog} {kind}"]
        if not kinds:
            continue
        with tempfile.TemporaryDirectory() as home:
            bench = Bench(Path(home), catalog, given.snapshots, given.snapshots // 10)
            for kind in kinds:
                costs = dict(bench.measured(kind, given.commits))
                (wall, cpu), (less_wall, less_cpu) = (
                    (median(costs[t], lambda c: c.wall), median(costs[t], lambda c: c.cpu)) for t in ("long", "short")
                )
                growth = cpu / less_cpu
                met = growth <= MOST_GROWTH and (kind != "INSERT" or wall <= MOST_MS)
                reached &= met
                print(
                    f"{f'{catalog} {kind}':<22} {wall:8.1f} ms {cpu:6.1f} CPU {less_wall:8.1f} ms {less_cpu:6.1f} CPU"
                    f"   {growth:5.2f} x   goal {MOST_MS} ms, {MOST_GROWTH} x: {'met' if met else 'MISSED'}",
                    flush=True,
                )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())

"""bergsql beside other readers of Iceberg, on the same tables: CPU seconds of queries in an open session.

``python benchmarks/peers.py WAREHOUSE [PEERS.jsonl]``: WAREHOUSE is a Hadoop catalog with the tables clean, mor1, mor1dv,
eq (20 million rows) and manyfiles (10,000 files, metadata only) in the namespace b; PEERS.jsonl is what the same
queries cost others, a JSON object a line with ``peer``, ``table``, ``query`` and ``cpu`` (a list). Each run opens
its table anew. A cell says what ours took and the least that a peer took; "MISSED" where ours is more than the worst peer.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig

RUNS = 5
BATCH = 122_880
QUERIES = {
    "q1": "SELECT SUM(price) FROM {t}",
    "q2": "SELECT * FROM {t}",
    "q3": "SELECT * FROM {t} WHERE id BETWEEN 9000000 AND 9010000",
    "q4": "SELECT SUM(v) FROM {t} WHERE cat = 'c07'",
    "q5": "SELECT COUNT(*) FROM {t}",
    "q6": "SELECT cat, COUNT(*) AS n, AVG(price) AS p FROM {t} GROUP BY cat ORDER BY cat",
    "q7": "SELECT * FROM {t} WHERE id BETWEEN 5000000 AND 5009999",
}
TABLES = ("clean", "mor1", "mor1dv", "eq")


def cpu() -> float:
    """Seconds of CPU that this process took, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(session: Session, query: str, table: str) -> object:
    """One query, all of its rows; q7 ends at its first file, which does not exist."""
    sql = QUERIES[query].format(t=f"k.b.{table}")
    if query == "q7":
        try:
            list(session.execute(sql).rows())
        except BergError as error:
            if ".parquet" in error.message:
                return None
            raise
        raise SystemExit("manyfiles has data files")
    result = session.execute(sql)
    if query == "q2" and result.batches is not None:
        return sum(batch.num_rows for batch in result.batches(BATCH))
    return list(result.rows())


def measured(warehouse: Path) -> Iterator[tuple[str, str, float]]:
    """Table, query and the CPU seconds of the cheapest of the runs."""
    with tempfile.TemporaryDirectory() as home:
        session = Session(SessionConfig(home=Path(home)))
        list(
            session.execute(
                f"CREATE CATALOG k WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{warehouse}')"
            ).rows()
        )
        for table in TABLES:
            for query in QUERIES:
                if query == "q7" and table != "clean":
                    continue
                name = "manyfiles" if query == "q7" else table
                costs = []
                for _ in range(RUNS):
                    before = cpu()
                    run(session, query, name)
                    costs.append(cpu() - before)
                yield name, query, min(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("peers", type=Path, nargs="?")
    given = parser.parse_args()
    theirs: dict[tuple[str, str], dict[str, float]] = {}
    if given.peers is not None:
        for line in given.peers.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            if told.get("cpu") and told.get("ok") is not False:
                theirs.setdefault((told["table"], told["query"]), {})[told["peer"]] = min(told["cpu"])
    print(f"{'table':<10} {'query':<6} {'bergsql':>9}   peers, CPU seconds, the cheapest first")
    for table, query, cost in measured(given.warehouse):
        peers = sorted(theirs.get((table, query), {}).items(), key=lambda item: item[1])
        told = ", ".join(f"{name} {seconds:.3f}" for name, seconds in peers)
        missed = "   MISSED" if peers and cost > peers[-1][1] else ""
        print(f"{table:<10} {query:<6} {cost:9.3f}   {told}{missed}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

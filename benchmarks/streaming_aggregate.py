"""What a streaming GROUP BY costs: CPU seconds, beside a bare GROUP BY of DuckDB in the same process.

``python benchmarks/streaming_aggregate.py [--held N] [--batch ROWS]``: N keys are held; then batches of so many rows of
random keys, and batches of 1,000 rows.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from bergsql.engine.duck import Duck
from bergsql.engine.sql.types import BIGINT, INT
from bergsql.engine.streaming.changelog import Batch, ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import AggregateCall, AggregateNode, Node
from bergsql.engine.streaming.operators import make_operator
from bergsql.engine.streaming.operators.base import Flow
from bergsql.engine.streaming.state.store import Store
from bergsql.engine.streaming.workspace import OperatorPlace, Workspace

_CHUNK = 1_000_000


def node() -> AggregateNode:
    source = Node(
        uid="source",
        inputs=(),
        columns=(StreamColumn("k", BIGINT), StreamColumn("v", INT)),
        mode=ChangelogMode.INSERT_ONLY,
    )
    calls = (AggregateCall("count", (), BIGINT), AggregateCall("sum", (1,), BIGINT))
    columns = (source.columns[0], StreamColumn("n", BIGINT), StreamColumn("s", BIGINT))
    return AggregateNode(
        uid="aggregate",
        inputs=(source,),
        columns=columns,
        mode=ChangelogMode.RETRACT,
        key=(0,),
        keys=(0,),
        calls=calls,
    )


class Bench:
    """An aggregation with its state in a directory."""

    def __init__(self, path: Path) -> None:
        self._store = Store.open(path / "state", durable=False)
        self._space = Workspace(
            Duck(memory_limit="1GB"),
            job_id="bench",
            directory=self._store.path,
            setting=lambda _: None,
            time_zone="UTC",
            note=print,
        )
        self._operator = make_operator(node())
        self._operator.open(OperatorPlace(self._space, self._store.scope("aggregate")))

    def hold(self, keys: int) -> None:
        for start in range(0, keys, _CHUNK):
            end = min(start + _CHUNK, keys)
            self._run(f"SELECT range AS c0, 1::INT AS c1, 0::TINYINT AS op FROM range({start}, {end})")

    def batch(self, rows: int, keys: int) -> tuple[float, float, float]:
        """CPU and wall seconds of a batch with its commit, and CPU seconds of a bare GROUP BY of it."""
        key, value = f"(random() * {keys})::BIGINT", "(random() * 100)::INT"
        return self._run(f"SELECT {key} AS c0, {value} AS c1, 0::TINYINT AS op FROM range({rows})")

    def _run(self, sql: str) -> tuple[float, float, float]:
        batch = self._space.table(Batch(f"({sql})"))
        begun = time.process_time()
        self._space.query(f"SELECT c0, count(*), sum(c1) FROM {batch.sql} GROUP BY c0")
        cpu, wall = time.process_time(), time.perf_counter()
        bare = cpu - begun
        self._operator.process([Flow(batch)], 0)
        self._store.commit()
        cost = time.process_time() - cpu, time.perf_counter() - wall
        self._space.end_round()
        return *cost, bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        bench = Bench(Path(path))
        bench.hold(options.held)
        for rows in (options.batch, 1_000):
            runs = sorted(bench.batch(rows, options.held) for _ in range(8))
            cpu, _, bare = runs[0]
            wall = min(run[1] for run in runs)
            print(
                f"{options.held:,} keys held, batches of {rows:,}: {cpu * 1000:.1f} ms of CPU ({rows / cpu:,.0f} rows/s),"
                f" {wall * 1000:.1f} ms of wall; bare GROUP BY {bare * 1000:.1f} ms of CPU"
            )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()

"""Joins and Top-N of streams: rows a second of CPU, next to DuckDB's over the same rows, and what a batch costs as state
grows. Both have one thread.

A stream of facts is joined with a dimension of a million rows, whose rows change too; both sides are kept, as a stream
has to. DuckDB joins the same facts with the dimension in a table, and keeps nothing: the ratio says what the state
costs. ``python benchmarks/streaming_join.py``.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bergsql.engine.streaming.changelog import NO_WATERMARK, Batch, ChangelogMode
from bergsql.engine.streaming.nodes import JoinKind, JoinNode, Node, RankNode, SortKey
from bergsql.engine.streaming.operators.base import Flow
from tests.support.streams import BIGINT, STRING, Driver, stream

DIMENSION = 1_000_000
FACTS = 100_000
"""Rows of a batch."""


def join() -> JoinNode:
    left = stream(BIGINT, BIGINT, BIGINT)
    right = stream(BIGINT, STRING, mode=ChangelogMode.RETRACT, key=(0,))
    return JoinNode(
        uid="join-1",
        inputs=(left, right),
        columns=(*left.columns, *right.columns),
        mode=ChangelogMode.RETRACT,
        kind=JoinKind.INNER,
        left_keys=(1,),
        right_keys=(0,),
        null_safe=(False,),
    )


def top() -> RankNode:
    input_ = stream(BIGINT, BIGINT, BIGINT)
    order = (SortKey(1, descending=True), SortKey(2))
    return RankNode(
        uid="rank-1",
        inputs=(input_,),
        columns=input_.columns,
        mode=ChangelogMode.RETRACT,
        partition=(0,),
        order=order,
        first=1,
        last=3,
        numbered=False,
    )


class Bench:
    """An operator, and the same rows in DuckDB's hands."""

    def __init__(self, node: Node, directory: str) -> None:
        self.driver = Driver(node, Path(directory))
        self.cursor = self.driver.context.cursor

    def run(self, *queries: str | None) -> tuple[float, int]:
        """Seconds of CPU and rows of one round over the rows of queries, which are there before the clock runs."""
        context = self.driver.context
        flows = [Flow(context.table(Batch(f"({q})")) if q else None, NO_WATERMARK) for q in queries]
        begin = process_time()
        batch = self.driver.operator.process(flows, 0).batch
        taken = process_time() - begin
        context.end_round()
        self.driver.checkpoint()
        return taken, (batch.rows or 0) if batch else 0

    def duck(self, sql: str) -> float:
        begin = process_time()
        self.cursor.execute(f"CREATE OR REPLACE TEMP TABLE result AS {sql}")
        return process_time() - begin


def facts(seed: int, rows: int = FACTS, keys: int = DIMENSION) -> str:
    return f"SELECT i AS c0, (hash(i + {seed * 7919}) % {keys})::BIGINT AS c1, i % 100 AS c2, 0::TINYINT AS op FROM range({rows}) AS t(i)"


def dimension(begin: int, end: int) -> str:
    return f"SELECT i AS c0, 'name ' || i AS c1, 0::TINYINT AS op FROM range({begin}, {end}) AS t(i)"


def measure_join(bench: Bench) -> None:
    small: list[float] = []
    taken = 0.0
    for begin in range(0, DIMENSION, FACTS):
        taken += bench.run(None, dimension(begin, begin + FACTS))[0]
        if begin == 0:
            # Each fact meets one row, as it does later.
            small = [bench.run(facts(seed, 1000, FACTS), None)[0] for seed in range(100, 107)]
    print(f"dimension of {DIMENSION:,} rows kept        {DIMENSION / taken:12,.0f} rows/s")
    bench.cursor.execute(f"CREATE TEMP TABLE dim AS {dimension(0, DIMENSION)}")
    ours, theirs = [], []
    for seed in range(1, 6):
        taken, rows = bench.run(facts(seed), None)
        assert rows == FACTS
        ours.append(taken)
        theirs.append(
            bench.duck(f"SELECT f.c0, f.c1, f.c2, d.* FROM ({facts(seed)}) AS f JOIN dim AS d ON f.c1 = d.c0")
        )
    ratio = min(ours) / min(theirs)
    print(f"facts joined, {FACTS:,} a batch      {FACTS / min(ours):12,.0f} rows/s   {ratio:5.1f} x a join in DuckDB")
    large = [bench.run(facts(seed, 1000, FACTS), None)[0] for seed in range(200, 207)]
    growth = min(large) / min(small)
    print(f"1,000 facts with all held           {min(large) * 1000:12.1f} ms       {growth:5.2f} x of a tenth held")
    changed = [bench.run(None, _renamed(number))[0] for number in range(5)]
    print(f"1,000 rows of the dimension change  {min(changed) * 1000:12.1f} ms")


def _renamed(number: int) -> str:
    keys = f"range({number * 1000}, {number * 1000 + 1000}) AS t(i)"
    return (
        f"SELECT i AS c0, 'name ' || i AS c1, 1::TINYINT AS op FROM {keys}"
        f" UNION ALL SELECT i, 'other ' || i, 2::TINYINT FROM {keys}"
    )


def measure_top(bench: Bench) -> None:
    partitions, batches = 50_000, 10
    rows = (
        "SELECT (hash(i) % {p})::BIGINT AS c0, (hash(i * 31) % 1000000)::BIGINT AS c1, i AS c2, 0::TINYINT AS op"
        " FROM range({a}, {b}) AS t(i)"
    )
    taken = [bench.run(rows.format(p=partitions, a=n * FACTS, b=(n + 1) * FACTS))[0] for n in range(batches)]
    whole = rows.format(p=partitions, a=0, b=batches * FACTS)
    theirs = bench.duck(f"{whole} QUALIFY row_number() OVER (PARTITION BY c0 ORDER BY c1 DESC, c2) <= 3")
    speed = batches * FACTS / sum(taken)
    print(
        f"first 3 of {partitions:,} partitions       {speed:12,.0f} rows/s   {sum(taken) / theirs:5.1f} x all at once in DuckDB"
    )
    last = [bench.run(rows.format(p=partitions, a=n * 1000, b=(n + 1) * 1000))[0] for n in range(9000, 9007)]
    print(f"1,000 rows more                     {min(last) * 1000:12.1f} ms")


def main() -> None:
    gc.set_threshold(200_000, 50, 100)  # as in the process of a job
    for node, measure in ((join(), measure_join), (top(), measure_top)):
        with TemporaryDirectory() as directory:
            bench = Bench(node, directory)
            try:
                measure(bench)
            finally:
                bench.driver.close()


if __name__ == "__main__":
    main()

"""A stream's state: what a round of 1,000 changed keys costs with 10,000 and with 10 million held, and what bytes cost.

A round is a whole one of a runner: a batch of Arrow rows, ``SELECT k, count(*), sum(v) … GROUP BY k``, its changes into a
sink that throws them away; then checkpoints. ``--keys`` takes another number of keys for the big one.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bergsql.engine.duck import Duck
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import OP, Batch, ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import AggregateCall, AggregateNode, SinkNode, SourceNode, StreamPlan
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.sinks.base import Sink, SinkContext, Writer
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext, Source
from bergsql.engine.streaming.state.codec import decode_rows, encode_keys, encode_ordered, encode_rows
from bergsql.engine.streaming.state.store import Store

CHANGED = 1_000
ROUNDS = 60
GOAL_MS = 50
GOAL_RATIO = 2.0
LOADED = 500_000
STORMS = 4
MEMORY = "1GB"
BIGINT = DataType(Kind.BIGINT)
TWO = (StreamColumn("k", BIGINT), StreamColumn("v", BIGINT))


class Arrays(Source):
    """Keys that somebody sets before each round."""

    name, columns, bounded = "arrays", TWO, False

    def __init__(self) -> None:
        self.keys: np.ndarray | None = None

    @property
    def signature(self) -> Mapping[str, Json]:
        return {}

    def reader(self, context: ReaderContext, offset: Json) -> Reader:  # noqa: ARG002
        return ArraysReader(self, context)

    def explain(self) -> str:
        return self.name


class ArraysReader(Reader):
    def __init__(self, source: Arrays, context: ReaderContext) -> None:
        self._source, self._context, self._polls = source, context, 0

    def poll(self) -> Batch | None:
        keys, self._source.keys = self._source.keys, None
        if keys is None:
            return None
        self._polls += 1
        rows = pa.table({"c0": keys, "c1": keys, OP: np.zeros(len(keys), np.int8)})
        return Batch(self._context.relation(rows))

    @property
    def offset(self) -> Json:
        return self._polls


class Nowhere(Sink):
    """Computes the changes and forgets them."""

    name, columns = "nowhere", (*TWO, StreamColumn("s", BIGINT))

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        pass

    def writer(self, context: SinkContext, restored: int) -> Writer:  # noqa: ARG002
        return NowhereWriter(context)

    def explain(self) -> str:
        return self.name


class NowhereWriter(Writer):
    def __init__(self, context: SinkContext) -> None:
        self._context = context

    def write(self, batch: Batch) -> int:
        ((rows,),) = self._context.cursor.execute(f"SELECT count(*) FROM {batch.sql}").fetchall()
        return int(rows)

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002
        return None

    def commit(self, checkpoint: int, committable: Json) -> None:
        pass

    def discard(self) -> None:
        pass


class Job:
    """A running GROUP BY that holds some keys."""

    def __init__(self, folder: Path, held: int) -> None:
        self._held = held
        self._source = Arrays()
        read = SourceNode(uid="source-1", inputs=(), columns=TWO, mode=ChangelogMode.INSERT_ONLY, source=self._source)
        calls = (AggregateCall("count", (), BIGINT), AggregateCall("sum", (1,), BIGINT))
        counted = AggregateNode(
            uid="aggregate-1",
            inputs=(read,),
            columns=Nowhere.columns,
            mode=ChangelogMode.RETRACT,
            key=(0,),
            keys=(0,),
            calls=calls,
        )
        end = SinkNode(uid="sink-1", inputs=(counted,), columns=counted.columns, mode=counted.mode, sink=Nowhere())
        self._duck, self.store = Duck(memory_limit=MEMORY), Store.open(folder)
        settings = {"engine.memory-limit": MEMORY}
        self.runner = Runner(
            StreamPlan((end,)),
            self._duck,
            self.store,
            job_id="0" * 32,
            setting=settings.get,
            time_zone="UTC",
            note=print,
        )
        self.runner.open()
        self._chance = np.random.default_rng(1)
        self.loaded = self._load()

    def _load(self) -> float:
        """Seconds that all keys took: in the order of their places, so that none is written twice."""
        sql = f"SELECT range AS k FROM range({self._held}) ORDER BY hash(k)"
        order = self._duck.cursor().sql(sql).to_arrow_table().column("k").to_numpy()
        begun = time.perf_counter()
        for keys in np.array_split(order, max(1, self._held // LOADED)):
            self._round(keys)
            self.runner.checkpoint()
        return time.perf_counter() - begun

    def storm(self) -> tuple[float, float]:
        """Batches of very many random keys, which change nearly all blocks: rows a second of CPU, and of wall."""
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(STORMS):
            self._round(self._chance.choice(self._held, LOADED))
            self.runner.checkpoint()
        rows = STORMS * LOADED
        return rows / (time.process_time() - cpu), rows / (time.perf_counter() - wall)

    def change(self) -> float:
        """Milliseconds of CPU of a round of changed keys."""
        keys = self._chance.choice(self._held, CHANGED)
        begun = time.process_time()
        self._round(keys)
        return (time.process_time() - begun) * 1000

    def _round(self, keys: np.ndarray) -> None:
        self._source.keys = keys
        self.runner.round()

    def close(self) -> None:
        self.runner.close()
        self.store.close()
        self._duck.close()


def rounds(small: Job, big: Job) -> Iterator[tuple[float, float]]:
    """Both by turns, so that a noisy machine hurts both alike; a checkpoint every ten."""
    for n in range(ROUNDS):
        yield small.change(), big.change()
        if n % 10 == 9:
            small.runner.checkpoint()
            big.runner.checkpoint()


def microseconds(rows: int, run: Callable[..., object], *arguments: object) -> str:
    """CPU for each row, the least of three runs."""
    costs = []
    for _ in range(3):
        begun = time.process_time()
        run(*arguments)
        costs.append(time.process_time() - begun)
    return f"{min(costs) / rows * 1e6:.2f} µs"


def codec(rows: int = 500_000) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 40, rows)
    table = pa.table({"a": numbers, "b": numbers, "c": numbers, "s": pa.array([f"name-{n}" for n in numbers])})
    for names in (["a", "b", "c"], ["a", "b", "c", "s"]):
        schema, encoded = table.select(names).schema, encode_rows(table, names)
        to, back = microseconds(rows, encode_rows, table, names), microseconds(rows, decode_rows, encoded, schema)
        print(f"  rows of {', '.join(str(field.type) for field in schema)}: encoded {to}, decoded {back}")
    for name in ("a", "s"):
        key, ordered = microseconds(rows, encode_keys, table, [name]), microseconds(rows, encode_ordered, table, name)
        print(f"  keys of {table.schema.field(name).type}: {key}, in order {ordered}")


def resident() -> float:
    """MiB of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def resident_most() -> float:
    """MiB of memory that the process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000_000)
    held = parser.parse_args().keys
    print("Bytes, CPU for each row:")
    codec()
    with tempfile.TemporaryDirectory() as directory:
        small, big = Job(Path(directory, "small"), 10_000), Job(Path(directory, "big"), held)
        print(f"{held:,} keys came in at {held / big.loaded:,.0f} a second, checkpoints included.")
        filled = resident_most()
        cpu, wall = big.storm()
        print(f"Batches of {LOADED:,} random keys: {cpu:,.0f} rows a second of CPU, {wall:,.0f} of wall.")
        costs = list(rounds(small, big))
        one, other = (float(np.median(side)) for side in zip(*costs, strict=True))
        ratio = other / one
        figures = big.runner.metrics()
        now = resident()
        small.close()
        big.close()
    print(f"A round of {CHANGED:,} changed keys, CPU: {one:.1f} ms with 10,000 held, {other:.1f} ms with {held:,}.")
    print(f"  {ratio:.2f} x, goal {GOAL_RATIO:.1f}: {'met' if ratio <= GOAL_RATIO else 'MISSED'}")
    print(f"  goal {GOAL_MS} ms: {'met' if other <= GOAL_MS else 'MISSED'}")
    print(f"State: {figures['state_bytes'] / 2**20:,.0f} MiB. Memory, engine.memory-limit being {MEMORY}:")
    print(f"  {now:,.0f} MiB behind these rounds, {filled:,.0f} MiB at most while all keys came,")
    print(f"  {resident_most():,.0f} MiB at most while random batches changed nearly all blocks.")


if __name__ == "__main__":
    main()

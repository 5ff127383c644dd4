"""A job as a program: a tally of numbers into one folder, the numbers into another, with a checkpoint each round.

usage: stream_program.py FOLDER
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import Duck
from bergsql.engine.streaming.nodes import StreamPlan
from bergsql.engine.streaming.state.store import Store
from tests.support.stream_ends import FolderSink, RowsSource, inserts, plan_of, runner_of, source_node
from tests.support.tally import tally

BATCHES = ([1, 2, 2], [3, 1], [2])


def sinks(folder: Path) -> tuple[FolderSink, FolderSink]:
    return FolderSink(folder / "tally", width=2), FolderSink(folder / "numbers")


def plan(folder: Path) -> StreamPlan:
    source = source_node(RowsSource([inserts(batch) for batch in BATCHES]))
    counts, numbers = sinks(folder)
    return plan_of((tally(source), counts), (source, numbers))


def main(arguments: Sequence[str]) -> int:
    """Run the job to its end; 1 where it fails, with one message."""
    folder = Path(arguments[0])
    try:
        store = Store.open(folder / "state")
        try:
            duck = Duck(threads=1)
            runner = runner_of(plan(folder), duck, store)
            try:
                runner.open()
                while not runner.finished:
                    runner.round()
                    runner.checkpoint()
                runner.finish()
            finally:
                runner.close()
                duck.close()
        finally:
            store.close()
    except (BergError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def check(folder: Path) -> None:
    """Nothing is missing and nothing is there twice, at the end."""
    counts, numbers = sinks(folder)
    assert [row[1] for row in numbers.rows()] == [number for batch in BATCHES for number in batch]
    table: Counter[tuple[int, int]] = Counter()
    for kind, number, count in counts.rows():
        table[number, count] += 1 if kind in ("+I", "+U") else -1
    assert +table == Counter({(1, 2): 1, (2, 3): 1, (3, 1): 1})
    assert not -table
    assert not list(folder.glob("*/*.prepared"))


def check_prefix(folder: Path) -> None:
    """At any time each sink has whole checkpoints, and neither is more than one ahead."""
    counts, numbers = sinks(folder)
    had, wanted = [row[1] for row in numbers.rows()], [number for batch in BATCHES for number in batch]
    assert had == wanted[: len(had)]
    assert len(had) in (0, 3, 5, 6)
    assert abs(len(counts.numbers()) - len(numbers.numbers())) <= 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

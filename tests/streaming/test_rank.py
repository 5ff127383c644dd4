"""Top-N, deduplication, LIMIT and sorting, over all that may happen to their input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import LimitNode, Node, RankNode, SortKey, SortNode
from tests.support.streams import BIGINT, STRING, Change, Driver, answer, fold, proctime, rowtime, stream

RETRACT, INSERT_ONLY = ChangelogMode.RETRACT, ChangelogMode.INSERT_ONLY
START = datetime(2026, 1, 1)


def rank(
    input_: Node,
    order: Sequence[SortKey],
    first: int = 1,
    last: int = 1,
    *,
    numbered: bool = False,
    partition: tuple[int, ...] = (0,),
) -> RankNode:
    number = (StreamColumn("n", BIGINT),) if numbered else ()
    return RankNode(
        uid="rank-1",
        inputs=(input_,),
        columns=(*input_.columns, *number),
        mode=RETRACT,
        partition=partition,
        order=tuple(order),
        first=first,
        last=last,
        numbered=numbered,
    )


_STEPS = some.tuples(some.integers(0, 3), some.integers(0, 2), some.one_of(some.none(), some.integers(0, 6)))
_ROUNDS = some.lists(
    some.tuples(some.lists(_STEPS, max_size=8), some.sampled_from(["", "checkpoint", "restart"])), max_size=7
)


@pytest.mark.parametrize("mode", [RETRACT, INSERT_ONLY])
@pytest.mark.parametrize("numbered", [False, True])
@given(
    rounds=_ROUNDS,
    bounds=some.sampled_from([(1, 1), (1, 3), (2, 3), (3, 3)]),
    descending=some.booleans(),
    nulls_first=some.booleans(),
    partition=some.sampled_from([(0,), ()]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_whole_table(
    mode: ChangelogMode,
    numbered: bool,
    rounds: list[tuple[list[tuple[int, int, int | None]], str]],
    bounds: tuple[int, int],
    descending: bool,
    nulls_first: bool,
    partition: tuple[int, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # The last column is the arrival, by which ties are broken.
    input_ = stream(BIGINT, BIGINT, BIGINT, mode=mode)
    order = [SortKey(1, descending, nulls_first)]
    node = rank(input_, order, *bounds, numbered=numbered, partition=partition)
    by = f"c1 {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}, c2"
    over = f"{'PARTITION BY c0 ' if partition else ''}ORDER BY {by}"
    sql = (
        f"SELECT c0, c1, c2{', n' if numbered else ''} FROM (SELECT *, row_number() OVER ({over}) AS n FROM t)"
        f" WHERE n BETWEEN {bounds[0]} AND {bounds[1]}"
    )
    live: list[Change] = []
    rows: Counter[Change] = Counter()
    saved: Any = ([], Counter(), 0)
    arrived = 0
    with Driver(node, tmp_path_factory.mktemp("state")) as driver:
        for steps, then in rounds:
            changes: list[Change] = []
            for what, group, value in steps:
                if what == 0 and mode is RETRACT:
                    if live:
                        changes.append(("-D", *live.pop((group + (value or 0)) % len(live))))
                    continue
                arrived += 1
                live.append((group, value, arrived))
                changes.append(("+I", *live[-1]))
            output = driver.round(changes).changes
            fold(output, rows)
            assert rows == answer(sql, {"t": (input_.columns, live)})
            if then == "checkpoint":
                driver.checkpoint()
                saved = (list(live), Counter(rows), arrived)
            elif then == "restart":
                driver.restart()
                live, rows, arrived = list(saved[0]), Counter(saved[1]), saved[2]


def test_the_same_row_may_be_there_twice(tmp_path: Path) -> None:
    with Driver(rank(stream(BIGINT, BIGINT, mode=RETRACT), [SortKey(1)], 1, 2), tmp_path) as driver:
        assert driver.round([("+I", 1, 5), ("+I", 1, 5), ("+I", 1, 6)]).changes == [("+I", 1, 5), ("+I", 1, 5)]
        assert driver.round([("-D", 1, 5)]).changes == [("-D", 1, 5), ("+I", 1, 6)]
        assert driver.round([("-U", 1, 5), ("+U", 1, 5)]).changes == []


def test_changes_of_numbers_are_updates(tmp_path: Path) -> None:
    node = rank(stream(STRING, BIGINT), [SortKey(1, descending=True)], 1, 2, numbered=True)
    with Driver(node, tmp_path) as driver:
        assert driver.round([("+I", "a", 10)]).changes == [("+I", "a", 10, 1)]
        assert driver.round([("+I", "a", 30), ("+I", "a", 20)]).changes == [
            ("-U", "a", 10, 1),
            ("+U", "a", 30, 1),
            ("+I", "a", 20, 2),
        ]


def test_deduplication_keeps_the_last_row_of_a_time(tmp_path: Path) -> None:
    node = rank(stream(BIGINT, proctime(), STRING), [SortKey(1, descending=True)])
    with Driver(node, tmp_path) as driver:
        assert driver.round([("+I", 1, START, "a"), ("+I", 1, START, "b")]).changes[0][3] == "b"
        assert [(c[0], c[3]) for c in driver.round([("+I", 1, START, "c")]).changes] == [("-U", "b"), ("+U", "c")]


def test_deduplication_keeps_the_first_row_of_a_time(tmp_path: Path) -> None:
    node = rank(stream(BIGINT, proctime(), STRING), [SortKey(1)])
    with Driver(node, tmp_path) as driver:
        assert driver.round([("+I", 1, START, "a"), ("+I", 1, START, "b")]).changes[0][3] == "a"
        assert driver.round([("+I", 1, START, "c"), ("+I", 1, START + timedelta(seconds=1), "d")]).changes == []


@pytest.mark.parametrize("mode", [RETRACT, INSERT_ONLY])
def test_a_change_costs_the_top_and_not_the_partition(mode: ChangelogMode, tmp_path: Path) -> None:
    node = rank(stream(BIGINT, BIGINT, mode=mode), [SortKey(1)], 1, 3)
    with Driver(node, tmp_path) as driver:
        driver.round([("+I", 1, value) for value in range(3000)])
        before = driver.accesses.all
        assert driver.round([("+I", 1, 9999)]).changes == []
        assert driver.accesses.all - before <= 6
        before = driver.accesses.all
        assert driver.round([("+I", 1, -1)]).changes == [("-D", 1, 2), ("+I", 1, -1)]
        assert driver.accesses.all - before <= 20


@pytest.mark.parametrize("mode", [RETRACT, INSERT_ONLY])
def test_partitions_that_do_not_change_are_forgotten(mode: ChangelogMode, tmp_path: Path) -> None:
    node = rank(stream(BIGINT, BIGINT, mode=mode), [SortKey(1)], 1, 2)
    with Driver(node, tmp_path, {"table.exec.state.ttl": "1 min"}) as driver:
        driver.round([("+I", 1, 5), ("+I", 2, 5)], now=0)
        driver.round([("+I", 2, 6)], now=50_000)
        output = driver.round([("+I", 1, 9), ("+I", 2, 9)], now=70_000)
        assert output.changes == [("+I", 1, 9)]


def test_only_the_top_is_kept_of_rows_that_stay(tmp_path: Path) -> None:
    with Driver(rank(stream(BIGINT, BIGINT), [SortKey(1)], 1, 3), tmp_path) as driver:
        driver.round([("+I", 1, value) for value in range(10)])
        size = driver.entries()
        driver.round([("+I", 1, value) for value in range(-50, 50)])
        assert driver.entries() == size


def limit(input_: Node, count: int, offset: int) -> LimitNode:
    return LimitNode(
        uid="limit-1", inputs=(input_,), columns=input_.columns, mode=input_.mode, count=count, offset=offset
    )


def test_limit_counts_over_batches_and_restarts(tmp_path: Path) -> None:
    with Driver(limit(stream(BIGINT), 3, 2), tmp_path) as driver:
        assert driver.round([("+I", 1)]).changes == []
        assert driver.round([("+I", 2), ("+I", 3), ("+I", 4)]).changes == [("+I", 3), ("+I", 4)]
        driver.checkpoint()
        assert driver.round([("+I", 0)]).changes == [("+I", 0)]
        driver.restart()
        assert driver.round([("+I", 5), ("+I", 6)]).changes == [("+I", 5)]
        assert driver.round([("+I", 7)]).changes == []


def test_limit_of_rows_that_go(tmp_path: Path) -> None:
    with Driver(limit(stream(BIGINT, mode=RETRACT), 2, 0), tmp_path) as driver:
        assert driver.round([("+I", 9), ("+I", 3), ("+I", 5)]).changes == [("+I", 9), ("+I", 3)]
        assert driver.round([("-D", 9)]).changes == [("-D", 9), ("+I", 5)]


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def micros(second: int) -> int:
    return int((at(second) - datetime(1970, 1, 1)).total_seconds()) * 1_000_000


def test_rows_come_out_in_order_of_time(tmp_path: Path) -> None:
    input_ = stream(rowtime(), BIGINT)
    node = SortNode(
        uid="sort-1", inputs=(input_,), columns=input_.columns, mode=INSERT_ONLY, time=0, order=(SortKey(1, True),)
    )
    with Driver(node, tmp_path) as driver:
        assert driver.round([("+I", at(5), 1), ("+I", at(3), 2), ("+I", at(3), 4)], watermark=micros(2)).changes == []
        driver.checkpoint()
        driver.restart()
        output = driver.round([("+I", at(4), 3), ("+I", at(1), 0)], watermark=micros(4))
        assert output.changes == [("+I", at(3), 4), ("+I", at(3), 2), ("+I", at(4), 3)]
        assert output.watermark == micros(4)
        assert driver.operator.figures() == {"late rows dropped": 1}
        assert driver.end([("+I", at(9), 5)]).changes == [("+I", at(5), 1), ("+I", at(9), 5)]
        assert driver.entries() == 2  # the arrivals and the watermark

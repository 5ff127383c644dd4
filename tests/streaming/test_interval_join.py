"""Joins within a span of event time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.streaming.changelog import END_OF_TIME, ChangelogMode
from bergsql.engine.streaming.nodes import IntervalJoinNode, JoinKind
from tests.support.streams import BIGINT, Change, Driver, answer, fold, rowtime, stream

START = datetime(2026, 1, 1)
SECOND = 1_000_000


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def micros(second: int) -> int:
    return int((at(second) - datetime(1970, 1, 1)).total_seconds()) * SECOND


def interval_join(kind: JoinKind, lower: int, upper: int, condition: str | None = None) -> IntervalJoinNode:
    """By the first columns; the second ones are the times."""
    side = stream(BIGINT, rowtime(), BIGINT)
    return IntervalJoinNode(
        uid="interval-join-1",
        inputs=(side, side),
        columns=(*side.columns, *side.columns),
        mode=ChangelogMode.INSERT_ONLY,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=1,
        right_time=1,
        lower=lower * SECOND,
        upper=upper * SECOND,
        condition=condition,
    )


_STEPS = some.tuples(
    some.integers(0, 1), some.one_of(some.none(), some.integers(0, 2)), some.integers(0, 6), some.integers(0, 2)
)
_ROUNDS = some.lists(
    some.tuples(
        some.lists(_STEPS, max_size=6), some.integers(0, 4), some.sampled_from(["", "", "checkpoint", "restart"])
    ),
    max_size=7,
)


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL])
@given(
    rounds=_ROUNDS,
    span=some.sampled_from([(-2, 2), (0, 3), (-3, 0), (1, 3), (-4, -1)]),
    condition=some.sampled_from([None, "l.c2 <= r.c2"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_whole_tables(
    kind: JoinKind,
    rounds: list[tuple[list[tuple[int, int | None, int, int]], int, str]],
    span: tuple[int, int],
    condition: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    node = interval_join(kind, *span, condition)
    live: tuple[list[Change], list[Change]] = ([], [])
    rows: Counter[Change] = Counter()
    clock = 0
    saved: Any = ([], [], Counter(), 0)
    with Driver(node, tmp_path_factory.mktemp("state")) as driver:
        empty = driver.entries()
        for steps, forward, then in rounds:
            inputs: tuple[list[Change], list[Change]] = ([], [])
            for side, key, ahead, value in steps:
                row = (key, at(clock + 1 + ahead), value)
                live[side].append(row)
                inputs[side].append(("+I", *row))
            clock += forward
            output = driver.round(*inputs, watermark=micros(clock))
            assert {change[0] for change in output.changes} <= {"+I"}
            fold(output.changes, rows)
            for _, _, left, _, _, right, _ in output.changes:
                # Nothing comes out behind the watermark of the rounds before.
                assert (
                    min(t for t in (left, right) if t is not None)
                    > at(clock - forward) - timedelta(seconds=max(span[1], -span[0], 0))
                    or clock == forward
                )
            if then == "checkpoint":
                driver.checkpoint()
                saved = ([*live[0]], [*live[1]], Counter(rows), clock)
            elif then == "restart":
                driver.restart()
                live, rows, clock = ([*saved[0]], [*saved[1]]), Counter(saved[2]), saved[3]
        output = driver.end()
        fold(output.changes, rows)
        assert output.watermark == END_OF_TIME
        on = (
            f"l.c0 = r.c0 AND r.c1 BETWEEN l.c1 + INTERVAL ({span[0]}) SECOND AND l.c1 + INTERVAL ({span[1]}) SECOND"
            f" AND {condition or 'true'}"
        )
        columns = node.inputs[0].columns
        sql = f"SELECT * FROM l {kind.value} JOIN r ON {on}"
        assert rows == answer(sql, {"l": (columns, live[0]), "r": (columns, live[1])})
        assert driver.entries() <= empty + 2  # the numbers of arrivals


def test_a_row_without_a_partner_waits_for_the_watermark(tmp_path: Path) -> None:
    with Driver(interval_join(JoinKind.LEFT, -1, 2), tmp_path) as driver:
        assert driver.round([("+I", 1, at(10), 0)], watermark=micros(5)).changes == []
        output = driver.round(watermark=micros(11))
        assert output.changes == []
        assert output.watermark == micros(9)
        # The watermark of both inputs counts.
        assert driver.round(watermark=(micros(30), micros(11))).changes == []
        assert driver.round(watermark=micros(12)).changes == [("+I", 1, at(10), 0, None, None, None)]


def test_late_rows_meet_what_is_there(tmp_path: Path) -> None:
    with Driver(interval_join(JoinKind.LEFT, -5, 5), tmp_path) as driver:
        driver.round([], [("+I", 1, at(10), 7)], watermark=micros(12))
        output = driver.round([("+I", 1, at(8), 1), ("+I", 2, at(1), 2)], watermark=micros(12))
        assert sorted(output.changes, key=str) == [
            ("+I", 1, at(8), 1, 1, at(10), 7),
            ("+I", 2, at(1), 2, None, None, None),
        ]


def test_a_row_costs_the_rows_of_its_span(tmp_path: Path) -> None:
    with Driver(interval_join(JoinKind.INNER, -1, 1), tmp_path) as driver:
        driver.round([("+I", 1, at(second), 0) for second in range(3000)], watermark=micros(-100))
        before = driver.accesses.all
        output = driver.round([], [("+I", 1, at(1500), 0)], watermark=micros(-100))
        assert len(output.changes) == 3
        assert driver.accesses.all - before <= 12

"""OVER windows in the order of time."""

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
from bergsql.engine.streaming.nodes import OverCall, OverNode
from bergsql.engine.streaming.operators.over_calls import Primitive, taken_apart
from tests.support.streams import BIGINT, DOUBLE, Change, Driver, answer, fold, proctime, rowtime, stream

START = datetime(2026, 1, 1)
ALL_RANGE = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
ALL_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
TWO_ROWS = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
TWO_SECONDS = "RANGE BETWEEN INTERVAL 2 SECOND PRECEDING AND CURRENT ROW"


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def micros(second: int) -> int:
    return int((at(second) - datetime(1970, 1, 1)).total_seconds()) * 1_000_000


def over(
    calls: Sequence[OverCall], *, ranged: bool, preceding: int | None, time: StreamColumn | None = None
) -> OverNode:
    """PARTITION BY c0 ORDER BY c1, of inputs (key, time, value, arrival)."""
    input_ = stream(BIGINT, time or rowtime(), BIGINT, BIGINT)
    return OverNode(
        uid="over-1",
        inputs=(input_,),
        columns=(*input_.columns, *(StreamColumn(f"call{n}", call.type) for n, call in enumerate(calls))),
        mode=ChangelogMode.INSERT_ONLY,
        partition=(0,),
        time=1,
        calls=tuple(calls),
        ranged=ranged,
        preceding=preceding,
    )


_WINDOWS: dict[str, tuple[list[tuple[str, str]], bool, int | None]] = {
    "running range": (
        [(f"{f}(i.c2)", ALL_RANGE) for f in ("sum", "count", "min", "max")]
        + [
            ("CAST(sum(i.c2) // nullif(count(i.c2), 0) AS BIGINT)", ALL_RANGE),
            ("count(*) FILTER (WHERE i.c2 > 2)", ALL_RANGE),
        ],
        True,
        None,
    ),
    "running rows": ([("sum(i.c2)", ALL_ROWS), ("row_number()", "")], False, None),
    "first and last": (
        [("first_value(i.c2 IGNORE NULLS)", ALL_ROWS), ("last_value(i.c2 IGNORE NULLS)", ALL_ROWS)],
        False,
        None,
    ),
    "rows": ([("sum(i.c2)", TWO_ROWS), ("first_value(i.c2)", TWO_ROWS)], False, 2),
    "span": ([("sum(i.c2)", TWO_SECONDS), ("count(*)", TWO_SECONDS)], True, 2_000_000),
    "all rows kept": ([("count(DISTINCT i.c2)", ALL_RANGE), ("sum(i.c2)", ALL_RANGE)], True, None),
    "lag": ([("lag(i.c2, 1)", "")], False, 1),
}

_STEPS = some.tuples(some.integers(0, 2), some.integers(0, 4), some.one_of(some.none(), some.integers(0, 5)))
_ROUNDS = some.lists(
    some.tuples(
        some.lists(_STEPS, max_size=6), some.integers(0, 3), some.sampled_from(["", "", "checkpoint", "restart"])
    ),
    max_size=7,
)


def whole(calls: Sequence[OverCall]) -> str:
    """The same over a whole table; ties come out as they arrived."""
    made = []
    for call in calls:
        order = "c1" if call.frame.startswith("RANGE") else "c1, c3"
        found: list[Primitive] = []
        parts = taken_apart(
            call.sql, frozenset({"sum", "count", "min", "max", "lag", "first_value", "last_value", "row_number"}), found
        )
        windows = [f"{p.sql} OVER (PARTITION BY c0 ORDER BY {order} {call.frame})" for p in found]
        made.append(parts.sql(windows))
    return f"SELECT *, {', '.join(made)} FROM t AS i"


@pytest.mark.parametrize("window", list(_WINDOWS))
@given(rounds=_ROUNDS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_whole_table(
    window: str,
    rounds: list[tuple[list[tuple[int, int, int | None]], int, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    listed, ranged, preceding = _WINDOWS[window]
    calls = [OverCall(sql, frame, BIGINT) for sql, frame in listed]
    node = over(calls, ranged=ranged, preceding=preceding)
    live: list[Change] = []
    rows: Counter[Change] = Counter()
    clock = 0
    saved: Any = ([], Counter(), 0)
    with Driver(node, tmp_path_factory.mktemp("state")) as driver:
        for steps, forward, then in rounds:
            new = [(key, at(clock + 1 + ahead), value, len(live) + n) for n, (key, ahead, value) in enumerate(steps)]
            live += new
            clock += forward
            fold(driver.round([("+I", *row) for row in new], watermark=micros(clock)).changes, rows)
            passed = [row for row in live if row[1] <= at(clock)]
            assert rows == answer(whole(calls), {"t": (node.inputs[0].columns, passed)})
            if then == "checkpoint":
                driver.checkpoint()
                saved = ([*live], Counter(rows), clock)
            elif then == "restart":
                driver.restart()
                live, rows, clock = [*saved[0]], Counter(saved[1]), saved[2]
        fold(driver.end().changes, rows)
        assert rows == answer(whole(calls), {"t": (node.inputs[0].columns, live)})


def test_running_values_keep_no_rows(tmp_path: Path) -> None:
    node = over([OverCall("avg(i.c2)", ALL_RANGE, DOUBLE)], ranged=True, preceding=None)
    with Driver(node, tmp_path) as driver:
        for second in range(30):
            driver.round([("+I", 1, at(second), second, 0)], watermark=micros(second))
        assert driver.entries() <= 4
        assert driver.round([("+I", 1, at(30), 15, 0)], watermark=micros(30)).changes[0][-1] == 14.516129032258064516


@pytest.mark.parametrize("window", ["rows", "span"])
def test_frames_keep_what_they_look_back_at(window: str, tmp_path: Path) -> None:
    listed, ranged, preceding = _WINDOWS[window]
    node = over([OverCall(sql, frame, BIGINT) for sql, frame in listed], ranged=ranged, preceding=preceding)
    with Driver(node, tmp_path) as driver:
        for second in range(40):
            driver.round([("+I", 1, at(second), second, 0)], watermark=micros(second))
        assert driver.entries() <= 12


def test_late_rows_are_dropped_and_counted(tmp_path: Path) -> None:
    node = over([OverCall("sum(i.c2)", ALL_RANGE, BIGINT)], ranged=True, preceding=None)
    with Driver(node, tmp_path) as driver:
        driver.round([("+I", 1, at(5), 1, 0)], watermark=micros(5))
        output = driver.round([("+I", 1, at(4), 100, 0), ("+I", 1, at(6), 2, 0)], watermark=micros(6))
        assert [change[-1] for change in output.changes] == [3]
        assert driver.operator.figures()["late rows dropped"] == 1


def test_rows_by_processing_time_come_out_at_once(tmp_path: Path) -> None:
    calls = [OverCall("sum(i.c2)", ALL_RANGE, BIGINT)]
    with Driver(over(calls, ranged=True, preceding=None, time=proctime()), tmp_path) as driver:
        output = driver.round([("+I", 1, START, 1, 0), ("+I", 1, START, 2, 0), ("+I", 2, START, 9, 0)])
        assert [change[-1] for change in output.changes] == [1, 3, 9]
        assert [change[-1] for change in driver.round([("+I", 1, at(1), 4, 0)]).changes] == [7]


def test_calls_are_taken_apart() -> None:
    found: list[Primitive] = []
    names = frozenset({"sum", "count", "avg"})
    sql = "CAST(sum(CASE WHEN i.c0 = 'sum(x)' THEN 1 END) FILTER (WHERE i.c1 > (2)) // count(i.c2) AS INTEGER) + avg(i.c3)"
    parts = taken_apart(sql, names, found)
    assert [p.sql for p in found] == [
        "sum(CASE WHEN i.c0 = 'sum(x)' THEN 1 END) FILTER (WHERE i.c1 > (2))",
        "count(i.c2)",
        "sum(i.c3)",
        "count(i.c3)",
    ]
    assert parts.sql(["a", "b", "c", "d"]) == "CAST(a // b AS INTEGER) + (CAST(c AS DOUBLE) / nullif(d, 0))"

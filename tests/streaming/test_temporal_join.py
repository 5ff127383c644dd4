"""Joins with the version of a row that was valid at a time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import JoinKind, TemporalJoinNode
from tests.support.streams import BIGINT, Change, Driver, answer, fold, rowtime, stream

START = datetime(2026, 1, 1)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def micros(second: int) -> int:
    return int((at(second) - datetime(1970, 1, 1)).total_seconds()) * 1_000_000


def temporal_join(
    kind: JoinKind, mode: ChangelogMode = ChangelogMode.UPSERT, condition: str | None = None
) -> TemporalJoinNode:
    left = stream(BIGINT, rowtime(), BIGINT)
    right = stream(BIGINT, rowtime(), BIGINT, mode=mode, key=(0,))
    return TemporalJoinNode(
        uid="temporal-join-1",
        inputs=(left, right),
        columns=(*left.columns, *right.columns),
        mode=ChangelogMode.INSERT_ONLY,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=1,
        right_time=1,
        condition=condition,
    )


_STEPS = some.tuples(
    some.integers(0, 1),
    some.integers(0, 2),
    some.integers(0, 6),
    some.one_of(some.none(), some.integers(0, 9)),
)
_ROUNDS = some.lists(
    some.tuples(
        some.lists(_STEPS, max_size=6), some.integers(0, 4), some.sampled_from(["", "", "checkpoint", "restart"])
    ),
    max_size=7,
)


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT])
@given(rounds=_ROUNDS, condition=some.sampled_from([None, "l.c2 < r.c2"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_versions_of_their_time(
    kind: JoinKind,
    rounds: list[tuple[list[tuple[int, int, int, int | None]], int, str]],
    condition: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A version without a value is the end of the row."""
    node = temporal_join(kind, condition=condition)
    lefts: list[Change] = []
    versions: dict[tuple[int, datetime], int | None] = {}
    rows: Counter[Change] = Counter()
    clock = 0
    saved: Any = ([], {}, Counter(), 0)
    with Driver(node, tmp_path_factory.mktemp("state")) as driver:
        for steps, forward, then in rounds:
            inputs: tuple[list[Change], list[Change]] = ([], [])
            for side, key, ahead, value in steps:
                time = at(clock + 1 + ahead)
                if side == 0:
                    lefts.append((key, time, value))
                    inputs[0].append(("+I", *lefts[-1]))
                else:
                    versions[key, time] = value
                    inputs[1].append(("-D" if value is None else "+U", key, time, value))
            clock += forward
            fold(driver.round(*inputs, watermark=micros(clock)).changes, rows)
            if then == "checkpoint":
                driver.checkpoint()
                saved = ([*lefts], dict(versions), Counter(rows), clock)
            elif then == "restart":
                driver.restart()
                lefts, versions, rows, clock = [*saved[0]], dict(saved[1]), Counter(saved[2]), saved[3]
        fold(driver.end().changes, rows)
        met = f"r.c2 IS NOT NULL AND {condition or 'true'}"
        theirs = ", ".join(f"CASE WHEN {met} THEN r.c{n} END" for n in range(3))
        sql = (
            f"SELECT l.*, {theirs} FROM l ASOF LEFT JOIN r ON l.c0 = r.c0 AND l.c1 >= r.c1"
            f" {f'WHERE {met}' if kind is JoinKind.INNER else ''}"
        )
        columns = node.inputs[0].columns
        right = [(key, time, value) for (key, time), value in versions.items()]
        assert rows == answer(sql, {"l": (columns, lefts), "r": (columns, right)})


def test_rows_wait_for_both_watermarks(tmp_path: Path) -> None:
    with Driver(temporal_join(JoinKind.LEFT), tmp_path) as driver:
        assert (
            driver.round([("+I", 1, at(5), 0)], [("+I", 1, at(1), 10)], watermark=(micros(9), micros(4))).changes == []
        )
        output = driver.round([], [("+U", 1, at(5), 20)], watermark=(micros(9), micros(5)))
        assert output.changes == [("+I", 1, at(5), 0, 1, at(5), 20)]
        assert output.watermark == micros(5)


def test_versions_of_a_changelog(tmp_path: Path) -> None:
    """What an update takes back stays a version; what a delete takes back is none any more."""
    with Driver(temporal_join(JoinKind.LEFT, ChangelogMode.RETRACT), tmp_path) as driver:
        driver.round([], [("+I", 1, at(1), 10), ("-U", 1, at(1), 10), ("+U", 1, at(5), 20)], watermark=micros(0))
        driver.round([("+I", 1, at(3), 0), ("+I", 1, at(6), 0), ("+I", None, at(6), 0)], watermark=micros(0))
        assert driver.round(watermark=micros(6)).changes == [
            ("+I", 1, at(3), 0, 1, at(1), 10),
            ("+I", 1, at(6), 0, 1, at(5), 20),
            ("+I", None, at(6), 0, None, None, None),
        ]
        driver.round([("+I", 1, at(8), 0)], [("-D", 1, at(5), 20)], watermark=micros(6))
        assert driver.round(watermark=micros(9)).changes == [("+I", 1, at(8), 0, None, None, None)]


def test_old_versions_are_forgotten(tmp_path: Path) -> None:
    with Driver(temporal_join(JoinKind.INNER), tmp_path) as driver:
        driver.round([], [("+U", 1, at(0), 0)], watermark=micros(1))
        size = driver.entries()
        for second in range(2, 40):
            driver.round([("+I", 1, at(second), 0)], [("+U", 1, at(second), second)], watermark=micros(second))
        assert driver.entries() <= size + 2


def test_a_delete_that_holds_the_key_only_ends_the_newest_version(tmp_path: Path) -> None:
    with Driver(temporal_join(JoinKind.LEFT), tmp_path) as driver:
        driver.round([], [("+I", 1, at(1), 10), ("-D", 1, None, None)], watermark=micros(0))
        driver.round([("+I", 1, at(3), 0)], watermark=micros(0))
        assert driver.round(watermark=micros(4)).changes == [("+I", 1, at(3), 0, None, None, None)]

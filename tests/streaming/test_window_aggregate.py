"""Windows come out once, when the watermark passes them; sessions become one; what is late is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import AggregateCall, WindowAggregateNode, WindowKind
from tests.support.streams import BIGINT, INT, STRING, TIMESTAMP, Change, Driver, answer, fold, rowtime, stream

SECOND = 1_000_000
SIZE, GAP = 10, 4
START = datetime(1970, 1, 1)
CALLS = (
    AggregateCall("count", (), BIGINT),
    AggregateCall("sum", (1,), BIGINT),
    AggregateCall("count", (1,), BIGINT, distinct=True),
    AggregateCall("max", (1,), INT),
)
LATENESS = {"table.exec.emit.allow-lateness": "5 s"}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def assigned(keys: tuple[int, ...] = (0,), *, mode: ChangelogMode = ChangelogMode.INSERT_ONLY) -> WindowAggregateNode:
    source = stream(STRING, INT, rowtime(), StreamColumn("ws", TIMESTAMP), StreamColumn("we", TIMESTAMP))
    return windows(source.columns, WindowKind.ASSIGNED, keys, mode, start=3, end=4)


def session(keys: tuple[int, ...] = (0,), *, mode: ChangelogMode = ChangelogMode.INSERT_ONLY) -> WindowAggregateNode:
    columns = stream(STRING, INT, rowtime()).columns
    return windows(columns, WindowKind.SESSION, keys, mode, gap=GAP * SECOND, partition=tuple(range(len(keys))))


def windows(
    columns: tuple[StreamColumn, ...], kind: WindowKind, keys: tuple[int, ...], mode: ChangelogMode, **more: Any
) -> WindowAggregateNode:
    made = [columns[k] for k in keys] + [StreamColumn(c.function, c.type) for c in CALLS]
    made += [StreamColumn("ws", TIMESTAMP), StreamColumn("we", TIMESTAMP), StreamColumn("wt", TIMESTAMP, rowtime=True)]
    return WindowAggregateNode(
        uid="windows",
        inputs=(stream(*columns),),
        columns=tuple(made),
        mode=mode,
        kind=kind,
        keys=keys,
        calls=CALLS,
        time=2,
        **more,
    )


def row(key: str | None, value: int | None, second: int) -> Change:
    return ("+I", key, value, at(second))


def in_windows(rows: list[Change]) -> list[Change]:
    """TUMBLE of ten seconds."""
    made = []
    for change in rows:
        start = int((change[3] - START).total_seconds()) // SIZE * SIZE
        made.append((*change, at(start), at(start + SIZE)))
    return made


def test_a_window_comes_out_once(tmp_path: Path) -> None:
    with Driver(assigned(), tmp_path) as driver:
        first = in_windows([row("a", 1, 1), row("a", 2, 9), row("b", 5, 12)])
        assert driver.round(first, watermark=9 * SECOND).changes == []
        driver.checkpoint()
        driver.restart()
        closed = driver.round([], watermark=10 * SECOND).changes
        assert closed == [("+I", "a", 2, 3, 2, 2, at(0), at(10), at(9.999))]
        late = in_windows([row("a", 7, 3), row("b", 5, 13)])
        assert driver.round(late, watermark=11 * SECOND).changes == []
        assert driver.operator.figures() == {"late rows dropped": 1}
        assert driver.end().changes == [("+I", "b", 2, 10, 1, 5, at(10), at(20), at(19.999))]


@pytest.mark.parametrize("kind", [assigned, session])
@pytest.mark.parametrize("settings_", [{}, LATENESS], ids=["dropped", "allowed"])
def test_a_window_that_came_out_comes_no_second_time(kind: Any, settings_: Mapping[str, str], tmp_path: Path) -> None:
    """Behind a restart, in whatever batches what follows comes then: its rows are dropped, or change what came out."""
    passed = (12 if kind is assigned else 8) * SECOND
    # A session that grows is another window: the one that came out goes.
    changed = [("-U", "a"), ("+U", "a")] if kind is assigned else [("-D", "a"), ("+I", "a")]
    changed = changed if settings_ else []
    mode = ChangelogMode.RETRACT if settings_ else ChangelogMode.INSERT_ONLY

    def rows(*given: Change) -> list[Change]:
        return in_windows(list(given)) if kind is assigned else list(given)

    with Driver(kind(mode=mode), tmp_path, settings_) as driver:
        came = [change[:2] for change in driver.round(rows(row("a", 1, 1)), watermark=passed).changes]
        assert came == [("+I", "a")]
        driver.checkpoint()
        for batches in ([row("a", 2, 2), row("b", 5, 18)], [row("b", 5, 18), row("a", 2, 2)]):
            # Not checkpointed, so that it comes again: in several batches, and in one.
            driver.restart()
            again = [driver.round(rows(each), watermark=passed) for each in batches]
            kinds = [change[:2] for each in again for change in each.changes]
            assert kinds == changed
            driver.restart()
            again = [driver.round(rows(*batches), watermark=passed)]
            kinds = [change[:2] for each in again for change in each.changes]
            assert kinds == changed
        assert [change[:2] for change in driver.end().changes if change[0] == "+I"] == [("+I", "b")]


def test_late_rows_change_a_result_that_came_out(tmp_path: Path) -> None:
    with Driver(assigned(mode=ChangelogMode.RETRACT), tmp_path, LATENESS) as driver:
        bounds = (at(0), at(10), at(9.999))
        assert driver.round(in_windows([row("a", 1, 1)]), watermark=10 * SECOND).changes == [
            ("+I", "a", 1, 1, 1, 1, *bounds)
        ]
        assert driver.round(in_windows([row("a", 4, 2), row("b", 1, 2)]), watermark=14 * SECOND).changes == [
            ("-U", "a", 1, 1, 1, 1, *bounds),
            ("+U", "a", 2, 5, 2, 4, *bounds),
            ("+I", "b", 1, 1, 1, 1, *bounds),
        ]
        driver.round([], watermark=15 * SECOND)
        assert driver.round(in_windows([row("a", 4, 2)]), watermark=15 * SECOND).changes == []
        assert driver.operator.figures() == {"late rows dropped": 1}


def test_windows_leave_nothing(tmp_path: Path) -> None:
    for number, node in enumerate((assigned(), session())):
        with Driver(node, tmp_path / str(number)) as driver:
            rows = [row("a", n, n) for n in range(40)]
            driver.round([], watermark=0)
            entries = driver.entries()
            driver.round(in_windows(rows) if node.kind is WindowKind.ASSIGNED else rows, watermark=20 * SECOND)
            driver.end()
            assert driver.entries() == entries


def test_a_row_between_two_sessions_makes_them_one(tmp_path: Path) -> None:
    with Driver(session(), tmp_path) as driver:
        driver.round([row("a", 1, 0), row("a", 2, 8), row("b", 3, 8)], watermark=0)
        driver.checkpoint()
        driver.restart()
        driver.round([row("a", 1, 4)], watermark=0)
        closed = driver.end().changes
        assert closed == [
            ("+I", "a", 3, 4, 2, 2, at(0), at(12), at(11.999)),
            ("+I", "b", 1, 3, 1, 3, at(8), at(12), at(11.999)),
        ]


def test_a_late_row_changes_a_session_that_came_out(tmp_path: Path) -> None:
    with Driver(session(mode=ChangelogMode.RETRACT), tmp_path, LATENESS) as driver:
        driver.round([row("a", 1, 0)], watermark=0)
        assert driver.round([], watermark=6 * SECOND).changes == [("+I", "a", 1, 1, 1, 1, at(0), at(4), at(3.999))]
        changes = driver.round([row("a", 2, 3)], watermark=6 * SECOND).changes
        assert changes == [("-D", "a", 1, 1, 1, 1, at(0), at(4), at(3.999))]
        assert driver.round([], watermark=7 * SECOND).changes == [("+I", "a", 2, 3, 2, 2, at(0), at(7), at(6.999))]


def test_bounds_are_what_the_clock_shows(tmp_path: Path) -> None:
    """Of instants; the harness' clock is UTC."""
    columns = stream(STRING, INT, rowtime(DataType(Kind.TIMESTAMP_LTZ, 3))).columns
    node = windows(columns, WindowKind.SESSION, (0,), ChangelogMode.INSERT_ONLY, gap=GAP * SECOND, partition=(0,))
    with Driver(node, tmp_path) as driver:
        driver.context.cursor.execute("SET TimeZone = 'UTC'")
        driver.round([("+I", "a", 1, at(0).replace(tzinfo=UTC))], watermark=0)
        (closed,) = driver.end().changes
        assert closed[6:8] == (at(0), at(4))


ROUNDS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([None, 1, 2, 5]), st.integers(0, 12)), max_size=6
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("kind", ["assigned", "session"])
@pytest.mark.parametrize("keys", [(0,), ()], ids=["keys", "global"])
@pytest.mark.parametrize("allowed", [{}, LATENESS], ids=["strict", "lenient"])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=ROUNDS, data=st.data())
def test_is_what_the_batch_says(
    kind: str,
    keys: tuple[int, ...],
    allowed: Mapping[str, str],
    rounds: list[list[tuple[str | None, int | None, int]]],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Rows that come in any order within the watermark's delay, over batch boundaries and a restart."""
    mode = ChangelogMode.RETRACT if allowed else ChangelogMode.INSERT_ONLY
    node = (assigned if kind == "assigned" else session)(keys, mode=mode)
    restart_at = data.draw(st.integers(0, len(rounds)))
    held: Counter[Change] = Counter()
    everything: list[Change] = []
    with Driver(node, tmp_path_factory.mktemp("state"), allowed) as driver:
        for number, values in enumerate(rounds):
            rows = [row(key, value, number * 6 + second) for key, value, second in values]
            everything += rows
            if number == restart_at:
                driver.checkpoint()
                driver.restart()
            given_rows = in_windows(rows) if kind == "assigned" else rows
            fold(driver.round(given_rows, watermark=(number * 6 + 5) * SECOND).changes, held)
        fold(driver.end().changes, held)
        assert driver.operator.figures() == {"late rows dropped": 0}
    group = "".join(f"c{k}, " for k in keys)
    partition = f"PARTITION BY {group.removesuffix(', ')}" if keys else ""
    if kind == "assigned":
        bounds = "SELECT *, time_bucket(INTERVAL 10 SECOND, c2) AS ws, ws + INTERVAL 10 SECOND AS we FROM (FROM t)"
    else:
        opens = f"c2 - lag(c2) OVER ({partition} ORDER BY c2, id) <= INTERVAL {GAP} SECOND"
        numbered = f"SELECT *, sum(o) OVER ({partition} ORDER BY c2, id ROWS UNBOUNDED PRECEDING) AS n FROM"
        numbered += f" (SELECT *, CASE WHEN {opens} THEN 0 ELSE 1 END AS o FROM (SELECT *, rowid AS id FROM t))"
        window = f"OVER (PARTITION BY {group}n)"
        bounds = f"SELECT *, min(c2) {window} AS ws, max(c2) {window} + INTERVAL {GAP} SECOND AS we FROM ({numbered})"
    wanted = answer(
        f"SELECT {group}count(*), sum(c1)::BIGINT, count(DISTINCT c1), max(c1), ws, we, we - INTERVAL 1 MILLISECOND"
        f" FROM ({bounds}) GROUP BY {group}ws, we",
        {"t": (node.inputs[0].columns[:3], [change[1:] for change in everything])},
    )
    assert held == wanted

"""The join of two streams, over all that may happen to both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.catalog.errors import BergError
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import JoinKind, JoinNode, Node
from tests.support.streams import BIGINT, STRING, Change, Driver, answer, fold, stream

RETRACT, INSERT_ONLY = ChangelogMode.RETRACT, ChangelogMode.INSERT_ONLY

_SQL = {
    JoinKind.INNER: "SELECT l.*, r.* FROM l JOIN r ON {on}",
    JoinKind.LEFT: "SELECT l.*, r.* FROM l LEFT JOIN r ON {on}",
    JoinKind.RIGHT: "SELECT l.*, r.* FROM l RIGHT JOIN r ON {on}",
    JoinKind.FULL: "SELECT l.*, r.* FROM l FULL JOIN r ON {on}",
    JoinKind.SEMI: "SELECT l.* FROM l WHERE EXISTS (SELECT 1 FROM r WHERE {on})",
    JoinKind.ANTI: "SELECT l.* FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {on})",
}


def join(
    kind: JoinKind,
    left: Node,
    right: Node,
    *,
    condition: str | None = None,
    keys: int = 1,
    null_safe: bool = False,
) -> JoinNode:
    """By the first columns of both."""
    half = kind in (JoinKind.SEMI, JoinKind.ANTI)
    appends = kind is JoinKind.INNER and left.mode is INSERT_ONLY and right.mode is INSERT_ONLY
    return JoinNode(
        uid="join-1",
        inputs=(left, right),
        columns=left.columns if half else (*left.columns, *right.columns),
        mode=INSERT_ONLY if appends else RETRACT,
        kind=kind,
        left_keys=tuple(range(keys)),
        right_keys=tuple(range(keys)),
        null_safe=(null_safe,) * keys,
        condition=condition,
    )


def on(node: JoinNode) -> str:
    equal = [
        f"l.c{a} {'IS NOT DISTINCT FROM' if safe else '='} r.c{b}"
        for a, b, safe in zip(node.left_keys, node.right_keys, node.null_safe, strict=True)
    ]
    return " AND ".join([*equal, *([node.condition] if node.condition else [])]) or "true"


Step = tuple[int, int, int | None, int]
"""Which side, whether a row comes (0, 1, 2) or one goes (3), and the row's key and value."""

_ROWS = some.tuples(
    some.integers(0, 1), some.integers(0, 3), some.one_of(some.none(), some.integers(0, 3)), some.integers(0, 3)
)
_ROUNDS = some.lists(
    some.tuples(some.lists(_ROWS, max_size=8), some.sampled_from(["", "checkpoint", "restart"])), max_size=6
)


def changes_of(steps: Sequence[Step], live: tuple[list[Change], list[Change]], retracts: bool) -> list[list[Change]]:
    """Changes of both sides, of rows that are there."""
    made: list[list[Change]] = [[], []]
    for side, what, key, value in steps:
        if what == 3 and retracts:
            if live[side]:
                row = live[side].pop((value * 7 + (key or 0)) % len(live[side]))
                made[side].append(("-D", *row))
            continue
        live[side].append((key, value))
        made[side].append(("+I", key, value))
    return made


@pytest.mark.parametrize("kind", list(JoinKind))
@pytest.mark.parametrize("condition", [None, "l.c1 >= r.c1"])
@pytest.mark.parametrize("mode", [RETRACT, INSERT_ONLY])
@given(rounds=_ROUNDS, keys=some.sampled_from([0, 1, 1, 1]), null_safe=some.booleans())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_whole_tables(
    kind: JoinKind,
    condition: str | None,
    mode: ChangelogMode,
    rounds: list[tuple[list[Step], str]],
    keys: int,
    null_safe: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    left, right = stream(BIGINT, BIGINT, mode=mode), stream(BIGINT, BIGINT, mode=mode)
    node = join(kind, left, right, condition=condition, keys=keys, null_safe=null_safe)
    sql = _SQL[kind].format(on=on(node))
    live: tuple[list[Change], list[Change]] = ([], [])
    rows: Counter[Change] = Counter()
    saved: Any = (([], []), Counter())
    with Driver(node, tmp_path_factory.mktemp("state")) as driver:
        for steps, then in rounds:
            changes = changes_of(steps, live, mode is RETRACT)
            output = driver.round(*changes).changes
            if node.mode is INSERT_ONLY:
                assert {change[0] for change in output} <= {"+I"}
            assert_folded(output)
            fold(output, rows)
            assert rows == answer(sql, {"l": (left.columns, live[0]), "r": (right.columns, live[1])})
            if then == "checkpoint":
                driver.checkpoint()
                saved = ((list(live[0]), list(live[1])), Counter(rows))
            elif then == "restart":
                driver.restart()
                live, rows = (list(saved[0][0]), list(saved[0][1])), Counter(saved[1])


def assert_folded(changes: Sequence[Change]) -> None:
    """No row goes and comes in one batch."""
    gone = {change[1:] for change in changes if change[0] in ("-U", "-D")}
    come = {change[1:] for change in changes if change[0] in ("+I", "+U")}
    assert not gone & come


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT])
def test_a_change_costs_what_it_meets(kind: JoinKind, tmp_path: Path) -> None:
    """One more row of the dimension reads its facts, a fact its row of the dimension: not other rows of the key."""
    with Driver(join(kind, stream(BIGINT, BIGINT), stream(BIGINT, BIGINT)), tmp_path) as driver:
        driver.round([("+I", 1, value) for value in range(2000)], [("+I", 1, 0), *(("+I", 2, n) for n in range(2000))])
        before = driver.accesses.all
        assert len(driver.round([("+I", 1, 5000)]).changes) == 1
        assert driver.accesses.all - before <= 8
        if kind is JoinKind.SEMI:
            before = driver.accesses.all
            assert driver.round([], [("+I", 1, 1)]).changes == []
            assert driver.accesses.all - before <= 8


def test_rows_come_out_in_the_order_of_the_left_side(tmp_path: Path) -> None:
    node = join(JoinKind.LEFT, stream(BIGINT, BIGINT), stream(BIGINT, BIGINT))
    with Driver(node, tmp_path) as driver:
        rows = [(n * 7 % 20, n) for n in range(20)]
        output = driver.round([("+I", *row) for row in rows], [("+I", n, n) for n in range(10)])
        assert [change[1:3] for change in output.changes] == rows


def test_an_outer_join_replaces_the_row_of_a_key(tmp_path: Path) -> None:
    left, right = stream(BIGINT, BIGINT, mode=RETRACT, key=(0,)), stream(BIGINT, BIGINT, mode=RETRACT, key=(0,))
    with Driver(replace(join(JoinKind.LEFT, left, right), key=(0,)), tmp_path) as driver:
        assert driver.round([("+I", 1, 10)]).changes == [("+I", 1, 10, None, None)]
        assert driver.round([], [("+I", 1, 7)]).changes == [("-U", 1, 10, None, None), ("+U", 1, 10, 1, 7)]
        assert driver.round([("-U", 1, 10), ("+U", 1, 11)]).changes == [("-U", 1, 10, 1, 7), ("+U", 1, 11, 1, 7)]
        assert driver.round([("-U", 1, 11), ("+U", 1, 11)]).changes == []
        assert driver.round([("-D", 1, 11)]).changes == [("-D", 1, 11, 1, 7)]


def test_rows_that_are_not_written_to_are_forgotten(tmp_path: Path) -> None:
    node = join(JoinKind.LEFT, stream(BIGINT, BIGINT), stream(BIGINT, BIGINT))
    with Driver(node, tmp_path, {"table.exec.state.ttl": "1 min"}) as driver:
        empty = driver.entries()
        assert driver.round([("+I", 1, 0)], [("+I", 1, 5)], now=0).changes == [("+I", 1, 0, 1, 5)]
        assert driver.round([], [("+I", 1, 6)], now=50_000).changes == [("+I", 1, 0, 1, 6)]
        # The first row of the right side is gone, the left one is kept since its number of partners changed.
        assert driver.round([("+I", 1, 1)], now=70_000).changes == [("+I", 1, 1, 1, 6)]
        driver.round(now=200_000)
        assert driver.entries() == empty
        assert driver.round([("+I", 1, 2)], now=200_000).changes == [("+I", 1, 2, None, None)]


def test_the_ttl_of_an_outer_join_cannot_come_later(tmp_path: Path) -> None:
    node = join(JoinKind.LEFT, stream(BIGINT, BIGINT), stream(BIGINT, BIGINT))
    with Driver(node, tmp_path) as driver:
        driver.round([("+I", 1, 0)])
        driver.checkpoint()
    with pytest.raises(BergError, match="was kept without"):
        Driver(node, tmp_path, {"table.exec.state.ttl": "1 min"})


def test_state_is_as_big_as_what_is_there(tmp_path: Path) -> None:
    left, right = stream(BIGINT, STRING, mode=RETRACT), stream(BIGINT, STRING, mode=RETRACT)
    with Driver(join(JoinKind.FULL, left, right), tmp_path) as driver:
        empty = driver.entries()
        rows = [(n, f"row {n}") for n in range(50)]
        driver.round([("+I", *row) for row in rows], [("+I", *row) for row in rows])
        assert driver.entries() > empty
        driver.round([("-D", *row) for row in rows], [("-D", *row) for row in rows])
        assert driver.entries() == empty

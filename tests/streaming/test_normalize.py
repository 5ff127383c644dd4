"""From upserts to changelogs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import NormalizeNode
from tests.support.streams import BIGINT, STRING, Change, Driver, fold, stream


def normalize() -> NormalizeNode:
    upserts = stream(BIGINT, STRING, mode=ChangelogMode.UPSERT, key=(0,))
    return NormalizeNode(
        uid="normalize-1", inputs=(upserts,), columns=upserts.columns, mode=ChangelogMode.RETRACT, key=(0,)
    )


def test_each_kind_of_change(tmp_path: Path) -> None:
    with Driver(normalize(), tmp_path) as driver:
        assert driver.round([("+I", 1, "a"), ("+U", 2, "b"), ("-D", 3, None)]).changes == [
            ("+I", 1, "a"),
            ("+I", 2, "b"),
        ]
        assert driver.round([("+I", 1, "a"), ("+I", 2, "x"), ("+U", 2, "c")]).changes == [
            ("-U", 2, "b"),
            ("+U", 2, "c"),
        ]
        assert driver.round([("-D", 1, None), ("+U", 2, "y"), ("-D", 2, None), ("+I", 2, None)]).changes == [
            ("-D", 1, "a"),
            ("-U", 2, "c"),
            ("+U", 2, None),
        ]
        assert driver.round([("+I", 4, "new"), ("-D", 4, None)]).changes == []


_CHANGES = some.tuples(some.sampled_from(["+I", "+U", "-D"]), some.integers(0, 5), some.sampled_from(["a", "b", None]))


@given(
    rounds=some.lists(
        some.tuples(some.lists(_CHANGES, max_size=8), some.sampled_from(["", "checkpoint", "restart"])), max_size=8
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_the_last_of_their_keys(
    rounds: list[tuple[list[Change], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    held: dict[int, str | None] = {}
    saved: tuple[dict[int, str | None], Counter[Change]] = ({}, Counter())
    rows: Counter[Change] = Counter()
    with Driver(normalize(), tmp_path_factory.mktemp("state")) as driver:
        for changes, then in rounds:
            for kind, key, value in changes:
                if kind == "-D":
                    held.pop(key, None)
                else:
                    held[key] = value
            fold(driver.round(changes).changes, rows)
            assert rows == Counter(held.items())
            if then == "checkpoint":
                driver.checkpoint()
                saved = dict(held), Counter(rows)
            elif then == "restart":
                driver.restart()
                held, rows = dict(saved[0]), Counter(saved[1])


def test_keys_that_are_not_written_to_are_forgotten(tmp_path: Path) -> None:
    with Driver(normalize(), tmp_path, {"table.exec.state.ttl": "1 min"}) as driver:
        driver.round([("+I", 1, "a"), ("+I", 2, "b")], now=0)
        driver.round([("+U", 2, "c")], now=50_000)
        assert driver.round([("-D", 1, None), ("+U", 2, "d")], now=70_000).changes == [("-U", 2, "c"), ("+U", 2, "d")]


def test_a_batch_costs_its_keys(tmp_path: Path) -> None:
    with Driver(normalize(), tmp_path) as driver:
        driver.round([("+I", key, "a") for key in range(3000)])
        before = driver.accesses.all
        driver.round([("+U", 7, "b"), ("-D", 8, None)])
        assert driver.accesses.all - before <= 4

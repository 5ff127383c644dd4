"""State is found again by what it is of, not by its number: INSERTs and aggregates may change places over a savepoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bergsql.engine.duck import Duck
from bergsql.engine.streaming.kept_names import as_kept, origins
from bergsql.engine.streaming.nodes import Node, StreamPlan
from bergsql.engine.streaming.state.store import Store
from tests.streaming.test_recovery import run_on
from tests.support.stream_ends import FolderSink, RowsSource, calc, inserts, plan_of, source_node
from tests.support.tally import tally


@pytest.fixture
def duck() -> Iterator[Duck]:
    duck = Duck()
    yield duck
    duck.close()


def counts(source: Node, condition: str, number: int) -> Node:
    """Counts of the rows that a condition keeps, as the ``number``-th such node of its plan."""
    kept = calc(source, "i.c0", condition=condition, uid=f"calc-{number}")
    return tally(kept, uid=f"tally-{number}")


def test_inserts_change_places(duck: Duck, tmp_path: Path) -> None:
    batches = [inserts([1, 1, 1, -1])]
    source = source_node(RowsSource(batches))
    positive, negative = FolderSink(tmp_path / "positive", width=2), FolderSink(tmp_path / "negative", width=2)
    store = Store.open(tmp_path / "state")
    run_on(plan_of((counts(source, "i.c0 > 0", 1), positive), (counts(source, "i.c0 < 0", 2), negative)), duck, store)
    batches.append(inserts([1, -1]))
    run_on(plan_of((counts(source, "i.c0 < 0", 1), negative), (counts(source, "i.c0 > 0", 2), positive)), duck, store)
    assert positive.rows()[-2:] == [("-U", 1, 3), ("+U", 1, 4)]
    assert negative.rows()[-2:] == [("-U", -1, 1), ("+U", -1, 2)]
    store.close()


def test_an_aggregate_comes_before_another(duck: Duck, tmp_path: Path) -> None:
    """It begins without state, under a number of its own; and again when it runs once more."""
    batches = [inserts([1, 1, -1])]
    source = source_node(RowsSource(batches))
    positive, negative = FolderSink(tmp_path / "positive", width=2), FolderSink(tmp_path / "negative", width=2)
    store = Store.open(tmp_path / "state")
    run_on(plan_of((counts(source, "i.c0 > 0", 1), positive)), duck, store)

    def both() -> StreamPlan:
        return plan_of((counts(source, "i.c0 < 0", 1), negative), (counts(source, "i.c0 > 0", 2), positive))

    for number in (1, 2):
        batches.append(inserts([1, -1]))
        run_on(both(), duck, store)
        assert positive.rows()[-1] == ("+U", 1, 2 + number)
        assert negative.rows()[-1][1:] == (-1, number)
    store.close()


def test_a_plan_that_is_the_same_stays_as_it_is(tmp_path: Path) -> None:
    source = source_node(RowsSource([]))
    plan = plan_of((counts(source, "i.c0 > 0", 1), FolderSink(tmp_path / "a", width=2)))
    kept = {
        node.uid: {"origin": origin, "signature": {}}
        for node, origin in zip(plan.nodes(), origins(plan.nodes()).values(), strict=True)
    }
    kept["sink-1"] = {"origin": "", "signature": {"sink": "a"}}
    assert as_kept(plan, kept) is plan
    assert as_kept(plan, {}) is plan


def test_twins_keep_their_numbers(tmp_path: Path) -> None:
    """Two nodes that compute the same: each goes on with its own."""
    source = source_node(RowsSource([]))
    sinks = FolderSink(tmp_path / "a", width=2), FolderSink(tmp_path / "b", width=2)
    twins = counts(source, "i.c0 > 0", 1), counts(source, "i.c0 > 0", 2)
    plan = plan_of((twins[0], sinks[0]), (twins[1], sinks[1]))
    kept = {uid: {"origin": origin, "signature": {}} for uid, origin in origins(plan.nodes()).items()}
    assert [node.uid for node in as_kept(plan, kept).nodes() if "tally" in node.uid] == ["tally-1", "tally-2"]

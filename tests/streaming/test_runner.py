"""Rounds and checkpoints of a plan, in one process."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import Duck
from bergsql.engine.streaming.changelog import END_OF_TIME
from bergsql.engine.streaming.checkpoint import Checkpoint
from bergsql.engine.streaming.nodes import CollectNode, StreamPlan
from bergsql.engine.streaming.runner import Runner, StopKind
from bergsql.engine.streaming.state.store import Store
from tests.support.stream_ends import FolderSink, RowsSource, calc, inserts, plan_of, runner_of, source_node


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck(threads=1)
    yield made
    made.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "state")
    yield made
    made.close()


FAST = {"execution.checkpointing.interval": "1 ms"}


def never() -> StopKind | None:
    return None


def opened(runner: Runner) -> Runner:
    runner.open()
    return runner


def test_a_bounded_plan_runs_to_its_end(duck: Duck, store: Store, tmp_path: Path) -> None:
    source, sink = RowsSource([inserts([1, 2]), [], inserts([3])]), FolderSink(tmp_path / "sink")
    runner = opened(runner_of(plan_of((calc(source_node(source), "i.c0 * 10"), sink)), duck, store))
    runner.run(never)
    assert sink.rows() == [("+I", 10), ("+I", 20), ("+I", 30)]
    assert source.told[-1] == 3
    figures = runner.metrics()
    assert (figures["rows_in"], figures["rows_out"], figures["checkpoints"]) == (3, 3, 1)
    assert figures["watermark"] == END_OF_TIME
    runner.close()


def test_nothing_new_is_no_checkpoint(duck: Duck, store: Store, tmp_path: Path) -> None:
    source, sink = RowsSource([inserts([1])], bounded=False), FolderSink(tmp_path / "sink")
    runner = opened(runner_of(plan_of((source_node(source), sink)), duck, store))
    assert runner.checkpoint() == 1  # where it begins
    assert runner.checkpoint() is None
    assert runner.round()
    assert runner.checkpoint() == 2
    assert not runner.round()
    assert runner.checkpoint() is None
    assert runner.checkpoint() is None
    source.batches += [[], inserts([2])]
    assert not runner.round()
    assert runner.checkpoint() == 3  # the offset moved
    assert runner.round()
    assert runner.checkpoint() == 4
    assert sink.numbers() == [2, 4]
    runner.close()


def test_that_sinks_have_a_checkpoint_is_kept_when_none_follows(duck: Duck, store: Store, tmp_path: Path) -> None:
    def known() -> bool:
        copy = tmp_path / "copy"
        store.copy_to(copy)
        kept = Store.open(copy)
        try:
            return Checkpoint.last(kept).is_committed(kept)
        finally:
            kept.close()
            shutil.rmtree(copy)

    source = RowsSource([inserts([1])], bounded=False)
    runner = opened(runner_of(plan_of((source_node(source), FolderSink(tmp_path / "sink"))), duck, store))
    assert runner.round()
    assert runner.checkpoint() == 1
    assert not known()
    assert runner.checkpoint() is None
    assert known()
    source.batches.append(inserts([2]))
    assert runner.round()
    assert runner.checkpoint() == 2
    assert not known()
    source.batches.append(inserts([3]))
    assert runner.round()
    runner.close()  # as it is stopped: what it read is undone
    assert known()
    assert Checkpoint.last(store).offsets == {"source-1": 2}


def test_checkpoints_come_by_their_interval(duck: Duck, store: Store, tmp_path: Path) -> None:
    source, sink = RowsSource([], bounded=False), FolderSink(tmp_path / "sink")
    settings = {"execution.checkpointing.interval": "50 ms"}
    runner = opened(runner_of(plan_of((source_node(source), sink)), duck, store, settings))
    begun = time.monotonic()

    def stop() -> StopKind | None:
        assert time.monotonic() < begun + 20
        if len(sink.numbers()) == len(source.batches):
            source.batches.append(inserts([len(source.batches)]))
        return StopKind.CANCEL if len(sink.numbers()) == 3 else None

    runner.run(stop)
    assert time.monotonic() - begun >= 0.15
    assert sink.rows() == [("+I", 0), ("+I", 1), ("+I", 2)]
    runner.close()


@pytest.mark.parametrize(("kind", "kept"), [(StopKind.CANCEL, []), (StopKind.CHECKPOINT, [("+I", 1)])])
def test_ways_to_stop(duck: Duck, store: Store, tmp_path: Path, kind: StopKind, kept: list[Any]) -> None:
    sink = FolderSink(tmp_path / "sink")
    runner = opened(runner_of(plan_of((source_node(RowsSource([inserts([1])], bounded=False)), sink)), duck, store))
    answers = iter([None, kind])
    runner.run(lambda: next(answers))
    runner.close()
    assert sink.rows() == kept


@pytest.mark.parametrize("kind", StopKind)
def test_what_can_only_be_read_in_one_go_is_kept_whole_or_not_at_all(
    duck: Duck, store: Store, tmp_path: Path, kind: StopKind
) -> None:
    source = RowsSource([inserts([1]), inserts([2]), inserts([3])], bounded=False, held=3)
    sink = FolderSink(tmp_path / "sink")
    runner = opened(runner_of(plan_of((source_node(source), sink)), duck, store, FAST))
    answers = iter([None, None, kind])
    runner.run(lambda: next(answers))
    runner.close()
    assert sink.rows() == []
    again = opened(runner_of(plan_of((source_node(source), sink)), duck, store, FAST))
    answers = iter([None, None, None, StopKind.CHECKPOINT])
    again.run(lambda: next(answers))
    again.close()
    assert sink.rows() == [("+I", 1), ("+I", 2), ("+I", 3)]


def test_a_node_that_two_read_is_computed_once(duck: Duck, store: Store, tmp_path: Path) -> None:
    """As a row's random number would be another one each time."""
    sinks = [FolderSink(tmp_path / name) for name in "ab"]
    node = calc(source_node(RowsSource([inserts(range(100))])), "(random() * 1000000000)::BIGINT")
    runner = opened(runner_of(plan_of(*((node, sink) for sink in sinks)), duck, store))
    runner.run(never)
    runner.close()
    assert len(sinks[0].rows()) == 100
    assert sinks[0].rows() == sinks[1].rows()


def test_collect_gets_changes_in_order(duck: Duck, store: Store) -> None:
    node = calc(source_node(RowsSource([inserts(range(5000)), [("-D", 7)]])), "i.c0 + 1", condition="i.c0 > 3")
    end = CollectNode(uid="collect", inputs=(node,), columns=node.columns, mode=node.mode)
    came: list[pa.Table] = []
    runner = opened(runner_of(StreamPlan((end,)), duck, store, collect=came.append))
    runner.run(never)
    runner.close()
    assert [t.column_names for t in came] == [["c0", "op"]] * 2
    assert came[0].column("c0").to_pylist() == list(range(5, 5001))
    assert came[1].to_pylist() == [{"c0": 8, "op": 3}]


def test_an_error_undoes_the_round_and_a_new_runner_goes_on(duck: Duck, store: Store, tmp_path: Path) -> None:
    source, sink = RowsSource([inserts([1]), inserts([0]), inserts([3])]), FolderSink(tmp_path / "sink")
    bad = calc(source_node(source), "CASE WHEN i.c0 = 0 THEN error('no zeros')::BIGINT ELSE i.c0 END")
    runner = opened(runner_of(plan_of((bad, sink)), duck, store))
    runner.round()
    runner.checkpoint()
    with pytest.raises(BergError, match="does not take one of its values"):
        runner.run(never)
    runner.close()
    source.batches[1] = inserts([2])
    runner = opened(runner_of(plan_of((bad, sink)), duck, store))
    runner.run(never)
    runner.close()
    assert sink.rows() == [("+I", 1), ("+I", 2), ("+I", 3)]


def test_interrupt_ends_a_long_query(duck: Duck, store: Store, tmp_path: Path) -> None:
    sink = FolderSink(tmp_path / "sink")
    slow = "(SELECT sum(x * y) FROM range(i.c0, 10000000) a(x), range(10000000) b(y))::BIGINT"
    runner = opened(runner_of(plan_of((calc(source_node(RowsSource([inserts([1])])), slow), sink)), duck, store))
    timer = threading.Timer(0.3, runner.interrupt)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runner.run(never)
    assert time.monotonic() - begun < 5
    timer.join()
    runner.close()
    assert sink.rows() == []
    assert duck.execute("SELECT 1").fetchall() == [(1,)]


def test_interrupt_and_wake_end_a_wait(duck: Duck, store: Store, tmp_path: Path) -> None:
    runner = opened(
        runner_of(plan_of((source_node(RowsSource([], bounded=False)), FolderSink(tmp_path / "s"))), duck, store)
    )
    runner.wait_seconds = lambda: 60.0  # type: ignore[method-assign]
    for ring in (runner.wake, runner.interrupt):
        timer = threading.Timer(0.1, ring)
        timer.start()
        begun = time.monotonic()
        runner.wait()
        assert time.monotonic() - begun < 30
        timer.join()
    with pytest.raises(KeyboardInterrupt):
        runner.round()
    runner.close()


def test_a_round_leaves_nothing_behind(duck: Duck, store: Store, tmp_path: Path) -> None:
    """Memory and open files stay as they are over hundreds of rounds."""
    source, sink = RowsSource([], bounded=False), FolderSink(tmp_path / "sink")
    node = calc(source_node(source), "i.c0 + 1")
    runner = opened(runner_of(plan_of((node, sink), (node, FolderSink(tmp_path / "other"))), duck, store))
    process = psutil.Process()

    def rounds(count: int) -> None:
        for n in range(count):
            source.batches[:] = [[]] * len(source.batches) + [inserts(range(2000))]
            runner.round()
            if n % 20 == 19:
                runner.checkpoint()
        for path in (*sink.folder.iterdir(), *(tmp_path / "other").iterdir()):
            path.unlink()

    rounds(100)
    before, files = process.memory_info().rss, process.num_fds()
    rounds(300)
    assert process.memory_info().rss - before < 8 << 20
    assert process.num_fds() == files
    left = duck.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    views = duck.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall()
    assert (left, views) == ([(0,)], [(0,)])
    runner.close()


def test_closing_leaves_no_file_and_no_thread(duck: Duck, tmp_path: Path) -> None:
    process = psutil.Process()
    duck.execute("SELECT 1").fetchall()

    def once(n: int) -> None:
        store = Store.open(tmp_path / f"state-{n}", durable=False)
        runner = opened(
            runner_of(plan_of((source_node(RowsSource([inserts([1])])), FolderSink(tmp_path / "s"))), duck, store)
        )
        runner.round()
        runner.interrupt()
        with pytest.raises(KeyboardInterrupt):
            runner.round()
        runner.close()
        runner.close()
        store.close()

    once(0)
    before = process.num_fds(), process.num_threads(), threading.active_count()
    for n in range(1, 100):
        once(n)
    assert (process.num_fds(), process.num_threads(), threading.active_count()) == before


def test_the_state_of_another_job_is_refused(duck: Duck, store: Store, tmp_path: Path) -> None:
    plan = plan_of((source_node(RowsSource([inserts([1])])), FolderSink(tmp_path / "sink")))
    runner = opened(runner_of(plan, duck, store))
    runner.run(never)
    runner.close()
    other = Runner(plan, duck, store, job_id="2" * 32, setting=dict[str, str]().get, time_zone="UTC", note=print)
    with pytest.raises(BergError, match=r"is of the job 0+1, not of 2+"):
        other.open()
    other.close()


def test_an_idle_plan_costs_next_to_nothing(duck: Duck, store: Store, tmp_path: Path) -> None:
    source, sink = RowsSource([], bounded=False), FolderSink(tmp_path / "sink")
    runner = opened(runner_of(plan_of((calc(source_node(source), "i.c0"), sink)), duck, store))
    end = time.monotonic() + 2
    begun = sum(os.times()[:2])
    runner.run(lambda: StopKind.CANCEL if time.monotonic() > end else None)
    assert sum(os.times()[:2]) - begun < 0.06  # of two seconds: the clock ticks in hundredths
    runner.close()


MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 h",
    "table.exec.mini-batch.size": "3",
}


def test_mini_batches_wait_for_their_latency(duck: Duck, store: Store, tmp_path: Path) -> None:
    """What is held back is in its source: a checkpoint is of what was taken, and a restart loses nothing."""
    batches = [inserts([1]), inserts([2]), inserts([3])]
    sink = FolderSink(tmp_path / "sink")
    plan = plan_of((source_node(RowsSource(batches, bounded=False)), sink))
    runner = opened(runner_of(plan, duck, store, MINI_BATCH))
    assert runner.round()
    assert not runner.round()
    assert not runner.round()
    assert 0 < runner.wait_seconds() <= 1
    assert runner.checkpoint() == 1
    assert sink.rows() == [("+I", 1)]
    runner.close()
    # A restart begins with a round of its own; a short latency passes.
    runner = opened(runner_of(plan, duck, store, MINI_BATCH | {"table.exec.mini-batch.allow-latency": "30 ms"}))
    begun = time.monotonic()
    assert runner.round()
    while not runner.round():
        assert time.monotonic() < begun + 20
        runner.wait()
    assert time.monotonic() - begun >= 0.03
    assert runner.checkpoint() == 2
    assert sink.rows() == [("+I", 1), ("+I", 2), ("+I", 3)]
    runner.close()


def test_mini_batches_of_their_size_do_not_wait(duck: Duck, store: Store, tmp_path: Path) -> None:
    sink = FolderSink(tmp_path / "sink")
    source = RowsSource([inserts([1, 2, 3]), inserts([4, 5, 6, 7]), inserts([8]), inserts([9])], bounded=False)
    runner = opened(runner_of(plan_of((source_node(source), sink)), duck, store, MINI_BATCH))
    assert [runner.round() for _ in range(5)] == [True, True, True, False, False]
    assert runner.checkpoint() == 1
    assert sink.rows() == [("+I", n) for n in range(1, 9)]
    runner.close()


def test_much_changed_state_is_checkpointed_early(duck: Duck, store: Store, tmp_path: Path) -> None:
    """It is in memory until then. ``engine.memory-limit`` says how much there may be."""
    sink = FolderSink(tmp_path / "sink")
    plan = plan_of((source_node(RowsSource([inserts([1])], bounded=False)), sink))
    runner = opened(runner_of(plan, duck, store, {"engine.memory-limit": "64 mb"}))
    scope = store.scope("other")
    assert not runner.due()
    scope.put_many([(n.to_bytes(4, "big"), bytes(1_000)) for n in range(8_000)])
    assert not runner.due()
    scope.put_many([(n.to_bytes(4, "big"), bytes(1_000)) for n in range(8_000, 40_000)])
    assert runner.due()
    assert runner.checkpoint() == 1
    assert not runner.due()
    runner.close()

"""A job that dies at any step, and goes on: nothing is missing, nothing is there twice."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import Duck
from bergsql.engine.streaming.nodes import StreamPlan
from bergsql.engine.streaming.state.store import Store
from tests.support.faults import Fault, Faults, Kind, Mode, Ran, faults
from tests.support.stream_ends import FolderSink, RowsSource, calc, inserts, plan_of, runner_of, source_node
from tests.support.stream_program import check, check_prefix, main
from tests.support.tally import Tally, tally

PROGRAM = "tests.support.stream_program"
PARTS = 12
"""Into how many the steps are dealt: one part is tried in every run."""
MAKING = frozenset({Kind.CREATE, Kind.WRITE, Kind.LINK, Kind.RENAME, Kind.MKDIR, Kind.TRUNCATE})
FAULTS = {
    "killed": Fault(Mode.KILL),
    "torn": Fault(Mode.TEAR),
    "EIO": Fault(Mode.FAIL, error=EIO),
    "full": Fault(Mode.FAIL_ON, error=ENOSPC, kinds=MAKING),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck(threads=1)
    yield made
    made.close()


def run(faulty: Faults, folder: Path, fault: Fault) -> Ran:
    """Run the job from its start."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return faulty.run([str(folder)], folder, fault, module=PROGRAM)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
@pytest.mark.parametrize("kind", FAULTS)
def test_at_every_step(faulty: Faults, tmp_path: Path, kind: str, part: int) -> None:
    folder = tmp_path / "job"
    ran = run(faulty, folder, Fault(Mode.COUNT))
    assert (ran.code, ran.err) == (0, "")
    check(folder)
    assert len(ran.steps) > 40
    for at in range(part, len(ran.steps), PARTS):
        ran = run(faulty, folder, FAULTS[kind]._replace(at=at))
        assert "Traceback" not in ran.err, ran.err
        if kind in ("killed", "torn"):
            assert ran.code == (-9 if ran.fired else 0)
        elif ran.code:
            assert len(ran.err.splitlines()) == 1
        check_prefix(folder)
        assert main([str(folder)]) == 0
        check(folder)


@pytest.mark.parametrize("times", [5, pytest.param(30, marks=pytest.mark.long)])
def test_killed_again_while_it_recovers(faulty: Faults, tmp_path: Path, times: int) -> None:
    folder, chance = tmp_path / "job", random.Random(times)
    steps = run(faulty, folder, Fault(Mode.COUNT)).steps
    for _ in range(times):
        run(faulty, folder, Fault(Mode.KILL, chance.randrange(len(steps))))
        for _ in range(3):
            faulty.run([str(folder)], folder, Fault(Mode.KILL, chance.randrange(12)), module=PROGRAM)
            check_prefix(folder)
        assert main([str(folder)]) == 0
        check(folder)


class Stop(Exception):
    """What a sink of these tests fails with."""


STEPS = [f"{when} {what}" for what in ("prepare", "commit") for when in ("before", "after")]


def failing(step: str, number: int) -> Callable[[str, int], None]:
    left = [1]

    def fail(at: str, checkpoint: int) -> None:
        if at == step and checkpoint == number and left:
            left.pop()
            raise Stop

    return fail


def run_on(plan: StreamPlan, duck: Duck, store: Store, settings: dict[str, str] | None = None) -> None:
    """Run to the end with a checkpoint each round, by a new runner after each failure."""
    for _ in range(5):
        runner = runner_of(plan, duck, store, settings)
        try:
            runner.open()
            while not runner.finished:
                runner.round()
                runner.checkpoint()
            runner.finish()
            return
        except Stop:
            pass
        finally:
            runner.close()
    raise AssertionError("it failed again and again")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("which", [0, 1])
def test_an_error_at_each_step(duck: Duck, tmp_path: Path, step: str, number: int, which: int) -> None:
    store = Store.open(tmp_path / "state")
    sinks = [FolderSink(tmp_path / "a", width=2), FolderSink(tmp_path / "b")]
    sinks[which].fail = failing(step, number)
    source = source_node(RowsSource([inserts(batch) for batch in ([1, 2, 2], [3, 1], [2])]))
    run_on(plan_of((tally(source), sinks[0]), (source, sinks[1])), duck, store)
    assert [row[1] for row in sinks[1].rows()] == [1, 2, 2, 3, 1, 2]
    assert [row for row in sinks[0].rows() if row[0] != "-U"] == [
        *(("+I", 1, 1), ("+I", 2, 2), ("+I", 3, 1), ("+U", 1, 2), ("+U", 2, 3)),
    ]
    store.close()


def test_a_savepoint_goes_on_where_it_was_made(duck: Duck, tmp_path: Path) -> None:
    batches = [inserts([1, 2, 2])]
    sink = FolderSink(tmp_path / "sink", width=2)

    def plan() -> StreamPlan:
        return plan_of((tally(source_node(RowsSource(batches))), sink))

    store = Store.open(tmp_path / "state")
    run_on(plan(), duck, store)
    store.copy_to(tmp_path / "savepoint")
    store.close()
    assert [path.name for path in (tmp_path / "savepoint").iterdir()] == ["data.mdb"]
    shutil.rmtree(tmp_path / "state")
    batches.append(inserts([2]))
    store = Store.open(tmp_path / "savepoint")
    run_on(plan(), duck, store)
    store.close()
    assert sink.rows()[-2:] == [("-U", 2, 2), ("+U", 2, 3)]


CHANGED = "does not fit the query: there is {} of {} "


def test_a_changed_query_over_old_state(duck: Duck, tmp_path: Path) -> None:
    """What fits is taken up, what does not is refused by name, and nothing is changed then."""
    batches = [inserts([1, 2, 2])]
    counted, plain = FolderSink(tmp_path / "counted", width=2), FolderSink(tmp_path / "plain")
    store = Store.open(tmp_path / "state")
    source = source_node(RowsSource(batches))
    run_on(plan_of((tally(source), counted)), duck, store)
    batches.append(inserts([2]))

    refused: list[tuple[StreamPlan, str]] = [
        (
            plan_of((tally(source, step=2), counted)),
            r"there is state of tally-1 \(Tally\), but its 'step' was 1 and is 2 now",
        ),
        (plan_of((source, plain)), r"there is state of tally-1 \(Tally\), but the query has it no more"),
        (
            plan_of((tally(source_node(RowsSource(batches, name="others"))), counted)),
            r"there is how far it was read of source-1 \(the source rows\), but its 'source' was 'rows' and is 'others' now",
        ),
    ]
    for plan, message in refused:
        with pytest.raises(BergError, match=message):
            run_on(plan, duck, store)

    run_on(plan_of((tally(calc(source, "i.c0", condition="i.c0 > 1")), counted), (source, plain)), duck, store)
    assert counted.rows()[-2:] == [("-U", 2, 2), ("+U", 2, 3)]
    assert plain.rows() == [("+I", 2)]  # new: it begins here

    batches.append(inserts([7]))
    with pytest.raises(BergError) as raised:
        run_on(plan_of((source, plain)), duck, store)
    assert raised.value.hint == "SET 'execution.state-recovery.ignore-unclaimed-state' = 'true'; drops it."
    run_on(plan_of((source, plain)), duck, store, {"execution.state-recovery.ignore-unclaimed-state": "true"})
    assert plain.rows()[-1] == ("+I", 7)
    assert store.entries("tally-1") == 0
    store.close()


def test_state_of_another_version_of_an_operator_is_refused(
    duck: Duck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "state")
    plan = plan_of((tally(source_node(RowsSource([inserts([1])]))), FolderSink(tmp_path / "sink", width=2)))
    run_on(plan, duck, store)
    monkeypatch.setattr(Tally, "version", 2)
    with pytest.raises(BergError, match=r"state of tally-1 \(Tally\), but another version of bergsql made it"):
        run_on(plan, duck, store)
    store.close()


def test_a_sink_that_is_gone_with_changes_to_commit_is_refused(duck: Duck, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "state")
    source = source_node(RowsSource([inserts([1])]))
    gone, kept = FolderSink(tmp_path / "gone"), FolderSink(tmp_path / "kept")
    gone.fail = failing("before commit", 1)
    runner = runner_of(plan_of((source, kept), (source, gone)), duck, store)
    runner.open()
    runner.round()
    with pytest.raises(Stop):
        runner.checkpoint()
    runner.close()
    ignore = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    with pytest.raises(BergError, match=r"changes that are not committed yet of sink-2 \(the sink gone\)"):
        run_on(plan_of((source, kept)), duck, store, ignore)
    run_on(plan_of((source, kept), (source, gone)), duck, store)
    assert gone.rows() == kept.rows() == [("+I", 1)]
    store.close()


def test_watermarks_do_not_fall_over_a_restart(duck: Duck, tmp_path: Path) -> None:
    source: Any = RowsSource([inserts([1])], bounded=False)
    source.watermark = 1_000
    plan = plan_of((source_node(source), FolderSink(tmp_path / "sink")))
    store = Store.open(tmp_path / "state")
    marks = []
    for _ in range(2):
        runner = runner_of(plan, duck, store)
        runner.open()
        runner.round()
        runner.checkpoint()
        marks.append(runner.metrics()["watermark"])
        runner.close()
        source.watermark = None
    store.close()
    assert marks == [1_000, 1_000]

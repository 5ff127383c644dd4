"""A plan over an Iceberg stream that dies between checkpoints: every row is written once, whatever is expired meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.checkpoint import Checkpoint
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store
from tests.support.iceberg_streams import expire, metadata_of, planned
from tests.support.stream_ends import FolderSink, calc, plan_of, runner_of, source_node


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    opened.execute(
        "CREATE TABLE t (id BIGINT) WITH ('format-version'='2', 'write.delete.mode'='merge-on-read',"
        " 'write.update.mode'='merge-on-read')"
    )
    yield opened
    opened.close()


def runner_over(session: Session, store: Store, sink: FolderSink, options: dict[str, str]) -> Runner:
    """A runner of a query that is planned anew."""
    source = planned(session, options)
    return runner_of(plan_of((calc(source_node(source), "i.c0"), sink)), session.duck, store)


@pytest.mark.parametrize("changelog", ["false", "true"])
@pytest.mark.parametrize("seed", range(6))
def test_rows_are_written_once(session: Session, tmp_path: Path, changelog: str, seed: int) -> None:
    random, sink = Random(seed), FolderSink(tmp_path / "sink")
    options = {"streaming-max-files-per-micro-batch": "2", "read.changelog": changelog}
    for i in range(5):
        session.execute(f"INSERT INTO t VALUES ({i})")
    written, expired = 5, 0
    for _ in range(12):
        store = Store.open(tmp_path / "state")
        runner = runner_over(session, store, sink, options)
        runner.open()
        for _ in range(random.randint(0, 4)):
            runner.round()
            if random.random() < 0.5:
                runner.checkpoint()
            if random.random() < 0.5:
                session.execute(f"INSERT INTO t VALUES ({written}), ({written + 1})")
                written += 2
            if changelog == "true" and random.random() < 0.3:
                session.execute(f"DELETE FROM t WHERE id = {random.randrange(written)}")
        runner.close()  # what is behind the last checkpoint is undone
        store.close()
        expired += forget_what_was_read(session, tmp_path)
    store = Store.open(tmp_path / "state")
    runner = runner_over(session, store, sink, options)
    runner.open()
    while runner.round():
        pass
    runner.finish()
    runner.close()
    store.close()
    found: Counter[int] = Counter()
    for kind, value in sink.rows():
        found[value] += 1 if kind.startswith("+") else -1
    assert +found == Counter(row[0] for rows in session.execute("SELECT id FROM t").chunks for row in rows)
    assert min(found.values()) >= 0
    assert expired > 0


def forget_what_was_read(session: Session, home: Path) -> int:
    """Expire the snapshots before the one that the job's last checkpoint is at; how many comes back."""
    store = Store.open(home / "state")
    offset: Any = Checkpoint.last(store).offsets.get("source-1")
    store.close()
    if not isinstance(offset, dict) or offset["scan"] or offset["after"] is None:
        return 0
    snapshots = [s.snapshot_id for s in metadata_of(session).snapshots]
    gone = snapshots[: snapshots.index(offset["after"])] if offset["after"] in snapshots else []
    if gone:
        expire(session, *gone)
    return len(gone)


def test_a_runner_that_waits_sees_each_commit(session: Session, tmp_path: Path) -> None:
    store, sink = Store.open(tmp_path / "state"), FolderSink(tmp_path / "sink")
    runner = runner_over(session, store, sink, {"monitor-interval": "200 ms"})
    runner.open()
    runner.round()
    for i in range(5):
        session.execute(f"INSERT INTO t VALUES ({i})")
        deadline = time.monotonic() + 30
        while not runner.round():
            assert time.monotonic() < deadline
            runner.wait()
    runner.close()
    store.close()


def test_what_stops_a_stream_stops_the_runner(session: Session, tmp_path: Path) -> None:
    session.execute("INSERT INTO t VALUES (1), (2)")
    store, sink = Store.open(tmp_path / "state"), FolderSink(tmp_path / "sink")
    runner = runner_over(session, store, sink, {})
    runner.open()
    while runner.round():
        pass
    runner.checkpoint()
    session.execute("INSERT OVERWRITE t VALUES (3)")
    with pytest.raises(BergError, match="is of 'overwrite': it did more than append"):
        runner.round()
    runner.close()
    # With the option the job goes on from where it stopped.
    again = runner_over(session, store, sink, {"streaming-skip-overwrite-snapshots": "true"})
    again.open()
    session.execute("INSERT INTO t VALUES (4)")
    while again.round():
        pass
    again.finish()
    again.close()
    store.close()
    assert sink.rows() == [("+I", 1), ("+I", 2), ("+I", 4)]

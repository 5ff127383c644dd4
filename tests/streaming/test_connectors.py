"""Local connectors in streams: directories that are watched, restarts, and what is written."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import Duck
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.sinks.base import Sink
from bergsql.engine.streaming.sources.base import Source
from bergsql.engine.streaming.state.store import Store
from tests.support.connector_tables import FailingSink, sink, source
from tests.support.stream_ends import plan_of, runner_of, source_node

PATIENCE = 60.0


class Killed(Exception):
    """What stands for the end of the process."""


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck(threads=1)
    yield made
    made.close()


def watched(folder: Path, more: str = "", columns: str = "id INT, name STRING") -> Source:
    return source(
        f"CREATE TABLE t ({columns}) WITH ('connector'='filesystem', 'path'='{folder}', 'format'='csv', "
        f"'source.monitor-interval'='20 ms'{more})"
    )


def written(folder: Path, form: str = "csv") -> Sink:
    return sink(
        f"CREATE TABLE t (id INT, name STRING) WITH ('connector'='filesystem', 'path'='{folder}', 'format'='{form}')"
    )


def lines(folder: Path) -> list[str]:
    """The lines of all files that a reader would look at."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
            found += path.read_text().splitlines()
    return sorted(found)


def settle(folder: Path) -> None:
    """Make the files of a folder look as if they had lain there for long."""
    old = time.time() - 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))


def until(runner: Runner, done: Callable[[Runner], bool]) -> None:
    """Run rounds until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not done(runner):
        assert time.monotonic() < deadline
        if not runner.round():
            runner.wait()


@pytest.mark.parametrize("seed", range(8))
def test_a_watched_directory_is_read_once_through_crashes(duck: Duck, tmp_path: Path, seed: int) -> None:
    """Files come in any order, with any time, the job dies anywhere: all rows are there, and none twice."""
    chance = random.Random(seed)
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    names = [f"{chance.choice(['', 'a/', 'a/b/'])}{number:03}.csv" for number in range(25)]
    chance.shuffle(names)
    for hidden in (".hidden.csv", "_temporary/x.csv"):
        (inbox / hidden).parent.mkdir(exist_ok=True)
        (inbox / hidden).write_text("-1,hidden\n")
    row = 0
    left, doomed = 6, ""
    steps = ["before write", "before prepare", "after prepare", "before commit", "after commit"]

    def fail(step: str) -> None:
        nonlocal left, doomed
        if step == doomed:
            left, doomed = left - 1, ""
            raise Killed

    def complete() -> bool:
        return lines(outbox) == sorted(f"{n},n{n}" for n in range(row))

    while True:
        store = Store.open(tmp_path / "state")
        runner = runner_of(plan_of((source_node(watched(inbox)), FailingSink(written(outbox), fail))), duck, store)
        try:
            runner.open()
            while names:
                for name in names[: chance.randrange(1, 4)]:
                    path = inbox / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    count = chance.randrange(0, 30)
                    path.write_text("".join(f"{row + n},n{row + n}\n" for n in range(count)))
                    row += count
                    when = time.time() - chance.choice([20, 3600, 86400])
                    os.utime(path, (when, when))
                    names.remove(name)
                for _ in range(chance.randrange(3)):
                    runner.round()
                if chance.random() < 0.5:
                    runner.checkpoint()
                if left and not doomed:
                    doomed = chance.choice(steps)
            until(runner, lambda r: r.checkpoint() is None and complete())
            runner.close()
            store.close()
            break
        except Killed:
            runner.close()
            store.close()
    assert complete()
    assert not [p for p in outbox.iterdir() if p.name.startswith(".")]


def test_a_file_that_grows_is_read_when_it_is_whole(duck: Duck, tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(watched(inbox)), written(outbox))), duck, store)
    runner.open()
    with (inbox / "a.csv").open("w") as file:
        for number in range(5):
            file.write(f"{number},x\n")
            file.flush()
            assert not runner.round()  # it changed since the last look
            runner.wait()
    until(runner, lambda r: r.metrics()["rows_in"] == 5)
    (inbox / "a.csv").write_text("9,changed\n")
    (inbox / "b.csv").write_text("5,x\n")
    until(runner, lambda r: r.metrics()["rows_in"] == 6)
    runner.checkpoint()
    assert lines(outbox) == [f"{n},x" for n in range(6)]
    runner.close()
    store.close()


def test_a_directory_may_come_later(duck: Duck, tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(watched(inbox)), written(tmp_path / "out"))), duck, store)
    runner.open()
    assert not runner.round()
    inbox.mkdir()
    (inbox / "a.csv").write_text("1,x\n")
    settle(inbox)
    until(runner, lambda r: r.metrics()["rows_in"] == 1)
    runner.close()
    store.close()


def test_rows_that_cannot_be_read_are_counted(duck: Duck, tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    (inbox / "a.csv").write_bytes(b'1,a\n2,"open\n\n3,c\nx,d\n4\n\xff,e\n5,"f"f\n')
    settle(inbox)
    store = Store.open(tmp_path / "state")
    given = watched(inbox, ", 'csv.ignore-parse-errors'='true'")
    runner = runner_of(plan_of((source_node(given), written(outbox))), duck, store)
    runner.open()
    until(runner, lambda r: r.metrics()["rows_in"] > 0)
    runner.checkpoint()
    assert lines(outbox) == [",d", "1,a", "3,c"]
    assert runner.metrics()["rows_skipped"] == 4
    runner.close()
    store.close()


def test_a_broken_file_ends_the_job_and_says_where(duck: Duck, tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "a.csv").write_text("1,a\nx,b\n")
    settle(inbox)
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(watched(inbox)), written(tmp_path / "out"))), duck, store)
    runner.open()
    with pytest.raises(BergError, match=r"Line 2 of .*/in/a\.csv cannot be read: Error when converting column .id."):
        runner.round()
    runner.close()
    store.close()


@pytest.mark.parametrize("options", ["'csv.ignore-parse-errors'='true'", "'csv.allow-comments'='true'", ""])
def test_a_byte_order_mark_is_no_part_of_a_value(tmp_path: Path, options: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b"\xef\xbb\xbf9,bom\n10,plain\n")
    with closing(Session(SessionConfig(tmp_path / "home"))) as session:
        given = ", ".join(filter(None, [f"'connector'='filesystem', 'path'='{tmp_path}/in', 'format'='csv'", options]))
        session.execute(f"CREATE TABLE t (id INT, s STRING) WITH ({given})")
        assert list(session.execute("SELECT * FROM t ORDER BY id").rows()) == [(9, "bom"), (10, "plain")]


@pytest.mark.parametrize("lines", ['{"id":1}\nnot json\n{"id":2}\n', '{"id":1}\n{"id":"x"}\n'])
def test_the_line_that_is_no_json_is_named(tmp_path: Path, lines: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text(lines)
    with closing(Session(SessionConfig(tmp_path / "home"))) as session:
        given = f"'connector'='filesystem', 'path'='{tmp_path}/in', 'format'='json'"
        session.execute(f"CREATE TABLE t (id INT) WITH ({given})")
        with pytest.raises(BergError, match=r"Line 2 of .*/in/a\.json cannot be read"):
            list(session.execute("SELECT * FROM t").rows())


def test_what_is_no_object_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = ['{"id":1,"r":5,"l":[1]}', '{"id":2,"r":"s","l":{"a":1}}', '{"id":3,"r":{"a":4},"l":[]}', '{"id":4}', "{"]
    (tmp_path / "in" / "a.json").write_text("\n".join(rows))
    with closing(Session(SessionConfig(tmp_path / "home"))) as session:
        given = f"'connector'='filesystem', 'path'='{tmp_path}/in', 'format'='json', 'json.ignore-parse-errors'='true'"
        session.execute(f"CREATE TABLE t (id INT, r ROW<a INT>, l ARRAY<INT>) WITH ({given})")
        found = session.execute("SELECT id, r IS NULL, l IS NULL FROM t ORDER BY id").rows()
        assert list(found) == [(1, True, False), (2, True, True), (3, False, False), (4, True, True)]


def test_partitions_and_places_of_files_are_columns(duck: Duck, tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    for day in ("1", "2", "__DEFAULT_PARTITION__"):
        (inbox / f"day={day}").mkdir(parents=True)
        (inbox / f"day={day}" / f"f{day[:1]}.csv").write_text(f"{day[:1].replace('_', '0')}\n")
    made = source(
        f"CREATE TABLE t (id INT, day INT, name STRING METADATA FROM 'file.name') PARTITIONED BY (day) "
        f"WITH ('connector'='filesystem', 'path'='{inbox}', 'format'='csv')"
    )
    target = sink(
        f"CREATE TABLE t (id INT, day INT, name STRING) PARTITIONED BY (day) WITH ('connector'='filesystem', "
        f"'path'='{outbox}', 'format'='json', 'sink.partition-commit.policy.kind'='success-file')"
    )
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(made), target)), duck, store)
    runner.open()
    until(runner, lambda r: r.finished)
    runner.finish()
    found = sorted((p.parent.name, p.read_text()) for p in outbox.rglob("part-*"))
    assert found == [
        ("day=1", '{"id":1,"name":"f1.csv"}\n'),
        ("day=2", '{"id":2,"name":"f2.csv"}\n'),
        ("day=__DEFAULT_PARTITION__", '{"id":0,"name":"f_.csv"}\n'),
    ]
    assert len(list(outbox.rglob("_SUCCESS"))) == 3
    runner.close()
    store.close()


def test_files_take_new_rows_only(tmp_path: Path) -> None:
    with pytest.raises(BergError, match="takes new rows only"):
        written(tmp_path).check(ChangelogMode.RETRACT, (0,))


def test_a_sequence_goes_on_where_it_was(duck: Duck, tmp_path: Path) -> None:
    """Not a number twice and not one left out, wherever the job is stopped."""
    outbox = tmp_path / "out"
    made = source(
        "CREATE TABLE t (id INT, name STRING) WITH ('connector'='datagen', 'rows-per-second'='3000', "
        "'fields.id.kind'='sequence', 'fields.id.start'='1', 'fields.id.end'='1000', 'fields.name.length'='1')"
    )
    for stop in (100, 400, 700, 1000):
        store = Store.open(tmp_path / "state")
        runner = runner_of(plan_of((source_node(made), written(outbox))), duck, store)
        runner.open()
        until(runner, lambda r: r.metrics()["rows_in"] >= 60 or r.finished)
        runner.checkpoint()
        if stop < 1000:
            runner.round()  # which the end of the process undoes
        else:
            until(runner, lambda r: r.finished)
            runner.finish()
        runner.close()
        store.close()
    assert sorted(int(line.split(",")[0]) for line in lines(outbox)) == list(range(1, 1001))


def test_changes_are_printed_as_they_come(duck: Duck, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = source(
        "CREATE TABLE t (id INT, name STRING) WITH ('connector'='values', 'batch-size'='2', 'data'='"
        '{"id":1,"name":"a"}\n{"op":"-U","id":1,"name":"a"}\n{"op":"+U","id":1}\n{"op":"-D","id":1}\')'
    )
    assert made.mode is ChangelogMode.RETRACT
    target = sink("CREATE TABLE t (id INT, name STRING) WITH ('connector'='print', 'print-identifier'='out')")
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(made), target)), duck, store)
    runner.open()
    until(runner, lambda r: r.finished)
    runner.finish()
    assert capsys.readouterr().out.splitlines() == [
        "out> +I[1, a]",
        "out> -U[1, a]",
        "out> +U[1, null]",
        "out> -D[1, null]",
    ]
    runner.close()
    store.close()


def test_values_without_an_end_wait(duck: Duck, tmp_path: Path) -> None:
    made = source("""CREATE TABLE t (id INT) WITH ('connector'='values', 'data'='{"id":1}', 'bounded'='false')""")
    assert not made.bounded
    store = Store.open(tmp_path / "state")
    target = sink("CREATE TABLE t (id INT) WITH ('connector'='blackhole')")
    runner = runner_of(plan_of((source_node(made), target)), duck, store)
    runner.open()
    assert runner.round()
    assert not runner.round()
    assert not runner.finished
    runner.close()
    store.close()


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "avro", "orc"])
def test_every_format_is_written_and_read_again(duck: Duck, tmp_path: Path, form: str) -> None:
    outbox = tmp_path / "out"
    made = source(
        "CREATE TABLE t (id INT, name STRING) WITH ('connector'='datagen', 'rows-per-second'='1000000', "
        "'number-of-rows'='5000', 'fields.id.kind'='sequence', 'fields.id.start'='1', 'fields.id.end'='9999', "
        "'fields.name.null-rate'='0.5')"
    )
    store = Store.open(tmp_path / "state")
    runner = runner_of(plan_of((source_node(made), written(outbox, form))), duck, store)
    runner.open()
    until(runner, lambda r: r.finished)
    runner.finish()
    runner.close()
    store.close()
    again = source(
        f"CREATE TABLE t (id INT, name STRING) WITH ('connector'='filesystem', 'path'='{outbox}', 'format'='{form}')"
    )
    read = again.whole("r")
    cursor = duck.execute(f"SELECT count(DISTINCT c0), count(*), count(c1) FROM {read.sql}", read.variables)
    ids, rows, names = cursor.fetchall()[0]
    assert (ids, rows) == (5000, 5000)
    assert 2000 < names < 3000

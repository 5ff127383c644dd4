"""SELECT over a source without an end: its changes as they come, and every way of ending it."""

from __future__ import annotations

import gc
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.result import Row
from bergsql.engine.session import Session, SessionConfig
from tests.shell.terminal import CTRL_C, Terminal
from tests.support.berg import Berg

PROMPT = "flink default_catalog.default_database>"
FOLLOW = "/*+ OPTIONS('streaming'='true', 'monitor-interval'='50ms') */"
SECONDS = 30
"""After which what should have come is taken to be lost."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(SessionConfig(tmp_path))
    session.execute("CREATE TABLE t (id INT, k STRING)")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    yield session
    session.close()


@pytest.fixture
def other(tmp_path: Path, session: Session) -> Iterator[Session]:
    """Another client of the same tables."""
    other = Session(SessionConfig(tmp_path))
    other.execute("SELECT count(*) FROM t")
    yield other
    other.close()
    del session


def taken(rows: Iterator[Row], count: int) -> list[Row]:
    return [next(rows) for _ in range(count)]


def test_what_others_commit_comes_as_it_is_committed(session: Session, other: Session) -> None:
    result = session.execute(f"SELECT * FROM t {FOLLOW} WHERE id <> 2")
    assert result.changelog
    assert [c.name for c in result.columns] == ["op", "id", "k"]
    rows = result.rows()
    assert taken(rows, 2) == [("+I", 1, "a"), ("+I", 3, "a")]
    other.execute("INSERT INTO t VALUES (4, 'c')")
    assert taken(rows, 1) == [("+I", 4, "c")]
    other.execute("INSERT INTO t VALUES (2, 'c'), (5, NULL)")
    assert taken(rows, 1) == [("+I", 5, None)]
    result.close()


def test_counts_change_as_rows_come(session: Session, other: Session) -> None:
    result = session.execute(f"SELECT k, COUNT(*) AS n FROM t {FOLLOW} GROUP BY k")
    rows = result.rows()
    assert sorted(taken(rows, 2)) == [("+I", "a", 2), ("+I", "b", 1)]
    other.execute("INSERT INTO t VALUES (4, 'b'), (5, 'b'), (6, 'c')")
    assert sorted(taken(rows, 3)) == [("+I", "c", 1), ("+U", "b", 3), ("-U", "b", 1)]
    result.close()


def test_every_type_is_shown_as_a_batch_shows_it(session: Session) -> None:
    types = (
        "a TINYINT, b DECIMAL(38, 3), c TIMESTAMP(9), d TIMESTAMP_LTZ(6), e BYTES, f ARRAY<ROW<x INT, y STRING>>, "
        "g MAP<STRING, DATE>, h TIME, i BOOLEAN, j DOUBLE, l FLOAT, m BINARY(2)"
    )
    session.execute(f"CREATE TABLE u ({types}) WITH ('format-version'='3')")
    values = (
        "1, 12345678901234567890123456789012345.678, TIMESTAMP '2024-02-29 01:02:03.123456789', "
        "CAST(TIMESTAMP '2024-02-29 01:02:03.123456' AS TIMESTAMP_LTZ(6)), x'00ff', ARRAY[ROW(1, 'x'), NULL], "
        "MAP['k', DATE '2024-02-29'], TIME '01:02:03', TRUE, 1.5E300, 0.1, x'0102'"
    )
    session.execute(f"INSERT INTO u VALUES ({values}), ({', '.join(['NULL'] * 12)})")
    result = session.execute(f"SELECT * FROM u {FOLLOW}")
    streamed = taken(result.rows(), 2)
    result.close()
    batch = list(session.execute("SELECT * FROM u").rows())
    assert sorted(map(repr, streamed)) == sorted(repr(("+I", *row)) for row in batch)


def test_ended_a_hundred_times_it_leaves_nothing(session: Session) -> None:
    def left() -> tuple[int, int, set[str]]:
        gc.collect()
        folders = {f.name for f in Path(tempfile.gettempdir()).glob("bergsql-stream-*")}
        return threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), folders

    def once(query: str) -> None:
        result = session.execute(query)
        rows = result.rows()
        next(rows)
        ender = threading.Thread(target=session.interrupt)
        ender.start()
        with pytest.raises(KeyboardInterrupt):
            list(rows)
        ender.join()
        result.close()
        assert list(session.execute("SELECT count(*) FROM t").rows()) == [(3,)]

    queries = (
        f"SELECT id FROM t {FOLLOW}",
        f"SELECT id, COUNT(*) FROM t {FOLLOW} GROUP BY id",
        f"SELECT a.id FROM t {FOLLOW} AS a JOIN t AS b ON a.id = b.id",
    )
    for query in queries:
        once(query)
    before = left()
    for number in range(100):
        once(queries[number % 3])
    threads, files, folders = left()
    assert threads <= before[0]
    assert files <= before[1]
    assert folders <= before[2]


def test_closed_before_its_first_row(session: Session) -> None:
    session.execute(f"SELECT * FROM t {FOLLOW}").close()
    assert not session.stoppers


def test_ctrl_c_at_a_prompt(berg: Berg) -> None:
    with Terminal(berg, columns=100) as terminal:
        terminal.prompted(PROMPT)
        terminal.enter("CREATE TABLE t (id INT);", PROMPT)
        terminal.enter("INSERT INTO t VALUES (1), (2);", PROMPT)
        for number in range(3):
            row = f"| +I |           2 |           {number} |"
            terminal.type(f"SELECT id, {number} AS n FROM t {FOLLOW};", "\r")
            terminal.wait(lambda lines, row=row: any(row in line for line in lines))  # type: ignore[misc]
            terminal.type(CTRL_C)
            lines = terminal.prompted(PROMPT)
            assert any("Query terminated, received a total of 2 rows (" in line for line in lines)
        assert "| 2 |" in terminal.enter("SELECT count(*) AS n FROM t;", PROMPT)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_script_ends_cleanly_by_a_signal(berg: Berg, number: int, code: int) -> None:
    berg.run("-e", "CREATE TABLE t (id INT)", "-e", "INSERT INTO t VALUES (1), (2), (3)")
    process = subprocess.Popen(
        berg.command("-e", f"SELECT * FROM t {FOLLOW}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=berg.env(),
        text=True,
    )
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(6)]
    assert seen[-1] == "| +I |           3 |\n"
    process.send_signal(number)
    rest, errors = process.communicate(timeout=SECONDS)
    assert rest.startswith("Query terminated, received a total of 3 rows (")
    assert errors == ""
    assert process.returncode == code


def test_other_formats_have_the_change_in_front(berg: Berg) -> None:
    berg.run("-e", "CREATE TABLE t (id INT)", "-e", "INSERT INTO t VALUES (1), (2)")
    process = subprocess.Popen(
        berg.command("--format", "jsonl", "-e", f"SELECT COUNT(*) AS n FROM t {FOLLOW}"),
        stdout=subprocess.PIPE,
        env=berg.env(),
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == '{"op": "+I", "n": 2}\n'
    started = monotonic()
    berg.run("-e", "INSERT INTO t VALUES (3)")
    assert [process.stdout.readline() for _ in range(2)] == ['{"op": "-U", "n": 2}\n', '{"op": "+U", "n": 3}\n']
    assert monotonic() - started < SECONDS
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130


def test_a_batch_refuses_what_has_no_end(berg: Berg) -> None:
    (_, refused) = berg.answers(
        ["CREATE TABLE t (id INT)", f"SELECT * FROM t {FOLLOW}"], "--conf", "execution.runtime-mode=batch"
    )
    (error,) = refused.errors
    assert "has no end" in error.message
    assert (error.line, error.column) == (1, 15)


CHANGES = """WITH ('connector'='values', 'data'='{"id": 1, "k": "a"}
{"id": 2, "k": "b"}
{"$op": "-D", "id": 1, "k": "a"}')"""


def test_a_source_of_changes_streams_in_every_mode_but_batch(session: Session) -> None:
    session.execute(f"CREATE TABLE v (id INT, k STRING) {CHANGES}")
    for mode in ("automatic", "streaming"):
        session.execute(f"SET 'execution.runtime-mode' = '{mode}'")
        result = session.execute("SELECT id FROM v WHERE k = 'a'")
        assert (result.changelog, list(result.rows())) == (True, [("+I", 1), ("-D", 1)])
        ((told,),) = session.execute("EXPLAIN SELECT id FROM v WHERE k = 'a'").rows()
        assert str(told).startswith("Stream\n")
        with pytest.raises(BergError, match="A subquery there, in a stream is not supported yet") as refused:
            session.execute("SELECT CASE WHEN EXISTS (SELECT 1 FROM v) THEN 1 END FROM v")
        assert refused.value.span is not None
    session.execute("SET 'execution.runtime-mode' = 'batch'")
    with pytest.raises(BergError, match=r"v gives changes of rows, which only a stream reads, and .* is 'batch'"):
        session.execute("SELECT * FROM v")


def test_explain_shows_what_runs(session: Session) -> None:
    counts, nested = (
        "SELECT k, COUNT(*) FROM t GROUP BY k",
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM t) THEN 1 END FROM t",
    )
    for mode, query, first in (
        ("automatic", counts, "Query"),
        ("streaming", counts, "Stream"),
        ("streaming", nested, "Query"),  # which streams lack
        ("streaming", "SELECT 1", "Query"),
    ):
        session.execute(f"SET 'execution.runtime-mode' = '{mode}'")
        ((told,),) = session.execute(f"EXPLAIN {query}").rows()
        assert str(told).split("\n")[0] == first


def test_zeros_of_both_signs_are_one_group(session: Session) -> None:
    data = "\n".join(f'{{"k": {k}}}' for k in ("0.0", "-0.0", "0.0"))
    options = f"'connector'='values', 'batch-size'='1', 'data'='{data}'"
    session.execute(f"CREATE TABLE z (k DOUBLE) WITH ({options})")
    session.execute("SET 'execution.runtime-mode' = 'streaming'")
    rows = list(session.execute("SELECT k, COUNT(*) FROM z GROUP BY k").rows())
    assert [f"{op} {k} {n}" for op, k, n in rows] == ["+I 0.0 1", "-U 0.0 1", "+U 0.0 2", "-U 0.0 2", "+U 0.0 3"]


TIMES = """WITH ('connector'='values', 'batch-size'='1', 'data'='{"id": 1, "ts": "2024-01-01 00:00:01"}
{"id": 2, "ts": "2024-01-01 00:00:21"}')"""


def test_windows_of_time_are_named_ordered_and_hinted(session: Session) -> None:
    session.execute(f"CREATE TABLE w (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) {TIMES}")
    session.execute("SET 'execution.runtime-mode' = 'streaming'")
    ten = "INTERVAL '10' SECOND"
    older = session.execute(f"SELECT COUNT(*), TUMBLE_START(ts, {ten}) FROM w GROUP BY TUMBLE(ts, {ten})")
    assert [c.name for c in older.columns] == ["op", "EXPR$0", "EXPR$1"]
    assert len(list(older.rows())) == 2
    for time in ("PROCTIME()", "pt"):
        sums = f"SELECT SUM(id) OVER (ORDER BY {time}) FROM (SELECT *, PROCTIME() AS pt FROM w)"
        assert list(session.execute(sums).rows()) == [("+I", 1), ("+I", 3)]
    hinted = (
        "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE w /*+ OPTIONS('{}'='2') */, "
        f"DESCRIPTOR(ts), {ten})) GROUP BY window_start, window_end"
    )
    assert list(session.execute(hinted.format("batch-size")).rows()) == [("+I", 1), ("+I", 1)]
    with pytest.raises(BergError, match="A table of connector 'values' has no option 'batch-siz'"):
        session.execute(hinted.format("batch-siz"))


def test_a_batch_says_that_it_goes_on_from_no_savepoint(berg: Berg) -> None:
    setting = ("--conf", "execution.state-recovery.path=/nowhere")
    done = berg.run(*setting, "-e", "CREATE TABLE t (id INT)", "-e", "INSERT INTO t VALUES (1)")
    assert done.code == 0
    assert "goes on from no savepoint" in done.err

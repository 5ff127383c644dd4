"""The screens of the result modes ``table`` and ``changelog`` over a stream without an end, at a real terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shell.terminal import CTRL_C, ENTER, UP, Terminal
from tests.support.berg import Berg

PROMPT = "flink default_catalog.default_database>"
FOLLOW = "/*+ OPTIONS('streaming'='true', 'monitor-interval'='50ms') */"
COUNTS = f"SELECT k, COUNT(*) AS cnt, MAX(v) AS m FROM t {FOLLOW} GROUP BY k;"
DOWN = "\x1b[B"
CANCELLED = "[INFO] Result retrieval cancelled."


@pytest.fixture
def shell(berg: Berg) -> Iterator[Terminal]:
    commit(berg, "CREATE TABLE t (k INT, v INT)", "INSERT INTO t VALUES (1, 5), (2, 3), (1, 4)")
    with Terminal(berg, "--conf", "sql-client.execution.result-mode=table", lines=20, columns=90) as opened:
        opened.prompted(PROMPT)
        yield opened


def commit(berg: Berg, *statements: str) -> None:
    """What another client does."""
    done = berg.run(*[word for sql in statements for word in ("-e", sql)])
    assert done.code == 0, done.err


def page(terminal: Terminal, *texts: str) -> list[str]:
    """The lines, when the screen of pages is there and has all of these."""
    return terminal.wait(
        lambda lines: "Left, Right" in lines[-1] and all(any(text in line for line in lines) for text in texts)
    )


def counts(lines: list[str]) -> list[list[str]]:
    """The rows that the screen shows."""
    head = next(number for number, line in enumerate(lines) if line.split()[-3:] == ["k", "cnt", "m"])
    return [line.split() for line in lines[head + 1 : -2] if line.strip()]


def until(terminal: Terminal, *rows: str) -> list[str]:
    wanted = [row.split() for row in rows]
    return terminal.wait(lambda lines: "Left, Right" in lines[-1] and sorted(counts(lines)) == wanted)


def alive(terminal: Terminal) -> None:
    terminal.enter("SET 'sql-client.execution.result-mode' = 'tableau';", PROMPT)
    assert "| 1 |" in terminal.enter("SELECT 1 AS n;", PROMPT)


def test_counts_change_while_another_commits(shell: Terminal, berg: Berg) -> None:
    shell.type(COUNTS, ENTER)
    lines = until(shell, "1 2 5", "2 1 3")
    state = lines[lines.index(next(line for line in lines if line.strip() == "SQL Query Result (Table)")) + 1]
    assert all(text in state for text in ("Refresh: 1 s", "Page: Last of 1", "Updated: "))
    commit(berg, "INSERT INTO t VALUES (2, 9), (3, 1)")
    until(shell, "1 2 5", "2 2 9", "3 1 1")
    shell.type("g", "1", ENTER, DOWN, UP, "o")
    summary = shell.wait(lambda lines: any("Row Summary" in line for line in lines))
    assert summary[summary.index(" cnt (BIGINT):") + 1] in (" 2", " 1")
    assert " k (INT):" in summary
    shell.type("q")
    page(shell, "SQL Query Result (Table)")
    commit(berg, "INSERT INTO t VALUES (3, 7)")
    until(shell, "1 2 5", "2 2 9", "3 2 7")
    shell.type("q")
    assert CANCELLED in shell.prompted(PROMPT)
    alive(shell)


def test_the_refresh_is_turned(shell: Terminal, berg: Berg) -> None:
    shell.type(COUNTS, ENTER)
    until(shell, "1 2 5", "2 1 3")
    for key, interval in [("+", "5 s"), ("+", "10 s"), ("+", "10 s")]:
        shell.type(key)
        page(shell, f"Refresh: {interval}")
    commit(berg, "INSERT INTO t VALUES (1, 6)")
    # What waits for ten seconds comes at once by R.
    for _ in range(200):
        shell.type("R")
        shell.type(DOWN)
        if "3" in {row[1] for row in counts(page(shell, "Refresh: 10 s"))}:
            break
    until(shell, "1 3 6", "2 1 3")
    for interval in ("5 s", "1 s", "500 ms", "100 ms", "Fastest", "Fastest"):
        shell.type("-")
        page(shell, f"Refresh: {interval}")
    shell.type("q")
    assert CANCELLED in shell.prompted(PROMPT)
    alive(shell)


def test_the_changelog_is_followed(shell: Terminal, berg: Berg) -> None:
    shell.enter("SET 'sql-client.execution.result-mode' = 'changelog';", PROMPT)
    shell.type(COUNTS, ENTER)
    until(shell, "+I 1 2 5", "+I 2 1 3")
    page(shell, "SQL Query Result (Changelog)", "Refresh: Fastest")
    shell.type("l", DOWN)
    commit(berg, "INSERT INTO t VALUES (1, 9)")
    lines = until(shell, "+I 1 2 5", "+I 2 1 3", "+U 1 3 9", "-U 1 2 5")
    assert counts(lines)[-2:] == [["-U", "1", "2", "5"], ["+U", "1", "3", "9"]]
    commit(
        berg, "INSERT INTO t SELECT id, id FROM (VALUES " + ", ".join(f"({n})" for n in range(10, 30)) + ") AS r(id)"
    )
    # More than a page: the last page is followed to.
    page(shell, "Page: Last of 2")
    shell.wait(lambda lines: len(counts(lines)) == 24 - 13)
    shell.type(CTRL_C)
    assert CANCELLED in shell.prompted(PROMPT)
    alive(shell)


@pytest.mark.parametrize("mode", ["table", "changelog"])
def test_a_stream_that_fails_tells_it_behind_the_screen(shell: Terminal, berg: Berg, mode: str) -> None:
    shell.enter(f"SET 'sql-client.execution.result-mode' = '{mode}';", PROMPT)
    shell.type(COUNTS, ENTER)
    page(shell, "cnt", "SQL Query Result")
    shell.wait(lambda lines: len(counts(lines)) == 2)
    commit(berg, "DELETE FROM t WHERE v = 4")
    lines = shell.prompted(PROMPT)
    (error,) = [line for line in lines if line.startswith("[ERROR]")]
    assert "is of '" in " ".join(lines[lines.index(error) :])
    assert CANCELLED not in lines
    alive(shell)


@pytest.mark.parametrize("mode", ["table", "changelog"])
def test_a_stream_that_fails_at_once(shell: Terminal, mode: str) -> None:
    """The error may come before the screen does."""
    shell.enter(f"SET 'sql-client.execution.result-mode' = '{mode}';", PROMPT)
    for number in range(5):
        before = len(shell.raw)
        shell.type(f"SELECT CAST(CONCAT('x', CAST(v AS STRING)) AS INT) + {number} AS n FROM t {FOLLOW};", ENTER)
        lines = shell.wait(lambda lines, before=before: "cannot be cast" in shell.raw[before:] and lines[-1] == PROMPT)  # type: ignore[misc]
        assert CANCELLED not in lines
    alive(shell)


def test_another_size(shell: Terminal, berg: Berg) -> None:
    shell.type(COUNTS, ENTER)
    until(shell, "1 2 5", "2 1 3")
    commit(
        berg, "INSERT INTO t SELECT id, id FROM (VALUES " + ", ".join(f"({n})" for n in range(10, 30)) + ") AS r(id)"
    )
    page(shell, "Page: 1 of 2")
    shell.resize(90, 32)
    assert len(counts(page(shell, "Page: Last of 1"))) == 22
    shell.resize(60, 14)
    page(shell, "Page: 1 of 4")
    commit(berg, "INSERT INTO t VALUES (100, 1)")
    shell.type("l")
    page(shell, " 100    1   1")
    shell.type("q")
    assert CANCELLED in shell.prompted(PROMPT)
    alive(shell)


@pytest.mark.parametrize("mode", ["tableau", "table", "changelog"])
def test_ctrl_c_twenty_times(berg: Berg, mode: str) -> None:
    """The prompt is there each time, and in the end nothing is left of the streams."""
    commit(berg, "CREATE TABLE t (k INT, v INT)", "INSERT INTO t VALUES (1, 5), (2, 3), (1, 4)")
    with Terminal(berg, "--conf", f"sql-client.execution.result-mode={mode}", lines=20, columns=90) as terminal:
        terminal.prompted(PROMPT)
        for number in range(20):
            terminal.type(f"SELECT k, COUNT(*) + {number}00 AS cnt FROM t {FOLLOW} GROUP BY k;", ENTER)
            terminal.wait(
                lambda lines, cnt=f"{number}02" if number else "2": any(  # type: ignore[misc]
                    line.strip("| ").split()[-1:] == [cnt] for line in lines
                )
            )
            terminal.type(CTRL_C)
            lines = terminal.prompted(PROMPT)
            assert "Traceback" not in "\n".join(lines)
        alive(terminal)
        terminal.enter("INSERT INTO t VALUES (3, 3);", PROMPT)
        assert "| 4 |" in terminal.enter("SELECT COUNT(*) AS n FROM t;", PROMPT)

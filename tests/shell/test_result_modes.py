"""``SET 'sql-client.execution.result-mode'``: tableau, and the screens of table and changelog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shell.terminal import CTRL_C, ENTER, Terminal
from tests.support.berg import Berg

SPARK = "spark default_catalog.default_database>"
FLINK = "flink default_catalog.default_database>"
DOWN = "\x1b[B"
ROWS = "SELECT id, concat('name ', id) AS name FROM range(100);"


@pytest.fixture
def table(berg: Berg) -> Iterator[Terminal]:
    arguments = ("--dialect", "spark", "--conf", "sql-client.display.print-time-cost=false", "--quiet")
    with Terminal(berg, *arguments, "--conf", "sql-client.execution.result-mode=table", lines=20, columns=90) as opened:
        opened.prompted(SPARK)
        yield opened


def shown(terminal: Terminal) -> list[str]:
    """The lines, when a screen of pages is there."""
    return terminal.wait(lambda lines: any("Q Quit" in line for line in lines) and "Left, Right" in lines[-1])


def page(terminal: Terminal, text: str) -> list[str]:
    return terminal.wait(lambda lines: any(text in line for line in lines) and "Left, Right" in lines[-1])


def test_pages_of_a_table(table: Terminal) -> None:
    table.type(ROWS, ENTER)
    lines = page(table, "Page: 1 of 8")
    assert any(line.strip() == "SQL Query Result (Table)" for line in lines)
    assert " id     name" in lines
    assert "  0   name 0" in lines
    table.type("n")
    assert " 13  name 13" in page(table, "Page: 2 of 8")
    table.type("l")
    assert " 99  name 99" in page(table, "Page: Last of 8")
    table.type("p")
    page(table, "Page: 7 of 8")
    table.type("g", "3", ENTER)
    assert " 26  name 26" in page(table, "Page: 3 of 8")
    table.type(DOWN, "o")
    summary = table.wait(lambda lines: any("Row Summary" in line for line in lines))
    assert summary[summary.index(" id (BIGINT):") + 1] == " 27"
    assert summary[summary.index(" name (STRING):") + 1] == " name 27"
    table.type("q")
    page(table, "Page: 3 of 8")
    table.type("q")
    assert table.prompted(SPARK)[-2] == "100 rows in set"


def test_another_size_and_ctrl_c(table: Terminal) -> None:
    table.type(ROWS, ENTER)
    page(table, "Page: 1 of 8")
    table.resize(90, 32)
    page(table, "Page: 1 of 4")
    table.type(CTRL_C)
    table.prompted(SPARK)
    table.enter("SET 'sql-client.execution.result-mode' = 'tableau';", SPARK)
    assert "| 1 |" in table.enter("SELECT 1 AS n;", SPARK)


def test_listings_are_drawn_below_the_statement(table: Terminal) -> None:
    assert "| default_catalog |" in table.enter("SHOW CATALOGS;", SPARK)


def test_only_so_many_rows_are_read(table: Terminal) -> None:
    table.enter("SET 'sql-client.execution.max-table-result.rows' = '5';", SPARK)
    table.type("SELECT id FROM range(1000000);", ENTER)
    page(table, "The first 5 rows.")
    table.type("q")
    assert table.prompted(SPARK)[-2] == "5 rows in set"


def test_the_changelog_of_a_bounded_query(table: Terminal) -> None:
    table.enter("SET 'sql-client.execution.result-mode' = 'changelog';", SPARK)
    table.type("SELECT id FROM range(2);", ENTER)
    lines = page(table, "SQL Query Result (Changelog)")
    assert [line for line in lines if line[:3] in (" op", " +I")] == [" op  id", " +I   0", " +I   1"]
    table.type("q")
    table.prompted(SPARK)
    table.enter("SET 'execution.runtime-mode' = 'batch';", SPARK)
    lines = table.enter("SELECT id FROM range(2);", SPARK)
    assert lines[0] == "[ERROR] The result of a batch query can only be shown in table or tableau mode."


def test_a_wrong_mode_is_refused_and_the_session_lives(berg: Berg) -> None:
    with Terminal(berg) as terminal:
        terminal.prompted()
        lines = terminal.enter("SET 'sql-client.execution.result-mode' = 'tabelau';")
        assert "tabelau" in lines[0]
        assert "Did you mean 'tableau'?" in lines[-1]
        assert "| 1 |" in terminal.enter("SELECT 1 AS n;")


@pytest.mark.parametrize("mode", ["table", "changelog"])
def test_a_pipe_gets_a_tableau(mode: str, berg: Berg) -> None:
    done = berg.run("--conf", f"sql-client.execution.result-mode={mode}", "-e", "SELECT 1 AS n")
    assert "| 1 |" in done.out


def test_a_stream_is_drawn_while_it_runs(table: Terminal) -> None:
    table.enter("SET 'execution.runtime-mode' = 'streaming';", SPARK)
    table.type(ROWS, ENTER)
    table.wait(lambda lines: any("Table program finished. 100 rows." in line for line in lines))
    table.type("l")
    assert " 99  name 99" in page(table, "Page: Last of 8")
    table.type("q")
    table.prompted(SPARK)
    table.enter("SET 'sql-client.execution.result-mode' = 'changelog';", SPARK)
    table.type(ROWS, ENTER)
    table.wait(lambda lines: any(line.startswith(" +I  99  name 99") for line in lines))
    table.type("q")
    table.prompted(SPARK)

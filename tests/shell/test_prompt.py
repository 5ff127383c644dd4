"""The prompt, driven as a person drives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shell.terminal import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    ENTER,
    LEFT,
    PASTE_BEGIN,
    PASTE_END,
    UP,
    Terminal,
)
from tests.support.berg import Berg

FLINK = "flink default_catalog.default_database>"
CONTINUED = ">".rjust(len(FLINK))
DIGITS = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
ENDLESS = "SELECT COUNT(*) AS n FROM " + ", ".join(f"{DIGITS} AS {x}(d)" for x in "abcdefghijklm") + ";"


@pytest.fixture
def terminal(berg: Berg) -> Iterator[Terminal]:
    with Terminal(berg, "--conf", "sql-client.display.print-time-cost=false") as opened:
        opened.prompted()
        yield opened


def test_a_statement_and_the_way_out(terminal: Terminal) -> None:
    assert terminal.enter("SELECT 1 AS n, 'a' AS s;") == [
        "+---+---+",
        "| n | s |",
        "+---+---+",
        "| 1 | a |",
        "+---+---+",
        "1 row in set",
    ]
    terminal.type(CTRL_D)
    assert terminal.ended() == 0


@pytest.mark.parametrize("word", ["quit;", "EXIT;", "exit", "-- bye\nquit;"])
def test_leaving_by_word(word: str, terminal: Terminal) -> None:
    terminal.type(word.replace("\n", ENTER), ENTER)
    assert terminal.ended() == 0


def test_the_prompt_names_flavour_catalog_and_database(terminal: Terminal) -> None:
    terminal.enter("CREATE DATABASE d1;")
    terminal.enter("USE d1;", "flink default_catalog.d1>")
    terminal.enter("SET 'sql.dialect' = 'spark';", "spark default_catalog.d1>")


def test_several_lines_until_a_real_semicolon(terminal: Terminal) -> None:
    terminal.type("SELECT 'a;", ENTER, "b' AS s -- not; yet", ENTER, "  , 2 AS n", ENTER)
    lines = terminal.wait(lambda lines: lines[-1] == CONTINUED)
    assert lines[-4:] == [
        f"{FLINK} SELECT 'a;",
        f"{CONTINUED} b' AS s -- not; yet",
        f"{CONTINUED}   , 2 AS n",
        CONTINUED,
    ]
    assert terminal.enter(";")[3:4] == ["| a;\\nb | 2 |"]


def test_lines_are_edited(terminal: Terminal) -> None:
    terminal.type("SELECT", ENTER, "2 AS n;", UP, " 1 +")
    terminal.wait(lambda lines: lines[-2:] == [f"{FLINK} SELECT 1 +", f"{CONTINUED} 2 AS n;"])
    terminal.type(ENTER)  # in the middle: a line more
    terminal.wait(lambda lines: lines[-2:] == [CONTINUED, f"{CONTINUED} 2 AS n;"])
    terminal.type("\x1b[B")
    assert terminal.enter("")[-3:-2] == ["| 3 |"]


def test_alt_enter_begins_a_line(terminal: Terminal) -> None:
    terminal.type("SELECT 1 AS n;", ALT_ENTER)
    terminal.wait(lambda lines: lines[-1] == CONTINUED)
    assert "| 1 |" in terminal.enter("")


@pytest.mark.parametrize("typed", ["", ";", " ; ;", "/* c */ ;"])
def test_nothing_is_nothing(typed: str, terminal: Terminal) -> None:
    assert terminal.enter(typed) == []


def test_a_comment_goes_on_until_a_statement_or_a_semicolon(terminal: Terminal) -> None:
    terminal.type("-- c;", ENTER)
    terminal.wait(lambda lines: lines[-1] == CONTINUED)
    assert terminal.enter(";") == []


def test_history_is_kept_over_sessions_without_secrets(berg: Berg, terminal: Terminal) -> None:
    terminal.enter("SELECT 1 AS first_one;")
    terminal.enter("SET 'my.password' = 'hunter2';")
    terminal.type("SELECT 2", ENTER)
    terminal.enter("  AS second_one;")
    terminal.type(CTRL_D)
    assert terminal.ended() == 0
    path = berg.home / "history"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in path.read_text()
    with Terminal(berg) as again:
        again.prompted()
        again.type(UP)
        again.wait(lambda lines: lines[-2:] == [f"{FLINK} SELECT 2", f"{CONTINUED}   AS second_one;"])
        again.type(UP, UP)
        again.wait(lambda lines: lines[-1] == f"{FLINK} SELECT 1 AS first_one;")
        again.type(CTRL_C)
        again.prompted()
        again.type("\x12second")  # Ctrl-R
        again.wait(lambda lines: "AS second_one;" in lines[-1] or "AS second_one;" in lines[-2])


def test_ctrl_c_clears_what_is_typed(terminal: Terminal) -> None:
    terminal.type("SELECT nothing", ENTER, "  FROM nowhere", CTRL_C)
    terminal.wait(lambda lines: lines[-1] == FLINK and "nowhere" in "\n".join(lines))
    assert "| 1 |" in terminal.enter("SELECT 1 AS n;")


def test_ctrl_c_cancels_a_query_and_the_session_lives(terminal: Terminal) -> None:
    terminal.type("SELECT 'begun' AS s; ", ENDLESS, ENTER)
    terminal.wait(lambda lines: "| begun |" in lines)
    terminal.type(CTRL_C)
    lines = terminal.prompted()
    assert lines[-2] == "[INFO] Query cancelled."
    assert "| 1 |" in terminal.enter("SELECT 1 AS n;")
    terminal.type("SELECT 2 AS n;", CTRL_C)
    terminal.prompted()
    terminal.type(CTRL_D)
    assert terminal.ended() == 0


def test_a_long_statement_shows_how_far_it_is(terminal: Terminal) -> None:
    terminal.type(ENDLESS, ENTER)
    terminal.wait(lambda lines: any(line.startswith("Running ") for line in lines))
    terminal.type(CTRL_C)
    lines = terminal.prompted()
    assert lines[-2] == "[INFO] Query cancelled."
    assert not any(line.startswith("Running ") for line in lines)


def test_ctrl_d_leaves_only_an_empty_prompt(terminal: Terminal) -> None:
    terminal.type("SELECT 12 AS n;", LEFT, CTRL_D)
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} SELECT 12 AS n")
    assert "| 12 |" in terminal.enter(";")


def test_an_error_shows_its_place_and_the_session_lives(terminal: Terminal) -> None:
    lines = terminal.enter("SELECT '中文' AS a, nope;")
    assert lines[0].startswith("[ERROR] ")
    assert lines[1:4] == ["  line 1, column 19", "  SELECT '中文' AS a, nope", "  " + " " * 20 + "^^^^"]
    assert "| 1 |" in terminal.enter("SELECT 1 AS n;")


def test_wide_characters_keep_the_table_straight(terminal: Terminal) -> None:
    lines = terminal.enter("SELECT '中文字符' AS cn, '日本語' AS `列名`, 'abc' AS en;")
    cells = {line.replace("中文字符", "########").replace("日本語", "######").replace("列名", "####") for line in lines}
    assert {len(cell) for cell in cells if cell[0] in "+|"} == {len(lines[0])}
    assert "| 中文字符 | 日本語 | abc |" in lines


def test_wide_characters_are_edited(terminal: Terminal) -> None:
    terminal.type("SELECT '中文' AS c;", LEFT * 7, "字")
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} SELECT '中文字' AS c;")
    assert "| 中文字 |" in terminal.enter("")


def test_a_pasted_script_runs_whole(terminal: Terminal) -> None:
    """In brackets, as terminals paste: nothing runs before Enter, then everything does."""
    script = "CREATE TABLE t (n INT); -- it's\nINSERT INTO t VALUES (1), (2);\nSELECT COUNT(*) AS n\n  FROM t;\n"
    terminal.type(PASTE_BEGIN, script.replace("\n", "\r"), PASTE_END)
    lines = terminal.wait(lambda lines: lines[-1].endswith("FROM t;") or lines[-1] == CONTINUED)
    assert "[INFO]" not in "\n".join(lines)
    assert "| 2 |" in terminal.enter("")


def test_a_script_pasted_as_keys_runs_statement_by_statement(terminal: Terminal) -> None:
    for line in ("CREATE TABLE t (n INT);", "INSERT INTO t", "  VALUES (1), (2);", "SELECT COUNT(*) AS n", " FROM t;"):
        terminal.type(line, ENTER)
    terminal.wait(lambda lines: "| 2 |" in lines and lines[-1] == FLINK)


def test_what_follows_a_failure_in_a_paste_is_not_run(terminal: Terminal) -> None:
    terminal.type(PASTE_BEGIN, "SELECT nope; SELECT 1 AS n; SELECT 2 AS n;", PASTE_END)
    lines = terminal.enter("")
    assert lines[-1] == "[INFO] 2 more statements were not run."
    assert "| 1 |" not in lines


def test_help_and_clear(terminal: Terminal) -> None:
    assert "QUIT; EXIT;" in "\n".join(terminal.enter("HELP;"))
    terminal.type("CLEAR;", ENTER)
    terminal.wait(lambda lines: [line for line in lines if line][-1] == FLINK)


def test_another_size(terminal: Terminal) -> None:
    terminal.type("SELECT 1 AS n")
    terminal.wait(lambda lines: lines[-1].endswith("SELECT 1 AS n"))
    terminal.resize(60, 20)
    assert "| 1 |" in terminal.enter(";")


def test_colours(terminal: Terminal) -> None:
    terminal.type("SELECT 'x' -- y")
    terminal.wait(lambda lines: lines[-1].endswith("-- y"))
    cells = terminal.cells("SELECT 'x'")
    assert cells[0].bold
    assert cells[0].fg == "blue"
    assert cells[7].fg == "green"


def test_no_colours_when_they_are_not_wanted(berg: Berg) -> None:
    with Terminal(berg, environment={"NO_COLOR": "1"}) as terminal:
        terminal.prompted()
        terminal.type("SELECT 'x' -- y")
        terminal.wait(lambda lines: lines[-1].endswith("-- y"))
        assert {cell.fg for cell in terminal.cells("SELECT 'x'")} == {"default"}


def test_results_can_go_to_a_file(berg: Berg) -> None:
    path = berg.home / "out.csv"
    with Terminal(berg, "--format", "csv", "--output", str(path)) as terminal:
        terminal.prompted()
        terminal.enter("SELECT 1 AS n;")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert path.read_text() == "n\n1\n"

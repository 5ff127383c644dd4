"""The prompt, driven as a person drives it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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


# --- editing ---------------------------------------------------------------------------------------------------------

RIGHT, DOWN, HOME, END = "\x1b[C", "\x1b[B", "\x1b[H", "\x1b[F"
CTRL_A, CTRL_E, CTRL_K, CTRL_U, CTRL_W, CTRL_Y = "\x01", "\x05", "\x0b", "\x15", "\x17", "\x19"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (("ELECT 1;", CTRL_A, "S", CTRL_E, " "), "SELECT 1; "),
        (("ELECT 1;", HOME, "S", END, "-"), "SELECT 1;-"),
        (("SELECT 12;", LEFT, LEFT, RIGHT, "3"), "SELECT 123;"),
        (("SELECT 1 AS n;", CTRL_A, RIGHT * 8, CTRL_K, ";"), "SELECT 1;"),
        (("nonsense SELECT 1;", LEFT * 9, CTRL_U), "SELECT 1;"),
        (("SELECT 1 AS wrong", CTRL_W, "n;"), "SELECT 1 AS n;"),
        (("one two", CTRL_W, CTRL_A, CTRL_Y), "twoone"),
        (("SELECT '中文';", LEFT * 3, "\x7f", "字"), "SELECT '字文';"),
    ],
)
def test_keys_that_edit(keys: tuple[str, ...], left: str, terminal: Terminal) -> None:
    terminal.type(*keys)
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} {left.rstrip()}")


def test_up_and_down_go_through_the_history(terminal: Terminal) -> None:
    for number in (1, 2, 3):
        terminal.enter(f"SELECT {number} AS n;")
    terminal.type(UP, UP)
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} SELECT 2 AS n;")
    terminal.type(DOWN)
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} SELECT 3 AS n;")
    terminal.type(DOWN)
    terminal.wait(lambda lines: lines[-1] == FLINK)


def test_the_history_is_searched(terminal: Terminal) -> None:
    for name in ("apples", "pears", "apricots"):
        terminal.enter(f"SELECT 1 AS {name};")
    terminal.type("\x12ap")  # Ctrl-R
    terminal.wait(lambda lines: any("SELECT 1 AS apricots;" in line for line in lines[-2:]))
    terminal.type("p")
    terminal.wait(lambda lines: any("SELECT 1 AS apples;" in line for line in lines[-2:]))
    terminal.type(ENTER)
    terminal.wait(lambda lines: lines[-1] == f"{FLINK} SELECT 1 AS apples;")
    assert "| apples |" in terminal.enter("")


def test_the_history_can_be_elsewhere_and_holds_no_scripts(berg: Berg) -> None:
    path = berg.home / "deep" / "my_history"
    (berg.home / "init.sql").write_text("SET 'from_init' = 'x';\n")
    (berg.home / "s.sql").write_text("SET 'from_script' = 'x';\n")
    arguments = ("--history", str(path), "-i", str(berg.home / "init.sql"))
    with Terminal(berg, *arguments) as terminal:
        terminal.prompted()
        terminal.enter(f"SOURCE {berg.home}/s.sql;")
        terminal.enter("SELECT 'typed' AS t;")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    text = path.read_text()
    assert "SELECT 'typed' AS t;" in text
    assert "SOURCE " in text
    assert "from_" not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (berg.home / "history").exists()


# --- other things ----------------------------------------------------------------------------------------------------


def test_the_prompt_can_be_another(berg: Berg) -> None:
    (berg.home / "config.toml").write_text("prompt = '{database}/{dialect}$ '\ntiming = true\n")
    with Terminal(berg) as terminal:
        terminal.prompted("default_database/flink$")
        assert terminal.enter("SELECT 1 AS n;", "default_database/flink$")[-1].startswith("Time: 0.")


def test_a_size_that_changes_while_a_line_is_long(terminal: Terminal) -> None:
    text = "SELECT 'a text that is quite long, so that it takes two lines' AS t, 2 AS n;"
    terminal.type(text)
    terminal.wait(lambda lines: text[:40] in "".join(lines))
    terminal.resize(70, 30)
    terminal.type(ENTER)
    lines = terminal.wait(lambda lines: lines[-1] == FLINK and any("row in set" in line for line in lines))
    assert any(line.endswith(" | 2 |") for line in lines)


def test_a_size_that_changes_while_a_query_runs(terminal: Terminal) -> None:
    terminal.type("SELECT 'begun' AS s; ", ENDLESS, ENTER)
    terminal.wait(lambda lines: "| begun |" in lines)
    terminal.resize(100, 30)
    terminal.type(CTRL_C)
    terminal.prompted()
    assert "| 1 |" in terminal.enter("SELECT 1 AS n;")


def test_a_long_script_is_pasted(terminal: Terminal) -> None:
    lines = [f"SELECT {n} AS n, '中文 \t {n}' AS s;" for n in range(60)]
    terminal.type(PASTE_BEGIN, "\r".join(["CREATE TABLE t (n INT);", *lines, "SELECT 'end' AS e;"]), PASTE_END)
    terminal.wait(lambda lines: lines[-1].endswith("SELECT 'end' AS e;"))
    terminal.type(ENTER)
    shown = terminal.wait(lambda lines: "| end |" in lines and lines[-1] == FLINK)
    assert "| 59 | 中文 \\t 59 |" in shown


@pytest.mark.parametrize("way", ["option", "variable", "dumb"])
def test_colours_are_off(way: str, berg: Berg) -> None:
    environment = {"variable": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}.get(way, {})
    arguments = ("--no-color",) if way == "option" else ()
    with Terminal(berg, *arguments, environment=environment) as terminal:
        terminal.wait(lambda lines: lines[-1] == FLINK)
        terminal.type("SELECT 'x' AS n;", ENTER)
        terminal.wait(lambda lines: "| x |" in lines and lines[-1] == FLINK)
        terminal.type("SELECT nope;", ENTER)
        terminal.wait(lambda lines: any(line.startswith("[ERROR]") for line in lines) and lines[-1] == FLINK)
        assert re.search(r"\x1b\[[0-9;]*3[0-9](;[0-9;]*)?m", terminal.raw) is None
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_a_history_that_cannot_be_kept_is_told_in_a_line_and_the_prompt_works(berg: Berg) -> None:
    (berg.home / "folder").mkdir()
    (berg.home / "file").write_text("x")
    for path, why in (
        (berg.home / "folder", f"Is a directory: {berg.home}/folder."),
        (berg.home / "file" / "history", f"File exists: {berg.home}/file."),
        (Path("/proc/none/history"), "No such file or directory: /proc/none."),
    ):
        with Terminal(berg, "--history", str(path), "--timing") as terminal:
            assert f"[INFO] The history is not kept: {why}" in terminal.prompted()
            told = terminal.enter("SELECT 1 AS n;")
            assert any(line.startswith("Time: 0.") for line in told)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0

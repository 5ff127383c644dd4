"""Group A of what people asked for elsewhere: splitting, scripts, standard input. The numbers are those of the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.berg import Berg
from tests.support.prompt import Prompt

CSV = ("--format", "csv", "--quiet")


def script(berg: Berg, text: str) -> str:
    path = berg.home / "script.sql"
    path.write_text(text, encoding="utf-8")
    return str(path)


def values(out: str) -> list[str]:
    """The data lines of one-column csv results, their headers left out."""
    return [line for line in out.splitlines() if line and not line.startswith("EXPR$") and line not in ("n", "s")]


@pytest.mark.parametrize("end", ["/* x */", "/* x */\n", "-- x", "/* x; */;", "/* a */ /* b */\n\n"])
def test_01_a_last_statement_that_ends_in_a_comment_runs(end: str, berg: Berg) -> None:
    text = f"CREATE TABLE t (n INT); SELECT 1 AS n; INSERT INTO t SELECT 2 {end}"
    done = berg.run(*CSV, "-f", script(berg, text))
    assert done.code == 0, done.err
    assert values(done.out) == ["1"]
    assert values(berg.run(*CSV, "-e", "SELECT n FROM t").out) == ["2"]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_02_an_apostrophe_in_a_line_comment_opens_no_string(dialect: str, berg: Berg) -> None:
    text = "SELECT 1 AS n -- it's\n;\nSELECT 2 AS n; -- don't \"either\"\n/* it's */ SELECT 3 AS n;"
    for done in (
        berg.run("--dialect", dialect, *CSV, "-f", script(berg, text)),
        berg.run("--dialect", dialect, *CSV, stdin=text),
    ):
        assert done.code == 0, done.err
        assert values(done.out) == ["1", "2", "3"]


def test_04_an_init_file_takes_the_grammar_of_a_script(berg: Berg) -> None:
    init = berg.home / "init.sql"
    init.write_text(
        "-- a header; with a semicolon and it's quote\n/* and\n a block; */\n"
        "CREATE TABLE t (s STRING);\nINSERT INTO t VALUES ('a--b'), ('/* c */');\n",
        encoding="utf-8",
    )
    done = berg.run(*CSV, "-i", str(init), "-e", "SELECT s FROM t ORDER BY s")
    assert done.code == 0, done.err
    assert values(done.out) == ["/* c */", "a--b"]


@pytest.mark.parametrize("text", ["SELECT 1 AS n", "SELECT 1 AS n\n", "SELECT 1 AS n -- end", ";;SELECT 1 AS n\n\n"])
def test_05_the_last_statement_of_a_pipe_runs_without_a_semicolon(text: str, berg: Berg) -> None:
    done = berg.run(*CSV, stdin=text)
    assert done.code == 0, done.err
    assert values(done.out) == ["1"]


def test_05_a_broken_last_statement_of_a_pipe_fails_loudly(berg: Berg) -> None:
    done = berg.run(*CSV, stdin="SELECT 1 AS n;\nSELECT 'never closed")
    assert done.code == 1
    assert values(done.out) == ["1"]
    assert "[ERROR]" in done.err
    assert "line 2, column 8" in done.err


@pytest.mark.parametrize("text", [";", ";;\n;", "-- only a comment", "/* only; */", "-- c;\n", "", "\n \n"])
def test_06_a_lone_semicolon_or_a_comment_is_nothing(text: str, berg: Berg) -> None:
    for done in (berg.run(stdin=text), berg.run("-e", text), berg.run("-f", script(berg, text))):
        assert (done.code, done.out, done.err) == (0, "", "")


def test_06_at_the_prompt_too(berg: Berg) -> None:
    with Prompt(berg, "--format", "jsonl") as prompt:
        assert prompt.answer(";").errors == ()
        answer = prompt.answer("-- c;\nSELECT 5 AS n;")
        assert answer.json_rows() == [{"n": 5}]
        assert prompt.leave() == 0


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END;",
        "EXECUTE STATEMENT SET\nBEGIN\n  INSERT INTO t VALUES (1);\n  INSERT INTO t SELECT CASE WHEN TRUE THEN 1 END;\nEND;",
        "BEGIN STATEMENT SET; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END;",
    ],
)
def test_08_a_statement_set_is_one_statement(text: str, berg: Berg) -> None:
    done = berg.run(*CSV, stdin=f"CREATE TABLE t (n INT);\n{text}\nSELECT COUNT(*) AS n FROM t;")
    assert done.code == 0, done.err
    assert values(done.out) == ["2"]


@pytest.mark.parametrize("wrong", ["SELECT 1", "INSERT INTO t VALUES ('x', 2)", "INSERT INTO nope VALUES (1)"])
def test_08_a_wrong_member_stops_a_statement_set_before_it_begins(wrong: str, berg: Berg) -> None:
    text = f"EXECUTE STATEMENT SET BEGIN\nINSERT INTO t VALUES (1);\n{wrong};\nEND;"
    done = berg.run(*CSV, "--continue-on-error", stdin=f"CREATE TABLE t (n INT);\n{text}\nSELECT COUNT(*) AS n FROM t;")
    assert done.code == 1
    assert done.err.count("[ERROR]") == 1
    assert "line 4," in done.err
    assert values(done.out) == ["0"]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_09_a_semicolon_inside_a_literal_ends_nothing(dialect: str, berg: Berg) -> None:
    text = (
        "CREATE TABLE j (n INT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://h/db', 'username'='a=1;b=2', 'table-name'='x;y');\n"
        "SHOW CREATE TABLE j;\nSELECT ';' AS s, `a;b` AS n FROM (SELECT 'c;--d' AS `a;b`) t;"
    )
    done = berg.run("--dialect", dialect, "--format", "jsonl", "--quiet", stdin=text)
    assert done.code == 0, done.err
    assert "a=1;b=2" in done.out
    assert "x;y" in done.out
    assert done.out.splitlines()[-1] == '{"s": ";", "n": "c;--d"}'


def test_a_script_of_many_statements_is_not_quadratic(berg: Berg, tmp_path: Path) -> None:
    """Ten thousand statements in one line and a long comment: each runs, in seconds."""
    path = tmp_path / "many.sql"
    path.write_text("SET 'x' = 'c';" * 10_000 + "/*" + " x;" * 100_000 + "*/ SELECT 1 AS n", encoding="utf-8")
    done = berg.run(*CSV, "-f", str(path), timeout=60)
    assert done.code == 0, done.err[:1000]
    assert values(done.out) == ["1"]

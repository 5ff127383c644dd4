"""Group B of what people asked for elsewhere: errors, exit codes, interrupts, settings."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.support.berg import Berg
from tests.support.prompt import Prompt

DIGITS = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
ENDLESS = "SELECT SUM(a.d * b.d * c.d * e.d) AS n FROM " + ", ".join(
    f"{DIGITS} AS {x}(d)" for x in ("a", "b", "c", "e", "f", "g", "h", "i", "j", "k", "l")
)
"""A query of 10^11 rows."""
BIG_INSERT = (
    "INSERT INTO t SELECT a.d + 10 * b.d + 100 * c.d, 'a name' FROM "
    + ", ".join(f"{DIGITS} AS {x}(d)" for x in ("a", "b", "c", "e", "f", "g", "h", "i"))
    + ";"
)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-e", "SELECT 1"), 0),
        (("-e", "SELECT * FROM nope"), 1),
        (("-e", "SELEC 1"), 1),
        (("--no-such-option",), 2),
        (("--dialect", "oracle", "-e", "SELECT 1"), 2),
        (("--format", "nope", "-e", "SELECT 1"), 2),
        (("-f", "/no/such/file.sql"), 3),
    ],
)
def test_10_exit_codes_tell_what_failed(arguments: tuple[str, ...], code: int, berg: Berg) -> None:
    done = berg.run(*arguments)
    assert done.code == code, done.err
    assert ("[ERROR]" in done.err or "error" in done.err) == bool(code)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("way", ["-e", "-f", "stdin"])
def test_10_a_failed_statement_is_not_a_success(way: str, berg: Berg) -> None:
    text = "SELECT * FROM nope;"
    path = berg.home / "s.sql"
    path.write_text(text)
    done = {
        "-e": lambda: berg.run("-e", text),
        "-f": lambda: berg.run("-f", str(path)),
        "stdin": lambda: berg.run(stdin=text),
    }[way]()
    assert done.code == 1
    assert done.out == ""


def test_10_ctrl_c_in_a_batch_is_130(berg: Berg) -> None:
    process = subprocess.Popen(
        berg.command("--format", "csv", "-e", f"SELECT 'running' AS s; {ENDLESS};"),
        env=berg.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    while process.stdout.readline().strip() != "running":
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_11_a_missing_init_file_stops(berg: Berg) -> None:
    done = berg.run("-i", "/no/such/init.sql", "-e", "SELECT 1")
    assert done.code == 3
    assert "/no/such/init.sql" in done.err
    assert done.out == ""


def test_11_a_failing_init_file_stops_and_names_the_line(berg: Berg) -> None:
    init = berg.home / "init.sql"
    init.write_text("SET 'x'='c';\n\nSELECT * FROM nope;\n")
    done = berg.run("-i", str(init), "-e", "SELECT 1")
    assert done.code in (1, 3)
    assert f"{init}:3:15" in done.err
    assert done.out == ""


def test_11_no_config_leaves_the_configuration_aside(berg: Berg) -> None:
    (berg.home / "config.toml").write_text("this is = not [toml\n")
    broken = berg.run("-e", "SELECT 1")
    assert broken.code == 3
    assert "config.toml" in broken.err
    assert berg.run("--no-config", "-e", "SELECT 1").code == 0


def test_12_a_script_stops_at_its_first_error(berg: Berg) -> None:
    done = berg.run("--format", "csv", "-e", "SELECT * FROM nope; SELECT 2 AS n;", "-e", "SELECT 3 AS n")
    assert done.code == 1
    assert done.out == ""
    assert done.err.count("[ERROR]") == 1


def test_12_continue_on_error_tells_each_and_still_fails(berg: Berg) -> None:
    text = "SELECT * FROM nope; SELECT 2 AS n;\nSELECT wrong; SELECT 4 AS n;"
    done = berg.run("--format", "csv", "--continue-on-error", stdin=text)
    assert done.code == 1
    assert done.out.split() == ["n", "2", "n", "4"]
    assert done.err.count("[ERROR]") == 2
    assert "line 1, column 15" in done.err
    assert "line 2, column 8" in done.err


def test_13_ctrl_c_cancels_a_query_and_the_session_lives(berg: Berg) -> None:
    with Prompt(berg, "--format", "jsonl") as prompt:
        prompt.answer("CREATE TABLE t (n INT, s STRING);")
        prompt.interrupt(f"{ENDLESS};")
        assert prompt.answer("SELECT 5 AS n;").json_rows() == [{"n": 5}]
        assert prompt.leave() == 0


def test_13_ctrl_c_in_an_insert_leaves_no_snapshot_and_no_file(berg: Berg) -> None:
    table = berg.home / "warehouse" / "default_database" / "t"
    with Prompt(berg, "--format", "jsonl") as prompt:
        prompt.answer("CREATE TABLE t (n INT, s STRING);")
        prompt.interrupt(BIG_INSERT, when=lambda: any(table.rglob("*.parquet")))
        assert prompt.answer("SELECT COUNT(*) AS n FROM t;").json_rows() == [{"n": 0}]
        assert [p.name for p in table.rglob("*.parquet")] == []
        assert sorted(p.name for p in (table / "metadata").glob("v*")) == ["v1.metadata.json", "version-hint.text"]
        assert not prompt.answer("INSERT INTO t VALUES (1, 'x');").errors
        assert prompt.answer("SELECT n FROM t;").json_rows() == [{"n": 1}]
        assert prompt.leave() == 0


def test_13_ctrl_c_clears_the_line(berg: Berg) -> None:
    with Prompt(berg, "--format", "jsonl") as prompt:
        prompt.answer("SELECT 1 AS n;")
        prompt.type("SELECT this is nothing", "\x03")
        assert prompt.answer("SELECT 5 AS n;").json_rows() == [{"n": 5}]
        assert prompt.leave() == 0


def test_14_one_setting_is_shown(berg: Berg) -> None:
    (_, answer) = berg.answers(
        ["SET 'table.local-time-zone'='Asia/Shanghai';", "SET 'table.local-time-zone';"], "--format", "jsonl"
    )
    (row,) = answer.json_rows()
    assert list(row.values()) == ["table.local-time-zone", "Asia/Shanghai"]


def test_14_what_set_prints_can_be_run_again(berg: Berg) -> None:
    first = [
        "SET 'table.local-time-zone'='Asia/Shanghai';",
        "SET 'execution.runtime-mode'='batch';",
        "SET 'my_name'='it''s; a -- \"name\"';",
        "SET;",
    ]
    shown = berg.answers(first, "--format", "csv")[-1].data[1:]
    assert [line for line in shown if "my_name" in line]
    again = [line.strip('"').replace('""', '"') for line in shown]
    answers = berg.answers([*again, "SET;"], "--format", "csv")
    assert [a.errors for a in answers] == [()] * len(answers)
    assert answers[-1].data[1:] == shown

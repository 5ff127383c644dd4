"""The process: standard streams that are closed or full, and Ctrl-C while it starts."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.berg import BERGSQL, Berg, Done

FULL = "[ERROR] Cannot write the results: No space left on device.\n"
CLOSED = "[ERROR] Cannot write the results: standard output is closed.\n"


def shell(berg: Berg, line: str) -> Done:
    """A line of bash in which ``$B`` is bergsql."""
    done = subprocess.run(
        ["bash", "-c", line], env={**berg.env(), "B": BERGSQL}, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("where", ["--output /dev/full", "> /dev/full"])
@pytest.mark.parametrize("what", ["-e 'SELECT 1'", "--format csv -e 'SELECT 1; SELECT 2'", "--help", "--version"])
def test_a_full_disk_is_told_in_one_line(where: str, what: str, berg: Berg) -> None:
    assert shell(berg, f'"$B" {what} {where}') == Done(1, "", FULL)


@pytest.mark.parametrize("what", ["-e 'SELECT 1'", "--help", "--version"])
def test_closed_standard_output_is_told_when_there_is_something_to_write(what: str, berg: Berg) -> None:
    assert shell(berg, f'"$B" {what} >&-') == Done(1, "", CLOSED)


def test_closed_standard_output_does_not_matter_when_there_is_nothing_to_write(berg: Berg) -> None:
    assert shell(berg, "\"$B\" --quiet -e 'CREATE TABLE t (n INT)' >&-") == Done(0, "", "")
    path = berg.home / "out"
    assert shell(berg, f"\"$B\" --format csv --output {path} -e 'SELECT 1 AS n' >&-") == Done(0, "", "")
    assert path.read_text() == "n\n1\n"


def test_closed_standard_input_is_told_when_it_is_read(berg: Berg) -> None:
    assert shell(berg, '"$B" <&-') == Done(3, "", "[ERROR] Cannot read Standard input: Bad file descriptor.\n")
    assert shell(berg, "\"$B\" --format csv -e 'SELECT 1 AS n' <&-") == Done(0, "n\n1\n", "")


@pytest.mark.parametrize("where", ["2>&-", "2> /dev/full"])
def test_errors_that_nobody_can_read_still_give_the_exit_code(where: str, berg: Berg) -> None:
    assert shell(berg, f"\"$B\" -e 'SELECT nope' {where}").code == 1
    assert shell(berg, f'"$B" --nope {where}').code == 2
    goes_on = shell(berg, f"\"$B\" --continue-on-error --format csv -e 'SELECT nope; SELECT 1 AS n' {where}")
    assert goes_on == Done(1, "n\n1\n", "")


PRESSED_WHILE_IMPORTING = """
import importlib.abc, signal, sys

class Presser(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Presser())
from bergsql.shell.cli import main
sys.exit(main(["-e", "SELECT 1"]))
"""


def interrupted(berg: Berg, module: str, preexec: str = "") -> Done:
    """A run in which Ctrl-C is pressed when ``module`` is to be imported."""
    command = [sys.executable, "-c", preexec + PRESSED_WHILE_IMPORTING, module]
    done = subprocess.run(command, env=berg.env(), capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "module",
    ["gc", "bergsql.shell.command_line", "bergsql.catalog.errors", "bergsql.engine.session", "_duckdb"],
)
def test_ctrl_c_while_it_starts_ends_it_quietly(module: str, berg: Berg) -> None:
    assert interrupted(berg, module) == Done(130, "", "")


def test_ctrl_c_in_the_first_statement_cancels_it(berg: Berg) -> None:
    assert interrupted(berg, "bergsql.engine.execute.select") == Done(130, "", "[INFO] Query cancelled.\n")


def test_a_job_in_the_background_is_not_meant(berg: Berg) -> None:
    ignoring = f"import signal; signal.signal({int(signal.SIGINT)}, signal.SIG_IGN)\n"
    for module in ("bergsql.engine.session", "bergsql.engine.execute.select"):
        done = interrupted(berg, module, ignoring)
        assert (done.code, done.err) == (0, "")
        assert "1 row in set" in done.out


@pytest.mark.parametrize(
    ("begin", "end"), [("(", ")"), ("UPPER(", ")"), ("REPLACE(", ", 'b', 'c')"), ("CASE WHEN TRUE THEN ", " END")]
)
def test_deep_nesting(berg: Berg, begin: str, end: str) -> None:
    def ask(depth: int) -> Done:
        return berg.run("--format", "csv", stdin=f"SELECT {begin * depth}'A'{end * depth} AS a;")

    assert ask(300) == Done(0, "a\nA\n", "")
    for depth in (3000, 20_000):
        done = ask(depth)
        assert (done.code, "nested too deeply" in done.err) == (1, True)

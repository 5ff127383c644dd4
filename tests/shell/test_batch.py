"""The command line without a terminal: scripts, standard input, output, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.berg import BERGSQL, Berg, Done

CSV = ("--format", "csv")


def written(berg: Berg, name: str, content: str | bytes) -> str:
    path = berg.home / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_scripts_and_statements_run_in_the_order_they_are_given(berg: Berg) -> None:
    first = written(berg, "1.sql", "SELECT 1 AS n;")
    last = written(berg, "3.sql", "SELECT 3 AS n; SELECT 4 AS n")
    done = berg.run(*CSV, "-f", first, "-e", "SELECT 2 AS n", "-f", last, "-e", "SELECT 5 AS n;")
    assert (done.code, done.out) == (0, "n\n1\nn\n2\nn\n3\nn\n4\nn\n5\n")


def test_one_session_runs_them_all(berg: Berg) -> None:
    init = written(berg, "init.sql", "SET 'sql.dialect' = 'spark';")
    done = berg.run(*CSV, "-i", init, "-e", 'SELECT "x" AS s')
    assert (done.code, done.out) == (0, "s\nx\n"), done.err


@pytest.mark.parametrize("content", ["\ufeffSELECT '中文' AS s", "\r\nSELECT '中文' AS s;\r\n"])
def test_byte_order_marks_and_line_ends(content: str, berg: Berg) -> None:
    path = written(berg, "a.sql", content)
    for done in (berg.run(*CSV, "-f", path), berg.run(*CSV, "-f", "-", stdin=content), berg.run(*CSV, stdin=content)):
        assert (done.code, done.out) == (0, "s\n中文\n"), done.err


def test_standard_input_runs_as_it_arrives(berg: Berg) -> None:
    process = subprocess.Popen(
        berg.command(*CSV), env=berg.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    for number in (1, 2):
        process.stdin.write(f"SELECT {number} AS\n n;\n")
        process.stdin.flush()
        assert [process.stdout.readline(), process.stdout.readline()] == ["n\n", f"{number}\n"]
    process.stdin.close()
    assert process.wait() == 0


def test_results_are_the_only_thing_on_standard_output(berg: Berg) -> None:
    statements = "CREATE TABLE t (n INT); INSERT INTO t VALUES (1); SELECT n FROM t; SELECT nope FROM t;"
    done = berg.run("--continue-on-error", stdin=statements)
    assert done.out.startswith("+---+\n| n |\n+---+\n| 1 |\n+---+\n1 row in set (")
    assert done.out.count("\n") == 6
    assert done.err.startswith("[INFO] Execute statement succeeded.\n[INFO] ")
    assert "[ERROR] " in done.err
    assert "\x1b" not in done.out + done.err


def test_quiet_is_for_notes_not_for_results_or_errors(berg: Berg) -> None:
    statements = "SET 'x' = 'y'; SELECT 1 AS n; SELECT nope;"
    loud, quiet = (
        berg.run("--conf", "sql-client.display.print-time-cost=false", *o, "-e", statements) for o in ((), ("--quiet",))
    )
    assert quiet.out == loud.out != ""
    assert "[INFO]" not in quiet.err


def test_an_init_file_announces_nothing_but_failures(berg: Berg) -> None:
    define = "CREATE TABLE k (n INT) WITH ('connector'='print');"
    init = written(
        berg, "init.sql", f"CREATE TABLE t (n INT);{define}\n  SELECT * FROM\n nope;\nCREATE TABLE u (n INT);"
    )
    done = berg.run("-i", init, "-e", "SELECT 1")
    assert (done.code, done.out) == (1, "")
    assert "[INFO]" not in done.err
    assert done.err.split("\n")[1:4] == [f"  {init}:3:2", "   nope", "   ^^^^"]
    assert berg.run(*CSV, "-e", "SHOW TABLES").out == "table name\nt\n"


@pytest.mark.parametrize("option", ["-f", "-i"])
def test_a_file_that_cannot_be_read_stops_before_anything_runs(option: str, berg: Berg) -> None:
    for path, why in ((f"{berg.home}/no.sql", "No such file or directory"), (str(berg.home), "Is a directory")):
        done = berg.run("-e", "CREATE TABLE t (n INT)", option, path)
        assert done.code == 3
        assert done.err == f"[ERROR] Cannot read {path}: {why}.\n"
        assert berg.run(*CSV, "-e", "SHOW TABLES").out == "table name\n"


def test_a_script_that_is_not_text_is_named(berg: Berg) -> None:
    path = written(berg, "latin.sql", "SELECT 1 AS n;\nSELECT 'é';".encode("latin-1"))
    done = berg.run(*CSV, "-f", path)
    assert done.code == 3
    assert done.err.startswith(f"[ERROR] {path} is not UTF-8 text (byte 0xe9).\nHint: ")
    piped = shell(berg, f'"$B" --format csv < {path}')
    assert piped.code == 3
    assert piped.err.startswith("[ERROR] Standard input is not UTF-8 text (byte 0xe9).\nHint: ")


@pytest.mark.parametrize("option", ["-e", "-D", "--conf"])
def test_a_command_line_that_is_not_text_is_wrong(option: str, berg: Berg) -> None:
    done = shell(berg, f"\"$B\" -e 'CREATE TABLE t (n INT)' {option} $'a=\\xe9'")
    assert (done.code, done.err) == (2, f"[ERROR] The value of {option} is not UTF-8 text (byte 0xe9).\n")


@pytest.mark.parametrize("location", ["{}", "file:{}", "file://{}"])
def test_a_warehouse_is_a_directory_or_a_file_location(location: str, berg: Berg) -> None:
    path = berg.home / "own"
    done = berg.run("--warehouse", location.format(path), "-e", "CREATE TABLE t (n INT)")
    assert done.code == 0, done.err
    assert (path / "default_database" / "t" / "metadata").is_dir()


def test_a_relative_warehouse_lies_below_the_working_directory(berg: Berg) -> None:
    done = shell(berg, f"cd {berg.home} && \"$B\" --warehouse a/b -e 'CREATE TABLE t (n INT)'")
    assert done.code == 0, done.err
    assert (berg.home / "a" / "b" / "default_database" / "t").is_dir()


@pytest.mark.parametrize("location", ["s3://bucket/w", "hdfs:/w"])
def test_a_warehouse_elsewhere_is_refused(location: str, berg: Berg) -> None:
    done = shell(berg, f"cd {berg.home} && \"$B\" --warehouse {location} -e 'SELECT 1'")
    assert (done.code, done.out) == (3, "")
    scheme = location.partition(":")[0]
    assert done.err.splitlines() == [
        f"[ERROR] Storage on {scheme} is not supported yet.",
        "Hint: --warehouse takes a directory or a location file:///…",
    ]
    assert not list(berg.home.iterdir())


def test_quit_ends_all_scripts(berg: Berg) -> None:
    script = written(berg, "a.sql", "SELECT 1 AS n; QUIT; SELECT 2 AS n;")
    done = berg.run(*CSV, "-f", script, "-e", "SELECT 3 AS n")
    assert (done.code, done.out) == (0, "n\n1\n")
    failed = berg.run(*CSV, "--continue-on-error", "-e", "SELECT nope; EXIT;")
    assert failed.code == 1


def test_help_is_there_in_a_script_too(berg: Berg) -> None:
    done = berg.run("-e", "HELP;")
    assert done.code == 0
    assert "QUIT; EXIT;" in done.out


def test_output_goes_to_a_file(berg: Berg) -> None:
    path = berg.home / "out.csv"
    path.write_text("old")
    done = berg.run(*CSV, "--output", str(path), "-e", "SELECT '中\r\n文' AS s; SELECT 2 AS n; HELP;")
    assert (done.code, done.out) == (0, "")
    assert path.read_bytes().startswith('s\n"中\r\n文"\nn\n2\n'.encode())


def test_output_is_kept_until_the_scripts_are_there(berg: Berg) -> None:
    path = berg.home / "out.csv"
    path.write_text("old")
    assert berg.run("--output", str(path), "-f", "nosuch.sql").code == 3
    assert path.read_text() == "old"
    assert berg.run(*CSV, "--output", str(path), "-e", "SELECT 1 AS n").code == 0
    assert path.read_text() == "n\n1\n"
    assert berg.run("--output", str(path), "--version").code == 0
    assert path.read_text().startswith("bergsql ")


@pytest.mark.parametrize("option", ["-f", "-i"])
def test_output_does_not_go_to_the_script(berg: Berg, option: str) -> None:
    path = berg.home / "s.sql"
    path.write_text("SELECT 1;")
    done = berg.run("--output", str(path), option, str(path))
    assert (done.code, done.err) == (3, f"[ERROR] The results cannot go to {path}: the statements are in it.\n")
    assert path.read_text() == "SELECT 1;"


def test_output_that_cannot_be_written_is_a_wrong_command_line(berg: Berg) -> None:
    done = berg.run("--output", f"{berg.home}/no/out.csv", "-e", "CREATE TABLE t (n INT)")
    assert (done.code, done.err) == (2, f"[ERROR] Cannot write {berg.home}/no/out.csv: No such file or directory.\n")
    assert berg.run(*CSV, "-e", "SHOW TABLES").out == "table name\n"


def shell(berg: Berg, line: str) -> Done:
    """A line of bash in which ``$B`` is bergsql."""
    env = {**berg.env(), "B": BERGSQL}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=env, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


ENDLESS = "SELECT a.d AS n FROM " + ", ".join(
    f"(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS {x}(d)" for x in "abcdefghijkl"
)


@pytest.mark.parametrize("name", ["csv", "jsonl", "tableau"])
def test_a_reader_that_goes_away_ends_it_quietly(name: str, berg: Berg) -> None:
    done = shell(berg, f'"$B" --format {name} -e "{ENDLESS}" | head -n 3')
    assert done.out.count("\n") == 3
    assert done.err == ""
    assert done.code == 141


def test_a_full_disk_behind_standard_output_is_told(berg: Berg) -> None:
    done = shell(berg, f'"$B" --format csv -e "{ENDLESS}" > /dev/full')
    assert done.code == 1
    assert done.err.startswith("[ERROR] ")
    assert "No space left on device" in done.err
    assert "Traceback" not in done.err


def test_standard_output_is_utf8_whatever_the_locale(berg: Berg) -> None:
    done = shell(berg, 'LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$B" --format csv -e "SELECT \'中\' AS s"')
    assert (done.code, done.out) == (0, "s\n中\n")


def test_configuration_settings_and_the_command_line_before_them(berg: Berg) -> None:
    written(
        berg, "config.toml", 'dialect = "spark"\nformat = "jsonl"\n[settings]\ntable.local-time-zone = "Asia/Tokyo"\n'
    )
    shown = "SELECT \"x\" AS s; SET 'table.local-time-zone';"
    done = berg.run("-e", shown)
    assert done.out.splitlines()[0] == '{"s": "x"}'
    assert "Asia/Tokyo" in done.out
    over = berg.run(
        "--dialect", "flink", *CSV, "--conf", "table.local-time-zone=UTC", "-e", shown.replace('"x"', "'y'")
    )
    assert over.out.splitlines()[:2] == ["s", "y"]
    assert "Asia/Tokyo" not in over.out


def test_a_wrong_setting_on_the_command_line_is_a_configuration_error(berg: Berg) -> None:
    done = berg.run("--conf", "table.local-time-zon=UTC", "-e", "SELECT 1")
    assert (done.code, done.out) == (3, "")
    assert "Did you mean 'table.local-time-zone'?" in done.err


def test_debug_shows_the_class_and_the_traceback(berg: Berg) -> None:
    assert "Traceback" not in berg.run("-e", "SELECT nope").err
    debug = berg.run("--debug", "-e", "SELECT nope").err
    assert debug.startswith("[ERROR] ")
    assert "Traceback" in debug
    assert "BergError" in debug


@pytest.mark.parametrize("module", ["bergsql.shell", "bergsql.shell.cli"])
def test_it_is_a_module_too(module: str, berg: Berg, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *CSV, "-e", "SELECT 1 AS n"],
        env={**os.environ, "BERGSQL_HOME": str(berg.home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "n\n1\n")


@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT 'abc' AS a, 1.5 AS b"])
def test_plain_results_load_no_table_of_widths(statement: str, berg: Berg) -> None:
    code = (
        "import sys; from bergsql.shell.cli import main; main(sys.argv[1:]);"
        "print(sorted({'wcwidth', 'prompt_toolkit', 'rich', 'argparse', 'platformdirs'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "-e", statement], env=berg.env(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"

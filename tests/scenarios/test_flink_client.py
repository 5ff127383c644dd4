"""How the real Flink SQL client takes files, init files, options and what is typed, beside ours.

Its transcripts ``10`` to ``13`` (``-f``, ``-i``), ``20`` (typed at a terminal) and ``40`` (the command line). It ends
with 0 after an error, and takes one statement a line; there bergsql is better, and the tests say how.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.berg import Berg, Done
from tests.support.prompt import Prompt
from tests.support.shared import shared
from tests.support.transcript import PROMPT, Drawn, drawn, timeless


def script_of(name: str) -> tuple[str, list[str]]:
    """The input of a transcript of ``-f``, and the lines that the client printed."""
    text = shared("oracle", "flink", f"{name}.txt").read_text(encoding="utf-8")
    (given,) = re.findall(r"##### INPUT\n(.*?)\n##### OUTPUT\n(.*)", text, re.DOTALL)
    return given[0], [line.removeprefix(PROMPT) for line in given[1].splitlines()]


def tables(lines: list[str]) -> list[Drawn]:
    """All tableaus in a stream."""
    found, block = [], list[str]()
    for line in timeless(lines):
        block.append(line)
        if re.match(r"\d+ rows? in set|Empty set", line):
            first = next((i for i, kept in enumerate(block) if kept.startswith("+-")), len(block) - 1)
            table = drawn(block[first:])
            assert table is not None
            found.append(table)
            block = []
    return found


def run(berg: Berg, tmp_path: Path, script: str, *arguments: str) -> Done:
    path = tmp_path / "main.sql"
    path.write_text(script)
    return berg.run(*arguments, "-f", str(path))


def test_10_a_failed_statement_ends_the_script_and_the_exit_code_tells(berg: Berg, tmp_path: Path) -> None:
    script, printed = script_of("10_f_error")
    done = run(berg, tmp_path, script)
    assert tables(done.out.splitlines()) == tables(printed)
    assert done.code == 1
    assert "nope" in done.err
    assert "main.sql:4:15" in done.err


def test_11_the_last_statement_needs_no_semicolon(berg: Berg, tmp_path: Path) -> None:
    script, printed = script_of("11_f_nosemi")
    done = run(berg, tmp_path, script)
    assert (done.code, tables(done.out.splitlines())) == (0, tables(printed))


def test_12_an_init_file_goes_before(berg: Berg, tmp_path: Path) -> None:
    script, printed = script_of("12_main_with_init")
    init = tmp_path / "init.sql"
    init.write_text("CREATE TABLE from_init (id INT) WITH ('connector'='datagen');\n")
    done = run(berg, tmp_path, script, "-i", str(init))
    assert (done.code, tables(done.out.splitlines())) == (0, tables(printed))


def test_12_a_bad_init_file_ends_the_run(berg: Berg, tmp_path: Path) -> None:
    script, _ = script_of("12_main_with_badinit")
    init = tmp_path / "init.sql"
    init.write_text("SET 'table.local-time-zone' = 'UTC';\nCREATE TABEL t (id INT);\n")
    done = run(berg, tmp_path, script, "-i", str(init))
    assert done.out == ""
    assert done.code != 0
    assert "init.sql:2:8" in done.err


def test_13_several_statements_a_line(berg: Berg, tmp_path: Path) -> None:
    script, _ = script_of("13_f_multi")
    done = run(berg, tmp_path, script)
    assert tables(done.out.splitlines()) == [Drawn((name,), ((str(n),),)) for n, name in enumerate("abcd", 1)]
    assert done.code == 1
    assert "main.sql:6:13" in done.err


TYPED = {
    "SELECT 1 AS a;": [Drawn(("a",), (("1",),))],
    "SELECT 0 AS z; -- tail comment\n;": [Drawn(("z",), (("0",),))],
    "   ;\nSELECT 1 AS a; SELECT 2 AS b;": [Drawn(("a",), (("1",),)), Drawn(("b",), (("2",),))],
    "/* block; c */ SELECT 'blk' AS z;": [Drawn(("z",), (("blk",),))],
    "-- only a comment\nSELECT 5 AS e;": [Drawn(("e",), (("5",),))],
    "\nSELECT 'multi' AS m\n  , 2 AS n\n  ;": [Drawn(("m", "n"), (("multi", "2"),))],
    "SELECT 'unterminated\nstill' AS u;": [Drawn(("u",), (("unterminated\\nstill",),))],
}
"""Of transcript 20. Flink refuses what follows a lone semicolon, and breaks the box of a cell of two lines."""


def test_20_what_is_typed(berg: Berg) -> None:
    with Prompt(berg) as prompt:
        for typed, expected in TYPED.items():
            answer = prompt.answer(typed)
            assert not answer.errors, typed
            assert tables(list(answer.lines)) == expected, typed
        prompt.type("exit\r", " ;\r")
        assert prompt.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--help"], 0, "usage: bergsql"),
        (["--version"], 0, "bergsql "),
        (["embedded", "-f", "/nope.sql"], 3, "/nope.sql"),
        (["bogusmode"], 2, "bogusmode"),
        (["embedded", "--bogus"], 2, "--bogus"),
        (["gateway", "-f", "/x.sql"], 2, "gateway"),
    ],
)
def test_40_the_command_line(berg: Berg, arguments: list[str], code: int, told: str) -> None:
    done = berg.run(*arguments)
    assert done.code == code, done.err
    assert told in done.out + done.err
    assert "Traceback" not in done.err


def test_40_settings_on_the_command_line(berg: Berg, tmp_path: Path) -> None:
    script, printed = script_of("12_main_with_init")
    options = ["embedded", "-Dexecution.runtime-mode=batch", "-Dsql-client.execution.result-mode=tableau"]
    done = run(berg, tmp_path, script, *options)
    assert done.code == 0
    assert tables(done.out.splitlines()) == [Drawn((), ()), tables(printed)[1]]

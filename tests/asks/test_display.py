"""Group D of what people asked for elsewhere: display and export. The numbers are those of the list."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import pytest
from wcwidth import wcswidth

from bergsql.shell.render.formats import FORMATS
from tests.support.berg import Berg

TEXTS = ("中文字符", "abc", "é", "e\u0301", "한국어", "😀", "👩‍👩‍👧", "🇨🇳", "ｆｕｌｌ", "กิ", "‹›")


def test_21_box_lines_stay_straight_whatever_the_letters(berg: Berg) -> None:
    rows = ", ".join(f"('{text}', '{text}x')" for text in TEXTS)
    done = berg.run("-e", f"SELECT a AS `列名`, b AS b FROM (VALUES {rows}) AS t(a, b)")
    lines = [line for line in done.out.splitlines() if line[:1] in "+|"]
    assert len(lines) == len(TEXTS) + 4
    assert len({wcswidth(line) for line in lines}) == 1


def test_22_null_is_told_from_an_empty_text_and_from_the_word(berg: Berg) -> None:
    """By its mark, in every format of text; one setting chooses another."""
    sql = "SELECT CAST(NULL AS STRING) AS n, '' AS e, 'NULL' AS w"
    expected = {
        "tableau": "| <NULL> |   | NULL |",
        "csv": ',"",NULL',
        "tsv": "\\N\t\tNULL",
        "markdown": "| *NULL* |  | NULL |",
        "json": '{"n": null, "e": "", "w": "NULL"}',
        "jsonl": '{"n": null, "e": "", "w": "NULL"}',
        "vertical": "n: <NULL>",
    }
    assert set(expected) == {name for name, each in FORMATS.items() if not each.binary}
    for name, line in expected.items():
        assert line in berg.run("--format", name, "-e", sql).out.splitlines(), name
    chosen = {**expected, "tableau": "|  ∅ |   | NULL |", "csv": '∅,"",NULL', "tsv": "∅\t\tNULL"}
    chosen |= {"markdown": "| ∅ |  | NULL |", "vertical": "n: ∅"}
    for name, line in chosen.items():
        out = berg.run("--format", name, "--conf", "shell.null-mark=∅", "-e", sql).out
        assert line.replace("|  ∅", "| ∅") in out.replace("|  ∅", "| ∅").splitlines(), name


def test_23_a_long_or_many_lined_cell_destroys_no_table(berg: Berg) -> None:
    sql = "SELECT CONCAT('first line\nsecond\t', REPEAT('x', 5000)) AS c, 'after' AS a"
    done = berg.run("-e", sql)
    lines = [line for line in done.out.splitlines() if line[:1] in "+|"]
    assert len(lines) == 5
    assert len({len(line) for line in lines}) == 1
    assert "first line\\nsecond\\t" in lines[3]
    assert "..." in lines[3]
    whole = "first line\nsecond\t" + "x" * 5000
    (row,) = csv.DictReader(io.StringIO(berg.run("--format", "csv", "-e", sql).out, newline=""))
    assert row == {"c": whole, "a": "after"}
    assert json.loads(berg.run("--format", "jsonl", "-e", sql).out) == {"c": whole, "a": "after"}


DIGITS = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"


def used(berg: Berg, name: str, power: int) -> int:
    """The most memory that an export of so many rows (ten to the ``power``) took, in MiB."""
    tables = [f"{DIGITS} AS t{i}(d)" for i in range(power)]
    number = " + ".join(f"{10**i} * t{i}.d" for i in range(power))
    sql = f"SELECT {number} AS id, 'name ' || CAST({number} AS STRING) AS name, 0.5e0 * t1.d AS half FROM {', '.join(tables)}"
    arguments = berg.command("--format", name, "--output", str(berg.home / "out"), "-e", sql)
    process = subprocess.Popen(arguments, env=berg.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.read() == b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr
    with process.stderr as errors:
        assert (process.returncode, errors.read()) == (0, b"")
    process.stdout.close()
    return usage.ru_maxrss // (1024 if sys.platform == "linux" else 1024**2)


@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
def test_25_an_export_takes_flat_memory(name: str, berg: Berg) -> None:
    assert used(berg, name, 6) < used(berg, name, 5) + 60


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_25_ten_million_rows_too(name: str, berg: Berg) -> None:
    assert used(berg, name, 7) < used(berg, name, 6) + 60


def test_25_standard_output_carries_data_only(berg: Berg) -> None:
    text = "CREATE TABLE t (n INT); INSERT INTO t VALUES (1); SELECT n FROM t;"
    done = berg.run("--format", "csv", "--timing", "-v", "-e", text)
    assert done.out == "n\n1\n"
    assert "[INFO]" in done.err

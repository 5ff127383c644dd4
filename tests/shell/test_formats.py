"""Every format over a row of every hard type, from a statement to what is in the pipe or the file.

``python -m tests.shell.test_formats`` writes what is printed into ``golden/``, to be read over.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bergsql.engine.settings import SETTINGS
from bergsql.shell.render.formats import FORMATS
from tests.shell.terminal import ENTER, Terminal
from tests.support.berg import Berg, fresh_berg

GOLDEN = Path(__file__).with_name("golden")
NO_TIME = ("--conf", "sql-client.display.print-time-cost=false")
ARGUMENTS = (
    *("--conf", "table.local-time-zone=Asia/Shanghai", *NO_TIME),
    *("-f", str(GOLDEN / "hard.sql")),
)
WORDS = (
    *(
        "nan_",
        "inf",
        "neg_inf",
        "de",
        "money",
        "cjk",
        "emoji",
        "combining",
        "arabic",
        "empty",
        "null_word",
        "null_mark",
    ),
    *("null_escape", "marks", "lines", "padded", "control", "five_kb", "dt", "tm", "tm6", "ts6", "ts9", "ym", "ds"),
)
"""Columns whose JSON is a string with the text that csv has too."""


def golden(name: str) -> Path:
    return GOLDEN / f"hard.{name}{'.txt' if FORMATS[name].binary else ''}"


def printed(berg: Berg, name: str, *arguments: str) -> bytes:
    """What a run puts into the file of ``--output``."""
    path = berg.home / "out"
    done = berg.run("--format", name, "--output", str(path), *(arguments or ARGUMENTS))
    assert (done.code, done.out) == (0, ""), done.err
    return path.read_bytes()


def streams(data: bytes) -> Iterator[pa.Table]:
    """The results in what --format arrow wrote."""
    stream = io.BytesIO(data)
    while stream.tell() < len(data):
        yield pa.ipc.open_stream(stream).read_all()


def told(table: pa.Table) -> str:
    """A table with its types and values, a line a column."""
    lines = [f"{table.num_rows} rows"]
    for name, column in zip(table.column_names, table.columns, strict=True):
        shown = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) and column.type.unit == "ns" else column
        lines.append(f"{name}: {column.type} {shown.to_pylist()!r}")
    return "\n".join(lines) + "\n"


def shown(berg: Berg, name: str) -> str:
    data = printed(berg, name)
    if name == "arrow":
        (table,) = streams(data)
        return told(table)
    return told(parquet.read_table(io.BytesIO(data))) if name == "parquet" else data.decode()


@pytest.mark.parametrize("name", FORMATS)
def test_every_hard_type(name: str, berg: Berg) -> None:
    assert shown(berg, name) == golden(name).read_bytes().decode()


def test_the_setting_knows_the_formats() -> None:
    (setting,) = (s for s in SETTINGS if s.spec.key == "shell.format")
    assert setting.spec.values == tuple(FORMATS)


def test_csv_json_and_jsonl_say_the_same_to_their_readers() -> None:
    rows = json.loads(golden("json").read_text(encoding="utf-8"))
    assert rows == [json.loads(line) for line in golden("jsonl").read_text(encoding="utf-8").splitlines()]
    header, *lines = csv.reader(io.StringIO(golden("csv").read_bytes().decode(), newline=""))
    texts = dict(zip(header, lines[0], strict=True))
    assert list(rows[0]) == header
    assert {name: texts[name] for name in WORDS} == {name: rows[0][name] for name in WORDS}
    assert lines[1] == [""] * len(header)


def test_tsv_is_read_back_by_undoing_its_escapes() -> None:
    header, values, nulls = (line.split("\t") for line in golden("tsv").read_text(encoding="utf-8").splitlines())
    back = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}

    def plain(text: str) -> str:
        parts = text.split("\\\\")
        for escaped in "tnr":
            parts = [part.replace("\\" + escaped, back[escaped]) for part in parts]
        return "\\".join(parts)

    row = json.loads(golden("jsonl").read_text(encoding="utf-8").splitlines()[0])
    texts = dict(zip(header, map(plain, values), strict=True))
    assert {name: texts[name] for name in WORDS} == {name: row[name] for name in WORDS}
    assert set(nulls) == {r"\N"}


NULLS = "SELECT CAST(NULL AS STRING) AS n, '' AS e, 'NULL' AS w, CAST(NULL AS INT) AS i"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tableau", "| NULL |   | NULL | NULL |"),
        ("vertical", "n: NULL"),
        ("csv", 'NULL,"","NULL",NULL'),
        ("tsv", "NULL\t\tNULL\tNULL"),
        ("markdown", "| NULL |  | NULL | NULL |"),
        ("json", '{"n": null, "e": "", "w": "NULL", "i": null}'),
    ],
)
def test_one_setting_chooses_the_mark_of_null(name: str, line: str, berg: Berg) -> None:
    done = berg.run("--format", name, "--conf", "shell.null-mark=NULL", "-e", NULLS)
    assert line in done.out.splitlines()


def test_the_format_can_be_set_in_the_session(berg: Berg) -> None:
    text = "SET 'shell.format' = 'csv'; SELECT 1 AS n; SET 'shell.format' = 'jsonl'; SELECT 2 AS n;"
    assert berg.run("--format", "tsv", "--quiet", "-e", text).out == 'n\n1\n{"n": 2}\n'
    wrong = berg.run("-e", "SET 'shell.format' = 'cvs'; SELECT 1")
    assert wrong.code == 1
    assert "Did you mean 'csv'?" in wrong.err


# --- Arrow and Parquet -----------------------------------------------------------------------------------------------


def test_several_results_are_several_arrow_streams(berg: Berg) -> None:
    tables = list(streams(printed(berg, "arrow", "-e", "SELECT 1 AS a; SHOW DATABASES; SELECT 'x' AS b WHERE FALSE")))
    assert [t.num_rows for t in tables] == [1, 1, 0]
    assert [t.column_names for t in tables] == [["a"], ["database name"], ["b"]]


def test_a_pipe_takes_arrow(berg: Berg) -> None:
    done = subprocess.run(
        berg.command("--format", "arrow", "-e", "SELECT 1 AS a"), env=berg.env(), capture_output=True, check=True
    )
    assert pa.ipc.open_stream(done.stdout).read_all().to_pylist() == [{"a": 1}]


def test_a_terminal_takes_no_bytes(berg: Berg) -> None:
    with Terminal(berg, "--format", "arrow") as terminal:
        terminal.prompted()
        assert terminal.enter("SELECT 1 AS a;") == [
            "[ERROR] The format arrow is binary, which a terminal cannot show.",
            "Hint: Send it to a pipe or to --output FILE.",
        ]


def test_parquet_needs_a_file(berg: Berg) -> None:
    done = berg.run("--format", "parquet", "-e", "SELECT 1 AS a")
    assert (done.code, done.out) == (2, "")
    assert "The format parquet needs --output FILE." in done.err


def test_a_parquet_file_holds_one_query(berg: Berg) -> None:
    path = berg.home / "out.parquet"
    done = berg.run("--format", "parquet", "--output", str(path), "-e", "SHOW DATABASES; SELECT 1 AS a; SELECT 2 AS a")
    assert done.code == 1
    assert f"[ERROR] {path} has a result already, and a parquet file holds one." in done.err
    assert "default_database" in done.err
    assert parquet.read_table(path).to_pylist() == [{"a": 1}]


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_what_fails_in_the_middle_does_not_look_whole(name: str, berg: Berg) -> None:
    path = berg.home / "out"
    failing = "SELECT CAST(x AS INT) AS n FROM (VALUES ('1'), ('y')) AS t(x)"
    assert berg.run("--format", name, "--output", str(path), "-e", failing).code == 1
    with pytest.raises(pa.ArrowInvalid):
        parquet.read_table(path) if name == "parquet" else pa.ipc.open_stream(path.read_bytes()).read_all()


# --- at a terminal ---------------------------------------------------------------------------------------------------

WIDE = "SELECT 1 AS a_number, 'some text' AS a_text, 'some more of it' AS another_text, 2.5 AS n;"


def test_a_table_wider_than_the_terminal_is_drawn_vertically(berg: Berg) -> None:
    with Terminal(berg, *NO_TIME, columns=45) as terminal:
        terminal.prompted()
        terminal.type(WIDE, ENTER)
        lines = terminal.wait(lambda lines: lines[-2:-1] == ["1 row in set"])
        assert lines[-6:-2] == [
            "    a_number: 1",
            "      a_text: some text",
            "another_text: some more of it",
            "           n: 2.5",
        ]
        terminal.resize(100, 40)
        assert "|        1 | some text | some more of it | 2.5 |" in terminal.enter(WIDE)


def test_it_can_be_left_a_table(berg: Berg) -> None:
    with Terminal(berg, "--conf", "shell.auto-vertical=false", *NO_TIME, columns=45) as terminal:
        terminal.prompted()
        terminal.type(WIDE, ENTER)
        lines = terminal.wait(lambda lines: lines[-2:-1] == ["1 row in set"])
        assert not any("1. row" in line for line in lines)


if __name__ == "__main__":
    for each in FORMATS:
        with fresh_berg() as at:
            golden(each).write_bytes(shown(at, each).encode())


@pytest.mark.parametrize("mark", [",", 'x"y', "a\nb", "a\rb"])
def test_csv_refuses_a_mark_for_null_that_needs_quotes(mark: str, berg: Berg) -> None:
    done = berg.run("--format", "csv", "--conf", f"shell.null-mark={mark}", "-e", "SELECT CAST(NULL AS INT) AS n")
    assert (done.code, done.out) == (1, "")
    assert "'shell.null-mark', holds a comma, a quote or a line break" in done.err
    assert "Hint: RESET" in done.err


@pytest.mark.parametrize("mark", ["a\tb", "a\nb", "a\rb"])
def test_tsv_refuses_a_mark_for_null_that_ends_its_field(mark: str, berg: Berg) -> None:
    done = berg.run("--format", "tsv", "--conf", f"shell.null-mark={mark}", "-e", "SELECT CAST(NULL AS INT) AS n")
    assert (done.code, done.out) == (1, "")
    assert "'shell.null-mark', holds a tab or a line break" in done.err

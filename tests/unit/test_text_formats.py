"""The formats of text against Python's own csv and json, over random rows."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bergsql.engine.duck import Duck
from tests.support.connector_tables import source

ALPHABET = [*"ab,;\"'\\|# \t0\u00e9\u20ac\U0001f600{}[]:=", "\\n", "null", "NaN"]
BROKEN_CSV = ['9,"open', '9,"a"b,c', '"', '9,a,"']
BROKEN_JSON = ["{", '{"id":', "[1]", "null", "x", '{"id":1', '"text"']


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    made = Duck(threads=2)
    yield made
    made.close()


def texts(chance: random.Random, *, ends: bool = False) -> str | None:
    """A text of characters that mean something to a format; ``ends``: of ends of lines too."""
    if chance.random() < 0.1:
        return None
    pieces = [*ALPHABET, "\n", "\r\n"] if ends else ALPHABET
    return "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 9)))


def read(duck: Duck, folder: Path, form: str, columns: str, *options: str) -> list[tuple[Any, ...]]:
    """The rows of a table of files, in order."""
    more = "".join(f", {option}" for option in options)
    made = source(
        f"CREATE TABLE t ({columns}) WITH ('connector'='filesystem', 'path'='{folder}', 'format'='{form}'{more})"
    )
    whole = made.whole("r")
    return duck.execute(f"SELECT * FROM {whole.sql} ORDER BY c0", whole.variables).fetchall()


def as_csv(rows: Sequence[Sequence[Any]], **dialect: Any) -> str:
    out = io.StringIO()
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(15))
def test_what_pythons_csv_writes_is_read(duck: Duck, tmp_path: Path, seed: int) -> None:
    """Whole files, in which values may hold the ends of lines."""
    chance = random.Random(seed)
    end = chance.choice(["\n", "\r\n"])
    rows = [(n, texts(chance, ends=end == "\n"), texts(chance)) for n in range(200)]
    if end == "\n":  # one kind of end in a file
        rows = [(n, a.replace("\r", "") if a else a, b) for n, a, b in rows]
    text = as_csv(rows, lineterminator=end)
    (tmp_path / "a.csv").write_text(text, newline="")
    assert read(duck, tmp_path, "csv", "id INT, a STRING, b STRING") == [(n, a or None, b) for n, a, b in rows]


@pytest.mark.parametrize("seed", range(15))
def test_lines_of_csv_stand_alone(duck: Duck, tmp_path: Path, seed: int) -> None:
    """Line by line: what Python's csv reads of a line, whatever broken lines stand around it."""
    chance = random.Random(seed)
    delimiter, quote = chance.choice([(",", '"'), (";", "'"), ("|", '"'), ("\t", '"')])
    rows = [(n, texts(chance), texts(chance)) for n in range(200)]
    lines = as_csv(rows, lineterminator="\n", delimiter=delimiter, quotechar=quote).split("\n")[:-1]
    broken = [line.replace(",", delimiter).replace('"', quote) for line in BROKEN_CSV]
    for _ in range(chance.randrange(20)):
        lines.insert(chance.randrange(len(lines)), chance.choice(broken))
    end = chance.choice(["\n", "\r\n"])
    (tmp_path / "a.csv").write_text(end.join(lines) + chance.choice(["", end]), newline="")
    given = (
        "'csv.ignore-parse-errors'='true'",
        f"'csv.field-delimiter'='{delimiter}'",
        f"'csv.quote-character'='{quote.replace(chr(39), chr(39) * 2)}'",
    )
    assert read(duck, tmp_path, "csv", "id INT, a STRING, b STRING", *given) == rows


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_pythons_json_writes_is_read(duck: Duck, tmp_path: Path, seed: int, lenient: bool) -> None:
    chance = random.Random(seed)
    rows = [
        (n, texts(chance, ends=True), [texts(chance) for _ in range(chance.randrange(3))], {"x": chance.randrange(9)})
        for n in range(200)
    ]
    lines = [
        json.dumps({"id": n, "a": a, "l": listed, "r": r, "other": 1}, ensure_ascii=chance.random() < 0.5)
        for n, a, listed, r in rows
    ]
    if lenient:
        for _ in range(chance.randrange(20)):
            lines.insert(chance.randrange(len(lines)), chance.choice(BROKEN_JSON))
    (tmp_path / "a.json").write_text("\n".join(lines), newline="")
    options = ("'json.ignore-parse-errors'='true'",) if lenient else ()
    assert read(duck, tmp_path, "json", "id INT, a STRING, l ARRAY<STRING>, r ROW<x INT>", *options) == rows


@pytest.mark.parametrize("form", ["csv", "json"])
def test_bytes_that_are_no_text_are_left_out_alone(duck: Duck, tmp_path: Path, form: str) -> None:
    good = b"1,a\n" if form == "csv" else b'{"id":1,"a":"a"}\n'
    bad = b"2,\xff\n" if form == "csv" else b'{"id":2,"a":"\xff"}\n'
    (tmp_path / "a").write_bytes(good + bad + good)
    assert read(duck, tmp_path, form, "id INT, a STRING", f"'{form}.ignore-parse-errors'='true'") == [(1, "a")] * 2


def test_escapes_and_nulls_of_csv(duck: Duck, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,a\\,b,N\n2,"q\\"q",x\n3,N,"N"\n')
    columns = "id INT, a STRING, b STRING"
    wanted = [(1, "a,b", None), (2, 'q"q', "x"), (3, None, "N")]
    options = ("'csv.escape-character'='\\'", "'csv.null-literal'='N'", "'csv.ignore-parse-errors'='true'")
    assert read(duck, tmp_path, "csv", columns, *options) == wanted


def test_values_without_quotes(duck: Duck, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1\t"a\n2\tb"b\n')
    options = ("'csv.disable-quote-character'='true'", "'csv.field-delimiter'='\\t'")
    assert read(duck, tmp_path, "csv", "id INT, a STRING", *options) == [(1, '"a'), (2, 'b"b')]


def test_long_lines_and_many_pieces(duck: Duck, tmp_path: Path) -> None:
    """Lines that begin in one piece of a file and end in another."""
    rows = [(n, "x" * (700_000 + n)) for n in range(30)]
    (tmp_path / "a.json").write_text("".join(json.dumps({"id": n, "a": a}) + "\n" for n, a in rows))
    assert read(duck, tmp_path, "json", "id INT, a STRING", "'json.ignore-parse-errors'='true'") == rows
